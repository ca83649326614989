"""lnk sandbox learn: the written spec is good, opens no secret, and the program runs under it."""

import re
import shlex
import socket

import pytest

from conftest import LNK
from terminal import Terminal

MAKEFILE = """\
all:
\t-cat ~/.gitconfig >/dev/null
\t./script.py
\tcp script.py made
\t-cat ~/.ssh/id_ed25519 .env 2>/dev/null
\tcat ~/cfg/1 ~/cfg/2 ~/cfg/3 ~/cfg/4 2>/dev/null
"""


@pytest.fixture
def learn(box):
    for name in (".gitconfig", ".ssh/id_ed25519", "cfg/1", "cfg/2", "cfg/3", "cfg/4"):
        path = box.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    (box.home / "specs").mkdir()
    box.write(".env", "TOPSECRET\n")
    box.write("script.py", "#!/usr/bin/env python3\nprint('hello')\n", 0o755)
    box.write("Makefile", MAKEFILE)
    out = box.home / "specs/app.toml"

    def run(*program, flags=(), rc=0, **kwargs):
        result = box.outside(LNK, "sandbox", "learn", "-o", out, *flags, "--", *program, **kwargs)
        assert result.rc == rc, result
        return result
    run.out = out
    return run


def entries(text, key):
    found = re.search(rf"^{key} = \[\n(.*?)^\]", text, re.M | re.S)
    return re.findall(r'^\t"([^"]*)",', found[1], re.M) if found else []


def good(box, learn):
    done = box.outside(LNK, "sandbox", "spec", learn.out)
    assert done.rc == 0, done
    return learn.out.read_text()


def test_the_program_runs_under_it(box, learn):
    learn("make", "-k", rc=2)
    text = good(box, learn)
    assert entries(text, "write") == [str(box.proj)]
    assert entries(text, "read") == ["~/.gitconfig", "~/cfg"]
    assert entries(text, "hide") == [f"{box.proj}/.env"]
    assert entries(text, "allow") == sorted([
        "cat", "cp", "env", "make", "python3", "sh", f"{box.proj}/script.py"])
    assert '#   read "~/.ssh/id_ed25519" (keys and hosts of ssh)\n' in text
    assert "TOPSECRET" not in text and "[internet]" not in text
    (box.proj / "made").unlink()
    done = box.run("make", spec=learn.out)
    assert done.rc == 0 and "hello" in done.lines and (box.proj / "made").exists(), done
    assert "TOPSECRET" not in done.out


def test_secrets_stay_closed_while_it_learns(box, learn):
    script = "cat ~/.ssh/* ~/.gitconfig; cat .env; ls -a ~"
    result = learn("sh", "-c", script, flags=("--read", box.home), rc=0)
    assert "x\n" in result.out and result.out.count("x\n") == 1, result
    assert "TOPSECRET" not in result.out
    text = good(box, learn)
    assert "~/.ssh" in entries(text, "hide")
    assert "TOPSECRET" not in box.run("sh", "-c", script, spec=learn.out).out


def test_hosts(box, learn):
    result = learn("python3", "-c", """
import socket
for host, port in (("one.invalid", 443), ("192.0.78.9", 22), ("192.168.7.8", 99),
                   ("169.254.169.254", 80), ("nas", 443), ("x y", 1)):
    try: socket.create_connection((host, port), 2)
    except OSError: pass
""")
    text = good(box, learn)
    assert "hosts that were called while they were closed: 4" in result.err, result
    assert re.findall(r'"(.*?)", # was called, and closed', text) == [
        "one.invalid", "192.0.78.9", "192.168.7.8", "nas"], text
    assert entries(text, "tcp") == ["192.0.78.9:22"]
    assert "169.254" not in text.split("[files]")[1]


def test_a_port_that_a_flag_opens(box, learn):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        learn("python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)",
              flags=("--port", port))
    assert f"[localhost]\nports = [{port}]\n" in good(box, learn)


@pytest.mark.parametrize("answer, opened", [("y\n", True), ("\n", False), ("n\n", False)])
def test_a_secret_is_asked_about(box, learn, answer, opened):
    argv = [str(LNK), "sandbox", "learn", "-o", str(learn.out), "--", "cat",
            str(box.home / ".ssh/id_ed25519")]
    with Terminal(argv, box.proj, box.environment()) as terminal:
        terminal.wait("it wanted to read ~/.ssh/id_ed25519 (keys and hosts of ssh)")
        terminal.send(answer)
        terminal.wait("wrote")
        terminal.end()
    text = good(box, learn)
    assert (entries(text, "read") == ["~/.ssh/id_ed25519"]) is opened
    assert ('#   read "~/.ssh' in text) is not opened


@pytest.mark.parametrize("words, said", [
    (("-o", "{proj}/app.toml", "--", "true"), "holds this spec"),
    (("-o", "{home}/specs/a", "--write", "{home}", "true"), "your home folder"),
    (("--", "true"), "needs a file"), (("-o", "{home}/specs/a"), "no program"),
    (("-o", "{home}/specs/a", "--spec", "x", "true"), "learn takes no"),
    (("-o", "{home}/specs/a", "--network", "host", "true"), "learn takes no"),
    (("-o", "{home}/.gitconfig", "true"), "there already")])
def test_what_is_refused_before_it_runs(box, learn, words, said):
    words = [w.format(proj=box.proj, home=box.home) for w in words]
    before = box.tree()
    done = box.outside(LNK, "sandbox", "learn", *words)
    assert done.rc == 125 and said in done.err and "hint:" in done.err, done
    assert box.tree() == before
    assert learn is not None


def test_hostile_names(box, learn):
    """Names of the program's choice are no lines of the spec."""
    evil = box.home / 'n"]\n[internet]\nhosts = ["*"]\n#\x1b[31m'
    evil.write_text("x\n")
    tool = box.write('t"]\nallow = ["x\n', "#!/bin/sh\n", 0o755)
    learn("python3", "-c", f"""
import os, subprocess
try: open({str(evil)!r})
except OSError: pass
try: open(b"/nope/\\xff\\xfe")
except OSError: pass
subprocess.run([{str(tool)!r}])
""")
    text = good(box, learn)
    assert "\n[internet]" not in text and "\x1b" not in text
    done = box.outside(LNK, "sandbox", "spec", learn.out)
    assert "[internet] closed" in done.out, done


def test_the_programs_status(box, learn):
    assert "wrote" in learn("sh", "-c", "exit 7", rc=7).err
    assert shlex.quote(str(learn.out)) in good(box, learn) or learn.out.exists()


def test_real_programs(box, learn):
    box.git("init", "-q")
    learn("sh", "-c", "git --no-optional-locks status >/dev/null && node -e 'console.log(1)' && python3 -c 'import json'")
    text = good(box, learn)
    assert {"git", "node", "python3", "sh"} <= set(entries(text, "allow")), text
    assert "~/.gitconfig" in entries(text, "read")
    done = box.run("sh", "-c", "git --no-optional-locks status && node -e 'console.log(1)'", spec=learn.out)
    assert done.rc == 0, done
