#!/usr/bin/python3
"""Tries the attacks of attacks/ on lnk and on other sandboxes, and prints one table (script/escapes).

    compare.py [--page FILE] [--only CONTESTANT,...] [ATTACK...]

Each attack gets a fresh scene for each contestant. There the granted work is done first, in the
same sandbox: a contestant that does not start, or in which the granted work fails, has not held
the attack. An attack must succeed on the machine itself before it counts."""

import argparse
import datetime
import json
import os
import shutil
import sys
import tempfile
import traceback

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), p)
                for p in (".", "..", "../gate")]

import attacks  # noqa: E402
import contestants  # noqa: E402
import page  # noqa: E402
from attacks import Command  # noqa: E402
from attacks.network import get, raw, steps  # noqa: E402
from cell import build_probes  # noqa: E402
from conftest import Box, box_base  # noqa: E402
from scene import Scene, started  # noqa: E402

HELD, NOT_HELD = "held", "**NOT held**"


class SetUp(Exception):
    """Why a contestant could not do the granted work."""


def complaint(said):
    """The line by which a contestant says why it does not start."""
    lines = [li for li in said.err.splitlines() if li.strip() and "attack begins" not in li]
    return (lines[-1] if lines else f"status {said.rc}, no word")[:160]


def work(scene, grant, run):
    """The granted work: write in the project, read it, start a listed program, make a call."""
    said = run(Command(("sh", "-c", "echo work >made; read x <made; echo $x; exec \"$0\" ran",
                        scene.probe)))
    if said.lines != ["work", "RAN", "done"]:
        raise SetUp(complaint(said))
    port = (*grant.ports, *grant.models, 0)[0]
    if scene.net and (grant.hosts or port):
        since = scene.net.mark()
        call = raw(get("ok.test", "/work"), "ok.test") if grant.hosts else \
            raw(get(f"127.0.0.1:{port}", "/api/tags"), "127.0.0.1", port)
        said = run(steps(scene, call))
        if not since.requests():
            raise SetUp(f"the granted call fails: {said.out.strip()[:80]} {said.err.strip()[-80:]}")


class Labs:
    """The lab, made when the first attack asks for it."""
    lab = None

    @classmethod
    def get(cls):
        import lab
        if cls.lab is None:
            cls.lab = lab.Lab()
        return cls.lab

    @classmethod
    def close(cls):
        if cls.lab is not None:
            cls.lab.close()


def make_box(folder, net):
    if not net:
        return Box(folder)
    import lab
    return lab.NetBox(folder, net)


def try_one(which, contestant):
    """(succeeded, reason): the reason is a SetUp's."""
    net = Labs.get() if which.lab else None
    folder = tempfile.mkdtemp(prefix="c-", dir=box_base())
    scene = Scene(make_box(folder, net), build_probes(), net)
    worked = contestant.name == "nothing"

    def once(command):
        return contestant.run(scene, which.grant, command)

    def run(command):
        nonlocal worked
        if not worked:  # in the scene as the attack has made it
            work(scene, which.grant, once)
            worked = True
        said = once(command)
        if not started(said):
            raise SetUp(complaint(said))
        return said
    try:
        if net and not worked:  # what an attack counts begins when it begins
            work(scene, which.grant, once)
            worked = True
        return attacks.run_attack(which, scene, run), ""
    except SetUp as why:
        return None, str(why)
    finally:
        scene.clear()
        # A sandbox may leave folders without modes, and its own servers a moment to end.
        for at, folders, _ in os.walk(folder):
            for name in folders:
                if not os.path.islink(os.path.join(at, name)):
                    try:
                        os.chmod(os.path.join(at, name), 0o700)
                    except OSError:
                        pass
        shutil.rmtree(folder, ignore_errors=True)


def judge(which, contestant):
    """{"verdict": ..., "why": ...} of one attack on one contestant."""
    lacks = contestant.lacks(which)
    if lacks:
        return {"verdict": "cannot be expressed", "why": lacks}
    succeeded, why = try_one(which, contestant)
    if why:
        return {"verdict": "not tried", "why": why}
    return {"verdict": NOT_HELD if succeeded else HELD, "why": ""}


def controlled(which):
    """Whether the attack works where nothing stands in its way. {"ok": bool, "how": ...}"""
    if which.control == "guard":
        succeeded, why = try_one(which, contestants.Lnk(which.guard))
        return {"ok": bool(succeeded), "how": "without the guard", "why": why}
    succeeded, why = try_one(which, contestants.Nothing())
    return {"ok": bool(succeeded), "how": "outside", "why": why}


def without_guard(which):
    """Whether it succeeds in lnk with its guard left out; None where that cannot be."""
    if not which.guard:
        return None
    return bool(try_one(which, contestants.Lnk(which.guard))[0])


def row(which, those):
    """One line of the table as data."""
    line = {"name": which.name, "rows": which.rows, "tries": which.tries,
            "guard": which.guard, "why": which.why, "control": controlled(which),
            "without": without_guard(which), "of": {}}
    for contestant in those:
        try:
            line["of"][contestant.name] = judge(which, contestant)
        except Exception as error:  # one contestant's accident is told, and costs no other
            traceback.print_exc()
            line["of"][contestant.name] = {"verdict": "not tried", "why": repr(error)[:160]}
    return line


def show(line, those):
    cells = " ".join(f"{c.name}: {line['of'][c.name]['verdict'].strip('*'):20}" for c in those)
    control = "" if line["control"]["ok"] else "  THE ATTACK ITSELF FAILS OUTSIDE"
    if line["without"] is False:
        control += "  IT FAILS WITHOUT ITS GUARD"
    print(f"{line['rows'][0]:4} {line['name']:26} {cells}{control}", flush=True)
    for name, cell in line["of"].items():
        if cell["verdict"] == "not tried":
            print(f"     {name}: {cell['why']}", flush=True)


def equivalents(those):
    """{contestant: [(what, text)]}: what each is given for three grants."""
    grants = {"Files": attacks.Grant(hide=("proj/s",), read=("home/docs",)),
              "With a list of programs": attacks.Grant(listed=True),
              "With a host": attacks.Grant(hosts=("ok.test",))}
    folder = tempfile.mkdtemp(prefix="c-", dir=box_base())
    scene = Scene(Box(folder), build_probes())
    scene.write("s/key", "x")
    (scene.home / "docs").mkdir()
    found = {}
    for c in those:
        which = [(what, g) for what, g in grants.items() if not c.lacks(attacks.asking(g))]
        found[c.name] = [(what, c.shown(scene, g)) for what, g in which]
    shutil.rmtree(folder)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--page", help="writes the table, with all that belongs to it, as Markdown")
    parser.add_argument("--data", help="writes the table as JSON")
    parser.add_argument("--only", help="contestants, by comma", default="lnk,bwrap,firejail,srt,codex")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    every = [c for c in (contestants.Lnk(), *contestants.PEERS) if c.name in wanted]
    absent = {c.name: c.missing() for c in every if c.missing()}
    for name, why in absent.items():
        print(f"{name} does not take part: {why}")
    those = [c for c in every if c.name not in absent]
    chosen = [a for a in attacks.load() if not arguments.attacks or a.name in arguments.attacks]
    lines = []
    try:
        for which in chosen:
            lines.append(row(which, those))
            show(lines[-1], those)
    finally:
        Labs.close()
    shown = equivalents(those)
    data = {"lines": lines, "machine": page.machine(), "date": str(datetime.date.today()),
            "contestants": [{"name": c.name, "title": c.title, "version": c.version(),
                             "notes": c.notes, "shown": shown[c.name]} for c in those]}
    print(page.summary(data))
    if arguments.data:
        with open(arguments.data, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
    if arguments.page:
        if absent or arguments.attacks or len(those) < 5:
            sys.exit("compare: the page is written from a run of all attacks on all sandboxes")
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.write(page.write(data))
    bad = [li["name"] for li in lines if li["of"].get("lnk", {}).get("verdict") != HELD and
           "lnk" in [c.name for c in those] or not li["control"]["ok"] or li["without"] is False]
    if bad:
        sys.exit(f"compare: {', '.join(bad)}")


if __name__ == "__main__":
    main()
