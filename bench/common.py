"""What the benchmarks share: who measures, how one run is timed, and what a section hands to
bench/all: tables, notes, bars and the raw figures, as JSON."""

import argparse
import json
import os
import pathlib
import pwd
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LNK = pathlib.Path(os.environ.get("LNK", ROOT / "build/gcc/src/lnk"))
MODULES = pathlib.Path(os.environ.get("LNK_PEERS", ROOT / "bench/node_modules")).resolve()
DASH = "–"


def say(text):
    """Progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


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
        f"LNK={LNK}", f"LNK_PEERS={MODULES}", *argv])


def work_folder():
    """A folder of the user's own, outside /tmp, which a spec may not open."""
    base = pathlib.Path.home() / "lnk-bench"
    base.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=base, ignore_cleanup_errors=True)


def environment(folder=None):
    """What is measured starts with; with a folder, its home is one below it, so that nothing is
    taken from the user's settings and nothing is left in them."""
    env = {k: os.environ[k] for k in ("HOME", "USER", "LOGNAME", "PATH", "LANG", "TERM")
           if k in os.environ}
    if folder:
        (folder / "home").mkdir(exist_ok=True)
        env["HOME"] = str(folder / "home")
    return env


class Failed(Exception):
    """What was to be timed went wrong, in its own words."""


def last_words(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " / ".join(lines[-2:])[-300:] or "said nothing"


def time_once(argv, cwd, env):
    """(wall seconds, cpu seconds) from spawn to the end of the process. The child's own children
    count in the cpu time when it waited for them. Raises Failed."""
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
        done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, errors="replace", check=False)
        raise Failed(last_words(done.stderr or done.stdout))
    return wall, used.ru_utime + used.ru_stime


def in_turn(found, rounds, cwd, before=None, warm=True):
    """Times every contestant once in each round, in an order that changes. `found` is {name:
    (argv, env, every how many rounds)}. ({name: {round: (wall, cpu)}}, {name: why it failed})

    A round that does not count comes first, to warm up, unless there is one round alone."""
    times, failed = {name: {} for name in found}, {}
    for number in range(-1 if warm and rounds > 1 else 0, rounds):
        names = [n for n, (_, _, every) in found.items()
                 if n not in failed and (number < 0 or number % every == 0)]
        random.shuffle(names)
        for name in names:
            argv, env, _ = found[name]
            if before:
                before()
            try:
                once = time_once(argv, cwd, env)
            except Failed as e:
                failed[name] = str(e)
                times[name] = {}
                continue
            if number >= 0:
                times[name][number] = once
    return times, failed


def ratio_of_pairs(mine, theirs):
    """Median of the ratios of runs made one after the other, and the middle half of them."""
    ratios = sorted(m / t for m, t in zip(mine, theirs))
    quarter = len(ratios) // 4
    return statistics.median(ratios), ratios[quarter], ratios[-1 - quarter]


def ratio_cells(mine, theirs):
    """["1.02", "0.98-1.10"] of the rounds that both have, of {round: (wall, cpu)}."""
    both = sorted(mine.keys() & theirs.keys())
    if not both:
        return [DASH, DASH]
    middle, low, high = ratio_of_pairs([mine[n][0] for n in both], [theirs[n][0] for n in both])
    return [f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]


def median_wall(runs):
    return statistics.median(wall for wall, _ in runs.values())


def raw_times(times):
    """Seconds to the microsecond, {name: [[round, wall, cpu]]}."""
    return {name: [[n, round(w, 6), round(c, 6)] for n, (w, c) in runs.items()]
            for name, runs in times.items()}


def machine():
    name = ""
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {os.uname().release}"


class Section:
    """What a benchmark found. Tables are (title, head, rows) with all cells as text."""

    def __init__(self, about, fair):
        self.about = about          # what is measured, and how
        self.fair = fair            # what is not fair about it
        self.tables = []
        self.notes = []
        self.bars = []              # {"title", "unit", "bars": [[label, value, is it lnk]]}
        self.raw = {}

    def table(self, title, head, rows):
        self.tables.append({"title": title, "head": head, "rows": rows})

    def chart(self, title, unit, bars):
        bars = [[label, round(value, 4), label.startswith("lnk")] for label, value in bars]
        if any(bars):
            self.bars.append({"title": title, "unit": unit, "bars": bars})

    def note(self, text):
        """A footnote; the mark to put into a cell."""
        if text not in self.notes:
            self.notes.append(text)
        return f"{DASH} [{self.notes.index(text) + 1}]"


def table_text(table):
    """A Markdown table that is also readable as it is."""
    lines = [list(map(str, line)) for line in (table["head"], *table["rows"])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = ["| " + " | ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                             for i, (cell, w) in enumerate(zip(line, widths))) + " |"
           for line in lines]
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":"
                          for i, w in enumerate(widths)) + "|"
    return "\n".join([out[0], rule, *out[1:]])


def section_text(section):
    """The tables and footnotes of a section, from its JSON."""
    out = []
    for table in section["tables"]:
        out += [f"**{table['title']}**", "", table_text(table), ""]
    out += [f"[{i}] {note}  " for i, note in enumerate(section["notes"], 1)]
    return "\n".join(out).rstrip() + "\n"


def arguments_of(doc, **more):
    """The arguments that every benchmark takes; `more` are a parser's further ones."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true",
                        help="a few rounds: shows that it works, and measures little")
    parser.add_argument("--json", metavar="FILE", help="write the results there, with the raw ones")
    for name, options in more.items():
        parser.add_argument(name.replace("_", "-"), **options)
    return parser


def finish(section, arguments):
    """Prints a section and writes it for bench/all."""
    found = {"about": section.about, "fair": section.fair, "tables": section.tables,
             "notes": section.notes, "bars": section.bars, "raw": section.raw}
    print(machine() + "\n")
    print(section_text(found), end="")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(found))
