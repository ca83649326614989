"""Garbage, slow and deaf peers, on both sides of the gate: the one call ends, all others go on, and
memory stays bounded."""

import json
import pathlib
import random
import re
import time

from lab import HERE, gate_of, nbox, net, wait_until, zone

GRANTS = {"internet": ["ok.test", "deaf.test", "stalling.test", "garbling.test", "closing.test",
                       "resetting.test", "early.test", "halving.test"],
          "tcp": [f"ok.test:{p}" for p in (zone.RAW, zone.SINK, zone.FLOOD)],
          "lan": ["nas.test"], "ports": [zone.LOCAL_WEB], "models": [zone.LOCAL_MODEL]}

PORTS = [("ok.test", 80), ("ok.test", 443), ("nas.test", 80), ("localhost", zone.LOCAL_WEB),
         ("localhost", zone.LOCAL_MODEL), ("127.0.0.1", 53), ("ok.test", 8080), ("198.18.0.1", 1)]


def memory(pid):
    """Kibibytes of a process that are its own."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+) kB", text, re.M)[1])


def raw(host, port, send="", **more):
    return {"do": "raw", "host": host, "port": port, "send": send, **more}


WELL = {"do": "http", "host": "ok.test", "port": 80}


def test_garbage_on_every_port(nbox, net):
    nbox.network(**GRANTS)
    dice = random.Random(7)

    def noise(n):
        return bytes(dice.randrange(256) for _ in range(n)).decode("latin1")
    pieces = [noise(1), noise(11), noise(3000), "\0" * 5000, "\xff" * 70000, "GET", "GET / HTTP/1.1\r\n",
              "\r\n" * 5000, "\x16\x03\x01", "\x16\x03\x01\x00\x01\x01", "POST / HTTP/1.1\r\nHost: ok.test\r\n"
              "Content-Length: 10\r\n\r\nshort", "A" * 200_000]
    steps = [raw(host, port, piece, half=True, timeout=3.0) for host, port in PORTS for piece in pieces]
    steps += [raw(host, port, half=True, timeout=3.0) for host, port in PORTS]  # nothing at all
    said = nbox.probe(*steps, WELL, timeout=110)
    assert said[-1]["value"]["status"] == 200, said[-1]
    slow = [(s["host"], s["port"], one["ms"]) for s, one in zip(steps, said) if one["ms"] > 2500]
    assert slow == [], slow


def test_one_byte_at_a_time(nbox):
    nbox.network(**GRANTS)
    get = "GET /slow HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"
    post = ("POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 28\r\nConnection: close\r\n\r\n"
            '{"model":"m","stream":false}')
    said = nbox.probe(raw("ok.test", 80, pieces=list(get), pause=0.001),
                      raw("localhost", zone.LOCAL_MODEL, pieces=list(post), pause=0.001),
                      raw("ok.test", zone.RAW, pieces=list("drop by drop"), pause=0.001, half=True))
    assert said[0]["value"]["data"].startswith("HTTP/1.1 200"), said
    assert said[1]["value"]["data"].startswith("HTTP/1.1 200"), said
    assert said[2]["value"]["data"] == "drop by dropbye", said


SLOW = """
import socket, sys, threading, time
def one(name, host, port, text):
    s = socket.create_connection((host, port)); s.settimeout(20)
    start = time.monotonic()
    try:
        s.sendall(text)
        data = s.recv(65536)
        end = "answer" if data else "eof"
    except OSError as error: end = type(error).__name__
    print(name, end, round(time.monotonic() - start, 1), flush=True)
calls = {
    "hello": ("ok.test", 443, b"\\x16\\x03\\x01\\x02\\x00\\x01\\x00\\x01\\xfc\\x03\\x03"),
    "hello-silent": ("ok.test", 443, b""), "http-silent": ("ok.test", 80, b""),
    "http-head": ("ok.test", 80, b"GET / HTTP/1.1\\r\\nHost: ok.te"),
    "model-head": ("localhost", 11434, b"POST /api/chat HTTP/1.1\\r\\n"),
}
threads = [threading.Thread(target=one, args=(n, *c)) for n, c in calls.items()]
[t.start() for t in threads]
time.sleep(1)
one("meanwhile", "ok.test", 80, b"GET / HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n")
[t.join() for t in threads]
"""


def test_heads_that_never_end(nbox):
    """They are given ten seconds in all; others go on meanwhile."""
    nbox.network(**GRANTS)
    done = nbox.run("/usr/bin/python3", "-c", SLOW)
    seen = {line.split()[0]: (line.split()[1], float(line.split()[2])) for line in done.lines}
    assert seen["meanwhile"][0] == "answer" and seen["meanwhile"][1] < 1, done
    for name in ("hello", "hello-silent", "http-silent", "http-head", "model-head"):
        assert 9 <= seen[name][1] < 13, done


DEAF = """
import socket, sys, time
calls = []
def deaf(host, port, text=b"", send=0):
    s = socket.create_connection((host, port))
    s.setblocking(False)
    for data in (text, bytes(1 << 20) * send):
        try: s.send(data)
        except OSError: pass
    calls.append(s)
for _ in range(20):
    deaf("ok.test", 7002)                                   # a flood that nobody reads
    deaf("ok.test", 80, b"GET /bytes?n=100000000 HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n")
    deaf("deaf.test", 80, b"POST / HTTP/1.1\\r\\nHost: deaf.test\\r\\nContent-Length: 99999999\\r\\n\\r\\n", 8)
    deaf("localhost", 11434, b"POST /api/chat HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 30000000\\r\\n\\r\\n")
time.sleep(1)
print("deaf", flush=True)
sys.stdin.readline()
s = socket.create_connection(("ok.test", 80)); s.settimeout(5)
s.sendall(b"GET / HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n")
print(s.recv(12).decode(), flush=True)
"""


def test_peers_that_do_not_read(nbox):
    """Nothing piles up: at most 256 KiB a call wait in the gate, and others are served."""
    nbox.network(**GRANTS)
    run = nbox.start("/usr/bin/python3", "-c", DEAF, stdin=-1)
    try:
        assert run.stdout.readline() == "deaf\n", run.stderr.read()
        kept = memory(gate_of(run.pid))
        out, err = run.communicate("go\n", timeout=30)
        assert out.strip() == "HTTP/1.1 200", (out, err)
        assert kept < 80 * 256 + 8192, kept
    finally:
        run.kill()


def test_servers_that_misbehave(nbox, net):
    nbox.network(**GRANTS)
    names = ["garbling.test", "closing.test", "resetting.test", "early.test", "halving.test"]
    steps = [{"do": "http", "host": n, "port": 80} for n in names] + [
        {"do": "tls", "host": n, "port": 443, "verify": False} for n in names]
    said = nbox.probe(*steps, WELL, timeout=60)
    for step, one in zip(steps, said):
        assert one.get("error") or one["value"].get("status", 0) in (0, 200, 502), (step, one)
        assert one["ms"] < 8000, (step, one)
    assert said[-1]["value"]["status"] == 200


def test_a_server_that_stalls_hinders_nobody(nbox):
    nbox.network(**GRANTS)
    done = nbox.sh("for i in 1 2 3 4 5 6 7 8 9; do curl -s --max-time 4 http://stalling.test/ & done; "
                   "sleep 0.3; curl -sS --max-time 3 -w '%{time_total}\\n' http://ok.test/; wait")
    assert done.out.startswith("ok GET") and float(done.lines[1]) < 1, done


def test_many_calls_at_once(nbox, net):
    """Five hundred calls open, and each is served; then none is left. (Ten thousand: bench/net, whose
    server needs no thread for each.)"""
    count = 500
    nbox.network(**GRANTS)
    steps = [{"do": "many", "count": count, "host": "ok.test", "port": zone.RAW, "hold": 0.0},
             {"do": "say", "text": "over"}, {"do": "sleep", "seconds": 1.0}, WELL]
    run = nbox.start("/usr/bin/python3", HERE / "probe.py", json.dumps(steps))
    gate = wait_until(lambda: gate_of(run.pid))
    most = 0
    while run.poll() is None:
        try:
            most = max(most, memory(gate))
        except (OSError, TypeError):
            pass
        time.sleep(0.05)
    out, err = run.communicate()
    said = [json.loads(line) for line in out.splitlines()]
    assert said[0]["value"] == count, (said, err)
    assert said[3]["value"]["status"] == 200
    assert most < count * 64 + 16384, most


def test_more_calls_than_there_may_be(nbox):
    """The next ones wait, and are served when others end."""
    nbox.network(**GRANTS)
    run = nbox.outside("sh", "-c", 'ulimit -n 128; exec "$@"', "sh", *nbox.argv(
        "/usr/bin/python3", "-c", MANY), timeout=60)
    assert run.lines == ["120 of 120"], run


MANY = """
import socket, threading
good = []
def one():
    s = socket.create_connection(("ok.test", 80)); s.settimeout(30)
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n")
    data = b""
    while more := s.recv(65536): data += more
    good.append(data.startswith(b"HTTP/1.1 200"))
threads = []
for _ in range(4):
    threads = [threading.Thread(target=one) for _ in range(30)]
    [t.start() for t in threads]
    [t.join() for t in threads]
print(sum(good), "of", 120)
"""
