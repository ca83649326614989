"""Package installs, git and curl in a loop, the gate killed now and then: nothing piles up.

For an hour: pytest ... --long --soak 3600 tests/gate/test_soak.py"""

import collections
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from conftest import box_base, descendants
from lab import gate_of, nbox, net, wait_until, zone
from test_clients import repository
from test_gate_process import status, tell
from test_services import TRUST, registries

NPM = ("npm ci --registry https://pkg.test/ --no-audit --no-fund --no-update-notifier --fetch-retries 0 "
       "--cache \"$PWD/.cache\" >/dev/null 2>&1")
WARM_ROUNDS = 3  # until the allocator has what it keeps


def rounds(repo):
    """One turn of the program's; a line of shell."""
    return (f"{NPM} && test -e node_modules/ajv/package.json && rm -rf c && "
            f"git clone -q https://git.test/git/{repo} c && "
            "curl -sSf -o /dev/null http://ok.test/bytes?n=300000 https://ok.test/one -o /dev/null && "
            "! curl -sS --max-time 9 https://evil.test/ 2>/dev/null; true")


def kept(gate, nbox):
    """What a gate holds: descriptors, kB of memory of its own."""
    held = collections.Counter(t.split(":")[0] for t in nbox.lab.ask("descriptors", pid=gate))
    return held, int(status(gate)["RssAnon"].split()[0])


def left_over(nbox):
    """Files of ours that a run might leave: the state folder's and those of temporary folders."""
    files = set()
    for folder in (nbox.home / ".local/state", pathlib.Path("/tmp"), pathlib.Path("/run"), pathlib.Path("/dev/shm")):
        for path in folder.glob("**/*lnk*") if folder.exists() else ():
            files.add(str(path))
    return {f for f in files if box_base() not in f}


@pytest.fixture
def soaking(nbox, registries, repository):
    nbox.network(internet=["pkg.test", "git.test", "ok.test"], ports=[zone.LOCAL_WEB])
    nbox.write("package.json", '{"name":"app","version":"1.0.0","dependencies":{"ajv":"*"}}')
    done = nbox.outside("npm", "install", "--package-lock-only", "--registry", "https://pkg.test/", "--no-audit",
                        "--no-fund", "--no-update-notifier",
                        env={**nbox.environment(), **TRUST}, cwd=nbox.proj)
    assert done.rc == 0, done
    return repository.name


def start(nbox):
    process = nbox.start("sh", "-c", "while read line; do eval \"$line\"; echo end $?; done",
                         stdin=subprocess.PIPE, env=TRUST)
    return process, wait_until(lambda: gate_of(process.pid))


@pytest.mark.long
def test_nothing_piles_up(nbox, net, soaking, request):
    seconds = request.config.getoption("--soak")
    random.seed(1)
    before = left_over(nbox)
    steady, gate = start(nbox)
    for _ in range(WARM_ROUNDS):
        assert tell(steady, rounds(soaking))[-1] == "end 0\n"
    fds, memory = kept(gate, nbox)
    until, turns, kills = time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        assert tell(steady, rounds(soaking))[-1] == "end 0\n"
        turns += 1
        if turns % 3:
            continue
        # Another run, whose gate is killed at a moment of its own.
        process, victim = start(nbox)
        assert tell(process, "true")[-1] == "end 0\n"
        process.stdin.write(rounds(soaking) + "\n")
        process.stdin.flush()
        time.sleep(random.uniform(0.0, 4.0))
        os.kill(victim, signal.SIGKILL)
        kills += 1
        out, err = process.communicate("exit 7\n", timeout=60)
        assert process.returncode == 7 and "lnk:" in err and "gate" in err, (process.returncode, err)
        assert wait_until(lambda: victim not in descendants(), 2.0)
    # A server that does not close after its client has is given up after a minute.
    wait_until(lambda: sum((kept(gate, nbox)[0] - fds).values()) <= 2, 90)
    fds_now, memory_now = kept(gate, nbox)
    out, err = steady.communicate("exit 0\n", timeout=60)
    print(f"{turns} turns, {kills} gates killed; descriptors {fds} -> {fds_now}, memory {memory} -> {memory_now} kB")
    assert steady.returncode == 0, err
    assert sum((fds_now - fds).values()) <= 2 and memory_now - memory < 512
    assert left_over(nbox) <= before
