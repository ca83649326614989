"""The sandbox that waits for a tool's next call: it is used, it is nothing but quicker, and it does
not outlive what it was made for."""

import json
import os
import shlex
import signal
import subprocess

import pytest

from conftest import _stat, descendants, reap_orphans, wait_until
from test_tool_calls import KEEPER, SHOW, terminal_of
from toolbox import tools  # noqa: F401, a fixture

GRACE = 2.0


class Session:
    """A shell inside that does one line after the other."""

    def __init__(self, tools):
        self.tools = tools
        self.process = tools.box.start(
            "bash", "-c", 'while read -r line; do eval "$line" </dev/null 2>&1; echo "-- $?"; done',
            stdin=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def do(self, line):
        """What it prints, and its status."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        out = []
        while not (out and out[-1].startswith("-- ")):
            text = self.process.stdout.readline()
            assert text, out
            out.append(text.rstrip("\n"))
        return out[:-1], int(out[-1][3:])

    def chains(self):
        """Init by init, but for the run's own: [init, its lnk, who waits, the broker]."""
        found = []
        for pid, name in descendants(self.process.pid).items():
            chain = [pid]
            while chain[-1] != self.process.pid:
                stat = _stat(chain[-1])
                if not stat:
                    break
                chain.append(stat[2])
            if name == "lnk-init" and len(chain) > 2:
                found.append(chain[:-1])
        return found

    def wait(self, other=None, why=None):
        """Until one waits that is not `other`."""
        found = wait_until(lambda: [c for c in self.chains() if c != other], 5)
        assert len(found or []) == 1 and len(found[0]) == 4, (why, found, self.chains())
        return found[0]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


@pytest.fixture
def show(tools):
    tools.add_script("show", SHOW)
    with Session(tools) as session:
        assert session.chains() == []
        session.do("show")
        yield session
        session.end()


def test_calls_share_one(show):
    """For its init, every call's program is another process."""
    first, pids = show.wait(), set()
    for n in range(5):
        told = json.loads(show.do(f"show {n}")[0][0])
        assert told["argv"] == [str(n)] and told["fds"] == [0, 1, 2]
        pids.add(told["pid"])
        assert show.wait() == first
    assert len(pids) == 5


# What a call may leave behind that the next one could meet.
LEAVES = [
    "echo x > /tmp/left",
    "echo x > /var/tmp/left",
    "mkdir ~/left",
    "ln -s /etc ~/left",
    "touch /tmp/x; rm /tmp/x",
    "chmod 700 /tmp",
    "chmod 500 ~",
    "echo x > /dev/shm/left",
    "chmod 600 /dev/pts/ptmx",
    "ipcmk -Q", "ipcmk -M 100", "ipcmk -S 1",
    "python3 -c 'import ctypes; assert ctypes.CDLL(\"librt.so.1\").mq_open(b\"/left\", 0o102, 0o600, None) >= 0'",
    "prlimit --pid 1 --nofile=64:64",
    "prlimit --pid 1 --fsize=1:1",
    "renice -n 5 -p 1",
    "ionice -c 3 -p 1",
    "taskset -p 1 1",
    "chrt -b -p 0 1",
]
LOOKS = "ls -A /tmp /var/tmp /dev/shm /dev/mqueue ~ | grep left; ipcs | grep -c 0x; ulimit -n; nice; taskset -p $$; stat -c %a /tmp ~"


def test_one_that_is_not_as_it_was_is_not_used_again(tools):
    tools.add_script("does", '#!/bin/sh\nsh -c "$1"\n')
    with Session(tools) as s:
        s.do("does :")
        chain = s.wait()
        looks = [line.split(":")[-1] for line in s.do(f"does '{LOOKS}'")[0]]
        assert s.wait() == chain
        for leaves in LEAVES:
            out, status = s.do("does " + shlex.quote(leaves))
            assert status == 0, (leaves, out)
            used, chain = chain, s.wait(chain, leaves)
            assert chain[0] != used[0], leaves
            now = [line.split(":")[-1] for line in s.do(f"does '{LOOKS}'")[0]]
            assert now == looks, (leaves, now)
            assert s.wait() == chain
        s.end()


def test_what_a_call_has_started_is_gone_before_the_next(tools):
    tools.add_script("does", '#!/bin/sh\nsh -c "$1"\n')
    with Session(tools) as s:
        s.do("does :")
        chain = s.wait()
        assert s.do("does '(setsid sleep 611 &) ; setsid -f sleep 611; sleep 0.1'")[1] == 0
        assert "sleep" not in descendants(s.process.pid).values()
        out, _ = s.do("does 'cat /proc/[0-9]*/comm'")
        assert "sleep" not in out, out
        assert s.wait() == chain
        s.end()


def test_a_refusal_and_a_broken_call_cost_no_call_after_them(tools):
    tools.add_script("does", '#!/bin/sh\nsh -c "$1"\n')
    with Session(tools) as s:
        s.do("does :")
        s.wait()
        assert s.do("does : </tmp")[1] == 126
        assert s.do("does 'echo on'") == (["on"], 0)
        s.end()


def test_it_carries_what_a_call_carries(show):
    (show.tools.box.proj / "sub/a b").mkdir(parents=True)
    show.wait()
    told = json.loads(show.do("cd 'sub/a b'; show a '' 'x y' \"$(printf 'a\\nb')\"")[0][0])
    folder = os.path.realpath(show.tools.box.proj / "sub/a b")
    assert told["argv"] == ["a", "", "x y", "a\nb"] and told["fds"] == [0, 1, 2]
    assert told["cwd"] == folder and told["env"]["PWD"] == folder
    show.wait()
    first = json.loads(show.do("show 9<.")[0][0])
    assert first["env"] == told["env"] and first["fds"] == [0, 1, 2]
    assert "CapEff:\t0000000000000000" in first["caps"] and "Seccomp:\t2" in first["caps"]
    # A folder that is not the tool's.
    show.wait()
    told = json.loads(show.do("cd /tmp; show")[0][0])
    assert told["cwd"] == told["env"]["PWD"] == str(show.tools.box.home)


def test_streams_and_statuses(tools):
    tools.add_script("both", '#!/bin/sh\ncat; echo out; echo err >&2; exit "$1"\n')
    tools.add_script("dies", "#!/bin/sh\nkill -TERM $$\n")
    with Session(tools) as s:
        s.do("both 0; dies")
        for n in (0, 42, 255):
            wait_until(lambda: len(s.chains()) == 2, 5)
            assert s.do(f"echo in | both {n} 2>e | tr a-z A-Z; echo ${{PIPESTATUS[1]}}; cat e") == (
                ["IN", "OUT", str(n), "err"], 0)
            assert s.do("dies") == ([], 143)
        s.end()


def test_own_files_that_are_replaced(tools):
    """A login that is renewed by rename, one that was not there, a program that is updated."""
    login, later = tools.box.dir / "login", tools.box.dir / "later"
    login.write_text("old\n")
    text = f"#!/bin/sh\ncat {login}; cat {later} 2>/dev/null; echo 1\n"
    tools.add_script("reads", text, "--read", login, "--read", later)
    with Session(tools) as s:
        assert s.do("reads")[0] == ["old", "1"]
        waits = s.wait()
        (tools.box.dir / "new").write_text("new\n")
        os.rename(tools.box.dir / "new", login)
        assert s.do("reads")[0] == ["new", "1"]
        waits = s.wait(waits)
        later.write_text("later\n")
        assert s.do("reads")[0] == ["new", "later", "1"]
        s.wait(waits)
        program = tools.script("update", text.replace("echo 1", "echo 2"))
        os.rename(program, tools.folder / "reads")
        assert s.do("reads")[0] == ["new", "later", "2"]
        s.end()


@pytest.mark.parametrize("victim", range(3), ids=["init", "lnk", "who waits"])
def test_one_that_was_killed(show, victim):
    chain = show.wait()
    os.kill(chain[victim], signal.SIGKILL)
    wait_until(lambda: (_stat(chain[victim]) or "gZ")[1] == "Z", 2)
    told, status = show.do("show x")
    assert status == 0 and json.loads(told[0])["argv"] == ["x"]
    assert show.do("show y")[1] == 0


def test_what_is_hidden_stays_hidden(tools):
    """Replaced outside, while a sandbox waits that was made before."""
    secret = tools.box.write("secret", "mine\n")
    tools.add_script("reads", "#!/bin/sh\ncat secret 2>&1; echo then\n")
    tools.spec(hide=["proj/secret"])
    with Session(tools) as s:
        assert "mine" not in s.do("reads")[0]
        s.wait()
        (tools.box.proj / "new").write_text("mine\n")
        os.rename(tools.box.proj / "new", tools.box.proj / "secret")
        out, _ = s.do("reads")
        assert out[-1] == "then" and "mine" not in out, out
        s.end()
    assert secret.read_text() == "mine\n"


def left(before):
    reap_orphans()
    return {p: n for p, n in descendants().items() if p not in before}


@pytest.mark.parametrize("how", ["end", "lnk", "broker"])
def test_nothing_stays(tools, how):
    """At the end, and after kill -9, while one waits and guards a name on disk."""
    tools.add_script("quick", "#!/bin/sh\necho 1\n")
    tools.spec(hide=["proj/secret"])
    tools.run("true")
    view, before = tools.box.tree(state=True), set(descendants())
    with Session(tools) as s:
        s.do("quick")
        chain = s.wait()
        if how == "end":
            s.end()
        elif how == "lnk":
            s.process.kill()
            s.process.wait()
        else:
            os.kill(chain[3], signal.SIGKILL)
            assert s.do("quick")[1] == 126
            s.process.stdin.close()
            s.process.wait(10)
        assert wait_until(lambda: not left(before), GRACE), left(before)
    assert wait_until(lambda: tools.box.tree(state=True) == view, GRACE), set(
        tools.box.tree(state=True)) ^ set(view)


def test_a_call_that_is_killed(tools):
    tools.add_script("keeper", KEEPER)
    before = set(descendants())
    process = tools.box.start(
        "bash", "-c", "keeper & p=$!; read x; kill -9 $p; read x; keeper & p=$!; read x; kill -9 $p; "
        "echo killed; read x", stdin=subprocess.PIPE)
    for _ in range(2):
        assert process.stdout.readline() == "up\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert wait_until(lambda: "keeper" not in left(before).values(), 5), left(before)
        assert wait_until(lambda: list(left(before).values()).count("lnk-init") == 2, 5)
        process.stdin.write("\n")
        process.stdin.flush()
    process.communicate("\n", timeout=10)
    assert wait_until(lambda: not left(before), GRACE), left(before)


# --- on a terminal ----------------------------------------------------------------------------


def warm(t, word):
    """One call, and time for the next one's sandbox."""
    t.wait("bash-")
    t.send(f"{word} quick\n")
    t.wait("quick done")
    t.rest(0.5)


def test_keys_and_jobs(tools):
    tools.add_script("echoer", '#!/bin/sh\n[ "$1" = quick ] && echo quick done && exit\n'
                     'echo up; while read x; do echo "got $x"; done\n')
    with terminal_of(tools, "bash", "--norc", "--noprofile", "-i") as t:
        warm(t, "echoer")
        t.send("echoer\n")
        t.wait("up\r")
        for _ in range(2):
            t.send("\x1a")
            t.wait("Stopped")
            t.send('echo sh""ell\n')
            t.wait("shell")
            t.send("fg\n")
            t.wait("echoer")
            t.rest(0.3)
            t.send("word\n")
            t.wait("got word")
        t.send("\x03")
        t.wait("bash-")
        t.send('echo rc=""$?.\n')
        t.wait("rc=130.")
        t.send("echo word | echoer | cat\n")
        t.wait("got word")
        t.send("exit 4\n")
        assert t.end() == 4


def test_an_editor(tools):
    tools.add("vi", "--any")
    tools.box.write("file.txt", "first line\n")
    with terminal_of(tools, "bash", "--norc", "--noprofile", "-i") as t:
        t.wait("bash-")
        t.send("vi --version >/dev/null; echo quick do\"\"ne\n")
        t.wait("quick done")
        t.rest(0.5)
        t.send("vi -u NONE file.txt; echo rc=\"\"$?\n")
        t.wait("first line")
        t.send("osecond line\x1b")
        t.wait("second line")
        t.resize(30, 100)
        t.rest(0.3)
        t.send(":wq\r")
        t.wait("rc=0")
        t.send("exit 0\n")
        assert t.end() == 0
    assert (tools.box.proj / "file.txt").read_text() == "first line\nsecond line\n"


def test_a_terminal_of_the_sandboxs_own(tools):
    """There the tool finds no terminal of the user's, waiting or not."""
    tools.add_script("asks", "#!/bin/sh\nif (: </dev/tty) 2>/dev/null; then echo has one; else echo none; fi\n")
    with terminal_of(tools, "bash", "--norc", "--noprofile", "-i") as t:
        t.wait("bash-")
        t.send("asks\n")
        t.wait("has one")
        t.rest(0.5)
        t.send("python3 -c 'import pty; pty.spawn([\"asks\"])'\n")
        t.wait("none")
        t.wait("bash-")
        t.send("asks\n")
        t.wait("has one")
        t.send("exit 0\n")
        assert t.end() == 0
