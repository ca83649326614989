"""Tools through the whole of lnk: what a call carries in and out, what the tool sees, how it ends.
What it may be talked into is tests/escape/test_tools.py's."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from conftest import LNK, _stat, descendants, reap_orphans, wait_until
from terminal import Terminal
from toolbox import tools

SHOW = """\
#!/usr/bin/python3
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ),
                  "fds": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
                  "pid": os.getpid(), "caps": open("/proc/self/status").read()}))
"""
GRACE = 2.0


@pytest.fixture
def show(tools):
    """A tool that tells how it was called: show(WORDS) is what it told."""
    tools.add_script("show", SHOW)

    def call(*words, **kwargs):
        done = tools.run("show", *words, **kwargs)
        assert done.rc == 0, done
        return json.loads(done.out)
    call.tools = tools
    return call


def terminal_of(tools, *program):
    return Terminal(tools.box.argv(*program), tools.box.proj, tools.box.environment())


# --- what a call carries ----------------------------------------------------------------------


def test_exit_statuses(tools):
    tools.add_script("sh-out", '#!/bin/sh\nexec sh -c "$1"\n')
    codes = [0, 1, 2, 42, 125, 126, 127, 128, 255]
    done = tools.sh("".join(f"sh-out 'exit {n}'; echo $?;" for n in codes))
    assert list(map(int, done.lines)) == codes, done
    done = tools.sh("sh-out 'kill -9 $$'; echo $?; sh-out 'kill -TERM $$'; echo $?; sh-out 'exit 5'")
    assert done.lines == ["137", "143"] and done.rc == 5, done
    assert [e["status"] for e in tools.log()][:9] == codes


def test_arguments_are_passed_literally(show):
    words = ["", " ", "a b", "x\ny", "\t", "'", '"', "$(id)", "`id`", "\\", "*", "--", "-x", ";", "|",
             "#", "\x01\x7f", "\u00fc\u202e", "~", "$HOME", "%s%n", "=", "&& id"]
    assert show(*words)["argv"] == words
    tools = show.tools
    done = tools.run("python3", "-c", "import os; os.execv('/run/lnk/bin/show', ['show', b'\\xff\\xfe'])")
    assert json.loads(done.out)["argv"] == ["\udcff\udcfe"], done


def test_two_mebibytes_of_arguments(tools):
    tools.add_script("count", "#!/usr/bin/python3\nimport sys\n"
                     "print(len(sys.argv) - 1, sum(map(len, sys.argv)) - len(sys.argv[0]))\n")
    done = tools.run("python3", "-c", """
import resource, subprocess
resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
for words in (["x" * 100000] * 18, ["y"] * 30000, ["z" * 100000] * 24, ["w"] * 40000):
    p = subprocess.run(["count", *words], capture_output=True, text=True)
    print(p.returncode, p.stdout.strip() or p.stderr.splitlines()[0])
""")
    assert done.lines[:2] == ["0 18 1800000", "0 30000 30000"], done
    for line in done.lines[2:]:
        assert line.startswith("126 lnk: count: too many or too long arguments"), done


def test_working_folder(show):
    tools = show.tools
    (tools.box.proj / "sub/a b").mkdir(parents=True)
    for folder in ("sub/a b", "sub", "."):
        done = tools.sh(f"cd '{folder}' && show")
        assert json.loads(done.out)["cwd"] == os.path.realpath(tools.box.proj / folder), done
    # A folder of the sandbox's own is not the tool's.
    done = tools.sh("mkdir -p /tmp/x ~/y && cd /tmp/x && show && cd ~/y && show")
    assert [json.loads(line)["cwd"] for line in done.lines] == [str(tools.box.home)] * 2, done
    done = tools.sh("mkdir gone && cd gone && rmdir ../gone && show")
    assert done.rc == 126 and "working folder" in done.err, done


def test_descriptors(show):
    tools = show.tools
    tools.add_script("both", '#!/bin/sh\ncat; echo out; echo err >&2\n')
    done = tools.sh("echo in | both 2>e | tr a-z A-Z; cat e; both <e >o 2>&1; cat o;"
                    "both </dev/null >>o; tail -n1 o; both < <(echo sub)")
    assert done.lines == ["IN", "OUT", "err", "err", "out", "err", "out", "sub", "out"], done
    # Only these three get there, whatever the program has open; closed ones are no accident.
    done = tools.sh("exec 8>x 9<.; show; show <&- >y; cat y")
    assert [json.loads(line)["fds"] for line in done.lines] == [[0, 1, 2]] * 2, done
    done = tools.sh("both <&- >&- 2>&-; echo rc=$?; both </dev/null 2>&1 >/dev/full; echo rc=$?")
    assert done.lines[0].startswith("rc=") and done.lines[-1].startswith("rc="), done
    # A file that the program opened for reading is not written by the tool.
    tools.add_script("writer", "#!/bin/sh\necho evil >&0 || echo evil > /proc/self/fd/0; true\n")
    tools.box.write("../closed.txt", "mine\n")
    tools.spec(read=["closed.txt"])
    tools.sh(f"writer < {tools.box.dir}/closed.txt")
    assert (tools.box.dir / "closed.txt").read_text() == "mine\n"


def test_large_input_and_output(tools):
    tools.add_script("sum", "#!/bin/sh\nsha256sum\n")
    tools.add_script("much", "#!/bin/sh\nhead -c 20000000 /dev/zero\n")
    done = tools.sh("head -c 20000000 /dev/zero | sum; much | sha256sum; much | head -c 1 | wc -c")
    assert done.lines[0] == done.lines[1] and done.lines[2] == "1", done


def test_a_hundred_at_once(tools):
    tools.add_script("slow", '#!/bin/sh\nsleep 0.2; echo "$1"; exit $(($1 % 7))\n')
    start = time.monotonic()
    done = tools.sh("for i in $(seq 100); do slow $i & pids=\"$pids $!\"; done;"
                    "for p in $pids; do wait $p; echo rc=$?; done", timeout=200)
    said = [int(line) for line in done.lines if not line.startswith("rc=")]
    assert sorted(said) == list(range(1, 101)), done
    assert [line for line in done.lines if line.startswith("rc=")] == [
        f"rc={i % 7}" for i in range(1, 101)], done
    assert time.monotonic() - start < 120
    assert len(tools.log()) == 100


def test_a_tool_in_a_loop_a_pipe_a_script_and_a_subshell(tools):
    """Found by its name alone, wherever it is called (and nothing around it runs outside)."""
    tools.add_script("gh", '#!/bin/sh\necho "gh $*"\n')
    tools.box.write("s.sh", "#!/bin/sh\ngh script\n", 0o755)
    done = tools.sh("for i in 1 2; do gh $i; done; echo x | xargs gh | cat; ./s.sh; (gh sub);"
                    "python3 -c 'import subprocess; subprocess.run([\"gh\", \"py\"])';"
                    "env gh env; echo evil > ~/evil; gh x; command -v gh; find . -exec gh f \\; | head -1")
    assert done.lines == ["gh 1", "gh 2", "gh x", "gh script", "gh sub", "gh py", "gh env", "gh x",
                          "/run/lnk/bin/gh", "gh f"], done
    assert not (tools.box.home / "evil").exists()


# --- what the tool sees -----------------------------------------------------------------------


def test_environment_is_the_users(show):
    """As it was at the start; never the program's. What belongs to the entry passes, no more."""
    tools = show.tools
    tools.box.outside(LNK, "sandbox", "tool", "add", "show", "--env", "TOOL_TOKEN", check=True)
    tools.box.env.update(TOOL_TOKEN="secret", OTHER_TOKEN="closed", LANG="C.UTF-8")
    told = json.loads(tools.sh("export LANG=evil HOME=/tmp PATH=/tmp:$PATH TOOL_TOKEN=evil X=evil "
                               "LD_PRELOAD=/tmp/x.so PYTHONPATH=/tmp GIT_DIR=/tmp; /run/lnk/bin/show",
                               ).out)["env"]
    assert "evil" not in told.values() and not any(v.startswith("/tmp") for k, v in told.items()
                                                   if k not in ("TMPDIR",)), told
    assert told["TOOL_TOKEN"] == "secret" and "OTHER_TOKEN" not in told
    assert told["HOME"] == str(tools.box.home) and "/run/lnk" not in told["PATH"]
    assert not {"LD_PRELOAD", "PYTHONPATH", "X"} & set(told)
    assert told["GIT_DIR"] == told["GIT_COMMON_DIR"] == "/run/lnk/repo", "there is no repository here"
    done = tools.sh("echo ${TOOL_TOKEN-none}")
    assert done.out == "none\n", done


def test_files_are_the_sandboxs_and_its_own(tools):
    (tools.box.home / ".config/reader").mkdir(parents=True)
    (tools.box.home / ".config/reader/token").write_text("LOGIN\n")
    (tools.box.home / "notes").write_text("PRIVATE\n")
    tools.box.write("open.txt", "open\n")
    tools.box.write("conf/key", "HIDDEN\n")
    tools.box.write(".envrc", "mine\n")
    (tools.box.proj / "link").symlink_to(tools.box.home / "notes")
    (tools.box.proj / "inner").symlink_to("conf/key")
    (tools.box.proj / "plain").symlink_to("open.txt")
    tools.add_script("sh-out", '#!/bin/bash\nexec bash -c "$1"\n', "--read", "~/.config/reader")
    tools.spec(hide=["proj/conf/key"])
    look = ("cat ~/.config/reader/token open.txt; cat ~/notes; cat link; cat inner; cat conf/key;"
            "cat plain; ls -A ~; echo new > made; echo evil > .envrc; mkdir -p .git/hooks;"
            "echo evil > ~/.config/reader/token; ls -A ~/.config; echo evil > ../made; true")
    done = tools.run("sh-out", look)
    assert done.out == "LOGIN\nopen\n.config\nreader\n", done
    assert done.err.count("Too many levels of symbolic links") == 3, done
    assert (tools.box.proj / "made").read_text() == "new\n"
    assert (tools.box.proj / ".envrc").read_text() == "mine\n"
    assert not (tools.box.proj / ".git").exists() and not (tools.box.dir / "made").exists()
    assert (tools.box.home / ".config/reader/token").read_text() == "LOGIN\n"
    assert "PRIVATE" in tools.box.outside("cat", "link").out
    # The program sees none of the tool's own.
    done = tools.sh("cat ~/.config/reader/token; ls -A ~")
    assert "LOGIN" not in done.out + done.err, done
    # With write_dot_files the tool may write what the program may.
    tools.spec(write_dot_files=["proj"])
    tools.run("sh-out", "echo new > .envrc")
    assert (tools.box.proj / ".envrc").read_text() == "new\n"


def test_own_paths_that_are_written(tools):
    (tools.box.home / "cache").mkdir()
    tools.add_script("keep", '#!/bin/sh\necho "$1" > ~/cache/x; cat ~/cache/x\n', "--write", "~/cache",
                     "--write", "~/not-there", "--read", "~/neither")
    assert tools.run("keep", "1").out == "1\n"
    assert (tools.box.home / "cache/x").read_text() == "1\n"
    assert tools.sh("cat ~/cache/x").rc != 0


def test_own_files_that_are_replaced_during_the_run(tools):
    """A login that is renewed by rename, one that was not there, a program that is updated."""
    login, later = tools.box.dir / "login", tools.box.dir / "later"
    login.write_text("old\n")
    text = f"#!/bin/sh\ncat {login}; cat {later} 2>/dev/null; echo 1\n"
    tools.add_script("reads", text, "--read", login, "--read", later)
    process = tools.box.start("sh", "-c", "while read x; do reads; echo --; done", stdin=subprocess.PIPE)

    def call():
        process.stdin.write("\n")
        process.stdin.flush()
        return list(iter(process.stdout.readline, "--\n"))
    assert call() == ["old\n", "1\n"]
    (tools.box.dir / "new").write_text("new\n")
    os.rename(tools.box.dir / "new", login)
    assert call() == ["new\n", "1\n"]
    later.write_text("later\n")
    assert call() == ["new\n", "later\n", "1\n"]
    os.rename(tools.script("update", text.replace("echo 1", "echo 2")), tools.folder / "reads")
    assert call() == ["new\n", "later\n", "2\n"]
    # Where it was judged to lead, and nowhere else: a link in its place leads to nothing.
    (tools.box.home / "secret").write_text("PRIVATE\n")
    login.unlink()
    login.symlink_to(tools.box.home / "secret")
    assert "PRIVATE\n" not in call()
    process.communicate(timeout=20)


@pytest.mark.parametrize("flag", ["--read", "--write"])
def test_own_sockets_are_called(tools, flag):
    """An agent's, Docker's: by the tool alone, and no others that lie in grants."""
    folder = tools.box.home / "run"
    folder.mkdir()
    paths = {"own": folder / "own", "other": folder / "other", "granted": tools.box.proj / "granted"}
    servers = [socket.socket(socket.AF_UNIX) for _ in paths]
    for server, path in zip(servers, paths.values()):
        server.bind(str(path))
        server.listen()
    tools.add_script("dial", """\
#!/usr/bin/python3
import socket, sys
for path in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(path); print("reached")
    except OSError as e:
        print(e.strerror)
""", flag, paths["own"])
    tools.box.write("dial.py", (tools.folder / "dial").read_text())
    # As an argument, the name would be one of the tool's own paths.
    program = tools.script("dial", (tools.folder / "dial").read_text().replace(
        "sys.argv[1:]", repr([str(p) for p in paths.values()])))
    seen = tools.run("dial")
    assert seen.lines[0] == "reached" and "reached" not in seen.lines[1:] and len(seen.lines) == 3, seen
    assert "reached" not in tools.run("python3", "dial.py", *paths.values()).out
    assert tools.box.outside(program).lines == ["reached"] * 3
    for server in servers:
        server.close()


def test_the_tool_has_no_rights_and_sees_no_processes(show):
    told = show()
    assert re.search("CapEff:\t0+\n", told["caps"]) and "NoNewPrivs:\t1" in told["caps"]
    assert told["pid"] < 10
    tools = show.tools
    tools.add_script("look", "#!/bin/sh\nls /proc | grep -c '^[0-9]'; ls /run/lnk; hostname >/dev/null\n")
    done = tools.run("look")
    assert int(done.lines[0]) < 8 and "broker" not in done.out, done


def test_the_network_is_this_machines(tools):
    """The program has none; the tool calls its service."""
    import http.server
    import threading

    class Service(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"served\n")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    try:
        tools.add_script("fetch", f"#!/bin/sh\nexec curl -s {url}\n")
        assert tools.run("fetch").out == "served\n"
        assert tools.run("curl", "-s", url).rc == 7
    finally:
        server.shutdown()
        server.server_close()


# --- tools that cannot be ----------------------------------------------------------------------


def test_tools_that_the_sandbox_could_change(tools):
    program = tools.box.write("mine", "#!/bin/sh\n", 0o755)
    tools.box.outside(LNK, "sandbox", "tool", "add", "mine", "--program", program,
                      "--any", check=True)
    tools.names = ["mine"]
    tools.spec()
    done = tools.run("touch", "ran")
    assert done.rc in (2, 125) and done.said(r"4:\d+: .*the sandbox may write .*mine"), done
    assert not (tools.box.proj / "ran").exists()


def test_a_program_that_is_gone(tools):
    tools.add_script("soon", "#!/bin/sh\n")
    (tools.folder / "soon").unlink()
    done = tools.run("touch", "ran")
    assert done.said("tool soon") and not (tools.box.proj / "ran").exists(), done


def test_a_tool_that_is_removed_during_the_run_stays(tools):
    """The run has what it began with: settings are read once."""
    tools.add_script("echoer", "#!/bin/sh\necho there\n")
    process = tools.box.start("sh", "-c", "echoer; read x; echoer", stdin=subprocess.PIPE)
    assert process.stdout.readline() == "there\n"
    tools.box.outside(LNK, "sandbox", "tool", "remove", "echoer", check=True)
    out, _ = process.communicate("\n", timeout=20)
    assert out == "there\n"


def test_calls_that_are_refused_are_reported_at_the_end(tools):
    tools.add("git")
    done = tools.sh("git push; git push; git config -l; exit 3")
    assert done.rc == 3, done
    assert len(re.findall("^lnk: git: ", done.err, re.M)) == 3, done
    assert done.said(r"refused: git push.*lnk sandbox tool add git --allow 'push \*'"), done


# --- git ----------------------------------------------------------------------------------------


@pytest.fixture
def git(tools):
    (tools.box.home / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@b\n")
    tools.box.write("f", "1\n")
    tools.box.git("init", "-q", ".")
    tools.box.git("add", "f")
    tools.box.git("commit", "-qm", "one")
    tools.add("git")
    tools.spec(write_dot_files=["proj"])
    return tools


def test_git_works_on_the_repository(git):
    done = git.sh("echo 2 >> f; git status --short; git diff --stat; git add f && git commit -qm two &&"
                  "git log --format='%s %an' && git checkout -qb side && echo 3 >> f &&"
                  "git stash -q && git stash pop -q && git commit -qam three && git checkout -q - &&"
                  "git merge -q side && git tag v1 && git show --format=%s --stat v1 && git blame f &&"
                  "git branch -d side && git reflog | wc -l && git grep -c 3 && git worktree list")
    assert done.rc == 0 and "two a" in done.lines and "three" in done.lines, done
    assert git.box.git("log", "--format=%s") == "three\ntwo\none\n"


def test_git_reads_without_write_dot_files(git):
    git.spec()
    done = git.sh("git log --format=%s; echo 2 >> f; git status --short; git diff | tail -1; git add f")
    assert done.lines == ["one", " M f", "+2"] and done.rc == 128, done
    assert "Read-only file system" in done.err


def test_git_fetches_over_ssh(git):
    """With a key that an agent holds; ssh asks about the host on the terminal."""
    box = git.box
    keys = box.dir / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True)
    config = box.dir / "sshd_config"
    port = free_port()
    config.write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {keys}/host\nPidFile none\n"
                      f"StrictModes no\nAuthorizedKeysFile {keys}/id.pub\nUsePAM no\n")
    origin = box.dir / "origin.git"
    box.git("clone", "-q", "--bare", ".", str(origin))
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", config], stderr=subprocess.PIPE,
                              text=True)
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", keys / "agent"], stdout=subprocess.DEVNULL)
    try:
        assert wait_until((keys / "agent").exists, 5)
        box.env["SSH_AUTH_SOCK"] = str(keys / "agent")
        box.outside("ssh-add", "-q", keys / "id", check=True)
        assert "listening" in server.stderr.readline()
        url = f"ssh://{box.env['USER']}@127.0.0.1:{port}{origin}"
        box.git("remote", "add", "origin", url)
        with terminal_of(git, "sh", "-c", "git fetch origin && git log --format=%s FETCH_HEAD; echo rc=$?;"
                         "ssh-add -l; git push origin HEAD:x; echo rc=$?") as t:
            t.wait("continue connecting (yes/no")
            t.send("yes\n")
            t.wait("-> origin/master")
            t.wait("one")
            t.wait("rc=0")
            t.wait("Could not open a connection to your authentication agent")
            t.wait("is not among")
            t.wait("rc=126")
            assert t.end() == 0
    finally:
        for process in (server, agent):
            process.kill()
            process.wait()
        server.stderr.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# --- the terminal -------------------------------------------------------------------------------


def test_interrupt_on_a_terminal(tools):
    tools.add_script("sleeper", "#!/bin/sh\necho up; exec sleep 60\n")
    tools.add_script("traps", "#!/bin/bash\ntrap 'echo caught; exit 9' INT\necho up\n"
                     "while :; do sleep 0.05; done\n")
    script = "trap 'echo here' INT; sleeper; echo rc=$?; traps; echo rc=$?"
    with terminal_of(tools, "bash", "-c", script) as t:
        t.wait("up\r")
        t.send("\x03")
        t.wait("rc=130")
        t.wait("up\r")
        t.send("\x03")
        t.wait("caught")
        t.wait("rc=9")
        assert t.end() == 0


def test_stop_and_continue(tools):
    tools.add_script("echoer", "#!/bin/sh\necho up; while read x; do echo \"got $x\"; done\n")
    with terminal_of(tools, "bash", "--norc", "--noprofile", "-i") as t:
        t.wait("bash-")
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
        t.send("\x04")
        t.rest(0.3)
        t.send("exit 4\n")
        assert t.end() == 4


def test_less_through_the_shim(tools):
    tools.add("pager", "--program", "/usr/bin/less", "--any")
    tools.box.write("long.txt", "".join(f"row {i}\n" for i in range(500)))
    with terminal_of(tools, "sh", "-c", "pager long.txt; echo rc=$?; seq 500 | pager; echo rc=$?") as t:
        t.wait("row 20")
        t.send(" ")
        t.wait("row 40")
        t.send("G")
        t.wait("row 499")
        t.send("q")
        t.wait("rc=0")
        t.wait("\r\n20")
        t.send("G")
        t.wait("500")
        t.send("q")
        t.wait("rc=0")
        assert t.end() == 0


def test_vim_through_the_shim(tools):
    tools.add("vi", "--any")
    tools.box.write("file.txt", "first line\n")
    with terminal_of(tools, "bash", "-c", "stty size; vi -u NONE file.txt; echo rc=$?; stty -a | grep -c ' icanon'") as t:
        t.wait("24 80")
        t.wait("first line")
        t.send("osecond line\x1b")
        t.wait("second line")
        t.resize(30, 100)
        t.rest(0.3)
        t.send(":wq\r")
        t.wait("rc=0")
        assert t.end() == 0
    assert (tools.box.proj / "file.txt").read_text() == "first line\nsecond line\n"


def test_window_size(tools):
    tools.add_script("size", """\
#!/usr/bin/python3
import os, signal, sys, time
def show(*a):
    c, r = os.get_terminal_size(); print(f"{r}x{c}", flush=True)
    if r == 40: sys.exit(5)
signal.signal(signal.SIGWINCH, show); show(); time.sleep(10)
""")
    with terminal_of(tools, "size") as t:
        t.wait("24x80")
        t.rest(0.2)
        t.resize(40, 100)
        t.wait("40x100")
        assert t.end() == 5


# --- the end --------------------------------------------------------------------------------------

KEEPER = """\
#!/usr/bin/python3
import os, signal, time
for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(600)
print("up", flush=True)
time.sleep(600)
"""


def left(before):
    reap_orphans()
    return {p: n for p, n in descendants().items() if p not in before}


def test_children_of_a_tool_end_with_the_run(tools):
    tools.add_script("keeper", KEEPER)
    before = set(descendants())
    done = tools.sh("keeper > a & keeper > b & while [ ! -s a ] || [ ! -s b ]; do sleep 0.05; done; exit 3")
    assert done.rc == 3 and wait_until(lambda: not left(before), GRACE), left(before)


def test_a_shim_that_is_killed_takes_its_tool_along(tools):
    tools.add_script("keeper", KEEPER)
    before = set(descendants())
    process = tools.box.start("bash", "-c", "keeper & p=$!; read x; kill -9 $p; echo killed; read x; exit 0",
                              stdin=subprocess.PIPE)
    assert process.stdout.readline() == "up\n"
    assert wait_until(lambda: list(left(before).values()).count("python3") + list(
        left(before).values()).count("keeper") >= 5, 5), left(before)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "killed\n"
    assert wait_until(lambda: "keeper" not in left(before).values(), 5), left(before)
    process.communicate("\n", timeout=10)
    assert process.returncode == 0


def parents(of):
    chain = []
    while of and of != os.getpid():
        chain.append(of)
        stat = _stat(of)
        of = stat[2] if stat else 0
    return chain


@pytest.mark.parametrize("victim", ["lnk", "broker", "call", "tool's lnk", "tool"])
def test_whoever_is_killed(tools, victim):
    """kill -9: two seconds on, nothing is left of the run, or of the call where that is what was hit."""
    tools.add_script("keeper", KEEPER)
    tools.spec(hide=["proj/secret"])
    tools.run("true")
    view, before = tools.box.tree(state=True), set(descendants())
    process = tools.box.start("sh", "-c", "keeper; echo rc=$?")
    assert process.stdout.readline() == "up\n"
    keepers = [p for p, n in left(before).items() if n == "keeper"]
    chain = max((parents(p) for p in keepers), key=len)
    # ... of the tool's own, its init, its lnk, the call, the broker, and lnk
    lnks = [p for p in chain if p not in keepers]
    order = {"lnk": lnks[-1], "broker": lnks[-2], "call": lnks[-3], "tool's lnk": lnks[-4],
             "tool": [p for p in chain if p in keepers][-1]}
    assert lnks[-1] == process.pid
    os.kill(order[victim], signal.SIGKILL)
    out, err = process.communicate(timeout=10)
    if victim in ("call", "broker", "tool's lnk", "tool"):
        assert re.search("rc=(126|137|1)", out), (out, err)
    assert wait_until(lambda: not left(before), GRACE), (victim, left(before))
    assert wait_until(lambda: tools.box.tree(state=True) == view, GRACE), set(
        tools.box.tree(state=True)) ^ set(view)


def test_calls_after_the_broker_is_gone(tools):
    tools.add_script("echoer", "#!/bin/sh\necho there\n")
    before = set(descendants())
    process = tools.box.start("sh", "-c", "echoer; read x; echoer; echo rc=$?", stdin=subprocess.PIPE)
    assert process.stdout.readline() == "there\n"
    lnks = {p: _stat(p) for p, name in left(before).items() if name == "lnk"}
    broker = [p for p, stat in lnks.items() if stat and stat[2] == process.pid]
    assert len(broker) == 1, lnks
    os.kill(broker[0], signal.SIGKILL)
    out, err = process.communicate("\n", timeout=20)
    assert "rc=126" in out and "nothing answers" in err, (out, err)


def test_shell_quoting_of_names(tools):
    """Names with every letter that one may have."""
    tools.add_script("a.b+c-d_e", '#!/bin/sh\necho "$0" | grep -o "a.b+c-d_e"\n')
    assert tools.run("a.b+c-d_e").out == "a.b+c-d_e\n"


__all__ = ["tools"]
