"""Rows T: what a tool that runs outside, with the user's login, can be talked into."""

import http.server
import json
import os
import subprocess
import threading

import pytest

from cell import row
from conftest import descendants, wait_until
from toolbox import service, tools

LOGIN = """\
github.com:
    user: me
    oauth_token: gho_TOPSECRET
    git_protocol: https
"""

IDENTITY = """\
[user]
	name = a
	email = a@b
"""


@pytest.fixture
def gh(tools, service):
    """The real gh, logged in at a service of ours, as a tool that may make gists and merge."""
    settings = tools.box.home / ".config/gh"
    settings.mkdir(parents=True)
    (settings / "hosts.yml").write_text(LOGIN)
    (settings / "config.yml").write_text(
        f"git_protocol: https\nhttp_unix_socket: {service.path}\n")
    tools.add("gh", "--read", service.path, "--allow", "gist create *")
    tools.service = service
    tools.calls = lambda: [body for _, _, _, body in service.calls]
    return tools


@pytest.fixture
def git(tools):
    """The real git as a tool, and a repository of the sandbox's own with two commits."""
    (tools.box.home / ".gitconfig").write_text(IDENTITY)
    tools.box.write("a.txt", "one\n")
    for words in (("init", "-q", "."), ("add", "a.txt"), ("commit", "-qm", "one")):
        tools.box.git(*words)
    tools.box.write("a.txt", "two\n")
    tools.box.git("commit", "-qam", "two")
    tools.add("git")
    tools.spec(write_dot_files=["proj"])
    return tools


# --- what may be called ---------------------------------------------------------------------


@row("T1")
def test_only_the_tools_names_are_called(gh):
    """By the broker's socket itself, so with any bytes for a name."""
    seen = gh.python(r"""
for name in ("../../bin/sh", "/bin/sh", "sh", "gh\0x", "gh/../sh", "", ".", "..", "GH", "gh ", "git"):
    a = answer(call(name, "-c", "id"))
    print(a[:2] if a else a)
print(answer(call("gh", "version")))
""")
    assert set(seen.lines[:11]) == {"(18, 126)"}, seen
    assert seen.lines[11].startswith("gh version") and seen.lines[-1] == "(16, 0, 0)", seen


@row("T2")
def test_commands_that_run_others_are_refused(gh):
    marker = gh.box.dir / "marker"
    attacks = [["alias", "set", "--shell", "x", f"touch {marker}"], ["x"],
               ["alias", "set", "x", f"!touch {marker}"], ["extension", "install", "."],
               ["ext", "install", "."], ["extension", "exec", "x"],
               ["config", "set", "pager", f"touch {marker}"], ["api", "user"],
               ["codespace", "ssh"], ["-R", "o/r", "alias", "list"], ["alia", "list"]]
    for words in attacks:
        seen = gh.run("gh", *words)
        assert seen.rc == 126 and "lnk: gh:" in seen.err, seen
    assert not marker.exists()
    settings = (gh.box.home / ".config/gh/config.yml").read_text()
    assert "alias" not in settings and "pager" not in settings
    gh.box.outside("gh", *attacks[0], check=True)
    gh.box.outside("gh", "x", check=True)
    assert marker.exists()


@row("T2")
def test_a_tool_that_is_open_for_all_closes_what_runs_others(tools):
    """--any is any argument but for what gives away the login, or runs other code."""
    tools.add_script("gh", "#!/bin/sh\necho ran: \"$@\"\n")
    for words in ("alias set x !sh", "extension install x", "auth token", "config set pager x"):
        seen = tools.run("gh", *words.split())
        assert seen.rc == 126 and "ran" not in seen.out, seen
    assert tools.run("gh", "pr", "merge", "1").out == "ran: pr merge 1\n"


def git_attacks(marker):
    touch = f"touch {marker};"
    return {
        "core.sshCommand": ["-c", f"core.sshCommand={touch}", "ls-remote", "ssh://x.invalid/y"],
        "alias": ["-c", f"alias.x=!{touch}", "x"],
        "config-env": ["--config-env=alias.x=ATTACK", "x"],
        "ext": ["ls-remote", f"ext::sh -c touch% {marker}"],
        "grep -O": ["grep", f"-Otouch {marker};", "two"],
        "grep --open": ["grep", f"--open-files-in-pager=touch {marker};", "two"],
        "upload-pack": ["ls-remote", f"--upload-pack={touch}", "."],
        "upload-pack, begun": ["ls-remote", f"--upload-p={touch}", "."],
        "clone -u": ["clone", "-q", "-u", touch, ".", "c1"],
        "clone -c": ["clone", "-q", "-c", f"core.sshCommand={touch}", "ssh://x.invalid/y", "c2"],
        "rebase -x": ["rebase", "-x", touch, "HEAD~1"],
        "difftool": ["difftool", "-y", "-x", touch, "HEAD~1"],
        "bisect": ["bisect", "run", "touch", str(marker)],
        "filter-branch": ["filter-branch", "-f", "--env-filter", touch, "HEAD"],
        "help -w": ["help", "-w", "log"],
        "--help": ["log", "--help"],
        "output": ["diff", f"--output={marker}", "HEAD~1"],
        "archive": ["archive", f"--output={marker}", "HEAD"],
        "exec-path": ["--exec-path=.", "evil"],
        "git-dir": ["--git-dir=evil.git", "--work-tree=.", "status"],
    }


@row("T3")
@pytest.mark.parametrize("name", git_attacks("x"))
def test_options_of_git_that_run_programs(git, name):
    """A program that was started, or a file outside of the grant, is the marker."""
    marker = git.box.dir / "marker"
    attack = git_attacks(marker)[name]
    run = f"#!/bin/sh\ntouch {marker}\n"
    git.box.write("git-evil", run, 0o755)
    git.box.write("man", run, 0o755)
    git.box.git("clone", "-q", "--bare", ".", "evil.git")
    git.box.git("--git-dir=evil.git", "config", "core.bare", "false")
    git.box.git("--git-dir=evil.git", "config", "core.fsmonitor", f"touch {marker};")
    for pair in (("web.browser", "evil"), ("browser.evil.cmd", f"touch {marker};"),
                 ("help.htmlpath", "http://x.invalid/"), ("man.viewer", "evil"),
                 ("man.evil.cmd", f"touch {marker};")):
        git.box.git("config", *pair)
    env = {"ATTACK": f"!touch {marker};"}
    seen = git.run("git", *attack, env=env, flags=("--env", "ATTACK"))
    assert not marker.exists() and (seen.rc != 0 or name == "output"), seen
    git.box.outside("git", "bisect", "start", "HEAD", "HEAD~1")
    outside = git.box.outside("git", *attack, env=git.box.environment(
        {**env, "GIT_ALLOW_PROTOCOL": "ext:file:ssh"}))
    assert wait_until(marker.exists, 2), outside


# --- logins -----------------------------------------------------------------------------------


@row("T5")
def test_logins_are_not_printed(gh):
    for words in (["auth", "token"], ["auth", "token", "-h", "github.com"],
                  ["auth", "status", "--show-token"], ["auth", "status", "-t"],
                  ["auth", "git-credential", "get"], ["-R", "o/r", "auth", "token"],
                  ["api", "-i", "user"], ["config", "list"]):
        seen = gh.run("gh", *words)
        assert seen.rc == 126 and "TOPSECRET" not in seen.out + seen.err, seen
        assert seen.said("prints your login|does whatever|shows and changes"), seen
    used = gh.run("gh", "auth", "status")
    assert used.rc == 0 and "Logged in to github.com as me" in used.err, used
    assert gh.service.calls[-1][2] == "token gho_TOPSECRET"
    assert "TOPSECRET" in gh.box.outside("gh", "auth", "token").out
    for path in ("~/.config/gh/hosts.yml", f"{gh.box.home}/.config/gh/hosts.yml"):
        seen = gh.sh(f"cat {path}")
        assert seen.rc != 0 and "TOPSECRET" not in seen.out, seen


@row("T5")
def test_logins_of_kubectl_are_not_printed(tools):
    """A stand-in: it prints its login file, as the real one does by these words."""
    (tools.box.home / ".kube").mkdir()
    (tools.box.home / ".kube/config").write_text("token: TOPSECRET\n")
    tools.add("kubectl", "--program", tools.script(
        "kubectl", '#!/bin/sh\necho "ran $*"; cat "$HOME/.kube/config"\n'))
    for words in ("config view --raw", "config view --flatten", "config --raw view",
                  "config view --minify --raw=true", "create token x"):
        seen = tools.run("kubectl", *words.split())
        assert seen.rc == 126 and "TOPSECRET" not in seen.out, seen
    assert "TOPSECRET" in tools.run("kubectl", "config", "view").out
    assert "TOPSECRET" in tools.box.outside(tools.folder / "kubectl", "config", "view", "--raw").out


@row("T5", "T6")
def test_arguments_that_lead_to_the_login_are_refused(gh):
    """The tool can read it; so no argument may name it, under any of its names."""
    login = gh.box.home / ".config/gh/hosts.yml"
    (gh.box.home / "elsewhere").symlink_to(login)
    for word in (str(login), "~/.config/gh/hosts.yml", f"{gh.box.home}/.config//gh/./hosts.yml",
                 f"../{gh.box.home.name}/.config/gh/hosts.yml", f"--filename={login}",
                 f"-f{login}", f"@{login}", f"file://{login}", str(login.parent)):
        seen = gh.run("gh", "gist", "create", word)
        # The letters behind -f may be refused ones, too.
        assert seen.rc == 126 and ("hold its login" in seen.err or word[:2] == "-f"), seen
    assert not any("TOPSECRET" in body for body in gh.calls())
    seen = gh.run("gh", "gist", "create", gh.box.home / "elsewhere")
    assert seen.rc != 0 and not any("TOPSECRET" in body for body in gh.calls()), seen
    gh.box.outside("gh", "gist", "create", login, check=True)
    assert any("TOPSECRET" in body for body in gh.calls())


# --- files that the sandbox cannot read ---------------------------------------------------------


@row("T6")
def test_closed_files_are_not_sent(gh):
    """By the tool, which runs as the user: what is closed inside is closed for it, too, under every
    name, and so is what a link in the project leads to."""
    (gh.box.home / ".ssh").mkdir()
    key = gh.box.home / ".ssh/id"
    key.write_text("PRIVATEKEY\n")
    hidden = gh.box.write("conf/key", "PRIVATEKEY\n")
    (gh.box.proj / "link").symlink_to(key)
    (gh.box.proj / "inner").symlink_to("conf/key")
    (gh.box.proj / "folder").symlink_to(key.parent)
    gh.box.write("open.txt", "OPEN\n")
    gh.spec(hide=["proj/conf/key"])
    for word in (key, "~/.ssh/id", f"../{gh.box.home.name}/.ssh/id", "link", "inner", "folder/id",
                 f"/proc/self/root{key}", f"/proc/1/root{key}", hidden, "conf/key"):
        seen = gh.run("gh", "gist", "create", word)
        assert seen.rc not in (0, 126), seen
    seen = gh.sh(f"exec 9< link; gh gist create /proc/self/fd/9; gh gist create - < link;"
                 f"gh gist create - < {key}; gh gist create < conf/key; gh gist create /dev/stdin < inner")
    assert not any("PRIVATEKEY" in body for body in gh.calls()), seen
    gh.run("gh", "gist", "create", "open.txt")
    assert "OPEN" in gh.calls()[-1]
    for word in (key, "link", "inner", "folder/id"):
        gh.box.outside("gh", "gist", "create", word, check=True)
        assert "PRIVATEKEY" in gh.calls()[-1]


@row("T6")
def test_a_link_that_is_swapped_while_the_tool_looks(tools):
    """Between the judge's look and the tool's there is no time that counts: the tool has no such
    file at all."""
    tools.box.home.joinpath("secret").write_text("PRIVATEKEY\n")
    tools.add_script("reader", "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do cat f; done\n")
    attack = """\
echo open > real; ln -s %s/secret link
(while :; do ln -sfn real f; mv -T f g; cp -P link f; mv -T f g; ln -f real f; ln -sfn link f; done) 2>/dev/null &
for i in $(seq 10); do reader; done; kill %%1; true""" % tools.box.home
    seen = tools.sh(attack, timeout=120)
    assert "PRIVATEKEY" not in seen.out + seen.err and "open" in seen.out, seen
    assert "PRIVATEKEY" in tools.box.outside("bash", "-c", "cat link").out


# --- repositories and folders that the sandbox made ----------------------------------------------

# What a repository's own settings make git start: the key, and the git command that does it.
HOSTILE = {
    "core.fsmonitor": ["status"],
    "core.sshCommand": ["fetch", "ssh://x.invalid/y"],
    "core.pager": ["log"],
    "core.editor": ["commit", "--amend"],
    "sequence.editor": ["rebase", "-i", "HEAD~1"],
    "core.askPass": ["ls-remote", "https://x.invalid/y"],
    "diff.external": ["diff", "HEAD~1"],
    "diff.evil.command": ["diff", "HEAD~1"],
    "diff.evil.textconv": ["show"],
    "filter.evil.clean": ["add", "--renormalize", "a.txt"],
    "filter.evil.smudge": ["checkout", "-q", "HEAD~1", "--", "a.txt"],
    "filter.evil.process": ["add", "--renormalize", "a.txt"],
    "merge.evil.driver": ["merge", "-q", "side"],
    "gpg.program": ["commit", "-q", "-S", "--allow-empty", "-m", "x"],
    "gpg.ssh.program": ["commit", "-q", "-S", "--allow-empty", "-m", "x"],
    "gpg.ssh.defaultKeyCommand": ["commit", "-q", "-S", "--allow-empty", "-m", "x"],
    "alias.evil": ["evil"],
    "remote.evil.uploadpack": ["ls-remote", "evil"],
    "interactive.diffFilter": ["add", "-p"],
    "pager.branch": ["branch"],
    "hooks": ["commit", "-q", "--allow-empty", "-m", "x"],
    "core.hooksPath": ["commit", "-q", "--allow-empty", "-m", "x"],
    "core.gitProxy": ["ls-remote", "git://x.invalid/y"],
    "credential.helper": ["ls-remote", "https://x.invalid/y"],
}


def plant(git, key, value, marker):
    """Settings of the repository, by which `git COMMAND` outside leaves the marker."""
    proj = git.box.proj
    git.box.write(".gitattributes", "*.txt diff=evil filter=evil merge=evil\n")
    git.box.write(".git/info/attributes", "*.txt diff=evil filter=evil merge=evil\n")
    for pair in (("gpg.format", "ssh" if key.startswith("gpg.ssh") else "openpgp"),
                 ("remote.evil.url", str(proj))):
        git.box.git("config", *pair)
    if key == "gpg.ssh.program":
        git.box.git("config", "user.signingKey", "key::ssh-ed25519 AAAA")
    if key == "merge.evil.driver":
        git.box.git("checkout", "-q", "-b", "side", "HEAD~1")
        git.box.write("a.txt", "three\n")
        git.box.git("commit", "-qam", "three")
        git.box.git("checkout", "-q", "-")
    if key in ("filter.evil.clean", "filter.evil.process"):
        git.box.write("a.txt", "changed\n")
    if key == "hooks":
        git.box.write(".git/hooks/pre-commit", f"#!/bin/sh\ntouch {marker}\n", 0o755)
    elif key == "core.hooksPath":
        git.box.write("hooks/pre-commit", f"#!/bin/sh\ntouch {marker}\n", 0o755)
        git.box.git("config", key, "hooks")
    else:
        git.box.git("config", key, value)


# These are no commands for a shell, but names of programs.
PROGRAMS = ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "core.gitProxy")
WAYS = [(key, way) for key in HOSTILE for way in ("shell", "file")
        if way == "file" or key not in PROGRAMS]


@row("T8")
@pytest.mark.parametrize("key,way", WAYS)
def test_a_hostile_repository_runs_nothing(git, key, way):
    """Nothing that its settings name is run by git as a tool, be it a command for a shell or a
    program of the repository's own. `--any` opens all commands of git that are not closed."""
    git.names.clear()
    git.add("git", "--any")
    marker = git.box.proj / "marker"
    program = git.box.write("prog", f"#!/bin/sh\ntouch {marker}\n", 0o755)
    value = f"touch {marker};" if way == "shell" else str(program)
    if key == "alias.evil":
        value = "!" + value
    if key == "credential.helper" and way == "shell":
        value = "!" + value
    plant(git, key, value, marker)
    git.spec(write_dot_files=["proj"])
    head = git.box.git("rev-parse", "HEAD").strip()
    seen = git.run("git", *HOSTILE[key], timeout=60)
    assert not marker.exists(), seen
    if key == "merge.evil.driver":
        git.box.git("reset", "-q", "--hard", head)
        marker.unlink(missing_ok=True)
    if key in ("core.askPass", "credential.helper"):
        return  # a server's answer asks for them: test_helpers_for_logins_are_not_run
    if key == "filter.evil.smudge":
        git.box.write("a.txt", "to be replaced\n")
    git.box.outside("git", *HOSTILE[key], timeout=60, env=git.box.environment(
        {"GIT_ALLOW_PROTOCOL": "ssh:git:file"}))
    if key in ("core.pager", "pager.branch", "interactive.diffFilter"):
        return  # on a terminal alone
    assert wait_until(marker.exists, 2), (key, way)


@row("T8")
def test_a_shell_is_not_within_reach_of_git(git):
    """Whatever it is talked into, by the user's own settings even: there is none to start."""
    git.names.clear()
    git.add("git", "--any")
    git.spec(write_dot_files=["proj"])
    for program in ("/bin/sh", "/bin/bash", "/usr/bin/python3", "/usr/bin/env", "/lib64/ld-linux-x86-64.so.2"):
        git.box.git("config", "--global", "diff.external", program)
        seen = git.run("git", "diff", "HEAD~1")
        assert seen.rc != 0 and ("cannot run" in seen.err or "cannot exec" in seen.err), seen
        assert git.box.outside(program, "--help").rc in (0, 2)


@row("T8")
@pytest.mark.parametrize("key", ["core.askPass", "credential.helper"])
def test_helpers_for_logins_are_not_run(git, key):
    """Of the repository's naming, when a server asks for a login."""
    class Asking(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            asked.append(self.path)

    asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    marker = git.box.proj / "marker"
    program = git.box.write("prog", f"#!/bin/sh\ntouch {marker}\n", 0o755)
    git.box.git("config", key, str(program))
    words = ["git", "ls-remote", f"http://127.0.0.1:{server.server_port}/y"]
    try:
        seen = git.run(*words)
        assert seen.rc == 128 and asked and not marker.exists(), seen
        git.box.outside(*words)
        assert marker.exists()
    finally:
        server.shutdown()
        server.server_close()


@row("T8")
def test_settings_of_the_current_folder_are_not_followed_by_others(gh):
    """gh starts git in the current folder, whose settings the sandbox wrote."""
    marker = gh.box.proj / "marker"
    gh.box.git("init", "-q", ".")
    gh.box.git("config", "core.fsmonitor", f"touch {marker};")
    gh.box.git("remote", "add", "origin", "https://github.com/o/r.git")
    gh.run("gh", "pr", "status")
    gh.run("gh", "pr", "list")
    assert not marker.exists()
    gh.box.outside("git", "status")
    assert marker.exists()


@row("T8")
def test_variables_of_the_sandbox_do_not_reach_the_tool(git):
    marker = git.box.proj / "marker"
    evil = f"touch {marker};"
    names = ("GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS")
    script = "; ".join(f"export {n}='{evil}'" for n in names) + f"""
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='{evil}'
export LD_PRELOAD=$PWD/x.so PATH=$PWD:$PATH HOME=$PWD XDG_CONFIG_HOME=$PWD
git status; git diff HEAD~1; git ls-remote ssh://x.invalid/y"""
    git.box.write("git", f"#!/bin/sh\n{evil}\n", 0o755)
    seen = git.sh(script.replace("PATH=$PWD:$PATH ", ""))
    assert not marker.exists() and "-one" in seen.out, seen
    git.box.outside("bash", "-c", script)
    assert marker.exists()


# --- which repository, what is left -----------------------------------------------------------------


@row("T9")
def test_another_repository_is_the_entrys_to_say(tools):
    """A command of the profile may name any repository; one that the user allowed names what the
    pattern names."""
    program = tools.script("gh", '#!/bin/sh\necho "ran $*"\n')
    tools.add("gh", "--program", program, "--allow", "pr merge * --repo me/mine",
              "--deny", "gist *")
    for words in ("pr merge 1 --repo me/mine", "pr view 1 --repo victim/x"):
        assert tools.run("gh", *words.split()).out == f"ran {words}\n"
    for words in ("pr merge 1 --repo victim/x", "pr merge 1", "--repo victim/x pr merge 1",
                  "--repo victim/x pr merge 1 --repo me/mine", "pr -Rvictim/x merge 1 --repo me/mine",
                  "pr merge 1 --repo me/mine --repo victim/x", "pr merge 1 --repo=victim/x",
                  "pr merge -R victim/x --repo me/mine", "gist list", "-R x gist view 1"):
        seen = tools.run("gh", *words.split())
        assert seen.rc == 126 and "ran" not in seen.out, seen
        assert tools.box.outside(program, *words.split()).out == f"ran {words}\n"


@row("T11")
def test_broken_frames(gh):
    """Each is answered or dropped, and the broker answers the next call."""
    seen = gh.python(r"""
good = frame(TOOL, request("gh", ["version"]))
bad = [head(TOOL, 2**32 - 1), head(TOOL, 2**31) + b"x" * 100, head(TOOL, 0), head(0, 8), b"\xff" * 64,
       head(TOOL, 20, version=9), frame(TOOL, request("gh", ["version"], count=2**32 - 1)),
       frame(TOOL, request("gh", ["a\0b"])), frame(TOOL, request("gh", ["x" * (2 << 20)])),
       good[:-1]]
for b in bad:
    s = connect()
    try:
        send(s, b, (0, 1, 2)); s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    a = answer(s)
    assert a is None or a[:2] == (ERROR, 126), (b[:40], a)
folder = os.open("/", os.O_RDONLY); path = os.open("/", os.O_PATH); a, b = socket.socketpair()
for fds in ((folder, 1, 2), (path, 1, 2), (0, a.fileno(), 2), (0, 1, 2, folder), (0, 1), ()):
    s = connect(); send(s, good, fds)
    assert answer(s)[:2] == (ERROR, 126), fds
s = connect(); send(s, good + good, (0, 1, 2)); assert answer(s)[0] in (EXIT, ERROR)
print("alive", answer(call("gh", "version")))
""")
    assert seen.rc == 0 and seen.lines[-1] == "alive (16, 0, 0)", seen


@row("T12")
def test_a_daemon_of_a_tool_ends_with_it(tools):
    """As helpers that keep a login in memory are: in a session of its own, deaf to signals."""
    text = """\
#!/usr/bin/python3
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)
    if os.fork() == 0:
        os.closerange(0, 3)
        open(sys.argv[1], "w").write("there")
        time.sleep(600)
    os._exit(0)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
"""
    tools.add_script("keeper", text)
    before = set(descendants())
    seen = tools.run("keeper", "inside")
    assert seen.rc == 0 and (tools.box.proj / "inside").exists(), seen
    assert wait_until(lambda: set(descendants()) <= before, 2), descendants()
    tools.box.outside(tools.folder / "keeper", "outside", check=True)
    left = set(descendants()) - before
    assert left, "it ends by itself: the test would not notice"
    for pid in left:
        os.kill(pid, 9)


@row("T12")
def test_the_daemon_that_keeps_logins_of_git(git):
    """The real one, which git starts by itself for `credential.helper = cache`: it has no shell to
    be started by, and is not there afterwards."""
    git.box.git("config", "credential.helper", "cache")
    git.names.clear()
    git.add("git", "--any", "--allow", "credential approve")
    git.spec(write_dot_files=["proj"])
    login = "protocol=https\nhost=x.invalid\nusername=me\npassword=TOPSECRET\n\n"
    before = set(descendants())
    git.run("git", "credential", "approve", stdin=login)
    assert wait_until(lambda: set(descendants()) <= before, 2), descendants()
    subprocess.run(["git", "credential", "approve"], input=login.encode(), cwd=git.box.proj,
                   env=git.box.environment(), check=True)
    left = wait_until(lambda: set(descendants()) - before, 5)
    assert left
    for pid in left:
        os.kill(pid, 9)


def test_the_log_tells_all(gh):
    gh.sh("gh version; gh auth token; gh gist create /nonexistent")
    told = [(e["verdict"], e["arguments"]) for e in gh.log()]
    assert told == [("allowed", "version"), ("refused", "auth token"),
                    ("allowed", "gist create /nonexistent")], json.dumps(gh.log())


__all__ = ["service", "tools"]
