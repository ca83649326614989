"""Rows W: a run without namespaces, where files, processes and servers of the user's are in sight."""

import ctypes
import os
import socket
import subprocess
import tempfile

import pytest

from cell import cell, row
from test_kernel import with_neighbour

SPEC = """\
[files]
write = ["proj"]
write_dot_files = ["proj"]
read = [{read}]
{sections}
[commands]
allow = [{commands}]
"""


@pytest.fixture
def bare(cell):
    """A cell whose runs have no namespaces; inside(...) is bare."""
    def spec(commands=("*",), read=(), sections=""):
        quoted = [", ".join(f'"{v}"' for v in values)
                  for values in ([str(cell.folder), *map(str, read)], commands)]
        cell.box.spec(SPEC.format(read=quoted[0], commands=quoted[1], sections=sections))

    def flags(kw):
        return {**kw, "flags": ["--without-namespaces", "--quiet", *kw.pop("flags", [])]}
    plain = cell.box.argv
    cell.box.argv = lambda *program, **kw: plain(*program, **flags(kw))
    cell.fitting = spec
    spec()
    return cell


def python(cell, script, without=None, **kw):
    result = cell.box.run("python3", "-c", "import errno, os, socket, sys\ndef err(call, *a, **k):\n"
                          "    try: return call(*a, **k) and 'done' or 'done'\n"
                          "    except OSError as e: return errno.errorcode[e.errno]\n" + script,
                          without=without, **kw)
    assert result.rc == 0, result
    return result.lines


@row("W1")
def test_closed_files(bare):
    secret = bare.box.home / "secret"
    secret.write_text("secret\n")
    (bare.box.proj / "link").symlink_to(secret)
    script = f"""s = {str(secret)!r}
for name in (s, "link", "/proc/self/root" + s, "/proc/self/cwd/../home/secret", "../home/secret"):
    print(err(lambda: open(name).read()))
print(err(os.listdir, {str(bare.box.home)!r}), err(os.open, s, os.O_WRONLY), err(os.truncate, s, 0))
print(err(os.unlink, s), err(os.rename, s, "mine"), err(os.link, s, "mine"), err(os.rename, "link", s))
print(err(os.mkdir, s + ".d"), err(os.symlink, "x", s + ".l"), err(os.mkfifo, s + ".f"))
"""
    lines = python(bare, script)
    assert set(" ".join(lines).split()) <= {"EACCES", "EXDEV"}, lines
    assert secret.read_text() == "secret\n"
    assert python(bare, f"print(err(open, {str(secret)!r}))", without="landlock") == ["done"]


@row("W2")
def test_modes_times_and_attributes_of_closed_and_read_only_files(bare):
    docs = bare.box.dir / "docs"
    docs.mkdir()
    closed, shown = bare.box.home / "closed", docs / "shown"
    for path in (closed, shown):
        path.write_text("x")
        path.chmod(0o640)
    (bare.box.proj / "link").symlink_to(closed)
    before = [(p.stat().st_mode, p.stat().st_mtime, os.listxattr(p)) for p in (closed, shown)]
    bare.fitting(read=[docs])
    script = f"""closed, shown = {str(closed)!r}, {str(shown)!r}
fd = os.open(shown, os.O_RDONLY); path = os.open(closed, os.O_PATH)
folder = os.open({str(bare.box.home)!r}, os.O_PATH); gid = os.getgid()
for name in (closed, shown, "link", "../home/closed", "/proc/self/fd/%d" % fd, "/proc/self/fd/%d" % path,
             "/proc/%d/fd/%d" % (os.getpid(), fd), fd):
    print(err(os.chmod, name, 0o666), err(os.utime, name, (1, 2)), err(os.setxattr, name, "user.x", b""),
          err(os.chown, name, -1, gid))
print(err(os.chmod, "closed", 0o666, dir_fd=folder), err(os.utime, "closed", (1, 2), dir_fd=folder))
import fcntl, struct
print(err(fcntl.ioctl, fd, 0x40086602, struct.pack("l", 0x40)))
"""
    lines = python(bare, script)
    assert set(" ".join(lines).split()) == {"EPERM"}, lines
    assert [(p.stat().st_mode, p.stat().st_mtime, os.listxattr(p))
            for p in (closed, shown)] == before
    assert python(bare, f"print(err(os.chmod, {str(closed)!r}, 0o666))",
                  without="seccomp") == ["done"]
    assert closed.stat().st_mode & 0o777 == 0o666


@row("W2")
def test_requests_to_file_systems(bare):
    """Verity, subvolumes, attributes of VFAT: descriptors that may only be read would do. The filter
    answers before the kernel sees that there is no such descriptor."""
    script = """import fcntl
for request in (0x40806685, 0x5000940e, 0x40087602, 0x40047211, 0x40049409, 0xc020660b, 0x80086601):
    print(err(fcntl.ioctl, 999, request, b"\\0" * 64))
"""
    assert python(bare, script) == ["ENOTTY"] * 4 + ["EBADF"] * 3  # copies and looking pass
    assert python(bare, script, without="seccomp") == ["EBADF"] * 7


@row("W2")
def test_a_name_that_changes_while_the_clerk_looks(bare):
    """A thread swaps a link and the string in memory: the change is made on what was looked at."""
    closed = bare.box.home / "closed"
    closed.write_text("x")
    closed.chmod(0o600)
    script = f"""import ctypes, threading, time
libc = ctypes.CDLL(None)
good, bad = b"mine".ljust(200, b"\\0"), {str(closed)!r}.encode().ljust(200, b"\\0")
buf = ctypes.create_string_buffer(good, 200)
open("mine", "w"); os.symlink("mine", "a"); os.symlink({str(closed)!r}, "b")
end = time.monotonic() + 3; done = 0
def memory():
    while time.monotonic() < end:
        ctypes.memmove(buf, bad, 200); ctypes.memmove(buf, good, 200)
def names():
    while time.monotonic() < end:
        os.symlink({str(closed)!r}, "n"); os.replace("n", "swap"); os.symlink("mine", "n"); os.replace("n", "swap")
for f in (memory, names): threading.Thread(target=f).start()
while time.monotonic() < end:
    done += libc.chmod(buf, 0o666) == 0; done += libc.chmod(b"swap", 0o644) == 0
print("some" if done else "none")
"""
    assert python(bare, script) == ["some"]
    assert closed.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def server():
    """A server on a Unix socket of the user's, as the session's bus is."""
    folder = tempfile.mkdtemp(prefix="lnk-w-", dir="/tmp")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{folder}/s")
    listening.listen()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(f"{folder}/d")
    datagrams.setblocking(False)
    yield folder, datagrams
    listening.close()
    datagrams.close()
    for name in ("s", "d"):
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)


SOCKETS = """
def connect(kind, name):
    s = socket.socket(socket.AF_UNIX, kind); s.connect(name)
def pair(kind, name):
    a, b = socket.socketpair(socket.AF_UNIX, kind); a.sendto(b"x", name)
def again(kind, name):
    a, b = socket.socketpair(socket.AF_UNIX, kind); b.close(); a.connect(name)
folder = sys.argv[1]
print(err(connect, socket.SOCK_STREAM, folder + "/s"), err(connect, socket.SOCK_DGRAM, folder + "/d"))
print(err(pair, socket.SOCK_DGRAM, folder + "/d"), err(pair, socket.SOCK_STREAM, folder + "/s"))
print(err(again, socket.SOCK_STREAM, folder + "/s"), err(again, socket.SOCK_SEQPACKET, folder + "/s"))
"""


@row("W3")
@pytest.mark.parametrize("network", ["", '[network]\nmode = "host"'])
def test_servers_on_unix_sockets(bare, server, network):
    """Neither the bus nor an agent nor Docker is called, by a socket or a pair."""
    folder, datagrams = server
    bare.fitting(sections=network)
    bare.box.write("s.py", "import errno, os, socket, sys\ndef err(call, *a):\n    try: call(*a)\n"
                   "    except OSError as e: return errno.errorcode[e.errno]\n    return 'done'\n"
                   + SOCKETS)
    seen = bare.box.run("python3", "s.py", folder)
    assert "done" not in seen.out and len(seen.lines) == 3, seen
    with pytest.raises(BlockingIOError):
        datagrams.recv(10)
    control = bare.box.run("python3", "s.py", folder, without="seccomp")
    assert control.lines[0] == "done done" and control.lines[1].startswith("done"), control


@row("W4")
def test_no_network(bare):
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    script = f"""def tcp(): socket.create_connection(("127.0.0.1", {port}), 5)
def udp(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {port}))
def serve(): socket.create_server(("127.0.0.1", 0))
print(err(tcp), err(udp), err(serve), err(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW))
"""
    assert python(bare, script) == ["EACCES EACCES EACCES EACCES"]
    # Landlock holds TCP by itself, the filter all of it.
    assert python(bare, script, without="seccomp") == ["EACCES done EACCES done"]
    assert python(bare, script, without="seccomp,landlock") == ["done done done done"]
    bare.fitting(sections='[network]\nmode = "host"')
    assert python(bare, script) == ["done done done done"]
    listening.close()


@pytest.fixture
def other():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@row("W5")
def test_other_processes(bare, other):
    script = f"""import resource, signal
pid = {other.pid}
print(err(os.kill, pid, 0), err(os.kill, pid, signal.SIGKILL), err(os.kill, os.getppid(), signal.SIGKILL))
print(err(open, f"/proc/{{pid}}/environ"), err(open, f"/proc/{{pid}}/mem"), err(os.readlink, f"/proc/{{pid}}/fd/0"))
print(err(os.readlink, f"/proc/{{pid}}/cwd"), err(os.stat, f"/proc/{{pid}}/root/etc"))
print(err(resource.prlimit, pid, resource.RLIMIT_CPU, (0, 0)), err(os.setpriority, os.PRIO_PROCESS, pid, 19))
print(err(os.sched_setaffinity, pid, {{0}}), err(os.setpriority, os.PRIO_USER, 0, 19))
print(err(open, f"/proc/{{pid}}/oom_score_adj", "w"))
"""
    lines = python(bare, script)
    assert set(" ".join(lines).split()) <= {"EPERM", "EACCES"}, lines
    assert other.poll() is None
    held = python(bare, script.replace("err(os.kill, pid, signal.SIGKILL)", "'-'"),
                  without="seccomp")
    # Limits and turns are the filter's; signals and memory are Landlock's.
    assert held[3].startswith("done") and held[0].startswith("EPERM"), held
    # Outside all of it works.
    control = bare.box.outside("python3", "-c", f"import os; os.kill({other.pid}, 0); "
                               f"print(len(open('/proc/{other.pid}/environ').read()) > 0)")
    assert control.lines == ["True"], control


@row("W5")
def test_signals_to_all_reach_the_run_alone(bare, other):
    seen = bare.box.run("sh", "-c", "setsid sleep 60 & sleep 0.2; kill -KILL -1; wait; echo over")
    assert seen.lines == ["over"] and other.poll() is None, seen


@row("W5")
def test_the_callers_job_is_not_hung_up(bare):
    assert with_neighbour(bare, "hang-up")
    assert not with_neighbour(bare, "hang-up", without="job")


@row("W6")
def test_shared_memory_and_queues(bare):
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0, 4096, 0o1600)
    try:
        script = f"""import ctypes
libc = ctypes.CDLL(None, use_errno=True); libc.shmat.restype = ctypes.c_long
def raw(name, *a):
    return "done" if getattr(libc, name)(*a) != -1 else errno.errorcode[ctypes.get_errno()]
print(raw("shmat", {segment}, None, 0), raw("shmctl", {segment}, 0, None), raw("shmget", 0, 4096, 0o600))
print(raw("msgget", 0, 0o1600), raw("semget", 0, 1, 0o1600), raw("mq_open", b"/lnk-none", 0))
print(err(open, "/dev/shm/lnk-w", "w"), err(os.listdir, "/dev/shm"))
"""
        lines = python(bare, script)
        assert set(" ".join(lines).split()) == {"EACCES"}, lines
        assert python(bare, script, without="seccomp")[0].startswith("done")
    finally:
        libc.shmctl(segment, 0, None)


@row("W7")
def test_programs_that_are_not_listed(bare):
    bare.fitting(commands=["sh", "python3", *map(str, bare.probes.values())])
    unlisted = bare.box.proj / "unlisted"
    unlisted.write_bytes(bare.probes["static"].read_bytes())
    unlisted.chmod(0o755)
    for name in ("/usr/bin/id", "/bin/id", "/proc/self/root/usr/bin/id", unlisted,
                 "/usr/lib/git-core/git"):
        assert bare.inside("run", name) == "EACCES", name
    assert bare.inside("run", unlisted, "ran", without="landlock") == "done"
    # Closed for reading, so that neither the loader nor a copy gets at them.
    assert python(bare, 'print(err(open, "/usr/bin/id", "rb"), err(os.listdir, "/usr/bin"))') == [
        "EACCES EACCES"]
    seen = bare.box.run("sh", "-c", "/lib64/ld-linux-x86-64.so.2 /usr/bin/id")
    assert seen.rc != 0 and "ermission denied" in seen.err, seen


@row("W7")
def test_programs_from_memory(bare):
    bare.fitting(commands=["sh", *map(str, bare.probes.values())])
    for how in ("execveat", "path"):
        assert bare.inside("memfd", 0, how) == "EACCES"
        assert bare.inside("memfd", 8, how) == "EACCES"
        assert bare.inside("memfd", 0, how, without="seccomp") == "done"


@row("W8")
def test_a_terminal_of_the_users(bare):
    """Another terminal is neither read nor written."""
    master, other = os.openpty()
    name = os.ttyname(other)
    assert python(bare, f'print(err(os.open, {name!r}, os.O_RDWR | os.O_NOCTTY), '
                  'err(os.open, "/dev/ptmx", os.O_RDWR))') == ["EACCES EACCES"]
    assert python(bare, f"print(err(os.open, {name!r}, os.O_RDWR | os.O_NOCTTY))",
                  without="landlock") == ["done"]
    os.close(master)
    os.close(other)


@row("W9")
def test_the_keeper_is_out_of_reach(bare):
    script = """import signal, ctypes
keeper = os.getppid()
print(err(os.kill, keeper, signal.SIGKILL), err(os.kill, keeper, signal.SIGSTOP))
print(err(open, f"/proc/{keeper}/mem"), err(os.readlink, f"/proc/{keeper}/fd/0"))
libc = ctypes.CDLL(None, use_errno=True)
print("done" if libc.ptrace(16, keeper, 0, 0) == 0 else errno.errorcode[ctypes.get_errno()])
print(open(f"/proc/{keeper}/comm").read().strip())
"""
    lines = python(bare, script)
    assert lines[-1] == "lnk-keeper", lines
    assert set(" ".join(lines[:-1]).split()) <= {"EPERM", "EACCES"}, lines
