"""bench/all from end to end: that it measures and writes what it says. Times are not looked at."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import LNK, ROOT

SECTIONS = ["start", "grants", "memory", "many", "tools", "work", "net"]


def bench(folder, *words, lnk=LNK):
    return subprocess.run(
        [sys.executable, ROOT / "bench/all", "--quick", "--out", folder, *words],
        env={**os.environ, "LNK": str(lnk)}, capture_output=True, text=True, timeout=400,
        stdin=subprocess.DEVNULL, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    done = bench(folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def sections(folder):
    return json.loads((folder / "results.json").read_text())


def test_every_section_is_there(results):
    found = sections(results)
    assert list(found) == SECTIONS
    page = (results / "results.md").read_text()
    for name, section in found.items():
        assert f"`bench/{name}`" in page
        assert section["tables"] and section["about"] and section["fair"] and section["raw"]
        for table in section["tables"]:
            assert all(len(row) == len(table["head"]) for row in table["rows"])
    for name in ("lnk", "bubblewrap", "firejail", "codex", "srt"):
        assert re.search(rf"^\| {name} \| \S", page, re.M)


def test_lnk_is_measured_everywhere(results):
    found = sections(results)
    for name in ("start", "memory", "many", "tools", "work"):
        mine = [row for table in found[name]["tables"] for row in table["rows"]
                if row[0].startswith("lnk")]
        assert mine, name
        assert all(re.match(r"\d", cell) for row in mine for cell in row[1:4]), mine
    for table in found["grants"]["tables"]:
        assert table["head"][1] == "lnk"
        assert all(float(row[1]) > 0 for row in table["rows"]), table
    open_calls = [row for table in found["net"]["tables"] for row in table["rows"]
                  if row[0].startswith("lnk, ")]
    assert len(open_calls) == 2 and all(float(row[3]) >= 0 for row in open_calls)


def test_what_is_not_measured_says_why(results):
    for section in sections(results).values():
        marks = {int(n) for table in section["tables"] for row in table["rows"]
                 for cell in row for n in re.findall(r"– \[(\d+)\]", cell)}
        assert marks <= set(range(1, len(section["notes"]) + 1))
        assert all(note.strip() for note in section["notes"])


def test_chart(results):
    root = xml.etree.ElementTree.parse(results / "results.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    bars = [r for r in root.iter(f"{name}rect") if r.get("class") in ("mine", "peer")]
    wanted = [bar for s in sections(results).values() for c in s["bars"] for bar in c["bars"]]
    assert len(bars) == len(wanted) > 20
    room, height = float(root.get("width")), float(root.get("height"))
    assert all(float(r.get("x")) + float(r.get("width")) < room and float(r.get("y")) < height
               for r in bars)


def test_one_section_leaves_the_others(results):
    before = sections(results)
    done = bench(results, "memory")
    assert done.returncode == 0, done.stderr[-2000:]
    after = sections(results)
    assert after["memory"]["raw"] != before["memory"]["raw"]
    assert {n: s["raw"] for n, s in after.items() if n != "memory"} == \
        {n: s["raw"] for n, s in before.items() if n != "memory"}


def test_a_section_that_fails_is_named(results, tmp_path):
    """A program that is none: what was measured before stays."""
    broken = tmp_path / "lnk"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    before = (results / "results.json").read_text()
    done = bench(results, "start", lnk=broken)
    assert done.returncode == 1
    assert "failed: start" in done.stderr
    assert (results / "results.json").read_text() == before


def test_unknown_section(tmp_path):
    done = bench(tmp_path, "starts")
    assert done.returncode == 2
    assert "no section starts" in done.stderr
