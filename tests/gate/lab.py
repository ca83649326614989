"""A network of the tests' own, for an ordinary user: world.py is the inside of it, zone.py its map.

`net` is the lab, one for all tests of a session; `nbox` a box (conftest.py) that lives in it: what
it runs, in the sandbox or out of it, has no capabilities there. Tests that need another network
(without a way out, say) make a Lab of their own."""

import atexit
import hashlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import struct
import subprocess
import tempfile

import pytest

import zone
from conftest import Box, box_base, descendants, reap_orphans, wait_until

HERE = pathlib.Path(__file__).resolve().parent
IS_ROOT = os.geteuid() == 0


def make_certificates(folder):
    """A certificate authority, and one server certificate for every name of the zone."""
    folder.mkdir()

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-subj", "/CN=lab authority", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "30")
    names = [f"DNS:{name}" for name in zone.CERTIFIED] + [
        f"IP:{address}" for address in (zone.OK, zone.OK6, zone.FAR4, zone.FAR6, "127.0.0.1", "::1")]
    (folder / "names").write_text("subjectAltName=" + ",".join(names))
    openssl("req", *key, "-subj", "/CN=lab server", "-keyout", "server.key", "-out", "server.csr")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "30", "-extfile", "names", "-out", "server.pem")
    (folder / "cacerts").write_bytes(java_store(ssl.PEM_cert_to_DER_cert((folder / "ca.pem").read_text())))


def java_store(certificate):
    """A Java key store (JKS) that trusts one certificate, as /etc/ssl/certs/java/cacerts is one.
    keytool would take a second for it."""
    def text(value):
        return struct.pack(">H", len(value)) + value
    data = (struct.pack(">IIII", 0xfeedfeed, 2, 1, 2) + text(b"lab") + struct.pack(">Q", 0) +
            text(b"X.509") + struct.pack(">I", len(certificate)) + certificate)
    seal = hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + data)
    return data + seal.digest()


class Lab:
    """options: way_out=False takes the default routes away."""

    def __init__(self, **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="net-", dir=box_base()))
        self.ca = self.folder / "tls/ca.pem"
        make_certificates(self.folder / "tls")
        for name in ("www", "repositories"):
            (self.folder / name).mkdir()
        own = [] if IS_ROOT else ["--user", "--map-current-user", "--keep-caps"]
        self.process = subprocess.Popen(
            ["unshare", *own, "--net", "--mount", "/usr/bin/python3", str(HERE / "world.py"),
             str(self.folder), json.dumps(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.started = []
        atexit.register(self.close)
        hello = self.ask("hello")
        self.pid, self.far_task = hello["pid"], hello["far_task"]

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.started = []
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def ask(self, what, **arguments):
        self.process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the lab has ended"
        reply = json.loads(line)
        assert "error" not in reply, reply
        return reply["value"]

    # --- running programs --------------------------------------------------------------------------

    def words(self, *argv, cwd="/", far=False):
        """What starts a program in the lab: on this machine, or on the far one. Without
        capabilities."""
        net = f"/proc/{self.pid}/task/{self.far_task}/ns/net" if far else f"/proc/{self.pid}/ns/net"
        enter = ["nsenter", f"--net={net}", f"--mount=/proc/{self.pid}/ns/mnt"]
        if not IS_ROOT:
            enter += [f"--user=/proc/{self.pid}/ns/user", "--preserve-credentials"]
        return [*enter, "env", "-C", str(cwd), *map(str, argv)]

    def start(self, *argv, far=False, cwd="/", env=None, ready=None, **kwargs):
        """A server that lives as long as the lab. `ready` is ("near" or "far", address, port)."""
        process = subprocess.Popen(self.words(*argv, far=far, cwd=cwd), stdin=subprocess.DEVNULL,
                                   env=env, **{"stdout": subprocess.DEVNULL,
                                               "stderr": subprocess.DEVNULL, **kwargs})
        self.started.append(process)
        if ready:
            assert wait_until(lambda: self.listens(*ready), 20.0), f"{argv[0]} does not listen"
        return process

    def listens(self, address, port, far=False):
        """Whether somebody listens there, without a connection that would be counted."""
        done = subprocess.run(self.words("ss", "-Hltn", f"src [{address}]:{port}" if ":" in address
                                         else f"src {address}:{port}", far=far),
                              capture_output=True, text=True)
        return bool(done.stdout.strip())

    # --- what was seen -------------------------------------------------------------------------------

    def events(self, since=0, **match):
        """What the servers noted: those that have these values."""
        with open(self.folder / "events", "rb") as file:
            file.seek(since)
            found = [json.loads(line) for line in file.read().splitlines()]
        return [e for e in found if all(e.get(k) == v for k, v in match.items())]

    def mark(self):
        """This moment, for `Since`."""
        return Since(self)


class Since:
    """What happened since a moment: at the servers, on the wire."""

    def __init__(self, lab):
        self.lab = lab
        self.packet = lab.ask("mark")
        self.offset = (lab.folder / "events").stat().st_size if (lab.folder / "events").exists() else 0

    def packets(self, **match):
        """Beginnings of connections and datagrams that left this machine."""
        return [p for p in self.lab.ask("packets", since=self.packet)
                if all(p.get(k) == v for k, v in match.items())]

    def events(self, **match):
        return self.lab.events(self.offset, **match)

    def requests(self, **match):
        return self.events(event="request", **match)

    def queries(self):
        """Names that the name server was asked for."""
        return {e["name"].lower().rstrip(".") for e in self.events(event="query")}

    def reached(self, *addresses):
        """The (address, port) of each beginning of a call that left, to these or to any."""
        return {(p["to"], p["port"]) for p in self.packets()
                if (p["to"] in addresses if addresses else p["to"] != zone.NAME_SERVER)}

    def leaked(self, *words):
        """Packets in which one of the words stands, in a datagram's bytes as in a DNS name."""
        return [p for p in self.packets() for word in words
                if word.lower() in p["data"].lower()]

    def wait(self, **match):
        """The first event of the kind, which may still be on its way."""
        assert wait_until(lambda: self.events(**match), 5.0), (match, self.events())
        return self.events(**match)[0]


# --- boxes -----------------------------------------------------------------------------------------


class NetBox(Box):
    """A box whose programs run in the lab."""

    def __init__(self, folder, lab):
        super().__init__(folder)
        self.lab = lab

    def network(self, more="", internet=None, tcp=None, per_minute=None, lan=None, ports=None,
                models=None, read=(), commands=("*",)):
        """Writes the spec with these grants. A list that is None has no key."""
        def quoted(values):
            return "[" + ", ".join(json.dumps(v) for v in values) + "]"
        text = f'[files]\nwrite = ["proj"]\nread = {quoted([str(HERE), *map(str, read)])}\n'
        text += f"[commands]\nallow = {quoted(commands)}\n"
        for section, keys in (("internet", {"hosts": internet, "tcp": tcp}), ("lan", {"hosts": lan}),
                              ("localhost", {"ports": ports, "models": models})):
            if any(v is not None for v in keys.values()):
                text += f"[{section}]\n" + "".join(
                    f"{k} = {quoted(v)}\n" for k, v in keys.items() if v is not None)
                if section == "internet" and per_minute:
                    text += f"per_minute = {per_minute}\n"
        return self.spec(text + more)

    def outside(self, *argv, cwd=None, env=None, stdin=None, timeout=120, pass_fds=(), check=False):
        return super().outside(*self.lab.words(*argv, cwd=cwd or self.proj), cwd="/",
                               env=env or self.environment(), stdin=stdin, timeout=timeout,
                               pass_fds=pass_fds, check=check)

    def start(self, *program, flags=(), spec=None, cwd=None, env=None, without=None, outside=False,
              **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        kwargs.setdefault("start_new_session", True)
        argv = program if outside else self.argv(*program, flags=flags, spec=spec, without=without)
        return subprocess.Popen(self.lab.words(*argv, cwd=cwd or self.proj), cwd="/",
                                env=self.environment(env, without), text=True, **kwargs)

    def probe(self, *steps, outside=False, result=False, **kwargs):
        """Runs probe.py's steps in the sandbox; what came of each, as a list."""
        words = ("/usr/bin/python3", str(HERE / "probe.py"))
        done = (self.outside if outside else self.run)(*words, stdin=json.dumps(steps), **kwargs)
        assert done.rc == 0, done
        found = [json.loads(line) for line in done.lines]
        assert len(found) == len(steps), done
        return (found, done) if result else found

    def both(self, *steps, **kwargs):
        """The same steps outside, where they must work, and inside: two lists."""
        return self.probe(*steps, outside=True), self.probe(*steps, **kwargs)


_labs = {}


def shared_lab():
    """The lab of this session, made when the first test asks for it."""
    if "net" not in _labs or _labs["net"].process.poll() is not None:
        _labs["net"] = Lab()
    return _labs["net"]


def make_box(lab):
    """A box in `lab`, as a generator for a fixture: nothing of a run may be left after it."""
    folder = tempfile.mkdtemp(prefix="n-", dir=box_base())
    before = set(descendants())
    try:
        yield NetBox(folder, lab)

        def left():
            # Servers of the lab come and go as they like.
            servers = set()
            for process in [lab.process, *lab.started]:
                servers |= set(descendants(process.pid)) | {process.pid}
            return {p: n for p, n in descendants().items() if p not in before | servers}
        assert wait_until(lambda: not left(), 2.0), f"processes outlive the run: {left()}"
    finally:
        for pid in set(descendants()) - before:
            if not any(pid in descendants(p.pid) or pid == p.pid for p in [lab.process, *lab.started]):
                os.kill(pid, signal.SIGKILL)
        reap_orphans({p.pid for p in [lab.process, *lab.started]})
        subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def net():
    return shared_lab()


@pytest.fixture
def nbox(net):
    yield from make_box(net)


# How a call ends that is refused before, and after, it could begin. Never by a time-out.
AT_ONCE = {"unknown name", "no address", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH",
           "EPERM", "EACCES", "EPIPE", "EOF", "TLSV1_ALERT_ACCESS_DENIED",
           "TLSV13_ALERT_ACCESS_DENIED", "UNEXPECTED_EOF_WHILE_READING"}


def refused(said, ms=1000):
    """That a step of the probe was refused, and quickly."""
    return said.get("error") in AT_ONCE and said["ms"] < ms


def page(said, *statuses):
    """That a step got a page of the gate's with one of the statuses."""
    return said.get("value", {}).get("status") in statuses and said["ms"] < 1000


def gate_of(pid):
    """The gate of the run that `pid` is, or None."""
    return next((p for p, name in descendants(pid).items() if name == "lnk-gate"), None)


__all__ = ["AT_ONCE", "HERE", "IS_ROOT", "Lab", "NetBox", "gate_of", "make_box", "nbox", "net", "page",
           "refused", "shared_lab", "wait_until", "zone"]
