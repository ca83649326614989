"""lnk sandbox spec: its command line, files that are no spec file, flags alone, the shape of --json."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from conftest import LNK, box_base  # noqa: E402

SECTIONS = {
    "files": ["write", "read", "write_dot_files", "hide"],
    "network": ["mode"],
    "internet": ["hosts", "tcp", "per_minute"],
    "lan": ["hosts"],
    "localhost": ["ports", "models"],
    "tools": ["names"],
    "browser": ["hosts"],
    "commands": ["allow", "developer_tools"],
}


class Home:
    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        (self.dir / "code" / "app").mkdir(parents=True)
        (self.dir / "specs").mkdir()
        self.env = {"HOME": str(self.dir), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def spec(self, text, name="s.toml"):
        path = self.dir / "specs" / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def lnk(self, *args, cwd="specs", env=None, **kwargs):
        return subprocess.run([LNK, "sandbox", "spec", *args], cwd=self.dir / cwd,
                              env=self.env if env is None else env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=20, **kwargs)

    def refused(self, *args, **kwargs):
        done = self.lnk(*args, **kwargs)
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr

    def json(self, *args, **kwargs):
        done = self.lnk("--json", *args, **kwargs)
        assert done.returncode == 0 and done.stderr == "", done
        return json.loads(done.stdout)


@pytest.fixture
def home():
    folder = tempfile.mkdtemp(prefix="c-", dir=box_base())
    try:
        yield Home(folder)
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)
        shutil.rmtree(folder)


# --- the command line -----------------------------------------------------------------------


@pytest.mark.parametrize("args, message", [
    ([], "needs a FILE"),
    (["--json"], "needs a FILE"),
    (["--os", "macos"], "needs a FILE"),
    (["a.toml", "b.toml"], "takes one FILE"),
    (["a.toml", "--spec", "b.toml"], "takes one FILE"),
    ([""], "empty"),
    (["--os"], "--os takes linux or macos"),
    (["--os", "windows", "a.toml"], "--os takes linux or macos"),
    (["--os=", "a.toml"], "--os takes linux or macos"),
    (["--keys", "a.toml"], "--keys stands alone"),
    (["--schema", "a.toml"], "--schema stands alone"),
    (["--keys", "--schema"], "stands alone"),
    (["--schema", "--json"], "--schema stands alone"),
    (["--keys", "--write", "x"], "--keys stands alone"),
    (["--jsn", "a.toml"], "has no flag --jsn; did you mean --json?"),
    (["--hots", "x", "a.toml"], "did you mean --host?"),
    (["-x", "a.toml"], "has no flag -x"),
    (["--write"], "--write needs a value"),
    (["--spec"], "takes one FILE"),
    (["--\x1b[2J", "a.toml"], "\\x1b[2J"),
])
def test_usage(home, args, message):
    err = home.refused(*args)
    assert err.startswith("lnk: error: ") and message in err and "\nhint: " in err, err


def test_flag_spec_and_operand_are_the_same(home):
    home.spec('name = "a"\n')
    assert home.json("s.toml") == home.json("--spec", "s.toml") == home.json("--spec=s.toml")
    home.spec('name = "a"\n', "--os")
    assert home.json("--", "--os")["name"]["value"] == "a"


def test_no_home(home):
    home.spec("")
    done = home.lnk("s.toml", env={"PATH": "/usr/bin"})
    assert done.returncode == 125 and "HOME is not set" in done.stderr


def test_output_that_cannot_be_written(home):
    home.spec("")
    for args in (["s.toml"], ["--json", "s.toml"], ["--keys"], ["--schema"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([LNK, "sandbox", "spec", *args], cwd=home.dir / "specs",
                                  env=home.env, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 125 and "cannot" in done.stderr, done


# --- files ----------------------------------------------------------------------------------


def test_no_such_file(home):
    assert home.refused("none.toml").startswith("none.toml: error: there is no such file\nhint: ")
    assert "there is no such file" in home.refused("s.toml/x")
    assert "~" in home.refused("~/s.toml").split("hint:")[1]


def test_a_folder(home):
    assert "this is a folder" in home.refused(".")
    assert "this is a folder" in home.refused(str(home.dir))


def test_a_pipe_is_not_waited_for(home):
    os.mkfifo(home.dir / "specs" / "pipe")
    assert "this is a pipe" in home.refused("pipe")
    done = subprocess.run(["bash", "-c", f"'{LNK}' sandbox spec <(sleep 30 2>&-)"], env=home.env,
                          capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and "this is a pipe" in done.stderr


def test_devices_and_sockets(home):
    assert "this is a device" in home.refused("/dev/zero")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(home.dir / "specs" / "sock"))
    assert "this is a socket" in home.refused("sock")
    listening.close()


def test_no_permission(home):
    """Root may read all the same, so there it is tried without root's right to."""
    path = home.spec("")
    path.chmod(0)
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    done = subprocess.run([*drop, LNK, "sandbox", "spec", "s.toml"], cwd=home.dir / "specs",
                          env=home.env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "s.toml: error: the file cannot be read: Permission denied\nhint: " in done.stderr


def test_a_folder_that_cannot_be_written(home):
    home.spec('[files]\nwrite = ["~/code/app"]\n')
    (home.dir / "code/app").chmod(0o555)
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    done = subprocess.run([*drop, LNK, "sandbox", "spec", "s.toml"], cwd=home.dir / "specs",
                          env=home.env, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.match(r"s\.toml:2:10: error: .*code/app, is not writable for you", done.stderr)
    assert "chmod u+w" in done.stderr


def test_links_to_a_spec(home):
    home.spec('[files]\nread = ["x"]\n')
    (home.dir / "link.toml").symlink_to("specs/s.toml")
    got = home.json("../link.toml")
    assert got["file"] == f"{home.dir}/link.toml"
    assert got["files"]["read"][0]["path"] == f"{home.dir}/x"


def test_parents_in_the_name_of_the_file(home):
    """link/../s.toml lies where the kernel finds it, and so do its relative paths."""
    (home.dir / "deep").mkdir()
    (home.dir / "deep" / "specs").symlink_to(home.dir / "specs")
    home.spec('[files]\nread = ["x"]\n', "../s.toml")
    got = home.json("specs/../s.toml", cwd="deep")
    assert got["file"] == f"{home.dir}/s.toml"
    assert got["files"]["read"][0]["path"] == f"{home.dir}/x"


def test_largest_file(home):
    home.spec("#" * 65536)
    assert home.lnk("s.toml").returncode == 0
    home.spec("#" * 65537)
    assert "larger than 64 KiB" in home.refused("s.toml")


# --- flags ----------------------------------------------------------------------------------


def test_flags_alone_are_the_whole_spec(home):
    got = home.json("--write", ".", "--read", "..", "--port", "80", cwd="code/app")
    assert got["file"] is None
    assert got["files"]["write"][0]["path"] == f"{home.dir}/code/app"
    assert got["files"]["read"][0]["path"] == f"{home.dir}/code"
    assert got["files"]["write"][0]["flag"] == "--write"
    assert got["files"]["write"][0]["line"] is None
    assert got["commands"] == {"granted": False, "allow": None, "developer_tools": None,
                               "note": "left out without a file: any program runs"}


def test_flags_alone_may_what_a_file_may_not(home):
    (home.dir / ".ssh").mkdir()
    flags = ["--write", "~/.ssh", "--write", "~", "--read", "/tmp", "--read", "/"]
    assert home.lnk(*flags).returncode == 0
    home.spec("")
    err = home.refused("s.toml", *flags)
    assert err.count(": error: ") == 4


def test_flags_replace_and_hide_adds(home):
    home.spec('[files]\nread = ["~/code"]\nhide = ["~/a"]\n[commands]\nallow = ["sh"]\n')
    got = home.json("s.toml", "--read", "~/specs", "--hide", "~/b", "--hide=~/c")
    assert [e["value"] for e in got["files"]["read"]] == ["~/specs"]
    assert [e["value"] for e in got["files"]["hide"]] == ["~/a", "~/b", "~/c"]
    assert [e["value"] for e in got["commands"]["allow"]] == ["sh"]


def test_relative_paths_of_flags_are_from_the_current_folder(home):
    home.spec('[files]\nread = ["x"]\n')
    got = home.json("../../specs/s.toml", "--hide", "y", cwd="code/app")
    assert got["files"]["read"][0]["path"] == f"{home.dir}/specs/x"
    assert got["files"]["hide"][0]["path"] == f"{home.dir}/code/app/y"


def test_names_that_are_no_utf8(home):
    name = b"\xff\xfe"
    os.mkdir(bytes(home.dir) + b"/code/" + name)
    done = subprocess.run([LNK, "sandbox", "spec", "--json", "--write", b"~/code/" + name],
                          env=home.env, capture_output=True)
    assert done.returncode == 0
    entry = json.loads(done.stdout)["files"]["write"][0]
    assert entry["path"] == f"{home.dir}/code/\\xff\\xfe"


# --- JSON -----------------------------------------------------------------------------------


def check_shape(got):
    assert list(got) == ["file", "os", "name", "version", *SECTIONS]
    common = ["line", "column", "flag", "note"]
    for section, keys in SECTIONS.items():
        assert list(got[section]) == ["granted", "note", *keys]
        assert isinstance(got[section]["granted"], bool)
        for key in keys:
            entries = got[section][key]
            if entries is None:
                continue
            scalar = key in ("mode", "per_minute", "developer_tools")
            assert isinstance(entries, dict if scalar else list)
            extra = []
            if section == "files":
                extra = ["path", "real", "exists"]
            elif key == "allow":
                extra = ["path", "real", "exists", "folder"]
            elif key == "hosts":
                extra = ["host"]
            elif key == "tcp":
                extra = ["host", "port"]
            for entry in [entries] if scalar else entries:
                assert list(entry) == ["value", *extra, *common]


def test_shape_of_nothing(home):
    home.spec("")
    got = home.json("s.toml")
    check_shape(got)
    assert got["name"] is None and got["version"] is None
    for section, keys in SECTIONS.items():
        assert not got[section]["granted"]
        assert all(got[section][k] is None for k in keys)


def test_unset_is_null_and_no_default_is_filled_in(home):
    home.spec('[internet]\nhosts = ["github.com"]\n')
    got = home.json("s.toml")
    assert got["network"]["mode"] is None
    assert got["internet"]["per_minute"] is None and got["internet"]["tcp"] is None


@pytest.mark.parametrize("os", ["linux", "macos"])
def test_shape_of_every_key(home, os):
    shutil.copy(HERE / "ok" / "every-key.toml", home.dir / "specs" / "s.toml")
    got = home.json("--os", os, "s.toml")
    check_shape(got)
    assert got["os"] == os
    assert all(got[s]["granted"] for s in SECTIONS if s != "network")
    set_keys = {f"{s}.{k}" for s, keys in SECTIONS.items() for k in keys if got[s][k] is not None}
    left = {"network.mode"} | ({"commands.developer_tools"} if os == "linux" else set())
    assert set_keys == {f"{s}.{k}" for s, keys in SECTIONS.items() for k in keys} - left
    exists = {e["exists"] for e in got["files"]["write"]}
    assert exists == ({True} if os == "linux" else {None})
