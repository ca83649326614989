"""run --report: what the kernel refused, with the line to add; and the tracer weakens nothing."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from conftest import LNK, descendants, wait_until
from terminal import Terminal

SPEC = """\
[files]
read = ["~/docs"]
write = ["proj"]
[commands]
allow = ["sh", "bash", "cat", "ls", "git", "python3", "node", "make", "env", "true", "sleep"]
"""
NOTHING = "lnk: report: no file and no program that is there was refused\n"
FLAGS = ("--report",)


@pytest.fixture
def watched(box):
    for name in ("docs/a", "notes/b", ".ssh/id_ed25519", "cfg/1", "cfg/2", "cfg/3", "cfg/4"):
        path = box.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    box.spec(SPEC)

    def run(*program, flags=(), **kwargs):
        return box.run(*program, flags=(*FLAGS, *flags), **kwargs)
    return run


def refusals(result):
    return [line.removeprefix("lnk: refused: ") for line in result.err.splitlines()
            if line.startswith("lnk: refused: ")]


def test_each_file_once_and_the_line_opens_it(box, watched):
    script = "for i in 1 2 3; do cat ~/notes/b; done; cat ~/docs/a ~/none"
    result = watched("sh", "-c", script)
    line = f'{box.specfile}:2: add "~/notes/b" to [files] read'
    assert len(refusals(result)) == 1, result
    assert re.match(r'to read ~/notes/b: no line of .*app.toml opens it '
                    rf'\(3 times\); {re.escape(line)}$', refusals(result)[0]), result
    box.spec(SPEC.replace('"~/docs"', '"~/docs", "~/notes/b"'))
    assert NOTHING in watched("sh", "-c", script).err


def test_kinds(box, watched):
    (box.home / "out").mkdir()
    (box.proj / ".git").mkdir()
    result = watched("bash", "-c", f"""
        cat ~/.ssh/id_ed25519; rm x; tr a b; : >.git/config; : >>{box.home}/docs/a
        for i in 1 2 3 4; do cat ~/cfg/$i; done""")
    told = refusals(result)
    assert [t.split(":")[0] for t in told] == [
        "to run rm", "to run tr", "to write ~/docs/a", f"to write {box.proj}/.git/config",
        "to read ~/cfg (4 names in it)", "to read ~/.ssh/id_ed25519"], result
    assert 'add "rm" to [commands] allow' in told[0]
    assert 'add "~/docs" to [files] write' in told[2]
    assert 'write_dot_files = ["proj"]' in told[3]
    assert 'add "~/.ssh/id_ed25519" to [files] read' in told[5]


@pytest.mark.parametrize("program", [
    ("true",), ("python3", "-c", "import json, ssl, sqlite3, asyncio"), ("node", "-e", "1"),
    ("git", "--no-optional-locks", "status"), ("git", "log"), ("make",), ("sh", "-c", "command -v nosuch; nosuch"),
    ("env", "PATH=/nowhere:/usr/bin", "true"), ("bash", "-c", "cat /nope ~/nope nope; true")])
def test_no_noise(box, watched, program):
    """What is not there outside either is no refusal, however often it is looked for."""
    box.write("Makefile", "all:\n\ttrue\n")
    box.git("init", "-q")
    plain = box.run(*program)
    result = watched(*program)
    assert (result.rc, result.out) == (plain.rc, plain.out)
    assert refusals(result) == [] and result.err.endswith(NOTHING), result


def test_real_programs(box, watched):
    """What git, node and python miss of a home is named."""
    (box.home / ".gitconfig").write_text("[user]\nname = x\n")
    (box.home / "lib").mkdir()
    (box.home / "lib/m.js").write_text("exports.x = 1\n")
    (box.home / "lib/m.py").write_text("x = 1\n")
    box.git("init", "-q")
    told = refusals(watched("git", "status"))
    assert len(told) == 2 and told[1].startswith("to read ~/.gitconfig: "), told
    assert told[0].startswith(f"to write {box.proj}/.git/index.lock: "), told
    told = refusals(watched("node", "-e", f"require('{box.home}/lib/m.js')"))
    assert any('add "~/lib' in t for t in told), told
    told = refusals(watched("python3", "-c", "import m", env={"PYTHONPATH": box.home / "lib"},
                            flags=("--env", "PYTHONPATH")))
    assert any('add "~/lib' in t for t in told), told
    box.write("Makefile", "all:\n\tcp Makefile x\n")
    told = refusals(watched("make"))
    assert any(t.startswith("to run cp: ") for t in told), told


@pytest.mark.parametrize("name", ["host.invalid", "192.0.2.7"])
def test_calls_are_in_it(box, watched, name):
    box.spec(SPEC + '[internet]\nhosts = ["one.invalid"]\n')
    result = watched("python3", "-c", f"import socket\ntry: socket.create_connection(('{name}', 443), 3)"
                     "\nexcept OSError: pass", flags=("--quiet",))
    assert any(t.startswith(name) for t in refusals(result)), result


def test_curl_to_a_closed_host(box, watched):
    box.spec(SPEC.replace('"true"', '"true", "curl"') + '[internet]\nhosts = ["one.invalid"]\n')
    result = watched("curl", "-sS", "https://two.invalid/x")
    assert result.rc == 6
    assert any(t.startswith("two.invalid") and 'add "two.invalid" to [internet] hosts' in t
               for t in refusals(result)), result


def test_log(box, watched):
    log = box.dir / "log"
    watched("sh", "-c", "cat ~/notes/b; rm x", flags=("--log", log, "--network", "host"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    seen = {(e["section"], e["access"], e["path"]) for e in lines}
    assert ("files", "read", str(box.home / "notes/b")) in seen, lines
    assert any(e["section"] == "commands" and e["access"] == "run" and e["path"].endswith("/rm")
               and e["verdict"] == "refused" and 'add "rm"' in e["hint"] for e in lines), lines


def test_threads_and_children(box, watched):
    """Threads, fork, vfork, posix_spawn, and exec by a thread that is not the first."""
    box.write("t.py", """
import os, subprocess, threading
def look(n): 
    for _ in range(50):
        try: open(os.path.expanduser(f"~/cfg/{n}")).close()
        except OSError: pass
threads = [threading.Thread(target=look, args=(i % 3 + 1,)) for i in range(12)]
[t.start() for t in threads]; [t.join() for t in threads]
for _ in range(20):
    if os.fork() == 0: look(1); os._exit(0)
    os.wait()
subprocess.run(["cat", os.path.expanduser("~/notes/b")], stderr=subprocess.DEVNULL)
os.waitpid(os.posix_spawn("/bin/cat", ["cat", os.path.expanduser("~/cfg/4")], {}), 0)
t = threading.Thread(target=lambda: os.execv("/bin/cat", ["cat", os.path.expanduser("~/.ssh/id_ed25519")]))
t.start(); t.join()
""")
    result = watched("python3", "t.py")
    told = " ".join(refusals(result))
    for name in ("~/cfg", "~/notes/b", "~/.ssh/id_ed25519"):
        assert f"to read {name}" in told, result
    assert int(re.search(r"~/cfg \(4 names in it\): .*?\((\d+) times\)", told)[1]) >= 600 + 1000


def test_guards_stand(box, watched):
    """The traced program has what the untraced has, and one filter more."""
    show = ("cat", "/proc/self/status")
    keys = ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "TracerPid", "Uid")
    plain, traced = ({line.split(":")[0]: line.split(":")[1].strip() for line in result.lines}
                     for result in (box.run(*show), watched(*show)))
    for key in keys:
        assert plain[key] == traced[key], key
    assert int(traced["Seccomp_filters"]) == int(plain["Seccomp_filters"]) + 1


def test_an_untraced_child_gets_nothing(box, watched):
    """clone(CLONE_UNTRACED) leaves the tracer, and with it every call that names a file."""
    box.write("u.py", """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.syscall(56, 0x00800000 | 17, 0, 0, 0, 0)
if pid == 0:
    try: os.stat("/etc/passwd")
    except OSError as e: os._exit(e.errno)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""")
    assert box.run("python3", "u.py").out == "0\n"
    assert watched("python3", "u.py").out == "38\n"


def test_signals_and_status(watched):
    for script, rc in [("exit 3", 3), ("kill -9 $$", 137), ("kill -SEGV $$", 139),
                       ("trap 'exit 9' TERM; kill -TERM $$; sleep 5", 9),
                       ("sleep 0.2 & kill -STOP $!; kill -CONT $!; wait $!", 0)]:
        result = watched("bash", "-c", script)
        assert (result.rc, result.out) == (rc, ""), result


def test_job_control(box, watched):
    with Terminal(["bash", "--norc", "--noprofile", "-i"], box.proj,
                  box.environment({"PS1": "rdy> "})) as terminal:
        terminal.wait("rdy> ")
        terminal.send(shlex.join(box.argv("cat", flags=FLAGS)) + "\n")
        terminal.rest(1)
        for _ in range(2):
            terminal.send("hello\n")
            terminal.wait("hello")
            terminal.wait("hello")
            terminal.send("\x1a")
            terminal.wait("Stopped")
            terminal.wait("rdy> ")
            terminal.send("fg\n")
            terminal.rest(0.5)
        terminal.send("\x03")
        terminal.wait("rdy> ")
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=130")
        terminal.send("exit\n")
        terminal.end()


def tracer_of(process):
    return wait_until(lambda: next((pid for pid, name in descendants(process.pid).items()
                                    if name == "lnk-tracer"), None))


def test_the_tracer_is_killed(box, watched):
    """The kernel ends what it traced: nothing runs on unwatched."""
    process = box.start("sh", "-c", "echo up; sleep 60; touch ran", flags=FLAGS)
    assert process.stdout.readline() == "up\n"
    os.kill(tracer_of(process), signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 137 and "the tracer of --report was killed" in err
    assert not (box.proj / "ran").exists()


@pytest.mark.parametrize("who", ["lnk", "tracer"])
def test_kill_leaves_nothing(box, watched, who):
    before = set(descendants())
    process = box.start("sh", "-c", "echo up; sleep 60 & sleep 60", flags=FLAGS)
    assert process.stdout.readline() == "up\n"
    os.kill(process.pid if who == "lnk" else tracer_of(process), signal.SIGKILL)
    process.communicate(timeout=20)
    assert wait_until(lambda: not set(descendants()) - before, 3)


def test_the_tracer_can_do_little(box, watched):
    process = box.start("sh", "-c", "echo up; sleep 60", flags=FLAGS)
    assert process.stdout.readline() == "up\n"
    tracer = tracer_of(process)
    with open(f"/proc/{tracer}/status", encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    assert (status["Seccomp"].strip(), status["NoNewPrivs"].strip()) == ("2", "1")
    process.terminate()
    process.communicate(timeout=20)


def test_hostile_names(box, watched):
    """Escape sequences, paths that never end or are no memory, and a flood of names."""
    evil = box.home / "evil\x1b[31m\nlnk: refused: nothing"
    evil.write_text("x\n")
    box.write("h.py", f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
try: open({str(evil)!r})
except OSError: pass
big = b"/" + b"a" * 1000000
for p in (1, -1, 0, big): libc.syscall(2, ctypes.c_char_p(p) if isinstance(p, bytes) else p, 0)
for i in range(20000):
    libc.syscall(2, b"/nowhere/%d/" % i, 0)
""")
    result = watched("python3", "h.py", timeout=120)
    assert result.rc == 0 and "\x1b" not in result.err, result
    told = refusals(result)
    assert len(told) <= 3 and "evil" in told[0], result
    assert "names that were not looked at" in result.err


def test_a_long_list_is_cut(box, watched):
    for i in range(60):
        folder = box.home / f"d{i}/e"
        folder.mkdir(parents=True)
        (folder / "f").write_text("x\n")
    result = watched("sh", "-c", "cat ~/d*/e/f; i=0; while [ $i -lt 60 ]; do cat ~/d$i/e/f; i=$((i+1)); done")
    assert len(refusals(result)) == 33 and "28 more files and programs" in result.err, result


def test_a_debugger_inside_is_told(box):
    """Documented: only one may trace, so strace and gdb do not work in a run with --report."""
    if shutil.which("strace") is None:
        pytest.fail("strace is missing: script/setup --test")
    box.spec(SPEC.replace('["sh"', '["strace", "sh"'))
    assert box.run("strace", "-o", "t", "true").rc == 0
    assert box.run("strace", "-o", "t", "true", flags=FLAGS).rc == 1


def test_a_plain_run_makes_no_more_calls(box):
    """Without --report there is no tracer and not one call for it."""
    done = subprocess.run(["strace", "-f", "-c", "-U", "name,calls", *box.argv("true")],
                          cwd=box.proj, env=box.environment(), capture_output=True, text=True,
                          check=False)
    names = {line.split()[0] for line in done.stderr.splitlines() if len(line.split()) == 2}
    assert "ptrace" not in names and "vfork" in names, done.stderr
    assert LNK.exists()
