"""Rows I: what a request says beside where it goes. Every one is judged and written anew."""

from network import nbox, net, refused, row, zone

HOSTS = ["ok.test", "*.api.ok.test"]


def raw(text, host="ok.test", port=80, **more):
    return {"do": "raw", "host": host, "port": port, "send": text, "half": True, **more}


def status(said):
    """The status of the first answer, 0 without one."""
    data = said.get("value", {}).get("data", "")
    return int(data[9:12]) if data.startswith("HTTP/1.1 ") else 0


def get(host, path="/", more=""):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"


# Hosts that are none, or not the one that was called.
BAD_HOSTS = {
    "NUL": "evil.test\0.ok.test", "NUL-after": "ok.test\0.evil.test", "user": "ok.test:80@evil.test",
    "user-before": "evil.test@ok.test", "port-name": "evil.test:80.ok.test", "percent": "ok%2etest",
    "percent-nul": "ok.test%00.evil.test", "space": "ok.test evil.test", "tab": "ok.test\tevil.test",
    "comma": "ok.test, evil.test", "slash": "evil.test/ok.test", "backslash": "evil.test\\ok.test",
    "hash": "evil.test#ok.test", "question": "evil.test?ok.test", "digits": "ok.test:\xd9\xa8\xd9\xa0",
    "wide": "\xef\xbd\x8fk.test", "dotless": "ok\xe3\x80\x82test", "port-0": "ok.test:0",
    "port-big": "ok.test:65616", "port-sign": "ok.test:+80", "port-twice": "ok.test:80:80",
    "bracket": "[ok.test]", "zone": "[fe80::1%25lo]", "empty": "", "dots": "ok..test",
    "long": "a" * 64 + ".test", "longer": ".".join(["a" * 60] * 5) + ".test",
    "other-port": "ok.test:8080", "cr": "ok.test\rX: y", "lf": "ok.test\nX: y",
}


@row("I4", "I7", "I15")
def test_hosts_that_are_none(nbox, net):
    nbox.network(internet=HOSTS)
    steps = [raw(get(host, f"/{name}")) for name, host in BAD_HOSTS.items()]
    since = net.mark()
    outside = nbox.probe(*steps, outside=True)
    # The server outside believes anything: every request does get there.
    assert [status(said) for said in outside] == [200] * len(steps), outside
    assert len(since.requests()) == len(steps)
    since = net.mark()
    inside = dict(zip(BAD_HOSTS, nbox.probe(*steps)))
    wrong = {name: said for name, said in inside.items()
             if status(said) not in (400, 403, 421) or said["ms"] > 1000}
    assert wrong == {} and since.requests() == []


@row("I4", "I7")
def test_names_that_are_none_when_looked_up(nbox, net):
    """The same by DNS, where a label holds any byte."""
    nbox.network(internet=HOSTS)
    names = [host for host in BAD_HOSTS.values() if 0 < max(map(len, host.split("."))) < 64]
    since = net.mark()
    for name, said in zip(names, nbox.probe(*({"do": "dns", "name": name} for name in names))):
        if name.rstrip(".") not in ("ok.test", "ok..test"):
            assert said["value"]["rcode"] in (1, 3) and said["value"]["counts"][1] == 0, (name, said)
    assert since.queries() <= {"ok.test"}


# I12, I14: (request, why). Servers read each of them differently from what a careless gate reads.
SMUGGLED = {
    "absolute-host": "GET http://ok.test/a HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "absolute-evil": "GET http://evil.test/a HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "absolute-user": "GET http://ok.test@evil.test/a HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "two-hosts": "GET / HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n",
    "two-equal-hosts": "GET / HTTP/1.1\r\nHost: ok.test\r\nHost: ok.test\r\n\r\n",
    "no-host": "GET / HTTP/1.1\r\nX: y\r\n\r\n",
    "folded-host": "GET / HTTP/1.1\r\nHost:\r\n ok.test\r\n\r\n",
    "folded": "GET / HTTP/1.1\r\nHost: ok.test\r\nX: a\r\n Host: evil.test\r\n\r\n",
    "space-before-colon": "GET / HTTP/1.1\r\nHost : evil.test\r\nHost: ok.test\r\n\r\n",
    "length-and-chunks": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\n"
                         "Host: evil.test\r\n\r\n",
    "two-encodings": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n"
                     "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "encoding-list": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "encoding-odd": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "encoding-tab": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "two-lengths": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\nContent-Length: 35\r\n\r\n"
                   "GET /hidden HTTP/1.1\r\nHost: e\r\n\r\n",
    "length-list": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0, 5\r\n\r\nhello",
    "length-plus": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: +5\r\n\r\nhello",
    "length-minus": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: -5\r\n\r\nhello",
    "length-hex": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0x5\r\n\r\nhello",
    "length-huge": "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
    "chunk-bare-lf": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5;a\nGET /\r\n0\r\n\r\n",
    "chunk-size": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "+5\r\nhello\r\n0\r\n\r\n",
    "chunk-huge": "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "10000000000000005\r\nhello\r\n0\r\n\r\n",
    "bare-lf": "GET / HTTP/1.1\nHost: ok.test\n\n",
    "bare-cr": "GET / HTTP/1.1\r\nHost: ok.test\r\nX: a\rHost: evil.test\r\n\r\n",
    "nul-field": "GET / HTTP/1.1\r\nHost: ok.test\r\nX\0: a\r\n\r\n",
    "nul-value": "GET / HTTP/1.1\r\nHost: ok.test\r\nX: a\0b\r\n\r\n",
    "space-line": "GET  / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "target-control": "GET /a\x01b HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "target-star": "GET * HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "target-authority": "GET ok.test HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "connect": "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
    "connect-ok": "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    "version": "GET / HTTP/2.0\r\nHost: ok.test\r\n\r\n",
    "old": "GET /\r\n\r\n",
    "http2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "upgrade-h2c": "GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                   "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
    "trace": "TRACE / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
}
# Those that may pass: written anew, they say one thing to everybody.
MAY_PASS = {"two-equal-hosts": {200, 400}, "upgrade-h2c": {200, 400, 403},
            "length-and-chunks": {400}, "folded": {200, 400}, "absolute-host": {400, 403, 421}}


@row("I12", "I14", "I15")
def test_requests_that_two_readers_read_differently(nbox, net):
    nbox.network(internet=HOSTS)
    # Which case a request at the server is of, where the case lets one through at all.
    steps = [raw(text.replace("Host: ok.test\r\n", f"Host: ok.test\r\nX-Case: {name}\r\n", 1))
             for name, text in SMUGGLED.items()]
    since = net.mark()
    inside = dict(zip(SMUGGLED, nbox.probe(*steps)))
    wrong = {name: said for name, said in inside.items() if said["ms"] > 1500 or
             status(said) not in MAY_PASS.get(name, {0, 400, 403, 405, 421, 501, 505})}
    assert wrong == {}
    passed = {name for name, allowed in MAY_PASS.items() if 200 in allowed}
    for request in since.requests():
        fields = dict(line.lower().split(": ", 1) for line in request["head"].split("\r\n")[1:])
        assert fields.get("x-case") in passed and fields["host"] == "ok.test", request
        assert "upgrade" not in fields and request["target"] == "/", request
        passed.discard(fields["x-case"])


@row("I12")
def test_smuggled_requests_reach_the_server_outside(nbox, net):
    """The positive control: nobody is in between, and the careless server takes them."""
    reach = ["absolute-host", "two-hosts", "length-and-chunks", "space-before-colon", "bare-lf"]
    for name in reach:
        since = net.mark()
        nbox.probe(raw(SMUGGLED[name]), outside=True)
        assert since.requests(), name
    since = net.mark()
    nbox.probe(raw(SMUGGLED["length-and-chunks"]), outside=True)
    assert since.requests(target="/hidden"), "the server reads a second request there"


@row("I12", "I14")
def test_every_request_of_a_connection_is_judged(nbox, net):
    nbox.network(internet=HOSTS)
    keep = "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n"
    since = net.mark()
    pipelined = keep.format("/1", "ok.test") + keep.format("/2", "OK.test.") + keep.format(
        "/3", "evil.test") + keep.format("/4", "ok.test")
    said, = nbox.probe(raw(pipelined))
    assert [e["target"] for e in since.requests()] == ["/1", "/2"], since.requests()
    assert said["value"]["data"].count("HTTP/1.1 200") == 2
    assert "HTTP/1.1 403" in said["value"]["data"] or "HTTP/1.1 421" in said["value"]["data"], said
    # A body that looks like a request is a body.
    inner = keep.format("/inner", "evil.test")
    since = net.mark()
    said, = nbox.probe(raw(f"POST /outer HTTP/1.1\r\nHost: ok.test\r\nContent-Length: {len(inner)}\r\n"
                           f"\r\n{inner}" + keep.format("/after", "ok.test")))
    assert [e["target"] for e in since.requests()] == ["/outer", "/after"]
    assert said["value"]["data"].count("HTTP/1.1 200") == 2, said


@row("I15")
def test_a_request_is_written_anew(nbox, net):
    """What reaches the server is ours: one Host, fields that end at their line."""
    nbox.network(internet=HOSTS)
    since = net.mark()
    nbox.probe(raw("GET /path?a=b%0d%0aX:%20y HTTP/1.1\r\nhOsT:\t OK.test. \r\nX-One:  two \r\n"
                   "Connection: close, X-Hop\r\nX-Hop: gone\r\nProxy-Authorization: Basic eA==\r\n\r\n"))
    request, = since.requests()
    lines = request["head"].split("\r\n")
    assert lines[0] == "GET /path?a=b%0d%0aX:%20y HTTP/1.1"
    fields = [line.partition(":")[0].lower() for line in lines[1:]]
    assert fields.count("host") == 1 and request["host"] == "ok.test"
    assert "x-one" in fields and "x-hop" not in fields and "proxy-authorization" not in fields


@row("I16")
def test_other_protocols_on_the_ports_of_the_web(nbox, net):
    """ssh, plain HTTP on 443, TLS on 80, garbage: closed before anybody is called."""
    nbox.network(internet=HOSTS)
    hello = "SSH-2.0-OpenSSH_9.2p1\r\n"
    steps = [raw(hello, port=443), raw(get("ok.test"), port=443), raw("\x16\x03\x01\x00\x05hello", port=443),
             raw("\0" * 100, port=443), raw(hello, port=80), raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", port=80),
             raw(hello, port=22), raw("hello", port=zone.RAW)]
    outside = nbox.probe(*steps[-2:], outside=True)
    assert [s["value"]["data"] for s in outside] == [hello + "bye", "hellobye"]
    since = net.mark()
    for said in nbox.probe(*steps):
        assert refused(said) or said["value"]["data"][:13] in ("", "HTTP/1.1 400 ", "\x15\x03\x01\x00\x02\x02\x31",
                                                              "\x15\x03\x03\x00\x02\x02\x31"), said
        assert said["ms"] < 1000
    assert since.reached() == set()


@row("I16")
def test_raw_ports_are_those_of_the_list(nbox, net):
    nbox.network(internet=["ok.test", "other.test"], tcp=[f"ok.test:{zone.RAW}"])
    steps = [raw("hello", host=h, port=p) for h, p in (
        ("ok.test", zone.RAW), ("ok.test", 22), ("other.test", zone.RAW), (zone.OK, zone.RAW))]
    said = nbox.probe(*steps)
    assert said[0]["value"]["data"] == "hellobye", said
    for one in said[1:]:
        assert refused(one) or one["value"]["data"] == "", one
