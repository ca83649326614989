"""What people ran into when real programs went through other sandboxes' proxies, where no other
test here has it: each with the program as it comes, and nothing set for it."""

import json

import pytest

from lab import nbox, net, zone

PROXY = f"http://u:TOPSECRET@{zone.PROXY}:3128"

ENVIRONMENT = """\
import os, httpx, requests
print(sorted(k for k in os.environ if k.lower().endswith("_proxy")))
for get in (httpx.get, requests.get):
    print(get("http://ok.test/e").text.split()[0])
"""


@pytest.mark.parametrize("users", [{}, {"NO_PROXY": "localhost,[::1],fe80::/10,10.0.0.0/8"},
                                   {"all_proxy": PROXY, "no_proxy": "::1"}])
def test_no_proxy_variables(nbox, users):
    """None is made, none of the user's goes in: httpx, say, makes no client at all where NO_PROXY
    has an address of IPv6 in it that it cannot read."""
    nbox.network(internet=["ok.test"])
    done = nbox.run("/usr/bin/python3", "-c", ENVIRONMENT, env=users)
    assert (done.rc, done.lines, done.err) == (0, ["[]", "ok", "ok"], ""), done


def test_a_java_source(nbox):
    """The JVM knows no proxy variable, and says a line on stderr of each option that it is given by
    one of its own: nothing may be said."""
    nbox.network(internet=["ok.test"])
    nbox.write("T.java", """\
import java.io.*;
import java.net.*;
public class T {
	public static void main(String[] words) throws Exception {
		new URL(words[0]).openStream().transferTo(System.out);
	}
}
""")
    done = nbox.run("java", "T.java", "http://ok.test/source")
    assert done.rc == 0 and done.out.startswith("ok GET /source") and done.err == "", done


def with_ssh_config(path, argv):
    """The words that run a program where /etc/ssh/ssh_config is this file."""
    script = ('mount --bind "$1" /etc/ssh/ssh_config && shift && '
              'exec setpriv --inh-caps=-all --ambient-caps=-all "$@"')
    return ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script, "sh", path,
            *argv]


def test_the_machines_ssh_settings(nbox, net):
    """ssh reads them and makes the call itself; no ProxyCommand is put in between."""
    path = nbox.dir / "ssh_config"
    path.write_text("Host shortcut\n  HostName git.test\n  Port 2222\n  HostKeyAlias machine-wide\n")
    nbox.network(internet=["git.test"], tcp=["git.test:2222"])
    done = nbox.outside(*with_ssh_config(path, nbox.argv("ssh", "-G", "shortcut")))
    assert {"hostname git.test", "port 2222", "hostkeyalias machine-wide"} <= set(done.lines), done
    assert "proxycommand" not in done.out, done
    since = net.mark()
    done = nbox.outside(*with_ssh_config(path, nbox.argv(
        "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "shortcut", "true")))
    assert done.rc == 255 and "port 2222" in done.err, done  # nobody listens there
    assert since.reached() == {(zone.GIT, 2222)}, done


def test_a_company_registry_with_a_private_address(nbox, net):
    """Under [internet] it is refused, with the words that help, and under [lan] it works."""
    get = ("curl", "-sS", "--max-time", "10", "http://private.test/a")
    nbox.network(internet=["private.test"])
    since = net.mark()
    done = nbox.run(*get)
    assert since.reached() == set() and "ok GET" not in done.out, done
    for said in (done.out, done.err):
        assert zone.FAR4 in said and "private" in said and '[lan] hosts = ["private.test"]' in said, done
    # As it says.
    nbox.network(lan=["private.test"])
    done = nbox.run(*get)
    assert done.out.startswith("ok GET /a") and done.err == "", done


LOCAL = """\
import httpx, requests
print(httpx.get("http://localhost:8101/httpx").text, end="")
print(requests.get("http://127.0.0.1:8101/requests").text, end="")
"""


def test_clients_of_this_machines_services(nbox, net):
    """By name and by number, also where the service listens on ::1 only; beside a granted host of
    the internet; whatever proxy the user has."""
    assert (zone.LOCAL_WEB, zone.LOCAL_WEB6) == (8101, 8102)
    nbox.network(internet=["ok.test"], ports=[zone.LOCAL_WEB, zone.LOCAL_WEB6])
    nbox.write("local.py", LOCAL)
    for env in ({}, {"http_proxy": PROXY, "HTTP_PROXY": PROXY}):
        since = net.mark()
        done = nbox.sh("curl -sS http://localhost:8101/name; curl -sS http://127.0.0.1:8101/number; "
                       "/usr/bin/python3 local.py; "
                       "node -e 'fetch(\"http://localhost:8101/node\").then(r => r.text())"
                       ".then(t => process.stdout.write(t))'; "
                       "curl -sS http://localhost:8102/six; curl -sS 'http://[::1]:8102/literal'", env=env)
        assert [line.split()[2] for line in done.lines] == [
            "/name", "/number", "/httpx", "/requests", "/node", "/six", "/literal"], done
        closed = nbox.run("curl", "-sS", "--max-time", "5", f"http://localhost:{zone.LOCAL_CLOSED}/", env=env)
        assert closed.rc == 7, closed
        assert since.events(event="accept", at=f"127.0.0.1 {zone.LOCAL_CLOSED}") == []
        assert len(since.requests()) == 7


@pytest.mark.parametrize("how", [["POST", "/api/pull"], ["POST", "/api/push"], ["POST", "/api/create"],
                                 ["DELETE", "/api/delete"], ["POST", "/api/copy"],
                                 ["POST", "/api/blobs/sha256:00"]])
def test_a_model_is_asked_and_not_managed(nbox, net, how):
    """403 with the reason, for the client to show; the report has it too."""
    nbox.network(models=[zone.LOCAL_MODEL])
    method, path = how
    at = f"http://localhost:{zone.LOCAL_MODEL}"
    since = net.mark()
    done = nbox.sh(f"curl -sS -X {method} -d '{{\"model\":\"m\"}}' -w '%{{http_code}}\\n' {at}{path}; "
                   f"curl -sS -d '{{\"model\":\"m\",\"stream\":false}}' {at}/api/generate")
    assert "\n403\n" in done.out and f"{method} {path}" in done.out and "inference" in done.out, done
    assert done.said(f"{method} {path}"), done
    assert json.loads(done.lines[-1]) == {"ok": "/api/generate", "model": "m"}
    assert [e["target"] for e in since.requests()] == ["/api/generate"]


@pytest.mark.long
def test_a_site_that_is_silent_for_long(nbox):
    """As for a model: no idle limit cuts an answer that begins after more than a minute."""
    nbox.network(internet=["ok.test"])
    done = nbox.run("curl", "-sSN", "--max-time", "110", "http://ok.test/stream?n=3&gap=0.3&quiet=75",
                    timeout=120)
    assert done.out.count("data: ") == 3, done


def test_careless_matches_by_curl(nbox, net):
    """A name as the user of another, the name in front of another, an address under a granted name."""
    nbox.network(internet=["OK.test", "*.api.ok.test"])
    urls = ["http://evilapi.ok.test/1", "http://ok.test.evil.test/2", "http://ok.test@evil.test/3",
            f"http://{zone.EVIL}/4", f"http://[{zone.EVIL6}]/5"]
    fetch = "for u in " + " ".join(f"'{u}'" for u in urls) + "; do curl -sS --max-time 5 {} \"$u\"; done"
    control = nbox.outside("sh", "-c", fetch.format("-H 'Host: ok.test'"))
    assert control.out.count("ok GET") == 5, control
    for more in ("", "-H 'Host: ok.test'"):
        since = net.mark()
        done = nbox.sh(fetch.format(more))
        assert "ok GET" not in done.out and since.reached() == set(), done
        assert done.said(r"\[internet\]"), done
    good = nbox.sh("curl -sS http://ok.TEST/6 http://x.api.ok.test/7 http://ok.test./8")
    assert good.out.count("ok GET") == 3, good
