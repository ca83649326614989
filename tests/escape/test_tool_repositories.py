"""Rows T5, T8: a repository that the sandbox made does not lead a tool's login elsewhere. Every attack
works on git itself, outside, on the same repository."""

import subprocess

import pytest

from cell import row
from gitservice import lab_git
from toolbox import tools


def other_repository(lab, name="other.git"):
    lab.box.git("clone", "-q", "--bare", ".", name)
    folder = lab.box.proj / name
    file = str(folder / "config")
    lab.config(("core.bare", "false"), ("remote.origin.url", lab.url),
               ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"), *lab.hostile(), file=file)
    return folder


def by_url(lab):
    lab.config((f"http.{lab.url}.proxy", f"http://127.0.0.1:{lab.proxy.port}"),
               (f"http.{lab.url}.sslCAInfo", str(lab.evil[0])))


def by_remote(lab):
    lab.config(("remote.origin.proxy", f"http://127.0.0.1:{lab.proxy.port}"),
               (f"http.{lab.url}.sslVerify", "false"))


def by_address(lab):
    lab.config(("http.curloptResolve", f"localhost:{lab.port}:127.0.0.2"),
               (f"http.{lab.url}.sslCAInfo", str(lab.evil[0])))


def by_include(lab):
    lab.config(*lab.hostile(), file="evil.conf")
    lab.config(("include.path", "../evil.conf"))


def by_worktree_settings(lab):
    lab.config(("extensions.worktreeConfig", "true"), ("core.repositoryformatversion", "1"))
    lab.config(*lab.hostile(), file=".git/config.worktree")


def by_pointer(lab):
    folder = other_repository(lab)
    (lab.box.proj / ".git").rename(lab.box.proj / "evil-moved")
    lab.box.write(".git", f"gitdir: {folder}\n")


def by_common_folder(lab):
    other_repository(lab)
    lab.box.write(".git/commondir", "../other.git\n")


SETTINGS = [lambda lab: lab.config(*lab.hostile()), by_url, by_remote, by_address, by_include,
            by_worktree_settings, by_pointer, by_common_folder]
NAMES = ["proxy", "url", "remote", "address", "include", "config.worktree", "gitdir", "commondir"]


@row("T5", "T8")
@pytest.mark.parametrize("attack", SETTINGS, ids=NAMES)
def test_settings_of_a_repository_do_not_lead_the_login_away(lab_git, attack):
    lab = lab_git
    attack(lab)
    seen = lab.tools.run("sync", "fetch", "origin")
    assert not lab.heard and seen.rc == 0, (seen, lab.proxy.heard, lab.twin.heard)
    assert lab.server.seen[-1][1], "the login is for the service"
    lab.box.outside("git", "fetch", "origin")
    assert lab.heard


# What the sandbox does once git has been told where the repository is.
SWAPS = {
    "settings": "cp evil.conf .git/config",
    "folder": "mv .git evil-moved; cp -r other .git",
    "pointer": "mv .git evil-moved; echo gitdir: $PWD/other > .git",
    "commondir": "echo ../other > .git/commondir",
    "nearer": "cp -r other deep/.git",
    "remotes": "mkdir -p .git/remotes; printf 'URL: https://me@localhost/\\n' > .git/remotes/origin",
}


@row("T5", "T8")
@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_swapped_while_it_runs_does_not_either(lab_git, swap):
    lab = lab_git
    other_repository(lab, "other")
    (lab.box.proj / "evil.conf").write_text((lab.box.proj / "other/config").read_text())
    folder = "deep" if swap == "nearer" else "."
    (lab.box.proj / folder).mkdir(exist_ok=True)
    lab.box.write(f"{folder}/wait-for-it", "")
    script = f"""
cd {folder}
(while [ ! -e started ]; do sleep 0.02; done; cd {lab.box.proj}; {SWAPS[swap]}; touch {folder}/go-on) &
SYNC fetch origin; rc=$?; wait; exit $rc"""
    seen = lab.tools.sh(script.replace("SYNC", "sync"))
    assert not lab.heard and (lab.box.proj / folder / "go-on").exists(), (seen, lab.proxy.heard)
    assert seen.rc == 0 or swap in ("folder", "pointer"), seen
    if swap == "remotes":
        return  # a file of git's oldest form; it names addresses alone
    lab.box.outside("git", "fetch", "origin", cwd=lab.box.proj / folder)
    assert lab.heard


@row("T5")
def test_a_helper_for_logins_does_not_write_them_into_the_project(lab_git):
    lab = lab_git
    stolen = lab.box.proj / "evil-store"
    lab.config(("credential.helper", f"store --file={stolen}"))
    seen = lab.tools.run("sync", "fetch", "origin")
    assert seen.rc == 0 and not stolen.exists(), seen
    lab.box.outside("git", "fetch", "origin", check=True)
    assert "TOPSECRET" in stolen.read_text()


@row("T5", "T8")
@pytest.mark.parametrize("ignore", ["default", "none"])
def test_a_submodule_fetches_nothing_by_itself(lab_git, ignore):
    """`git status` looks into it with the submodule's own settings; an object that is missing there
    would be fetched."""
    lab = lab_git
    box = lab.box
    (box.proj / "sub").mkdir()
    for words in (("init", "-q", "."), ("commit", "-q", "--allow-empty", "-m", "x")):
        box.git(*words, cwd=box.proj / "sub")
    box.write("sub/a", "1\n")
    box.git("add", "a", cwd=box.proj / "sub")
    box.git("commit", "-qm", "y", cwd=box.proj / "sub")
    tree = box.git("rev-parse", "HEAD^{tree}", cwd=box.proj / "sub").strip()
    if ignore == "none":
        box.write(".gitmodules", '[submodule "s"]\n\tpath = sub\n\turl = x\n\tignore = none\n')
        box.git("add", ".gitmodules")
    box.git("add", "-f", "sub")
    box.git("commit", "-qm", "sub")
    sub = str(box.proj / "sub/.git/config")
    lab.config(("core.repositoryformatversion", "1"), ("extensions.partialClone", "origin"),
               ("remote.origin.url", lab.url), ("remote.origin.promisor", "true"), *lab.hostile(), file=sub)
    (box.proj / "sub/.git/objects" / tree[:2] / tree[2:]).unlink()
    # One fence is git's own, the other holds without it (and with a git that does not know it).
    own = [w for f in (".gitconfig", ".git-credentials", ".config/git") for w in ("--read", box.home / f)]
    lab.tools.add_script("older", "#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec git \"$@\"\n", *own)
    lab.open()
    for tool in ("sync", "older"):
        seen = lab.tools.run(tool, "status", "--short")
        assert not lab.heard and not lab.proxy.calls, (tool, seen, lab.proxy.heard)
    box.outside("git", "status", "--short")
    assert lab.heard


@row("T8")
def test_a_repository_is_not_cloned_by_a_tool(lab_git):
    """Its settings would be read from the project, by one program of git's after the other."""
    lab = lab_git
    lab.tools.add("git")
    lab.open()
    seen = lab.tools.run("git", "clone", lab.url, "other")
    assert seen.rc == 126 and seen.said("git clone reads settings that the sandbox can write"), seen
    lab.tools.add("gh", "--program", lab.tools.script("gh", "#!/bin/sh\necho ran\n"), "--any")
    lab.open()
    for words in ("repo clone o/r", "repo fork o/r --clone", "gist clone 1"):
        seen = lab.tools.run("gh", *words.split())
        assert seen.rc == 126 and "ran" not in seen.out, seen


@row("T6")
def test_settings_that_are_hidden_are_not_read(lab_git):
    """Neither is what a `.git` file leads to outside of what is open."""
    lab = lab_git
    lab.open(hide=["proj/.git/config"])
    seen = lab.tools.run("sync", "config", "--get", "remote.origin.url")
    assert lab.url not in seen.out, seen
    lab.open()
    assert lab.tools.run("sync", "config", "--get", "remote.origin.url").out == lab.url + "\n"
    (lab.box.proj / ".git").rename(lab.box.home / "closed.git")
    lab.box.write(".git", f"gitdir: {lab.box.home}/closed.git\n")
    seen = lab.tools.run("sync", "config", "--get", "remote.origin.url")
    assert seen.rc != 0 and lab.url not in seen.out, seen
    assert lab.box.git("config", "--get", "remote.origin.url") == lab.url + "\n"


def test_settings_that_are_not_understood_refuse_the_call(lab_git):
    lab = lab_git
    lab.box.write(".git/config", "[core]\n\tbare = false\n[remote \"x\n")
    seen = lab.tools.run("sync", "status")
    assert seen.rc == 126 and seen.said(r"proj/\.git/config:3:\d+: .*middle of a section's name"), seen
    assert subprocess.run(["git", "status"], cwd=lab.box.proj, env=lab.box.environment(),
                          capture_output=True).returncode == 128


@row("T5", "T8")
@pytest.mark.parametrize("ignore", ["default", "none"])
def test_a_submodule_runs_nothing(lab_git, ignore):
    """`git status` starts another git in it, which reads the submodule's own settings: a filter of
    theirs would run with the login in reach."""
    lab = lab_git
    box, sub = lab.box, lab.box.proj / "sub"
    stolen = box.proj / "evil-stolen"
    sub.mkdir()
    box.write("sub/a.txt", "1\n")
    for words in (("init", "-q", "."), ("add", "a.txt"), ("commit", "-qm", "x")):
        box.git(*words, cwd=sub)
    if ignore == "none":
        box.write(".gitmodules", '[submodule "s"]\n\tpath = sub\n\turl = x\n\tignore = none\n')
        box.git("add", ".gitmodules")
    box.git("add", "-f", "sub")
    box.git("commit", "-qm", "sub")
    box.write("sub/.gitattributes", "*.txt filter=evil\n")
    box.git("config", "filter.evil.clean", f"cat ~/.git-credentials > {stolen}; cat", cwd=sub)
    box.write("sub/a.txt", "2\n")
    seen = lab.tools.run("sync", "status", "--short")
    assert not stolen.exists(), (seen, stolen.read_text())
    box.outside("git", "status", "--short")
    assert "TOPSECRET" in stolen.read_text()


__all__ = ["lab_git", "tools"]
