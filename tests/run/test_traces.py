"""What a run leaves on disk, and what it shows of itself in the tree: nothing."""

import os
import tarfile
import time

DOT_NAMES = (".git", ".envrc", ".vscode", ".idea")


def test_nothing_appears_in_project_or_home(box):
    box.git("init", "-q", ".")
    box.write("main.c", "int main(void) { return 0; }\n")
    (box.home / ".profile").write_text("export A=1\n")
    before = box.tree()
    running = box.start("sh", "-c", "echo ran; sleep 3")
    assert running.stdout.readline() == "ran\n", running.stderr.read()
    during = set(box.tree()) - set(before)
    status = box.git("status", "--porcelain", "--ignored")
    assert running.wait(timeout=10) == 0
    # While it runs, empty folders at the protected names are all there may be.
    for name in during:
        assert os.path.dirname(name) == str(box.proj) and os.path.basename(name) in DOT_NAMES
        assert not os.path.exists(name) or os.listdir(name) == []
    assert status == "?? main.c\n"
    assert box.run("true").rc == 0
    assert box.tree() == before


def test_placeholders_go_although_the_project_changed(box):
    """What the program makes beside them does not keep them alive."""
    result = box.sh("mkdir -p a/b && echo x > a/b/c")
    assert result.rc == 0, result
    assert sorted(os.listdir(box.proj)) == ["a"]


def test_tree_looks_the_same_from_inside(box):
    box.git("init", "-q", ".")
    box.write("main.c", "int main(void) { return 0; }\n")
    box.git("add", ".")
    box.git("commit", "-qm", "one")
    status = box.run("git", "status", "--porcelain", "--untracked-files=all")
    assert (status.rc, status.out) == (0, ""), status
    odd = box.sh("find . -path ./.git -prune -o ! -type f ! -type d -print; test -f main.c")
    assert (odd.rc, odd.out) == (0, ""), odd


def _archive(box, name, files, modes=()):
    """An npm package `name` as proj/name.tgz."""
    build = box.dir / ("pack-" + name)
    for path, text in files.items():
        target = build / "package" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755 if path in modes else 0o644)
    with tarfile.open(box.proj / f"{name}.tgz", "w:gz") as tar:
        tar.add(build / "package", "package")


NPM_QUIET = ("--offline", "--no-audit", "--no-fund", "--no-update-notifier")


def test_package_with_editor_folders_installs(box):
    """Only the top of a write folder is protected, not node_modules/*/.vscode."""
    _archive(box, "dep", {
        "package.json": '{"name": "dep", "version": "1.0.0"}',
        ".vscode/settings.json": "{}", ".idea/x.xml": "<x/>"})
    box.write("package.json", '{"name": "app", "version": "1.0.0"}')
    for spec in ('write_dot_files = ["proj"]', ""):
        box.spec(f'[files]\nwrite = ["proj"]\n{spec}\n[commands]\nallow = ["*"]\n')
        box.outside("rm", "-rf", "node_modules")
        result = box.run("npm", "install", "./dep.tgz", *NPM_QUIET)
        assert result.rc == 0, result
        assert (box.proj / "node_modules/dep/.vscode/settings.json").read_text() == "{}"
        assert (box.proj / "node_modules/dep/.idea/x.xml").read_text() == "<x/>"


def test_npm_install_needs_only_the_project(box):
    _archive(box, "dep", {
        "package.json": '{"name": "dep", "version": "1.0.0", "bin": {"d": "bin/d"}}',
        "bin/d": "#!/bin/sh\necho dep-runs\n"}, modes=("bin/d",))
    box.write("package.json", '{"name": "app", "version": "1.0.0"}')
    installed = box.run("npm", "install", "./dep.tgz", *NPM_QUIET)
    assert installed.rc == 0, installed
    assert box.run("node_modules/.bin/d").out == "dep-runs\n"
    assert (box.proj / "node_modules/.package-lock.json").exists()
    assert not (box.home / ".npm").exists()


def test_lost_work_in_the_private_home_is_named(box):
    """A file left outside the granted folders goes with the run: the user is told which."""
    result = box.sh('echo thoughts > "$HOME/notes.txt"; echo x > "$HOME/.hidden-log"')
    assert result.rc == 0
    assert result.said(r"notes\.txt"), result
    assert "hidden-log" not in result.err
    assert not (box.home / "notes.txt").exists()


def test_keep_home_keeps_it_by_name(box):
    box.spec('name = "keeper"\n[files]\nwrite = ["proj"]\n[commands]\nallow = ["*"]\n')
    first = box.run("sh", "-c", 'mkdir -p "$HOME/.cache" && echo kept > "$HOME/.cache/f"',
                    flags=["--keep-home"])
    assert first.rc == 0, first
    again = box.run("sh", "-c", 'cat "$HOME/.cache/f"', flags=["--keep-home"])
    assert again.out == "kept\n", again
    without = box.run("sh", "-c", 'cat "$HOME/.cache/f"')
    assert "kept" not in without.out
    assert not (box.home / ".cache/f").exists()


def test_clean_outside_does_not_open_the_dot_files(box):
    """`git clean -fd` outside removes empty folders, our placeholders too: what was closed while
    the run lasts stays closed."""
    box.git("init", "-q", ".")
    box.write("kept", "1")
    box.git("add", "kept")
    box.git("commit", "-qm", "one")
    running = box.start("sh", "-c", """
        echo up; read _
        i=0
        while [ $i -lt 40 ]; do
            mkdir .vscode 2>/dev/null; echo bad > .vscode/tasks.json
            echo bad > .envrc; mv .idea away; mkdir -p .idea/x
            i=$((i + 1)); sleep 0.05
        done 2>/dev/null
        echo done""", stdin=-1)
    assert running.stdout.readline() == "up\n", running.stderr.read()
    box.git("clean", "-fdq")
    running.stdin.write("\n")
    running.stdin.flush()
    for _ in range(10):
        time.sleep(0.1)
        box.git("clean", "-fdq")
    running.communicate(timeout=20)
    left = [n for n in box.tree(box.proj) if "/.git" not in n]
    assert left == [str(box.proj / "kept")], left
