"""Rows F: what is closed stays closed and what is read only stays as it is, under every name."""

import os
import shutil
import stat
import subprocess

import pytest

from cell import IS_ROOT, cell, row
from conftest import box_base

CWD = -100 % 2**64
DOT_NAMES = (".git", ".envrc", ".vscode", ".idea")


def names_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.fixture
def repo(cell):
    """A project that is a repository with one commit."""
    cell.box.write("a.txt", "a\n")
    cell.box.git("init", "-q", ".")
    cell.box.git("add", "a.txt")
    cell.box.git("commit", "-qm", "one")
    return cell


# --- dot names ------------------------------------------------------------------------------

F1 = """mv .git g; mv -T .git .git2; rmdir .git; rm -rf .git; ln -sfn /tmp .git; cp -r .git gg
mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo x > .git/config
echo '[core]' >> .git/config; git config core.fsmonitor x; echo x > .git/info/attributes
echo x > .git/config.worktree; echo x > .git/commondir; chmod 777 .git .git/config
ln .git/config c; echo x >> c; ln -s .git/config d; echo x >> d; touch -d 2001-01-01 .git/config
git commit --allow-empty -m x; git tag x; true"""


@row("F1", "F14")
def test_repository_stays_as_it_is(repo):
    before = subprocess.run(["sh", "-c", "find .git -printf '%p %m %T@ %i '; cat .git/config"],
                            cwd=repo.box.proj, capture_output=True).stdout
    seen = repo.box.sh(F1)
    assert "busy" in seen.err and "Read-only" in seen.err, seen
    after = subprocess.run(["sh", "-c", "find .git -printf '%p %m %T@ %i '; cat .git/config"],
                           cwd=repo.box.proj, capture_output=True).stdout
    assert after == before
    assert not (repo.box.proj / "g").exists() and repo.box.git("status", "--porcelain") != ""
    repo.box.sh("mv .git g; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
                without="pins,warden")
    assert (repo.box.proj / ".git/hooks/pre-commit").exists()


@row("F2", "F13")
@pytest.mark.parametrize("name", DOT_NAMES)
def test_dot_names_that_are_absent_cannot_be_made(cell, name):
    script = f"""echo x > {name}; mkdir -p {name}/hooks; echo x > {name}/x; mv /tmp {name}
mkdir d; echo x > d/x; mv d {name}; mv -T d {name}; ln -s d {name}; ln d/x {name}; ln -sT d {name}
cp -rT d {name}; rmdir {name}; rm -rf {name}; mv {name} e; touch {name}; chmod 777 {name}
python3 -c 'import os; os.rename("d", "{name}")'
python3 -c 'import os; os.mkfifo("{name}")'; true"""
    cell.box.sh(script)
    assert set(names_below(cell.box.proj)) <= {"d", "d/x"}
    for call in (("openat", CWD, f"s:{name}", os.O_CREAT | os.O_WRONLY, 0o644),
                 ("renameat2", CWD, "s:d", CWD, f"s:{name}", 2),
                 ("linkat", CWD, "s:d/x", CWD, f"s:{name}", 0)):
        assert cell.inside("call", *call) in ("EISDIR", "EBUSY", "EEXIST", "EXDEV", "EROFS"), call
    assert cell.inside("call", "renameat2", CWD, "s:d", CWD, f"s:{name}", 0) != "done"
    assert set(names_below(cell.box.proj)) <= {"d", "d/x"}
    cell.inside("call", "openat", CWD, f"s:{name}", os.O_CREAT | os.O_WRONLY, 0o644,
                without="pins,warden")
    assert (cell.box.proj / name).exists()


@row("F14")
def test_pointer_file_is_not_replaced(repo):
    """A worktree's `.git` file, and a link with links on its way: each part stays what it is."""
    tree = repo.box.dir / "tree"
    repo.box.git("worktree", "add", "-q", str(tree), "-b", "side")
    repo.spec(write=["tree"])
    before = (tree / ".git").read_text()
    repo.box.sh("mv .git g; rm .git; echo 'gitdir: evil' > .git; mkdir evil", cwd=tree)
    assert (tree / ".git").read_text() == before and not (tree / "g").exists()
    chain = repo.box.dir / "chain"
    (chain / "b/real/hooks").mkdir(parents=True)
    (chain / "evil/hooks").mkdir(parents=True)
    (chain / "mid").symlink_to("b/real")
    (chain / ".git").symlink_to("mid")
    repo.spec(write=["chain"])
    repo.box.sh("rm mid; ln -s evil mid; ln -sfn evil mid; mv b c; mv b/real x; rm .git; "
                "echo x > .git/hooks/pre-commit; echo x > b/real/hooks/x; ln -sfn evil .git",
                cwd=chain)
    assert os.path.realpath(chain / ".git") == str(chain / "b/real")
    assert names_below(chain / "b") == ["real", "real/hooks"]


@row("F14")
def test_commit_through_a_worktree_opens_no_hooks_and_no_settings(repo):
    tree = repo.box.dir / "tree"
    repo.box.git("worktree", "add", "-q", str(tree), "-b", "side")
    repo.spec(write=["tree"], write_dot_files=["tree"])
    git = repo.box.proj / ".git"
    own = git / "worktrees/tree"
    attack = f"""git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && echo ok
for f in {git}/hooks/pre-commit {git}/config {git}/info/attributes {own}/commondir \
{own}/gitdir {own}/config.worktree {git}/commondir {git}/HEAD; do echo x > $f; rm -f $f; done
mv {git}/hooks {git}/h; mv {own}/commondir {own}/c; mv {own} {own}2; true"""
    before = {f: f.read_bytes() for f in (git / "config", own / "commondir", own / "gitdir",
                                          git / "HEAD")}
    seen = repo.box.sh(attack, cwd=tree)
    assert seen.lines == ["ok"], seen
    assert {f: f.read_bytes() for f in before} == before
    assert not (git / "hooks/pre-commit").exists() and not (own / "config.worktree").exists()


@row("F14")
def test_pointer_file_that_was_planted_opens_nothing(repo):
    """By an earlier run: it leads to a repository that does not lead back."""
    victim = repo.box.home / "victim"
    repo.box.git("init", "-q", str(victim))
    planted = repo.box.dir / "planted"
    (planted / "fake/worktrees/x").mkdir(parents=True)
    for target, extra in ((victim / ".git", {}), (planted / "fake/worktrees/x",
                                                  {"commondir": str(victim / ".git")})):
        (planted / ".git").write_text(f"gitdir: {target}\n")
        for name, text in {"gitdir": str(planted / ".git"), **extra}.items():
            (planted / "fake/worktrees/x" / name).write_text(text + "\n")
        repo.spec(write=["planted"], write_dot_files=["planted"])
        repo.box.sh(f"echo x > {victim}/.git/objects/x; echo x > {victim}/.git/refs/x; "
                    f"ls {victim}/.git && echo SEEN", cwd=planted)
        assert not list(victim.rglob("x")), target


# --- names that move ------------------------------------------------------------------------


@row("F1", "F7")
def test_folders_above_a_closed_name_do_not_move(cell):
    """Else the next run looks at the old name and finds nothing to close."""
    cell.box.write("conf/deep/.env", "SECRET\n")
    cell.box.write("vendor/lib/x", "good\n")
    cell.spec(write=["proj"], read=["proj/vendor/lib"], hide=["proj/conf/deep/.env"])
    move = ("mv conf c2; mv conf/deep conf/d2; mv vendor v2; mkdir -p conf/deep vendor/lib; "
            "echo EVIL > vendor/lib/x; mv conf vendor/; true")
    cell.box.sh(move)
    assert (cell.box.proj / "conf/deep/.env").read_text() == "SECRET\n"
    assert (cell.box.proj / "vendor/lib/x").read_text() == "good\n"
    for script in ("cat c2/deep/.env conf/d2/.env conf/deep/.env vendor/conf/deep/.env; true",
                   "find . -name .env -exec cat {} +; grep -r SECRET .; true"):
        assert "SECRET" not in cell.box.sh(script).out
    assert cell.inside("call", "renameat2", CWD, "s:conf", CWD, "s:vendor", 2) == "EBUSY"
    cell.box.sh("mv conf c2", without="pins,covers,anchors")
    assert (cell.box.proj / "c2").exists(), "nothing else keeps it: the test would not notice"


@row("F7")
@pytest.mark.parametrize("hide", ["proj/link", "proj/folder/key"])
def test_links_to_a_closed_file_do_not_move(cell, hide):
    """The spec names the secret by a link; without the link the next run does not find it."""
    cell.box.write("conf/key", "SECRET\n")
    (cell.box.proj / "link").symlink_to("conf/key")
    (cell.box.proj / "folder").symlink_to("conf")
    cell.spec(write=["proj"], hide=[hide])
    for script in ("cat link folder/key conf/key; rm link folder; mv link l2; mv folder f2; "
                   "ln -sfn /tmp link; ln -sfn /tmp folder; true",
                   "cat link folder/key conf/key l2 f2/key; true"):
        seen = cell.box.sh(script)
        assert "SECRET" not in seen.out, seen
    assert (cell.box.proj / "conf/key").read_text() == "SECRET\n"


@row("F1")
def test_granted_folder_itself_does_not_move(cell):
    """One that lies in another one, which may be written too."""
    cell.box.write("app/.envrc", "mine\n")
    cell.spec(write=["proj", "proj/app"])
    cell.box.sh("mv app b; mv -T app c; mkdir app; echo EVIL > app/.envrc; "
                "echo EVIL > ../proj/app/.envrc; rm -rf app; true")
    assert (cell.box.proj / "app/.envrc").read_text() == "mine\n"
    assert names_below(cell.box.proj) == ["app", "app/.envrc"]


@row("F7")
def test_hidden_path_in_a_home_that_is_open(cell):
    """Below `read = ["~"]`, with Link's own folders closed without a word."""
    for name in (".ssh/id", ".config/link/tools.toml", ".local/share/link/x",
                 ".local/state/link/homes/a/y", ".cache/link/z", "notes"):
        path = cell.box.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"SECRET {name}\n")
    cell.spec(write=["proj"], read=["~"], hide=["~/.ssh"])
    seen = cell.box.sh("cd; grep -r SECRET . 2>/dev/null; grep -rs SECRET /proc/self/root$HOME; "
                       "cat ~/.ssh/id /proc/self/cwd/.ssh/id; true")
    assert {line.rsplit(" ", 1)[-1] for line in seen.lines} == {"notes"}, seen


@row("F8")
def test_hidden_folder_is_not_written(cell):
    cell.box.write("s/key", "x")
    before = os.stat(cell.box.proj / "s")
    cell.spec(write=["proj"], hide=["proj/s", "proj/absent/deep"])
    seen = cell.box.sh("echo x > s/new; mkdir s/d; touch s; chmod 777 s; rmdir s; mv s t; "
                       "echo x > absent/deep/x; rmdir absent/deep; mv absent a; true")
    assert names_below(cell.box.proj) == ["s", "s/key"], seen
    after = os.stat(cell.box.proj / "s")
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    # One in the private home is the sandbox's own, and closed all the same.
    (cell.box.home / ".ssh").mkdir()
    cell.spec(write=["proj"], hide=["~/.ssh"])
    assert cell.box.sh("echo x > ~/.ssh/x && echo bad; ls ~/.ssh && echo bad").out == ""
    assert os.listdir(cell.box.home / ".ssh") == []


@row("F9")
def test_patterns_are_refused(cell):
    for pattern in ("**/.env", "proj/*.key", "proj/[ab]"):
        cell.spec(write=["proj"], hide=[pattern])
        seen = cell.box.sh("echo ran")
        assert seen.rc == 125 and "ran" not in seen.lines and seen.said("pattern|\\*|\\["), seen


@row("F10")
def test_read_only_file_keeps_its_attributes(cell):
    kept = cell.box.home / "docs/f"
    kept.parent.mkdir()
    kept.write_text("x\n")
    cell.spec(write=["proj"], read=["home/docs"])
    script = f"""import os
f = {str(kept)!r}
def tries():
    yield "chmod", lambda: os.chmod(f, 0o777)
    yield "utime", lambda: os.utime(f, (1, 1))
    yield "xattr", lambda: os.setxattr(f, "user.x", b"y")
    yield "truncate", lambda: os.truncate(f, 0)
    yield "unlink", lambda: os.unlink(f)
    yield "rename", lambda: os.rename(f, f + "2")
    yield "write", lambda: open(f, "a")
    yield "link", lambda: os.link(f, f + "3")
    yield "create", lambda: open(f + "4", "w")
    yield "folder", lambda: os.chmod(os.path.dirname(f), 0o700)
    yield "chown", lambda: os.chown(f, os.getuid(), os.getgid())
for name, way in tries():
    try:
        way()
        print(name, "done")
    except OSError as e:
        print(name, e.strerror)
"""
    before = os.stat(kept)
    seen = cell.box.run("python3", "-c", script)
    allowed = ("Read-only file system", "Permission denied", "Invalid cross-device link")
    assert len(seen.lines) == 11, seen
    assert [li for li in seen.lines if not li.endswith(allowed)] == [], seen
    assert os.stat(kept) == before
    # Landlock judges none of chmod, utime and xattr: the read-only mount does.
    seen = cell.box.run("python3", "-c", script, without="landlock")
    assert [li for li in seen.lines if not li.endswith(allowed)] == [], seen
    seen = cell.box.outside("python3", "-c", script)
    assert {"chmod done", "utime done", "xattr done", "unlink done"} <= set(seen.lines), seen


# --- out of the grant -----------------------------------------------------------------------


@row("F6")
def test_links_and_renames_across_the_edge(cell):
    secret = cell.box.home / "id"
    secret.write_text("SECRET\n")
    docs = cell.box.home / "docs"
    docs.mkdir()
    (docs / "d").write_text("doc\n")
    cell.spec(write=["proj"], read=["home/docs"])
    for src, error in ((secret, "ENOENT"), (docs / "d", "EXDEV"), ("/etc/passwd", "EXDEV")):
        assert cell.inside("call", "linkat", CWD, f"s:{src}", CWD, "s:l", 0) == error
        assert cell.inside("call", "renameat2", CWD, f"s:{src}", CWD, "s:l", 0) in (
            error, "EXDEV", "EROFS", "ENOENT")
    assert cell.outside("call", "linkat", CWD, f"s:{secret}", CWD, "s:l", 0) == "done"
    (cell.box.proj / "l").unlink()
    # A link that the program makes leads where it leads inside: nowhere.
    seen = cell.box.sh(f"ln -s {secret} s; cat s; echo x > s; ln -s {docs} t; echo x > t/n; true")
    assert "SECRET" not in seen.out and secret.read_text() == "SECRET\n"
    assert names_below(docs) == ["d"]


@row("F6")
def test_two_dots_do_not_lead_out(cell):
    """From folders that were moved, or are the roots of mounts."""
    (cell.box.dir / "secret").write_text("SECRET\n")
    cell.box.write("a/b/c/x", "")
    script = """import os
fd = os.open("a/b/c", os.O_RDONLY)
os.chdir("a/b/c")
os.rename("../../b/c", "../../../c2")
for i in range(1, 12):
    for base in {"dir_fd": fd}, {}:
        for name in "secret", "proj", "etc/shadow", "root":
            try:
                f = os.open("../" * i + name, os.O_RDONLY, **base)
                print(i, name, os.readlink(f"/proc/self/fd/{f}"))
            except OSError:
                pass
"""
    seen = cell.box.run("python3", "-c", script)
    assert seen.rc == 0 and "secret" not in seen.out and "shadow" not in seen.out, seen
    assert f" proj {cell.box.proj}" in seen.out, seen


@row("F18")
def test_own_spec_and_links_own_folders(cell):
    """A program that may write its next spec, or Link's settings, chooses what it may do."""
    refused = cell.spec(write=["."])
    seen = cell.box.sh("echo ran")
    assert seen.rc == 125 and "ran" not in seen.lines and seen.said("spec"), seen
    shutil.copy(refused, cell.box.proj / "app.toml")
    seen = cell.box.sh("echo ran", spec=cell.spec(write=["proj"]))
    assert seen.rc == 0
    seen = cell.box.sh("echo x >> ../app.toml; rm ../app.toml; cat ../app.toml")
    assert "No such file" in seen.err and cell.box.specfile.exists(), seen
    # By flags the whole home may be written; these stay closed in it, there or not.
    seen = cell.box.sh("for d in .config .local/share .local/state .cache; do mkdir -p ~/$d; "
                       "mkdir ~/$d/link; echo x > ~/$d/link/tools.toml; rm -rf ~/$d/link; "
                       "mv ~/$d/link ~/$d/l2; mv ~/$d ~/x$$; done; echo ran > ~/ran",
                       spec=False, flags=["--write", cell.box.home])
    assert (cell.box.home / "ran").read_text() == "ran\n", seen
    assert not list(cell.box.home.rglob("tools.toml")), seen


@row("F19", "F20")
def test_places_of_the_home_that_run_or_hold_secrets(cell):
    """Nothing of the real home is there; what is written goes to the private one, and is gone."""
    for name in (".netrc", ".config/google-chrome/Default/Cookies", ".mozilla/firefox/x/k.db",
                 ".aws/credentials", ".bash_history", "Documents/taxes"):
        path = cell.box.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("SECRET\n")
    before = names_below(cell.box.home)
    seen = cell.box.sh("grep -rs SECRET ~ /home /root; ls -A ~; mkdir -p ~/bin ~/.config/autostart "
                       "~/.local/share/applications; for f in ~/bin/ls ~/.bashrc ~/.profile "
                       "~/.config/autostart/x.desktop; do echo x > $f; done; cat ~/.bashrc")
    assert seen.lines == ["x"], seen
    assert [n for n in names_below(cell.box.home) if not n.startswith(".local")] == \
        [n for n in before if not n.startswith(".local")]
    for name in ("~/bin", "~/.local/share/applications", "~/.config", "~"):
        cell.spec(write=[name])
        os.makedirs(os.path.join(cell.box.home, name[2:]), exist_ok=True)
        seen = cell.box.sh("echo ran")
        assert seen.rc == 125 and "ran" not in seen.lines, (name, seen)


# --- descriptors ----------------------------------------------------------------------------


def test_folder_as_a_descriptor(cell):
    """`..` from it leads out, so it is refused: as input, with --fd, opened or only named."""
    (cell.box.dir / "secret").write_text("SECRET\n")
    for flags in (os.O_RDONLY, os.O_PATH, os.O_RDONLY | os.O_DIRECTORY):
        fd = os.open(cell.box.dir, flags)
        try:
            seen = cell.run("beneath", fd, "secret", flags=["--fd", fd], pass_fds=[fd])
            assert seen.rc == 125 and "SECRET" not in seen.out, seen
            for n in range(3):
                script = f'exec "$@" {n}<&{fd}'
                seen = cell.box.outside("bash", "-c", script, "x", *cell.box.argv(
                    cell.probe(), "beneath", n, "secret"), pass_fds=[fd])
                assert seen.rc == 125 and "SECRET" not in seen.out, seen
            assert "SECRET" in cell.box.outside(
                cell.probe(), "beneath", fd, "secret", pass_fds=[fd]).out or flags & os.O_PATH
            # Without --fd it is closed.
            assert cell.inside("beneath", fd, "secret", pass_fds=[fd]) == "EBADF"
        finally:
            os.close(fd)


SHOW_DESCRIPTORS = """import os
for fd in range(64):
    try:
        os.fstat(fd)
    except OSError:
        continue
    print(fd)
    if fd > 2:
        try:
            print(os.read(fd, 6).decode())
        except OSError as e:
            print(e)
"""


def test_descriptors_that_were_left_open(cell):
    """`exec 9</` and secrets in the caller's shell do not pass; nor does anything of ours."""
    secret = cell.box.dir / "secret"
    secret.write_text("SECRET\n")
    fds = [os.open(secret, os.O_RDONLY), os.open("/", os.O_RDONLY), os.open("/", os.O_PATH)]
    try:
        seen = cell.box.run("python3", "-c", SHOW_DESCRIPTORS, pass_fds=fds)
        assert seen.rc == 0 and seen.lines == ["0", "1", "2"], seen
        seen = cell.box.outside("python3", "-c", SHOW_DESCRIPTORS, pass_fds=fds)
        assert "SECRET" in seen.lines and str(fds[1]) in seen.lines, seen
    finally:
        for fd in fds:
            os.close(fd)


def test_names_left_behind_are_shown_harmless(cell):
    """The report at the end prints names that the program chose."""
    seen = cell.box.run("python3", "-c", "import os\nopen(os.path.expanduser("
                        "'~/\\x1b]52;c;ZXZpbA==\\x07\\x1b[31m\\u202ex'), 'w')\n")
    assert "home" in seen.err and "\x1b" not in seen.err and "\x07" not in seen.err, seen
    assert "\u202e" not in seen.err, seen


# --- one name, two files --------------------------------------------------------------------


def test_file_with_two_names(cell):
    """A hard link made outside: a documented limit. One made inside is refused."""
    key = cell.box.write("key", "SECRET\n")
    os.link(key, cell.box.proj / "alias")
    cell.spec(write=["proj"], hide=["proj/key"])
    seen = cell.box.sh("cat key; cat alias")
    assert seen.lines == ["SECRET"], seen
    os.unlink(cell.box.proj / "alias")
    seen = cell.box.sh("ln key alias; cp -l key alias; cat alias")
    assert "SECRET" not in seen.out and not (cell.box.proj / "alias").exists(), seen
