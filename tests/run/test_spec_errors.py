"""A spec that is wrong stops lnk before the program, and says where."""

import re

import pytest


@pytest.mark.parametrize("spec, where, words", [
    ('[files]\nwrite = ["proj"]\nhidden = [".env"]\n[commands]\nallow = ["*"]\n', 3,
     ("hidden", "hide")),
    ('[commands]\nallow = ["*"]\n[file]\nwrite = ["proj"]\n', 3, ("file", "files")),
    ('[commands]\nallow = ["*"]\n[files]\nwrite = "proj"\n', 4, ("write", r'\["')),
    ('[commands]\nallow = ["*"]\n[files]\n', 3, ("files", "write")),
    ('[files]\nwrite = ["proj"]\n[commands]\nallow = ["*", "sh"]\n', 4, (r"\*",)),
    ('[files]\nwrite = ["proj"]\n[commands]\nallow = [\n', 5, ()),
])
def test_mistakes(box, spec, where, words):
    box.write(".env", "TOPSECRET\n")
    box.spec(spec)
    result = box.sh("cat .env; touch ran")
    assert result.rc in (2, 125), result
    assert result.out == "" and not (box.proj / "ran").exists()
    assert f"app.toml:{where}:" in result.err or f"app.toml:{where - 1}:" in result.err, result
    for word in words:
        assert re.search(word, result.err), (word, result)


def test_every_mistake_at_once(box):
    box.spec('[files]\nwrit = ["proj"]\nhidden = ["x"]\n[internets]\nhosts = 1\n')
    result = box.run("true")
    assert result.rc in (2, 125)
    for line in (2, 3, 4):
        assert f"app.toml:{line}:" in result.err, result


def test_a_tool_that_was_never_added(box):
    """Refused rather than run without, with the line and the command to run."""
    box.spec('[files]\nwrite = ["proj"]\n[commands]\nallow = ["*"]\n[tools]\nnames = ["gh"]\n')
    result = box.sh("touch ran")
    assert result.rc == 125 and "app.toml:6:10:" in result.err, result
    assert 'no tool "gh"' in result.err and "lnk sandbox tool add gh" in result.err, result
    assert not (box.proj / "ran").exists()


def test_no_commands_section_runs_nothing(box):
    box.spec('[files]\nwrite = ["proj"]\n')
    result = box.run("true")
    assert result.rc == 126, result
    assert result.said("commands"), result


def test_no_spec_runs_any_program(box):
    result = box.run("sh", "-c", "echo ran; ls", spec=False, flags=["--write", box.proj])
    assert result.out == "ran\n", result


def test_dry_run_prints_the_plan_and_starts_nothing(box):
    result = box.run("sh", "-c", "touch ran", flags=["--dry-run"])
    assert result.rc == 0, result
    assert str(box.proj) in result.out and "app.toml:2" in result.out
    assert box.tree() == []
