"""Every sentence of the user's reference has a test, and every test that reference.md names exists."""

import ast
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
SENTENCES = 79

ROW = re.compile(r"^\| (\d+) \| (.+) \| (.*) \|$")


def rows():
    """[(number, sentence, [tests])], in the order of the file."""
    found = []
    for line in (HERE / "reference.md").read_text().splitlines():
        if re.match(r"\|\s*\d", line):
            match = ROW.match(line)
            assert match, line
            found.append((int(match[1]), match[2], [t for t in match[3].split(", ") if t]))
    return found


def python_tests(path):
    return {node.name for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def unit_tests(path):
    """Those that main() lists; a function alone runs nothing."""
    return set(re.findall(r"\b(?:cmocka_unit_test\w*|[A-Z_]+)\((\w+)\b", path.read_text()))


def exists(name):
    if "::" not in name:
        folder, _, golden = name.partition("/")
        suffix = {"ok": ".out", "bad": ".err"}.get(folder)
        return suffix is not None and all((HERE / folder / f"{golden}{s}").is_file()
                                          for s in (".toml", suffix))
    file, test = name.split("::")
    path = TESTS / file if "/" in file else HERE / file
    if not path.is_file():
        return False
    return test in (unit_tests(path) if path.suffix == ".c" else python_tests(path))


def test_numbers_have_no_gap():
    assert [number for number, _, _ in rows()] == list(range(1, SENTENCES + 1))


@pytest.mark.parametrize("number, sentence, tests", rows())
def test_sentence(number, sentence, tests):
    assert len(sentence) > 10
    assert tests, f"sentence {number} has no test"
    gone = [name for name in tests if not exists(name)]
    assert not gone, f"sentence {number} names tests that do not exist"


def test_every_refusal_belongs_to_a_sentence():
    named = {name for _, _, tests in rows() for name in tests}
    for path in (HERE / "bad").glob("refused-*.toml"):
        assert f"bad/{path.stem}" in named or path.stem == "refused-loop", path.stem


def test_what_is_not_there_is_seen():
    assert not exists("ok/no-such-spec")
    assert not exists("bad/empty")
    assert not exists("test_cli.py::test_no_such_test")
    assert not exists("run/test_none.py::test_x")
    assert not exists("unit/test_values.c::read_bytes")
    assert exists("unit/test_values.c::names")
