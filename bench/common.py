"""What the two benchmarks share: who measures, how one run is timed, how numbers are shown."""

import os
import pathlib
import pwd
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LNK = pathlib.Path(os.environ.get("LNK", ROOT / "build/gcc/src/lnk"))
MODULES = ROOT / "bench/node_modules"


def as_ordinary_user():
    """Root measures as lnk-test: the sandbox of an ordinary user is what is compared."""
    if os.getuid() != 0:
        return
    try:
        home = pwd.getpwnam("lnk-test").pw_dir
    except KeyError:
        sys.exit("bench: make the user lnk-test first (script/setup --test)")
    argv = [sys.executable, *sys.argv]
    os.execvp("runuser", [
        "runuser", "-u", "lnk-test", "--", "env", "-i", f"HOME={home}", "USER=lnk-test",
        "LOGNAME=lnk-test", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm",
        f"LNK={LNK}", *argv])


def work_folder():
    """A folder of the user's own, outside /tmp, which a spec may not open."""
    base = pathlib.Path.home() / "lnk-bench"
    base.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=base)


def time_once(argv, cwd, env):
    """(wall seconds, cpu seconds) from spawn to the end of the process. The child's own children
    count in the cpu time when it waited for them."""
    null = os.open(os.devnull, os.O_RDWR)
    start = time.perf_counter()
    here = os.getcwd()
    os.chdir(cwd)
    pid = os.posix_spawnp(argv[0], argv, env, file_actions=[
        (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1),
        (os.POSIX_SPAWN_DUP2, null, 2)])
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    os.chdir(here)
    os.close(null)
    if status:
        done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)
        sys.exit(f"bench: {' '.join(map(str, argv))} failed: {done.stderr[-800:]}")
    return wall, used.ru_utime + used.ru_stime


def ratio_of_pairs(mine, theirs):
    """Median of the ratios of runs made one after the other, and the middle half of them."""
    ratios = sorted(m / t for m, t in zip(mine, theirs))
    quarter = len(ratios) // 4
    return statistics.median(ratios), ratios[quarter], ratios[-1 - quarter]


def machine():
    name = ""
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, {os.cpu_count()} cores, Linux {os.uname().release}"
