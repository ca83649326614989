"""K20 and the set-up: a machine that lacks something, and calls that fail on the way. The program
never starts with a guard missing."""

import collections
import errno
import os
import platform
import socket
import subprocess
import threading

import pytest

from cell import Cell, HERE, IS_ROOT, LNK, build_probes, cell, row
from network import nbox, net, zone

LOADER = next((p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
               if os.path.exists(p)), "-")


# Calls that the C library itself ends the process over, and as process 1 under a tracer cannot.
LIBRARYS_OWN = {"x86_64": {12, 334}, "aarch64": {214, 293}}[platform.machine()]  # brk, rseq

# What the gate locks itself up by: prctl, capset, seccomp, and Landlock's three.
JAIL = {"x86_64": {157, 126, 317, 444, 445, 446},
        "aarch64": {167, 91, 277, 444, 445, 446}}[platform.machine()]

_tools = {}


@pytest.fixture
def tool():
    """The path of a small program of tools/, built once."""
    def build(name):
        if name not in _tools:
            target = build_probes()["plain"].parent / name
            subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-o", target,
                            HERE / "tools" / f"{name}.c"], check=True)
            _tools[name] = target
        return str(_tools[name])
    return build


def prepare_audit(cell, port, more=""):
    """Has the cell's run use every guard, and keeps the words of an audit of them."""
    box = cell.box
    hidden, pinned = box.write("conf/key", "SECRET\n"), box.write(".envrc", "mine\n")
    docs = box.home / "docs/d"
    docs.parent.mkdir()
    docs.write_text("doc\n")
    outside = box.dir / "outside"
    outside.write_text("SECRET\n")
    unlisted = box.proj / "unlisted"
    unlisted.write_bytes(cell.probes["plain"].read_bytes())  # one that a loader can load
    unlisted.chmod(0o755)
    spec = cell.spec(write=["proj"], read=["home/docs"], hide=["proj/conf/key"],
                     commands=[cell.probe("static")])
    spec.write_text(spec.read_text() + more)
    cell.words = [cell.probe("static"), "audit", hidden, pinned, docs, outside, unlisted, LOADER,
                  port]
    return cell


@pytest.fixture
def audited(cell):
    """A cell without a network section; a server of this machine listens outside."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            while True:
                try:
                    server.accept()[0].sendall(b"seen")
                except OSError:
                    return
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield prepare_audit(cell, server.getsockname()[1])
        # Else it still waits when the socket's number is another socket's, whose calls it takes.
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def audited_with_all(nbox):
    """One with gate and broker besides: hosts, ports, a tool and pages."""
    cell = Cell(nbox)
    tool = nbox.dir / "tools/gh"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    nbox.outside(LNK, "sandbox", "tool", "add", "gh", "--program", tool, "--any", check=True)
    return prepare_audit(cell, zone.LOCAL_CLOSED, f"""
[internet]
hosts = ["ok.test"]
[localhost]
ports = [{zone.LOCAL_WEB}]
[tools]
names = ["gh"]
[browser]
hosts = ["ok.test"]
""")


def test_audit_sees_every_guard(audited):
    """It says nothing of a run that is whole, and names what is missing."""
    seen = audited.box.run(*audited.words)
    assert seen.lines == ["started", "done"], seen
    expected = {
        "covers": {"hidden file is read"},
        "read_only": {"read-only file changes its mode"},
        "network": {"a server of this machine is reached"},
        "pins": {"pinned file is written"},
        "landlock": {"unlisted program runs"},
        "loader": {"loader runs"},
        "seccomp": {"filter is missing", "filter is missing by its own account",
                    "memfd can be executed"},
        "dumpable": {"init is traced", "memory of init is written"},
        "capabilities": {"capabilities are bounded by nothing"},
    }
    for guard, leaks in expected.items():
        seen = audited.box.run(*audited.words, without=guard)
        found = {line.removeprefix("LEAK ") for line in seen.lines if line.startswith("LEAK")}
        assert leaks <= found, (guard, seen)
    seen = audited.box.outside(*audited.words)
    assert len([line for line in seen.lines if line.startswith("LEAK")]) >= 12, seen


LACKING = {
    "Landlock not built in": ["landlock_create_ruleset=ENOSYS"],
    "Landlock not switched on": ["landlock_create_ruleset=EOPNOTSUPP"],
    "Landlock's rules refused": ["landlock_add_rule=EINVAL"],
    "Landlock refused at last": ["landlock_restrict_self=EPERM"],
    "filters not built in": ["seccomp=ENOSYS"],
    "filters refused": ["seccomp=EINVAL"],
    "namespaces refused": ["clone3=EPERM", "unshare=EPERM"],
    "clone3 refused as containers do": ["clone3=ENOSYS"],
    "no user namespaces left": ["clone3=ENOSPC"],
    "user namespaces not built in": ["clone3=EINVAL"],
    "the inner namespace refused": ["unshare=EPERM"],
    "new mount calls missing": ["fsopen=ENOSYS", "open_tree=ENOSYS", "move_mount=ENOSYS"],
    "new file systems refused": ["fsopen=EPERM"],
    "trees refused": ["open_tree=EPERM"],
    "mounts refused": ["move_mount=EPERM"],
    "mount flags refused": ["mount_setattr=ENOSYS"],
    "the root refused": ["pivot_root=EPERM"],
    "the old root stays": ["umount2=EPERM"],
    "lookups without links missing": ["openat2=ENOSYS"],
    "capabilities stay": ["capset=EPERM"],
    "process settings refused": ["prctl=EPERM"],
    "watches used up": ["inotify_init1=EMFILE"],
    "watches of folders used up": ["inotify_add_watch=ENOSPC"],
    "other namespaces refused": ["setns=EPERM"],
    "descriptors stay open": ["close_range=ENOSYS"],
    "no pidfd": ["pidfd_open=ENOSYS"],
    "placeholders refused": ["mkdirat=EROFS"],
}
# Nothing is lost where these fail: root makes no inner namespace.
MAY_START = {"the inner namespace refused", "no pidfd", "other namespaces refused"}


@row("K20")
@pytest.mark.parametrize("what", LACKING)
def test_machine_that_lacks_something(audited, tool, what):
    calls = [f"{name}={getattr(errno, error)}"
             for name, error in (pair.split("=") for pair in LACKING[what])]
    seen = audited.box.outside(tool("without"), *calls, "--", *audited.box.argv(*audited.words))
    leaks = [line for line in seen.lines if line.startswith("LEAK")]
    if seen.rc == 0 and what in MAY_START | {"clone3 refused as containers do"}:
        assert seen.lines == ["started", "done"], seen
    else:
        assert seen.rc == 125 and seen.out == "" and seen.err.startswith("lnk:") or \
            ".toml:" in seen.err, seen
    assert leaks == []
    assert "Traceback" not in seen.err and seen.err.count("\n") < 12, seen


@row("K20")
def test_no_user_namespaces_left(audited):
    """The real thing: a limit of zero, as hardened systems have."""
    script = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    seen = audited.box.outside("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh",
                               *audited.box.argv(*audited.words))
    assert seen.rc == 125 and "started" not in seen.out, seen
    assert seen.said("namespace") and "hint" in seen.err, seen


@row("K20")
def test_no_fresh_procfs(audited):
    """The real thing: in a container that masks parts of /proc the kernel gives no new one."""
    script = "mount -t tmpfs x /proc/acpi 2>/dev/null || mount -t tmpfs x /proc/fs; exec \"$@\""
    seen = audited.box.outside("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                               script, "sh", *audited.box.argv(*audited.words))
    assert seen.rc == 125 and "started" not in seen.out, seen
    assert seen.said("proc"), seen


# --- every call of the set-up failing in turn -----------------------------------------------

Run = collections.namedtuple("Run", "rc out err failed gate")


def failing(audited, failnth, n, error):
    """A run whose Nth call fails. The tool's own words come on the descriptor 9: `failed` is (number
    of the call, name of the process), or all of them for n 0; `gate` how that was locked up."""
    box, calls = audited.box, audited.box.dir / "calls"
    argv = ["bash", "-c", f'"$@" 9>{calls}', "x", failnth, n, error,
            os.path.basename(audited.words[0]), "--", *box.argv(*audited.words)]
    words = box.lab.words(*argv, cwd=box.proj) if hasattr(box, "lab") else argv
    done = subprocess.run(list(map(str, words)), cwd=box.dir, env=box.environment(), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    said = [line.split() for line in calls.read_text().splitlines()]
    gate = [line[1:] for line in said if line[0] == "gate"]
    failed = [(int(line[-2]), line[-1]) for line in said if line[0] != "gate"]
    return Run(done.returncode, done.stdout, done.stderr, failed, gate)


def calls_of_the_setup(audited, failnth, least):
    run = failing(audited, failnth, 0, 0)
    assert run.rc == 0 and run.out.splitlines() == ["started", "done"], run
    assert len(run.failed) > least, len(run.failed)
    return run.failed


def sample(calls, each):
    """For every kind of call of every process, its last place and up to `each` more, spread over
    the others."""
    places = collections.defaultdict(list)
    for i, (number, name) in enumerate(calls, 1):
        if number not in LIBRARYS_OWN and name != "failnth":
            places[number, name].append(i)
    chosen = set()
    for where in places.values():
        step = max(1, len(where) // (each + 1))
        chosen |= set(where[step::step][:each]) | {where[-1]}
    return sorted(chosen)


def wrong_with(run, with_gate):
    """What is wrong with a run in which a call failed: a guard that is missing, or no word."""
    leaks = {line for line in run.out.splitlines() if line.startswith("LEAK")}
    if "no binfmt_misc" in run.err:
        leaks.discard("LEAK loader runs")  # a second fence: said, and the run goes on
    number, name = run.failed[0] if run.failed else (-1, "")
    if number in LIBRARYS_OWN and not leaks:
        return None  # the order of calls is not the same each time
    if leaks:
        return f"started with a guard missing: {leaks}"
    if run.rc == 124:
        return "it hung"
    if "started" in run.out:
        # Filtered, or killed by its filter: then nothing is called any more.
        if with_gate and run.gate not in ([["2", "1"]], [["3", "1"]]):
            return f"the gate is {run.gate}"
        if name == "lnk-gate" and number in JAIL:
            return "the gate goes on without a part of its jail"
    elif run.rc not in (125, 126, 127, 139):
        return f"status {run.rc}"
    elif run.rc != 139 and not run.err.strip():  # the C library's own first calls
        return "it refused without a word"
    return None


def check_failures(audited, failnth, places, error, with_gate=False):
    refused, wrong = 0, []
    for n in places:
        run = failing(audited, failnth, n, error)
        refused += "started" not in run.out
        found = wrong_with(run, with_gate)
        if found:
            wrong.append((n, found, run))
    assert not wrong, f"{len(wrong)} of {len(places)}:\n" + "\n".join(map(str, wrong[:20]))
    # Some calls are of no weight (names of processes, files that may be opened); most are.
    assert refused >= len(places) / 5 and refused >= 5, (refused, len(places))


@row("K20")
def test_calls_of_the_setup_fail_in_turn(audited, tool):
    """A sample: the last call of each kind. Root's set-up is slow to trace: a part of it."""
    failnth = tool("failnth")
    places = sample(calls_of_the_setup(audited, failnth, 150), 0)
    check_failures(audited, failnth, places[::5 if IS_ROOT else 2], errno.EPERM)


@row("K20")
def test_calls_of_a_setup_with_gate_and_broker_fail_in_turn(audited_with_all, tool):
    """A sample, as above, of another error."""
    failnth = tool("failnth")
    places = sample(calls_of_the_setup(audited_with_all, failnth, 400), 0)
    check_failures(audited_with_all, failnth, places[::6 if IS_ROOT else 2], errno.EIO, True)


# Where a failure was once taken for an absence, or was not seen: looking up a name, saying something.
LOOKED_UP_AND_SAID = {"x86_64": (437, 46), "aarch64": (437, 211)}[platform.machine()]


@row("K20")
@pytest.mark.parametrize("error", ["EIO"])
def test_what_is_looked_up_and_said_fails_in_turn(audited, tool, error):
    failnth = tool("failnth")
    calls = calls_of_the_setup(audited, failnth, 150)
    places = [i for i, (number, name) in enumerate(calls, 1)
              if number in LOOKED_UP_AND_SAID and name in ("lnk-init", "lnk-warden")]
    assert len(places) >= 20, calls
    check_failures(audited, failnth, places, getattr(errno, error))


ERRORS = ["EPERM", "ENOSYS", "ENOMEM", "EINTR", "EIO", "EMFILE", "EAGAIN"]


@row("K20")
@pytest.mark.long
@pytest.mark.parametrize("error", ERRORS)
def test_all_calls_of_the_setup_fail_in_turn(audited, tool, error):
    failnth = tool("failnth")
    places = sample(calls_of_the_setup(audited, failnth, 150), 10 if IS_ROOT else 1000)
    check_failures(audited, failnth, places, getattr(errno, error))


@row("K20")
@pytest.mark.long
@pytest.mark.parametrize("error", ERRORS)
def test_all_calls_of_a_setup_with_gate_and_broker_fail_in_turn(audited_with_all, tool, error):
    failnth = tool("failnth")
    places = sample(calls_of_the_setup(audited_with_all, failnth, 400), 3 if IS_ROOT else 1000)
    check_failures(audited_with_all, failnth, places, getattr(errno, error), True)
