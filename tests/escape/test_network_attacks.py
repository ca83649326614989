"""Attacks on what is around the network: the log, the report, the gate's time and memory."""

import pytest

from network import nbox, net, row, wait_until, zone

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
