"""Links, odd names, renames, mounts and hidden files: what a path of the spec means."""

import os
import subprocess
import time


def files_spec(**lists):
    lines = [f"{key} = [{', '.join(chr(34) + v + chr(34) for v in values)}]"
             for key, values in lists.items()]
    return "[files]\n" + "\n".join(lines) + '\n[commands]\nallow = ["*"]\n'


def test_read_entry_that_is_a_link(box):
    tool = box.home / "dotfiles/tool"
    tool.mkdir(parents=True)
    (tool / "conf").write_text("cfg\n")
    (box.home / "dotfiles/rc").write_text("rc\n")
    (box.home / "dotfiles/other").write_text("private\n")
    (box.home / ".tool").symlink_to("dotfiles/tool")
    (box.home / ".toolrc").symlink_to("dotfiles/rc")
    box.spec(files_spec(write=["proj"], read=["~/.tool", "~/.toolrc"]))
    seen = box.sh('cat ~/.tool/conf ~/.toolrc && cat "$(realpath ~/.tool)/conf"')
    assert (seen.rc, seen.lines) == (0, ["cfg", "rc", "cfg"]), seen
    more = box.sh("echo bad >> ~/.tool/conf; echo bad > ~/.toolrc; cat ~/dotfiles/other")
    assert "private" not in more.out
    assert (tool / "conf").read_text() == "cfg\n"
    assert (box.home / "dotfiles/rc").read_text() == "rc\n"


def test_write_through_a_link_stays_in_the_project(box):
    victim = box.home / "victim"
    victim.write_text("orig\n")
    (box.proj / "notes.md").symlink_to(victim)
    (box.proj / "draft.md").symlink_to(box.home / "not-yet")
    (box.proj / "up").symlink_to(box.home)
    result = box.sh("echo BAD > notes.md; echo BAD > draft.md; echo BAD > up/new; mkdir up/d; "
                    "mv notes.md n2; echo BAD > n2; echo own > own")
    assert (box.proj / "own").read_text() == "own\n", result
    assert victim.read_text() == "orig\n"
    assert box.tree(box.home) == [str(victim)]


HIDDEN = """
ls -la; cat .env; cat alias; cat sub/e; ln .env h2; cat h2; cp -l .env h3; cat h3
cat /proc/self/root$PWD/.env; cat /proc/1/root$PWD/.env; cat /proc/$PPID/cwd/.env
cat /proc/self/cwd/.env; mv .env x; cat x; cp .env y; cat y; tar cf - . | cat
dd if=.env; python3 -c 'import os; os.open(".env", os.O_PATH)'
echo; echo end"""


def test_hidden_file_stays_hidden_under_every_name(box):
    box.write(".env", "TOPSECRET\n")
    box.write("sub/f", "x")
    (box.proj / "alias").symlink_to(".env")
    (box.proj / "sub/e").symlink_to("../.env")
    box.spec(files_spec(write=["proj"], hide=["proj/.env"]))
    result = box.sh(HIDDEN)
    assert "end" in result.lines, result
    assert "TOPSECRET" not in result.out + result.err
    assert (box.proj / ".env").read_text() == "TOPSECRET\n"
    # The positive control: without `hide` each of the ways reads it.
    box.spec(files_spec(write=["proj"]))
    assert box.sh("cat alias; cat sub/e; cat /proc/self/root$PWD/.env").lines == ["TOPSECRET"] * 3


def test_project_entered_through_a_link(box):
    real = box.dir / "real"
    real.mkdir()
    (real / "f").write_text("hi\n")
    (box.dir / "link").symlink_to("real")
    box.spec(files_spec(write=["link"]))
    result = box.sh('cat f && cat "$PWD/f" && echo made > g', cwd=box.dir / "link",
                    env={"PWD": str(box.dir / "link")})
    assert (result.rc, result.lines) == (0, ["hi", "hi"]), result
    assert (real / "g").read_text() == "made\n"


def test_spaces_and_letters_outside_ascii(box):
    odd = box.proj / "my προ ject é ✓"
    tools = box.home / "my tools"
    odd.mkdir()
    tools.mkdir()
    (odd / "a b.txt").write_text("hi\n")
    (odd / "se cret").write_text("no\n")
    (tools / "t").write_text("tool\n")
    box.spec(files_spec(write=[f"proj/{odd.name}"], read=["~/my tools"],
                        hide=[f"proj/{odd.name}/se cret"]))
    words = ["a  b", "", "*", '"q"', "it's", "tab\there", "new\nline", "-x", "--", "\\"]
    result = box.run("sh", "-c", 'cat "a b.txt"; echo x > "out ü.txt"; cat "$HOME/my tools/t"; '
                     'cat "se cret"; printf "[%s]" "$@"', "sh", *words, cwd=odd)
    assert result.out == "hi\ntool\n" + "".join(f"[{w}]" for w in words), result
    assert (odd / "out ü.txt").read_text() == "x\n"


def test_single_file_saved_by_rename(box):
    """Either it works, or the file stays whole and lnk says that its folder must be listed."""
    (box.home / "app.json").write_text('{"v": 1}\n')
    (box.home / "other").write_text("keep\n")
    box.spec(files_spec(write=["proj", "~/app.json"]))
    result = box.run("python3", "-c", """if True:
        import os
        p = os.path.expanduser("~/app.json")
        open(p + ".tmp", "w").write('{"v": 2}\\n')
        os.replace(p + ".tmp", p)""")
    content = (box.home / "app.json").read_text()
    if result.rc == 0:
        assert content == '{"v": 2}\n'
    else:
        assert content == '{"v": 1}\n'
        assert result.said(r"app\.json"), result
    assert sorted(n for n in os.listdir(box.home) if n != ".local") == ["app.json", "other"]


def test_single_file_written_in_place(box):
    (box.home / "app.json").write_text("old\n")
    box.spec(files_spec(write=["proj", "~/app.json"]))
    assert box.sh("echo new > ~/app.json").rc == 0
    assert (box.home / "app.json").read_text() == "new\n"


def test_rename_and_hard_link_between_folders(box):
    result = box.run("python3", "-c", """if True:
        import os
        os.makedirs("a"); open("a/x", "w").write("1"); os.makedirs("b/c")
        os.rename("a/x", "b/c/x"); os.link("b/c/x", "a/y"); os.rename("b", "d")
        print(open("d/c/x").read())""")
    assert (result.rc, result.out) == (0, "1\n"), result
    assert (box.proj / "d/c/x").stat().st_nlink == 2


def test_missing_write_folder_stops_with_its_line(box):
    box.spec(files_spec(write=["proj/reports/2024"]))
    result = box.sh("touch started; echo r > reports/2024/r.txt")
    assert result.rc in (2, 125), result
    assert result.said(r"reports/2024")
    assert "app.toml:2" in result.err
    assert "mkdir -p" in result.err
    assert box.tree() == []


def test_missing_read_folder_grants_nothing(box):
    box.spec(files_spec(write=["proj"], read=["~/not-there", "~/.cargo/registry"]))
    result = box.run("echo", "runs")
    assert (result.rc, result.out) == (0, "runs\n"), result
    assert box.tree() == []


def test_missing_hide_path_cannot_be_made(box):
    box.spec(files_spec(write=["proj"], hide=["proj/deep/er/secret", "proj/.npmrc"]))
    result = box.sh("mkdir -p deep/er; echo x > deep/er/secret; echo x > .npmrc; "
                    "cat deep/er/secret .npmrc; echo end")
    assert result.lines[-1] == "end", result
    assert "x" not in result.lines
    assert not (box.proj / ".npmrc").exists()
    assert not (box.proj / "deep/er/secret").exists()


def test_deepest_entry_wins(box):
    box.write("vendor/lib.c", "lib\n")
    box.write("vendor/patches/p", "p\n")
    box.spec(files_spec(write=["proj", "proj/vendor/patches"], read=["proj/vendor"]))
    result = box.sh("echo bad > vendor/lib.c; echo bad > vendor/new; echo good > "
                    "vendor/patches/p; cat vendor/lib.c")
    assert result.lines == ["lib"], result
    assert (box.proj / "vendor/lib.c").read_text() == "lib\n"
    assert (box.proj / "vendor/patches/p").read_text() == "good\n"
    assert not (box.proj / "vendor/new").exists()


def test_access_agrees_with_what_is_enforced(box):
    shims = box.home / ".pyenv/shims"
    shims.mkdir(parents=True)
    box.spec(files_spec(write=["proj"], read=["~/.pyenv"]))
    result = box.run("bash", "-c", """
        test -w ~/.pyenv/shims && echo writable || echo read-only
        (: > ~/.pyenv/shims/.lock) 2>/dev/null && echo wrote || echo refused
        test -w . && echo project-writable""")
    assert result.lines == ["read-only", "refused", "project-writable"], result


MOUNTS = """
cd "$P"; mkdir -p data secret "$HOME/lib/sub"
mount -t tmpfs lab data; echo big > data/f
mount -t tmpfs lab "$HOME/lib/sub"; echo lib > "$HOME/lib/sub/f"
mount -t tmpfs lab secret; echo TOPSECRET > secret/s
nocaps "$LNK" sandbox run --spec "$SPEC" -- sh -c 'cat data/f; echo new > data/g
    cat "$HOME/lib/sub/f"; echo bad > "$HOME/lib/sub/f"; cat secret/s; ls -A secret'
echo host; cat data/g "$HOME/lib/sub/f" secret/s"""


def test_file_systems_mounted_inside_the_tree(box, lab):
    box.spec(files_spec(write=["proj"], read=["~/lib"], hide=["proj/secret"]))
    result = lab(MOUNTS)
    assert result.lines == ["big", "lib", "host", "new", "lib", "TOPSECRET"], result


def test_editor_outside_saves_a_hidden_file_by_rename(box):
    """The mask is on the name; a rename over it takes it away, and it is put back before the
    program can look."""
    box.write(".env", "TOPSECRET 0\n")
    box.spec(files_spec(write=["proj"], hide=["proj/.env"]))
    running = box.start("sh", "-c",
                        "echo up; while [ ! -e stop ]; do cat .env; ls; sleep 0.01; done 2>&1")
    assert running.stdout.readline() == "up\n", running.stderr.read()
    for i in range(1, 30):
        box.write(".env.swp", f"TOPSECRET {i}\n")
        os.replace(box.proj / ".env.swp", box.proj / ".env")
        time.sleep(0.03)
    time.sleep(0.3)
    box.write("marker", "")
    # From here on the answer has to be no, every time.
    late = box.sh("cat .env; echo looked")
    box.write("stop", "")
    out, err = running.communicate(timeout=20)
    assert "TOPSECRET" not in late.out
    after = out[out.rindex("marker"):] if "marker" in out else ""
    assert after and "TOPSECRET" not in after
    # .env.swp is not hidden while it has that name, and cat never opens it: what came out, if
    # anything, came through the window between rename and mask. It is stated, and narrow: without
    # the mask coming back every look after the first save would succeed.
    assert out.count("TOPSECRET") < 10, out.count("TOPSECRET")
    assert out.count("denied") > 5, out
    assert (box.proj / ".env").read_text() == "TOPSECRET 29\n"


def test_editor_outside_replaces_a_protected_folder(box):
    """The same for a dot folder that is moved away and made anew outside."""
    box.git("init", "-q", ".")
    running = box.start("sh", "-c", """
        echo up; while [ ! -e stop ]; do
            echo bad > .git/hooks/pre-commit; echo bad >> .git/config; sleep 0.01
        done 2>/dev/null""")
    assert running.stdout.readline() == "up\n", running.stderr.read()
    time.sleep(0.1)
    os.rename(box.proj / ".git", box.dir / "git-aside")
    box.git("init", "-q", ".")
    time.sleep(0.5)
    box.write("stop", "")
    running.communicate(timeout=20)
    for folder in (box.proj / ".git", box.dir / "git-aside"):
        assert "bad" not in (folder / "config").read_text()
        assert not (folder / "hooks/pre-commit").exists()


SWAP = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
a, b = (os.fsencode(p) for p in sys.argv[1:])
end = time.monotonic() + 6
while time.monotonic() < end:
    libc.renameat2(-100, a, -100, b, 2)  # RENAME_EXCHANGE
"""


def test_folder_swapped_for_a_link_opens_nothing_else(box):
    """A granted name flips between a folder and a link to a folder that a spec may not open,
    while runs start: each run has the folder or is refused."""
    keys = box.home / ".ssh"
    keys.mkdir()
    (keys / "id").write_text("TOPSECRET\n")
    granted = box.proj / "in"
    granted.mkdir()
    (box.proj / "link").symlink_to(keys)
    box.spec(files_spec(write=["proj/in"]))
    swap = subprocess.Popen(["python3", "-c", SWAP, granted, box.proj / "link"])
    codes = []
    while swap.poll() is None:
        result = box.sh(f"cat {granted}/id; echo bad > {granted}/planted; cat {keys}/id; exit 0")
        assert "TOPSECRET" not in result.out
        codes.append(result.rc)
    assert os.listdir(keys) == ["id"]
    # Both sides of the flip were met, or the test shows nothing.
    assert 0 in codes and {2, 125} & set(codes), codes
