"""Rows C: what the list of programs does not hold does not start."""

import os

from . import Grant, attack
from .files import sh
from .kernel import done, probe

LISTED = Grant(listed=True)
LOADER = next((p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
               if os.path.exists(p)), "")


def unlisted(scene):
    """A program that is not listed, in the project."""
    target = scene.proj / "unlisted"
    target.write_bytes(scene.static_probe.read_bytes())
    target.chmod(0o755)
    return target


@attack("system-program", "C1", guard="private,landlock", grant=LISTED)
def _(scene):
    """Starts a program of the system that is not listed, by its path and through /proc."""
    for name in ("/usr/bin/id", "/proc/self/root/usr/bin/id", "/usr/bin/../bin/id"):
        if done((yield probe(scene, "run", name))):
            return True
    return False


@attack("copy-in-project", "C1", guard="landlock", grant=LISTED)
def _(scene):
    """Starts a program that it has put into the project."""
    return done((yield probe(scene, "run", unlisted(scene), "ran")))


@attack("copy-in-tmp", "C1", guard="landlock", grant=LISTED)
def _(scene):
    """Starts a copy of a program in a private folder: /tmp, /var/tmp, /dev/shm, the home."""
    for folder in ("/tmp", "/var/tmp", "/dev/shm", scene.home):
        if done((yield probe(scene, "copy", folder, "path"))):
            return True
    return False


@attack("copy-by-descriptor", "C1", guard="landlock", grant=LISTED)
def _(scene):
    """The same through a descriptor, through /proc/self/fd, and after the file was removed."""
    for how in ("fd", "proc", "deleted"):
        if done((yield probe(scene, "copy", ".", how))):
            return True
    return False


@attack("listed-name", "C1", guard="landlock", grant=LISTED)
def _(scene):
    """Starts a program of its own under the name of a listed one, first in PATH."""
    target = unlisted(scene)
    target.rename(scene.proj / "sh")
    said = yield sh("PATH=$PWD:$PATH; sh ran; ./sh ran; true")
    return "RAN" in said.lines


@attack("loader", "C2", guard="loader", grant=LISTED)
def _(scene):
    """Has the dynamic loader start a file that may not be executed."""
    target = scene.proj / "unlisted"
    target.write_bytes(scene.plain_probe.read_bytes())
    target.chmod(0o644)
    return done((yield probe(scene, "loader", LOADER, "path", target)))


@attack("memory-file", "C3", guard="seccomp", grant=LISTED)
def _(scene):
    """Starts a program from a file in memory (memfd_create)."""
    for how in ("execveat", "path"):
        if done((yield probe(scene, "memfd", 0, how))):
            return True
    return False


@attack("listed-overwritten", "C10", guard="pins",
        grant=Grant(listed=True, commands=("proj/bin/tool", "mv", "rm", "cp")))
def _(scene):
    """Overwrites a listed program of the user's own that lies in the project."""
    tool = scene.write("bin/tool", "#!/bin/sh\necho GOOD\n", mode=0o755)
    yield sh("echo 'echo EVIL' > bin/tool; rm -f bin/tool; mv bin b2; mkdir -p bin; "
             "echo 'echo EVIL' > bin/tool; true")
    return not tool.exists() or "EVIL" in tool.read_text()
