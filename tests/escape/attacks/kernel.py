"""Rows K: namespaces, mounts, processes, the terminal, the kernel's own surface."""

from . import Command, Grant, attack

CWD = -100 % 2**64
NEW_USER, NEW_NS = 0x10000000, 0x00020000


def probe(scene, *words, **more):
    return Command((scene.probe, *map(str, words)), **more)


def done(said):
    return said.lines[-1:] == ["done"]


@attack("pin-moved", "K1", guard="seccomp,user_namespaces,landlock")
def _(scene):
    """From a mount namespace of its own, where the read-only `.envrc` is no mount, moves it away."""
    mine, scratch = scene.write(".envrc", "mine\n"), scene.folder("scratch")
    yield probe(scene, "replace", scene.proj, ".envrc", scratch)
    return not mine.exists() or mine.read_text() != "mine\n"


@attack("user-namespace", "K2", guard="seccomp,user_namespaces")
def _(scene):
    """Makes a user namespace, to be root in it."""
    return done((yield probe(scene, "call", "unshare", NEW_USER)))


@attack("user-namespace-high-bits", "K2", guard="seccomp,user_namespaces")
def _(scene):
    """The same with clone3, whose flags a filter cannot see."""
    return done((yield probe(scene, "clone3", NEW_USER)))


@attack("mount-in-namespace", "K3", "C6", guard="seccomp,user_namespaces,landlock")
def _(scene):
    """Mounts a tmpfs of its own in a user and mount namespace of its own."""
    return done((yield probe(scene, "userns", NEW_NS, "call", "mount", "s:x",
                             f"s:{scene.folder('scratch')}", "s:tmpfs", 0, 0)))


@attack("mount-by-new-calls", "K3", "C7", guard="seccomp,user_namespaces,landlock")
def _(scene):
    """Makes a mount of its own by the new calls (fsopen) in a namespace of its own."""
    return done((yield probe(scene, "userns", NEW_NS, "call", "fsopen", "s:tmpfs", 0)))


@attack("init-memory", "K5", guard="dumpable", control="guard")
def _(scene):
    """Opens the memory of process 1 of the sandbox, which knows what was hidden, for writing."""
    return done((yield probe(scene, "mem", 1)))


@attack("init-root", "K5", guard="dumpable", control="guard")
def _(scene):
    """Opens the root folder and descriptors of process 1, or attaches to it as a debugger."""
    for words in (("look", 1, "root"), ("look", 1, "fd"), ("ptrace", 1)):
        if done((yield probe(scene, *words))):
            return True
    return False


@attack("signal-group", "K7", guard="job,landlock")
def _(scene):
    """Signals its process group, in which the caller's other programs are."""
    script = 'sleep 30 & n=$!; "$@" >out </dev/null; kill -0 $n && echo alive; kill $n; true'
    said = yield probe(scene, "signal", 0, 15,
                       around=lambda words: ["bash", "-c", script, "sh", *words])
    return "alive" not in said.lines


@attack("stranger-memory", "K8", why="PID namespace: processes outside have no number inside")
def _(scene):
    """Reads the memory of a program of the user's that runs outside."""
    with scene.stranger() as pid:
        return done((yield probe(scene, "vmread", pid)))


@attack("stranger-ptrace", "K8", why="PID namespace: processes outside have no number inside")
def _(scene):
    """Attaches to a program of the user's that runs outside."""
    with scene.stranger() as pid:
        return done((yield probe(scene, "ptrace", pid)))


STI = """import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p
for request in REQUESTS:
    print(hex(request), libc.ioctl(0, request, b"x"), ctypes.get_errno())
    ctypes.set_errno(0)
"""


@attack("typing", "K9", guard="seccomp")
def _(scene):
    """Types a command into the terminal, which the shell outside reads after the end (TIOCSTI)."""
    script = scene.write("sti.py", STI.replace("REQUESTS", "[0x5412, 0x5412 | 1 << 32]"))
    said = yield Command(("/usr/bin/python3", str(script)), terminal=True)
    return b"x" in said.typed


@attack("terminal-discipline", "K9", guard="seccomp")
def _(scene):
    """Sets the line discipline of the caller's terminal (TIOCSETD), also with bits above it."""
    script = scene.write("sti.py", STI.replace("REQUESTS", "[0x5423, 0x5423 | 1 << 32]").replace(
        'b"x"', r'b"\0\0\0\0"'))
    said = yield Command(("/usr/bin/python3", str(script)), terminal=True)
    return any(line.split()[1] == "0" for line in said.lines)


CALLS = {
    "userfaultfd": ("Watches its own page faults (userfaultfd), as kernel exploits do.",
                    ("userfaultfd", 1)),
    "keyring": ("Adds a key to the user's keyring, which outlives the sandbox.",
                ("add_key", "s:user", "s:lnk-test", "s:x", 1, -2 % 2**64)),
    "io_uring": ("Sets up io_uring, past which a filter of system calls does not see.",
                 ("io_uring_setup", 4, "b:0")),
    "personality": ("Makes all of its memory executable (personality).",
                    ("personality", 0x0400000)),
    "modify_ldt": ("Changes its descriptor table (modify_ldt).", ("modify_ldt", 0, "b:0", 16)),
    "fanotify": ("Watches files of others (fanotify_init).", ("fanotify_init", 0x200, 0)),
    "socket-diag": ("Asks the kernel for the sockets of others (netlink sock_diag).",
                    ("socket", 16, 3, 4)),
    "vsock": ("Makes a socket to the machine that runs this virtual one (AF_VSOCK).",
              ("socket", 40, 1, 0)),
}


def single_call(name, tries, call):
    def play(scene):
        return done((yield probe(scene, "call", *call)))
    play.__doc__ = tries
    row = "K14" if call[0] == "socket" else "K13"
    attack(name, row, guard="seccomp")(play)


for _name, (_tries, _call) in CALLS.items():
    single_call(_name, _tries, _call)


@attack("set-id", "K15", guard="seccomp")
def _(scene):
    """Leaves a file in the project that runs with the user's rights for everybody (chmod 4755)."""
    file = scene.write("sh", "x")
    yield probe(scene, "call", "fchmodat", CWD, "s:sh", 0o4755)
    return bool(file.stat().st_mode & 0o4000)


@attack("fork-bomb", "K18", guard="limits")
def _(scene):
    """Starts 8,400 processes at once."""
    return done((yield probe(scene, "forks", 8400)))
