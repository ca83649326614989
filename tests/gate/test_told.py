"""What a run tells of its network: the report at exit, --quiet, --log, pages, --dry-run, doctor."""

import json
import re

import pytest

from lab import nbox, net, zone


def lines_of_ours(done):
    return [line for line in done.err.splitlines() if line.startswith("lnk: ")]


@pytest.mark.parametrize("how", ["http", "https", "git", "noproxy"])
def test_a_refused_host_is_explained(nbox, how):
    """Whatever the client makes of it, the run says which host, and the line to add."""
    nbox.network(internet=["pkg.test"])
    words = {"http": ["curl", "-sS", "--max-time", "5", "http://other.test/"],
             "https": ["curl", "-sS", "--max-time", "5", "https://other.test/"],
             "git": ["git", "ls-remote", "https://other.test/x"],
             "noproxy": ["curl", "-sS", "--noproxy", "*", "http://other.test/"]}[how]
    done = nbox.run(*words)
    assert done.rc != 0
    ours = [line for line in lines_of_ours(done) if "other.test" in line]
    assert ours and "[internet]" in done.err and '"other.test"' in done.err, done


def test_nothing_refused_nothing_said(nbox):
    nbox.network(internet=["ok.test"], lan=["nas.test"], ports=[zone.LOCAL_WEB])
    done = nbox.sh(f"curl -sS http://ok.test/ https://ok.test/ http://nas.test/ http://localhost:{zone.LOCAL_WEB}/")
    assert done.rc == 0 and done.err == "", done


@pytest.mark.parametrize("name, why", [("nosuch.test", "there is no such name"),
                                       ("servfail.test", "could not be looked up")])
def test_a_granted_name_that_is_not_found(nbox, name, why):
    """The client says what it says of a refused one; the run says that the sandbox did not do it."""
    nbox.network(internet=["ok.test", name])
    log = nbox.dir / "log"
    done = nbox.sh(f"curl -sS http://ok.test/; curl -sS http://{name}/; curl -sS http://{name}/",
                   flags=["--log", log])
    assert done.out.startswith("ok GET /") and "Could not resolve" in done.err, done
    (ours,) = lines_of_ours(done)
    assert ours.startswith(f"lnk: failed: {name}: it is granted, but ") and why in ours, done
    assert f"getent hosts {name}" in ours and "[internet]" not in ours, done
    assert nbox.outside("getent", "hosts", name).rc == 2
    told = [json.loads(line) for line in log.read_text().splitlines()]
    told = [t for t in told if t["host"] == name]
    assert {t["verdict"] for t in told} == {"allowed", "failed"}, told
    assert all(t["section"] == "internet" and "app.toml:" in t["spec"] for t in told), told
    assert all(why in t["why"] for t in told if t["verdict"] == "failed")


def test_each_refused_thing_once_with_its_count(nbox):
    nbox.network(internet=["ok.test"])
    done = nbox.sh("for i in 1 2 3 4 5 6 7; do curl -s http://other.test/; done; curl -s http://git.test/; "
                   f"python3 -c 'import socket; socket.create_connection((\"ok.test\", {zone.RAW})).recv(1)'")
    ours = lines_of_ours(done)
    other = [line for line in ours if "other.test" in line]
    assert sum("7" in line for line in other) == 1, done
    assert len([line for line in ours if "git.test" in line]) >= 1
    assert any(str(zone.RAW) in line for line in ours) and f'"ok.test:{zone.RAW}"' in done.err, done


def test_many_different_ones_are_bounded(nbox):
    nbox.network(internet=["ok.test"])
    done = nbox.run("/usr/bin/python3", "-c", "import socket\nfor i in range(400):\n try: "
                    "socket.gethostbyname(f'h{i}.other.test')\n except OSError: pass")
    ours = lines_of_ours(done)
    assert 10 < len(ours) < 150 and re.search(r"\d{3} (more|others)|more", done.err), done


def test_quiet(nbox):
    nbox.network(internet=["ok.test"])
    done = nbox.run("curl", "-s", "http://other.test/", flags=["--quiet"])
    assert done.rc == 6 and done.err == "", done


def test_hostile_names_are_shown_harmless(nbox):
    """Control characters and the like in a name or a path do not reach the user's terminal."""
    nbox.network(internet=["ok.test"], models=[zone.LOCAL_MODEL])
    log = nbox.dir / "log"
    nbox.probe({"do": "dns", "name": "a\x1b]0;title\x07.evil.test"}, {"do": "dns", "name": "b\n\rlnk: fine.test"},
               {"do": "http", "host": "ok.test", "port": 80, "host_field": "c\x1b[2J.test"},
               {"do": "http", "host": "localhost", "port": zone.LOCAL_MODEL, "path": "/\x1b[31mred"})
    _, done = nbox.probe({"do": "dns", "name": "a\x1b]0;title\x07.evil.test"},
                         {"do": "http", "host": "localhost", "port": zone.LOCAL_MODEL, "path": "/\x9b31mred"},
                         result=True, flags=["--log", log])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.err), repr(done.err)
    assert "\nlnk: fine" not in done.err
    for line in log.read_text().splitlines():
        json.loads(line)
        assert line.isascii() or "\x1b" not in line


def test_log(nbox):
    """A line of JSON for each decision: when, which section, host, port, verdict, line of the spec,
    bytes."""
    spec = nbox.network(internet=["ok.test"], lan=["nas.test"], models=[zone.LOCAL_MODEL], ports=[zone.LOCAL_WEB])
    log = nbox.dir / "calls.log"
    done = nbox.sh("curl -sS http://ok.test/a https://ok.test/b http://nas.test/c http://other.test/d "
                   f"http://localhost:{zone.LOCAL_WEB}/e http://localhost:{zone.LOCAL_MODEL}/api/tags "
                   f"http://localhost:{zone.LOCAL_MODEL}/api/pull; curl -sS -H 'Host: evil.test' http://ok.test/f",
                   flags=["--log", log])
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(entries) >= 7, done
    text = log.read_text()
    for entry in entries:
        assert {"time", "host", "port", "verdict"} <= set(entry), entry
    allowed = [e for e in entries if e["verdict"] in ("allowed", "allow")]
    refused = [e for e in entries if e not in allowed]
    assert {e["host"] for e in allowed} >= {"ok.test", "nas.test"}, entries
    assert {e["section"] for e in allowed} == {"internet", "lan", "localhost"}, entries
    assert {"other.test", "evil.test"} <= {e["host"] for e in refused}, refused
    number = next(i for i, line in enumerate(spec.read_text().splitlines(), 1) if "ok.test" in line)
    assert f"app.toml:{number}" in text or f'"line":{number}' in text.replace(" ", ""), text
    assert any(e.get("received", 0) > 100 for e in allowed), entries
    # A second run writes behind the first.
    nbox.run("curl", "-sS", "http://ok.test/", flags=["--log", log])
    assert log.read_text().startswith(text) and len(log.read_text()) > len(text)


def test_a_log_that_cannot_be_written(nbox):
    nbox.network(internet=["ok.test"])
    done = nbox.run("true", flags=["--log", "/nowhere/log"])
    assert done.rc == 125 and done.said("/nowhere/log"), done
    # A full disk loses lines and not calls.
    done = nbox.run("curl", "-sS", "http://ok.test/full", flags=["--log", "/dev/full"])
    assert done.out.startswith("ok GET /full"), done


def test_the_program_cannot_write_the_log(nbox):
    nbox.network(internet=["ok.test"])
    log = nbox.dir / "calls.log"
    done = nbox.sh(f"echo forged >>{log}; for f in /proc/self/fd/*; do readlink $f; done; "
                   "curl -s http://ok.test/", flags=["--log", log])
    assert "forged" not in log.read_text() and str(log) not in done.out, done


def test_dry_run_shows_what_is_granted(nbox):
    nbox.network(internet=["ok.test"], tcp=["ok.test:22"], per_minute=5, lan=["10.0.0.0/8"],
                 ports=[8080], models=[11434])
    done = nbox.run("true", flags=["--dry-run", "--publish", "3000:3001"])
    for word in ("ok.test", "ok.test:22", "10.0.0.0/8", "8080", "11434", "3000"):
        assert word in done.out, (word, done)


def test_the_gate_starts_only_where_something_is_granted(nbox):
    nbox.network()
    assert "lnk-gate" not in nbox.outside("strace", "-f", "-e", "trace=execve", *nbox.argv("true")).err
    done = nbox.sh("getent hosts ok.test; curl -sS --max-time 3 http://ok.test/; "
                   f"curl -sS --max-time 3 http://{zone.OK}/; curl -sS --max-time 3 http://127.0.0.1:{zone.LOCAL_WEB}/")
    assert done.out == "", done
    assert done.err.count("lnk: ") <= 3


# What the program does to the log's name in the first run, for the second to write through.
PLANTED = {
    "file": "rm -f calls.jsonl; ln -s {rc} calls.jsonl",
    "folder": "rm -rf logs; mkdir logs; ln -s {rc} logs/calls.jsonl",
    "link to a folder": "rm -rf logs; ln -s {home} logs; ln -s {rc} ../home/calls.jsonl",
}


@pytest.mark.parametrize("how", PLANTED)
def test_the_log_is_no_way_out(nbox, how):
    """Words of the program's choice would be appended to a file that the user's shell reads."""
    nbox.network(internet=["ok.test"])
    rc = nbox.dir / "profile"
    rc.write_text("# mine\n")
    log = nbox.proj / ("calls.jsonl" if how == "file" else "logs/calls.jsonl")
    nbox.run("sh", "-c", PLANTED[how].format(rc=rc, home=nbox.home))
    done = nbox.run("curl", "-sS", "http://ok.test/$(id>pwned)", flags=["--log", log])
    assert done.rc == 125 and done.out == "" and done.said("program writes"), done
    assert rc.read_text() == "# mine\n" and not (nbox.home / "calls.jsonl").exists()
    # By a link outside that leads there, too; and a file outside is a file outside.
    by = nbox.dir / "by"
    by.symlink_to(nbox.proj)
    assert nbox.run("true", flags=["--log", by / "new.jsonl"]).rc == 125
    fine = nbox.run("curl", "-sS", "http://ok.test/", flags=["--log", nbox.dir / "calls.jsonl"])
    assert fine.rc == 0 and (nbox.dir / "calls.jsonl").read_text().count("\n") >= 1, fine


def test_a_log_of_nothing(nbox):
    """No network: there is nothing to log. The host's network: calls are not seen at all."""
    nbox.network()
    assert nbox.run("true", flags=["--log", nbox.dir / "none.jsonl"]).rc == 0
    assert (nbox.dir / "none.jsonl").read_text() == ""
    done = nbox.run("true", flags=["--log", nbox.dir / "host.jsonl", "--network", "host"])
    assert done.rc == 125 and done.said("not seen"), done
    assert not (nbox.dir / "host.jsonl").exists()
