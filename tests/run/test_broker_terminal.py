"""Tools on a terminal: keys, stops, job control, programs that fill the screen."""

import os
import pathlib
import shlex

from conftest import wait_until
from drive import drive  # noqa: F401, a fixture
from terminal import Terminal

PROMPT = "rdy> "


def shell(drive):
    """An interactive shell in the sandbox, as a person or an agent has it."""
    drive.env.update(PS1=PROMPT, TERM="xterm")
    terminal = drive.terminal("bash", "--norc", "--noprofile", "-i")
    terminal.wait(PROMPT)
    return terminal


def leave(terminal):
    terminal.send("exit 0\n")
    assert terminal.end() == 0


def expect(terminal, rc):
    terminal.send('echo rc=""$?.\n')
    terminal.wait(f"rc={rc}.")
    terminal.wait(PROMPT)


def test_interrupt_and_quit(drive):
    drive.tools["traps"] = drive.box.write("traps.sh", """\
#!/bin/bash
trap 'echo got INT' INT
echo ready; read line; echo "read $line"
""", 0o755)
    with shell(drive) as terminal:
        for key, rc in (("\x03", 130), ("\x1c", 131)):
            terminal.send("sleeper 600\n")
            terminal.rest(0.7)
            terminal.send(key)
            terminal.wait(PROMPT)
            expect(terminal, rc)
        # Once for one key.
        terminal.send("traps\n")
        terminal.wait("ready")
        terminal.wait("\n")
        terminal.send("\x03")
        terminal.wait("got INT")
        terminal.rest(0.3)
        assert b"got INT" not in terminal.seen[terminal.mark:]
        terminal.send("word\n")
        terminal.wait("read word")
        terminal.wait(PROMPT)
        # A loop is left, because the tool died as the shim does.
        terminal.send("for i in 1 2 3; do sleeper 60; done; echo over\n")
        terminal.rest(0.7)
        terminal.send("\x03")
        terminal.wait(PROMPT)
        leave(terminal)


def test_stop_and_continue(drive):
    with shell(drive) as terminal:
        terminal.send("cat\n")
        terminal.rest(0.7)
        terminal.send("hello\n")
        terminal.wait("hello")
        terminal.wait("hello")
        for _ in range(3):
            terminal.send("\x1a")
            terminal.wait("Stopped")
            terminal.wait(PROMPT)
            terminal.send('echo sh""ell\n')
            terminal.wait("shell")
            terminal.send("fg\n")
            terminal.rest(0.5)
            terminal.send("again\n")
            terminal.wait("again")
            terminal.wait("again")
        terminal.send("\x04")
        terminal.wait(PROMPT)
        expect(terminal, 0)
        leave(terminal)


def test_a_tool_that_stops_itself(drive):
    with shell(drive) as terminal:
        terminal.send("shell -c 'echo one; kill -STOP $$; echo two; exit 5'\n")
        terminal.wait("one")
        terminal.wait("Stopped")
        terminal.wait(PROMPT)
        terminal.send("fg\n")
        terminal.wait("two\r\n")
        terminal.wait(PROMPT)
        expect(terminal, 5)
        leave(terminal)


def test_reading_in_the_background_stops(drive):
    with shell(drive) as terminal:
        terminal.send("cat &\n")
        terminal.wait("]")
        terminal.rest(0.7)
        terminal.send("\n")
        terminal.wait("Stopped")
        terminal.wait(PROMPT)
        terminal.send("fg\n")
        terminal.rest(0.5)
        terminal.send("hello\n")
        terminal.wait("hello")
        terminal.wait("hello")
        terminal.send("\x04")
        terminal.wait(PROMPT)
        expect(terminal, 0)
        leave(terminal)


def test_pipelines_are_one_job(drive):
    """A tool beside a pager of the sandbox's, and a pager that is a tool."""
    drive.tools["pager"] = "/usr/bin/less"
    with shell(drive) as terminal:
        for command in ("shell -c 'seq 1000; sleep 0.2' | less", "seq 1000 | pager"):
            terminal.send(command + "\n")
            terminal.wait("23")
            terminal.rest(0.3)
            terminal.send("G")
            terminal.wait("1000")
            # A pager loses a key of the terminal's that comes while it draws its prompt.
            terminal.rest(0.5)
            # Stopped whole, continued whole.
            terminal.send("\x1a")
            terminal.wait("Stopped")
            terminal.wait(PROMPT)
            terminal.send("fg\n")
            terminal.wait("1000")
            terminal.rest(0.3)
            terminal.send("q")
            terminal.wait(PROMPT)
            expect(terminal, 0)
        leave(terminal)


def test_editor(drive):
    drive.tools["editor"] = "/usr/bin/vim"
    with shell(drive) as terminal:
        terminal.send("editor -u NONE -n text\n")
        terminal.wait('"text" [New')
        terminal.resize(40, 100)
        terminal.rest(0.3)
        terminal.send("ihello\x1b")
        terminal.rest(0.2)
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.wait(PROMPT)
        terminal.send("fg\n")
        terminal.rest(0.5)
        terminal.send("aworld\x1b:put =&lines\n:wq\n")
        terminal.wait(PROMPT)
        expect(terminal, 0)
        leave(terminal)
    text = (drive.box.proj / "text").read_text()
    assert text == "helloworld\n40\n"


def test_window_size(drive):
    drive.tools["size"] = drive.box.write("size.py", """\
#!/usr/bin/python3
import os, signal, sys, time
def show(*a):
    c, r = os.get_terminal_size(); print(f"{r}x{c}", flush=True)
    if r == 40: sys.exit(5)
signal.signal(signal.SIGWINCH, show); show(); time.sleep(10)
""", 0o755)
    with shell(drive) as terminal:
        # On the terminal itself, and on one of the sandbox's own.
        for command in ("size", "script -eqc 'stty rows 24 cols 80; size' /dev/null"):
            terminal.resize(24, 80)
            terminal.send(command + "\n")
            terminal.wait("24x80")
            terminal.rest(0.3)
            terminal.resize(40, 100)
            terminal.wait("40x100")
            terminal.wait(PROMPT)
            expect(terminal, 5)
        leave(terminal)


def test_terminal_of_the_sandboxs_own(drive):
    """What an agent gives to its commands: keys come over the shim, and /dev/tty is none."""
    drive.tools["tty"] = drive.box.write("tty.py", """\
#!/usr/bin/python3
import os
try: open("/dev/tty"); print("a tty")
except OSError as e: print("no tty:", e.strerror)
""", 0o755)
    with shell(drive) as terminal:
        terminal.send("tty\n")
        terminal.wait("a tty")
        terminal.wait(PROMPT)
        terminal.send("script -eqc \"env PS1='own> ' bash --norc --noprofile -i\" /dev/null\n")
        terminal.wait("own> ")
        terminal.send("tty\n")
        terminal.wait("no tty: No such device")
        terminal.wait("own> ")
        terminal.send("sleeper 600\n")
        terminal.rest(0.7)
        terminal.send("\x03")
        terminal.wait("own> ")
        terminal.send('echo rc=""$?.\n')
        terminal.wait("rc=130.")
        terminal.wait("own> ")
        terminal.send("cat\n")
        terminal.rest(0.7)
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.wait("own> ")
        terminal.send("fg\n")
        terminal.rest(0.5)
        terminal.send("hello\n")
        terminal.wait("hello")
        terminal.wait("hello")
        terminal.send("\x04")
        terminal.wait("own> ")
        terminal.send("exit\n")
        terminal.wait(PROMPT)
        leave(terminal)


def test_hang_up(drive):
    """The terminal is closed: the job's tools hear of it."""
    drive.tools["hangs"] = drive.box.write("hangs.sh", f"""\
#!/bin/bash
trap 'echo HUP >{drive.box.dir}/heard; exit' HUP
echo ready
while :; do sleep 0.05; done
""", 0o755)
    # The kernel tells the leader of the session, and by its death the job.
    argv = ["bash", "-c", shlex.join(drive.argv("hangs")) + "; true"]
    terminal = Terminal(argv, drive.box.proj, drive.box.environment(drive.env))
    terminal.wait("ready")
    os.close(terminal.fd)
    assert wait_until(pathlib.Path(drive.box.dir / "heard").exists, 5)
    os.waitpid(terminal.pid, 0)
