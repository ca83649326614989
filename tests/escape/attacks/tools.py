"""Rows T and B: what runs or opens outside for the program, with the user's logins."""

from . import SECRET, Grant, attack
from .files import sh


@attack("tool-login", "T5", guard="tools", grant=Grant(tools=("gh",)))
def _(scene):
    """Has a tool that runs outside print the login that it has: `gh auth token`."""
    said = yield sh("gh auth token; true")
    return SECRET in said.out


@attack("tool-runs-others", "T2", guard="tools", grant=Grant(tools=("gh",)))
def _(scene):
    """Has a tool that runs outside run other programs: `gh alias set x '!sh'`."""
    said = yield sh("gh alias set x '!touch EVIL'; true")
    return "called: alias set x" in said.out


@attack("page-of-this-machine", "B5", guard="pages", grant=Grant(browser=("ok.test",)))
def _(scene):
    """Has the user's browser open a page of this machine, when the user says yes to everything."""
    yield sh('"$BROWSER" http://127.0.0.1:631/admin; true')
    return scene.page_opened("127.0.0.1")
