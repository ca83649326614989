"""git in the sandbox: reading always works; writing its folder is the spec's to say."""

import pytest

GIT_SPEC = """\
[files]
write = [{write}]
{dots}
[commands]
allow = ["*"]
"""


def spec(*write, dots=True):
    names = ", ".join(f'"{w}"' for w in write)
    return GIT_SPEC.format(write=names, dots=f"write_dot_files = [{names}]" if dots else "")


IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b"}
PASS_IDENTITY = [word for name in IDENTITY for word in ("--env", name)]


def test_init_add_commit_with_write_dot_files(box):
    box.spec(spec("proj"))
    box.write("f", "1\n")
    result = box.sh("git init -q . && git add f && git commit -qm one && git log --format=%s",
                    env=IDENTITY, flags=PASS_IDENTITY)
    assert (result.rc, result.out) == (0, "one\n"), result
    assert box.git("log", "--format=%s") == "one\n"


def test_commit_is_refused_without_write_dot_files(box):
    box.spec(spec("proj", dots=False))
    box.git("init", "-q", ".")
    box.write("f", "1\n")
    box.git("add", "f")
    box.git("commit", "-qm", "one")
    result = box.sh("echo 2 >> f; git add f || git commit -qam two || echo refused",
                    env=IDENTITY, flags=PASS_IDENTITY)
    assert "refused" in result.lines, result
    assert box.git("log", "--format=%s") == "one\n"
    assert not (box.proj / ".git/index.lock").exists()


def test_init_is_refused_without_write_dot_files(box):
    box.spec(spec("proj", dots=False))
    result = box.sh("git init -q . && echo made")
    assert "made" not in result.out, result
    assert not (box.proj / ".git").exists()


@pytest.fixture
def worktree(box):
    """A repository `main` beside the project, with a worktree `proj/wt`."""
    main = box.dir / "main"
    box.git("init", "-q", str(main), cwd=box.dir)
    box.git("config", "user.name", "a", cwd=main)
    box.git("config", "user.email", "a@b", cwd=main)
    (main / "f").write_text("1\n")
    box.git("add", "f", cwd=main)
    box.git("commit", "-qm", "one", cwd=main)
    box.git("worktree", "add", "-q", "-b", "feat", str(box.proj / "wt"), cwd=main)
    return main


def test_commit_in_a_linked_worktree(box, worktree):
    box.spec(spec("proj/wt"))
    tree = box.proj / "wt"
    result = box.sh("echo 2 >> f && git add f && git commit -qm two", cwd=tree)
    assert result.rc == 0, result
    assert box.git("show", "feat:f", cwd=worktree) == "1\n2\n"
    box.sh(f"echo x > {worktree}/.git/hooks/pre-commit; git config core.hooksPath /tmp/evil; "
           f"echo x > {worktree}/.git/config; rm -rf {worktree}/.git/hooks", cwd=tree)
    assert not (worktree / ".git/hooks/pre-commit").exists()
    assert (worktree / ".git/hooks").is_dir()
    assert "evil" not in (worktree / ".git/config").read_text()
    assert box.git("status", "--porcelain", cwd=worktree) == ""
    # No lock of the shared configuration is left behind.
    box.git("config", "lab.after", "1", cwd=worktree)


def test_commit_in_a_worktree_with_both_folders_named(box, worktree):
    box.spec(spec("proj/wt", "main"))
    result = box.sh("echo 3 >> f && git add f && git commit -qm three", cwd=box.proj / "wt")
    assert result.rc == 0, result
    assert box.git("show", "feat:f", cwd=worktree).endswith("3\n")


def test_worktree_without_write_dot_files_is_read_only(box, worktree):
    box.spec(spec("proj/wt", dots=False))
    result = box.sh("git log --format=%s; echo 2 >> f; git commit -qam two && echo committed",
                    cwd=box.proj / "wt")
    assert "committed" not in result.out, result
    assert box.git("log", "--format=%s", "feat", cwd=worktree) == "one\n"


def test_forged_pointer_opens_nothing(box):
    """A .git file is data of the project: where it leads is believed only when the repository
    points back."""
    other = box.dir / "other"
    box.git("init", "-q", str(other), cwd=box.dir)
    keys = box.home / ".keys"
    keys.mkdir()
    (keys / "id").write_text("k\n")
    box.write(".git", f"gitdir: {box.proj}/fake\n")
    box.write("fake/commondir", f"{keys}\n")
    box.write("fake/gitdir", f"{box.proj}/.git\n")
    box.write("fake/HEAD", "ref: refs/heads/x\n")
    box.write("sub/.git", f"gitdir: {other}/.git\n")
    box.spec(spec("proj"))
    result = box.sh(f"echo x > {keys}/planted; echo x > {keys}/id; "
                    f"echo x > {other}/.git/planted; touch ran")
    assert (box.proj / "ran").exists(), result
    sub = box.spec(spec("proj/sub"), "sub.toml")
    result = box.sh(f"echo x > {other}/.git/planted; touch ran", spec=sub, cwd=box.proj / "sub")
    assert (box.proj / "sub/ran").exists(), result
    assert (keys / "id").read_text() == "k\n"
    assert not (keys / "planted").exists()
    assert not (other / ".git/planted").exists()


COMMANDS = """\
[files]
write = ["proj"]
write_dot_files = ["proj"]
read = ["src"]
[commands]
allow = ["git", "sh", "cat", "sed", "basename", "uname", "gettext", "envsubst", "cp", "chmod",
         "/usr/lib/git-core/"]
"""


def test_listed_git_runs_its_helpers_and_nothing_else_runs(box):
    src = box.dir / "src"
    box.git("init", "-q", str(src), cwd=box.dir)
    (src / "f").write_text("hi\n")
    box.git("add", "f", cwd=src)
    box.git("commit", "-qm", "one", cwd=src)
    box.spec(COMMANDS)
    clone = box.sh("git clone -q --no-local ../src c && cd c && git submodule status && "
                   "git log --oneline | cat")
    assert clone.rc == 0, clone
    assert (box.proj / "c/f").read_text() == "hi\n"
    listing = box.sh("ls")
    assert listing.rc in (126, 127), listing
    copies = box.sh("cp /bin/ls ./git; ./git; a=$?; cat /bin/ls > mine; chmod +x mine; ./mine; "
                    "exit $((a == 0 || $? == 0))")
    assert copies.rc == 0, copies
