"""--without-namespaces: what it runs, what it refuses with the spec's line, how it ends."""

import os
import signal
import socket
import stat
import subprocess

import pytest

from conftest import descendants, reap_orphans, wait_until
import test_terminal

BARE = ["--without-namespaces"]
SPEC = """\
[files]
write = ["proj"]
write_dot_files = ["proj"]
{more}
[commands]
allow = [{commands}]
"""


@pytest.fixture
def bare(box):
    """The box with a spec that fits, run(...) without namespaces."""
    def spec(more="", commands='"*"', sections=""):
        box.spec(SPEC.format(more=more, commands=commands) + sections)
        return box
    box.fitting = spec
    box.bare = lambda *program, **kw: box.run(*program, flags=[*BARE, *kw.pop("flags", [])], **kw)
    spec()
    return box


def refused(result, line, words):
    assert result.rc == 125, result
    assert f"app.toml:{line}:" in result.err and words in result.err, result


# --- what it does ---------------------------------------------------------------------------


def test_it_writes_what_is_granted_and_nothing_else(bare):
    (bare.home / "secret").write_text("secret\n")
    result = bare.bare("sh", "-c", f"echo hi >new; cat new; cat {bare.home}/secret; "
                       f"echo x >{bare.home}/made; ls {bare.home}; echo x >/tmp/lnk-made")
    assert result.out == "hi\n" and result.err.count("ermission denied") == 4, result
    assert (bare.proj / "new").read_text() == "hi\n"
    assert not (bare.home / "made").exists() and not os.path.exists("/tmp/lnk-made")


def test_the_difference_is_told_at_every_start(bare):
    for _ in range(2):
        err = bare.bare("true").err
        assert "note: without namespaces" in err and "no network at all" in err, err
        assert "other processes with their command lines" in err and "TMPDIR" in err, err
    assert bare.bare("true", flags=["--quiet"]).err == ""
    host = bare.fitting(sections='[network]\nmode = "host"\n').bare("true")
    assert "no network at all" not in host.err and "Unix sockets are closed" in host.err, host
    assert "dynamic loader" in bare.fitting(commands='"true"').bare("true").err


def test_it_is_never_chosen_by_itself(bare, lab):
    """A machine without user namespaces: refused without the flag, run with it."""
    box = bare
    script = """echo 0 >/proc/sys/user/max_user_namespaces
    nocaps "$LNK" sandbox run --spec "$SPEC" -- touch plain; echo plain=$?
    nocaps "$LNK" sandbox run --without-namespaces --quiet --spec "$SPEC" -- touch bare
    echo bare=$?"""
    result = lab(script)
    assert result.lines == ["plain=125", "bare=0"], result
    assert result.said("user namespace") and "--without-namespaces holds less" in result.err
    assert (box.proj / "bare").exists() and not (box.proj / "plain").exists()


def test_real_programs(bare):
    bare.write("a.c", '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
    bare.write("Makefile", "a: a.c\n\tcc -o a a.c\n")
    tmp = bare.proj / "tmp"
    tmp.mkdir()
    result = bare.bare("sh", "-ec", "git init -q . && git add a.c Makefile && "
                       "git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | "
                       "wc -l && make -s && ./a && python3 -c 'print(6 * 7)' && "
                       "node -p '6 * 9' && tar -cf t.tar a.c && mkdir x && tar -xpf t.tar -C x && "
                       "cp -p a b && ./b", flags=["--env", f"TMPDIR={tmp}", "--quiet"])
    assert result.rc == 0 and result.lines == ["1", "built", "42", "54", "built"], result


def test_modes_and_times_in_what_is_written(bare):
    """Landlock does not judge them: the clerk makes the changes, and passes errors on."""
    script = """import os, errno
def err(call, *words, **kw):
    try: call(*words, **kw)
    except OSError as e: return errno.errorcode[e.errno]
    return "done"
open("f", "w"); os.symlink("f", "l"); os.symlink("nowhere", "d"); fd = os.open("f", os.O_RDONLY)
here = os.open(".", os.O_PATH); bare = os.open("f", os.O_PATH)
print(err(os.chmod, "f", 0o600), err(os.fchmod, fd, 0o640), err(os.chmod, "f", 0o700, dir_fd=here))
print(oct(os.stat("l").st_mode), err(os.chmod, f"/proc/self/fd/{bare}", 0o711))
print(err(os.utime, "l", (1, 2)), os.stat("f").st_mtime, err(os.utime, fd, ns=(3, 4 * 10**9)))
print(os.stat("f").st_mtime, err(os.utime, "d", (5, 6), follow_symlinks=False), os.lstat("d").st_mtime)
print(err(os.setxattr, "f", "user.x", b"v" * 1000), os.listxattr(fd), err(os.removexattr, fd, "user.x"))
print(err(os.chown, "f", -1, os.getgid()), err(os.lchown, "d", -1, -1), os.listxattr("f"))
print(err(os.chmod, "nowhere", 0), err(os.fchmod, 99, 0), err(os.chmod, "f/x", 0), err(os.chmod, "n" * 300, 0))
print(err(os.chmod, "x/" * 3000, 0), err(os.chmod, "f", 0o4755), err(os.setxattr, "f", "bad", b""))
"""
    result = bare.bare("python3", "-c", script)
    assert result.lines == [
        "done done done", "0o100700 done", "done 2.0 done", "4.0 done 6.0",
        "done ['user.x'] done", "done done []", "ENOENT EBADF ENOTDIR ENAMETOOLONG",
        "ENAMETOOLONG EPERM ENOTSUP"], result
    assert stat.S_IMODE((bare.proj / "f").stat().st_mode) == 0o711


def test_many_changes_from_many_threads(bare):
    script = """import os, threading
def work(n):
    for i in range(300):
        os.chmod(str(n), 0o600 + i % 8)
for n in range(8): open(str(n), "w")
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print({oct(os.stat(str(n)).st_mode) for n in range(8)})
"""
    assert bare.bare("python3", "-c", script).lines == ["{'0o100603'}"]


def test_read_grants_and_descriptors(bare):
    (bare.dir / "docs").mkdir()
    (bare.dir / "docs" / "a").write_text("a\n")
    (bare.home / "handed").write_text("handed\n")
    bare.fitting(more='read = ["docs"]')
    with open(bare.home / "handed") as f:
        result = bare.bare("bash", "-c", f"cat {bare.dir}/docs/a; cat <&{f.fileno()}; "
                           f"echo x >>{bare.dir}/docs/a; echo x >>{bare.home}/handed",
                           flags=["--fd", str(f.fileno())], pass_fds=[f.fileno()])
    assert result.lines == ["a", "handed"] and result.err.count("ermission denied") == 2, result
    assert (bare.dir / "docs" / "a").read_text() == "a\n"


def test_a_datagram_socket_is_not_handed_in(bare):
    """It could be sent to any server of the user's; a connected pair leads to its peer alone."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    fd = there.fileno()
    result = bare.bare("true", flags=["--fd", str(fd)], pass_fds=[fd])
    assert result.rc == 125 and f"descriptor {fd} is a Unix socket" in result.err, result
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    fd = there.fileno()
    assert bare.bare("bash", "-c", f"echo hi >&{fd}", flags=["--fd", str(fd)],
                     pass_fds=[fd]).rc == 0
    assert here.recv(10) == b"hi\n"


def test_exit_statuses(bare):
    assert bare.bare("sh", "-c", "exit 7").rc == 7
    assert bare.bare("sh", "-c", "kill -TERM $$").rc == 128 + 15
    assert bare.bare("nosuchprogram").rc == 127
    bare.write("script", "#!/bin/sh\n")
    assert bare.bare("./script").rc == 126
    bare.fitting(commands='"sh"')
    result = bare.bare("cat", "/etc/hostname")
    assert result.rc == 126 and "is not in allow of [commands]" in result.err, result


def test_dry_run_prints_rights_alone(bare):
    result = bare.bare("true", flags=["--dry-run"])
    assert result.rc == 0 and result.err == "", result
    kinds = [line.split()[0] for line in result.lines]
    assert set(kinds) == {"allow", "seccomp", "network", "start"}, result
    assert f"allow   {bare.proj} list,read,write,execute,device  # {bare.specfile}:2:10" in \
        result.lines
    assert result.lines[-3:] == ["seccomp any command, without namespaces", "network none",
                                 f"start   in {bare.proj}"]


# --- what it refuses ------------------------------------------------------------------------

NEEDS = {
    "hosts": ('[internet]\nhosts = ["example.com"]\n', 8, "open single hosts of the internet"),
    "lan": ('[lan]\nhosts = ["10.0.0.1"]\n', 8, "open single machines of the local network"),
    "ports": ("[localhost]\nports = [8080]\n", 8, "open single ports of this machine"),
    "models": ("[localhost]\nmodels = [11434]\n", 8, "open a model runtime"),
    "tools": ('[tools]\nnames = ["gh"]\n', 8, "put tools into the sandbox"),
    "browser": ('[browser]\nhosts = ["example.com"]\n', 8, "let the program ask for pages"),
}


@pytest.mark.parametrize("name", NEEDS)
def test_sections_that_need_namespaces(bare, name):
    text, line, words = NEEDS[name]
    bare.fitting(sections=text)
    refused(bare.bare("touch", "ran"), line, words)
    assert not (bare.proj / "ran").exists()


def test_dot_names_are_written_or_refused(bare):
    bare.spec('[files]\nwrite = ["proj"]\n[commands]\nallow = ["*"]\n')
    result = bare.bare("touch", "ran")
    refused(result, 2, "keep .git, .envrc, .vscode and .idea of")
    assert "write_dot_files = [" in result.err and result.err.count("error:") == 1, result
    assert not (bare.proj / "ran").exists()


def test_hidden_paths(bare):
    (bare.proj / "sub").mkdir()
    bare.fitting(more='hide = ["proj/sub"]')
    refused(bare.bare("touch", "ran"), 4, "hide ")
    # Closed anyway.
    bare.fitting(more='hide = ["~/elsewhere"]')
    assert bare.bare("touch", "ran").rc == 0
    bare.fitting(more='hide = ["/etc/hostname"]')
    refused(bare.bare("touch", "ran"), 4, "hide /etc/hostname")


def test_read_only_paths_and_programs_in_what_is_written(bare):
    (bare.proj / "docs").mkdir()
    bare.fitting(more='read = ["proj/docs"]')
    refused(bare.bare("true"), 4, "docs from being written")
    tool = bare.write("tool", "#!/bin/sh\n", 0o755)
    bare.fitting(commands=f'"sh", "{tool}"')
    refused(bare.bare("sh"), 6, "tool from being written")


def test_links_own_folders(bare):
    result = bare.run("true", spec=False, flags=[*BARE, "--write", bare.home,
                                                 "--write-dot-files", bare.home])
    assert result.rc == 125 and "keep Link's own folder" in result.err, result


FLAGS = [["--keep-home"], ["--publish", "8080"], ["--log", "log"], ["--user-namespaces"], ["--report"]]


@pytest.mark.parametrize("flag", FLAGS, ids=lambda f: f[0])
def test_flags_that_need_namespaces(bare, flag):
    result = bare.bare("touch", "ran", flags=flag)
    assert result.rc == 125 and result.err.startswith(f"{flag[0]}: error:"), result
    assert not (bare.proj / "ran").exists()


# --- how it ends ----------------------------------------------------------------------------

# Daemons of every kind: sessions and groups of their own, orphans, a reaper of its own.
TREE = """import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        for _ in range(3):
            if os.fork() == 0:
                os.setpgid(0, 0)
                time.sleep(1000)
        time.sleep(1000)
    os._exit(0)
if os.fork() == 0:
    time.sleep(1000)
os.wait()
time.sleep(0.2)
print("up", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def tree(bare):
    def start():
        process = bare.start("python3", "-c", TREE, flags=[*BARE, "--quiet"],
                             start_new_session=True)
        assert process.stdout.readline() == "up\n"
        names = descendants(process.pid)
        assert len(names) == 7, names
        keeper = [pid for pid, name in names.items() if name == "lnk-keeper"]
        return process, keeper[0]
    return start


def nothing_left(process):
    process.wait(10)
    known = {process.pid}
    return wait_until(lambda: reap_orphans(known) or not descendants(), 3.0)


def test_kill_of_lnk(tree):
    process, _ = tree()
    process.kill()
    assert nothing_left(process), descendants()


def test_kill_of_the_keeper(tree):
    process, keeper = tree()
    os.kill(keeper, signal.SIGKILL)
    assert process.wait(10) == 125
    assert not descendants(), descendants()
    assert "the sandbox's keeper was killed" in process.stderr.read()


def test_kill_of_the_whole_job(tree):
    process, keeper = tree()
    os.killpg(process.pid, signal.SIGKILL)
    assert nothing_left(process), descendants()


def test_end_of_the_program_ends_all(bare):
    process = bare.start("sh", "-c", "setsid sleep 1000 & (setsid sleep 1000 &); exit 3",
                         flags=[*BARE, "--quiet"])
    assert process.wait(10) == 3
    assert not descendants(), descendants()


def test_children_that_lnk_had_before_live_on(bare):
    """`sleep & exec lnk ...` of a script: not the run's."""
    script = 'sleep 60 & echo $!; exec "$@"'
    process = subprocess.Popen(["sh", "-c", script, "sh", *bare.argv("sleep", "1000",
                                flags=[*BARE, "--quiet"])], cwd=bare.proj, env=bare.environment(),
                               stdout=subprocess.PIPE, text=True)
    other = int(process.stdout.readline())
    keeper = wait_until(lambda: [p for p, name in descendants(process.pid).items()
                                 if name == "sleep" and p != other])
    assert keeper
    found = [p for p, name in descendants(process.pid).items() if name == "lnk-keeper"]
    os.kill(found[0], signal.SIGKILL)
    assert process.wait(10) == 125
    assert descendants() == {other: "sleep"}
    os.kill(other, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_are_passed_on(bare, number):
    process = bare.start("sh", "-c", "trap 'echo got; exit 9' TERM HUP INT; echo up; "
                         "while :; do sleep 0.05; done", flags=[*BARE, "--quiet"])
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    assert process.wait(10) == 9 and process.stdout.read() == "got\n"


def test_a_fork_bomb_ends_with_the_run(bare):
    bare.write("bomb.py", """import os, signal, time
print("up", flush=True)
end = time.time() + 1
while True:
    try:
        if os.fork() == 0 and time.time() < end + 600:
            os.setsid()
    except OSError:
        time.sleep(0.01)
""")
    process = bare.start("sh", "-c", "ulimit -u $(($(ps -u $(id -u) -L | wc -l) + 60)); "
                         "exec python3 bomb.py", flags=[*BARE, "--quiet"], start_new_session=True)
    assert process.stdout.readline() == "up\n"
    assert wait_until(lambda: len(descendants(process.pid)) > 20)
    process.kill()
    assert nothing_left(process), len(descendants())


TERMINAL = [test_terminal.test_window_size, test_terminal.test_stop_and_continue,
            test_terminal.test_interrupt, test_terminal.test_interrupt_that_the_program_handles,
            test_terminal.test_interrupt_ends_a_pipeline, test_terminal.test_quit_key,
            test_terminal.test_end_of_input, test_terminal.test_shell_inside_with_job_control,
            test_terminal.test_background_run_does_not_take_the_terminal,
            test_terminal.test_password_prompt_restores_echo_after_a_kill,
            test_terminal.test_hang_up_ends_the_run]


@pytest.mark.parametrize("test", TERMINAL, ids=lambda test: test.__name__)
def test_on_a_terminal_as_with_namespaces(bare, test):
    plain = bare.argv
    bare.argv = lambda *program, flags=(), **kw: plain(
        *program, flags=[*BARE, "--quiet", *flags], **kw)
    test(bare)
