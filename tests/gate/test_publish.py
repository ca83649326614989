"""--publish: the way in, from this machine's loopback to a server in the sandbox."""

import os
import signal
import subprocess

import pytest

from lab import gate_of, nbox, net, wait_until, zone


@pytest.fixture
def server(nbox):
    """A real server inside, published; `start(flags...)` gives the run."""
    nbox.write("index.html", "from inside\n")
    runs = []

    def start(*flags, port=3000, address="127.0.0.1", wait=None, **grants):
        nbox.network(**grants)
        words = [w for f in flags for w in ("--publish", f)]
        run = nbox.start("/usr/bin/python3", "-m", "http.server", "-b", address, str(port), flags=words)
        runs.append(run)
        assert wait_until(lambda: get(nbox, wait or port).rc == 0 or run.poll() is not None, 10), run
        return run
    yield start
    for run in runs:
        if run.poll() is None:
            run.send_signal(signal.SIGTERM)
        run.communicate(timeout=10)


def get(nbox, port, host="127.0.0.1", path="/"):
    return nbox.outside("curl", "-sS", "--max-time", "5", f"http://{host}:{port}{path}")


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_a_server_inside_is_reached(nbox, server, address):
    server("3000", address=address)
    assert get(nbox, 3000).out == "from inside\n"
    assert get(nbox, 3000, "[::1]").out == "from inside\n"


def test_another_port_outside(nbox, server):
    server("3000:3005", wait=3005)
    assert get(nbox, 3005).out == "from inside\n"
    assert get(nbox, 3000).rc == 7


def test_only_this_machines_loopback(nbox, server, net):
    """No other address of this machine, and nobody else's machine."""
    server("3000", address="0.0.0.0")
    for address in (zone.NEAR4, zone.NEAR_PUBLIC4, f"[{zone.NEAR6}]"):
        assert get(nbox, 3000, address).rc == 7
    far = subprocess.run(net.words("curl", "-sS", "--max-time", "5", f"http://{zone.NEAR4}:3000/", far=True),
                         capture_output=True, text=True)
    assert far.returncode == 7 and far.stdout == "", far


def test_only_what_is_published(nbox, server):
    server("3000", port=3000)
    run2 = nbox.start("/usr/bin/python3", "-m", "http.server", "-b", "127.0.0.1", "3010")
    try:
        assert get(nbox, 3010).rc == 7
    finally:
        run2.terminate()
        run2.communicate()


def test_nobody_listens_inside(nbox):
    """The call ends at once; it works as soon as a server is there."""
    nbox.network()
    run = nbox.start("sh", "-c", "echo up; read go; exec python3 -m http.server -b 127.0.0.1 3000",
                     flags=["--publish", "3000"], stdin=subprocess.PIPE)
    try:
        assert run.stdout.readline() == "up\n"
        done = get(nbox, 3000)
        assert done.rc in (7, 52, 55, 56), done
        run.stdin.write("go\n")
        run.stdin.flush()
        assert wait_until(lambda: get(nbox, 3000).rc == 0, 10)
    finally:
        run.terminate()
        run.communicate()
    assert get(nbox, 3000).rc == 7, "and nobody listens when the run has ended"


def test_a_port_that_is_taken(nbox):
    nbox.network()
    done = nbox.run("true", flags=["--publish", f"3000:{zone.LOCAL_WEB}"])
    assert done.rc == 125 and done.said(str(zone.LOCAL_WEB)), done
    for wrong in ("0", "70000", "x", "3000:", ":3000", "3000:1:2", "-1", "3000:0"):
        done = nbox.run("true", flags=["--publish", wrong])
        assert done.rc == 125 and "--publish: error" in done.err, (wrong, done)


def test_in_and_out_at_once(nbox, server, net):
    """A login's callback: the program calls out and is called; large bodies both ways."""
    (nbox.proj / "large").write_bytes(bytes(20 << 20))
    server("3000", internet=["ok.test"])
    done = nbox.outside("sh", "-c", "for i in 1 2 3 4; do curl -sS http://127.0.0.1:3000/large | wc -c & done; wait")
    assert done.lines == [str(20 << 20)] * 4, done


def test_what_comes_in_is_no_way_out(nbox, server):
    """The published port gives the program no port of this machine."""
    server("3000")
    nbox.network()
    done = nbox.sh("curl -sS --max-time 3 http://127.0.0.1:3000/; echo $?")
    assert done.lines == ["7"], done


def test_the_way_in_ends_with_the_gate(nbox, server):
    run = server("3000")
    os.kill(wait_until(lambda: gate_of(run.pid)), signal.SIGKILL)
    assert wait_until(lambda: get(nbox, 3000).rc == 7, 5)
