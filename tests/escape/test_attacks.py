"""The attacks of attacks/ on lnk: each is refused, succeeds outside, and succeeds when the guard
that it names is left out. compare.py tries them on other sandboxes, too."""

import pytest

import attacks
from cell import build_probes
from contestants import Lnk, Nothing
from network import nbox, net
from scene import Scene, started

EVERY = attacks.load()


@pytest.fixture
def scene(request, which):
    """In the lab, or in a box that has no network but the machine's."""
    if which.lab:
        made = Scene(request.getfixturevalue("nbox"), build_probes(), request.getfixturevalue("net"))
    else:
        made = Scene(request.getfixturevalue("box"), build_probes())
    yield made
    made.clear()


def play(which, scene, contestant):
    """Whether it succeeded, and what was said."""
    every = []

    def run(command):
        every.append(contestant.run(scene, which.grant, command))
        return every[-1]
    return attacks.run_attack(which, scene, run), every


def names(those):
    return {"argvalues": those, "ids": [a.name for a in those]}


@pytest.mark.parametrize("which", **names(EVERY))
def test_held(scene, which):
    won, said = play(which, scene, Lnk())
    assert not won, said
    assert all(started(s) for s in said), said


test_held.rows = tuple(sorted({r for a in EVERY for r in a.rows}))

CONTROLLED = [a for a in EVERY if a.control == "outside"]


@pytest.mark.parametrize("which", **names(CONTROLLED))
def test_succeeds_outside(scene, which):
    won, said = play(which, scene, Nothing())
    assert won, said


GUARDED = [a for a in EVERY if a.guard]


@pytest.mark.parametrize("which", **names(GUARDED))
def test_succeeds_without_its_guard(scene, which):
    won, said = play(which, scene, Lnk(which.guard))
    assert won, said
