"""The gate as a process: what it has given up, how it dies, and what is left of it."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import LNK, descendants
from lab import gate_of, nbox, net, wait_until, zone


@pytest.fixture
def run(nbox):
    """A run whose program waits for a line: (Popen, pid of its gate)."""
    nbox.network(internet=["ok.test"], ports=[zone.LOCAL_WEB])
    process = nbox.start("sh", "-c", "curl -sS http://ok.test/first; while read line; do eval \"$line\"; "
                                     "echo end $?; done", stdin=subprocess.PIPE)
    assert process.stdout.readline().startswith("ok GET /first"), process.stderr.read()
    yield process, wait_until(lambda: gate_of(process.pid))
    if process.poll() is None:
        process.kill()
    process.communicate()


def tell(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    lines = []
    while not lines or not lines[-1].startswith("end "):
        lines.append(process.stdout.readline())
        assert lines[-1], "the program has ended"
    return lines


def status(pid):
    return dict(re.findall(r"^(\w+):\s+(.*)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M))


def test_it_has_given_up_what_it_does_not_need(run, nbox):
    """No capabilities, no new privileges, a filter of system calls, not to be read by others."""
    _, gate = run
    said = status(gate)
    assert said["NoNewPrivs"] == "1" and said["Seccomp"] == "2", said
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if name != "CapBnd":
            assert int(said[name], 16) == 0, said
    with pytest.raises(PermissionError):
        os.listdir(f"/proc/{gate}/fd")
    # Another process of the user's may not trace it, nor read its memory. (From within the lab:
    # outside of it the user owns the lab's namespace, and may do all there.)
    done = subprocess.run(nbox.lab.words("strace", "-p", str(gate)), capture_output=True, text=True, timeout=10)
    assert "Operation not permitted" in done.stderr, done


def test_it_is_small(run):
    _, gate = run
    said = status(gate)
    assert int(said["RssAnon"].split()[0]) < 4096, said


def test_it_holds_no_descriptor_of_the_users(run, nbox):
    """Looked at with the right to: only sockets, event queues, the log."""
    process, gate = run
    targets = nbox.lab.ask("descriptors", pid=gate)
    odd = [t for t in targets if not re.match(r"socket:|anon_inode:|pipe:|/dev/null|/memfd:", t)]
    assert len(targets) > 5 and odd == [], targets


@pytest.mark.parametrize("moment", ["idle", "calling", "streaming"])
def test_killed(run, nbox, net, moment):
    """kill -9: calls fail at once, the program goes on, and the run says why at its end."""
    process, gate = run
    if moment == "calling":
        process.stdin.write("curl -sS --max-time 20 'http://ok.test/stream?n=100&gap=0.2' >/dev/null; echo rc $?\n")
    elif moment == "streaming":
        process.stdin.write("curl -sS --max-time 20 http://ok.test/bytes?n=3000000000 >/dev/null; echo rc $?\n")
    process.stdin.flush()
    time.sleep(0.3)
    began = time.monotonic()
    os.kill(gate, signal.SIGKILL)
    if moment != "idle":
        line = process.stdout.readline()
        assert line.startswith("rc ") and line.split()[1] not in ("0", "28"), line
        assert time.monotonic() - began < 2
        process.stdout.readline()
    since = net.mark()
    for call in ("curl -sS --max-time 9 http://ok.test/", "curl -sS --max-time 9 https://ok.test/",
                 f"curl -sS --max-time 9 http://127.0.0.1:{zone.LOCAL_WEB}/", f"curl -sS --max-time 9 http://{zone.OK}/",
                 "getent hosts ok.test"):
        began = time.monotonic()
        assert tell(process, call)[-1] not in ("end 0\n", "end 28\n"), call
        assert time.monotonic() - began < 6 if "http" in call else 11
    assert since.packets() == []
    out, err = process.communicate("exit 3\n", timeout=10)
    assert process.returncode == 3 and re.search("^lnk: .*gate", err, re.M), (process.returncode, err)


def test_stopped_and_continued(run):
    """SIGSTOP: calls wait, and go on after."""
    process, gate = run
    os.kill(gate, signal.SIGSTOP)
    process.stdin.write("curl -sS --max-time 10 http://ok.test/waited; echo rc $?\n")
    process.stdin.flush()
    time.sleep(0.5)
    os.kill(gate, signal.SIGCONT)
    assert process.stdout.readline().startswith("ok GET /waited")


def test_the_program_cannot_reach_it(run):
    process, gate = run
    lines = tell(process, f"kill -9 {gate} 2>&1; kill -9 -1 2>/dev/null; ls /proc | grep -x {gate}; echo still")
    assert any("still" in line for line in lines) and status(gate)["State"][0] in "SR", lines


def test_it_ends_with_the_run(nbox):
    """Whichever way that is."""
    nbox.network(internet=["ok.test"])
    for how in (signal.SIGTERM, signal.SIGKILL, None):
        process = nbox.start("sh", "-c", "echo up; exec sleep 30" if how else "echo up")
        assert process.stdout.readline() == "up\n"
        gate = gate_of(process.pid) if how else None
        if how:
            process.send_signal(how)
        process.communicate(timeout=10)
        assert wait_until(lambda: "lnk-gate" not in descendants().values(), 3), how
        assert gate is None or not pathlib.Path(f"/proc/{gate}/status").exists() or status(gate)["State"][0] == "Z"


def test_many_runs_at_once(nbox, net):
    """Each has a gate of its own."""
    nbox.network(internet=["ok.test"])
    since = net.mark()
    runs = [nbox.start("curl", "-sS", f"http://ok.test/{i}") for i in range(12)]
    outs = [r.communicate(timeout=30) for r in runs]
    assert all(r.returncode == 0 and o.startswith(f"ok GET /{i} ") for i, (r, (o, _)) in enumerate(zip(runs, outs))), outs
    assert len(since.requests()) == 12


def test_where_its_program_is_missing(nbox):
    """A build without lnk-gate does not run a program that was to have one."""
    nbox.network(internet=["ok.test"])
    alone = nbox.dir / "bin"
    alone.mkdir()
    shutil.copy(LNK, alone / "lnk")
    done = nbox.run("touch", "ran", lnk=alone / "lnk")
    if done.rc == 0:  # an installed one stands in libexec
        return
    assert done.rc == 125 and done.said("lnk-gate") and not (nbox.proj / "ran").exists(), done


def test_processes_and_files_do_not_leak(nbox, net):
    """A hundred calls of every end, and the gate holds what it held before."""
    nbox.network(internet=["ok.test", "closing.test", "resetting.test"], tcp=[f"ok.test:{zone.RAW}"])
    script = ("one() { curl -s -m 5 http://ok.test/ https://ok.test/ http://closing.test/ http://resetting.test/ "
              "http://other.test/ >/dev/null; }; one; echo warm; read go; "
              "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do one; done; echo done; read go")
    process = nbox.start("sh", "-c", script, stdin=subprocess.PIPE)

    def held():
        pid = gate_of(process.pid)
        return len(nbox.lab.ask("descriptors", pid=pid)), int(status(pid)["RssAnon"].split()[0])
    assert process.stdout.readline() == "warm\n"
    before = wait_until(held)
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    time.sleep(0.3)
    after = held()
    process.communicate("go\n", timeout=10)
    assert after[0] <= before[0] + 2 and after[1] <= before[1] + 512, (before, after)
