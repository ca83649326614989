"""Pages that the program asks to open: judged, asked about in each of the ways, opened."""

import os

import signal
import subprocess
import sys
import termios
import time

import pytest

from conftest import descendants, wait_until
from drive import drive as plain_drive  # noqa: F401, a fixture

LOGIN = "https://github.com/login/device"
PROMPT = "rdy> "


@pytest.fixture
def drive(plain_drive):
    """Pages of github.com, a browser that notes what it is given, and no way to ask."""
    box = plain_drive.box
    plain_drive.flags = ["--browse", "github.com", "--browse", "*.ok.test"]
    plain_drive.env["BROWSER"] = box.write(box.dir / "browser", f"""\
#!/bin/bash
{{ printf '%s\\n' "$#" "$@"; pwd; ls -l /proc/self/fd; ps -o sid=,pid= $$; }} >{box.dir}/opening
mv {box.dir}/opening {box.dir}/opened
[ -e {box.dir}/stays ] && exec sleep 620
""", 0o755)
    return plain_drive


def asks_by(drive, script):
    """A program to ask with; what it was asked is kept."""
    drive.env["LNK_ASKPASS"] = drive.box.write(drive.box.dir / "askpass", f"""\
#!/bin/bash
printf '%s\\n' "$#" "$1" >>{drive.box.dir}/asked
{script}
""", 0o755)


def opened(drive):
    path = drive.box.dir / "opened"
    wait_until(path.exists, 2)
    return path.read_text().splitlines() if path.exists() else []


def asked(drive):
    path = drive.box.dir / "asked"
    return path.read_text().splitlines() if path.exists() else []


# --- by a program ---------------------------------------------------------------------------


def test_yes(drive):
    asks_by(drive, "exit 0")
    r = drive.run("xdg-open", "HTTPS://GitHub.com:443/login/device")
    assert r.rc == 0 and r.err == "", r
    assert asked(drive) == ["1", "github.com", "",
                            "A program in the sandbox asks to open this page in your browser:", "",
                            LOGIN, "", "Open it?"]
    lines = opened(drive)
    # One argument, in the user's home, a session of its own, nothing open but /dev/null: what
    # else `ls` shows is the file that it writes to, and the folder that it reads.
    assert lines[:3] == ["1", LOGIN, str(drive.box.home)], lines
    fds = [line.split("-> ")[1] for line in lines if "-> " in line]
    assert [fds[0], fds[2]] == ["/dev/null"] * 2 and len(fds) == 4, lines
    session, pid = lines[-1].split()
    assert session == pid
    assert [(e["verdict"], e["url"], e["spec"]) for e in drive.log()] == [
        ("allowed", LOGIN, "app.toml:50")]


@pytest.mark.parametrize("script", ["exit 1", "exit 2", "exit 255", "kill -9 $$", "kill -TERM $$"])
def test_no(drive, script):
    asks_by(drive, script)
    r = drive.run("xdg-open", LOGIN)
    assert r.rc == 4 and r.err.startswith("lnk: xdg-open: the user said no"), r
    assert len(asked(drive)) > 0 and not (drive.box.dir / "opened").exists()


@pytest.mark.parametrize("name", ["open", "sensible-browser", "www-browser"])
def test_every_name(drive, name):
    asks_by(drive, "exit 0")
    assert drive.run(name, LOGIN).rc == 0
    assert opened(drive)[1] == LOGIN


def test_it_is_asked_each_time(drive):
    asks_by(drive, f"[ $(grep -c Open {drive.box.dir}/asked) = 1 ]")
    r = drive.sh(f"xdg-open {LOGIN}; echo $?; xdg-open {LOGIN}; echo $?")
    assert r.lines == ["0", "4"], r


REFUSED = ["https://evil.test/", "https://ok.test/", "file:///etc/passwd", "/etc/passwd",
           "javascript:alert(1)", "JaVa\tScript:alert(1)", "data:text/html,x", "vscode://x",
           "https://github.com@evil.test/", "https://github.com\\@evil.test/",
           "http://127.0.0.1:631/", "http://localhost:631/", "https://github.com/\x1b[2J",
           "https://github.com/\u202e", "https://github.com/\n", "https://github.com/ x",
           "https://github.com/" + "x" * 8000, "--help", ""]


@pytest.mark.parametrize("url", REFUSED)
def test_refused_before_anybody_is_asked(drive, url):
    asks_by(drive, "exit 0")
    r = drive.run("xdg-open", url)
    assert r.rc == 4 and r.err.startswith("lnk: xdg-open: "), r
    assert "\x1b" not in r.err and "\u202e" not in r.err and len(r.err) < 6000, r
    assert asked(drive) == [] and not (drive.box.dir / "opened").exists()


def test_arguments_that_are_no_address(drive):
    asks_by(drive, "exit 0")
    for arguments in ([], [LOGIN, LOGIN], ["-a", LOGIN]):
        r = drive.run("xdg-open", *arguments)
        assert r.rc == 1 and "one argument" in r.err, r
    assert asked(drive) == []


def test_secrets_in_the_address_are_shown_whole(drive):
    asks_by(drive, "exit 1")
    url = "https://a.ok.test/?q=" + "s3cret" * 300
    drive.run("xdg-open", url)
    assert url in asked(drive)


@pytest.mark.parametrize("kind", ["missing", "relative", "empty", "folder"])
def test_a_program_to_ask_with_that_is_none(drive, kind):
    drive.box.write("askme", "#!/bin/sh\nexit 0\n", 0o755)
    drive.env["LNK_ASKPASS"] = {"missing": "/nonexistent", "relative": "./askme", "empty": "",
                                "folder": "/tmp"}[kind]
    r = drive.run("xdg-open", LOGIN)
    assert r.rc == 3 and f"open it yourself, if you trust it: {LOGIN}" in r.err, r
    assert not (drive.box.dir / "opened").exists()


def test_nobody_answers(drive):
    asks_by(drive, "sleep 621")
    drive.flags += ["--ask-ms", "700"]
    start = time.monotonic()
    r = drive.run("xdg-open", LOGIN)
    assert r.rc == 4 and "nobody answered in time" in r.err, r
    assert 0.6 < time.monotonic() - start < 5


def test_one_at_a_time_and_one_that_waits(drive):
    asks_by(drive, f"while [ ! -e {drive.box.dir}/go ]; do sleep 0.02; done; exit 1")
    process = drive.start(sys.executable, "-c", f"""
import subprocess, sys, time
calls = [subprocess.Popen(["xdg-open", "{LOGIN}?" + str(i)]) for i in range(6)]
time.sleep(1)
print(sum(c.poll() == 4 for c in calls), flush=True)
sys.stdin.readline()
print(sorted(c.wait() for c in calls), flush=True)
""", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "4\n"
    assert asked(drive).count("Open it?") == 1
    (drive.box.dir / "go").touch()
    out, err = process.communicate("\n", timeout=20)
    assert out == "[4, 4, 4, 4, 4, 4]\n"
    assert err.count("the user is being asked about two other pages") >= 4
    assert asked(drive).count("Open it?") == 2


def test_the_turn_of_one_who_is_killed_is_free(drive):
    asks_by(drive, f"[ -e {drive.box.dir}/go ] && exit 0; exec sleep 622")
    process = drive.start(sys.executable, "-c", f"""
import subprocess, sys
calls = [subprocess.Popen(["xdg-open", "{LOGIN}?" + str(i)]) for i in range(2)]
sys.stdin.readline()
for c in calls: c.kill()
sys.stdin.readline()
print(subprocess.call(["xdg-open", "{LOGIN}"]), flush=True)
""", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    broker = drive.broker()
    assert wait_until(lambda: "Open it?" in asked(drive))
    process.stdin.write("\n")
    process.stdin.flush()
    # The question goes with who asked it, the dialog too.
    assert wait_until(lambda: not descendants(broker), 5), descendants(broker)
    (drive.box.dir / "go").touch()
    assert process.communicate("\n", timeout=20)[0] == "0\n"


def test_a_question_ends_with_the_run(drive):
    asks_by(drive, "exec sleep 623")
    start = time.monotonic()
    r = drive.sh(f"xdg-open {LOGIN} & xdg-open {LOGIN} & sleep 0.7; exit 3")
    assert r.rc == 3 and time.monotonic() - start < 5, r
    assert wait_until(lambda: not descendants(), 1), descendants()


# --- the browser ----------------------------------------------------------------------------


def test_the_browser_outlives_the_run(drive):
    asks_by(drive, "exit 0")
    (drive.box.dir / "stays").touch()
    assert drive.run("xdg-open", LOGIN).rc == 0
    assert opened(drive)
    found = wait_until(lambda: [p for p, n in descendants().items() if n == "sleep"])
    assert len(found) == 1
    os.kill(found[0], signal.SIGKILL)


@pytest.mark.parametrize("value", ["{}/browser %s", "{}/browser:w3m", "sh -c '{}/browser'",
                                   "./browser", "{}/missing"])
def test_a_browser_that_is_more_than_a_program(drive, value):
    """Such a value is for a shell: it is passed over."""
    asks_by(drive, "exit 0")
    tools = drive.box.dir / "bin"
    drive.box.write(tools / "xdg-open", f"""\
#!/bin/sh
echo "$@" >{drive.box.dir}/by-xdg.new
mv {drive.box.dir}/by-xdg.new {drive.box.dir}/by-xdg
""", 0o755)
    drive.box.write("browser", "#!/bin/sh\ntouch relative\n", 0o755)
    drive.env.update(BROWSER=value.format(drive.box.dir), PATH=f"{tools}:/usr/bin:/bin")
    assert drive.run("xdg-open", LOGIN).rc == 0
    assert wait_until((drive.box.dir / "by-xdg").exists)
    assert (drive.box.dir / "by-xdg").read_text() == LOGIN + "\n"
    assert not (drive.box.dir / "opened").exists() and not (drive.box.proj / "relative").exists()


def test_no_browser_at_all(drive):
    asks_by(drive, "exit 0")
    drive.env.update(BROWSER=None, PATH=str(drive.box.dir / "none"))
    r = drive.run("/run/lnk/bin/xdg-open", LOGIN)
    assert r.rc == 3 and "no browser" in r.err and f"if you trust it: {LOGIN}" in r.err, r


def test_programs_of_the_project_are_not_called(drive):
    """Relative folders of PATH are the sandbox's."""
    for name in ("zenity", "kdialog", "xdg-open"):
        drive.box.write(name, "#!/bin/sh\ntouch called\n", 0o755)
    drive.env.update(DISPLAY=":77", PATH=".::bin:/usr/bin:/bin", BROWSER=None)
    r = drive.run("/run/lnk/bin/xdg-open", LOGIN)
    assert r.rc == 3 and not (drive.box.proj / "called").exists(), r


# --- by a dialog ----------------------------------------------------------------------------


@pytest.mark.parametrize("dialog", ["zenity", "kdialog"])
@pytest.mark.parametrize("answer, rc", [(0, 0), (1, 4), (255, 3), (5, 3)])
def test_dialogs(drive, dialog, answer, rc):
    """Stand-ins for the two, for their arguments; an answer that is none is no answer."""
    tools = drive.box.dir / "bin"
    drive.box.write(tools / dialog, f"""\
#!/bin/bash
printf '%s\\n' "$@" >{drive.box.dir}/arguments
exit {answer}
""", 0o755)
    drive.env.update(WAYLAND_DISPLAY="wayland-7", PATH=f"{tools}:/usr/bin:/bin")
    r = drive.run("xdg-open", "https://github.com/?a=<b>&c")
    assert r.rc == rc, r
    arguments = (drive.box.dir / "arguments").read_text()
    assert "github.com\n\nA program" in arguments and "\nhttps://github.com/?a=%3Cb%3E&c\n" in arguments
    assert ("--no-markup" in arguments) == (dialog == "zenity")
    assert bool(opened(drive) if rc == 0 else []) == (rc == 0)


# --- on the terminal ------------------------------------------------------------------------


def shell(drive, **env):
    drive.env.update({"PS1": PROMPT, "TERM": "xterm", **env})
    terminal = drive.terminal("bash", "--norc", "--noprofile", "-i")
    terminal.wait(PROMPT)
    return terminal


def expect(terminal, rc):
    terminal.wait(PROMPT)
    terminal.send('echo rc=""$?.\n')
    terminal.wait(f"rc={rc}.")
    terminal.wait(PROMPT)


QUESTION = "Open it? Type y for yes: "


@pytest.mark.parametrize("answer, rc", [
    ("y\n", 0), ("yes\n", 0), ("n\n", 4), ("\n", 4), ("Y\n", 4), ("yy\n", 4), (" y\n", 4),
    ("y \n", 4), ("no\n", 4), ("y\x04", 4), ("\x04", 4), ("yes" * 40 + "\n", 4)])
def test_answers_on_the_terminal(drive, answer, rc):
    with shell(drive) as terminal:
        terminal.send(f"xdg-open {LOGIN}\n")
        terminal.wait("\x1b[?1049h")
        start = terminal.mark
        terminal.wait(QUESTION)
        # On the other screen, emptied, plain: the host first, alone, then the whole address.
        shown = terminal.seen[start:terminal.mark].decode()
        assert shown.split("\x1b[2J")[1].split("\r\n") == [
            "github.com", "", "A program in the sandbox asks to open this page in your browser:",
            "", LOGIN, "", QUESTION]
        terminal.send(answer)
        terminal.wait("\x1b[?1049l")
        terminal.wait(f"lnk: {'opening' if rc == 0 else 'not opened'}: {LOGIN}")
        expect(terminal, rc)
        terminal.send("exit\n")
        terminal.end()
    assert bool(opened(drive) if rc == 0 else (drive.box.dir / "opened").exists()) == (rc == 0)


def test_what_was_typed_before_is_no_answer(drive):
    with shell(drive) as terminal:
        # While the program is busy, and right after the question has come up.
        terminal.send(f"sleep 1; xdg-open {LOGIN}\n")
        terminal.rest(0.5)
        terminal.send("y\ny\nyes\n")
        terminal.wait(LOGIN + "\r\n")
        terminal.send("y\ny\n")
        terminal.wait(QUESTION)
        terminal.rest(0.7)
        assert b"1049l" not in terminal.seen[terminal.mark:]
        terminal.send("n\n")
        expect(terminal, 4)
        terminal.send("exit\n")
        terminal.end()
    assert not (drive.box.dir / "opened").exists()


def test_not_in_raw_mode(drive):
    with shell(drive) as terminal:
        for mode in ("-icanon", "-echo", "raw"):
            terminal.send(f"stty {mode}; xdg-open {LOGIN}; r=$?; stty sane; echo $r | sed 's/^/rc=/'\n")
            terminal.wait(f"open it yourself, if you trust it: {LOGIN}")
            terminal.wait("rc=3")
            terminal.wait(PROMPT)
        assert QUESTION.encode() not in terminal.seen
        terminal.send("exit\n")
        terminal.end()


def test_raw_mode_while_it_is_asked(drive):
    """A program that could read or write keys along: whatever comes, it is no yes."""
    with shell(drive) as terminal:
        terminal.send(f"xdg-open {LOGIN}\n")
        terminal.wait(QUESTION)
        modes = terminal.modes()
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal.fd, termios.TCSANOW, modes)
        terminal.send("y\n")
        terminal.wait("not opened")
        expect(terminal, 4)
        terminal.send("exit\n")
        terminal.end()
    assert not (drive.box.dir / "opened").exists()


def test_interrupt_withdraws_the_question(drive):
    with shell(drive) as terminal:
        terminal.send(f"xdg-open {LOGIN}\n")
        terminal.wait(QUESTION)
        terminal.send("\x03")
        # The program's screen is back before the shell writes again.
        terminal.wait("\x1b[?1049l")
        terminal.wait("not opened")
        expect(terminal, 130)
        terminal.send("exit\n")
        terminal.end()
    assert not (drive.box.dir / "opened").exists()


def test_no_time_on_the_terminal(drive):
    drive.flags += ["--ask-ms", "1500"]
    with shell(drive) as terminal:
        terminal.send(f"xdg-open {LOGIN}\n")
        terminal.wait(QUESTION)
        terminal.wait("not opened")
        expect(terminal, 4)
        terminal.send("exit\n")
        terminal.end()


def test_a_terminal_without_screens(drive):
    with shell(drive, TERM="dumb") as terminal:
        terminal.send(f"xdg-open {LOGIN}\n")
        terminal.wait("\r\ngithub.com\r\n")
        terminal.wait(QUESTION)
        assert b"\x1b[?1049" not in terminal.seen
        terminal.send("y\n")
        expect(terminal, 0)
        terminal.send("exit\n")
        terminal.end()
    assert opened(drive)[1] == LOGIN


def test_not_on_the_terminal_of_another_job(drive):
    """The run is in the background: whoever sits at the terminal is not asked there, and the run
    is not stopped."""
    drive.env.update(PS1=PROMPT, TERM="xterm")
    from terminal import Terminal
    env = drive.box.environment(drive.env)
    done = drive.box.dir / "done"
    script = drive.box.write("open.sh", f"#!/bin/bash\nsleep 0.5; xdg-open {LOGIN} 2>err; echo $? >{done}\n", 0o755)
    with Terminal(["bash", "--norc", "--noprofile", "-i"], drive.box.proj, env) as terminal:
        terminal.wait(PROMPT)
        # The shell reads lines as a terminal gives them: cooked mode.
        terminal.send("exec 9<&0; set -m; " + " ".join(drive.argv(script)) + " & cat\n")
        assert wait_until(done.exists, 10)
        assert done.read_text() == "3\n"
        terminal.send("\x04")
        terminal.wait(PROMPT)
        assert QUESTION.encode() not in terminal.seen
        terminal.send("wait; exit\n")
        terminal.end()


def test_modes_of_the_terminal_stay(drive):
    with shell(drive) as terminal:
        terminal.send("cat\n")
        terminal.rest(0.5)
        before = terminal.modes()
        terminal.send("\x04")
        terminal.wait(PROMPT)
        terminal.send(f"xdg-open {LOGIN}; cat\n")
        terminal.wait(QUESTION)
        terminal.send("n\n")
        terminal.wait("not opened")
        terminal.rest(0.5)
        after = terminal.modes()
        assert before == after and after[3] & termios.ECHO
        terminal.send("\x04")
        terminal.wait(PROMPT)
        terminal.send("exit\n")
        terminal.end()
