"""The table of what users ran into (tests/cases.md) names tests that there are, and limits that are
told."""

import re

from conftest import ROOT

TABLE = ROOT / "tests/cases.md"


def rows():
    return re.findall(r"^\| (R\d+) \| (.*) \| (.*) \|$", TABLE.read_text(), re.M)


def has_test(name):
    """Whether a file has a test of that name which is not left out."""
    path, _, test = name.partition("::")
    file = ROOT / "tests" / path
    return file.exists() and re.search(rf"^def {re.escape(test)}\(", file.read_text(), re.M) is not None


def is_told(heading):
    return f"\n## {heading}\n" in (ROOT / "doc/limits.md").read_text()


def test_every_case_is_a_test_or_a_limit():
    wrong = [f"{case}: {place}" for case, _, places in rows() for place in places.split(", ")
             if not (is_told(place[7:]) if place.startswith("limit: ") else has_test(place))]
    assert wrong == []
    assert not has_test("run/test_cases.py::test_of_no_such_name") and not is_told("Of no such name")


def test_no_case_is_missing_or_twice():
    assert [case for case, _, _ in rows()] == [f"R{n}" for n in range(1, len(rows()) + 1)]
    assert len(rows()) >= 52 and len({said for _, said, _ in rows()}) == len(rows())
    # A row that is written otherwise than the others would not be looked at.
    assert len(rows()) == TABLE.read_text().count("\n| R")
