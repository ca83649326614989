"""HTTP/1.1 through the gate: all that a client and a server may do with it still works."""

import hashlib
import json

import pytest

from lab import nbox, net, wait_until, zone


@pytest.fixture
def ok(nbox):
    nbox.network(internet=["ok.test", "early.test", "dribbling.test", "halving.test", "slow6.test",
                           "slow4.test", "six.test", "hosted.test", "many.test", "late.test", "hole.test"],
                 tcp=[f"ok.test:{zone.RAW}", f"ok.test:{zone.SINK}", "ok.test:8080", "ok.test:8443"])
    return nbox


def http(path="/", host="ok.test", port=80, **more):
    return {"do": "http", "host": host, "port": port, "path": path, **more}


def raw(text, host="ok.test", port=80, **more):
    return {"do": "raw", "host": host, "port": port, "send": text, "half": True, **more}


def test_answers(ok):
    """Every kind of answer, the same as without a gate in between."""
    steps = [http("/status/204"), http("/status/304"), http("/status/404"), http("/status/500"),
             http("/a", method="HEAD"), http("/bytes?n=1000000"), http("/bytes?n=77", method="HEAD"),
             http("/chunked"), http("/until-close"), http("/hints"), http("/redirect?to=http://evil.test/"),
             http("/headers", fields={"X-A": "b"}), http("/p", method="POST", body="body"),
             http("/p", method="PUT", body="x" * 70_000), http("/p", method="DELETE"),
             http("/p", method="PATCH", body=""), http("/p", method="OPTIONS"), http("/early", method="POST", body="")]
    outside, inside = ok.both(*steps)
    for step, there, here in zip(steps, outside, inside):
        assert here["value"]["status"] == there["value"]["status"], (step, here)
        if step["path"] == "/hints":  # an interim answer, then the last one with its own head
            assert here["value"]["body"].endswith("\r\n\r\nafter hints\n"), here
        elif step["path"] not in ("/headers",):
            assert here["value"]["body"] == there["value"]["body"], (step, here)
    assert "three\r\n0\r\nX-Sum: 13\r\n" in inside[7]["value"]["body"], "trailers are passed on"
    # The gate is no cache and no browser: a redirect is the client's to follow, and is judged then.
    assert inside[10]["value"]["fields"]["location"] == "http://evil.test/"


def test_keep_alive_and_pipelining(ok, net):
    one = "POST /{} HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 3\r\n\r\nabc"
    since = net.mark()
    said, = ok.probe(raw("".join(one.format(i) for i in range(50))))
    assert said["value"]["data"].count("HTTP/1.1 200 OK") == 50, said
    assert [e["target"] for e in since.requests()] == [f"/{i}" for i in range(50)]
    assert {e["count"] for e in since.requests()} == set(range(1, 51)), "one connection outside"
    # And of an old client that does not keep it.
    said, = ok.probe(raw("GET /old HTTP/1.0\r\nHost: ok.test\r\n\r\n"))
    assert said["value"]["data"].startswith("HTTP/1.1 200"), said


def test_chunked_uploads(ok, net):
    body = "5\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: yes\r\n\r\n"
    since = net.mark()
    said, = ok.probe(raw("POST /up HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n"
                         f"Trailer: X-Trailer\r\n\r\n{body}"
                         "GET /next HTTP/1.1\r\nHost: ok.test\r\n\r\n"))
    assert said["value"]["data"].count("HTTP/1.1 200") == 2, said
    assert since.wait(event="body")["start"] == "hello world"
    # Extensions of chunks, which nobody sends but to confuse two readers, are refused.
    said, = ok.probe(raw("POST /up HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "5;ext=1\r\nhello\r\n0\r\n\r\n"))
    assert said["value"]["data"].startswith("HTTP/1.1 400"), said


def test_expect_continue(ok):
    done = ok.sh("head -c 3000000 /dev/zero >z; curl -sS -D- -H 'Expect: 100-continue' -T z http://ok.test/up; "
                 "curl -sS -D- -H 'Expect: 100-continue' -H 'Transfer-Encoding: chunked' -T z http://ok.test/up")
    digest = hashlib.sha256(bytes(3_000_000)).hexdigest()
    assert done.out.count(f"len=3000000 sha256={digest}") == 2, done
    assert done.out.count("HTTP/1.1 100 Continue") == 2, done


def test_an_answer_before_the_whole_request(ok):
    """413 while the body is still coming: the client reads it, and nobody hangs."""
    done = ok.sh("head -c 20000000 /dev/zero | curl -sS -m 10 -o /dev/null -w '%{http_code}' "
                 "-H 'Expect:' -H 'Transfer-Encoding: chunked' -T - http://ok.test/early; echo \" $?\"")
    assert done.lines[-1].split()[0] in ("413", "000") and not done.lines[-1].endswith(" 28"), done
    done = ok.sh("head -c 20000 /dev/zero >s; curl -sS -m 10 -T s http://ok.test/early")
    assert done.out == "too early\n", done


def test_large_uploads_and_downloads(ok, long_run):
    """Gigabytes go through, and are the same at the end. (A sample of it without --long.)"""
    size = 3 << 30 if long_run else 60 << 20
    done = ok.sh(f"for u in http https; do head -c {size} /dev/zero | curl -sS -T - $u://ok.test/up; "
                 f"curl -sS \"$u://ok.test/bytes?n={size}\" | wc -c; done", timeout=600)
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(bytes(1 << 20))
    assert [line.split("len=")[-1] for line in done.lines] == [
        f"{size} sha256={digest.hexdigest()}", str(size)] * 2, done


def test_half_close(ok, net):
    """A client that ends its half still gets the answer, on raw, HTTP and TLS calls."""
    blob = "x" * 300_000
    said = ok.probe(raw(blob, port=zone.RAW), raw("GET /h HTTP/1.1\r\nHost: ok.test\r\n\r\n"))
    assert said[0]["value"]["data"] == blob + "bye" and said[0]["value"]["end"] == "eof"
    assert said[1]["value"]["data"].startswith("HTTP/1.1 200"), said
    # A server that ends its half first: the program's bytes still go there.
    since = net.mark()
    said, = ok.probe({"do": "raw", "host": "ok.test", "port": zone.SINK, "send": "y" * 100_000, "half": True})
    assert said["value"]["end"] == "eof" and since.wait(event="sunk")["length"] == 100_000


def test_slow_answers(ok):
    said = ok.probe(http("/", "dribbling.test"), {**http("/", "late.test"), "timeout": 8})
    assert said[0]["value"]["body"] == "slow", said
    assert said[1]["value"]["status"] == 200, said


@pytest.mark.parametrize("port", [80, 443])
def test_both_families(ok, net, port):
    """The first family that answers; one that swallows every packet costs a moment."""
    since = net.mark()
    names = ["ok.test", "six.test", "slow6.test", "slow4.test", "hosted.test", "many.test"]
    said = ok.probe(*(http("/f", name, port, tls=port == 443, timeout=8) for name in names))
    for name, one in zip(names, said):
        assert one["value"]["status"] == 200 and one["ms"] < 1500, (name, one)
    assert (zone.OK6, port) in since.reached() and (zone.OK, port) in since.reached()
    hole, = ok.probe({"do": "raw", "host": "hole.test", "port": 80, "half": True, "timeout": 1.0,
                      "send": "GET / HTTP/1.1\r\nHost: hole.test\r\n\r\n"})
    assert hole.get("error") == "time-out" or "HTTP/1.1 50" in hole["value"]["data"] or hole["value"]["end"], hole


def test_servers_that_are_not_there(ok):
    """The client hears at once, and what it would hear without a gate: refused, or a page for it."""
    said = ok.probe({"do": "raw", "host": "ok.test", "port": 8443, "half": True, "send": "x"},
                    http("/", "six.test"))
    assert said[1]["value"]["status"] == 200
    ok.network(internet=["git.test", "closing.test", "resetting.test", "garbling.test"],
               tcp=["git.test:9999"])
    refused, *odd = ok.probe({"do": "raw", "host": "git.test", "port": 9999, "half": True},
                             *(http("/", name) for name in ("closing.test", "resetting.test", "garbling.test")))
    assert refused.get("error") in ("ECONNRESET", "ECONNREFUSED") or refused["value"]["end"] in (
        "eof", "ECONNRESET"), refused
    assert refused["ms"] < 1000
    for one in odd:
        assert one.get("error") or one["value"]["status"] in (0, 502), one
        assert one["ms"] < 2000, one


def test_broken_answers(ok, net):
    """A server that speaks broken HTTP: that call ends, or is a 502; nothing reaches the program
    as the answer to a question that it has not asked."""
    import web
    keep = "GET /broken/{} HTTP/1.1\r\nHost: ok.test\r\n\r\nGET /after HTTP/1.1\r\nHost: ok.test\r\n\r\n"
    steps = [raw(keep.format(name), timeout=5.0) for name in web.BROKEN]
    since = net.mark()
    answers = dict(zip(web.BROKEN, ok.probe(*steps, timeout=110)))
    for name, said in answers.items():
        data = said.get("value", {}).get("data", "")
        assert said["ms"] < 3000, (name, said["ms"])
        assert "poison" not in data and "raw" not in data, (name, said)
        assert len(data) < 100_000 or name in ("head-huge",), (name, len(data))
        assert data.count("ok GET /after") <= 1
    # (An answer with both framings is passed on as chunked, and nothing after it: RFC 9112 6.3.)
    for name in ("no-http", "nul", "bare-cr", "two-lengths", "head-huge", "negative", "version"):
        data = answers[name].get("value", {}).get("data", "")
        assert data == "" or data.startswith("HTTP/1.1 502"), (name, data[:200])
    assert [e for e in since.requests() if e["target"].startswith("/broken/")], "they were asked"
    # The gate is as well as before.
    said, = ok.probe(http("/fine"))
    assert said["value"]["status"] == 200


def test_an_answer_before_any_request(ok):
    """The server speaks first: that is no answer."""
    said = ok.probe(*[http(f"/{i}", "early.test") for i in range(3)])
    for one in said:
        assert one.get("error") or one["value"]["status"] in (0, 200, 502), one


def test_web_ports_by_tcp(ok):
    """A port of `tcp` is raw: TLS and HTTP pass there as they are."""
    said = ok.probe(http("/x", port=8080), http("/x", port=8443, tls=True),
                    http("/x", port=8080, host_field="anything"))
    assert [s["value"]["status"] for s in said] == [200] * 3, said


def test_refusals_have_a_page(ok):
    """A page of text that names the host, and the line to add."""
    page, = ok.probe(http("/", host_field="other.test"))
    assert page["value"]["status"] in (403, 421), page
    assert "other.test" in page["value"]["body"], page
    ok.network(internet=["private.test"])
    page, = ok.probe(http("/", "private.test"))
    assert page["value"]["status"] == 403 and "[lan]" in page["value"]["body"], page
    assert "text/plain" in page["value"]["fields"]["content-type"]


def test_urls_of_every_shape(ok, net):
    """The target is what the client wrote, byte for byte."""
    targets = ["/", "/?", "/a//b/../c/./d", "/%41%2f%00", "/?q=a+b&c=%20;d", "/" + "x" * 8000,
               "/?u=http://evil.test/", "/a@b:80", "/~!$&'()*+,;=:@"]
    since = net.mark()
    for said in ok.probe(*(http(t) for t in targets)):
        assert said["value"]["status"] == 200, said
    assert [e["target"] for e in since.requests()] == targets


def test_many_headers(ok, net):
    fields = {f"X-{i}": "v" * 100 for i in range(200)}
    echo, = ok.probe(http("/headers", fields=fields))
    got = dict(json.loads(echo["value"]["body"]))
    assert all(got[f"x-{i}"] == "v" * 100 for i in range(200))
    large, = ok.probe(http("/headers", fields={"X-Large": "v" * 100_000}))
    assert large.get("error") or large["value"]["status"] in (400, 431), large
