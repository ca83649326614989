"""What works with git as a tool, and with tools that start it, by the vetted copy of a repository's
settings: over https, in a subfolder, in a worktree, in a submodule. What must not is
tests/escape/test_tool_repositories.py's."""

import pytest

from gitservice import LOGIN, lab_git
from toolbox import service, tools


@pytest.fixture
def git(lab_git):
    """git itself, with the login in ~/.netrc."""
    lab = lab_git
    user, secret = LOGIN.split(":")
    (lab.box.home / ".netrc").write_text(f"machine localhost login {user} password {secret}\n")
    (lab.box.home / ".netrc").chmod(0o600)
    lab.tools.add("git", "--allow", "push *")
    lab.open()
    return lab


def commit_at_the_service(lab, name):
    """Somebody else's commit."""
    other = lab.box.dir / "another"
    lab.box.git("clone", "-q", "-b", "main", str(lab.server.root / "r.git"), str(other))
    (other / name).write_text("theirs\n")
    lab.box.git("add", name, cwd=other)
    lab.box.git("commit", "-qm", name, cwd=other)
    lab.box.git("push", "-q", cwd=other)


def test_git_fetches_pulls_and_pushes_over_https(git):
    commit_at_the_service(git, "theirs")
    git.box.git("config", "branch.main.remote", "origin")
    git.box.git("config", "branch.main.merge", "refs/heads/main")
    seen = git.tools.sh("git ls-remote -q origin main && git fetch -q && git status -sb && git pull -q &&"
                        "ls theirs && echo ours > ours && git add ours && git commit -qm ours &&"
                        f"git push -q && git ls-remote {git.url} main && git rev-parse HEAD")
    assert seen.rc == 0 and "## main...origin/main [behind 1]" in seen.out, seen
    assert seen.lines[-2].split()[0] == seen.lines[-1], seen
    assert git.box.git("log", "--format=%s", "-2") == "ours\ntheirs\n"


def test_no_repository_is_none(git):
    """Neither one that is closed above, nor one that is made meanwhile; what needs none works."""
    seen = git.tools.sh(f"mkdir -p /tmp/x; cd /tmp/x; git ls-remote {git.url} main; git status; echo $?")
    assert "refs/heads/main" in seen.lines[0] and seen.lines[-1] == "128", seen
    assert "not a git repository" in seen.err
    (git.box.proj / "deep").mkdir()
    git.tools.spec(write=["proj/deep"])
    seen = git.tools.run("git", "status", cwd=git.box.proj / "deep")
    assert seen.rc == 128 and "not a git repository" in seen.err, seen


def test_subfolders(git):
    git.box.write("a/b/c", "1\n")
    seen = git.tools.sh("cd a/b && git add c && git status --short && git rev-parse --show-prefix &&"
                        "cd ../.. && git -C a -C b ls-files && git -C a status --short .")
    assert seen.lines == ["A  c", "a/b/", "c", "A  b/c"], seen


def test_a_repository_in_a_subfolder_is_the_one_that_is_meant(git):
    """By the folder, and by -C; and a submodule's, which lies elsewhere."""
    for name in ("inner", "module"):
        git.box.git("init", "-q", "-b", name, f"other-{name}")
        git.box.git("commit", "-q", "--allow-empty", "-m", name, cwd=git.box.proj / f"other-{name}")
    moved = git.box.proj / "other-module"
    (git.box.proj / ".git/modules").mkdir()
    (moved / ".git").rename(git.box.proj / ".git/modules/m")
    (moved / ".git").write_text("gitdir: ../.git/modules/m\n")
    git.box.git("--git-dir", str(git.box.proj / ".git/modules/m"), "config", "core.worktree",
                "../../../other-module")
    seen = git.tools.sh("for f in other-inner other-module; do git -C $f log --format=%s;"
                        "(cd $f && git status -sb && git commit -q --allow-empty -m more); done;"
                        "git log --format=%s")
    assert seen.rc == 0 and seen.lines == ["inner", "## inner", "module", "## module", "one"], seen


def test_worktrees(git):
    """Of each its own HEAD and index, and the common folder's branches."""
    git.box.git("worktree", "add", "-q", "-b", "side", "other-tree")
    seen = git.tools.sh("cd other-tree && git status -sb && echo 2 > f && git commit -qam two &&"
                        "git log --format=%s && git fetch -q origin && cd .. && git log --format=%s side --;"
                        "git branch -d side; git worktree list")
    assert seen.lines[:-2] == ["## side", "two", "one", "two", "one"], seen
    assert seen.lines[-2].startswith("/run/lnk/repo ") and seen.lines[-1].endswith("[side]"), seen
    assert "side' checked out at" in seen.err
    assert git.box.git("status", "-sb", cwd=git.box.proj / "other-tree") == "## side\n"


def test_the_main_work_trees_branch_is_kept(git):
    git.box.git("worktree", "add", "-q", "-b", "side", "other-tree")
    seen = git.tools.sh("cd other-tree && git branch -D main; git checkout main")
    assert seen.rc != 0 and "main" in git.box.git("branch", "--list", "main"), seen


def test_packed_references_and_shallow_repositories(git):
    git.box.write("f", "2\n")
    git.box.git("commit", "-qam", "two")
    git.box.git("push", "-q", str(git.server.root / "r.git"), "main")
    git.box.git("clone", "-q", "--depth", "1", "-b", "main", f"file://{git.server.root}/r.git", "other-shallow")
    git.box.git("remote", "set-url", "origin", git.url, cwd=git.box.proj / "other-shallow")
    git.tools.add("git", "--allow", "push *", "--allow", "pack-refs *")
    git.open()
    seen = git.tools.sh("git pack-refs --all && git tag later && git pack-refs --all && git tag -d later &&"
                        "git log --format=%s && cd other-shallow && git log --format=%s &&"
                        "git fetch -q --deepen 1 origin && git log --format=%s && git fetch -q --unshallow")
    assert seen.rc == 0 and [s for s in seen.lines if len(s) == 3] == ["two", "one", "two", "two", "one"], seen
    for folder in (".", "other-shallow"):
        git.box.git("fsck", cwd=git.box.proj / folder)
    assert "unable to unlink '/run/lnk/repo/shallow'" in seen.err, seen


def test_settings_are_not_written(git):
    """It says so, and the rest is done."""
    before = (git.box.proj / ".git/config").read_text()
    seen = git.tools.sh("git push -q -u origin main:new; git branch -u origin/new; echo $?; git branch -m x; echo $?")
    assert seen.err.count("could not lock config file /run/lnk/repo/config") >= 2, seen
    assert seen.lines[-2:] != ["0", "0"] and seen.lines[-1] == "126", seen
    assert (git.box.proj / ".git/config").read_text() == before
    assert "new" in git.box.git("ls-remote", str(git.server.root / "r.git"))
    assert git.box.git("symbolic-ref", "HEAD") == "refs/heads/main\n"


def test_settings_for_each_worktree(git):
    git.box.write("a/x", "1\n")
    git.box.write("b/x", "1\n")
    git.box.git("add", "a", "b")
    git.box.git("commit", "-qm", "two")
    git.box.git("sparse-checkout", "set", "a")
    seen = git.tools.sh("git status --short; git checkout -q HEAD~1 && git checkout -q - && ls -d a b; git status --short")
    assert seen.lines == ["a"], seen


def test_settings_of_the_users_own_work(git):
    with open(git.box.home / ".gitconfig", "a") as f:
        f.write(f'[url "{git.url}"]\n\tinsteadOf = there:\n[alias]\n\tx = log\n')
    seen = git.tools.run("git", "ls-remote", "there:", "main")
    assert seen.rc == 0 and "refs/heads/main" in seen.out, seen


def test_gh_finds_the_repository_by_its_remotes(tools, service):
    """The real gh, which asks git: by the vetted copy."""
    settings = tools.box.home / ".config/gh"
    settings.mkdir(parents=True)
    (settings / "hosts.yml").write_text("github.com:\n    user: me\n    oauth_token: gho_X\n    git_protocol: https\n")
    (settings / "config.yml").write_text(f"git_protocol: https\nhttp_unix_socket: {service.path}\n")
    service.reply = lambda _: {"data": {"repository": {"issues": {"totalCount": 0, "nodes": []},
                                                       "hasIssuesEnabled": True}}}
    tools.add("gh", "--read", service.path)
    tools.box.git("init", "-q", ".")
    tools.box.git("remote", "add", "origin", "https://github.com/who/what.git")
    for hosts in ((), ("https://elsewhere.invalid/a/b.git",)):
        for url in hosts:
            tools.box.git("remote", "set-url", "origin", url)
        service.calls.clear()
        tools.run("gh", "issue", "list")
        asked = [body for _, _, _, body in service.calls]
        assert any("who" in body and "what" in body for body in asked) is not bool(hosts), asked
        assert all("elsewhere" not in body for body in asked)


__all__ = ["git", "lab_git", "service", "tools"]
