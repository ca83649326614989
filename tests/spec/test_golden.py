"""Golden specs. ok/NAME.toml is read, and what `lnk sandbox spec` prints, as text and as JSON,
is in NAME.out; bad/NAME.toml is refused, with exactly the errors in NAME.err.

Beside it may stand NAME.args (flags, one a line), NAME.sh (prepares the home, which is its current
folder) and NAME.env (variables, one a line; $HOME is replaced). The home is fresh; it holds
code/app, Documents/reports and specs, where the spec lies and lnk is started. In the files the
home is written $HOME, and the folder it lies in $BOX.

    python3 tests/spec/test_golden.py --write [NAME...]   writes the files anew, to be read by you
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from conftest import LNK, box_base  # noqa: E402

OK = sorted(p.stem for p in (HERE / "ok").glob("*.toml"))
BAD = sorted(p.stem for p in (HERE / "bad").glob("*.toml"))


class Home:
    """A fresh home with the spec `source` in it, and what the files beside it ask for."""

    def __init__(self, source):
        self.source = source
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="s-", dir=box_base()))
        self.home = self.dir / "home"
        for folder in ("code/app", "Documents/reports", "specs"):
            (self.home / folder).mkdir(parents=True)
        self.spec = self.home / "specs" / source.name
        shutil.copyfile(source, self.spec)
        self.env = {"HOME": str(self.home), "USER": "me", "LANG": "C.UTF-8",
                    "PATH": f"{self.home}/tools/bin:/usr/bin:/bin"}
        for line in self._beside(".env").splitlines():
            name, value = line.replace("$HOME", str(self.home)).split("=", 1)
            self.env[name] = value
        self.args = self._beside(".args").splitlines()
        script = source.with_suffix(".sh")
        if script.exists():
            subprocess.run(["bash", "-eu", script], cwd=self.home, env=self.env, check=True)

    def _beside(self, suffix):
        path = self.source.with_suffix(suffix)
        return path.read_text() if path.exists() else ""

    def lnk(self, *args):
        return subprocess.run([str(LNK), "sandbox", "spec", self.spec.name, *self.args, *args],
                              cwd=self.home / "specs", env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=20)

    def plain(self, data):
        return data.decode().replace(str(self.home), "$HOME").replace(str(self.dir), "$BOX")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["chmod", "-R", "u+rwX", self.dir], check=True)
        shutil.rmtree(self.dir)


def flat(data):
    """The JSON, one entry a line, without its nulls: a file to be read by people."""
    lines = [f"file = {data['file']}", f"os = {data['os']}"]

    def entry(name, value):
        kept = {k: v for k, v in value.items() if v is not None}
        lines.append(f"{name} = {json.dumps(kept, ensure_ascii=False)}")

    for table, value in data.items():
        if table in ("file", "os") or value is None:
            continue
        if "granted" not in value:
            entry(table, value)
            continue
        lines.append(f"{table}: {'granted' if value['granted'] else 'closed'}; {value['note']}")
        for key, entries in value.items():
            if key in ("granted", "note") or entries is None:
                continue
            for one in entries if isinstance(entries, list) else [entries]:
                entry(f"{table}.{key}", one)
    return "\n".join(lines) + "\n"


def good_output(home):
    text, data = home.lnk(), home.lnk("--json")
    assert text.returncode == 0 and text.stderr == b"", text
    assert data.returncode == 0 and data.stderr == b"", data
    return home.plain(text.stdout) + "--- json\n" + flat(json.loads(home.plain(data.stdout)))


def bad_output(home):
    done = home.lnk()
    assert done.returncode == 2, done
    assert done.stdout == b"", done
    assert home.lnk("--json").stderr == done.stderr
    return home.plain(done.stderr)


def test_there_are_enough():
    assert len(OK) + len(BAD) >= 100
    for folder, names, suffix in (("ok", OK, ".out"), ("bad", BAD, ".err")):
        known = {".toml", ".args", ".sh", ".env", suffix}
        for path in (HERE / folder).iterdir():
            assert path.suffix in known and path.stem in names, path


@pytest.mark.parametrize("name", OK)
def test_ok(name):
    source = HERE / "ok" / f"{name}.toml"
    with Home(source) as home:
        assert good_output(home) == source.with_suffix(".out").read_text()


@pytest.mark.parametrize("name", BAD)
def test_bad(name):
    source = HERE / "bad" / f"{name}.toml"
    with Home(source) as home:
        assert bad_output(home) == source.with_suffix(".err").read_text()


def write_anew(names):
    for folder, suffix, output in (("ok", ".out", good_output), ("bad", ".err", bad_output)):
        for source in sorted((HERE / folder).glob("*.toml")):
            if not names or source.stem in names:
                with Home(source) as home:
                    try:
                        source.with_suffix(suffix).write_text(output(home))
                    except AssertionError as wrong:
                        print(f"{folder}/{source.stem}: {wrong}")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit(__doc__)
    write_anew(sys.argv[2:])
