"""[localhost] models: a stand-in (web.Models) that speaks as Ollama and as OpenAI's servers do."""

import json
import re
import statistics
import subprocess

import pytest

from lab import gate_of, nbox, net, wait_until, zone

WATCH = """
import http.client, json, sys, time
path, body, quiet, gap = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
c = http.client.HTTPConnection("localhost", 11434, timeout=120)
c.request("POST", path, body=body, headers={"X-Quiet": quiet, "X-Gap": gap})
r = c.getresponse()
print(r.status, r.getheader("Content-Type"))
for line in r:
    now = time.monotonic()
    line = line.strip().removeprefix(b"data: ")
    if line and line != b"[DONE]":
        said = json.loads(line)
        print(json.dumps([(now - said.pop("sent")) * 1000, said]))
    elif line:
        print(line.decode())
"""
ASKS = {
    "/api/generate": {"model": "m", "prompt": "tell"},
    "/api/chat": {"model": "m", "messages": [{"role": "user", "content": "tell"}]},
    "/v1/chat/completions": {"model": "m", "stream": True, "messages": [{"role": "user", "content": "tell"}]},
    "/v1/completions": {"model": "m", "stream": True, "prompt": "tell"},
}


@pytest.fixture
def model(nbox):
    nbox.network(models=[zone.LOCAL_MODEL])
    nbox.watch = nbox.write("watch.py", WATCH)
    return nbox


def tokens(done):
    return [json.loads(line) for line in done.lines[1:] if line != "[DONE]"]


@pytest.mark.parametrize("path", ASKS)
def test_token_by_token(model, path):
    """Each as it is said: the gate adds less than 5 ms to any, at the median well under one."""
    words = ("/usr/bin/python3", model.watch, path, json.dumps(ASKS[path]), "0", "0.03")
    late = []
    for _ in range(4):
        done = model.run(*words)
        assert done.lines[0].startswith("200 "), done
        late += [ms for ms, _ in tokens(done)]
    direct = [ms for ms, _ in tokens(model.outside(*words))]
    assert len(late) >= 20 and len(direct) >= 5
    added = statistics.median(late) - statistics.median(direct)
    assert added < 5, (late, direct)
    text = json.dumps([said for _, said in tokens(done)])
    assert all(word in text for word in ("Once", " upon", " time")), done


@pytest.mark.parametrize("seconds", [3, pytest.param(75, marks=pytest.mark.long)])
def test_a_long_silence_before_the_first_word(model, seconds):
    """A model that thinks for long is not cut off."""
    done = model.run("/usr/bin/python3", model.watch, "/v1/chat/completions",
                     json.dumps(ASKS["/v1/chat/completions"]), seconds, "0.3", timeout=120)
    assert len(tokens(done)) == 5 and done.lines[-1] == "[DONE]", done
    assert max(ms for ms, _ in tokens(done)) < 100, done


def test_a_silence_of_a_site(nbox):
    nbox.network(internet=["ok.test"])
    done = nbox.sh("curl -sSN --max-time 60 'http://ok.test/stream?n=3&gap=0.3&quiet=3'")
    assert done.out.count("data: ") == 3, done


def test_a_client_that_goes_away(model, net):
    """The runtime hears of it, and stops working."""
    since = net.mark()
    done = model.sh("timeout 0.5 curl -sN -H 'X-Gap: 0.3' -d '{\"model\":\"m\"}' "
                    "http://localhost:11434/api/generate")
    assert done.out.count("\n") <= 3, done
    assert since.wait(event="gone")


def test_clients_as_they_are(model):
    """curl's and a library's way to ask; a large prompt; a picture."""
    big = "word " * 400_000
    (model.proj / "big.json").write_text(json.dumps({"model": "m", "stream": False, "prompt": big}))
    done = model.sh("curl -sS -d @big.json http://localhost:11434/api/generate; "
                    "curl -sS -H 'Transfer-Encoding: chunked' -d @big.json http://127.0.0.1:11434/api/generate; "
                    "curl -sS -H 'Expect: 100-continue' -d @big.json http://localhost:11434/v1/embeddings; "
                    "curl -sS http://localhost:11434/v1/models")
    assert done.out.count('"ok"') == 4, done


def test_the_largest_body(model, net):
    """What is larger than a body may be is refused and not kept."""
    since = net.mark()
    done = model.sh("(printf '{\"model\":\"m\",\"prompt\":\"'; head -c 40000000 /dev/zero | tr '\\0' a; printf '\"}') >b; "
                    "curl -sS -o out -w '%{http_code}\\n' -H 'Expect:' -d @b http://localhost:11434/api/generate")
    assert done.lines[-1] in ("413", "000"), done
    assert since.requests() == []


def test_refusals_say_why(model):
    done = model.sh("curl -sS -d '{\"model\":\"m\"}' http://localhost:11434/api/pull; echo; "
                    "curl -sS -X DELETE -d '{\"model\":\"m\"}' http://localhost:11434/api/delete")
    assert "/api/pull" in done.out and "models" in done.out, done
    assert done.said(r"/api/pull|11434") and done.said("models"), done


def test_no_runtime_there(nbox):
    """The port is granted and nobody listens: as without a sandbox, the call fails at once."""
    nbox.network(models=[11999], ports=[12999])
    for said in nbox.probe({"do": "http", "host": "localhost", "port": 11999, "path": "/api/tags"},
                           {"do": "http", "host": "localhost", "port": 12999}):
        assert said.get("error") or said["value"]["status"] in (0, 502), said
        assert said["ms"] < 1000


HOLD = """
import socket, sys
socks = []
for i in range(24):
    s = socket.create_connection(("127.0.0.1", 11434))
    s.settimeout(10)
    s.sendall(b"POST /api/generate HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 31000000\\r\\n\\r\\n")
    try:
        for _ in range(30):
            s.sendall(b" " * 1000000)
    except OSError:
        pass
    socks.append(s)
print("held", flush=True)
sys.stdin.readline()
said = []
for s in socks:
    s.setblocking(False)
    try:
        said.append(s.recv(100)[9:12].decode())
    except OSError:
        said.append("none")
print(" ".join(said), flush=True)
sys.stdin.readline()
for s in socks:
    s.close()
print("closed", flush=True)
sys.stdin.readline()
"""


def test_bodies_of_all_calls_are_bounded(nbox):
    """One after the other sends the beginning of a large body and waits: 503 for those beyond."""
    nbox.network(models=[zone.LOCAL_MODEL])
    process = nbox.start("/usr/bin/python3", "-c", HOLD, stdin=subprocess.PIPE)
    try:
        assert process.stdout.readline() == "held\n"
        gate = gate_of(process.pid)
        rss = int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{gate}/status").read())[1])
        process.stdin.write("\n")
        process.stdin.flush()
        said = process.stdout.readline().split()
        assert rss < 180_000, rss
        assert said.count("none") >= 2 and said.count("503") + said.count("none") == 24 and "503" in said, said
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "closed\n"
        # What was held is free again.
        assert wait_until(lambda: int(re.search(r"RssAnon:\s+(\d+)",
                                                open(f"/proc/{gate}/status").read())[1]) < 20_000)
    finally:
        process.kill()
        process.communicate()
