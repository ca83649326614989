"""What the escape tests share: a box whose program is the probe (probes/), inside and outside.

Every attack is tried in the sandbox, where it must be refused, and in a place where it must work
(outside, or in a sandbox without one guard), so that an attack that is broken is a failing test.

A row of catalogue.md is tested where a test has its mark: @row("K1")."""

import atexit
import errno
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

import pytest

from conftest import LNK, LNK_GUARDS, box_base

HERE = pathlib.Path(__file__).resolve().parent
IS_ROOT = os.geteuid() == 0

VARIANTS = {"plain": [], "static": ["-static"]}
if platform.machine() == "x86_64":
    VARIANTS.update({"i386": ["-m32"], "i386-static": ["-m32", "-static"]})
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-O0", "-pthread"]

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000


def root_only(test):
    """For root alone: elsewhere there is no such test, rather than one that is left out."""
    return test if IS_ROOT else None



def row(*names):
    """The rows of catalogue.md that a test holds."""
    def mark(test):
        test.rows = names
        return test
    return mark


_built = {}


def build_probes():
    """The probe's four variants, made once, where a sandbox may read them."""
    if _built:
        return _built
    folder = pathlib.Path(tempfile.mkdtemp(prefix="probes-", dir=box_base()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sources = sorted(map(str, (HERE / "probes").glob("*.c")))
    running = {}
    for name, flags in VARIANTS.items():
        target = folder / f"probe-{name}"
        running[name] = (target, subprocess.Popen(
            ["gcc", *FLAGS, *flags, "-o", str(target), *sources],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for name, (target, process) in running.items():
        said = process.communicate()[0]
        assert process.returncode == 0, said
        _built[name] = target
    folder.chmod(0o755)
    return _built


class Cell:
    """A box that runs the probe. Its spec writes `proj` and reads the probe's folder."""

    def __init__(self, box):
        self.box = box
        self.probes = build_probes()
        self.folder = self.probes["plain"].parent
        self.spec()

    def spec(self, commands=("*",), more="", **files):
        """Writes the box's spec: lists of [files] by key, [commands], and lines of [files]."""
        files.setdefault("write", ["proj"])
        files.setdefault("read", [])
        files["read"] = [str(self.folder), *files["read"]]

        def quoted(values):
            return "[" + ", ".join(f'"{v}"' for v in values) + "]"
        lines = [f"{key} = {quoted(values)}" for key, values in files.items() if values]
        return self.box.spec("[files]\n" + "\n".join(lines) + "\n" + more +
                             f"\n[commands]\nallow = {quoted(commands)}\n")

    def probe(self, variant="plain"):
        return str(self.probes[variant])

    def run(self, *words, variant="plain", **kwargs):
        """The probe in the sandbox, as a Result."""
        return self.box.run(self.probe(variant), *words, **kwargs)

    def inside(self, *words, **kwargs):
        """How the attack went in the sandbox: "done", the name of an errno, or "signal N"."""
        return outcome(self.run(*words, **kwargs))

    def outside(self, *words, variant="plain", before=(), **kwargs):
        """The same on the machine itself. `before`: words that start it, such as unshare's."""
        return outcome(self.box.outside(*before, self.probe(variant), *words, **kwargs))

    def in_userns(self, *words, **kwargs):
        """On the machine, with every capability in a user and mount namespace of its own."""
        return self.outside(*words, before=("unshare", "--user", "--map-root-user", "--mount"),
                            **kwargs)


def outcome(result):
    if result.rc > 128:
        return f"signal {result.rc - 128}"
    if result.rc in (125, 126, 127):
        return f"not started: {result.err}"
    assert result.rc in (0, 1) and result.lines, result
    return result.lines[-1]


def runs_outside(cell, variant):
    """Whether this machine runs programs of that kind at all (i386 needs the kernel's help)."""
    try:
        return cell.outside("ran", variant=variant) == "done"
    except OSError as error:
        assert error.errno == errno.ENOEXEC, error
        return False


@pytest.fixture
def cell(box):
    return Cell(box)


__all__ = ["CLONE_NEWNS", "CLONE_NEWPID", "CLONE_NEWUSER", "Cell", "HERE", "IS_ROOT", "LNK",
           "LNK_GUARDS", "build_probes", "cell", "outcome", "root_only", "row",
           "runs_outside"]
