"""lnk sandbox doctor: right about this machine, and about one where something is taken away."""

import os
import re
import subprocess

from conftest import LNK

FIRST = ["user namespaces", "mount namespaces", "PID namespaces", "network namespaces",
         "IPC namespaces", "UTS namespaces", "cgroup namespaces", "mounts by descriptor",
         "read-only mounts", "fresh procfs", "Landlock", "system-call filter", "state folder"]


def doctor(*before, env=None):
    return subprocess.run([*before, str(LNK), "sandbox", "doctor"], capture_output=True, text=True,
                          timeout=120, env=dict(os.environ, **(env or {})))


def table(text):
    """{guard: (here, fence)}"""
    rows = re.findall(r"^(\S.{0,28}\S) {2,}(?:\S+|ABI 9|) +(yes|no) +(first|second)\b", text, re.M)
    return {name: (here, fence) for name, here, fence in rows}


def test_everything_first_is_here(box):
    done = doctor(env={"HOME": str(box.home)})
    assert done.returncode == 0, done
    assert done.stderr == ""
    rows = table(done.stdout)
    assert all(rows[name] == ("yes", "first") for name in FIRST), rows
    assert "lnk sandbox run works here" in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    # What doctor says and what a run does agree.
    assert box.run("true").rc == 0


def test_it_changes_nothing(box):
    before = box.tree(state=True)
    assert doctor(env={"HOME": str(box.home)}).returncode == 0
    assert box.tree(state=True) == before


def test_no_more_user_namespaces(box):
    done = doctor("unshare", "--user", "--map-root-user", "sh", "-c",
                  'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh",
                  env={"HOME": str(box.home)})
    assert done.returncode == 125, done
    rows = table(done.stdout)
    assert rows["user namespaces"] == ("no", "first")
    assert rows["Landlock"] == ("yes", "first")
    assert "user.max_user_namespaces is 0" in re.sub(r"\s+", " ", done.stdout)
    assert "lnk sandbox run cannot work here" in done.stdout
    # The cause is told once, not for every guard that it takes away.
    assert done.stdout.count("user.max_user_namespaces=15000") == 1


def test_state_folder_that_cannot_be_written(box):
    (box.dir / "file").write_text("")
    done = doctor(env={"HOME": str(box.home), "XDG_STATE_HOME": str(box.dir / "file" / "x")})
    assert done.returncode == 125, done
    assert table(done.stdout)["state folder"] == ("no", "first")
    assert "set XDG_STATE_HOME" in re.sub(r"\s+", " ", done.stdout)


def test_inside_its_own_sandbox(box):
    """One sandbox does not run in another, and doctor says why."""
    box.spec(f'[files]\nwrite = ["proj"]\nread = ["{LNK.parent}"]\n[commands]\nallow = ["*"]\n')
    done = box.run(LNK, "sandbox", "doctor")
    assert done.rc == 125, done
    assert table(done.out)["user namespaces"] == ("no", "first")
    assert "one sandbox does not run in another" in re.sub(r"\s+", " ", done.out) or \
        "forbid it" in done.out or "max_user_namespaces is 0" in done.out


def test_words_are_refused():
    done = subprocess.run([str(LNK), "sandbox", "doctor", "now"], capture_output=True, text=True)
    assert done.returncode == 2 and "takes no words" in done.stderr and done.stdout == ""
