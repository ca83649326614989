"""The broker and the shims: real ones, over a real socket, in a small sandbox that brokerdrive.c
makes. What lnk adds to it (the tools' confinement) is tested elsewhere."""

import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import descendants, wait_until
from drive import drive  # noqa: F401, a fixture

# --- a call ---------------------------------------------------------------------------------


def test_arguments_are_passed_as_they_are(drive):
    drive.tools["args"] = drive.box.write("args.py", """\
#!/usr/bin/python3
import os, sys
print(sys.argv[1:], os.getcwd())
""", 0o755)
    words = ["", "a b", "x\ny", "'\"", "$(id)", "`id`", "\\", "*", "--", "-x", "\udcff\udcfe", ";"]
    r = drive.run("args", *words)
    assert r.rc == 0 and r.out == f"{words} {drive.box.proj}\n" and r.err == "", r


def test_descriptors_are_the_callers(drive):
    r = drive.sh("echo in >a; cat <a >b; cat b; shell -c 'echo out; echo err >&2' 2>c >d; cat d c;"
                 "echo piped | cat; cat <&-; echo rc=$?; gh closed >&-; echo rc=$?")
    assert r.out == "in\nout\nerr\npiped\nrc=0\nrc=0\n", r


def test_exit_statuses(drive):
    r = drive.sh("for n in 0 1 2 125 126 127 128 255; do shell -c \"exit $n\"; echo $?; done")
    assert r.lines == ["0", "1", "2", "125", "126", "127", "128", "255"], r
    assert [e["status"] for e in drive.log()] == [0, 1, 2, 125, 126, 127, 128, 255]


def test_death_by_signal(drive):
    r = drive.python("""
import subprocess
for n in (1, 2, 3, 9, 11, 13, 15):
    print(subprocess.run(["shell", "-c", f"kill -{n} $$"]).returncode)
""")
    assert r.lines == ["-1", "-2", "-3", "-9", "-11", "-13", "-15"], r
    assert [e["signal"] for e in drive.log()] == [1, 2, 3, 9, 11, 13, 15]
    assert not list(drive.box.proj.glob("core*"))


def test_refusals_are_said(drive):
    r = drive.sh("gh a forbidden; echo $?; missing; echo $?; cd /run/lnk; gh x; echo $?")
    assert r.lines == ["126", "127", "126"], r
    assert "lnk: gh: gh is forbidden\nhint: leave it out\n" in r.err, r
    assert "lnk: missing: cannot run /nonexistent/tool: No such file" in r.err, r
    assert "lnk: gh: cannot go to /run/lnk: No such file" in r.err, r
    assert "refused 1 gh a forbidden: gh is forbidden (leave it out)" in r.err, r


def test_no_tool_of_that_name(drive):
    r = drive.python("print(answer(call('git', 'x'))); print(answer(call('gh\\n', 'x')))")
    assert r.lines[0].startswith("(18, 126, 'no line of [tools] names it"), r
    assert r.lines[1].startswith("(18, 126, 'no line of [tools] names it"), r


def test_the_log(drive):
    drive.flags = ["--browse", "github.com"]
    r = drive.sh("gh pr view 'a b\n\x1b'; gh forbidden; shell -c 'kill -9 $$'; xdg-open ftp://x;"
                 "xdg-open https://x.test/; xdg-open https://github.com")
    one, two, three, four, five, six = drive.log()
    for line in (one, two, three, four, five, six):
        assert line.pop("time").endswith("Z")
    assert one == {"section": "tools", "tool": "gh", "arguments": "pr view a b\\x0a\\x1b",
                   "verdict": "allowed", "spec": "app.toml:2", "status": 0}, r
    assert two == {"section": "tools", "tool": "gh", "arguments": "forbidden",
                   "verdict": "refused", "spec": "app.toml:2", "why": "gh is forbidden",
                   "hint": "leave it out"}, r
    assert three["signal"] == 9 and "status" not in three
    assert four["section"] == "browser" and four["host"] is None and four["url"] == "ftp://x"
    assert four["verdict"] == "refused" and four["spec"] is None
    assert five["host"] == "x.test" and five["spec"] is None
    assert five["hint"] == 'add to [browser]: hosts = [..., "x.test"]'
    assert six["url"] == "https://github.com/" and six["spec"] == "app.toml:50"
    assert six["hint"] == "open it yourself, if you trust it: https://github.com/"


def test_sockets_as_descriptors(drive):
    """As Node.js gives them to its children."""
    r = drive.python("""
import socket, subprocess, threading
mine, its = socket.socketpair()
tool = subprocess.Popen(["shell", "-c", "cat; echo err >&2; exit 3"], stdin=its, stdout=its,
                        stderr=its)
its.close()
data = bytes(range(256)) * 4096
def feed():
    mine.sendall(data); mine.shutdown(socket.SHUT_WR)
threading.Thread(target=feed).start()
got = b""
while piece := mine.recv(65536):
    got += piece
print(tool.wait(), len(got), got == data + b"err\\n")
# Nobody reads: the tool hears of it.
mine, its = socket.socketpair()
tool = subprocess.Popen(["shell", "-c", "while echo x; do :; done; exit 7"], stdin=its, stdout=its)
its.close(); mine.recv(10); mine.close()
print(tool.wait())
# Nobody writes any longer.
mine, its = socket.socketpair()
tool = subprocess.Popen(["cat"], stdin=its)
its.close(); mine.close()
print(tool.wait())
""")
    assert r.lines == ["3 1048580 True", "-13", "0"], r


# --- many, and for long -----------------------------------------------------------------------


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_hundred_at_once(drive):
    r = drive.sh("for i in $(seq 100); do shell -c \"sleep 0.3; echo $i; exit $((i % 7))\" & "
                 "pids=\"$pids $!\"; done; for p in $pids; do wait $p; echo rc=$?; done")
    said = [line for line in r.lines if not line.startswith("rc=")]
    assert sorted(map(int, said)) == list(range(1, 101)), r
    assert [line for line in r.lines if line.startswith("rc=")] == [
        f"rc={i % 7}" for i in range(1, 101)], r


def test_a_thousand_in_a_row(drive):
    process = drive.start("bash", "-c", "gh first; read x; for i in $(seq 1000); do gh $i; done;"
                          "echo done; read x", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "first\n"
    broker = drive.broker()
    wait_until(lambda: not descendants(broker))
    before = open_files(broker)
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(1000)] == [f"{i}\n" for i in range(1, 1001)]
    assert process.stdout.readline() == "done\n"
    assert wait_until(lambda: not descendants(broker))
    assert open_files(broker) == before
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.wait(20) == 0
    assert len(drive.log()) == 1001


def test_more_calls_than_there_may_be(drive):
    r = drive.python("""
import resource, select, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
# They hold their places: sleepers ask for nothing more.
held = [call("sleeper", "600") for _ in range(1000)]
time.sleep(1)
more = [connect() for _ in range(60)]
print({answer(s) for s in more})
print([answer(s) for s in held if select.select([s], [], [], 0)[0]])
for s in held: s.close()
for _ in range(100):
    a = answer(call("gh", "again"))
    if a[0] == EXIT: break
    time.sleep(0.1)
print(a)
""", timeout=200)
    assert r.lines == ["{(18, 126, '1,000 calls are going on already')}", "[]", "again",
                       "(16, 0, 0)"], r


# --- signals, and ends ------------------------------------------------------------------------


def test_signals_are_passed_on(drive):
    script = drive.box.write("traps.sh", """\
#!/bin/bash
for s in HUP INT QUIT TERM USR1 USR2; do trap "echo got $s" $s; done
echo ready
while :; do sleep 0.05; done
""", 0o755)
    drive.tools["traps"] = script
    r = drive.python("""
import signal, subprocess
p = subprocess.Popen(["traps"], stdout=subprocess.PIPE, text=True)
print(p.stdout.readline(), end="")
for s in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1,
          signal.SIGUSR2):
    p.send_signal(s); print(p.stdout.readline(), end="")
p.kill(); print(p.wait())
""")
    assert r.lines == ["ready", "got HUP", "got INT", "got QUIT", "got TERM", "got USR1",
                       "got USR2", "-9"], r


def test_a_call_that_the_shim_deserts(drive):
    """The shim is killed: so are its tool and what that has started, deaf or not."""
    drive.tools["deaf"] = drive.box.write("deaf.sh", """\
#!/bin/bash
trap '' HUP INT QUIT TERM
setsid sleep 613 & sleep 614 &
echo ready
while :; do sleep 0.05; done
""", 0o755)
    process = drive.start(sys.executable, "-c", """
import subprocess, sys
p = subprocess.Popen(["deaf"], stdout=subprocess.PIPE)
p.stdout.readline(); print("ready", flush=True); sys.stdin.readline()
p.kill(); sys.stdin.readline()
""", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    broker = drive.broker()
    assert len(descendants(broker)) >= 4
    process.stdin.write("\n")
    process.stdin.flush()
    assert wait_until(lambda: not descendants(broker), 5), descendants(broker)
    process.communicate("\n", timeout=20)


def test_nothing_outlives_the_run(drive):
    """The program leaves calls behind when it ends; the box looks for what is left of them."""
    drive.tools["daemon"] = drive.box.write("daemon.sh", """\
#!/bin/bash
setsid sleep 615 <&- >&- 2>&- &
trap '' HUP TERM
sleep 616
""", 0o755)
    start = time.monotonic()
    r = drive.sh("daemon & daemon & sleeper 617 & sleep 0.5; exit 3")
    assert r.rc == 3 and time.monotonic() - start < 5, r
    assert wait_until(lambda: not descendants(), 1), descendants()
    assert "broker died" not in r.err


def test_leftovers_of_a_tool_end_with_it(drive):
    drive.tools["daemon"] = drive.box.write("daemon.sh", """\
#!/bin/bash
setsid sleep 615 &
setsid bash -c 'trap "" TERM HUP; sleep 616' &
exit 4
""", 0o755)
    # Both hold the pipe; it ends with the call all the same.
    r = drive.sh("daemon | cat; echo ${PIPESTATUS[0]}")
    assert r.lines == ["4"], r


@pytest.mark.parametrize("victim", ["supervisor", "broker"])
def test_whoever_is_killed(drive, victim):
    """Tools end. (What they have started, too, where they have a PID namespace, as in lnk.)"""
    process = drive.start("bash", "-c", "sleeper 618 & sleeper 619 & sleep 0.5; echo go; wait;"
                          "exit 9", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "go\n"
    broker = drive.broker()
    assert len(descendants(broker)) == 4
    os.kill(process.pid if victim == "supervisor" else broker, signal.SIGKILL)
    assert wait_until(lambda: "sleep" not in descendants().values(), 5), descendants()
    if victim == "broker":
        out, err = process.communicate(timeout=20)
        assert process.returncode == 9 and "broker died" in err
        assert "nothing answers for it outside any longer" in err
    process.wait(20)


# --- broken input ---------------------------------------------------------------------------

ALIVE = "\nprint(answer(call('gh', 'alive', fds=(0, 1, 2))))\n"


def assert_alive(r):
    assert r.lines[-2:] == ["alive", "(16, 0, 0)"] and "broker died" not in r.err, r


def test_frames_that_are_none(drive):
    r = drive.python("""
good = frame(TOOL, request("gh", ["x"]))
bad = [
    head(TOOL, 2**32 - 1), head(TOOL, 2**31), head(TOOL, 0), head(TOOL, 7), head(TOOL, 3 << 20),
    head(BROWSE, 2**32 - 1), head(0, 8), head(4, 8), head(EXIT, 8) + b"\\0" * 8,
    head(ERROR, 8) + b"\\0" * 8, head(65535, 8), head(TOOL, 20, version=2), b"GET / HTTP/1.1\\r\\n\\r\\n",
    frame(SIGNAL, b"\\2\\0\\0\\0\\0\\0\\0\\0"), b"\\0" * 8, b"\\xff" * 64,
    frame(TOOL, request("gh", ["x"], count=2)), frame(TOOL, request("gh", ["x", "y"], count=1)),
    frame(TOOL, request("gh", [], count=2**32 - 1)), frame(TOOL, request("gh", [], count=32769)),
    frame(TOOL, request("gh", ["a\\0b"])), frame(TOOL, request("gh", ["x"])[:-1]),
    frame(TOOL, request("", ["x"])), frame(TOOL, request("../gh", ["x"])),
    frame(TOOL, request("../../bin/sh", ["-c", "id"])), frame(TOOL, request("gh", ["x"], cwd="x")),
    frame(TOOL, request("n" * 256, [])), frame(TOOL, request("gh", [], cwd="/" * 4096)),
    frame(TOOL, request("gh", ["x" * (2 << 20)])),
]
for b in bad:
    s = connect()
    try:
        send(s, b, (0, 1, 2))
    except (BrokenPipeError, ConnectionResetError):
        pass
    a = answer(s)
    assert a is not None and a[0] == ERROR and a[1] == 126 and a[2], (b[:60], a)
""" + ALIVE)
    assert_alive(r)
    assert len(r.lines) == 2, r


def test_frames_in_pieces_and_together(drive):
    r = drive.python("""
import time
# A byte at a time, the descriptors with the first.
s = connect()
data = frame(TOOL, request("gh", ["slow"]))
send(s, data[:1], (0, 1, 2))
for i in range(1, len(data)):
    s.send(data[i:i + 1])
print(answer(s))
# A call and a signal in one write.
s = connect()
term = frame(SIGNAL, struct.pack("<II", 15, 0))
send(s, frame(TOOL, request("sleeper", ["600"])) + term, (0, 1, 2))
print(answer(s))
# Two calls in one write: the second is a message that may not come, and ends the first.
s = connect()
send(s, frame(TOOL, request("sleeper", ["600"])) + frame(TOOL, request("gh", ["second"])),
     (0, 1, 2))
print(answer(s))
# Signals that no shim sends.
for number in (0, 9, 11, 19, 65, 2**32 - 1):
    s = call("sleeper", "600")
    s.send(frame(SIGNAL, struct.pack("<II", number, 0)))
    assert answer(s) == (EXIT, 0, 15), number
# A flood of them, and nobody who reads.
s = call("shell", "-c", "trap : USR1; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done; exit 5")
time.sleep(0.2)
try:
    for _ in range(20000):
        s.send(frame(SIGNAL, struct.pack("<II", 10, 0)))
except BrokenPipeError:
    pass
print(answer(s))
""" + ALIVE)
    assert r.lines[:5] == ["slow", "(16, 0, 0)", "(16, 0, 15)", "(16, 0, 15)", "(16, 5, 0)"], r
    assert_alive(r)


def test_calls_that_break_off_or_say_nothing(drive):
    r = drive.python("""
import time
data = frame(TOOL, request("gh", ["x"]))
for n in (1, 7, 8, 9, len(data) - 1):
    s = connect(); send(s, data[:n], (0, 1, 2)); s.close()
    s = connect(); send(s, data[:n], (0, 1, 2)); s.shutdown(socket.SHUT_WR)
    assert answer(s)[2] == "it broke off", n
start = time.monotonic()
silent = [connect() for _ in range(50)]
slow = connect(); send(slow, head(TOOL, 1000) + data[8:], (0, 1, 2))
while time.monotonic() - start < 2.5 and slow.fileno() >= 0:
    try:
        slow.send(b"x"); time.sleep(0.1)
    except (BrokenPipeError, ConnectionResetError):
        break
for s in silent:
    assert answer(s)[2] == "it did not say in time what it wants"
print(1.9 < time.monotonic() - start < 6)
""" + ALIVE)
    assert r.lines[0] == "True", r
    assert_alive(r)


def test_descriptors_that_are_refused(drive):
    r = drive.python("""
import select
def refused(fds, kind=TOOL, then=b""):
    s = connect()
    send(s, frame(kind, request("gh", ["x"])) + then, fds)
    a = answer(s)
    assert a and a[0] == ERROR and a[1] == 126 and "descriptor" in a[2], (fds, a)
n = null()
folder = os.open("/tmp", os.O_RDONLY)
path = os.open("/etc/passwd", os.O_PATH)
path_folder = os.open("/", os.O_PATH)
a, b = socket.socketpair()
listener = socket.socket(socket.AF_UNIX); listener.bind("\\0x"); listener.listen()
inet = socket.socket(socket.AF_INET)
event = select.epoll().fileno()
for bad in (folder, path, path_folder, a.fileno(), listener.fileno(), inet.fileno(), event):
    for place in range(3):
        fds = [n, n, n]; fds[place] = bad
        refused(fds)
for fds in ((), (n,), (n, n), (n, n, n, n), (n,) * 8, (n,) * 9, (n,) * 253):
    refused(fds)
for fds in ((n,), (n, n, n)):
    refused(fds, kind=BROWSE)
# Some more with a later byte.
s = connect(); data = frame(TOOL, request("gh", ["x"]))
send(s, data[:12], (n, n, n)); send(s, data[12:], (n,)); print(answer(s)[2])
# Every descriptor that was sent is closed: a pipe's other end says so.
for fds in (3, 1, 5, 9):
    r, w = os.pipe()
    s = connect()
    send(s, head(TOOL, 2**32 - 1), (w,) * fds)
    os.close(w)
    assert answer(s)[0] == ERROR
    s.close()
    assert select.select([r], [], [], 5)[0] and os.read(r, 1) == b""
# One that is passed to a call that is going on is dropped.
s = call("sleeper", "600"); send(s, frame(SIGNAL, struct.pack("<II", 10, 0)), (n,)); print(answer(s))
""" + ALIVE)
    assert r.lines[0] == "it came with descriptors that belong to nothing", r
    # recv(2) without room for them drops them; the signal is taken.
    assert r.lines[1] == "(16, 0, 10)", r
    assert_alive(r)


def test_the_longest_arguments(drive):
    drive.tools["count"] = drive.box.write("count.py", """\
#!/usr/bin/python3
import sys
print(len(sys.argv) - 1, sum(map(len, sys.argv[1:])))
""", 0o755)
    r = drive.python("""
import subprocess
def shim(*args):
    p = subprocess.run(["count", *args], capture_output=True, text=True)
    print(p.returncode, (p.stdout + p.stderr).strip().replace("\\n", " "))
shim(*["x" * 100000] * 10)
shim(*["x"] * 32768)
shim(*["x"] * 32769)
# More than the kernel takes for one argument, within our bounds.
print(answer(call("count", "x" * 200000)))
# 2 MiB to the byte, and one more.
print(answer(call("gh", *["x" * 65535] * 32))[1:])
print(answer(call("gh", *["x" * 65535] * 32, ""))[1:])
""" + ALIVE)
    assert r.lines[0] == "0 10 1000000", r
    assert r.lines[1] == "0 32768 32768", r
    assert r.lines[2].startswith("126 lnk: count: too many or too long arguments"), r
    assert "Argument list too long" in r.lines[3], r
    assert r.lines[4] == "(126, 'cannot run /bin/echo: Argument list too long')", r
    assert r.lines[5] == "(126, 'the arguments are too long: 2 MiB together at most')", r
    assert_alive(r)


def test_many_long_calls_at_once(drive):
    """Memory outside is not the sandbox's to fill."""
    r = drive.python("""
held = []
for _ in range(40):
    s = connect(); send(s, head(TOOL, 2 << 20), (0, 1, 2)); s.send(b"x" * 1000); held.append(s)
print(sorted({answer(s)[2] for s in held}))
""" + ALIVE)
    assert r.lines[0] == str(["it did not say in time what it wants",
                              "too many calls with long arguments are going on"]), r
    assert_alive(r)
