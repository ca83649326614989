"""lnk sandbox why: the answer is what a run of the same spec does, with the line and the remedy."""

import json
import os
import re
import socket
import stat

import pytest

from conftest import LNK

SPEC = """\
[files]
read = ["~/docs"]
write = ["proj"]
hide = ["proj/secret", "~/docs/diary"]
[commands]
allow = ["sh", "cat", "ls", "touch", "mkdir", "dirname", "proj/tool", "proj/script"]
[localhost]
ports = [8123]
models = [11434]
[internet]
hosts = ["192.0.78.9", "host.invalid"]
tcp = ["192.0.78.9:22"]
"""


@pytest.fixture
def why(box):
    (box.home / "docs").mkdir()
    (box.home / "docs/a").write_text("a\n")
    (box.home / "docs/diary").write_text("d\n")
    (box.home / ".ssh").mkdir()
    (box.home / ".ssh/id_ed25519").write_text("KEY\n")
    (box.home / "notes").write_text("n\n")
    box.write("a", "a\n")
    box.write("secret", "s\n")
    box.write("closed", "c\n", 0o000)
    box.write("tool", "#!/bin/sh\necho tool\n", 0o755)
    box.write("script", "#!/usr/bin/env python3\n", 0o755)
    box.spec(SPEC)

    def ask(*words, flags=None, rc=None):
        flags = ("--spec", box.specfile) if flags is None else flags
        result = box.outside(LNK, "sandbox", "why", *flags, *words)
        assert rc is None or result.rc == rc, result
        return result
    return ask


PATHS = ["~/docs", "~/docs/a", "~/docs/diary", "~/docs/none", "~/.ssh/id_ed25519", "~/notes",
         "proj", "proj/a", "proj/secret", "proj/closed", "proj/new", "proj/.git", "proj/.git/x",
         "proj/.envrc", "/etc/passwd", "/etc/shadow", "/usr/bin/ls", "/root", "/proc/1/environ",
         "/proc/kcore", "/sys/kernel/uevent_seqnum", "/dev/null", "/dev/mem", "/tmp", "/tmp/x",
         "/run/dbus/system_bus_socket", "/"]


def absolute(box, path):
    return path.replace("~", str(box.home), 1) if path[0] != "p" else str(box.dir / path)


@pytest.mark.parametrize("path", PATHS)
def test_files_as_a_run_does(box, why, path):
    at = absolute(box, path)
    box.write("try.sh", """
if [ -d "$1" ]; then ls "$1" >/dev/null 2>&1 && echo read; else cat "$1" >/dev/null 2>&1 && echo read; fi
[ -d "$1" ] || mkdir -p "$(dirname "$1")" 2>/dev/null
if [ -d "$1" ]; then touch "$1/.probe" 2>/dev/null && echo write
else (: >>"$1") 2>/dev/null && echo write; fi
""")
    read = why("read", at)
    write = why("write", at)
    assert not (box.proj / "new").exists() and not list(box.dir.rglob(".lnk-why*"))
    tree = box.tree()
    done = box.run("sh", "try.sh", at).lines
    assert ("write" in done) >= (box.tree() != tree)
    assert (read.rc, write.rc) == (0 if "read" in done else 1, 0 if "write" in done else 1), \
        (done, read, write)
    for answer in (read, write):
        assert re.match("yes: " if answer.rc == 0 else "no: ", answer.out) and not answer.err


@pytest.mark.parametrize("program", ["sh", "cat", "/bin/cat", "tool", "script", "python3",
                                     "/usr/bin/python3", "nosuch", "/etc/passwd", "a"])
def test_programs_as_a_run_does(box, why, program):
    if program in ("tool", "script", "a"):
        program = str(box.proj / program)
    answer = why("run", program)
    done = box.run(program, "--version")
    assert answer.rc == (0 if done.rc not in (125, 126, 127) else 1), (answer, done)
    assert "tool" not in answer.lines, "it did run"


def test_the_line_and_the_remedy(box, why):
    """Each refusal's remedy, written as it says, opens the thing."""
    text = why("read", box.home / ".ssh/id_ed25519", rc=1).out
    assert text.startswith("no: read ~/.ssh/id_ed25519: no line of "), text
    assert "tried in the sandbox: No such file or directory\n" in text
    assert f'to allow: {box.specfile}:2: add "~/.ssh/id_ed25519" to [files] read\n' in text
    box.spec(SPEC.replace('read = ["~/docs"', 'read = ["~/docs", "~/.ssh/id_ed25519"'))
    text = why("read", box.home / ".ssh/id_ed25519", rc=0).out
    assert f'{box.specfile}:2: read = ["~/docs", "~/.ssh/id_ed25519"]\n' in text

    text = why("run", "python3", rc=1).out
    assert f'to allow: {box.specfile}:6: add "python3" to [commands] allow\n' in text

    text = why("read", box.home / "docs/diary", rc=1).out
    assert f'{box.specfile}:4: hide = ["proj/secret", "~/docs/diary"]' in text
    assert 'take "~/docs/diary" out of hide' in text

    text = why("write", box.proj / ".git/config", rc=1).out
    assert 'write_dot_files = ["proj"]' in text
    box.spec(SPEC.replace("hide", 'write_dot_files = ["proj"]\nhide'))
    (box.proj / ".git").mkdir()
    why("write", box.proj / ".git/config", rc=0)

    text = why("run", box.proj / "script", rc=1).out
    assert "its interpreter, /usr/bin/env, is not in allow" in text and 'add "env"' in text
    box.spec(SPEC.replace('"sh"', '"sh", "env"'))
    text = why("run", box.proj / "script", rc=0).out
    assert "a script for python3, which is not in allow" in text and 'add "python3"' in text


def test_what_no_file_may_open(box, why):
    """Where the reference refuses the line, what to do instead is said, and no line."""
    text = why("write", box.home / "docs/a", rc=1).out
    assert "it is opened read only" in text and 'add "~/docs" to [files] write' in text
    for access, path, words in [("write", box.home / ".bashrc", "name the folders it works in"),
                                ("read", "/dev/mem", ""), ("read", "/run/x", "use a folder of yours")]:
        answer = why(access, path)
        assert "to allow: " not in answer.out and words in answer.out, answer
    config = box.home / ".config/link"
    config.mkdir(parents=True)
    text = why("read", config, rc=1).out
    assert "Link's own settings" in text and "add " not in text


def test_flags_are_the_spec(box, why):
    answer = why("read", box.home / "notes", flags=("--write", box.proj), rc=1)
    assert "to allow: add --read ~/notes\n" in answer.out, answer
    answer = box.outside(LNK, "sandbox", "why", "--write", box.proj, "write", box.proj / "a")
    assert answer.rc == 0 and "by the flag --write" in answer.out, answer
    answer = box.outside(LNK, "sandbox", "why", "--write", box.proj, "call", "example.org")
    assert answer.rc == 1 and "to allow: add --host example.org" in answer.out, answer
    answer = box.outside(LNK, "sandbox", "why", "--network", "host", "call", "example.org")
    assert answer.rc == 0 and "nothing is filtered" in answer.out, answer


def test_calls_are_judged_and_not_made(box, why):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = why("call", f"localhost:{port}", rc=1).out
        assert f"add {port} to [localhost] ports" in text, text
        box.spec(SPEC.replace("8123", f"8123, {port}"))
        text = why("call", f"http://localhost:{port}/x", rc=0).out
        assert "nothing was called" in text and "[localhost]" in text
        server.settimeout(0.3)
        with pytest.raises(TimeoutError):
            server.accept()
    assert "for inference only" in why("call", "127.0.0.1:11434", rc=0).out
    why("call", "192.0.78.9", rc=0)
    why("call", "192.0.78.9:22", rc=0)
    text = why("call", "192.0.78.9:23", rc=1).out
    assert 'to allow: ' in text and '"192.0.78.9:23"' in text
    text = why("call", "host.invalid", rc=0).out
    assert "but nobody here knows an address of it" in text
    assert f'{box.specfile}:11: hosts = ' in text
    text = why("call", "other.invalid", rc=1).out
    assert f'to allow: {box.specfile}:11: add "other.invalid" to [internet] hosts' in text
    assert "[lan]" in why("call", "192.168.7.7:80", rc=1).out
    assert "metadata" in why("call", "169.254.169.254", rc=1).out
    assert "to allow" not in why("call", "169.254.169.254", rc=1).out


def test_json(box, why):
    answer = json.loads(why("--json", "read", box.home / ".ssh/id_ed25519", rc=1).out)
    assert answer["allowed"] is False and answer["access"] == "read"
    assert answer["path"] == str(box.home / ".ssh/id_ed25519") and answer["spec"] is None
    assert answer["tried"] == "No such file or directory" and "add " in answer["hint"]
    answer = json.loads(why("--json", "call", "192.0.78.9:22", rc=0).out)
    assert (answer["allowed"], answer["host"], answer["port"]) == (True, "192.0.78.9", 22)
    assert answer["spec"] == f"{box.specfile}:12"
    answer = json.loads(why("--json", "write", box.home / "x", rc=0).out)
    assert answer["private"] is True


def test_nothing_is_left_and_nothing_runs(box, why):
    (box.proj / "empty").mkdir()
    before = box.tree(), os.stat(box.proj / "empty").st_mtime_ns
    box.write("tool", "#!/bin/sh\ntouch ran\n", 0o755)
    why("write", box.proj / "empty/deep/er", rc=0)
    why("write", box.proj / "empty", rc=0)
    why("run", box.proj / "tool", rc=0)
    assert (box.tree(), os.stat(box.proj / "empty").st_mtime_ns) == before
    os.mkfifo(box.proj / "fifo")
    answer = why("read", box.proj / "fifo", rc=2)
    assert "felt at its other end" in answer.err
    assert stat.S_ISFIFO(os.stat(box.proj / "fifo").st_mode)


def test_bad_questions(box, why):
    for words in [(), ("read",), ("read", ""), ("look", "x"), ("read", "a", "b"),
                  ("call", "x:99999"), ("call", "a b"), ("--nosuch", "read", "x")]:
        answer = why(*words, rc=2)
        assert answer.said("error:") and "hint:" in answer.err and answer.out == "", answer
    box.spec("[files]\nwrit = 1\n")
    assert "app.toml:2:" in why("read", "x", rc=2).err


def test_hostile_names(box, why):
    name = box.proj / "a\x1b[31m\n\"b\u202e"
    answer = why("read", name, rc=1)
    assert "\x1b" not in answer.out and "\u202e" not in answer.out, answer
    json.loads(why("--json", "read", name, rc=1).out)
    json.loads(why("--json", "read", os.fsencode(box.proj) + b"/\xff\xfe", rc=1).out)
