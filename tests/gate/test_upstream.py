"""The company's proxy, of the user's own environment, on a machine that has no other way out."""

import pytest

from lab import Lab, make_box, net, nbox, zone

LOGIN = f"http://u:TOPSECRET@{zone.PROXY}:3128"
ALL = {name: LOGIN for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}


@pytest.fixture(scope="module")
def walled():
    lab = Lab(way_out=False)
    yield lab
    lab.close()


@pytest.fixture
def box(walled):
    yield from make_box(walled)


def test_calls_go_by_the_proxy(box, walled):
    """With the password, which the program does not see; what is refused never gets there."""
    box.network(internet=["ok.test"], tcp=[f"ok.test:{zone.RAW}"])
    since = walled.mark()
    done = box.sh("curl -sS --max-time 10 http://ok.test/plain; curl -sS --max-time 10 https://ok.test/tls; "
                  f"python3 -c 'import socket; s = socket.create_connection((\"ok.test\", {zone.RAW}), 10); "
                  "s.sendall(b\"raw\"); s.shutdown(1); print(s.makefile().read())'", env=ALL)
    assert done.out.count("ok GET") == 2 and "rawbye" in done.out, done
    seen = since.events(event="proxy")
    assert all(e["login"] for e in seen) and len(seen) == 3, seen
    assert {e["target"] for e in seen if e["method"] == "CONNECT"} == {"ok.test:443", f"ok.test:{zone.RAW}"}
    assert since.reached() == {(zone.PROXY, 3128)}
    since = walled.mark()
    done = box.sh("curl -sS --max-time 10 http://other.test/; curl -sS --max-time 10 https://other.test/; "
                  "curl -sS --max-time 10 -H 'Host: other.test' http://ok.test/; "
                  f"curl -sS --max-time 10 -x {LOGIN} http://other.test/; env; "
                  "cat /proc/*/environ /proc/*/cmdline 2>/dev/null", env=ALL)
    assert "ok GET" not in done.out and "TOPSECRET" not in done.out.replace(LOGIN, ""), done
    assert since.events(event="proxy") == [] and "other" not in str(since.packets())
    # The control: without a sandbox the proxy lets everything through.
    control = box.outside("curl", "-sS", "http://other.test/c", env=box.environment(ALL))
    assert control.out.startswith("ok GET /c"), control


def test_without_the_variables_there_is_no_way(box, walled):
    box.network(internet=["ok.test"])
    done = box.run("curl", "-sS", "--max-time", "10", "http://ok.test/")
    assert done.rc != 0 and "ok GET" not in done.out, done


def test_lower_case_and_one_for_all(box, walled):
    box.network(internet=["ok.test"])
    for env in ({"https_proxy": LOGIN, "http_proxy": LOGIN}, {"ALL_PROXY": LOGIN}, {"all_proxy": LOGIN + "/"}):
        done = box.sh("curl -sS --max-time 10 https://ok.test/a; curl -sS --max-time 10 http://ok.test/b", env=env)
        assert done.out.count("ok GET") == 2, (env, done)


def test_a_wrong_password(box, walled):
    """407 is told as what it is; the program sees a failed call and no question for a login."""
    box.network(internet=["ok.test"])
    wrong = {name: LOGIN.replace("TOPSECRET", "wr%20ng") for name in ALL}
    done = box.sh("curl -sS --max-time 10 -D- http://ok.test/; curl -sS --max-time 10 https://ok.test/", env=wrong)
    assert "ok GET" not in done.out and "407" not in done.lines[0], done
    assert "wr%20ng" not in done.err and "wr ng" not in done.err


def test_no_proxy_for_some(nbox, net):
    """NO_PROXY: those names are called straight."""
    nbox.network(internet=["ok.test", "git.test"], lan=["nas.test"])
    since = net.mark()
    done = nbox.sh("curl -sS http://ok.test/by; curl -sS http://git.test/straight; curl -sS http://nas.test/lan",
                   env={**ALL, "NO_PROXY": "localhost,git.test,10.77.0.0/24"})
    assert done.out.count("ok GET") == 3, done
    assert [e["target"] for e in since.events(event="proxy")] == ["http://ok.test/by"]


def test_the_proxy_is_judged_too(nbox, net):
    """By a proxy, names lead where it says: those with private addresses are refused as ever."""
    nbox.network(internet=["private.test", "loop.test", "meta.test"])
    since = net.mark()
    done = nbox.sh("for h in private loop meta; do curl -sS --max-time 5 http://$h.test/; "
                   "curl -sS --max-time 5 https://$h.test/; done", env=ALL)
    assert "ok GET" not in done.out and since.events(event="proxy") == [], done


def test_local_calls_go_straight(nbox, net):
    nbox.network(ports=[zone.LOCAL_WEB], models=[zone.LOCAL_MODEL])
    since = net.mark()
    done = nbox.sh(f"curl -sS http://localhost:{zone.LOCAL_WEB}/l; "
                   f"curl -sS http://localhost:{zone.LOCAL_MODEL}/api/tags", env=ALL)
    assert "ok GET /l" in done.out and '"ok": "/api/tags"' in done.out, done
    assert since.events(event="proxy") == []


@pytest.mark.parametrize("value", ["socks5://10.77.0.8:1080", "http://10.77.0.8:99999", "http://", "%%%"])
def test_variables_that_cannot_be_read(nbox, value):
    """Said by name at the start; a password in it is not."""
    nbox.network(internet=["ok.test"])
    done = nbox.run("true", env={"HTTPS_PROXY": value.replace("//", "//u:TOPSECRET@")})
    assert done.rc == 125 and done.said("HTTPS_PROXY"), done
    assert "TOPSECRET" not in done.err


def test_a_proxy_that_does_not_answer(nbox, net):
    """Gone, or no proxy at all: the call ends, the run goes on."""
    nbox.network(internet=["ok.test"])
    for place in (f"http://{zone.PROXY}:1", f"http://{zone.FAR4}:{zone.RAW}", f"http://{zone.FAR4}:80"):
        done = nbox.sh("curl -sS --max-time 10 https://ok.test/; echo $?; curl -sS --max-time 10 http://ok.test/x; echo $?",
                       env={"HTTPS_PROXY": place, "HTTP_PROXY": place})
        codes = [line for line in done.lines if line.isdigit()]
        assert codes[0] not in ("0", "28"), (place, done)
