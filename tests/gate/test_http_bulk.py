"""Long bodies through the gate, which does not look at them: whole, in order, and with the same end
as without it."""

import hashlib
import json

import pytest

from lab import HERE, nbox, net, wait_until
from web import pattern

SIZES = [1, 16_383, 16_384, 16_385, 65_536, 65_537, 131_071, 131_072, 1 << 20, 5_000_003]
MANY = 12_000_000  # more than all buffers on the way take


@pytest.fixture
def ok(nbox):
    nbox.network(internet=["ok.test", "deaf.test"])
    return nbox


def digest(n):
    return hashlib.sha256(pattern(n)).hexdigest()


def bulk(box, *calls):
    """What came of each call of bulk.py."""
    done = box.run("/usr/bin/python3", str(HERE / "bulk.py"), stdin=json.dumps(calls), timeout=100)
    assert done.rc == 0, done
    return [json.loads(line) for line in done.lines]


def ask(path, method="GET", length=None, **fields):
    lines = [f"{method} {path} HTTP/1.1", "Host: ok.test"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join(lines) + "\r\n\r\n"


def put(n, path="/up"):
    return [ask(path, "PUT", n), {"body": n}]


def call(*send, **more):
    return {"host": "ok.test", "send": list(send), **more}


def test_uploads(ok, net):
    """Of every size, one behind the other on one connection, with the next request right behind."""
    since = net.mark()
    said, = bulk(ok, call(*[part for n in SIZES for part in put(n, f"/{n}")], ask("/last")))
    assert [a[0] for a in said["answers"]] == [200] * (len(SIZES) + 1), said
    assert said["end"] == "eof" and said["sent"] == "all"
    bodies = {e["target"]: (e["length"], e["sha256"]) for e in since.events(event="body")}
    assert bodies == {f"/{n}": (n, digest(n)) for n in SIZES}
    requests = since.requests()
    assert [e["target"] for e in requests] == [*(f"/{n}" for n in SIZES), "/last"]
    assert [e["count"] for e in requests] == list(range(1, len(SIZES) + 2)), "one connection"


def test_downloads(ok):
    said, slow, end = bulk(
        ok, call(*(ask(f"/bytes?n={n}") for n in SIZES), ask("/status/204"), ask(f"/bytes?n={MANY}", "HEAD"),
                 ask(f"/bytes?n={MANY}"), ask("/status/304"), ask("/bytes?n=77")),
        call(ask(f"/bytes?n={MANY}"), hold=1.0), call(ask(f"/until-close?n={MANY}")))
    empty = hashlib.sha256().hexdigest()
    assert said["answers"] == [*([200, n, digest(n)] for n in SIZES), [204, 0, empty], [200, 0, empty],
                               [200, MANY, digest(MANY)], [304, 0, empty], [200, 77, digest(77)]]
    assert slow["answers"] == [[200, MANY, digest(MANY)]], slow
    whole = hashlib.sha256(b"until the end" + pattern(MANY)).hexdigest()
    assert end["answers"] == [[200, MANY + 13, whole]] and end["end"] == "eof", end


def test_both_ways_at_once(ok, net):
    """Long bodies in both directions of many calls, more than there are pipes to lend."""
    since = net.mark()
    (ok.proj / "calls").write_text(json.dumps([call(*put(700_000), ask("/bytes?n=900000"), *put(300_000))]))
    done = ok.sh(f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /usr/bin/python3 {HERE}/bulk.py <calls & done; wait",
                 timeout=100)
    said = [json.loads(line) for line in done.lines]
    assert len(said) == 12, done
    for one in said:
        assert [a[0] for a in one["answers"]] == [200] * 3 and one["answers"][1] == [
            200, 900_000, digest(900_000)], one
    bodies = [(e["length"], e["sha256"]) for e in since.events(event="body")]
    assert sorted(bodies) == sorted(12 * [(700_000, digest(700_000)), (300_000, digest(300_000))])


def test_chunked(ok, net):
    """Chunks are made anew; what is in them is the same."""
    since = net.mark()
    said, = bulk(ok, call(*(part for size in (1000, 16_384, 200_000) for part in (
        ask("/up", "PUT", **{"Transfer-Encoding": "chunked"}), {"body": 2_000_003, "chunk": size})),
        ask("/stream?n=3&gap=0")))
    assert [a[0] for a in said["answers"]] == [200] * 4, said
    assert [(e["length"], e["sha256"]) for e in since.events(event="body")] == [
        (2_000_003, digest(2_000_003))] * 3


def test_an_answer_in_the_middle(ok, net):
    """The server answers before it has the body, and says no more: the client gets the answer, and
    the rest of the body gets nowhere."""
    since = net.mark()
    said = bulk(ok, call(*put(MANY, "/midway?at=3000000")), call(*put(MANY, "/early")))
    assert said[0]["answers"] == [[413, 7, hashlib.sha256(b"midway\n").hexdigest()]], said
    assert said[0]["ms"] < 8000
    assert since.wait(event="midway")["rest"] < MANY - 3_000_000
    # The one that closes on unread bytes may reset what it has said.
    assert said[1]["ms"] < 8000 and [a[0] for a in said[1]["answers"]] in ([], [413]), said


def test_answers_cut_short(ok):
    """An answer that ends in the middle is never taken for whole."""
    n, half = MANY, MANY // 2
    said = bulk(ok, call(ask(f"/cut?n={n}")), call(ask(f"/cut?n={n}&reset=1&wait=0.5")),
                call(ask(f"/until-close?n={n}&reset=1")), call(ask(f"/cut?n={n}"), hold=1.0))
    for one in (said[0], said[3]):
        assert one["answers"] in ([], [[200, half, "cut"]]), one
        assert one["answers"] or one["end"] == "ConnectionResetError", one
    for one in said[1:3]:
        assert one["answers"] == [] and one["end"] == "ConnectionResetError", one


def test_uploads_cut_short(ok, net):
    """A body that breaks off is not whole for the server either, by a reset or an end."""
    since = net.mark()
    half = {"body": MANY // 2}
    bulk(ok, call(ask("/reset", "PUT", MANY), half, {"sleep": 0.3}, {"reset": 1}),
         call(ask("/end", "PUT", MANY), half))
    assert wait_until(lambda: len(since.events(event="gone")) == 2, 10), since.events()
    assert [e for e in since.events(event="body") if e["length"] >= MANY] == []
    said, = bulk(ok, call(ask("/after")))
    assert [a[0] for a in said["answers"]] == [200], said


def test_servers_that_do_not_read(ok):
    """They stop the program; what waits on the way is bounded. More of them than there are pipes to
    lend leave the others their way."""
    long = [f"PUT /up HTTP/1.1\r\nHost: deaf.test\r\nContent-Length: {1 << 40}\r\n\r\n"]
    deaf = {"host": "deaf.test", "send": long}
    *stopped, up, down = bulk(ok, {**deaf, "fill": 1.0}, *[{**deaf, "fill": 0.02}] * 140,
                              call(*put(2_000_000)), call(ask(f"/bytes?n={MANY}")))
    assert all(one["sent"] == "TimeoutError" and one["filled"] < 32 << 20 for one in stopped), stopped
    assert stopped[0]["filled"] > 100_000
    assert [a[0] for a in up["answers"]] == [200] and down["answers"] == [[200, MANY, digest(MANY)]]
