"""Rows I: the name in a TLS hello is the one that was called, and the hello is read whole."""

import os
import struct

from network import nbox, net, row, zone

HOSTS = ["ok.test", "*.api.ok.test"]
GREASE = 0x0a0a


def extension(kind, data):
    return struct.pack(">HH", kind, len(data)) + data


def server_names(*names, kind=0):
    entries = b"".join(bytes([kind]) + struct.pack(">H", len(n)) + n for n in names)
    return extension(0, struct.pack(">H", len(entries)) + entries)


def hello(*extensions, ciphers=b"\x13\x01\x13\x02\x13\x03\xc0\x2b", session=bytes(32)):
    """A ClientHello message (RFC 8446 section 4.1.2), with these extensions."""
    every = b"".join(extensions)
    body = (b"\x03\x03" + os.urandom(32) + bytes([len(session)]) + session +
            struct.pack(">H", len(ciphers)) + ciphers + b"\x01\x00" + struct.pack(">H", len(every)) + every)
    return b"\x01" + struct.pack(">I", len(body))[1:] + body


def records(message, size=16384, version=b"\x03\x01"):
    """The message cut over records of that size."""
    return b"".join(b"\x16" + version + struct.pack(">H", len(message[i:i + size])) + message[i:i + size]
                    for i in range(0, len(message), size))


# What a real client sends besides: groups, signatures, versions, a key share.
USUAL = [extension(10, b"\0\2\0\x1d"), extension(13, b"\0\4\4\3\x08\4"),
         extension(43, b"\2\3\4"), extension(51, b"\0\x24\0\x1d\0\x20" + os.urandom(32))]
ECH = extension(0xfe0d, b"\0\0\1\0\1\x2a\0\x20" + os.urandom(32) + b"\0\x80" + os.urandom(128))


def send(data, port=443, host="ok.test", **more):
    return {"do": "raw", "host": host, "port": port, "send": data.decode("latin1"), "half": True, **more}


def answered(said):
    """The server's own hello came back."""
    data = said.get("value", {}).get("data", "")
    return data[:1] == "\x16" and data[5:6] == "\x02"


GOOD = {
    "plain": records(hello(server_names(b"ok.test"), *USUAL)),
    "upper case": records(hello(server_names(b"OK.TeST"), *USUAL)),
    "small records": records(hello(server_names(b"ok.test"), *USUAL), 7),
    "name at the end": records(hello(*USUAL, server_names(b"ok.test"))),
    "grease": records(hello(extension(GREASE, b""), server_names(b"ok.test"), *USUAL,
                            extension(0xdada, b"\0"), ciphers=b"\x0a\x0a\x13\x01\x13\x02")),
    "grease of ECH": records(hello(server_names(b"ok.test"), *USUAL, ECH)),
    "large": records(hello(server_names(b"ok.test"), *USUAL, extension(21, bytes(12000)))),
}


@row("I8", "I10")
def test_hellos_that_pass(nbox, net):
    nbox.network(internet=HOSTS)
    since = net.mark()
    steps = [send(data, half=False, limit=100) for data in GOOD.values()]
    # And one byte after the other.
    steps += [{**step, "pieces": [*step["send"][:300], step["send"][300:]], "pause": 0.0002}
              for step in steps]
    said = nbox.probe(*steps)
    wrong = {name: s for name, s in zip([*GOOD] * 2, said) if not answered(s)}
    assert wrong == {}
    # Read, judged, and passed on as it came.
    assert len(since.events(event="accept")) == len(steps)


BAD = {
    "another name": records(hello(server_names(b"evil.test"), *USUAL)),
    "below the name": records(hello(server_names(b"x.ok.test"), *USUAL)),
    "no name": records(hello(*USUAL)),
    "empty name": records(hello(server_names(b""), *USUAL)),
    "two names": records(hello(server_names(b"ok.test", b"evil.test"), *USUAL)),
    "two lists": records(hello(server_names(b"ok.test"), server_names(b"evil.test"), *USUAL)),
    "name of another kind": records(hello(server_names(b"ok.test", kind=1), *USUAL)),
    "NUL": records(hello(server_names(b"ok.test\0.evil.test"), *USUAL)),
    "at": records(hello(server_names(b"ok.test@evil.test"), *USUAL)),
    "wide": records(hello(server_names("ｏk.test".encode()), *USUAL)),
    "address": records(hello(server_names(zone.OK.encode()), *USUAL)),
    "ECH over another name": records(hello(server_names(b"evil.test"), *USUAL, ECH)),
    "ECH without a name": records(hello(*USUAL, ECH)),
    "extension too long": records(hello(b"\0\0\xff\xff" + server_names(b"ok.test")[4:], *USUAL)),
    "list too long": records(hello(extension(0, b"\xff\xff" + server_names(b"ok.test")[6:]), *USUAL)),
    "name too long": records(hello(extension(0, b"\0\x0a\0\0\xff" + b"ok.test"), *USUAL)),
    "message too long": b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + bytes(16380),
    "message of nothing": records(b"\x01\0\0\0"),
    "another message": records(b"\x02" + hello(server_names(b"ok.test"))[1:]),
    "another record": b"\x17" + records(hello(server_names(b"ok.test"), *USUAL))[1:],
    "record of nothing": b"\x16\x03\x01\0\0" * 50,
    "record too long": b"\x16\x03\x01\xff\xff" + hello(server_names(b"ok.test"), *USUAL),
    "SSL 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(35),
    "larger than all": records(hello(server_names(b"ok.test"), *USUAL, extension(21, bytes(60000)),
                                     ciphers=b"\x13\x01" * 4000)),
    "larger, in small pieces": records(hello(*USUAL, extension(21, bytes(60000)), server_names(b"ok.test")),
                                       10),
    "a name that others hide": records(hello(server_names(b"evil.test"), extension(0x5a5a, server_names(
        b"ok.test")), *USUAL)),
}


@row("I4", "I7", "I8", "I10")
def test_hellos_that_do_not_pass(nbox, net):
    nbox.network(internet=HOSTS)
    since = net.mark()
    inside = dict(zip(BAD, nbox.probe(*map(send, BAD.values()))))

    def right(said):
        # An alert, access_denied, where it was TLS at all, then the end; or the end at once.
        data = said.get("value", {}).get("data", "")
        return said["ms"] < 1000 and (data == "" or (data[0] == "\x15" and data[5:7] == "\x02\x31"))
    wrong = {name: said for name, said in inside.items() if not right(said)}
    assert wrong == {}
    assert since.reached() == set() and since.events(event="accept") == []


@row("I8")
def test_another_name_on_a_granted_call(nbox, net):
    """By a real client: it is told by an alert, and the server outside would have answered."""
    nbox.network(internet=HOSTS)
    steps = [{"do": "tls", "host": "ok.test", "port": 443, "sni": sni, "version": version}
             for sni in ("evil.test", "x.api.ok.test") for version in ("TLSv1_2", "TLSv1_3")]
    outside, inside = nbox.probe(*steps, outside=True), None
    assert all("value" in said for said in outside), outside
    since = net.mark()
    inside = nbox.probe(*steps)
    for said in inside:
        assert "ACCESS_DENIED" in said.get("error", "") and said["ms"] < 500, said
    assert since.events(event="tls") == [] and since.reached() == set()
    for version in ("TLSv1_2", "TLSv1_3"):
        said, = nbox.probe({"do": "tls", "host": "ok.test", "port": 443, "version": version})
        assert said["value"]["version"].replace(".", "_") == version, said


@row("I8")
def test_curl_to_another_place(nbox, net):
    """--resolve and --connect-to change where it goes, not what is granted."""
    nbox.network(internet=HOSTS)
    since = net.mark()
    seen = nbox.sh(f"for u in http https; do p=80; [ $u = https ] && p=443; "
                   f"curl -sS --max-time 5 --resolve ok.test:$p:{zone.EVIL} $u://ok.test/a; "
                   f"curl -sS --max-time 5 --connect-to ::evil.test: $u://ok.test/b; "
                   f"curl -sS --max-time 5 --connect-to ::ok.test: $u://evil.test/c; done")
    assert since.reached(zone.EVIL, zone.EVIL6) == set(), since.packets()
    assert not any("evil" in e["host"] for e in since.requests()), seen
    outside = nbox.outside("curl", "-sS", "--max-time", "5", "--connect-to", "::evil.test:",
                           "https://ok.test/b")
    assert outside.out.startswith("ok GET /b") or "SSL" in outside.err, outside
