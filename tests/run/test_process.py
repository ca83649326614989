"""Exit status, signals, children, standard streams."""

import os
import signal
import subprocess
import time

import pytest

from conftest import descendants, wait_until


@pytest.mark.parametrize("script, status", [
    ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -SEGV $$", 139),
    ("kill -TERM $$", 143), ("exit 0", 0), ("exit 125", 125)])
def test_exit_status_is_the_programs(box, script, status):
    result = box.sh(script)
    assert result.rc == status, result
    assert result.err == ""


def test_exit_status_is_lnks_own(box):
    box.write("plain", "text\n", 0o644)
    missing = box.run("/no/such/program")
    assert missing.rc == 127 and missing.said("no/such/program"), missing
    assert box.run("no-such-name").rc == 127
    plain = box.run("./plain")
    assert plain.rc == 126 and plain.said("plain"), plain
    no_spec = box.run("sh", "-c", "echo RAN", spec=box.dir / "none.toml")
    assert no_spec.rc in (2, 125) and "RAN" not in no_spec.out, no_spec
    box.spec("[files]\nwrite = [1]\n")
    bad = box.run("sh", "-c", "echo RAN")
    assert bad.rc in (2, 125) and "RAN" not in bad.out and "app.toml:2:" in bad.err, bad


def test_children_do_not_outlive_the_run(box):
    before = set(descendants())
    start = time.monotonic()
    result = box.run("bash", "-c", "sleep 120 & (setsid bash -c 'sleep 121' &) ; sleep .2; exit 7")
    assert result.rc == 7, result
    assert time.monotonic() - start < 10
    assert wait_until(lambda: not set(descendants()) - before, 1)


def test_orphans_are_reaped(box):
    """Init collects what the program leaves behind: no zombies pile up."""
    result = box.run("bash", "-c", """
        for i in $(seq 50); do (sleep 0.01 &) ; done; sleep 0.5
        grep -ls '^State:.Z' /proc/[0-9]*/status | wc -l""")
    assert result.out.strip() == "0", result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_program(box, number):
    box.write("t.sh", f"trap 'echo cleaned > cleaned; exit 42' {number.value}\n"
              "echo up; while :; do sleep .05; done\n")
    running = box.start("bash", "t.sh")
    assert running.stdout.readline() == "up\n", running.stderr.read()
    running.send_signal(number)
    assert running.wait(timeout=10) == 42
    assert (box.proj / "cleaned").read_text() == "cleaned\n"


def test_timeout_ends_a_program_that_does_not_listen(box):
    done = box.outside("timeout", "-k", "1", "1", *box.argv(
        "bash", "-c", "trap '' TERM; echo up; while :; do sleep .1; done"))
    assert done.rc in (124, 137, -9), done  # timeout kills its own group, itself too
    assert "up" in done.out


def test_input_that_never_ends(box):
    read_end, write_end = os.pipe()
    try:
        running = box.start("echo", "hi", stdin=read_end)
        assert running.communicate(timeout=8)[0] == "hi\n"
        assert running.returncode == 0
    finally:
        os.close(read_end)
        os.close(write_end)


def test_piped_input_arrives_whole(box):
    assert box.run("wc", "-l", stdin="a\nb\n").out.strip() == "2"
    assert box.run("cat", "/dev/stdin", stdin="here\n").out == "here\n"
    big = "x" * 79 + "\n"
    assert box.run("wc", "-c", stdin=big * 50000).out.strip() == str(80 * 50000)


def test_output_to_a_pipe_that_closes(box):
    done = box.outside("bash", "-c", 'set -o pipefail; "$@" | head -n 1; echo ${PIPESTATUS[0]}',
                       "bash", *box.argv("yes"))
    assert done.lines == ["y", "141"], done


def test_full_pipe_does_not_lose_or_hang(box):
    """Output that nobody reads for a while: the program waits, and all of it comes."""
    running = box.start("sh", "-c", "seq 200000; echo end")
    time.sleep(0.7)
    assert running.poll() is None
    out, err = running.communicate(timeout=20)
    lines = out.splitlines()
    assert (running.returncode, len(lines), lines[-1]) == (0, 200001, "end"), err


def test_both_outputs_stay_apart(box):
    result = box.sh("echo out; echo err >&2; exit 5")
    assert (result.rc, result.out, result.err) == (5, "out\n", "err\n"), result


def test_output_to_a_closed_folders_file(box):
    """A redirection made outside is the user's own; the program may write it, and only it."""
    log = box.home / "log"
    with open(log, "w") as stream:
        done = subprocess.run(box.argv("sh", "-c", "echo one; echo two > /dev/stdout; echo three "
                                       ">> /dev/fd/1; ls ~"), cwd=box.proj,
                              env=box.environment(), stdout=stream, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    text = log.read_text()
    assert "three" in text and "log" not in text.split()


def test_only_named_descriptors_pass(box):
    (box.home / "secret").write_text("TOPSECRET\n")
    fd = os.open(box.home / "secret", os.O_RDONLY)
    try:
        os.set_inheritable(fd, True)
        closed = box.run("bash", "-c", f"cat <&{fd}; ls /proc/self/fd", pass_fds=(fd,))
        assert "TOPSECRET" not in closed.out
        opened = box.run("bash", "-c", f"cat <&{fd}", pass_fds=(fd,), flags=["--fd", fd])
        assert opened.out == "TOPSECRET\n", opened
    finally:
        os.close(fd)


def test_nothing_of_the_host_shows_in_proc(box):
    result = box.sh("ls /proc | grep -c '^[0-9]'; cat /proc/1/cmdline | tr '\\0' ' '; id -u")
    count = int(result.lines[0])
    assert count < 10, result
    assert str(box.specfile) not in result.out
    assert result.lines[-1] == str(os.getuid())


def test_working_folder(box):
    kept = box.run("pwd")
    assert kept.out == f"{box.proj}\n"
    closed = box.dir / "closed"
    closed.mkdir()
    elsewhere = box.run("pwd", cwd=closed)
    assert elsewhere.rc == 0 and elsewhere.out == f"{box.home}\n", elsewhere
    assert elsewhere.said("closed"), elsewhere
