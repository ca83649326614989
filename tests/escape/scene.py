"""Where an attack plays: a box with probes, and what runs a command there as its caller would."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import termios
import threading

from conftest import Result, wait_until

HERE = pathlib.Path(__file__).resolve().parent
# Said on standard error by what runs in the sandbox, before the attack: that it ran at all.
INSIDE = "attack begins"
HELLO = f'echo "{INSIDE}" >&2; exec "$@"'


class Server:
    """A Unix socket that answers each call with one letter and counts them."""

    def __init__(self, name, kind=socket.SOCK_STREAM, letter=b"F"):
        self.calls, self.letter = 0, letter
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.name = str(name)
        self.socket.bind("\0" + self.name[1:] if self.name.startswith("@") else self.name)
        if kind == socket.SOCK_STREAM:
            self.socket.listen(128)
            threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                call, _ = self.socket.accept()
            except OSError:
                return
            self.calls += 1
            with call:
                try:
                    call.send(self.letter)
                except OSError:
                    pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        if not self.name.startswith("@") and os.path.exists(self.name):
            os.unlink(self.name)


class Scene:
    """A box (conftest.py), and with `net` the lab that it lives in."""

    def __init__(self, box, probes, net=None):
        self.box, self.net = box, net
        self.dir, self.home, self.proj = box.dir, box.home, box.proj
        self.plain_probe, self.static_probe = probes["plain"], probes["static"]
        self.probe = str(self.static_probe)
        self.tools = self.static_probe.parent
        self.net_probe = self.tools / "net_probe.py"
        if net and not self.net_probe.exists():
            shutil.copy(HERE.parent / "gate/probe.py", self.net_probe)
        self.made = []

    def write(self, name, text, mode=None):
        return self.box.write(name, text, mode)

    def folder(self, name):
        """A folder of the project."""
        (self.proj / name).mkdir(exist_ok=True)
        return self.proj / name

    def repository(self):
        """The project as a repository with one commit."""
        self.write("a.txt", "a\n")
        self.box.git("init", "-q", ".")
        self.box.git("add", "a.txt")
        self.box.git("commit", "-qm", "one")

    def worktree(self):
        """The project as a worktree of a repository beside it; its `.git` file."""
        main = self.dir / "main"
        main.mkdir()
        self.box.git("init", "-q", ".", cwd=main)
        self.box.git("commit", "-q", "--allow-empty", "-m", "one", cwd=main)
        self.proj.rmdir()
        self.box.git("worktree", "add", "-q", str(self.proj), "-b", "side", cwd=main)
        return self.proj / ".git"

    def shared_tmp(self):
        """A folder in /tmp, as programs of the user's have them."""
        self.made.append(pathlib.Path(tempfile.mkdtemp(prefix="lnk-escape-", dir="/tmp")))
        return self.made[-1]

    def user_script(self, name, text):
        """A program of the user's, outside of every grant, first in PATH."""
        folder = self.dir / "tools"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        self.box.env["PATH"] = f"{folder}:" + self.box.env["PATH"].removeprefix(f"{folder}:")
        return path

    def have_tool(self, name):
        """A tool of the user's that says how it was called, and its login when it is asked to."""
        return self.user_script(name, 'echo "called: $*"; [ "$1" != auth ] || echo TOPSECRET\n')

    def have_browser(self):
        """A browser of the user's, who says yes to whatever is asked."""
        browser = self.user_script("the-browser", f'echo "$1" >>{self.dir}/pages\n')
        self.box.env.update(BROWSER=str(browser), LNK_ASKPASS=str(self.user_script("ask", "true\n")))

    def page_opened(self, part):
        """Whether the user's browser was given an address with this in it. It is started aside, and
        may come after the run's end."""
        pages = self.dir / "pages"
        return wait_until(lambda: pages.exists() and part in pages.read_text(), 3)

    def server(self, name):
        return Server(name)

    @contextlib.contextmanager
    def stranger(self):
        """The number of a program of the user's that runs outside."""
        process = subprocess.Popen(["sleep", "60"])
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()

    def clear(self):
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)


def words_inside(command):
    """What the sandbox is given to run: the command, which says first that it runs."""
    return ["sh", "-c", HELLO, "sh", *map(str, command.argv)]


def started(said):
    return INSIDE in said.err


def execute(scene, words, command, env, timeout=90):
    """Runs words as the command asks for, as this user. Result has `typed` after a terminal."""
    words = list(map(str, words))
    if command.around:
        words = command.around(words)
    cwd = scene.proj
    if scene.net:
        words, cwd = scene.net.words(*words, cwd=scene.proj), "/"
    env = {k: str(v) for k, v in {**env, **dict(command.env)}.items() if v is not None}
    more = {"pass_fds": command.pass_fds, "cwd": cwd, "env": env, "stderr": subprocess.PIPE,
            "stdout": command.stdout or subprocess.PIPE, "start_new_session": True}
    if command.terminal:
        return on_terminal(words, more, timeout)
    if isinstance(command.stdin, str):
        more["input"] = command.stdin.encode()
    else:
        more["stdin"] = command.stdin or subprocess.DEVNULL
    try:
        done = subprocess.run(words, timeout=timeout, check=False, **more)
    except subprocess.TimeoutExpired as late:
        return Result(words, 124, (late.stdout or b"").decode(errors="replace"),
                      (late.stderr or b"").decode(errors="replace") + "\nit hung")
    return Result(words, done.returncode, (done.stdout or b"").decode(errors="replace"),
                  done.stderr.decode(errors="replace"))


def on_terminal(words, more, timeout):
    """The words lead the session of a new terminal. What was typed into it, and not read, is in
    the result's `typed`."""
    leader, follower = os.openpty()

    def settle():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    more.pop("start_new_session")
    process = subprocess.Popen(words, stdin=follower, preexec_fn=settle, **more)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    attrs = termios.tcgetattr(follower)
    attrs[3] &= ~termios.ICANON
    attrs[6][termios.VMIN] = 0
    termios.tcsetattr(follower, termios.TCSANOW, attrs)
    result = Result(words, process.returncode, out.decode(errors="replace"),
                    err.decode(errors="replace"))
    result.typed = os.read(follower, 4096)
    os.close(leader)
    os.close(follower)
    return result
