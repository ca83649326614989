"""Keys, job control, window size and full-screen programs on a real terminal."""

import shlex
import termios
import time

from terminal import Terminal

PROMPT = "rdy> "
SHELL = ("bash", "--norc", "--noprofile", "-i")


def on_terminal(box, *argv, **env):
    return Terminal([str(a) for a in argv], box.proj, box.environment(env))


def in_shell(box):
    """An interactive shell outside, from which lnk is started as from a user's."""
    terminal = on_terminal(box, *SHELL, PS1=PROMPT)
    terminal.wait(PROMPT)
    return terminal


def command(box, *program):
    return shlex.join(box.argv(*program))


def test_window_size(box):
    box.write("w.py", """
import os, signal, sys, time
def show(*a):
    c, r = os.get_terminal_size(); print(f"{r}x{c}", flush=True)
    if r == 40: sys.exit(5)
signal.signal(signal.SIGWINCH, show); show(); time.sleep(10)
""")
    with on_terminal(box, *box.argv("python3", "w.py")) as terminal:
        terminal.wait("24x80")
        terminal.rest(0.2)
        terminal.resize(40, 100)
        terminal.wait("40x100")
        assert terminal.end() == 5


def test_stop_and_continue(box):
    with in_shell(box) as terminal:
        terminal.send(command(box, "cat") + "\n")
        terminal.rest(1)
        terminal.send("hello\n")
        terminal.wait("hello")
        terminal.wait("hello")
        for _ in range(3):
            terminal.send("\x1a")
            terminal.wait("Stopped")
            terminal.wait(PROMPT)
            # What is typed now is the outer shell's.
            terminal.send('echo sh""ell\n')
            terminal.wait("shell")
            terminal.send("fg\n")
            terminal.rest(0.5)
            terminal.send("again\n")
            terminal.wait("again")
            terminal.wait("again")
        terminal.send("\x04")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=0")
        terminal.send("exit\n")
        terminal.end()


def test_interrupt(box):
    with in_shell(box) as terminal:
        terminal.send(command(box, "sleep", "60") + "\n")
        terminal.rest(0.7)
        terminal.send("\x03")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=130")


def test_interrupt_that_the_program_handles(box):
    script = "trap 'echo caught; exit 9' INT; echo up; while :; do sleep 0.1; done"
    with in_shell(box) as terminal:
        terminal.send(command(box, "bash", "-c", script) + "\n")
        terminal.wait("up\r")
        terminal.send("\x03")
        terminal.wait("caught")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=9")


def test_interrupt_ends_a_pipeline(box):
    with in_shell(box) as terminal:
        terminal.send(command(box, "yes") + " | cat > /dev/null; echo over\n")
        terminal.rest(0.7)
        terminal.send("\x03")
        terminal.wait(PROMPT)


def test_quit_key(box):
    with in_shell(box) as terminal:
        terminal.send("ulimit -c 0; " + command(box, "sleep", "60") + "\n")
        terminal.rest(0.7)
        terminal.send("\x1c")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=131")


def test_end_of_input(box):
    with on_terminal(box, *box.argv("cat")) as terminal:
        terminal.send("line\n")
        terminal.wait("line")
        terminal.wait("line")
        terminal.send("\x04")
        assert terminal.end() == 0


def test_shell_inside_with_job_control(box):
    """An interactive shell in the sandbox stops and continues jobs of its own."""
    with on_terminal(box, *box.argv(*SHELL)) as terminal:
        terminal.wait("$ ")
        terminal.send("sleep 30\n")
        terminal.rest(0.5)
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.send('jobs; echo t""ty=$(tty)\n')
        terminal.wait("tty=/dev/")
        terminal.send("kill %1; exit 4\n")
        terminal.rest(0.3)
        if b"exit" in terminal.seen[terminal.mark:] and b"stopped" in terminal.seen:
            terminal.send("exit 4\n")
        assert terminal.end() == 4


def test_background_run_does_not_take_the_terminal(box):
    with in_shell(box) as terminal:
        terminal.send(command(box, "sh", "-c", "sleep 1; cat") + " &\n")
        terminal.wait(PROMPT)
        terminal.rest(1.5)
        terminal.send('\necho sh""ell\n')
        terminal.wait("shell")
        terminal.send("jobs\n")
        terminal.wait("Stopped")
        terminal.send("kill -KILL %1\n")
        terminal.rest(0.3)


def test_password_prompt_restores_echo_after_a_kill(box):
    """A program that dies with echo off leaves the terminal as it was."""
    with in_shell(box) as terminal:
        terminal.send(command(box, "sh", "-c", "stty -echo -icanon; kill -9 $$") + "\n")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait('echo rc=""$?')
        terminal.wait("rc=137")
        on = termios.ECHO | termios.ICANON
        terminal.send("cat > /dev/null\n")
        terminal.rest(0.5)
        assert terminal.modes()[3] & on == on
        terminal.send("\x04")


def test_vim_opens_writes_and_quits(box):
    box.write("file.txt", "first line\n")
    with in_shell(box) as terminal:
        terminal.send(command(box, "vi", "-u", "NONE", "file.txt") + "\n")
        terminal.wait("first line")
        terminal.send("osecond line\x1b")
        terminal.wait("second line")
        terminal.resize(30, 100)
        terminal.rest(0.3)
        # Suspend it from its own key, and come back.
        terminal.send("\x1a")
        terminal.wait("Stopped")
        terminal.wait(PROMPT)
        terminal.send("fg\n")
        terminal.wait("\x1b[?1049h")
        terminal.rest(0.2)
        # How much vim draws by itself here depends on when it learns of the size.
        terminal.send("\x0c")
        terminal.wait("second line")
        terminal.send(":wq\r")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=0")
    assert (box.proj / "file.txt").read_text() == "first line\nsecond line\n"


def test_less_pages_and_quits(box):
    box.write("long.txt", "".join(f"row {i}\n" for i in range(500)))
    with in_shell(box) as terminal:
        terminal.send(command(box, "less", "long.txt") + "\n")
        terminal.wait("row 20")
        terminal.send(" ")
        terminal.wait("row 40")
        terminal.send("G")
        terminal.wait("row 499")
        terminal.send("q")
        terminal.wait(PROMPT)
        terminal.send('echo rc=""$?\n')
        terminal.wait("rc=0")


def test_less_reads_a_pipe_and_the_keyboard(box):
    with in_shell(box) as terminal:
        terminal.send("seq 500 | " + command(box, "less") + "\n")
        terminal.wait("\r\n20")
        terminal.send("G")
        terminal.wait("500")
        terminal.send("q")
        terminal.wait(PROMPT)


def test_hang_up_ends_the_run(box):
    """The window is closed: nothing of the run stays (the box fixture looks)."""
    terminal = in_shell(box)
    terminal.send(command(box, "sh", "-c", "echo up; sleep 60; sleep 60") + "\n")
    terminal.wait("up\r")
    terminal.__exit__()
    time.sleep(0.1)
