"""Databases, package registries and certificates: real programs against real servers."""

import glob
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from conftest import ROOT, box_base
from lab import nbox, net, zone

TRUST = {"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt"}


# --- databases ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL cluster, made once."""
    programs = pathlib.Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
    folder = pathlib.Path(box_base()) / f"cluster-{os.getpid()}"
    subprocess.run([programs / "initdb", "-D", folder, "-A", "trust", "-U", "me", "--no-sync",
                    "--locale=C", "-E", "UTF8", "--no-instructions"], check=True, capture_output=True)
    yield programs, folder
    shutil.rmtree(folder)


@pytest.fixture(params=["near", "far"])
def postgres(request, net, cluster):
    """PostgreSQL on this machine's loopback, or on the far machine."""
    programs, folder = cluster
    far = request.param == "far"
    address, port = (zone.DB, 5432) if far else ("127.0.0.1", 5433)
    process = net.start(
        programs / "postgres", "-D", folder, "-c", f"listen_addresses={address}", "-c", f"port={port}",
        "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "autovacuum=off", "-c",
        f"hba_file={hba(folder)}", far=far, ready=(address, port, far))
    yield ("db.test" if far else "localhost"), port
    process.send_signal(2)
    process.wait()
    net.started.remove(process)


def hba(folder):
    path = folder / "anybody.conf"
    path.write_text("host all all all trust\n")
    return path


SQL = """
create table t(n int, s text);
insert into t select g, repeat('x', 1000) from generate_series(1, 5000) g;
\\copy t to 'out.csv' csv
select count(*), sum(length(s)) from t;
drop table t;
"""


def test_psql(nbox, postgres):
    host, port = postgres
    grants = {"ports": [port]} if host == "localhost" else {"internet": [host], "tcp": [f"{host}:{port}"]}
    nbox.network(**grants)
    done = nbox.run("psql", "-X", "-q", "-At", "-h", host, "-p", port, "-U", "me", "postgres",
                    "-v", "ON_ERROR_STOP=1", stdin=SQL)
    assert done.rc == 0 and done.lines == ["5000|5000000"], done
    assert (nbox.proj / "out.csv").stat().st_size > 5_000_000
    # Not the port of the other place, which the same program would reach outside.
    nbox.network(internet=["db.test"])
    done = nbox.run("psql", "-X", "-h", host, "-p", port, "-U", "me", "postgres", "-c", "select 1")
    assert done.rc == 2 and "row" not in done.out, done
    control = nbox.outside("psql", "-X", "-At", "-h", host, "-p", port, "-U", "me", "postgres", "-c",
                           "select 1")
    assert control.lines == ["1"], control


def test_redis(nbox, net):
    redis = net.start("redis-server", "--port", "6379", "--bind", "127.0.0.1", "--save", "",
                      "--appendonly", "no", "--dir", nbox.dir, ready=("127.0.0.1", 6379))
    far = net.start("redis-server", "--port", "6379", "--bind", zone.DB, "--save", "", "--appendonly",
                    "no", "--protected-mode", "no", "--dir", nbox.dir, far=True,
                    ready=(zone.DB, 6379, True))
    try:
        nbox.network(internet=["db.test"], tcp=["db.test:6379"], ports=[6379])
        for host in ("127.0.0.1", "localhost", "db.test"):
            done = nbox.run("redis-cli", "-h", host, stdin="set k hello\nget k\nset n 0\nmulti\nincr n\nexec\n")
            assert done.lines == ["OK", "hello", "OK", "OK", "QUEUED", "1"], done
        done = nbox.run("redis-benchmark", "-h", "db.test", "-q", "-n", "2000", "-c", "20", "-t", "set,get")
        assert done.rc == 0 and "GET" in done.out, done
        # On a port that is not listed nothing answers: the sandbox's loopback is its own.
        nbox.network(internet=["db.test"])
        for host in ("127.0.0.1", "db.test"):
            done = nbox.run("redis-cli", "-h", host, "get", "k")
            assert "hello" not in done.out, done
    finally:
        for process in (redis, far):
            process.terminate()
            process.wait()
            net.started.remove(process)


# --- registries -----------------------------------------------------------------------------------


def npm_registry(site, names):
    """Packages of tests/node_modules as a registry has them: documents and packed folders."""
    for name in names:
        source = ROOT / "tests/node_modules" / name
        said = json.loads((source / "package.json").read_text())
        ball = site / name / "-" / f"{name}-{said['version']}.tgz"
        ball.parent.mkdir(parents=True)
        with tarfile.open(ball, "w:gz") as tar:
            tar.add(source, "package")
        data = ball.read_bytes()
        version = {key: said[key] for key in ("name", "version", "main", "dependencies") if key in said}
        version["dist"] = {"tarball": f"https://pkg.test/{name}/-/{ball.name}",
                           "shasum": hashlib.sha1(data).hexdigest()}
        (site / name / "index.html").write_text(json.dumps({
            "name": name, "dist-tags": {"latest": said["version"]}, "versions": {said["version"]: version}}))


def pip_index(folder):
    wheel = folder / "labdep/labdep-1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as file:
        info = "labdep-1.0.dist-info"
        file.writestr("labdep.py", 'said = "pip-dep"\n')
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: labdep\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\n"
                                       "Tag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')


def go_proxy(folder):
    go = folder / "dep.test/dep/@v"
    go.mkdir(parents=True)
    (go / "list").write_text("v1.0.0\n")
    (go / "v1.0.0.info").write_text('{"Version":"v1.0.0"}')
    (go / "v1.0.0.mod").write_text("module dep.test/dep\n")
    with zipfile.ZipFile(go / "v1.0.0.zip", "w") as file:
        file.writestr("dep.test/dep@v1.0.0/go.mod", "module dep.test/dep\n")
        file.writestr("dep.test/dep@v1.0.0/d.go", 'package dep\n\nconst S = "go-dep"\n')


@pytest.fixture
def registries(net):
    """npm's, pip's and Go's, on pkg.test: made once for a lab, whichever tests use them."""
    site = net.folder / "www/pkg.test"
    if not site.exists():
        npm_registry(site, ["ajv", "fast-deep-equal", "fast-uri", "json-schema-traverse",
                            "require-from-string"])
        pip_index(site / "simple")
        go_proxy(site / "go")
    return site


def test_npm_install(nbox, net, registries):
    nbox.network(internet=["pkg.test"])
    nbox.write("package.json", '{"name":"app","version":"1.0.0"}')
    since = net.mark()
    done = nbox.run("npm", "install", "ajv", "--registry", "https://pkg.test/", "--no-audit", "--no-fund",
                    "--no-update-notifier", env=TRUST)
    assert done.rc == 0, done
    used = nbox.run("node", "-p", "new (require('ajv'))().validate({type: 'number'}, 7)")
    assert used.lines == ["true"], used
    assert {host for host, _ in since.reached()} <= {zone.REGISTRY, zone.NET6 + "22"}
    assert since.queries() == {"pkg.test"}


def test_npm_install_over_http(nbox, registries):
    """A plain registry; the cache in the home folder is not there yet, and is thrown away."""
    said = (registries / "fast-deep-equal/index.html").read_text().replace("https://", "http://")
    (registries / "plain").mkdir(exist_ok=True)
    (registries / "plain/fast-deep-equal").write_text(said)
    nbox.network(internet=["pkg.test"])
    nbox.write("package.json", '{"name":"app","version":"1.0.0"}')
    done = nbox.run("npm", "install", "fast-deep-equal", "--registry", "http://pkg.test/plain/", "--no-audit",
                    "--no-fund", "--no-update-notifier")
    assert done.rc == 0, done
    used = nbox.run("node", "-p", "require('fast-deep-equal')({a: [1]}, {a: [1]})")
    assert used.lines == ["true"], used
    assert not (nbox.home / ".npm").exists()


def test_npm_install_from_a_registry_that_is_not_granted(nbox, net):
    """It fails in moments and not after its retries' minutes, and the report says why."""
    nbox.network(internet=["ok.test"])
    nbox.write("package.json", '{"name":"app","version":"1.0.0"}')
    since = net.mark()
    done = nbox.run("npm", "install", "ajv", "--registry", "https://pkg.test/", "--no-audit", "--no-fund",
                    "--no-update-notifier", "--fetch-retries", "0", env=TRUST)
    assert done.rc != 0 and done.said(r"pkg\.test") and done.said(r'"pkg\.test"'), done
    assert since.packets() == []


def test_pip_install(nbox, net, registries):
    nbox.network(internet=["pkg.test"])
    pip = glob.glob("/usr/share/python-wheels/pip-*.whl")
    assert pip, "python3-venv has pip's wheel"
    done = nbox.run("/usr/bin/python3", f"{pip[0]}/pip", "install", "-q", "--disable-pip-version-check",
                    "--index-url", "https://pkg.test/simple", "--target", nbox.proj / "lib", "labdep",
                    env={"PIP_CERT": "/etc/ssl/certs/ca-certificates.crt"})
    assert done.rc == 0, done
    used = nbox.run("/usr/bin/python3", "-c", "import sys; sys.path.insert(0, 'lib'); import labdep; "
                    "print(labdep.said)")
    assert used.lines == ["pip-dep"], used


def test_pip_of_a_virtual_environment(nbox, registries):
    nbox.network(internet=["pkg.test"])
    nbox.outside("/usr/bin/python3", "-m", "venv", nbox.proj / ".venv", check=True)
    done = nbox.run(".venv/bin/pip", "install", "-q", "--disable-pip-version-check", "--index-url",
                    "http://pkg.test/simple", "--trusted-host", "pkg.test", "labdep")
    assert done.rc == 0, done
    used = nbox.run(".venv/bin/python", "-c", "import labdep; print(labdep.said)")
    assert used.lines == ["pip-dep"], used


def go_module(nbox):
    nbox.write("go.mod", "module app\n\ngo 1.19\n\nrequire dep.test/dep v1.0.0\n")
    nbox.write("main.go", 'package main\n\nimport "dep.test/dep"\n\nfunc main() { println(dep.S) }\n')


def test_go_modules(nbox, net, registries):
    nbox.network(internet=["pkg.test"])
    go_module(nbox)
    done = nbox.run("go", "mod", "download", "-x", "dep.test/dep", flags=[
        "--env", "GOPROXY=https://pkg.test/go", "--env", "GOSUMDB=off", "--env", "GOFLAGS=-mod=mod",
        "--env", f"GOMODCACHE={nbox.proj}/mod"])
    assert done.rc == 0, done
    assert (nbox.proj / "mod/dep.test/dep@v1.0.0/d.go").exists()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_go_run(nbox, registries, scheme):
    """Downloaded, compiled and run, with Go's folders in the home, which nothing was granted of."""
    nbox.network(internet=["pkg.test"])
    go_module(nbox)
    done = nbox.run("go", "run", ".", timeout=200, flags=[
        "--env", f"GOPROXY={scheme}://pkg.test/go", "--env", "GOSUMDB=off", "--env", "GOFLAGS=-mod=mod"])
    assert done.rc == 0 and "go-dep" in done.err.splitlines(), done
    assert not (nbox.home / "go").exists() and not (nbox.home / ".cache").exists()


# --- the company's certificate ----------------------------------------------------------------------


@pytest.mark.parametrize("granted", [True, False])
def test_a_certificate_that_only_a_variable_names(nbox, net, granted):
    own = nbox.home / "ca"
    own.mkdir()
    shutil.copy(net.ca, own / "company.pem")
    env = {name: own / "company.pem" for name in (
        "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE")}
    nbox.network(internet=["ok.test"], read=[own] if granted else [])
    # The system's own trust is taken away, so that the variables are all there is.
    done = nbox.sh("curl -sS --capath /nowhere https://ok.test/curl; "
                   "python3 -c 'import requests; print(requests.get(\"https://ok.test/requests\").text, end=\"\")'; "
                   "node -e 'fetch(\"https://ok.test/node\").then(r => r.text()).then(t => process.stdout.write(t))'",
                   env=env)
    if granted:
        assert [line.split(" host=")[0] for line in done.lines] == [
            f"ok GET /{name}" for name in ("curl", "requests", "node")], done
    else:
        assert done.said(r"SSL_CERT_FILE.*company\.pem"), done
