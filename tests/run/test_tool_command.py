"""lnk sandbox tool: add, list, show and remove, as an ordinary user with settings of its own."""

import os
import re
import shutil
import signal
import stat
import subprocess
import time
import tomllib

import pytest

from conftest import LNK


class Tools:
    """The command in a box, with settings in a folder of its own and programs on a PATH of its own."""

    def __init__(self, box):
        self.box = box
        self.config = box.dir / "config"
        self.file = self.config / "link/tools.toml"
        self.bin = box.dir / "bin"
        self.bin.mkdir(mode=0o755)
        self.gh = self.program("gh")
        self.frob = self.program("frob")

    def program(self, name, mode=0o755):
        path = self.bin / name
        path.write_text("#!/bin/sh\necho ran\n")
        path.chmod(mode)
        return path

    def argv(self, *words):
        return [str(LNK), "sandbox", "tool", *map(str, words)]

    def env(self, **more):
        return self.box.environment({"XDG_CONFIG_HOME": self.config, "PATH": f"{self.bin}:/usr/bin:/bin",
                                     **more})

    def __call__(self, *words, status=0, cwd=None, env=None):
        r = self.box.outside(*self.argv(*words), cwd=cwd, env=self.env(**(env or {})))
        assert r.rc == status, r
        assert status == 0 or (r.out == "" and "error: " in r.err), r
        assert status != 0 or r.err == "", r
        return r

    def read(self):
        return tomllib.loads(self.file.read_text())["tool"]

    def write(self, text, mode=0o600):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)
        self.file.chmod(mode)


@pytest.fixture
def tools(box):
    # The box's own folder must be one that others cannot write.
    os.chmod(box.dir, 0o755)
    return Tools(box)


def test_add_with_built_in_rules(tools):
    r = tools("add", "gh")
    assert tools.read() == {"gh": {"program": str(tools.gh), "profile": "gh"}}
    assert stat.S_IMODE(tools.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(tools.file.parent.stat().st_mode) == 0o700
    assert [p.name for p in tools.file.parent.iterdir()] == ["tools.toml"]
    assert re.search(rf"^  program +{re.escape(str(tools.gh))}$", r.out, re.M), r
    assert re.search(r"^  profile +gh: reads pull requests", r.out, re.M), r
    assert re.search(r"^  allow +pr list\|ls\|view.* \*  \(built in\)$", r.out, re.M), r
    assert re.search(r"^  closed +auth token \*  \(prints your login\)$", r.out, re.M), r
    assert re.search(r"^  closed +the option -w, --web after run view\|watch  \(", r.out, re.M), r
    assert re.search(rf"^  read +{re.escape(str(tools.config))}/gh  \(built in; not there\)$", r.out, re.M), r


def test_add_everything_else(tools):
    tools("add", "frob", "--program", tools.frob, "--allow", "  pr   view * ", "--allow=run x",
          "--deny", "gist", "--read", "~/a", "--read=/srv//b/", "--write", "c", "--env", "FOO",
          "--env=BAR", "--any")
    assert tools.read()["frob"] == {
        "program": str(tools.frob), "profile": "none", "allow": ["pr view *", "run x"],
        "deny": ["gist"], "read": [f"{tools.box.home}/a", "/srv/b"],
        "write": [f"{tools.box.proj}/c"], "env": ["FOO", "BAR"], "any": True}


def test_add_again_adds(tools):
    tools("add", "gh", "--allow", "pr merge *")
    tools("add", "gh", "--allow", "pr merge *", "--allow", "run rerun *", "--deny", "gist *")
    tools("add", "gh", "--env", "X")
    assert tools.read() == {"gh": {
        "program": str(tools.gh), "profile": "gh", "allow": ["pr merge *", "run rerun *"],
        "deny": ["gist *"], "env": ["X"]}}
    # Another program, the rest as it was; the program that is kept need not be on PATH.
    other = tools.program("other")
    tools("add", "gh", "--program", "other")
    tools("add", "gh", "--any", env={"PATH": "/usr/bin"})
    assert tools.read()["gh"]["program"] == str(other)
    assert tools.read()["gh"]["allow"] == ["pr merge *", "run rerun *"]
    assert tools.read()["gh"]["any"] is True


def test_the_rules_follow_the_program(tools):
    tools("add", "hub", "--program", "gh")
    assert tools.read()["hub"]["profile"] == "gh"
    tools("add", "frob", "--any")
    tools("add", "frob", "--program", "gh")
    assert tools.read()["frob"]["profile"] == "gh"


def test_the_real_path_is_kept(tools):
    (tools.bin / "ghx").symlink_to("gh")
    os.symlink(tools.bin, tools.box.dir / "to-bin")
    for given in ("ghx", tools.box.dir / "to-bin/ghx", "../bin/ghx"):
        tools("add", "ghx", "--program", given, "--any")
        assert tools.read()["ghx"]["program"] == str(tools.gh)
        tools("remove", "ghx")


def test_list_show_remove(tools):
    assert tools("list").out == ""
    assert not tools.config.exists()
    tools("add", "gh", "--allow", "pr merge *")
    tools("add", "frob", "--any", "--deny", "x")
    lines = tools("list").lines
    assert lines[0].split() == ["gh", str(tools.gh), *"profile gh, 1 allowed".split()]
    assert lines[1].split() == ["frob", str(tools.frob), *"no profile, any arguments, 1 denied".split()]
    assert tools("show", "frob").lines == [
        "frob", f"  program  {tools.frob}", "  profile  none", "  any      all arguments",
        "  deny     x", *[line for line in tools("show", "frob").lines if line.startswith("  env")]]
    assert tools("show", "gh").out == tools("add", "gh").out
    assert tools("remove", "gh").out == ""
    assert list(tools.read()) == ["frob"]
    tools("remove", "frob")
    assert tools("list").out == ""
    tools("add", "gh")
    os.unlink(tools.gh)
    assert "is not there)" in tools("show", "gh").out


@pytest.mark.parametrize("words, says, hint", [
    (("add", "terraform"), "no program \"terraform\" on your PATH", "--program PATH"),
    (("add", "frob"), "no built-in rules for \"frob\"", "lnk sandbox tool add frob --allow 'COMMAND *'"),
    (("add", "frob", "--deny", "x", "--read", "/srv"), "no built-in rules", "--any"),
    (("add", "frob", "--allow", "*"), "is every call", "--any"),
    (("add", "frob", "--allow", ""), "a pattern is empty", "pr view"),
    (("add", "frob", "--allow", "frob x"), "begins with the tool's own name", "'x'"),
    (("add", "frob", "--allow", "a 'b'"), "holds a quote", "words"),
    (("add", "frob", "--allow", "a\nb"), "holds a control character", "*"),
    (("add", "frob", "--allow", b"a\xff"), "is not UTF-8", "*"),
    (("add", "frob", "--any", "--read", b"/srv/\xff"), "is not UTF-8", "folder"),
    (("add", "frob", "--any", "--read", "~"), "your whole home", "~/.config/gh"),
    (("add", "frob", "--any", "--write", "/"), "above your home", "~/.config/gh"),
    (("add", "frob", "--any", "--read", "../config/link"), "Link's own folder", ""),
    (("add", "frob", "--any", "--write", "../config"), "Link's own folder", ""),
    (("add", "frob", "--any", "--read", "../to-link"), "Link's own folder", ""),
    (("add", "frob", "--any", "--env", "A=b"), "not a variable's name", "the value that you have"),
    (("add", "../../bin/sh", "--any"), "\"../../bin/sh\" is not a tool's name", "letters"),
    (("add", "a/b", "--any"), "is not a tool's name", "letters"),
    (("add", ".x", "--any"), "is not a tool's name", "letters"),
    (("add", "a" * 65, "--any"), "is not a tool's name", "letters"),
    (("add", "", "--any"), "is not a tool's name", "letters"),
    (("add", "--", "-x", "--any"), "takes one NAME", ""),
    (("add", "--any"), "needs a NAME", "lnk sandbox tool add gh"),
    (("add", "frob", "pr", "view"), "takes one NAME", "in quotes"),
    (("add", "frob", "--alow", "x"), "did you mean --allow?", "--help"),
    (("add", "frob", "--any=yes"), "takes no value", ""),
    (("add", "frob", "--allow"), "needs a value", "--allow PATTERN"),
    (("add", "frob", "--any", "--program", "frob", "--program", "gh"), "given twice", ""),
    (("add", "frob", "--any", "--program", ""), "no program \"\"", ""),
    (("add", "frob", "--any", "--program", "./none"), "is not there", ""),
    (("add", "frob", "--any", "--program", "./"), "not a program that you may run", ""),
    (("add", "frob", "--any", "--program", "../plain"), "not a program that you may run", ""),
    (("add", "frob", "--any", "--program", "../open"), "others may change", "ls -l"),
    (("add", "frob", "--any", "--program", "../wide/x"), "others may replace", ""),
    (("show", "gh"), "there is no tool \"gh\"", "lnk sandbox tool add gh"),
    (("remove", "gh"), "there is no tool \"gh\"", "lnk sandbox tool add gh"),
    (("show",), "needs a NAME", ""),
    (("list", "gh"), "takes no NAME", ""),
    (("list", "--json"), "takes no flags", ""),
    (("ad", "gh"), "has no command \"ad\"", "add, list, show and remove"),
])
def test_refused(tools, words, says, hint):
    (tools.box.dir / "plain").write_text("x")
    tools.program("../open", 0o757)
    (tools.box.dir / "wide").mkdir()
    tools.program("../wide/x")
    (tools.box.dir / "wide").chmod(0o777)
    os.symlink(tools.config / "link", tools.box.dir / "to-link")
    done = subprocess.run([os.fsencode(w) for w in (LNK, "sandbox", "tool", *words)], cwd=tools.box.proj,
                          env=tools.env(), capture_output=True, timeout=30)
    err = done.stderr.decode(errors="replace")
    assert done.returncode == 2 and done.stdout == b"", done
    assert says in err and "hint: " in err and hint in err, err
    assert not tools.file.exists()


def test_without_a_home(tools):
    r = tools.box.outside(*tools.argv("list"), env={"PATH": "/usr/bin"})
    assert r.rc == 125 and "HOME is not set" in r.err, r


def test_help(tools):
    text = tools("--help").out
    assert tools("add", "--help").out == tools("list", "-h").out == text
    assert "--allow PATTERN" in text
    assert tools.box.outside(*tools.argv(), env=tools.env()).rc == 2


# --- the file -------------------------------------------------------------------------------


def test_a_mistake_in_the_file_is_told_with_its_place(tools):
    tools.write('[tool.gh]\nprogram = "/usr/bin/gh"\n  alow = ["x"]\n')
    before = tools.file.read_text()
    for words in (("list",), ("show", "gh"), ("remove", "gh"), ("add", "frob", "--any")):
        r = tools(*words, status=2)
        assert f"{tools.file}:3:3: error: [tool.gh] has no key \"alow\"; did you mean \"allow\"?" in r.err
        assert '\n    alow = ["x"]\n    ^\n' in r.err, r
    assert tools.file.read_text() == before


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write(tools, mode):
    tools.write("", mode)
    assert "may be written by others" in tools("list", status=2).err
    assert "chmod go-w" in tools("add", "gh", status=2).err


def test_odd_files(tools):
    tools.file.parent.mkdir(parents=True)
    tools.file.mkdir()
    assert "not a file" in tools("list", status=2).err
    tools.file.rmdir()
    os.mkfifo(tools.file)
    assert "not a file" in tools("list", status=2).err
    tools.file.unlink()
    tools.write("#" * 65537)
    assert "64 KiB" in tools("list", status=2).err


def test_a_person_may_edit_it(tools):
    tools.write(f'[tool]\ngh = {{program = "{tools.gh}"}}  # mine\n[tool."c++"]\n'
                f'program = "{tools.frob}"\nallow = ["x *"]\n')
    assert [line.split()[0] for line in tools("list").lines] == ["gh", "c++"]
    assert "gh: reads" in tools("show", "gh").out
    tools("add", "c++", "--deny", "x y")
    assert tools.read()["c++"]["deny"] == ["x y"]


def test_a_file_kept_elsewhere(tools):
    kept = tools.box.dir / "dotfiles.toml"
    tools.file.parent.mkdir(parents=True)
    kept.write_text("")
    kept.chmod(0o600)
    tools.file.symlink_to(kept)
    tools("add", "gh")
    assert tools.file.is_symlink() and "[tool.gh]" in kept.read_text()


def test_a_folder_that_cannot_be_written(tools):
    tools("add", "gh")
    before = tools.file.read_text()
    tools.file.parent.chmod(0o500)
    r = tools("add", "frob", "--any", status=125)
    assert "cannot write" in r.err and "hint: " in r.err, r
    tools("remove", "gh", status=125)
    assert tools("list").lines[0].startswith("gh")
    tools.file.parent.chmod(0o700)
    assert tools.file.read_text() == before


def test_a_full_disk_leaves_the_old_file(tools):
    tools("add", "gh")
    before = tools.file.read_text()
    r = tools.box.outside("sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh",
                          *tools.argv("add", "frob", "--any"), env=tools.env())
    assert r.rc == 125 and "cannot write" in r.err, r
    assert tools.file.read_text() == before
    assert [p.name for p in tools.file.parent.iterdir()] == ["tools.toml"]


def test_many_at_once_lose_nothing(tools):
    procs = [subprocess.Popen(tools.argv("add", f"t{i}", "--program", tools.frob, "--any"),
                              env=tools.env(), stdout=subprocess.DEVNULL) for i in range(25)]
    assert [p.wait() for p in procs] == [0] * 25
    assert set(tools.read()) == {f"t{i}" for i in range(25)}


def test_killed_at_any_moment(tools):
    tools("add", "gh")
    for i in range(40):
        proc = subprocess.Popen(tools.argv("add", f"t{i}", "--program", tools.frob, "--any"),
                                env=tools.env(), stdout=subprocess.DEVNULL)
        time.sleep(0.0002 * i)
        proc.send_signal(signal.SIGKILL)
        proc.wait()
        assert "gh" in tools.read()
        assert tools("list").lines[0].startswith("gh")
    tools("add", "frob", "--any")
    assert [p.name for p in tools.file.parent.iterdir()] == ["tools.toml"]


def test_hostile_text_is_shown_harmless(tools):
    odd = tools.box.dir / "o\x1b[2J\u202edd"
    odd.mkdir(mode=0o755)
    program = odd / "frob"
    shutil.copy(tools.frob, program)
    out = tools("add", "frob", "--program", program, "--any").out + tools("list").out
    assert "\x1b" not in out and "\u202e" not in out and "\\x1b[2J" in out
    assert tools.read()["frob"]["program"] == str(program)


# --- what a sandbox makes of it -------------------------------------------------------------


def test_a_spec_that_names_what_was_never_added(tools):
    spec = tools.box.spec('[files]\nwrite = ["proj"]\n[tools]\nnames = ["gh", "frob"]\n'
                          '[commands]\nallow = ["*"]\n')
    tools("add", "gh")
    r = tools.box.run("true", env=tools.env())
    assert r.rc == 125, r
    assert f"{spec}:4:16: error: there is no tool \"frob\"" in r.err, r
    assert "lnk sandbox tool add frob --allow 'COMMAND *'" in r.err, r
    assert "\"gh\"" not in r.err.replace('names = ["gh", "frob"]', ""), r


def test_the_sandbox_cannot_reach_the_file(tools):
    tools("add", "gh")
    box = tools.box
    box.spec('[files]\nwrite = ["proj"]\nread = ["~", "config"]\n[commands]\nallow = ["*"]\n')
    r = box.sh(f"cat {tools.file}; echo x >>{tools.file}; ls {tools.file.parent}",
               env={"XDG_CONFIG_HOME": tools.config})
    assert "program" not in r.out, r
    assert list(tools.read()) == ["gh"]
