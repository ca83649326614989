"""Many hidden files, many runs at once."""

import os
import time


def test_thousands_of_hidden_files(box):
    names = []
    for d in range(300):
        folder = box.proj / f"d{d}"
        (folder / "x").mkdir(parents=True)
        for i in range(200):
            (folder / f"f{i}").touch()
        for i in range(10):
            (folder / f".env.{i}").write_text("TOPSECRET")
            names.append(f'"proj/d{d}/.env.{i}"')
    assert len("".join(names)) < 60000
    box.spec('[files]\nwrite = ["proj"]\nhide = [\n' + ",\n".join(names) +
             ']\n[commands]\nallow = ["*"]\n')
    start = time.monotonic()
    result = box.sh("ls | wc -l; cat d*/.env.*; echo done")
    took = time.monotonic() - start
    assert result.lines == ["300", "done"], result
    assert took < 10, took
    assert box.outside("sh", "-c", "cat d*/.env.* | wc -c").out.strip() == str(9 * 3000)


def test_twenty_runs_in_one_project(box):
    """They share placeholders; the last one takes them away, and nothing real goes with them."""
    box.write(".env", "TOPSECRET\n")
    box.spec('[files]\nwrite = ["proj"]\nhide = ["proj/.env", "proj/.npmrc", '
             '"proj/maybe/secret"]\n[commands]\nallow = ["*"]\n')
    runs = [box.start("sh", "-c", f"cat .env; echo x > .npmrc; echo {i} > out.{i}; "
                      f"sleep 0.{i % 4}; cat .npmrc maybe/secret .env; exit 0")
            for i in range(20)]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert (run.returncode, out) == (0, ""), (out, err)
    assert sorted(os.listdir(box.proj)) == sorted([".env"] + [f"out.{i}" for i in range(20)])
    assert (box.proj / ".env").read_text() == "TOPSECRET\n"


def test_ten_runs_that_overlap_while_others_start(box):
    """What was closed stays closed when another run of the same project ends."""
    keeper = box.start("sh", "-c", """
        echo up; read _; for n in .git .envrc .vscode .idea .npmrc; do
            mkdir $n; echo bad > $n; echo bad > $n/x; mv $n away; done 2>/dev/null; ls -A""",
                       spec=box.spec('[files]\nwrite = ["proj"]\nhide = ["proj/.npmrc"]\n'
                                     '[commands]\nallow = ["*"]\n'), stdin=-1)
    assert keeper.stdout.readline() == "up\n", keeper.stderr.read()
    others = [box.start("true") for _ in range(10)]
    for run in others:
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, (out, err)
    out, err = keeper.communicate("\n", timeout=20)
    assert "away" not in out, (out, err)
    assert os.listdir(box.proj) == []
