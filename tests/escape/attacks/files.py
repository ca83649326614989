"""Rows F: what is closed stays closed and what is read only stays as it is."""

import os

from . import SECRET, Command, Grant, attack
from .kernel import CWD, probe


def sh(script, **more):
    return Command(("sh", "-c", script), **more)


def evil(path):
    """Whether the attack's own text stands there."""
    try:
        return "EVIL" in path.read_text(errors="replace")
    except OSError:
        return False


# --- the repository and its kin --------------------------------------------------------------


REPOSITORY = """mv .git g; mv -T .git .git2; rmdir .git; rm -rf .git; ln -sfn /tmp .git
mkdir -p .git/hooks; echo EVIL > .git/hooks/pre-commit; true"""


@attack("hook-by-rename", "F1", guard="pins,warden")
def _(scene):
    """Moves the repository's `.git` away, and makes another with a hook in it."""
    scene.repository()
    yield sh(REPOSITORY)
    return evil(scene.proj / ".git/hooks/pre-commit")


@attack("hook", "F14", guard="pins,warden")
def _(scene):
    """Writes a hook that git outside runs at the next commit."""
    scene.repository()
    yield sh("echo EVIL > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; true")
    return evil(scene.proj / ".git/hooks/pre-commit")


@attack("git-settings", "F14", guard="pins,warden")
def _(scene):
    """Names a program in the repository's settings that git outside starts (core.fsmonitor)."""
    scene.repository()
    yield sh("git config core.fsmonitor EVIL; printf '[core]\\n\\tfsmonitor = EVIL\\n' "
             ">> .git/config; sed -i s/core/EVIL/ .git/config; true")
    return evil(scene.proj / ".git/config")


@attack("git-config-worktree", "F14", guard="pins,warden")
def _(scene):
    """Makes a file of settings that was not there: `.git/config.worktree`, `info/attributes`."""
    scene.repository()
    yield sh("echo EVIL > .git/config.worktree; mkdir -p .git/info; "
             "echo EVIL > .git/info/attributes; echo EVIL > .git/commondir; true")
    return any(evil(scene.proj / ".git" / n)
               for n in ("config.worktree", "info/attributes", "commondir"))


@attack("git-pointer", "F14", guard="pins,warden")
def _(scene):
    """Replaces the `.git` file of a worktree by one that leads to a repository of its own."""
    pointer = scene.worktree()
    yield sh("mv .git g; rm -f .git; echo 'gitdir: EVIL' > .git; true")
    return evil(pointer)


@attack("git-empty", "F2", guard="pins,warden")
def _(scene):
    """Makes the project a repository, with a hook in it, that was none."""
    yield sh("rmdir .git; mkdir -p .git/hooks; echo EVIL > .git/hooks/pre-commit; mkdir d; "
             "mkdir d/hooks; echo EVIL > d/hooks/pre-commit; mv -T d .git; true")
    return evil(scene.proj / ".git/hooks/pre-commit")


ABSENT = {
    ".envrc": "A file that direnv runs when the user enters the folder",
    ".vscode/tasks.json": "Tasks that the editor runs when the folder is opened",
    ".idea/workspace.xml": "Settings of another editor that name programs",
}


def absent(name, tries):
    def play(scene):
        top = name.split("/")[0]
        folder = f"mkdir -p {top};" if "/" in name else ""
        yield sh(f"rmdir {top}; rm -rf {top}; {folder} echo EVIL > {name}; mkdir d; "
                 f"echo EVIL > d/x; mv -T d {top}; echo EVIL > e; mv e {top}; ln -s e {top}; true")
        return evil(scene.proj / name)
    play.__doc__ = f"{tries}: makes `{name}`, which was not there."
    attack("absent-" + name.split("/")[0].strip("."), "F13", "F2", guard="pins,warden")(play)


for _name, _tries in ABSENT.items():
    absent(_name, _tries)


@attack("present-envrc", "F13", guard="pins,warden")
def _(scene):
    """Changes the `.envrc` that is there, in place, by rename and by exchange."""
    file = scene.write(".envrc", "mine\n")
    yield sh("echo EVIL >> .envrc; echo EVIL > e; mv e .envrc; cp e .envrc; sed -i s/mine/EVIL/ "
             ".envrc; mv .envrc f; echo EVIL > .envrc; true")
    yield probe(scene, "call", "renameat2", CWD, "s:e", CWD, "s:.envrc", 2)
    return evil(file)


# --- names that move -------------------------------------------------------------------------


@attack("parent-moved", "F1", "F7", guard="pins,covers,anchors",
        grant=Grant(hide=("proj/conf/deep/.env",)))
def _(scene):
    """Moves the folder above a hidden file, so that the next run finds nothing to hide."""
    scene.write("conf/deep/.env", SECRET)
    yield sh("mv conf c2; mv conf/deep conf/d2; true")
    said = yield sh("cat c2/deep/.env conf/d2/.env conf/deep/.env; true")
    return SECRET in said.out


@attack("link-out", "F6", why="each grant is a mount of its own, and links do not cross mounts")
def _(scene):
    """Makes a hard link in the project to a key in the home folder, and reads it."""
    (scene.home / "id").write_text(SECRET)
    yield probe(scene, "call", "linkat", CWD, f"s:{scene.home}/id", CWD, "s:l", 0)
    return (scene.proj / "l").exists()


@attack("symlink-out", "F6", guard="private,landlock")
def _(scene):
    """Reads and writes files of the home folder through a link that it makes in the project."""
    key, rc = scene.home / "id", scene.home / ".profile"
    key.write_text(SECRET)
    rc.write_text("mine\n")
    said = yield sh(f"ln -s {key} s; cat s; ln -s {rc} t; echo EVIL >> t; true")
    return SECRET in said.out or evil(rc)


@attack("home-file", "F20", guard="private,landlock")
def _(scene):
    """Reads the user's keys and logins in the home folder."""
    for name in (".ssh/id_ed25519", ".netrc", ".aws/credentials"):
        path = scene.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SECRET)
    said = yield sh(f"cat {scene.home}/.ssh/id_ed25519 {scene.home}/.netrc "
                    f"{scene.home}/.aws/credentials /proc/self/root{scene.home}/.netrc; true")
    return SECRET in said.out


@attack("home-start-up", "F19", guard="private,landlock")
def _(scene):
    """Writes files that the user's shell and session run: ~/.bashrc, ~/bin, autostart."""
    home = scene.home
    (home / ".bashrc").write_text("mine\n")
    yield sh(f"echo EVIL >> {home}/.bashrc; mkdir -p {home}/bin {home}/.config/autostart; "
             f"echo EVIL > {home}/bin/ls; echo EVIL > {home}/.config/autostart/x.desktop; true")
    return any(evil(home / n) for n in (".bashrc", "bin/ls", ".config/autostart/x.desktop"))


@attack("neighbour-file", "F6", why="mount view: other folders are not in it")
def _(scene):
    """Reads a file beside the project, by its path, by `..`, and by `..` from a moved folder."""
    (scene.dir / "secret").write_text(SECRET)
    scene.write("a/b/c/x", "")
    said = yield sh(f"cat ../secret {scene.dir}/secret /proc/self/cwd/../secret; cd a/b/c && "
                    "mv ../../b/c ../../../c2; cat ../../secret ../../../secret ../secret; true")
    return SECRET in said.out


@attack("other-tmp", "F20", guard="private,landlock")
def _(scene):
    """Reads what other programs of the user keep in /tmp."""
    file = scene.shared_tmp() / "token"
    file.write_text(SECRET)
    return SECRET in (yield sh(f"cat {file}; true")).out


@attack("own-spec", "F18", guard="private,landlock")
def _(scene):
    """Rewrites the sandbox's own settings in the home folder, for its next run."""
    names = [".config/link/app.toml", ".srt-settings.json", ".codex/config.toml",
             ".config/firejail/sh.profile"]
    for name in names:
        path = scene.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine\n")
    yield sh("".join(f"mkdir -p $(dirname {scene.home}/{n}); echo EVIL > {scene.home}/{n}; "
                     for n in names) + "true")
    return any(evil(scene.home / n) for n in names)


# --- hidden ----------------------------------------------------------------------------------


WAYS = """cat {f}; cat /proc/self/root{f}; cat /proc/1/root{f}; cat /proc/self/cwd/s/key
cat link; cat s/../s/key; cat ./s//key; cp {f} c; cat c; ln {f} h; cat h; mv s s2; cat s2/key
cd s && cat key; cd {d}; cat s/key; tar cf - . | cat; dd if={f}; cp -r s s3; cat s3/key
exec 8<{f}; cat <&8; cat /proc/self/fd/8; ls -la s; cat s/*; find s; true"""

O_PATH = """import os
for name in "s", "s/key", ".":
    try:
        fd = os.open(name, os.O_PATH)
    except OSError:
        continue
    for way in (lambda: os.read(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY), 99),
                lambda: os.read(os.open("key", os.O_RDONLY, dir_fd=fd), 99),
                lambda: os.read(os.open("s/key", os.O_RDONLY, dir_fd=fd), 99),
                lambda: os.read(os.open(f"/proc/self/fd/{fd}/s/key", os.O_RDONLY), 99),
                lambda: os.listdir(fd), lambda: os.listdir(f"/proc/self/fd/{fd}")):
        try:
            print(way())
        except OSError:
            pass
"""


def hidden(name, what, tries):
    def play(scene):
        scene.write("s/key", SECRET)
        scene.write("o.py", O_PATH)
        (scene.proj / "link").symlink_to("s/key")
        said = yield sh(WAYS.format(f=scene.proj / "s/key", d=scene.proj) +
                        "\npython3 o.py; true")
        return SECRET in said.out
    play.__doc__ = tries
    attack(name, "F7", guard="covers", grant=Grant(hide=(what,)))(play)


hidden("hidden-file", "proj/s/key",
       "Reads a hidden file of the project under two dozen names: links, /proc, O_PATH, copies.")
hidden("hidden-folder", "proj/s", "The same where the folder is hidden.")


@attack("hidden-link", "F7", guard="covers", grant=Grant(hide=("proj/link",)))
def _(scene):
    """Reads what a hidden link leads to, under its own name."""
    scene.write("conf/key", SECRET)
    (scene.proj / "link").symlink_to("conf/key")
    return SECRET in (yield sh("cat link conf/key; true")).out


@attack("hidden-written", "F8", guard="covers", grant=Grant(hide=("proj/s",)))
def _(scene):
    """Writes in a hidden folder, changes its mode, moves it away and puts another there."""
    scene.write("s/key", "x")
    yield sh("echo EVIL > s/new; chmod 777 s; mv s t; mkdir s; echo EVIL > s/new; true")
    return evil(scene.proj / "s/new") or (scene.proj / "t").exists()


@attack("hidden-absent", "F8", guard="covers", grant=Grant(hide=("proj/absent",)))
def _(scene):
    """Makes a hidden name that was not there."""
    yield sh("chmod 777 absent; echo EVIL > absent/x; rmdir absent; rm -f absent; echo EVIL > absent; mkdir absent; "
             "echo EVIL > absent/x; true")
    return evil(scene.proj / "absent") or evil(scene.proj / "absent/x")


# --- read only -------------------------------------------------------------------------------


@attack("read-only-content", "F10", guard="read_only,landlock", grant=Grant(read=("home/docs",)))
def _(scene):
    """Writes, replaces and removes a file that may be read only."""
    file = scene.home / "docs/f"
    file.parent.mkdir()
    file.write_text("mine\n")
    yield sh(f"echo EVIL >> {file}; chmod u+w {file}; echo EVIL > {file}; mv {file} {file}2; "
             f"echo EVIL > {file}; rm {file}; true")
    return not file.exists() or evil(file)


@attack("read-only-attributes", "F10", guard="read_only", grant=Grant(read=("home/docs",)))
def _(scene):
    """Changes mode, times and attributes of a file that may be read only."""
    file = scene.home / "docs/f"
    file.parent.mkdir()
    file.write_text("mine\n")
    before = file.stat()
    script = scene.write("a.py", f"""import os
for way in (lambda: os.chmod({str(file)!r}, 0o777), lambda: os.utime({str(file)!r}, (1, 1)),
            lambda: os.setxattr({str(file)!r}, "user.x", b"y")):
    try:
        way()
    except OSError as e:
        print(e)
""")
    yield Command(("/usr/bin/python3", str(script)))
    after = file.stat()
    return (before.st_mode, before.st_mtime) != (after.st_mode, after.st_mtime) or \
        os.listxattr(file) != []


# --- descriptors -----------------------------------------------------------------------------


@attack("descriptor-left-open", "F6", guard="descriptors")
def _(scene):
    """Reads a file that the caller's shell had left open (`exec 9<key`)."""
    secret = scene.dir / "secret"
    secret.write_text(SECRET)
    fd = os.open(secret, os.O_RDONLY)
    try:
        said = yield Command(("bash", "-c", "for n in {3..40}; do cat <&$n; done; true"),
                             pass_fds=(fd,))
        return SECRET in said.out
    finally:
        os.close(fd)


@attack("input-written", "F10", guard="landlock")
def _(scene):
    """Opens its input, a file that was opened for reading, again for writing by /proc."""
    kept = scene.dir / "input"
    kept.write_text("mine\n")
    with open(kept) as stdin:
        yield sh("echo EVIL > /proc/self/fd/0; echo EVIL > /dev/stdin; true", stdin=stdin)
    return evil(kept)


@attack("output-read", "F10", guard="landlock")
def _(scene):
    """Opens its output, a log that it may only add to, for reading by /proc."""
    kept = scene.dir / "output"
    kept.write_text(SECRET + "\n")
    with open(kept, "a") as stdout:
        yield sh("exec 3>&1; cat /proc/self/fd/3 > got; true", stdout=stdout)
    got = scene.proj / "got"
    return got.exists() and SECRET in got.read_text()


