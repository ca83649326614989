"""--help, the completions and the man pages against the tables: nothing is listed twice, nothing
is left out, and what the shells complete is what the tables say."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from conftest import LNK, ROOT

# KEY(id, section, name, type, main, repeatable, adds, min, max, flag, metavar, help, ...)
STRING = r'(NULL|"(?:[^"\\]|\\.)*")'


def unquote(text):
    return None if text == "NULL" else re.sub(r"\\(.)", r"\1", text[1:-1])


def keys():
    """(section, name, flag, metavar, repeatable, help) of every key."""
    text = (ROOT / "src/spec/keys.def").read_text()
    found = re.findall(
        rf"^KEY\(\w+, (\w+), {STRING}, \w+, \w+, (\w+), \w+, \w+, \w+, {STRING}, {STRING},\s*{STRING}",
        text, re.M)
    assert len(found) == len(re.findall(r"^KEY\(", text, re.M)) > 10
    return [(s, unquote(n), unquote(f), unquote(m), r == "true", unquote(h))
            for s, n, r, f, m, h in found]


def flags(table):
    """(flag, metavar, repeatable, help) of flags.def or spec_flags.def."""
    text = (ROOT / "src/cli" / table).read_text()
    found = re.findall(rf"^FLAG\(\w+, {STRING}, {STRING}, (\w+), {STRING}\)", text, re.M)
    assert len(found) == len(re.findall(r"^FLAG\(", text, re.M)) >= 3
    return [(unquote(f), unquote(m), r == "true", unquote(h)) for f, m, r, h in found]


def key_flags():
    return [(f, m, r, h) for _, _, f, m, r, h in keys() if f]


def run_flags():
    return key_flags() + flags("flags.def")


def spec_flags():
    return key_flags() + flags("spec_flags.def")


def why_flags():
    return key_flags() + flags("why_flags.def")


def tool_flags():
    """Those of tool add: TOOL_KEY(id, name, type, flag, metavar, repeatable, help, example)."""
    text = (ROOT / "src/broker/tool_keys.def").read_text()
    found = re.findall(rf"^TOOL_KEY\(\w+, {STRING}, \w+, {STRING}, {STRING}, (\w+),\s*{STRING}", text,
                       re.M)
    assert len(found) == len(re.findall(r"^TOOL_KEY\(", text, re.M)) > 5
    return [(unquote(f), unquote(m), r == "true", unquote(h))
            for _, f, m, r, h in found if f != "NULL"] + [("--help", None, False, "print this help")]


def lnk(*words, status=0):
    done = subprocess.run([str(LNK), *words], capture_output=True, text=True, timeout=30)
    assert done.returncode == status, done
    return done.stdout


HELPS = [("--help",), ("sandbox", "--help"), ("sandbox", "run", "--help"),
         ("sandbox", "spec", "--help"), ("sandbox", "tool", "--help"),
         ("sandbox", "why", "--help"), ("sandbox", "learn", "--help"),
         ("sandbox", "doctor", "--help"), ("completion", "--help")]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_fits_a_terminal(words):
    text = lnk(*words)
    assert text.startswith("usage: lnk ")
    assert [line for line in text.splitlines() if len(line) > 80 or line != line.rstrip()] == []
    assert "\t" not in text


def help_items(text):
    """{flag: (metavar, repeatable, text)} of a help page."""
    items, last = {}, None
    for line in text.splitlines():
        start = re.match(r"([+ ]) (--[\w-]+)(?: (\S+))?(?:\s{2,}(.*))?$", line)
        if start:
            mark, last, metavar, rest = start.groups()
            items[last] = [metavar, mark == "+", rest or ""]
        elif last and re.match(r" {28}\S", line):
            items[last][2] = (items[last][2] + " " + line.strip()).strip()
        else:
            last = None
    return {k: tuple(v) for k, v in items.items()}


@pytest.mark.parametrize("words, table",
                         [("run", run_flags), ("spec", spec_flags), ("tool", tool_flags),
                          ("why", why_flags)])
def test_help_lists_the_tables(words, table):
    assert help_items(lnk("sandbox", words, "--help")) == {
        f: (m, r, h) for f, m, r, h in table()}


def test_every_flag_of_the_tables_is_taken():
    """A flag that help names is no unknown flag to the command: whatever else is wrong."""
    for command, table in (("run", run_flags()), ("spec", spec_flags()), ("tool add", tool_flags()),
                           ("why", why_flags())):
        for flag, metavar, _, _ in table:
            words = [flag] + (["x"] if metavar else [])
            done = subprocess.run([str(LNK), "sandbox", *command.split(), *words],
                                  capture_output=True, text=True, timeout=30,
                                  stdin=subprocess.DEVNULL)
            assert "no such flag" not in done.stderr and "has no flag" not in done.stderr, done
    done = subprocess.run([str(LNK), "sandbox", "run", "--no-such", "x"], capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 125 and "--no-such: error: there is no such flag" in done.stderr


def test_keys_are_the_table():
    text = lnk("sandbox", "spec", "--keys")
    for _, name, flag, _, _, _ in keys():
        assert re.search(rf"\b{name}\b", text), name
        assert flag is None or re.search(rf"(?<![\w-]){flag}(?![\w-])", text), flag


def test_completion_needs_a_shell():
    for words in (("completion",), ("completion", "tcsh"), ("completion", "bash", "zsh")):
        done = subprocess.run([str(LNK), *words], capture_output=True, text=True)
        assert done.returncode == 2 and "lnk completion bash" in done.stderr and not done.stdout


# --- what the shells offer ------------------------------------------------------------------


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completions")
    for shell, name in (("bash", "lnk.bash"), ("zsh", "_lnk"), ("fish", "lnk.fish")):
        (folder / name).write_text(lnk("completion", shell))
    (folder / "one.toml").write_text("")
    (folder / "two.txt").write_text("")
    return folder


def bash(scripts, *words):
    """What bash offers for the last of these words."""
    quoted = " ".join("'" + w + "'" for w in words)
    script = (f"source {scripts}/lnk.bash; COMP_WORDS=(lnk {quoted}); "
              f"COMP_CWORD={len(words)}; _lnk; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                          cwd=scripts, timeout=60)
    assert done.stderr == "", done
    return set(done.stdout.split())


def fish(scripts, *words):
    line = " ".join(("lnk",) + words)
    env = dict(os.environ, HOME=str(scripts), XDG_CONFIG_HOME=str(scripts),
               XDG_DATA_HOME=str(scripts))
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {scripts}/lnk.fish; complete -C '{line}'"],
        capture_output=True, text=True, cwd=scripts, timeout=60, env=env)
    assert done.stderr == "", done
    return {row.split("\t")[0] for row in done.stdout.splitlines()}


def zsh(scripts, *words):
    """What zsh shows after Tab and Ctrl-D's list, on a terminal of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(scripts)
        os.environ.update(TERM="dumb", HOME=str(scripts), PS1="", LISTMAX="0", ZDOTDIR=str(scripts))
        os.execvp("zsh", ["zsh", "-f", "-i"])

    def read_until(mark, seconds=40):
        got, end = "", time.monotonic() + seconds
        while mark not in got:
            assert time.monotonic() < end, got
            if select.select([fd], [], [], 1)[0]:
                got += os.read(fd, 65536).decode(errors="replace")
        return got

    setup = (f"PS1='' PROMPT='' RPROMPT=''; setopt no_beep; stty rows 500 columns 200; "
             f"fpath=({scripts} $fpath); "
             f"autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' list-max-items 0; "
             f"zstyle ':completion:*' verbose no; LISTMAX=1000; bindkey '^I' list-choices; "
             f"print rea''dy\n")
    try:
        os.write(fd, setup.encode())
        read_until("ready")
        os.write(fd, (" ".join(("lnk",) + words) + "\t").encode())
        time.sleep(1.5)
        os.write(fd, b"\x15print en''d\n")
        text = read_until("end\r\n")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(fd)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", text)
    return set(re.findall(r"(?<![\w-])(-{0,2}[\w][\w./-]*)", text))


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_well_formed(shell, scripts):
    assert shutil.which(shell), f"{shell} is not installed"
    name = {"bash": "lnk.bash", "zsh": "_lnk", "fish": "lnk.fish"}[shell]
    done = subprocess.run([shell, "-n", str(scripts / name)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_are_completed(shell, scripts):
    offered = SHELLS[shell](scripts, "")
    assert {"sandbox", "completion"} <= offered
    assert {"run", "spec", "tool", "why", "learn", "doctor"} <= SHELLS[shell](scripts, "sandbox", "")
    assert {"bash", "zsh", "fish"} <= SHELLS[shell](scripts, "completion", "")
    assert {"add", "list", "show", "remove"} <= SHELLS[shell](scripts, "sandbox", "tool", "")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command, table", [("run", run_flags), ("spec", spec_flags),
                                            ("why", why_flags)])
def test_flags_are_completed(shell, command, table, scripts):
    offered = {f for f in SHELLS[shell](scripts, "sandbox", command, "--") if f.startswith("--")}
    assert offered - {"--"} == {f for f, _, _, _ in table()}


@pytest.mark.parametrize("shell", SHELLS)
def test_tools_are_completed(shell, scripts):
    offer = SHELLS[shell]
    flags = {f for f in offer(scripts, "sandbox", "tool", "add", "gh", "--") if f.startswith("--")}
    assert flags - {"--"} == {f for f, _, _, _ in tool_flags()}
    assert "mkfifo" in offer(scripts, "sandbox", "tool", "add", "mk")
    assert {"one.toml", "two.txt"} <= offer(scripts, "sandbox", "tool", "add", "gh", "--read", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_names_of_tools_are_completed(shell, scripts, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "lnk").symlink_to(LNK)
    lnk("sandbox", "tool", "add", "mine", "--program", "/bin/true", "--any")
    lnk("sandbox", "tool", "add", "yours", "--program", "/bin/true", "--any")
    # fish's own settings are kept out of the way by a variable of the same name.
    (scripts / "link").mkdir(exist_ok=True)
    (scripts / "link/tools.toml").write_bytes((tmp_path / "link/tools.toml").read_bytes())
    (scripts / "link/tools.toml").chmod(0o600)
    for command in ("show", "remove"):
        assert {"mine", "yours"} <= SHELLS[shell](scripts, "sandbox", "tool", command, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_values_are_completed(shell, scripts):
    offer = SHELLS[shell]
    assert {"proxy", "host"} <= offer(scripts, "sandbox", "run", "--network", "")
    assert {"linux", "macos"} <= offer(scripts, "sandbox", "spec", "--os", "")
    specs = offer(scripts, "sandbox", "run", "--spec", "")
    assert "one.toml" in specs and "two.txt" not in specs
    assert {"one.toml", "two.txt"} <= offer(scripts, "sandbox", "run", "--write", "")
    assert {"one.toml", "two.txt"} <= offer(scripts, "sandbox", "run", "--log", "")
    assert "one.toml" in offer(scripts, "sandbox", "spec", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_questions_are_completed(shell, scripts):
    offer = SHELLS[shell]
    assert {"read", "write", "run", "call"} <= offer(scripts, "sandbox", "why", "")
    assert {"one.toml", "two.txt"} <= offer(scripts, "sandbox", "why", "read", "")
    assert "one.toml" in offer(scripts, "sandbox", "learn", "-o", "")
    assert "mkfifo" in offer(scripts, "sandbox", "learn", "-o", "new.toml", "mk")
    assert "mkfifo" in offer(scripts, "sandbox", "why", "--spec", "one.toml", "run", "mk")


@pytest.mark.parametrize("shell", SHELLS)
def test_program_is_completed(shell, scripts):
    offer = SHELLS[shell]
    assert "mkfifo" in offer(scripts, "sandbox", "run", "--write", ".", "mk")
    # What follows PROGRAM is PROGRAM's: no flag of ours.
    after = offer(scripts, "sandbox", "run", "--write", ".", "mkfifo", "--")
    assert not after & {"--read", "--dry-run", "--user-namespaces"}
    assert {"one.toml", "two.txt"} <= offer(scripts, "sandbox", "run", "--", "cat", "")


# --- the man pages --------------------------------------------------------------------------


def test_man_pages_hold_the_lists():
    done = subprocess.run(["script/man", "--check"], cwd=ROOT, capture_output=True, text=True,
                          env=dict(os.environ, LNK=str(LNK)))
    assert done.returncode == 0, done.stdout + done.stderr
    spec = (ROOT / "man/lnk-sandbox-spec.5.scd").read_text()
    run = (ROOT / "man/lnk-sandbox-run.1.scd").read_text()
    assert "\n; begin keys\n" in spec and "\n; begin flags\n" in run


def test_man_lists_are_the_tables_of_tools():
    text = lnk("completion", "man-tool-flags").replace("\\", "")
    for flag, metavar, _, _ in tool_flags():
        assert f"\n*{flag}*" + (f" _{metavar}_" if metavar else "") + "\n" in text
    keys_of = re.findall(r'^TOOL_KEY\(\w+, "(\w+)"',
                         (ROOT / "src/broker/tool_keys.def").read_text(), re.M)
    text = lnk("completion", "man-tool-keys")
    assert re.findall(r"^\*(\w+)\* = ", text, re.M) == keys_of
    text = lnk("completion", "man-profiles").replace("\\", "")
    rows = (ROOT / "src/broker/profiles.def").read_text()
    for kind in ("ALLOW", "CLOSED", "READ", "WRITE", "ENV", "SET"):
        for words in re.findall(rf'\b{kind}\([A-Z]+, "([^"]*)"', rows):
            assert f"*{words}*" in text, (kind, words)
    for letter, name in re.findall(rf'\bREFUSE\([A-Z]+, "[^"]*", {STRING}, {STRING}', rows):
        for option in (unquote(letter), unquote(name)):
            assert option is None or f"*{option}*" in text


def test_man_lists_are_the_tables():
    text = lnk("completion", "man-keys").replace("\\", "")
    for _, name, flag, metavar, _, _ in keys():
        assert f"\n*{name}* = " in text
        assert flag is None or f"*{flag}*" + (f" _{metavar}_" if metavar else "") in text
    text = lnk("completion", "man-flags").replace("\\", "")
    for flag, metavar, _, _ in run_flags():
        assert f"\n*{flag}*" + (f" _{metavar}_" if metavar else "") + "\n" in text
