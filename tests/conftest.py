"""What every test that runs the whole program shares: a box with a home, a project and a spec.

LNK names the program under test, LNK_GUARDS a build with -Dtest_guards=true, LNK_HELPERS the
folder of the small C helpers; all three are found in build/ when they are not set. A box lies in
the user's own home folder, because a spec may not open /tmp. Nothing here skips: a sandbox that
does not start is a failure.
"""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

FILES_AND_ALL_COMMANDS = """\
[files]
write = ["proj"]
[commands]
allow = ["*"]
"""


def _find(variable, *places):
    if variable in os.environ:
        return pathlib.Path(os.environ[variable])
    for place in places:
        if (ROOT / place).exists():
            return ROOT / place
    return ROOT / places[0]


LNK = _find("LNK", "build/gcc/src/lnk", "build/src/lnk", "build/clang/src/lnk")
LNK_GUARDS = _find("LNK_GUARDS", "build/guards/src/lnk")
HELPERS = _find("LNK_HELPERS", "build/gcc/tests/run", "build/tests/run")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the long tests whole")
    parser.addoption("--soak", type=float, default=60, help="seconds of tests/gate/test_soak.py")


def pytest_configure(config):
    # Orphans come to us, so that a process that outlives its run is found by walking our own
    # descendants, whatever it did to its session and group.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Under nohup, and in the background of a script, they are ignored, and would be inside too.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        left = [i for i in items if not i.get_closest_marker("long")]
        gone = [i for i in items if i.get_closest_marker("long")]
        config.hook.pytest_deselected(items=gone)
        items[:] = left


@pytest.fixture
def long_run(request):
    return request.config.getoption("--long")


# --- processes ------------------------------------------------------------------------------


def _stat(pid):
    """(name, state, parent) of a process, or None."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    name, rest = text.split("(", 1)[1].rsplit(")", 1)
    state, parent = rest.split()[:2]
    return name, state, int(parent)


def descendants(of=None):
    """{pid: name} of every living descendant of `of` (this process when left out)."""
    of = of or os.getpid()
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = _stat(int(entry))
            if stat:
                table[int(entry)] = stat
    found = {}
    for pid, (name, state, _) in table.items():
        up = pid
        while up in table and up != of:
            up = table[up][2]
        if up == of and pid != of and state not in "ZX":
            found[pid] = name
    return found


def reap_orphans(known=()):
    """Collects zombies that came to us from a killed parent; `known` are left to their Popen."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in known:
            continue
        stat = _stat(int(entry))
        if stat and stat[1] == "Z" and stat[2] == os.getpid():
            try:
                os.waitpid(int(entry), os.WNOHANG)
            except ChildProcessError:
                pass


def wait_until(condition, seconds=10.0, step=0.02):
    """Polls `condition` and returns its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


def mounts():
    return pathlib.Path("/proc/self/mountinfo").read_text()


# --- the box --------------------------------------------------------------------------------


class Result:
    def __init__(self, argv, rc, out, err):
        self.argv, self.rc, self.out, self.err = argv, rc, out, err

    def said(self, pattern):
        """lnk itself says it: on a line that begins with its name, a spec's or a flag's."""
        return bool(re.search(rf"^(lnk:|--[a-z-]+:|[^\s:]*\.toml:).*(?:{pattern})", self.err, re.I | re.M))

    @property
    def lines(self):
        return self.out.splitlines()

    def __repr__(self):
        return (f"<{' '.join(map(str, self.argv))}\n rc={self.rc}\n"
                f"--out:\n{self.out[-3000:]}\n--err:\n{self.err[-3000:]}>")


class Box:
    """A work folder with `home`, `proj` and specs; the project is the current folder."""

    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.home = self.dir / "home"
        self.proj = self.dir / "proj"
        self.home.mkdir()
        self.proj.mkdir()
        self.specfile = self.dir / "app.toml"
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        self.env = {
            "PATH": PATH, "HOME": str(self.home), "USER": user, "LOGNAME": user,
            "LANG": "C.UTF-8", "TERM": "xterm", "SHELL": "/bin/bash", "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.spec(FILES_AND_ALL_COMMANDS)

    def spec(self, text, name="app.toml"):
        path = self.dir / name
        path.write_text(text)
        return path

    def write(self, name, text, mode=None):
        """A file of the project (or an absolute path), its folders made."""
        path = self.proj / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if mode is not None:
            path.chmod(mode)
        return path

    def argv(self, *program, flags=(), spec=None, without=None, lnk=None):
        lnk = lnk or (LNK_GUARDS if without else LNK)
        where = [] if spec is False else ["--spec", str(spec or self.specfile)]
        return [str(lnk), "sandbox", "run", *where, *map(str, flags), "--", *map(str, program)]

    def environment(self, env=None, without=None):
        merged = dict(self.env)
        merged.update(env or {})
        if without:
            merged["LNK_TEST_WITHOUT"] = without
        return {k: str(v) for k, v in merged.items() if v is not None}

    def run(self, *program, flags=(), spec=None, cwd=None, env=None, stdin=None, timeout=60,
            without=None, lnk=None, pass_fds=()):
        """Runs PROGRAM in the sandbox. `stdin` is text; without it, /dev/null. `spec=False`:
        flags only. `without` takes a guard away, in a build that can."""
        argv = self.argv(*program, flags=flags, spec=spec, without=without, lnk=lnk)
        return self.outside(*argv, cwd=cwd, env=self.environment(env, without), stdin=stdin,
                            timeout=timeout, pass_fds=pass_fds)

    def sh(self, script, **kwargs):
        return self.run("sh", "-c", script, **kwargs)

    def outside(self, *argv, cwd=None, env=None, stdin=None, timeout=120, pass_fds=(),
                check=False):
        """Runs a program of the machine, not in the sandbox, with the box's environment. In a session
        of its own: should the kernel hang up its group (somebody stops one of it, another ends), the
        tests go on."""
        done = subprocess.run(
            [str(a) for a in argv], cwd=cwd or self.proj, env=env or self.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, pass_fds=pass_fds,
            start_new_session=True,
            **({"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin.encode()}))
        result = Result(argv, done.returncode, done.stdout.decode(errors="replace"),
                        done.stderr.decode(errors="replace"))
        assert not check or result.rc == 0, result
        return result

    def start(self, *program, flags=(), spec=None, cwd=None, env=None, without=None, **kwargs):
        """The same in the background: a Popen with text pipes."""
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        kwargs.setdefault("start_new_session", True)
        return subprocess.Popen(self.argv(*program, flags=flags, spec=spec, without=without),
                                cwd=cwd or self.proj, env=self.environment(env, without),
                                text=True, **kwargs)

    def git(self, *argv, cwd=None):
        return self.outside("git", "-c", "user.name=a", "-c", "user.email=a@b", *argv, cwd=cwd,
                            check=True).out

    def tree(self, *folders, state=False):
        """The names below the folders, for before and after. Link's own state is left out."""
        names = []
        for folder in folders or (self.home, self.proj):
            for at, dirs, files in os.walk(folder):
                if not state and pathlib.Path(at) == self.home:
                    dirs[:] = [d for d in dirs if d not in (".local", ".cache", ".config")]
                names += [os.path.join(at, n) for n in dirs + files]
        return sorted(names)


def box_base():
    """Where boxes are made: an ordinary folder of the user, not below /tmp or a dot folder."""
    base = os.environ.get("LNK_TEST_DIR") or os.path.join(
        os.path.expanduser("~"), "lnk-test-boxes")
    os.makedirs(base, exist_ok=True)
    return os.path.realpath(base)


@pytest.fixture
def box():
    folder = tempfile.mkdtemp(prefix="b-", dir=box_base())
    before, mounted = set(descendants()), mounts()
    made = Box(folder)
    try:
        yield made
        left = wait_until(lambda: not set(descendants()) - before, 2.0) or descendants()
        assert left is True, f"processes outlive the run: {left}"
        assert mounts() == mounted, "a mount is left on the host"
    finally:
        for pid in set(descendants()) - before:
            os.kill(pid, signal.SIGKILL)
        reap_orphans()
        subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def lab(box):
    """The box's own user, mount, pid and network namespace, as a function: lab(SCRIPT) runs bash
    with a full set of capabilities there. $LNK is the program; `nocaps` drops them again."""
    def run(script, timeout=60):
        env = box.environment({"LNK": LNK, "SPEC": box.specfile, "W": box.dir, "P": box.proj})
        nocaps = "nocaps() { setpriv --ambient-caps=-all --inh-caps=-all \"$@\"; }\n"
        return box.outside(
            "unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount", "--pid",
            "--fork", "--kill-child", "--mount-proc", "bash", "-c", nocaps + script,
            env=env, timeout=timeout)
    return run
