"""Names that change while a run starts or goes on: links swapped, editors, git clean, many runs.

The window in which a rename outside is seen inside is part of the threat model; it is measured."""

import os
import subprocess
import time

import pytest

from cell import cell, row
from conftest import wait_until

WINDOW_MS = 250  # on an idle machine it is a few; this is for a busy one


@pytest.fixture
def swapping(cell):
    """Starts the probe outside that exchanges two names for ever."""
    running = []

    def start(a, b):
        running.append(subprocess.Popen([cell.probe(), "exchange", a, b]))
    yield start
    for process in running:
        process.kill()
        process.wait()


def starts(cell, script, times=40, **kwargs):
    """That many runs, one after the other: how they ended, and all they printed."""
    seen = [cell.box.sh(script, **kwargs) for _ in range(times)]
    assert {s.rc for s in seen} <= {0, 1, 125}, seen[0]
    return [s.rc for s in seen], "".join(s.out for s in seen)


@row("F4")
@pytest.mark.parametrize("key", ["write", "write_dot_files"])
def test_folder_of_the_spec_swapped_for_a_link(cell, swapping, key):
    """To a place that a spec may not write."""
    victim = cell.box.home / ".victim"
    victim.mkdir()
    (victim / "secret").write_text("SECRET\n")
    (cell.box.proj / "data").mkdir()
    (cell.box.proj / "link").symlink_to(victim)
    lists = {"write": ["proj/data"]}
    if key == "write_dot_files":
        lists[key] = ["proj/data"]
    cell.spec(**lists)
    swapping(cell.box.proj / "data", cell.box.proj / "link")
    codes, out = starts(cell, f"cat {victim}/secret {cell.box.proj}/data/secret; "
                              f"echo x > {victim}/new; echo x > {cell.box.proj}/data/new; true")
    assert "SECRET" not in out and sorted(os.listdir(victim)) == ["secret"]
    assert 0 in codes and 125 in codes, "the swap was not seen at all: the test races nothing"


@row("F4")
def test_folder_above_the_spec_s_swapped_for_a_link(cell, swapping):
    victim = cell.box.home / ".victim"
    (victim / "data").mkdir(parents=True)
    (victim / "data/secret").write_text("SECRET\n")
    (cell.box.proj / "a/data").mkdir(parents=True)
    (cell.box.proj / "link").symlink_to(victim)
    cell.spec(write=["proj/a/data"])
    swapping(cell.box.proj / "a", cell.box.proj / "link")
    codes, out = starts(cell, f"cat {victim}/data/secret {cell.box.proj}/a/data/secret; "
                              f"echo x > {victim}/data/new; true")
    assert "SECRET" not in out and os.listdir(victim / "data") == ["secret"]
    assert 0 in codes, codes


@row("F4", "F7")
def test_hidden_name_swapped_for_a_link(cell):
    """While the run starts; when it stands still again the name is closed, whatever it is, or
    nothing started. Where the link leads stays as it was."""
    other = cell.box.home / "docs"
    other.mkdir()
    (other / "d").write_text("mine\n")
    cell.box.write("s/key", "SECRET\n")
    (cell.box.proj / "link").symlink_to(other)
    cell.spec(write=["proj"], hide=["proj/s"])
    codes = []
    for _ in range(8):
        swap = subprocess.Popen([cell.probe(), "exchange", cell.box.proj / "s",
                                 cell.box.proj / "link"])
        run = cell.box.start("sh", "-c", "echo up; read go; cat s/key; echo x > s/new; ls s; true",
                             stdin=subprocess.PIPE)
        run.stdout.readline()
        swap.kill()
        swap.wait()
        time.sleep(WINDOW_MS / 1000)
        out, err = run.communicate("go\n", timeout=30)
        codes.append(run.returncode)
        assert "SECRET" not in out and run.returncode in (0, 1, 125), (out, err)
        assert os.listdir(other) == ["d"] and (other / "d").read_text() == "mine\n"
    assert 0 in codes or 125 in codes


@row("F4")
def test_pointer_file_swapped_for_one_that_leads_elsewhere(cell, swapping):
    """With write_dot_files: `.git` of a worktree, and one that leads to another repository."""
    cell.box.git("init", "-q", ".")
    cell.box.write("a", "a")
    cell.box.git("add", "a")
    cell.box.git("commit", "-qm", "one")
    tree, victim = cell.box.dir / "tree", cell.box.home / "victim"
    cell.box.git("worktree", "add", "-q", str(tree), "-b", "side")
    cell.box.git("init", "-q", str(victim))
    (tree / "evil").write_text(f"gitdir: {victim}/.git\n")
    cell.spec(write=["tree"], write_dot_files=["tree"])
    swapping(tree / ".git", tree / "evil")
    codes, _ = starts(cell, f"for r in {victim}/.git {cell.box.proj}/.git; do for f in hooks/x "
                            "config.x objects/x; do echo x > $r/$f; done; done; true", times=25, cwd=tree)
    assert 0 in codes
    assert not list(victim.rglob("x")) and not (cell.box.proj / ".git/hooks/x").exists()
    assert (cell.box.proj / ".git/objects/x").exists(), "the worktree never opened: nothing raced"


# --- an editor outside ----------------------------------------------------------------------


def watched(cell, change, text, milliseconds, name=".env", **kwargs):
    """Reads a hidden file in a loop inside while `change` is called outside, ten times. Gives how
    often it showed the text, in how many stretches, and the longest in milliseconds."""
    run = cell.box.start(cell.probe(), "watch", str(milliseconds), name, text, **kwargs)
    end = time.monotonic() + milliseconds / 1000 - 0.1
    time.sleep(0.2)
    for i in range(10):
        if time.monotonic() < end:
            change(i)
        time.sleep(0.05)
    out, err = run.communicate(timeout=30)
    assert run.returncode in (0, 1), (out, err)
    times, stretches, longest = map(int, out.split()[:3])
    return times, stretches, longest / 1000


@row("U2")
def test_editor_that_saves_a_hidden_file_by_rename(cell, record_property):
    secret = cell.box.write(".env", "old\n")
    cell.spec(write=["proj"], hide=["proj/.env"])

    def save(i):
        new = cell.box.dir / "new"
        new.write_text("NEWSECRET\n")
        os.replace(new, secret)
    times, stretches, longest = watched(cell, save, "NEWSECRET", 1200)
    record_property("window_ms", longest)
    assert stretches <= 10 and longest < WINDOW_MS, (times, stretches, longest)
    # Without the warden it stays open from the first save on.
    secret.write_text("old\n")
    times, stretches, longest = watched(cell, save, "NEWSECRET", 1200, without="pins,warden")
    assert longest > WINDOW_MS, (times, stretches, longest)


@row("U2")
def test_editor_that_moves_the_old_file_away_first(cell):
    secret = cell.box.write("conf/.env", "old\n")
    cell.spec(write=["proj"], hide=["proj/conf/.env"])

    def save(i):
        os.replace(secret, str(secret) + "~")
        time.sleep(0.005)
        secret.write_text("NEWSECRET\n")
        os.unlink(str(secret) + "~")
    _, _, longest = watched(cell, save, "NEWSECRET", 1200, name="conf/.env")
    assert longest < WINDOW_MS
    assert secret.read_text() == "NEWSECRET\n"


@row("U2", "F7")
def test_hidden_file_that_comes_later(cell):
    """Absent at start, with folders on the way that are absent too."""
    secret = cell.box.proj / "new/deep/.env"
    cell.spec(write=["proj"], hide=["proj/new/deep/.env"])

    def save(i):
        if i == 0:
            # The placeholder's own folders, which belong to the user, make room.
            subprocess.run(["chmod", "-R", "u+w", secret.parent], check=False)
            subprocess.run(["rm", "-rf", secret], check=False)
            secret.parent.mkdir(parents=True, exist_ok=True)
            (cell.box.dir / "n").write_text("NEWSECRET\n")
            try:
                os.rename(cell.box.dir / "n", secret)
            except OSError:
                pass  # the warden was there before
    _, _, longest = watched(cell, save, "NEWSECRET", 1200, name="new/deep/.env")
    assert longest < WINDOW_MS


@row("F13")
def test_dot_file_saved_by_rename_is_kept_again(cell):
    """Whatever was opened in the window: what is written goes to no file that is used outside."""
    envrc = cell.box.write(".envrc", "mine\n")
    run = cell.box.start("sh", "-c", "read go; echo EVIL > .envrc; mv .envrc e; rm .envrc; "
                         "echo over", stdin=subprocess.PIPE)
    time.sleep(0.3)
    (cell.box.dir / "n").write_text("new\n")
    os.replace(cell.box.dir / "n", envrc)
    time.sleep(WINDOW_MS / 1000)
    out, err = run.communicate("go\n", timeout=30)
    assert out == "over\n" and err.count("Read-only") + err.count("busy") >= 2, (out, err)
    assert envrc.read_text() == "new\n" and not (cell.box.proj / "e").exists()


HOLD_FILE = """import os, time
end = time.monotonic() + 0.6
fd = None
while fd is None and time.monotonic() < end:
    try:
        fd = os.open(".envrc", os.O_RDWR)
        if os.pread(fd, 3, 0) != b"new":
            os.close(fd)
            fd = None
    except OSError:
        pass
time.sleep(0.3)
if fd is not None:
    os.pwrite(fd, b"EVIL", 0)
"""


@row("F13")
def test_dot_file_opened_in_the_window_is_not_written_later(cell):
    """An editor outside saves it; the program is quick, and keeps a descriptor for later."""
    envrc = cell.box.write(".envrc", "mine\n")
    for _ in range(4):
        run = cell.box.start("python3", "-c", HOLD_FILE)
        time.sleep(0.3)
        (cell.box.dir / "n").write_text("new\n")
        os.replace(cell.box.dir / "n", envrc)
        out, err = run.communicate(timeout=30)
        assert envrc.read_text() == "new\n", (out, err)
        assert run.returncode == 0 or run.returncode == 125 and "lnk" in err, (out, err)


HOLD = """import os, time
end = time.monotonic() + 0.8
fd = None
while fd is None and time.monotonic() < end:
    try:
        os.mkdir(".vscode")
        fd = os.open(".vscode", os.O_RDONLY)
    except OSError:
        pass
time.sleep(0.2)
if fd is not None:
    os.write(os.open("tasks.json", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd), b"EVIL")
"""


@row("F13")
def test_dot_folder_made_in_the_window_is_not_filled_later(cell):
    """Its placeholder was removed outside; the program makes it and keeps a descriptor."""
    for _ in range(4):
        run = cell.box.start("python3", "-c", HOLD)
        time.sleep(0.3)
        subprocess.run(["chmod", "u+w", cell.box.proj / ".vscode"], check=True)
        subprocess.run(["rm", "-rf", cell.box.proj / ".vscode"], check=True)
        out, err = run.communicate(timeout=30)
        assert not (cell.box.proj / ".vscode/tasks.json").exists(), (out, err)
        subprocess.run(["rm", "-rf", cell.box.proj / ".vscode"], check=True)


# --- git clean, many runs -------------------------------------------------------------------

MADE = (".envrc", ".vscode", ".idea")


@row("F13")
def test_git_clean_outside(cell):
    """It takes empty folders away, placeholders among them; the program must not be the one who
    makes what comes next."""
    cell.box.git("init", "-q", ".")
    for _ in range(3):
        run = cell.box.start(cell.probe(), "make", "1", *MADE)
        assert wait_until(lambda: all((cell.box.proj / n).exists() for n in MADE))
        time.sleep(0.1)
        for command in (["clean", "-fd"], ["clean", "-ffdx"]):
            cell.box.outside("git", *command)
        out, err = run.communicate(timeout=30)
        assert run.returncode in (0, 1, 125), (out, err)
        for name in MADE:
            assert not (cell.box.proj / name).exists(), (name, out, err)
    # Without pins and warden it is made at once.
    run = cell.box.run(cell.probe(), "make", "1", *MADE, without="pins,warden")
    assert run.lines[-1] == "done" and (cell.box.proj / ".envrc").exists()


@row("F2")
def test_ten_runs_at_once(cell):
    """Each tries all the time to make the names while others start, end and are killed."""
    cell.box.write(".env", "SECRET\n")
    cell.spec(write=["proj"], hide=["proj/.env", "proj/maybe/key"])
    attack = (cell.probe(), "make", "1", *MADE, "maybe/key")
    runs = []
    for i in range(10):
        runs.append(cell.box.start(*attack))
        time.sleep(0.05 * (i % 3))
        if i % 4 == 3:
            runs[i - 2].kill()
    reads = cell.box.sh("cat .env; true")
    assert "SECRET" not in reads.out
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert run.returncode in (1, -9) and "made" not in out, (out, err)
    cell.box.run("true")  # removes what killed runs left
    assert wait_until(lambda: sorted(os.listdir(cell.box.proj)) == [".env"], 3), \
        os.listdir(cell.box.proj)
    assert (cell.box.proj / ".env").read_text() == "SECRET\n"


@row("F2")
def test_a_flood_of_events_does_not_blind_the_warden(cell):
    """The program may make as many changes beside the name as it likes."""
    secret = cell.box.write(".env", "old\n")
    cell.spec(write=["proj"], hide=["proj/.env"])
    flood = """import os
pids = []
for i in range(3):
    if os.fork() == 0:
        open(f"f{i}", "w")
        while True:
            os.rename(f"f{i}", f"g{i}")
            os.rename(f"g{i}", f"f{i}")
"""
    run = cell.box.start("python3", "-c", flood + "import time; time.sleep(2.5)")
    try:
        def save(i):
            (cell.box.dir / "new").write_text("NEWSECRET\n")
            os.replace(cell.box.dir / "new", secret)
        _, _, longest = watched(cell, save, "NEWSECRET", 1500)
        assert longest < 2 * WINDOW_MS
    finally:
        run.kill()
        run.communicate()
