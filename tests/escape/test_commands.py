"""Rows C and U1: what [commands] does not list does not start, by whatever door."""

import os
import pathlib
import subprocess

import pytest

from cell import IS_ROOT, LNK, VARIANTS, cell, row, runs_outside

LOADERS = [path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2",
                             "/lib/ld-linux-aarch64.so.1", "/libx32/ld-linux-x32.so.2",
                             "/lib/ld-musl-x86_64.so.1") if os.path.exists(path)]
LIBC = f"/usr/lib/{os.uname().machine}-linux-gnu/libc.so.6"


@pytest.fixture
def listed(cell):
    """A cell whose spec lists the probes and sh, and nothing else."""
    cell.spec(commands=[*map(str, cell.probes.values()), "sh"])
    return cell


@pytest.fixture
def other(listed):
    """A program of the same bytes that is not listed, in a folder that may be read."""
    target = listed.box.proj / "unlisted"
    target.write_bytes(listed.probes["static"].read_bytes())
    target.chmod(0o755)
    return target


@row("C1")
def test_unlisted_programs_by_other_names(listed, other):
    assert listed.outside("run", other, "ran") == "done"
    assert listed.inside("run", other, "ran") == "EACCES"
    assert listed.inside("run", other, "ran", without="landlock") == "done"
    for name in ("/usr/bin/id", "/bin/id", "/proc/self/root/usr/bin/id", "/proc/self/cwd/unlisted",
                 "./unlisted", "/usr/bin/../bin/id", "/proc/thread-self/root/usr/bin/python3",
                 "/usr/bin/env", "/usr/lib/git-core/git", LIBC):
        assert listed.inside("run", name) in ("ENOENT", "EACCES"), name
    assert listed.outside("run", "/usr/bin/id") == "done"
    seen = listed.box.sh("ls /usr/bin /usr/sbin /bin/ /sbin/ 2>/dev/null | sort -u")
    assert set(seen.lines) <= {"", "sh", "dash", "bash", "/bin/:", "/sbin/:", "/usr/bin:",
                               "/usr/sbin:"} or "ls" in seen.err, seen


@row("C1")
def test_unlisted_program_under_a_listed_name(listed, other):
    """First in PATH, as a link, as a copy of sh."""
    (listed.box.proj / "sh").symlink_to("unlisted")
    for name in ("cat", "git"):
        (listed.box.proj / name).write_bytes(other.read_bytes())
        (listed.box.proj / name).chmod(0o755)
    seen = listed.box.sh("PATH=$PWD:$PATH; cat ran; git ran; sh ran; ./sh ran; exec ./cat ran")
    assert "RAN" not in seen.out and seen.err.count("Permission denied") >= 3, seen
    seen = listed.box.outside("sh", "-c", "PATH=$PWD:$PATH; cat ran; ./sh ran")
    assert seen.lines.count("RAN") == 2, seen


@row("C1")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("folder", [".", "/tmp", "/dev/shm", "/var/tmp", "HOME"])
def test_copies_of_a_program(listed, folder, variant):
    where = listed.box.home if folder == "HOME" else folder
    if not runs_outside(listed, variant):
        assert listed.run("copy", where, "path", variant=variant).rc in (2, 126, 127)
        return
    for how in ("path", "fd", "proc", "deleted"):
        seen = listed.inside("copy", where, how, variant=variant)
        assert seen == "EACCES" or (variant.startswith("i386") and seen == "signal 31"), how
    assert listed.outside("copy", ".", "path", variant=variant) == "done"
    if not variant.startswith("i386"):
        assert listed.inside("copy", where, "path", variant=variant, without="landlock") == "done"


@row("C1")
@pytest.mark.parametrize("how", ["fd", "link"])
def test_files_without_a_name(listed, how):
    for where in (".", "/tmp", "/dev/shm"):
        assert listed.inside("tmpfile", where, how) == "EACCES", where
    assert listed.outside("tmpfile", ".", how) == "done"


@row("C1")
def test_descriptor_of_a_program_that_was_left_open(listed, other):
    """`exec 9<unlisted` inside, and one that is handed over with --fd."""
    seen = listed.box.sh(f"exec 9<unlisted; {listed.probe()} inherited 9; /proc/self/fd/9 ran")
    assert seen.lines == ["EACCES"] and "Permission denied" in seen.err, seen
    outside = listed.box.dir / "outside"
    outside.write_bytes(other.read_bytes())
    outside.chmod(0o755)
    fd = os.open(outside, os.O_RDONLY)
    try:
        given = listed.inside("inherited", fd, flags=["--fd", fd], pass_fds=[fd])
        assert given == "EACCES"
        assert listed.outside("inherited", fd, pass_fds=[fd]) == "done"
        # Not named: not there.
        assert listed.inside("inherited", fd, pass_fds=[fd]) == "EBADF"
    finally:
        os.close(fd)


@row("C2")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("how", ["path", "fd"])
def test_the_loader(listed, other, how, variant):
    """Every loader of this machine, on a file that may not run and on one that may."""
    if not runs_outside(listed, variant):
        assert listed.run("ran", variant=variant).rc in (2, 126, 127)
        return
    for loader in LOADERS:
        for program in (*map(listed.probe, VARIANTS), str(other)):
            seen = listed.inside("loader", loader, how, program, variant=variant)
            assert seen in ("EACCES", "ENOEXEC", "signal 31"), (loader, program)
    if not variant.startswith("i386"):
        native = (LOADERS[0], how, listed.probe("plain"))
        assert listed.outside("loader", *native, variant=variant) == "done"
        assert listed.inside("loader", *native, variant=variant, without="loader") == "done"


@row("C2")
def test_the_loader_by_other_ways(listed):
    """A copy with another header, a link, a script whose interpreter it is."""
    loader, probe = LOADERS[0], listed.probe()
    copy = listed.box.proj / "ld"
    bytes_ = bytearray(pathlib.Path(loader).read_bytes())
    bytes_[9] = 1  # padding of the ELF header, which the kernel's loader does not look at
    copy.write_bytes(bytes_)
    copy.chmod(0o755)
    (listed.box.proj / "link").symlink_to(loader)
    script = listed.box.write("script", f"#!{loader} {probe}\n", mode=0o755)
    assert listed.box.outside(copy, probe, "ran").lines == ["RAN", "done"]
    for name in (copy, listed.box.proj / "link", script, f"/proc/self/root{loader}",
                 os.path.realpath(loader)):
        seen = listed.inside("run", name, probe, "ran")
        assert seen in ("EACCES", "ENOEXEC"), (name, seen)
    # Even where the user lists the script itself.
    listed.spec(commands=[probe, "sh", "proj/script"])
    seen = listed.inside("run", script, "ran")
    assert seen in ("EACCES", "ENOEXEC"), seen
    assert "RAN" not in listed.box.sh("./script ran; sh ./script").out


@row("C3")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("how", ["execveat", "path"])
def test_programs_from_memory(listed, how, variant):
    if not runs_outside(listed, variant):
        assert listed.run("memfd", 0, how, variant=variant).rc in (2, 126, 127)
        return
    for flags in (0, 1, 2, 3, 0x10, 0x12):
        seen = listed.inside("memfd", flags, how, variant=variant)
        assert seen == "EACCES" or (variant.startswith("i386") and seen == "signal 31"), flags
    # Sealed against execution it may be had, and does not run.
    if not variant.startswith("i386"):
        assert listed.inside("memfd", 8, how, variant=variant) == "EACCES"
        assert listed.inside("call", "memfd_create", "s:x", 8, variant=variant) == "done"
        assert listed.inside("memfd", 0, how, variant=variant, without="seccomp") == "done"
    assert listed.outside("memfd", 0, how, variant=variant) == "done"


@row("C3")
def test_memory_files_of_other_kinds(listed):
    """Huge pages, secret memory, shared memory by its name in /proc."""
    assert listed.inside("hugetlb") == "EACCES"
    assert listed.inside("secret") not in ("done",)
    assert listed.inside("shared", "anonymous") in ("EPERM", "ENOENT")
    assert listed.inside("shared", "sysv") in ("EPERM", "ENOENT")
    if IS_ROOT:
        assert listed.outside("shared", "anonymous") == "done"
        assert listed.outside("shared", "sysv") == "done"


@row("C3")
def test_memory_file_handed_over_as_input(listed):
    """A descriptor of the caller's that has no place in any file system."""
    fd = os.memfd_create("x", 0)
    os.write(fd, listed.probes["static"].read_bytes())
    reader = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    os.close(fd)
    try:
        assert listed.outside("inherited", reader, pass_fds=[reader]) == "done"
        seen = listed.inside("inherited", reader, flags=["--fd", reader], pass_fds=[reader])
        assert seen != "done", "an unlisted program ran from a descriptor"
    finally:
        os.close(reader)


LIBRARY = """#include <stdio.h>
__attribute__((constructor)) static void hello(void) { fputs("LOADED\\n", stderr); }
"""


@row("C4")
def test_libraries_load_and_stay_in_their_process(listed):
    """A documented limit, with its edge: what is loaded runs under the same guards."""
    source = listed.box.write("x.c", LIBRARY)
    library = listed.box.proj / "x.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    listed.box.write("unlisted", "#!/bin/sh\necho RAN\n", mode=0o755)
    seen = listed.box.sh(f"LD_PRELOAD=$PWD/x.so {listed.probe()} run $PWD/unlisted")
    assert seen.err.count("LOADED") == 1 and seen.lines == ["EACCES"], seen
    # A variable of the caller's own does not pass.
    seen = listed.run("ran", env={"LD_PRELOAD": str(library)})
    assert "LOADED" not in seen.err.split("RAN")[-1] and seen.lines == ["RAN", "done"], seen


@row("C9")
@pytest.mark.parametrize("variant", ["plain", "static"])
def test_code_made_in_memory_runs(listed, variant):
    """A documented limit: it is the listed program's own process, under the same guards."""
    assert listed.inside("anonymous", variant=variant) == "done"
    assert listed.outside("anonymous", variant=variant) == "done"


@row("C6", "U1")
@pytest.mark.parametrize("flags", [(), ("--user-namespaces",)])
def test_new_namespace_drops_no_rule(listed, flags):
    """With namespaces of its own allowed, no mount call works in them: a fresh binfmt_misc would
    take the loaders' rule away, a tmpfs could be executed from."""
    made = listed.inside("userns", 0, flags=flags)
    assert made == ("done" if flags else "EPERM")
    for call in (("fsopen", "s:binfmt_misc", 0), ("fsopen", "s:tmpfs", 0),
                 ("mount", "s:x", "s:/tmp", "s:tmpfs", 0, 0),
                 ("mount", "s:b", "s:/tmp", "s:binfmt_misc", 0, 0),
                 ("open_tree", -100 % 2**64, "s:/usr", 1), ("unshare", 0x20000),
                 ("pivot_root", "s:/", "s:/"), ("umount2", "s:/proc", 2)):
        assert listed.inside("userns", 0, "call", *call, flags=flags) == "EPERM", call
    for flag in (0, 0x20000000, 0x40000000):
        seen = listed.inside("userns", flag, "loader", LOADERS[0], "path", listed.probe(),
                             flags=flags)
        assert seen == ("EACCES" if flags else "EPERM"), flag
        seen = listed.inside("userns", flag, "copy", "/tmp", "path", flags=flags)
        assert seen == ("EACCES" if flags else "EPERM"), flag
    # Outside, a namespace of one's own mounts what it likes.
    assert listed.in_userns("call", "fsopen", "s:binfmt_misc", 0) == "done"
    assert listed.in_userns("call", "mount", "s:x", "s:/tmp", "s:tmpfs", 0, 0) == "done"


@row("C6")
def test_namespaces_allowed_open_nothing_else(listed):
    """What --user-namespaces must not bring back."""
    cell = listed
    cell.box.write("secret/key", "SECRET\n")
    cell.spec(write=["proj"], hide=["proj/secret"])
    flags = ["--user-namespaces"]
    assert cell.inside("userns", 0, flags=flags) == "done"
    for attack in (("call", "openat", -100 % 2**64, f"s:{cell.box.proj}/secret/key", 0),
                   ("call", "openat", -100 % 2**64, "s:.envrc", os.O_CREAT | os.O_WRONLY, 0o644),
                   ("replace", cell.box.proj, ".envrc", "/tmp"), ("mem", 1), ("look", 1, "root"),
                   ("handle", ".", "x"), ("call", "sethostname", "s:x", 1),
                   ("call", "mknodat", -100 % 2**64, "s:/tmp/n", 0o020666, 0x101),
                   ("call", "fchmodat", -100 % 2**64, "s:/dev/null", 0)):
        assert cell.inside("userns", 0, *attack, flags=flags) != "done", attack


@row("C7")
def test_remount(listed):
    for options in (32, 32 | 4096):
        call = ("mount", "s:none", "s:/tmp", 0, options, 0)
        assert listed.inside("call", *call) == "EPERM"
        assert listed.inside("userns", 0x20000, "call", *call, without="seccomp") == "ENOSPC"


@row("C10")
def test_listed_program_is_not_overwritten(cell):
    """One that is the user's own and lies in the write folder, and what lies on the way to it."""
    tool = cell.box.write("bin/tool", "#!/bin/sh\necho GOOD\n", mode=0o755)
    cell.spec(write=["proj"], commands=["sh", "proj/bin/tool", "mv", "rm", "ln", "cp", "mkdir"])
    script = ("echo 'echo EVIL' > bin/tool; rm -f bin/tool; mv bin/tool bin/t2; mv bin b2; "
              "mkdir -p bin; ln -sf /bin/true bin/tool; cp /etc/passwd bin/tool; "
              "mv -T bin b3; bin/tool")
    seen = cell.box.sh(script)
    assert seen.out == "GOOD\n", seen
    assert tool.read_text() == "#!/bin/sh\necho GOOD\n"
    assert cell.box.run(tool).out == "GOOD\n"
    # Without the pin it is done.
    cell.box.sh("echo 'echo EVIL' > bin/tool", without="pins")
    assert cell.box.run(tool).out == "EVIL\n"


@row("C10")
def test_the_supervisors_own_file_is_not_overwritten(cell):
    """Through /proc/1/exe or a parent's (CVE-2019-5736)."""
    seen = cell.box.sh("for p in 1 $PPID self; do ls -l /proc/$p/exe; (echo x >> /proc/$p/exe); "
                       "done; echo end")
    assert seen.lines[-1] == "end" and str(LNK) not in seen.out, seen
    # Its own is that of a program of the system, read only.
    assert "Permission denied" in seen.err or "Read-only" in seen.err or "busy" in seen.err, seen


def test_scripts_run_by_their_listed_interpreter(listed):
    """The way out that the documentation names, and that nothing else is needed for."""
    listed.box.write("x.sh", "echo RAN\n", mode=0o755)
    seen = listed.box.sh("./x.sh; sh ./x.sh")
    assert seen.lines == ["RAN"] and "Permission denied" in seen.err, seen

