"""The sandbox's name service: what it answers, what it says no to, and what it makes of garbage."""

import ipaddress
import struct

import pytest

from lab import nbox, net, zone

NXDOMAIN, NOERROR, FORMERR, NOTIMP = 3, 0, 1, 4
HOSTS = ["ok.test", "*.api.ok.test", "six.test", "hosted.test", "nosuch.test", "servfail.test"]


@pytest.fixture
def box(nbox):
    nbox.network(internet=HOSTS, lan=["nas.test"])
    return nbox


def dns(name=None, kind=1, **more):
    return {"do": "dns", "name": name, "kind": kind, **more}


def packet(data, **more):
    return {"do": "dns", "packet": data.decode("latin1"), "wait": 0.3, **more}


def question(name, kind=1, klass=1):
    return b"".join(bytes([len(p)]) + p.encode("latin1") for p in name.split(".")) + b"\0" + struct.pack(
        ">HH", kind, klass)


def header(count=1, flags=0x0100, ident=0x1234, **more):
    return struct.pack(">6H", ident, flags, count, more.get("an", 0), more.get("ns", 0), more.get("ar", 0))


def test_addresses_of_our_own(box, net):
    """A granted name has one address of 198.18.0.0/15, the same while the run lasts, and none of
    IPv6; the real ones stay outside."""
    names = ["ok.test", "x.api.ok.test", "six.test", "hosted.test", "nas.test"]
    found = [s["value"] for s in box.probe(*({"do": "lookup", "host": n} for n in names + names))]
    assert found[:5] == found[5:] and len({tuple(f) for f in found}) == 5
    for addresses in found:
        assert len(addresses) == 1
        assert ipaddress.ip_address(addresses[0]) in ipaddress.ip_network("198.18.0.0/15"), found
    for server in ("127.0.0.1", "::1", zone.NAME_SERVER, "8.8.8.8", "2001:4860:4860::8888"):
        for said in box.probe(dns("ok.test", server=server), dns("OK.Test.", server=server, tcp=True)):
            assert (said["value"]["rcode"], said["value"]["counts"][1]) == (NOERROR, 1), (server, said)
    said, = box.probe(dns("ok.test", 28))
    assert (said["value"]["rcode"], said["value"]["counts"][1]) == (NOERROR, 0), said
    # Backwards: ours have their name, others none.
    reverse = ".".join(reversed(found[0][0].split("."))) + ".in-addr.arpa"
    one, = box.probe(dns("ok.test"))
    said = box.probe({"do": "lookup", "host": "ok.test"}, dns(reverse, 12),
                     dns("14.215.184.93.in-addr.arpa", 12), dns("1.0.0.127.in-addr.arpa", 12))
    assert "\x02ok\x04test\x00" in said[1]["value"]["raw"][12 + len(reverse):], said
    # The loopback has its own name (RFC 6761).
    assert [s["value"]["rcode"] for s in said[2:]] == [NXDOMAIN, NOERROR], said


def test_names_that_do_not_exist_outside(box, net):
    """A granted name that is none is none inside; what failed for a moment may be asked again."""
    since = net.mark()
    said = box.probe(dns("nosuch.test"), dns("servfail.test"), dns("other.test"), dns("x.six.test"))
    assert said[0]["value"]["rcode"] == NXDOMAIN, said
    assert said[1]["value"]["rcode"] in (2, NXDOMAIN), said
    assert [s["value"]["rcode"] for s in said[2:]] == [NXDOMAIN] * 2
    assert since.queries() == {"nosuch.test", "servfail.test"}
    assert all(s["ms"] < 500 for s in said[2:]), said


def test_edns_and_classes(box):
    said = box.probe(dns("ok.test", edns=True), packet(header() + question("ok.test", 1, 3)),
                     packet(header(ar=1) + question("ok.test") + b"\0\0\x29\x10\0\0\1\0\0\0\0"),
                     packet(header() + question("ok.test", 255)))
    assert said[0]["value"]["counts"] == [1, 1, 0, 1], said
    assert said[1]["value"]["rcode"] in (NXDOMAIN, NOTIMP, 5, NOERROR), said
    assert said[1]["value"]["counts"][1] == 0
    assert said[2]["value"]["rcode"] == 0 and said[2]["value"]["raw"][-7:-5] != "", said
    assert said[3]["value"]["counts"][1] <= 1


def test_the_same_question_is_in_the_answer(box):
    """Letters of either case and the identity come back as they were sent (0x20)."""
    said, = box.probe(packet(header(ident=0xbeef) + question("oK.tEsT")))
    assert said["value"]["id"] == 0xbeef and "\x02oK\x04tEsT\x00" in said["value"]["raw"]


Q = question("ok.test")
BROKEN = {
    "nothing": b"", "one byte": b"\0", "half a header": header()[:7], "header only": header(0),
    "no question": header(1), "answer": header(flags=0x8100) + Q, "two questions": header(2) + Q + Q,
    "many questions": header(65535) + Q, "cut name": header() + Q[:5], "cut type": header() + Q[:-3],
    "label of 64": header() + b"\x40" + b"a" * 64 + b"\0\0\1\0\1",
    "label of 191": header() + b"\xbf" + b"a" * 191 + b"\0\0\1\0\1",
    "pointer to itself": header() + b"\xc0\x0c\0\1\0\1", "pointer forwards": header() + b"\xc0\xff\0\1\0\1",
    "pointer to the header": header() + b"\x02ok\xc0\x00\0\1\0\1",
    "pointer loop": header() + b"\x01a\xc0\x0c\0\1\0\1", "cut pointer": header() + b"\xc0",
    "name of 300": header() + b"\x3f" + (b"a" * 63 + b"\x3f") * 4 + b"a" * 63 + b"\0\0\1\0\1",
    "128 labels": header() + b"\1a" * 128 + b"\0\0\1\0\1", "root": header() + b"\0\0\1\0\1",
    "opcode status": header(flags=0x1100) + Q, "opcode update": header(flags=0x2800) + Q,
    "opcode 15": header(flags=0x7800) + Q, "answers in a query": header(an=1) + Q + Q,
    "counts without": header(an=9, ns=9, ar=9) + Q, "rest": header() + Q + b"x" * 300,
    "EDNS cut": header(ar=1) + Q + b"\0\0\x29\x10", "EDNS twice": header(ar=2) + Q + b"\0\0\x29\x10\0\0\0\0\0\0\0" * 2,
    "EDNS length": header(ar=1) + Q + b"\0\0\x29\x10\0\0\0\0\0\xff\xff", "NUL": header() + b"\3o\0k\4test\0\0\1\0\1",
    "dot in a label": header() + b"\7ok.test\0\0\1\0\1", "high bytes": header() + b"\2\xff\xfe\4test\0\0\1\0\1",
    "spaces": header() + b"\3o k\4test\0\0\1\0\1", "type 0": header() + question("ok.test", 0),
    "class any": header() + question("ok.test", 1, 255), "AXFR": header() + question("ok.test", 252),
    "zeros": bytes(512), "ones": b"\xff" * 512, "long": header() + Q + bytes(60_000),
}


def test_broken_packets(box, net):
    """Each is dropped or refused; the service goes on, by UDP and by TCP."""
    since = net.mark()
    steps = [packet(data, tcp=tcp) for tcp in (False, True) for data in BROKEN.values()]
    said = box.probe(*steps, dns("ok.test"), dns("ok.test", tcp=True), timeout=110)
    wrong = {}
    for name, one in zip([*BROKEN] * 2, said):
        answer = one.get("value", one.get("error"))
        fine = answer in ("silence", "closed", "ECONNRESET", "EMSGSIZE") or (
            isinstance(answer, dict) and answer["qr"] and answer["length"] <= 1232)
        if isinstance(answer, dict) and answer["rcode"] == 0 and name not in (
                "rest", "answers in a query", "class any", "counts without", "type 0", "AXFR", "root",
                "EDNS twice", "EDNS length", "EDNS cut"):
            fine = False
        if not fine:
            wrong[name] = one
    assert wrong == {}
    assert [s["value"]["counts"][1] for s in said[-2:]] == [1, 1], said[-2:]
    assert since.queries() <= {"ok.test"}


TCP = """
import socket, struct, sys, time
q = bytes.fromhex(sys.argv[1])
def call():
    s = socket.create_connection(("127.0.0.1", 53)); s.settimeout(3); return s
def answer(s):
    head = s.recv(2, socket.MSG_WAITALL)
    return len(s.recv(struct.unpack(">H", head)[0], socket.MSG_WAITALL)) if len(head) == 2 else 0
s = call()                                  # many questions, one behind the other
s.sendall((struct.pack(">H", len(q)) + q) * 20)
print("pipelined", sum(answer(s) > 20 for _ in range(20)))
s = call()                                  # byte for byte
for b in struct.pack(">H", len(q)) + q:
    s.send(bytes([b])); time.sleep(0.001)
print("slow", answer(s) > 20)
idle = [call() for _ in range(300)]         # nobody says a word
s = call(); s.sendall(struct.pack(">H", len(q)) + q)
print("beside idle ones", answer(s) > 20)
deaf = call()                               # asks and never reads
try:
    deaf.settimeout(1)
    for _ in range(2000): deaf.sendall((struct.pack(">H", len(q)) + q) * 50)
except OSError: pass
s = call(); s.sendall(struct.pack(">H", len(q)) + q)
print("beside a deaf one", answer(s) > 20)
for n in (0, 1, 11, 65535):
    s = call(); s.sendall(struct.pack(">H", n) + b"x" * min(n, 1000)); s.close()
s = call(); s.sendall(struct.pack(">H", len(q)) + q)
print("after all", answer(s) > 20)
"""


def test_names_over_tcp(box):
    done = box.run("/usr/bin/python3", "-c", TCP, (header() + Q).hex())
    assert done.lines == ["pipelined 20", "slow True", "beside idle ones True", "beside a deaf one True",
                          "after all True"], done


def test_a_flood_of_names(nbox, net):
    """More different names than may wait: some fail, the service does not."""
    nbox.network(internet=["*.api.ok.test", "ok.test"])
    flood = nbox.write("flood.py", """\
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", 53))
for i in range(6000):
    label = b"n%d" % i
    s.send(struct.pack(">6H", i, 0x100, 1, 0, 0, 0) + bytes([len(label)]) + label
           + b"\\3api\\2ok\\4test\\0\\0\\1\\0\\1")
print(socket.getaddrinfo("ok.test", 80)[0][4][0])
""")
    done = nbox.run("/usr/bin/python3", flood, timeout=60)
    assert done.lines and done.lines[0].startswith("198.1"), done


def test_the_files_of_the_sandbox(box):
    """resolv.conf and hosts are its own: nothing of the machine's names or servers shows."""
    seen = box.sh("cat /etc/resolv.conf /etc/hosts /etc/nsswitch.conf; getent hosts localhost hostedlan.test")
    assert zone.NAME_SERVER not in seen.out and "hostedlan" not in seen.out, seen
    assert "nameserver" in seen.out and "localhost" in seen.out
