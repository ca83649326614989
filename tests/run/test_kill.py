"""kill -9 of each of our processes, after each system call of the set-up and at any time later:
two seconds on, no process, mount, placeholder or temporary file is left."""

import os
import random
import signal
import subprocess
import time

import pytest

from conftest import HELPERS, descendants, mounts, reap_orphans, wait_until

SPEC = """\
[files]
write = ["proj"]
read = ["~/lib"]
hide = ["proj/secret", "proj/deep/missing", "proj/.npmrc"]
[commands]
allow = ["sh", "sleep", "true"]
"""
GRACE = 2.0


def prepare(box):
    box.write("secret", "TOPSECRET\n")
    (box.home / "lib").mkdir()
    box.spec(SPEC)
    # The first run makes the state folder; from then on nothing new may appear anywhere.
    first = box.run("true")
    assert first.rc == 0, first


def outside_view(box):
    """What may not change: the box, scratch folders (our own names with lnk in them) and the mounts."""
    scratch = []
    for entry in (e for f in ("/tmp", "/var/tmp", "/dev/shm") for e in os.scandir(f)):
        try:
            if "lnk" in entry.name and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                scratch.append(entry.path)
        except FileNotFoundError:
            pass
    return box.tree(state=True), sorted(scratch), mounts()


def assert_nothing_left(box, before, view, what):
    def clean():
        reap_orphans()
        return not set(descendants()) - before and outside_view(box) == view
    if not wait_until(clean, GRACE):
        names = {p: n for p, n in descendants().items() if p not in before}
        now = outside_view(box)
        new = [set(map(str, a)) ^ set(map(str, b)) for a, b in zip(now[:2], view[:2])]
        raise AssertionError(f"after {what}: processes {names}, names {new}, "
                             f"mounts changed: {now[2] != view[2]}")


def set_up_calls(box):
    done = box.outside(HELPERS / "killnth", "count", "--", *box.argv("sleep", "30"))
    counts = dict(line.split() for line in done.lines)
    assert done.rc == 0 and len(counts) >= 2, done
    return {label: int(calls) for label, calls in counts.items()}


def kill_after_calls(box, chosen):
    prepare(box)
    view, before = outside_view(box), set(descendants())
    calls = set_up_calls(box)
    # The harness ended the count by killing all: another run cleans up.
    assert wait_until(lambda: (reap_orphans(), not set(descendants()) - before)[1], GRACE)
    again = box.run("true")
    assert again.rc == 0, again
    assert_nothing_left(box, before, view, "the count")
    reached = 0
    for label, count in calls.items():
        for n in chosen(count):
            done = box.outside(HELPERS / "killnth", "kill", label, n, "--",
                               *box.argv("sleep", "30"))
            if done.rc == 2:
                # One call fewer than when they were counted: the harness ended the run itself.
                box.run("true")
                continue
            reached += 1
            assert done.rc == 0, (label, n, done)
            assert_nothing_left(box, before, view, f"call {n} of process {label}")
    total = sum(len(list(chosen(c))) for c in calls.values())
    assert reached > total * 0.8, (reached, total, calls)


def test_killed_after_some_calls_of_the_set_up(box):
    """A sample: about forty moments, other ones at each run of the tests."""
    pick = random.Random(os.urandom(8))

    def some(count):
        return sorted(pick.sample(range(1, count + 1), min(count, 14)))
    kill_after_calls(box, some)


@pytest.mark.long
def test_killed_after_every_call_of_the_set_up(box):
    kill_after_calls(box, lambda count: range(1, count + 1))


def ours(before):
    """Our own processes of the run: those that are called lnk, or something of lnk's."""
    return [p for p, name in descendants().items() if p not in before and name.startswith("lnk")]


@pytest.fixture
def rounds(long_run):
    return 50 if long_run else 12


def test_killed_at_random_moments(box, rounds):
    prepare(box)
    view, before = outside_view(box), set(descendants())
    pick = random.Random(os.urandom(8))
    victims = set()
    for i in range(rounds):
        running = box.start("sh", "-c", "sleep 40 & sleep 41", stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
        time.sleep(pick.choice((pick.uniform(0, 0.03), pick.uniform(0.03, 0.5))))
        processes = sorted(ours(before))
        # Each of them in its turn, not only the first.
        victim = processes[i % len(processes)] if processes else running.pid
        victims.add(i % len(processes) if processes else 0)
        os.kill(victim, signal.SIGKILL)
        running.wait(timeout=GRACE + 1)
        assert_nothing_left(box, before, view, f"kill {i} of process {victim} in {processes}")
    assert len(victims) > 1


def test_all_killed_at_once(box):
    """Nobody survives to clean up: the next run does."""
    prepare(box)
    view, before = outside_view(box), set(descendants())
    for _ in range(5):
        running = box.start("sleep", "40", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert wait_until(lambda: "sleep" in descendants().values(), 5)
        for pid in ours(before):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        running.wait()
        assert wait_until(lambda: (reap_orphans(), not set(descendants()) - before)[1], GRACE)
        assert box.run("true").rc == 0
        assert_nothing_left(box, before, view, "killing all")


def test_killed_while_another_run_goes_on(box):
    """The survivor's placeholders stay; the killed run's own go."""
    prepare(box)
    before = set(descendants())
    keeper = box.start("sh", "-c", "echo up; read _; echo bad > .npmrc; echo bad > .envrc; "
                       "mkdir -p deep && echo bad > deep/missing; exit 0", stdin=subprocess.PIPE)
    assert keeper.stdout.readline() == "up\n", keeper.stderr.read()
    kept = set(descendants())
    for _ in range(3):
        other = box.start("sleep", "40")
        assert wait_until(lambda: "sleep" in descendants().values(), 5)
        other.kill()
        other.communicate()
        assert wait_until(lambda: (reap_orphans({keeper.pid}), not set(descendants()) - kept)[1],
                          GRACE)
    out, err = keeper.communicate("\n", timeout=10)
    assert keeper.returncode == 0, (out, err)
    for name in (".npmrc", ".envrc", "deep/missing"):
        assert not os.path.isfile(box.proj / name), name
    assert wait_until(lambda: set(descendants()) <= before, GRACE)
