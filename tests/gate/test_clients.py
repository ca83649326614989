"""Real clients as they are, with no proxy variable set: what is granted works, what is not fails
at once, and nothing of it leaves the machine."""

import hashlib
import os
import pathlib
import subprocess
import time

import pytest

from conftest import box_base
from lab import HERE, nbox, net, zone

CLIENTS = HERE / "clients"
PYTHON = ("/usr/bin/python3", CLIENTS / "get.py")
TRUST = {"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt"}


def go_client():
    """get.go compiled, once for this source."""
    source = CLIENTS / "get.go"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    cache = pathlib.Path(box_base()) / "cache"
    cache.mkdir(exist_ok=True)
    target = cache / f"get-{digest}"
    if not target.exists():
        subprocess.run(["go", "build", "-o", str(target), str(source)], check=True, timeout=300,
                       env=dict(os.environ, GOCACHE=str(cache / "go"), GO111MODULE="off"))
    return target


def java_client():
    """Get.java compiled, once for this source."""
    source = CLIENTS / "Get.java"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    target = pathlib.Path(box_base()) / "cache" / f"java-{digest}"
    if not (target / "Get.class").exists():
        subprocess.run(["javac", "-d", str(target), str(source)], check=True, timeout=300)
    return target


# Name: (bodies it prints, the words that start it; URL stands for the address).
START = {
    "curl": (1, lambda: ["curl", "-sSf", "--max-time", "20", "URL"]),
    "wget": (1, lambda: ["wget", "-qO-", "-T", "20", "-t", "1", "URL"]),
    "node": (2, lambda: ["node", CLIENTS / "fetch.js", "URL"]),
    "urllib": (1, lambda: [*PYTHON, "URL", "urllib"]),
    "requests": (1, lambda: [*PYTHON, "URL", "requests"]),
    "httpx": (1, lambda: [*PYTHON, "URL", "httpx"]),
    "asyncio": (2, lambda: [*PYTHON, "URL", "asyncio", "aiohttp"]),
    "go": (1, lambda: [go_client(), "URL"]),
    "java": (2, lambda: ["java", "-cp", java_client(), "Get", "URL"]),
}


def words(name, url):
    return [url if word == "URL" else word for word in START[name][1]()]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("name", START)
def test_client(nbox, net, name, scheme):
    """As on the machine itself, but for hosts that are not granted."""
    read = {"go": [go_client], "java": [java_client]}.get(name, [])
    nbox.network(internet=["ok.test"], read=[make() for make in read])
    since = net.mark()
    good = nbox.run(*words(name, f"{scheme}://ok.test/{name}"), env=TRUST)
    assert good.rc == 0 and good.err == "", good
    assert [line.split(" host=")[0] for line in good.lines] == [f"ok GET /{name}"] * START[name][0]
    assert len(since.requests(target=f"/{name}", host="ok.test")) == START[name][0]
    # Another name: the same program says so within moments, and nobody outside hears of it.
    since, began = net.mark(), time.monotonic()
    bad = nbox.run(*words(name, f"{scheme}://other.test/{name}"), env=TRUST)
    took = time.monotonic() - began
    assert bad.rc != 0 and "ok GET" not in bad.out, bad
    assert since.reached() == set() and since.leaked("other") == []
    assert bad.said(r"other\.test") and bad.said(r"\[internet\]|hosts"), bad
    assert took < 5, took
    control = nbox.outside(*words(name, f"{scheme}://other.test/{name}"),
                           env=nbox.environment(TRUST))
    assert control.rc == 0 and control.out.count("ok GET") == START[name][0], control


@pytest.mark.parametrize("how", ["go", "cgo"])
def test_go_resolvers(nbox, how):
    """Go's own resolver asks the name server itself; the other one asks libc."""
    nbox.network(internet=["ok.test"], read=[go_client()])
    flags = ["--env", f"GODEBUG=netdns={how}"]
    good = nbox.run(*words("go", "http://ok.test/"), flags=flags)
    assert good.rc == 0 and good.out.startswith("ok GET"), good
    bad = nbox.run(*words("go", "http://other.test/"), flags=flags)
    assert bad.rc == 1 and "no such host" in bad.err, bad


@pytest.mark.parametrize("url", ["ws://ok.test/ws", "wss://ok.test/ws"])
def test_websocket(nbox, url):
    nbox.network(internet=["ok.test"])
    talk = ("/usr/bin/python3", CLIENTS / "talk.py")
    good = nbox.run(*talk, url, "hello", "x" * 5000)
    assert good.lines == ["hello", "x" * 5000], good
    bad = nbox.run(*talk, url.replace("ok.", "other."), "hello")
    assert bad.rc != 0 and "hello" not in bad.lines, bad
    assert nbox.outside(*talk, url.replace("ok.", "other."), "hello").lines == ["hello"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_server_sent_events(nbox, scheme):
    """Each event as it is sent, not all at the end."""
    nbox.network(internet=["ok.test"])
    watch = nbox.write("watch.py", """\
import sys, time, requests
for line in requests.get(sys.argv[1], stream=True).iter_lines(chunk_size=1):
    if line:
        print((time.monotonic() - float(line.split()[2])) * 1000)
""")
    seen = nbox.run("/usr/bin/python3", watch, f"{scheme}://ok.test/stream?n=6&gap=0.1")
    late = [float(line) for line in seen.lines]
    assert len(late) == 6 and sorted(late)[3] < 20, seen


GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")


@pytest.fixture
def repository(nbox, net):
    """A repository on the far machine, with one commit."""
    bare = net.folder / "repositories" / f"{nbox.dir.name}.git"
    seed = nbox.dir / "seed"
    nbox.git("init", "-q", "--bare", str(bare))
    nbox.git("-C", str(bare), "config", "http.receivepack", "true")
    nbox.git("init", "-q", str(seed))
    (seed / "f").write_text("hi\n")
    nbox.git("-C", str(seed), "add", "f")
    nbox.git("-C", str(seed), "commit", "-qm", "one")
    nbox.git("-C", str(seed), "push", "-q", str(bare), "HEAD:refs/heads/main")
    nbox.git("-C", str(bare), "symbolic-ref", "HEAD", "refs/heads/main")
    return bare


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_git_clone_and_push(nbox, net, repository, scheme):
    """A pack above 1 MiB goes in chunks, with Expect: 100-continue."""
    nbox.network(internet=["git.test"], more='[files.linux]\nwrite_dot_files = ["proj"]\n')
    url = f"{scheme}://git.test/git/{repository.name}"
    done = nbox.sh(f"git clone -q {url} c && cd c && head -c 8000000 /dev/urandom >big && git add big &&"
                   "git -c user.name=a -c user.email=a@b commit -qm big && git push -q origin HEAD:main")
    assert done.rc == 0, done
    assert (nbox.proj / "c/f").read_text() == "hi\n"
    assert nbox.git("-C", str(repository), "rev-parse", "main") == nbox.git(
        "-C", str(nbox.proj / "c"), "rev-parse", "HEAD")
    bad = nbox.run("git", "ls-remote", url.replace("git.test", "other.test"))
    assert bad.rc != 0 and bad.said(r"other\.test"), bad


@pytest.fixture
def sshd(nbox, net, repository):
    """A real sshd on the far machine, started by the user. What ssh must be told."""
    keys = nbox.home / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True)
    public = (keys / "host.pub").read_text().split()
    (keys / "known_hosts").write_text(f"[git.test]:2222 {public[0]} {public[1]}\n")
    (keys / "config").write_text(f"IdentityFile {keys}/id\nUserKnownHostsFile {keys}/known_hosts\n"
                                 "BatchMode yes\n")
    (nbox.dir / "sshd_config").write_text(
        f"Port 2222\nListenAddress {zone.GIT}\nHostKey {keys}/host\nPidFile none\nStrictModes no\n"
        f"AuthorizedKeysFile {keys}/id.pub\nUsePAM no\nPasswordAuthentication no\n")
    process = net.start("/usr/sbin/sshd", "-D", "-e", "-f", nbox.dir / "sshd_config", far=True,
                        ready=(zone.GIT, 2222, True))
    yield keys
    process.kill()
    process.wait()
    net.started.remove(process)


def test_git_over_ssh(nbox, net, repository, sshd):
    """ssh looks the name up itself, and knows no proxy."""
    command = f"core.sshCommand=ssh -F {sshd}/config"
    url = f"ssh://{nbox.env['USER']}@git.test:2222{repository}"
    nbox.network(internet=["git.test"], tcp=["git.test:2222"], read=[sshd],
                 more='[files.linux]\nwrite_dot_files = ["proj"]\n')
    done = nbox.run("git", "-c", command, "clone", "-q", url, "c")
    assert done.rc == 0 and (nbox.proj / "c/f").read_text() == "hi\n", done
    # Without the line for the port: refused at once, and the report has it.
    nbox.network(internet=["git.test"], read=[sshd])
    since = net.mark()
    done = nbox.run("git", "-c", command, "clone", "-q", url, "d")
    assert done.rc != 0 and since.reached() == set(), done
    assert done.said(r"git\.test.*2222") and done.said(r'tcp = .*"git\.test:2222"'), done


def test_chromium_loads_a_page(nbox, net):
    """Chromium with its own sandbox: a page, its script from a granted host, nothing else."""
    site = net.folder / "www/ok.test"
    site.mkdir(exist_ok=True)
    (site / "page.html").write_text(
        "<title>t</title><p id=p></p><script src='http://x.api.ok.test/script.js'></script>"
        "<script src='http://other.test/script.js'></script>")
    for host in ("x.api.ok.test", "other.test"):
        (net.folder / "www" / host).mkdir(exist_ok=True)
        (net.folder / "www" / host / "script.js").write_text(
            f"p.textContent += 'from={host}=' + (1 + 1) + ' '")
    nbox.network(internet=["ok.test", "*.api.ok.test"])
    since = net.mark()
    seen = nbox.run("chromium", "--headless", "--disable-gpu", "--dump-dom",
                    f"--user-data-dir={nbox.proj}/ud", "http://ok.test/page.html",
                    flags=["--user-namespaces"], timeout=90)
    assert seen.rc == 0 and "from=x.api.ok.test=2" in seen.out, seen
    assert "from=other.test" not in seen.out
    # Not what it looks up of its own accord either.
    assert since.queries() <= {"ok.test", "x.api.ok.test"}
    assert since.reached() <= {(a, 80) for a in (zone.OK, zone.OK6)}


def test_a_server_of_its_own(nbox):
    """With every section closed, and with every section open."""
    for grants in ({}, {"internet": ["*"], "lan": ["*"], "ports": [8101], "models": [11434]}):
        nbox.network(**grants)
        steps = [{"do": "serve"}, {"do": "serve", "address": "::1"},
                 {"do": "serve", "port": 80}, {"do": "serve", "port": 5432}]
        for said in nbox.probe(*steps):
            assert said.get("value") == "olleh", said
