"""The catalogue, the tests and the limits say the same; no guard is without an attack."""

import importlib
import inspect
import pathlib
import re

import attacks
import page

from cell import HERE, LNK, LNK_GUARDS, cell
from conftest import ROOT

ROW = r"[KSFCUINLMHTB][0-9]+"


def catalogue():
    text = (HERE / "catalogue.md").read_text()
    return {m[1]: m[3] for m in re.finditer(rf"^\| ({ROW}) \| (.*) \| (.*) \|$", text, re.M)}


def rows_of_tests():
    found = set()
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        for _, test in inspect.getmembers(module, inspect.isfunction):
            found |= set(getattr(test, "rows", ()))
    # Those for root alone are no functions elsewhere.
    for path in HERE.glob("test_*.py"):
        for block in re.findall(r"^@root_only\n@row\((.*)\)$", path.read_text(), re.M):
            found |= set(re.findall(ROW, block))
    return found


def limits():
    text = (ROOT / "doc/limits.md").read_text()
    return {row for line in re.findall(rf"^#+ .*\(((?:{ROW}(?:, )?)+)\)$", text, re.M)
            for row in re.findall(ROW, line)}


def test_the_page_of_the_comparison_lists_what_there_is():
    """doc/escapes.md (script/escapes) has every attack, and every other row with its reason."""
    every = attacks.load()
    cases, lnk_only = page.names_on((ROOT / "doc/escapes.md").read_text())
    assert sorted(cases) == sorted(a.name for a in every), "make it anew: script/escapes"
    assert lnk_only == list(page.LNK_ONLY)
    compared = {r for a in every for r in a.rows}
    assert compared | set(lnk_only) == set(catalogue()) and not compared & set(lnk_only)
    assert len(cases) >= 40 and {r[0] for r in compared} == set(page.SECTIONS)


def test_every_row_is_tested_or_a_limit():
    rows = catalogue()
    assert len(rows) >= 75
    assert rows_of_tests() <= set(rows) and limits() <= set(rows)
    assert set(rows) - rows_of_tests() - limits() == set()


def test_rows_that_are_limits_are_told():
    told = limits()
    assert {row for row, stop in catalogue().items() if "limit" in stop.split() or
            stop.endswith("a limit")} <= told | {"K1", "K2", "C6"}


def guards_of_source():
    source = "".join(p.read_text() for p in (ROOT / "src").rglob("*.c"))
    guards = set(re.findall(r'guard_on\("(\w+)"', source))
    for pair in re.findall(r'guard_on\([^")]*"(\w+)" : "(\w+)"', source):
        guards |= set(pair)
    return guards


def test_every_guard_is_left_out_by_a_test():
    """And so has an attack that succeeds without it."""
    guards = guards_of_source()
    tests = "".join(p.read_text() for p in HERE.glob("test_*.py"))
    named = set(re.findall(r"\w+", " ".join(re.findall(r'without="([\w,]+)"', tests))))
    named |= {guard for a in attacks.load() for guard in a.guard.split(",")}
    named |= set(re.findall(r'^        "(\w+)": \{"', tests, re.M))
    assert len(guards) >= 9 and guards <= named, guards - named


def test_release_builds_leave_no_guard_out(cell):
    """The variable that the other tests use means nothing to the program as it is installed."""
    cell.box.write("conf/key", "SECRET\n")
    cell.spec(write=["proj"], hide=["proj/conf/key"])
    every = ",".join(sorted(guards_of_source()))
    seen = cell.box.sh("cat conf/key", env={"LNK_TEST_WITHOUT": every})
    assert seen.out == "" and "Permission denied" in seen.err, seen
    gate = pathlib.Path("gate/lnk-gate")
    for name in (pathlib.Path("lnk"), gate):
        assert b"LNK_TEST_WITHOUT" not in (LNK.parent / name).read_bytes(), name
        assert b"LNK_TEST_WITHOUT" in (LNK_GUARDS.parent / name).read_bytes(), name
