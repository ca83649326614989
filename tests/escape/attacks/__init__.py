"""The attacks, as data: what is tried, under which grant, what it takes to see that it succeeded.

One definition serves two: test_attacks.py, which tries each on lnk, outside and with its guard
left out; and compare.py, which tries them on other sandboxes as well. An attack is a generator: it
prepares its scene, yields the commands that run in the sandbox, gets what they said, and returns
whether it succeeded. It never looks at who is attacked."""

import dataclasses
import typing

SECRET = "TOPSECRET"


@dataclasses.dataclass(frozen=True)
class Grant:
    """What the spec opens. Paths are relative to the scene's folder; `proj` is always written, the
    probes' folder always read, and nothing else of the user's is open."""
    read: tuple = ()
    hide: tuple = ()
    listed: bool = False  # a list of programs: sh, the probe, and
    commands: tuple = ()
    hosts: tuple = ()
    tcp: tuple = ()
    web_only: bool = False  # it matters that hosts are open at ports 80 and 443 alone
    lan: tuple = ()
    ports: tuple = ()
    models: tuple = ()
    per_minute: int = 0
    host_network: bool = False
    tools: tuple = ()    # tools that run outside, with any argument but what their rules close
    browser: tuple = ()  # hosts of pages that the user is asked about, and says yes to

    @property
    def network(self):
        return bool(self.hosts or self.tcp or self.lan or self.ports or self.models)


@dataclasses.dataclass(frozen=True)
class Command:
    """One run in the sandbox. `around`: words -> words, what starts the sandbox itself."""
    argv: tuple
    stdin: typing.Any = None       # text, or a file that is open
    stdout: typing.Any = None      # a file that is open
    env: tuple = ()                # (name, value) pairs that the caller has
    pass_fds: tuple = ()
    terminal: bool = False         # the leader of a terminal of its own: said.typed
    around: typing.Any = None


@dataclasses.dataclass(frozen=True)
class Attack:
    name: str
    rows: tuple
    tries: str
    guard: str           # what holds it, for LNK_TEST_WITHOUT; "" when nothing can be left out
    why: str             # then: what holds it, and why that cannot be left out
    grant: Grant
    control: str         # where it must succeed: "outside", "userns" or "guard" (only without it)
    lab: bool            # needs the network of the tests' own
    play: typing.Callable

    @property
    def section(self):
        return self.rows[0][0]


ATTACKS = {}


def attack(name, *rows, guard="", why="", grant=Grant(), control="outside", lab=False):
    """Adds the generator function below it; its first line of documentation says what is tried."""
    def add(play):
        assert name not in ATTACKS and bool(guard) != bool(why), name
        tries = " ".join(play.__doc__.split())
        ATTACKS[name] = Attack(name, rows, tries, guard, why, grant, control, lab, play)
        return play
    return add


def run_attack(which, scene, run):
    """Plays it: `run(Command)` runs in the sandbox. True when the attack succeeded."""
    game = which.play(scene)
    try:
        command = next(game)
        while True:
            command = game.send(run(command))
    except StopIteration as end:
        return bool(end.value)


def asking(grant):
    """An attack of no kind that needs the grant."""
    return Attack("", ("",), "", "", "", grant, "outside", False, None)


def load():
    """All of them, in the order of the catalogue's sections."""
    from . import kernel, sockets, files, commands, network, tools  # noqa: F401
    order = "KSFCINLMTBH"
    return sorted(ATTACKS.values(), key=lambda a: (order.index(a.section), int(a.rows[0][1:])))
