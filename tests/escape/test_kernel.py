"""Rows K: namespaces, mounts, other processes, the terminal, the kernel's own surface."""

import os
import shutil
import signal
import subprocess
import tempfile

import pytest

from attacks.kernel import CALLS
from cell import (CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, IS_ROOT, LNK, VARIANTS, cell,
                  root_only, row, runs_outside)
from conftest import Box

SIGSYS = f"signal {int(signal.SIGSYS)}"


@row("K1")
def test_a_pin_is_not_moved_from_a_namespace_where_it_is_no_mount(cell):
    """Everything that stands in the way of it: the filter, the limit, Landlock."""
    attack = ("replace", cell.box.proj, ".envrc", "/tmp")
    mine, moved = cell.box.write(".envrc", "mine\n"), cell.box.proj / ".envrc.moved"
    guards = {"seccomp", "user_namespaces", "landlock"}
    assert cell.inside(*attack) == "EPERM"
    for still_there in guards:
        without = ",".join(sorted(guards - {still_there}))
        assert cell.inside(*attack, without=without) in ("EPERM", "ENOSPC"), still_there
    assert mine.read_text() == "mine\n" and not moved.exists()
    # It is moved. What follows is up to the warden, which sees it: it may be the first to put
    # something in its place, or end the run.
    assert cell.run(*attack, without=",".join(guards)).rc in (0, 1, 125)
    assert moved.read_text() == "mine\n"


NAMESPACES = {"user": CLONE_NEWUSER, "mount": CLONE_NEWNS, "pid": CLONE_NEWPID, "net": 0x40000000,
              "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000}


@row("K2")
@pytest.mark.parametrize("kind", NAMESPACES)
def test_new_namespaces(cell, kind):
    flags = NAMESPACES[kind]
    assert cell.inside("call", "unshare", flags) == "EPERM"
    assert cell.inside("call", "unshare", flags | 1 << 40) in ("EPERM", "EINVAL")
    assert cell.inside("call", "clone", flags | int(signal.SIGCHLD)) == "EPERM"
    assert cell.inside("clone3", flags) == "ENOSYS"
    assert cell.in_userns("call", "unshare", flags) == "done"
    assert cell.in_userns("clone3", flags) == "done"


@row("K2")
def test_new_user_namespace_without_the_filter_meets_the_limit(cell):
    assert cell.inside("clone3", CLONE_NEWUSER, without="seccomp") == "ENOSPC"
    assert cell.inside("clone3", CLONE_NEWUSER, without="seccomp,user_namespaces") == "done"


MOUNT_CALLS = {
    "mount": ("mount", "s:x", "s:/tmp", "s:tmpfs", 0, 0),
    "bind": ("mount", "s:/usr", "s:/tmp", 0, 4096, 0),
    "remount": ("mount", "s:none", "s:/", 0, 32, 0),
    "umount2": ("umount2", "s:/tmp", 2),
    "pivot_root": ("pivot_root", "s:/tmp", "s:/tmp"),
    "open_tree": ("open_tree", -100 % 2**64, "s:/usr", 1),
    "open_tree_attr": ("open_tree_attr", -100 % 2**64, "s:/usr", 1, 0, 0),
    "move_mount": ("move_mount", -100 % 2**64, "s:/usr", -100 % 2**64, "s:/tmp", 0),
    "fsopen": ("fsopen", "s:tmpfs", 0),
    "fspick": ("fspick", -100 % 2**64, "s:/", 0),
    "mount_setattr": ("mount_setattr", -100 % 2**64, "s:/", 0, "b:0", 32),
    "chroot": ("chroot", "s:/tmp"),
}


@row("K3")
@pytest.mark.parametrize("name", MOUNT_CALLS)
def test_mount_calls(cell, name):
    call = MOUNT_CALLS[name]
    assert cell.inside("call", *call) == "EPERM"
    if name in ("mount", "bind", "open_tree", "fsopen", "mount_setattr", "chroot"):
        assert cell.in_userns("call", *call) == "done"


@row("K3")
def test_entering_namespaces_of_another_process(cell):
    attack = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for kind in "user", "mnt", "pid", "net", "ipc", "uts", "cgroup":
    for pid in "self", "1":
        try:
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError:
            continue
        print(kind, pid, libc.setns(fd, 0), ctypes.get_errno())
        os.close(fd)
"""
    seen = cell.box.run("python3", "-c", attack)
    assert seen.rc == 0 and len(seen.lines) >= 7, seen
    assert {line.split()[2:] == ["-1", "1"] for line in seen.lines} == {True}, seen
    fd = os.open("/proc/self/ns/uts", os.O_RDONLY)
    assert cell.in_userns("call", "setns", fd, 0, pass_fds=[fd]) == "EPERM"
    assert cell.outside("call", "setns", fd, 0, before=(
        "unshare", "--user", "--map-root-user", "--uts"), pass_fds=[fd]) in ("EPERM", "done")
    os.close(fd)


# --- other processes ------------------------------------------------------------------------

INIT = {
    "ptrace": ("ptrace", 1),
    "vmread": ("vmread", 1),
    "vmwrite": ("vmwrite", 1),
    "mem": ("mem", 1),
    "maps": ("look", 1, "maps"),
    "environ": ("look", 1, "environ"),
    "cwd": ("look", 1, "cwd"),
    "root": ("look", 1, "root"),
    "fd": ("look", 1, "fd"),
    "fd/0": ("look", 1, "fd/0"),
    "exe": ("look", 1, "exe"),
    "cmdline": ("look", 1, "cmdline"),
    "map_files": ("look", 1, "map_files"),
}


@row("K5")
@pytest.mark.parametrize("name", INIT)
def test_init_is_closed_to_the_program(cell, name):
    assert cell.inside(*INIT[name]) in ("EPERM", "EACCES", "ENOENT", "ESRCH")


@row("K5")
@pytest.mark.parametrize("name", ["ptrace", "vmread", "mem", "maps", "root", "fd"])
def test_init_is_open_without_its_guard(cell, name):
    assert cell.inside(*INIT[name], without="dumpable") == "done"


@row("K5")
def test_descriptors_of_init(cell):
    assert cell.inside("getfd", 1, 0) == "EPERM"
    assert cell.inside("getfd", 1, 0, without="dumpable,seccomp") == "done"
    assert cell.inside("oom", 1) in ("EACCES", "ENOENT", "EPERM")


@pytest.fixture
def stranger():
    """A process of this user's outside every sandbox."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


STRANGER = {"ptrace": ("ptrace",), "vmread": ("vmread",), "mem": ("mem",), "oom": ("oom",)}


@row("K8")
@pytest.mark.parametrize("name", STRANGER)
def test_processes_outside_do_not_exist(cell, stranger, name):
    attack = STRANGER[name]
    assert cell.inside(*attack, stranger.pid) in ("ESRCH", "ENOENT")
    assert cell.outside(*attack, stranger.pid) == "done"


@row("K8")
def test_supervisor_and_warden_do_not_exist(cell):
    run = cell.box.start("sh", "-c", "echo up; sleep 20")
    try:
        assert run.stdout.readline() == "up\n"
        for pid in (run.pid, run.pid + 1, run.pid + 2):
            assert cell.inside("vmread", pid) == "ESRCH"
            assert cell.inside("look", pid, "maps") == "ENOENT"
        seen = cell.box.sh("ps -e -o comm= || ls /proc")
        assert not {"lnk", "lnk-init", "lnk-warden", "sleep"} & set(seen.out.split()), seen
    finally:
        run.kill()
        run.wait()
        run.stdout.close()
        run.stderr.close()


def with_neighbour(cell, *words, without=None):
    """Runs the probe in a job with a process outside; says whether that one survived."""
    command = " ".join(cell.box.argv(cell.probe(), *words, without=without))
    script = f"sleep 30 & n=$!; {command} >out 2>err; rc=$?; kill -0 $n && echo alive; kill $n"
    shell = subprocess.Popen(["bash", "-c", script], cwd=cell.box.proj, start_new_session=True,
                             env=cell.box.environment(without=without), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = shell.communicate(timeout=30)[0]
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return out == "alive\n"


@row("K7")
@pytest.mark.parametrize("whom", ["0", "-1", "parent"])
def test_signals_do_not_leave(cell, whom):
    assert with_neighbour(cell, "signal", whom, 15)


@row("K7")
def test_signals_leave_without_landlock(cell):
    assert not with_neighbour(cell, "signal", "0", 15, without="landlock")


@row("K8")
def test_no_capability_is_left(cell):
    fields = "grep Cap /proc/self/status; grep NoNewPrivs /proc/self/status"
    seen = cell.box.sh(fields)
    assert [line.split()[1].strip("0") for line in seen.lines] == [""] * 5 + ["1"], seen
    assert cell.inside("call", "sethostname", "s:x", 1) == "EPERM"
    seen = cell.box.sh(fields, without="capabilities")
    assert any(line.split()[1].strip("0") for line in seen.lines[:5]), seen
    if IS_ROOT:  # others lose theirs when they execute a program
        assert cell.inside("call", "sethostname", "s:x", 1, without="capabilities") == "done"


# --- the kernel -----------------------------------------------------------------------------


@row("K11")
@pytest.mark.parametrize("way", ["int80", "x32"])
def test_calls_of_another_architecture(cell, way):
    """Where the kernel has that gate at all; without it, it is its own refusal that is seen."""
    outside = cell.box.outside(cell.probe(), way).lines
    inside = cell.run(way).lines
    if outside in (["done"], ["ENOSYS"]):
        assert inside == [SIGSYS, "EPERM"]
    else:
        assert outside == inside == [f"signal {int(signal.SIGSEGV)}", "EPERM"]
    assert cell.run(way, without="seccomp").lines == outside


@row("K11")
@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.startswith("i386")])
def test_whole_program_of_another_architecture(cell, variant):
    if runs_outside(cell, variant):
        assert cell.inside("ran", variant=variant) == SIGSYS
        assert cell.inside("ran", variant=variant, without="seccomp") == "done"
    else:  # a kernel without CONFIG_IA32_EMULATION
        seen = cell.run("ran", variant=variant)
        assert seen.rc != 0 and "RAN" not in seen.out, seen


SURFACE = {
    "userfaultfd": (CALLS["userfaultfd"][1], "EPERM"),
    "perf_event_open": (("perf_event_open", "b:0x7000000001", 0, -1 % 2**64, -1 % 2**64, 0),
                        "EPERM"),
    "bpf": (("bpf", 0, "b:0", 72), "EPERM"),
    "add_key": (CALLS["keyring"][1], "EPERM"),
    "request_key": (("request_key", "s:user", "s:lnk-none", 0, 0), "EPERM"),
    "keyctl": (("keyctl", 0, -4 % 2**64, 0), "EPERM"),
    "io_uring": (CALLS["io_uring"][1], "ENOSYS"),
    "modify_ldt": (CALLS["modify_ldt"][1], "EPERM"),
    "personality": (CALLS["personality"][1], "EPERM"),
    "openat2": (("openat2", -100 % 2**64, "s:/etc/passwd", "b:0", 24), "ENOSYS"),
    "fanotify": (CALLS["fanotify"][1], "EPERM"),
    "pidfd_getfd": (("pidfd_getfd", 0, 0, 0), "EPERM"),
    "kcmp": (("kcmp", 1, 1, 0, 0, 0), "EPERM"),
    "syslog": (("syslog", 10, 0, 0), "EPERM"),
}
# Refused outside too, or in need of a privilege: nothing to compare with.
NO_CONTROL = {"bpf", "pidfd_getfd", "kcmp", "perf_event_open", "syslog", "request_key"}


@row("K13")
@pytest.mark.parametrize("name", SURFACE)
def test_kernel_surface(cell, name):
    call, error = SURFACE[name]
    assert cell.inside("call", *call) == error
    if name not in NO_CONTROL:
        assert cell.outside("call", *call) == "done"


@row("K13")
def test_files_by_handle(cell):
    cell.box.write("f", "x")
    assert cell.inside("handle", ".", "f") == "EPERM"
    if IS_ROOT:
        assert cell.outside("handle", ".", "f") == "done"


FAMILIES = {"alg": (38, 5, 0), "packet": (17, 3, 0), "vsock": (40, 1, 0), "xdp": (44, 3, 0),
            "bluetooth": (31, 3, 0), "can": (29, 3, 1), "tipc": (30, 1, 0), "rds": (21, 5, 0),
            "key": (15, 3, 2), "kcm": (41, 5, 0), "netlink audit": (16, 3, 9),
            "netlink netfilter": (16, 3, 12), "netlink sock_diag": (16, 3, 4),
            "netlink uevent": (16, 3, 15), "raw": (2, 3, 1), "raw6": (10, 3, 58),
            "sctp": (2, 1, 132), "mptcp": (2, 1, 262), "udplite": (2, 2, 136)}


@row("K14")
def test_socket_families(cell):
    refusals = {name: cell.inside("call", "socket", *which) for name, which in FAMILIES.items()}
    allowed = {"EAFNOSUPPORT", "EPROTONOSUPPORT", "EPERM"}
    assert {n: r for n, r in refusals.items() if r not in allowed} == {}
    outside = {name: cell.outside("call", "socket", *which) for name, which in FAMILIES.items()}
    # Which of them a kernel has differs; that these exist outside shows that the rest is judged.
    assert outside["netlink sock_diag"] == outside["netlink uevent"] == "done", outside
    assert cell.inside("call", "socket", *FAMILIES["netlink sock_diag"],
                       without="seccomp") == "done"
    for good in ((1, 1, 0), (2, 1, 0), (2, 2, 17), (10, 1, 6), (16, 3, 0)):
        assert cell.inside("call", "socket", *good) == "done"


@row("K15")
@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6755])
def test_set_id_bits(cell, bits):
    cwd, creates, tmpfile = -100 % 2**64, os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_WRONLY
    ways = {
        "chmod": ("fchmodat", cwd, "s:sh", bits),
        "create": ("openat", cwd, "s:new", creates, bits),
        "tmpfile": ("openat", cwd, "s:.", tmpfile, bits),
        "mknod": ("mknodat", cwd, "s:node", 0o100000 | bits, 0),
    }
    cell.box.write("sh", "x")
    for name, call in ways.items():
        assert cell.inside("call", *call) == "EPERM", name
        assert cell.inside("call", *call, without="seccomp") == "done", name
        assert cell.outside("call", *call) in ("done", "EEXIST"), name
    assert cell.inside("call", "openat2", cwd, "s:o2", f"b:{creates}", 24) == "ENOSYS"


@row("K15")
def test_device_nodes(cell):
    cwd = -100 % 2**64
    for kind, dev in ((0o020000, 0x101), (0o020000, 0), (0o060000, 0x800)):
        for where in ("node", "/tmp/node", "/dev/shm/node"):
            call = ("mknodat", cwd, f"s:{where}", kind | 0o666, dev)
            assert cell.inside("call", *call) in ("EPERM", "EACCES"), (kind, where)
    if IS_ROOT:
        assert cell.outside("call", "mknodat", cwd, "s:node", 0o020666, 0x101) == "done"
        # One that lies there already does not open either.
        assert cell.box.sh("head -c1 node").rc != 0
        (cell.box.proj / "node").unlink()


SETTINGS = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
            "/proc/sys/vm/overcommit_memory", "/proc/sys/user/max_user_namespaces",
            "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/acpi/wakeup",
            "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper",
            "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs",
            "/sys/fs/cgroup/cgroup.kill", "/sys/fs/cgroup/release_agent", "/sys/power/state",
            "/sys/kernel/debug/sched/debug", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda"]
NOT_WRITTEN = ("EROFS", "ENOENT", "EACCES", "EPERM", "ENXIO")


@row("K16")
def test_settings_of_the_machine(cell):
    cwd = -100 % 2**64
    seen = {f: cell.inside("call", "openat", cwd, f"s:{f}", os.O_WRONLY) for f in SETTINGS}
    assert {f: s for f, s in seen.items() if s not in NOT_WRITTEN} == {}
    if IS_ROOT:
        outside = [cell.outside("call", "openat", cwd, f"s:{f}", os.O_WRONLY) for f in SETTINGS]
        assert outside[0] == "done" and outside.count("done") > 3, outside


@row("K16")
def test_nothing_of_the_machine_is_writable(cell):
    """Whatever else this kernel shows: found by looking, not by a list."""
    seen = cell.box.sh("find /proc /sys /dev -path '/proc/[0-9]*' -prune -o "
                       "-path /proc/self -prune -o -path /proc/thread-self -prune -o "
                       "-type f -writable -print 2>/dev/null")
    devices = {f"/dev/{n}" for n in ("null", "zero", "full", "random", "urandom", "tty")}
    # /proc/pressure: waiting for a load; a process may ask that of its own machine.
    extra = [n for n in set(seen.lines) - devices if not n.startswith("/proc/pressure/")]
    assert extra == [] and devices & set(seen.lines), seen


@row("K16")
def test_modes_of_the_machines_devices(cell):
    for node in ("/dev/null", "/dev/zero", "/dev/urandom"):
        before = os.stat(node).st_mode
        assert cell.inside("call", "fchmodat", -100 % 2**64, f"s:{node}", 0) in ("EROFS", "EPERM")
        assert os.stat(node).st_mode == before
        assert cell.box.sh(f"echo x > {node}").rc == 0


@row("K18")
def test_a_fork_bomb_ends(cell):
    seen = cell.run("forks", 8400)
    assert seen.lines[-1] == "EAGAIN" and 1000 < int(seen.lines[0]) <= 8192, seen
    assert cell.outside("forks", 8400) == "done"


@row("K18")
def test_a_fork_bomb_ends_with_user_namespaces_too(cell):
    seen = cell.run("forks", 8400, flags=["--user-namespaces"])
    assert seen.lines[-1] == "EAGAIN" and int(seen.lines[0]) <= 8192, seen


@row("K18")
@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/dev/shm", "HOME"])
def test_private_folders_are_bounded(cell, folder):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    path = str(cell.box.home) if folder == "HOME" else folder
    seen = cell.run("fill", path, 1 << 20)
    assert seen.lines[-1] == "ENOSPC" and 0 < int(seen.lines[0]) <= memory // 4 + 4096, seen


@row("K18")
def test_a_full_private_folder_says_so(cell):
    """All of them share one room; files without content run out as well."""
    seen = cell.box.sh("fallocate -l 64G /tmp/big && echo bad; "
                       "df --output=itotal /tmp | tail -1")
    assert "bad" not in seen.out and "No space left" in seen.err, seen
    assert 0 < int(seen.lines[-1]) <= 1 << 20, seen


@root_only
@row("K19")
def test_file_of_a_supplementary_group(box):
    """The user's other groups cannot be dropped, so what only they may read must not exist."""
    folder = tempfile.mkdtemp(prefix="lnk-test-", dir="/srv")
    try:
        os.chmod(folder, 0o755)
        other, lnk = Box(folder), os.path.join(folder, "lnk")
        shutil.copy(LNK, lnk)
        secret = other.dir / "group-secret"
        secret.write_text("SECRET\n")
        os.chown(secret, 0, 4242)
        secret.chmod(0o640)
        for place in (other.proj, other.home):
            os.chown(place, 65534, 65534)
        someone = ("setpriv", "--reuid", "65534", "--regid", "65534", "--groups", "65534,4242")
        assert other.outside(*someone, "cat", secret).out == "SECRET\n"
        seen = other.outside(*someone, *other.argv("cat", secret, lnk=lnk))
        assert "SECRET" not in seen.out and "No such file" in seen.err, seen
    finally:
        shutil.rmtree(folder)


@root_only
@row("K19")
def test_files_of_etc_that_are_not_for_everybody(cell):
    """As root, or in a group that may read them: found by their modes, not by a list."""
    closed = []
    for at, folders, files in os.walk("/etc"):
        for name in files + folders:
            path = os.path.join(at, name)
            if not os.path.islink(path) and not os.stat(path).st_mode & 0o004:
                closed.append(path)
    assert "/etc/shadow" in closed
    reads = ("import sys\nfor p in sys.argv[1:]:\n"
             "  try: open(p, 'rb').read(); print(p)\n  except OSError: pass\n")
    seen = cell.box.run("python3", "-c", reads, *closed)
    assert (seen.rc, seen.lines) == (0, []), seen
    assert "/etc/shadow" in cell.box.outside("python3", "-c", reads, *closed).lines
