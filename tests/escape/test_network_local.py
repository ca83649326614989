"""Rows N, L, M, H: other machines of the network, servers of this one, models, the host's network."""

import json
import os
import re
import signal

import pytest

from network import gate_of, nbox, net, page, refused, row, wait_until, zone

PRIVATE = {"private.test": zone.FAR4, "ula.test": zone.FAR6, "shared.test": zone.SHARED,
           "linklocal.test": zone.LINK_LOCAL, "range.test": zone.LAN_RANGE}


def http(host, port=80, **more):
    return {"do": "http", "host": host, "port": port, **more}


@row("N1")
@pytest.mark.parametrize("hosts", [["*"], ["ok.test"]])
def test_the_local_network_is_closed(nbox, net, hosts):
    nbox.network(internet=hosts)
    steps = [http(h) for pair in PRIVATE.items() for h in pair]
    steps += [http(f"::ffff:{zone.FAR4}"), http(f"64:ff9b::{zone.FAR4}"), http("nas.test"),
              http("hostedlan.test"), {"do": "raw", "host": zone.FAR4, "port": zone.RAW, "half": True}]
    outside = nbox.probe(*steps[:10], outside=True)
    assert all(said["value"]["status"] == 200 for said in outside), outside
    since = net.mark()
    for step, said in zip(steps, nbox.probe(*steps)):
        assert refused(said) or page(said, 403, 0) or said["value"].get("data") == "", (step, said)
    assert since.reached() == set() and since.requests() == []


@row("N1")
def test_the_local_network_is_open_as_it_is_listed(nbox, net):
    nbox.network(lan=["nas.test", "192.168.77.0/24"])
    good = [http("nas.test"), http(zone.LAN_RANGE), http("nas.test", 8080),
            {"do": "raw", "host": "nas.test", "port": zone.RAW, "send": "any port", "half": True}]
    for said in nbox.probe(*good):
        assert said["value"].get("status", 200) == 200, said
    since = net.mark()
    bad = [http("private.test"), http(zone.SHARED), http("192.168.78.1"), http("ok.test"), http(zone.OK)]
    for step, said in zip(bad, nbox.probe(*bad)):
        assert refused(said) or page(said, 403, 0), (step, said)
    assert since.reached() == set()
    # All private addresses, by "*": not those that are merely not public, nor public ones.
    nbox.network(lan=["*"])
    assert all(s["value"]["status"] == 200 for s in nbox.probe(http(zone.FAR4), http(zone.LAN_RANGE)))
    since = net.mark()
    for said in nbox.probe(http(zone.SHARED), http(zone.LINK_LOCAL), http(zone.OK), http("ok.test")):
        assert refused(said) or page(said, 403, 0), said
    assert since.reached() == set()


@row("N1")
def test_this_machine_is_no_other_machine(nbox, net):
    """Its own addresses lie in the ranges, and are no part of the local network."""
    nbox.network(internet=["*"], lan=["10.77.0.0/24", "fd77::/64", "own.test"])
    own = [http(a) for a in (zone.NEAR4, zone.NEAR6, "own.test", "ownpublic.test", "ownpublic6.test",
                             "loop.test", "loop6.test", f"::ffff:{zone.NEAR4}")]
    outside = nbox.probe(*own, outside=True)
    assert all(said["value"]["status"] == 200 for said in outside), outside
    since = net.mark()
    for step, said in zip(own, nbox.probe(*own)):
        assert refused(said) or page(said, 403, 0), (step, said)
    assert since.requests() == [] and since.events(event="accept") == []
    # An address that came up after the start is as much its own.
    inside = nbox.start("sh", "-c", "echo up; read go; curl -sS --max-time 5 http://10.77.0.9/own; "
                                    "curl -sS --max-time 5 http://10.77.0.5/nas", stdin=-1)
    try:
        assert inside.stdout.readline() == "up\n"
        net.ask("ip", where="near", lines=["address add 10.77.0.9/24 dev v0"])
        since = net.mark()
        out, err = inside.communicate("go\n", timeout=20)
        assert "ok GET /own" not in out and "ok GET /nas" in out, (out, err)
        assert [e["target"] for e in since.requests()] == ["/nas"]
    finally:
        inside.kill()
        net.ask("ip", where="near", lines=["address del 10.77.0.9/24 dev v0"])


@row("N2")
def test_metadata_services(nbox, net):
    """They hand out the machine's logins, so that no range and no name opens them."""
    nbox.network(internet=["*"], lan=["169.254.0.0/16", "100.64.0.0/10", "fd00::/8", "10.0.0.0/8", "meta.test"])
    steps = [http(a) for a in [*zone.METADATA, "meta.test", "meta2.test", "meta6.test",
                               f"::ffff:{zone.METADATA[0]}", f"64:ff9b::{zone.METADATA[0]}"]]
    outside = nbox.probe(*steps[:7], outside=True)
    assert all(said["value"]["status"] == 200 for said in outside), outside
    since = net.mark()
    for step, said in zip(steps, nbox.probe(*steps)):
        assert refused(said) or page(said, 403, 0), (step, said)
    assert since.reached() == set() and since.requests() == []
    # Their neighbours are what the ranges say.
    for said in nbox.probe(http(zone.LINK_LOCAL), http(zone.SHARED), http(zone.FAR6)):
        assert said["value"]["status"] == 200, said


@row("N3")
def test_datagrams_to_everybody(nbox, net):
    nbox.network(internet=["*"], lan=["*"])
    steps = [{"do": "datagram", "host": h, "port": p, "wait": 0.3} for h, p in (
        ("224.0.0.251", 5353), ("239.255.255.250", 1900), ("255.255.255.255", 67), ("10.77.0.255", 137),
        ("ff02::fb", 5353), (zone.FAR4, 53), (zone.FAR4, 161))]
    since = net.mark()
    nbox.probe(steps[0], steps[2], outside=True)
    assert {p["port"] for p in since.packets()} >= {5353}, since.packets()
    since = net.mark()
    for step, said in zip(steps, nbox.probe(*steps)):
        if step["port"] != 53:
            assert said.get("error") and said["ms"] < 200, (step, said)
    assert since.packets() == []


@row("L2")
def test_names_of_ports_that_are_taken_first(nbox, net):
    """The program listens on a granted port, and on all others, before it calls: what it takes is
    its own loopback's, and what is granted still leads out."""
    nbox.network(ports=[zone.LOCAL_WEB])
    taker = nbox.write("take.py", f"""\
import socket, urllib.request
ports = [int(l.split()[1].rsplit(":", 1)[1], 16) for n in ("tcp", "tcp6")
         for l in open(f"/proc/net/{{n}}").readlines()[1:]]
taken = []
for port in sorted({{{zone.LOCAL_WEB}, 53, 80, *ports}}):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "198.18.0.1"),
                            (socket.AF_INET6, "::1"), (socket.AF_INET6, "::")):
        try:
            s = socket.socket(family, socket.SOCK_STREAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind((address, port))
            s.listen()
            taken.append(s)
        except OSError as error:
            print("taken", port, address, error.errno)
print(urllib.request.urlopen("http://127.0.0.1:{zone.LOCAL_WEB}/out", timeout=5).read().decode(), end="")
""")
    seen = nbox.run("/usr/bin/python3", taker)
    assert seen.lines[-1].startswith("ok GET /out"), seen


@row("L2")
def test_when_the_gate_dies(nbox, net):
    """Nobody takes its place: calls fail at once, and the run says why."""
    nbox.network(internet=["ok.test"], ports=[zone.LOCAL_WEB])
    run = nbox.start("sh", "-c", "curl -sS http://ok.test/before; read go; "
                     f"curl -sS --max-time 9 http://ok.test/after; echo $?; curl -sS --max-time 9 "
                     f"http://127.0.0.1:{zone.LOCAL_WEB}/local; echo $?", stdin=-1)
    assert run.stdout.readline().startswith("ok GET /before")
    gate = wait_until(lambda: gate_of(run.pid))
    since = net.mark()
    os.kill(gate, signal.SIGKILL)
    out, err = run.communicate("go\n", timeout=20)
    assert "28" not in out.split() and "0" not in out.split(), (out, err)
    assert since.requests() == [] and since.packets() == []
    assert "lnk: " in err and "gate" in err, err


@row("L3")
def test_another_runs_gate(nbox, net):
    """Two runs at once: neither sees the other's listeners, sockets or processes, and what one may
    call is nothing to the other."""
    nbox.network(internet=["ok.test"])
    narrow = nbox.spec(nbox.specfile.read_text(), "narrow.toml")
    nbox.network(internet=["ok.test", "evil.test"], ports=[zone.LOCAL_WEB])
    wide = nbox.start("sh", "-c", "curl -sS http://evil.test/wide; echo; read go", stdin=-1)
    assert wide.stdout.readline().startswith("ok GET /wide")
    try:
        listeners = nbox.probe({"do": "listeners"}, spec=narrow)[0]["value"]
        since = net.mark()
        # Fake addresses of the other run, its ports, and those of this machine outside.
        steps = [{"do": "http", "host": host, "port": port}
                 for host in ("evil.test", "198.18.0.2", "198.18.0.3", "127.0.0.1")
                 for port in {80, zone.LOCAL_WEB, *listeners}]
        for step, said in zip(steps, nbox.probe(*steps, spec=narrow)):
            assert "value" not in said or said["value"]["status"] != 200, (step, said)
        assert since.requests() == []
        seen = nbox.sh("ps ax -o comm; ls -l /proc/*/fd 2>/dev/null; cat /proc/net/unix | wc -l",
                       spec=narrow)
        assert "lnk-gate" not in seen.out and int(seen.lines[-1]) < 10, seen
    finally:
        wide.communicate("go\n", timeout=20)


@row("L3")
def test_servers_of_this_machine(nbox, net):
    """Ports that are listed, on 127.0.0.1 and ::1, and no other."""
    nbox.network(internet=["*"], ports=[zone.LOCAL_WEB, zone.LOCAL_WEB6])
    good = [http("localhost", zone.LOCAL_WEB), http("127.0.0.1", zone.LOCAL_WEB),
            http("::1", zone.LOCAL_WEB6, host_field="[::1]"), http("localhost", zone.LOCAL_WEB6)]
    for said in nbox.probe(*good):
        assert said["value"]["status"] == 200, said
    closed = [http(h, p) for h in ("localhost", "127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1")
              for p in (zone.LOCAL_CLOSED, 80, zone.LOCAL_MODEL, 443)]
    outside = nbox.probe(http("127.0.0.1", zone.LOCAL_CLOSED), http("127.0.0.1", zone.LOCAL_MODEL),
                         outside=True)
    assert all(s["value"]["status"] == 200 for s in outside)
    since = net.mark()
    for step, said in zip(closed, nbox.probe(*closed)):
        assert refused(said) or said["value"]["status"] == 0, (step, said)
    assert since.events(event="accept") == []


# --- models ------------------------------------------------------------------------------------------

MODEL = {"models": [zone.LOCAL_MODEL]}
MANAGEMENT = [
    ("POST", "/api/pull"), ("POST", "/api/push"), ("POST", "/api/create"), ("POST", "/api/copy"),
    ("DELETE", "/api/delete"), ("POST", "/api/delete"), ("POST", "/api/blobs/sha256:00"),
    ("HEAD", "/api/blobs/sha256:00"), ("PUT", "/api/blobs/sha256:00"), ("GET", "/api/blobs/sha256:00"),
    ("POST", "/api/signin"), ("POST", "/api/signout"), ("POST", "/api/me"), ("POST", "/api/user/keys"),
    ("POST", "/api/web_fetch"), ("POST", "/api/web_search"), ("POST", "/api/experimental/web_fetch"),
    # llama.cpp, vLLM, LM Studio
    ("POST", "/slots/0?action=save"), ("POST", "/slots/0?action=restore"), ("GET", "/slots"),
    ("POST", "/lora-adapters"), ("POST", "/props"), ("GET", "/metrics"), ("POST", "/models/load"),
    ("POST", "/v1/load_lora_adapter"), ("POST", "/v1/unload_lora_adapter"), ("POST", "/sleep"),
    ("POST", "/reset_prefix_cache"), ("POST", "/collective_rpc"), ("POST", "/update_weights"),
    ("POST", "/api/v1/models/load"), ("POST", "/api/v1/models/download"), ("POST", "/v1/files"),
    ("POST", "/v1/fine_tuning/jobs"), ("DELETE", "/v1/models/m"), ("POST", "/v1/batches"),
    ("GET", "/anything"), ("POST", "/"),
]
# Other ways to say /api/pull.
DISGUISED = ["/api/pull/", "//api/pull", "/api//pull", "/api/./pull", "/api/generate/../pull",
             "/api/generate/%2e%2e/pull", "/api/%70ull", "/API/PULL", "/api/pull?x=/api/generate",
             "/api/generate;/../pull", "/api/generate%00/pull", "/api/generate#/../pull", "/api\\pull",
             "/api/generate/..%2fpull", "/./api/pull", "/v1/../api/pull", "/api/generate?a\tb",
             "http://localhost:11434/api/pull", "http://x@localhost/api/pull", "api/pull", "*"]


@row("M1")
def test_management_of_models(nbox, net):
    nbox.network(**MODEL)
    steps = [http("localhost", zone.LOCAL_MODEL, method=m, path=p, body='{"model":"m","name":"m"}')
             for m, p in MANAGEMENT + [("POST", p) for p in DISGUISED]]
    outside = nbox.probe(*steps[:17], outside=True)
    assert all(said["value"]["status"] == 200 for said in outside), outside
    since = net.mark()
    wrong = {}
    for step, said in zip(steps, nbox.probe(*steps)):
        if not page(said, 400, 403, 405):
            wrong[step["method"], step["path"]] = said
    assert wrong == {} and since.requests() == []


@row("M1")
def test_inference(nbox, net):
    """What a client needs to talk to a model."""
    nbox.network(**MODEL)
    ask = {"model": "m", "stream": False}
    steps = [http("localhost", zone.LOCAL_MODEL, method="POST", path=p, body=json.dumps(ask))
             for p in ("/api/generate", "/api/chat", "/api/embed", "/api/embeddings", "/api/show",
                       "/v1/chat/completions", "/v1/completions", "/v1/embeddings")]
    steps += [http("localhost", zone.LOCAL_MODEL, path=p)
              for p in ("/api/tags", "/api/version", "/api/ps", "/v1/models")]
    since = net.mark()
    for step, said in zip(steps, nbox.probe(*steps)):
        assert said["value"]["status"] == 200, (step, said)
    assert [e["target"] for e in since.requests()] == [s["path"] for s in steps]
    for event in since.events(event="body"):
        assert json.loads(event["start"]) == ask


@row("M4")
def test_other_methods_and_protocols_of_a_model_runtime(nbox, net):
    nbox.network(**MODEL)
    port = zone.LOCAL_MODEL
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "eA==",
               "Sec-WebSocket-Version": "13"}
    # `Connection: close` stands before: the last word of a client that has two.
    steps = [http("localhost", port, method=m, path="/api/generate", body="{}")
             for m in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "post")]
    steps += [http("localhost", port, method="CONNECT", path="evil.test:80"),
              http("localhost", port, path="/api/tags", fields=upgrade),
              http("localhost", port, method="POST", path="/api/chat", body="{}", fields=upgrade)]
    since = net.mark()
    for step, said in zip(steps, nbox.probe(*steps)):
        assert said["value"]["status"] in (400, 403, 405, 426, 501), (step, said)
    assert since.requests() == []
    # One request a connection; what comes behind it is nobody's.
    chat = '{"model":"m","stream":false}'
    two = (f"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(chat)}\r\n\r\n{chat}"
           "POST /api/pull HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
    smuggled = [two, two.replace("Content-Length: 28", "Content-Length: 28\r\nTransfer-Encoding: chunked"),
                two.replace("Content-Length: 28", "Content-Length: 28\r\nContent-Length: 2"),
                two.replace("Content-Length: 28", "Content-Length : 2")]
    outside, = nbox.probe({"do": "raw", "host": "127.0.0.1", "port": port, "send": two, "half": True},
                          outside=True)
    assert outside["value"]["data"].count("HTTP/1.1 200") == 2, outside
    since = net.mark()
    said = nbox.probe(*({"do": "raw", "host": "127.0.0.1", "port": port, "send": text, "half": True}
                        for text in smuggled))
    assert said[0]["value"]["data"].count("HTTP/1.1 200") == 1, said
    assert [e["target"] for e in since.requests()] == ["/api/chat"], since.requests()


BODIES = {
    "cloud": {"model": "gpt-oss:120b-cloud"}, "cloud tag": {"model": "x:cloud"},
    "cloud upper": {"model": "x:CLOUD"}, "url model": {"model": "https://evil.test/m"},
    "path model": {"model": "../../etc/passwd"},
    "name": {"name": "x:cloud"},
    "image_url": {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "http://evil.test/i.png"}}]}]},
    "image_url text": {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": "http://10.77.0.5/i.png"}]}]},
    "file url": {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]},
    "video_url": {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "video_url", "video_url": {"url": "http://evil.test/v"}}]}]},
    "audio_url": {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "audio_url", "audio_url": {"url": "http://evil.test/a"}}]}]},
    "input_image": {"model": "m", "input": [{"role": "user", "content": [
        {"type": "input_image", "image_url": "http://evil.test/i"}]}]},
    "ftp": {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "FTP://evil.test/i"}}]}]},
}
# JSON that two readers read differently, or that is none.
TEXTS = ['{"model":"m","model":"x:cloud"}', '{"model":"x:cloud","model":"m"}', '{"model":"\\u0078:cloud"}',
         '[{"model":"m"}]', '"m"', '{"model":"m"', '{"model":"m"} {"model":"x:cloud"}', "model=m", "\0",
         '{"model":"m\\u0000:cloud"}', '{"model": NaN}', "[" * 100_000,
         '{"mod\\u0065l":"x:cloud"}', '\ufeff{"model":"x:cloud"}', '{"model":["x:cloud"]}']


@row("M5")
def test_bodies_that_lead_elsewhere(nbox, net):
    nbox.network(**MODEL)
    paths = ["/v1/chat/completions", "/api/chat"]
    steps = [http("localhost", zone.LOCAL_MODEL, method="POST", path=path, body=body)
             for body in [*map(json.dumps, BODIES.values()), *TEXTS] for path in paths]
    outside = nbox.probe(*steps[:2 * len(BODIES)], outside=True)
    assert all(said["value"]["status"] == 200 for said in outside), outside
    since = net.mark()
    wrong = {}
    for step, said in zip(steps, nbox.probe(*steps)):
        if not page(said, 400, 403, 413):
            wrong[step["path"], step["body"][:100]] = said
    assert wrong == {} and since.requests() == []
    # What is spoken of is not what is fetched; a picture that is sent along is no link.
    fine = [{"model": "m", "stream": False, "messages": [{"role": "user", "content": "see http://evil.test/ :cloud"}]},
            {"model": "llama3.2:3b", "stream": False, "messages": [{"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}]
    for said in nbox.probe(*(http("localhost", zone.LOCAL_MODEL, method="POST", path=paths[0],
                                  body=json.dumps(body)) for body in fine)):
        assert said["value"]["status"] == 200, said


@row("M8")
def test_where_a_request_to_a_model_says_it_comes_from(nbox, net):
    """A runtime trusts its Host and Origin: the program's are replaced."""
    nbox.network(**MODEL)
    fields = {"Origin": "http://evil.test", "Referer": "http://evil.test/x", "X-Forwarded-For": "10.0.0.1",
              "Cookie": "a=b", "Authorization": "Bearer key"}
    since = net.mark()
    outside, = nbox.probe(http("127.0.0.1", zone.LOCAL_MODEL, path="/api/tags", fields=fields,
                               host_field="evil.test"), outside=True)
    assert outside["value"]["status"] == 200 and since.requests(host="evil.test")
    since = net.mark()
    said = nbox.probe(http("127.0.0.1", zone.LOCAL_MODEL, path="/api/tags", fields=fields, host_field="evil.test"),
                      http("127.0.0.1", zone.LOCAL_MODEL, path="/api/tags", fields=fields))
    assert [s["value"]["status"] for s in said] in ([400, 200], [403, 200], [200, 200]), said
    for request in since.requests():
        assert "evil" not in request["head"], request
        assert request["host"] in ("localhost:11434", "127.0.0.1:11434"), request


# --- network.mode = "host" -----------------------------------------------------------------------------


@row("H1", "I25")
def test_the_hosts_network(nbox, net):
    """Nothing is filtered, and the start says so; abstract sockets stay closed all the same."""
    nbox.network(more='[network]\nmode = "host"\n', internet=["ok.test"])
    name = f"lnk-test-{nbox.dir.name}"
    # Abstract sockets belong to a network namespace, so the server runs in the lab's.
    server = nbox.start("socat", f"ABSTRACT-LISTEN:{name},fork", "EXEC:echo abstract", outside=True)
    try:
        assert wait_until(lambda: name in nbox.outside("cat", "/proc/net/unix").out)
        assert nbox.outside("socat", "-u", f"ABSTRACT-CONNECT:{name}", "-").out == "abstract\n"
        seen = nbox.sh(f"curl -sS http://evil.test/host; socat -u ABSTRACT-CONNECT:{name} - ; "
                       f"curl -sS http://127.0.0.1:{zone.LOCAL_CLOSED}/local")
    finally:
        server.terminate()
        server.communicate()
    assert "ok GET /host" in seen.out and "ok GET /local" in seen.out, seen
    assert "abstract" not in seen.out and "not permitted" in seen.err, seen
    assert seen.said(r"\[internet\]") and seen.said("host"), seen


@row("I25")
def test_lists_of_nothing_and_words_that_are_no_keys(nbox, net):
    for text, word in (('[internet]\nhosts = []\n', "hosts"), ('[internet]\nhost = ["ok.test"]\n', "hosts"),
                       ('[internet]\nhosts = ["ok.test", "*"]\n', r"\*"), ('[internet]\n', "empty"),
                       ('[network]\nmode = "hosts"\n', "host"), ('[lan]\nhosts = "*"\n', "hosts"),
                       ('[localhost]\nports = [0]\n', "ports"), ('[internet]\nhosts=["*.*.test"]\n', "hosts"),
                       ('[internet]\nhosts = ["10.0.0.1"]\n', "lan")):
        nbox.network(more=text)
        since = net.mark()
        seen = nbox.run("curl", "-sS", "--max-time", "5", "http://ok.test/")
        assert seen.rc == 125 and seen.out == "" and re.search(word, seen.err), (text, seen)
        assert since.packets() == []


@row("I24")
def test_calls_a_minute(nbox, net):
    """Ten a minute, by keep-alive, one after the other and all at once."""
    nbox.network(internet=["ok.test"], per_minute=10)
    one = "GET /n HTTP/1.1\r\nHost: ok.test\r\n\r\n"
    raw = {"do": "raw", "host": "ok.test", "port": 80, "half": True}
    since = net.mark()
    said, after = nbox.probe({**raw, "send": one * 14}, {**raw, "send": one})
    assert said["value"]["data"].count("HTTP/1.1 200") == 10, said
    assert said["value"]["data"].count("HTTP/1.1 429") == 1, said
    assert "HTTP/1.1 429" in after["value"]["data"] and "Retry-After: " in after["value"]["data"], after
    assert len(since.requests()) == 10
    # TLS calls count one each; the alert or the page comes at once.
    since = net.mark()
    said = nbox.probe(*([{"do": "tls", "host": "ok.test", "port": 443}] * 13))
    assert ["value" in s for s in said] == [True] * 10 + [False] * 3, said
    assert all(s["ms"] < 1000 for s in said)
    assert len(since.events(event="tls")) == 10
    # In parallel; the resolver's look-ups are no calls.
    since = net.mark()
    seen = nbox.sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do curl -s -o /dev/null "
                   "-w '%{http_code}\\n' http://ok.test/p & done; wait")
    assert sorted(seen.lines) == ["200"] * 10 + ["429"] * 10, seen
    assert len(since.requests()) == 10
