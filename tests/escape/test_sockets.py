"""Rows S: servers of the user's outside (a session's bus, agents, Docker) are out of reach."""

import os
import socket
import tempfile

import pytest

from cell import cell, row
from conftest import box_base, wait_until
from scene import Server


PLACES = {
    "home": lambda box, tmp: box.home / "agent.sock",
    "dot folder": lambda box, tmp: box.home / ".gnupg/S.gpg-agent",
    "beside the project": lambda box, tmp: box.dir / "tool.sock",
    "tmp": lambda box, tmp: tmp / "tmux.sock",
    "read entry": lambda box, tmp: box.home / "docs/s.sock",
    "write folder": lambda box, tmp: box.proj / "dev.sock",
    "deep in the write folder": lambda box, tmp: box.proj / "a/b/c/dev.sock",
    "hidden folder": lambda box, tmp: box.proj / "secret/x.sock",
}


@pytest.fixture
def tmp():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        import pathlib
        yield pathlib.Path(folder)


@row("S1", "S2", "S3", "S4")
@pytest.mark.parametrize("kind", ["stream", "dgram"])
def test_sockets_of_programs_outside(cell, tmp, kind):
    how = () if kind == "stream" else ("dgram",)
    type_ = socket.SOCK_STREAM if kind == "stream" else socket.SOCK_DGRAM
    names = {place: where(cell.box, tmp) for place, where in PLACES.items()}
    for name in names.values():
        name.parent.mkdir(parents=True, exist_ok=True)
    cell.spec(write=["proj"], read=["home/docs"], hide=["proj/secret"])
    servers = [Server(name, type_) for name in names.values()]
    try:
        for place, name in names.items():
            assert cell.outside("connect", name, *how) == "done", place
            seen = cell.inside("connect", name, *how)
            assert seen in ("ENOENT", "EACCES", "ECONNREFUSED"), (place, seen)
        calls = [s.calls for s in servers]
        assert wait_until(lambda: [s.calls for s in servers] == [calls[0]] * len(servers))
        # The covers are what closes those in a grant.
        assert cell.inside("connect", names["write folder"], *how, without="covers") == "done"
    finally:
        for server in servers:
            server.__exit__()


@row("S1")
def test_socket_that_was_bound_by_a_relative_name(cell):
    """The kernel's own list shows such a name as it was given, without a folder."""
    here = os.getcwd()
    os.chdir(cell.box.proj)
    try:
        server = Server("relative.sock")
    finally:
        os.chdir(here)
    moved = cell.box.proj / "moved.sock"
    os.rename(cell.box.proj / "relative.sock", moved)
    with server:
        assert cell.outside("connect", moved) == "done"
        assert cell.inside("connect", moved) in ("EACCES", "ECONNREFUSED")
    moved.unlink()


@row("S1")
def test_abstract_sockets(cell):
    name = f"@lnk-escape-{os.getpid()}"
    with Server(name):
        assert cell.outside("connect", name) == "done"
        assert cell.inside("connect", name) == "ECONNREFUSED"
        # Two fences: the network namespace, whose names these are, and Landlock's scope.
        assert cell.inside("connect", name, without="landlock") == "ECONNREFUSED"


@row("S1", "S2")
def test_run_is_empty(cell):
    seen = cell.box.sh("ls -A /run; ls -Ad /var/run/* /run/user /run/dbus 2>/dev/null")
    assert set(seen.lines) <= {"lnk", "/var/run/lnk"}, seen
    for name in ("/run/dbus/system_bus_socket", "/var/run/docker.sock", "/run/nscd/socket",
                 "/run/systemd/private", f"/run/user/{os.getuid()}/bus",
                 "/run/systemd/resolve/io.systemd.Resolve", "/run/podman/podman.sock",
                 "/run/containerd/containerd.sock"):
        assert cell.inside("connect", name) == "ENOENT"


AGENTS = {"SSH_AUTH_SOCK": "/run/a", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/b",
          "GPG_AGENT_INFO": "/run/c", "TMUX": "/tmp/tmux-0/default,1,0", "DISPLAY": ":0",
          "WAYLAND_DISPLAY": "wayland-0", "XAUTHORITY": "/run/x", "XDG_RUNTIME_DIR": "/run/user/0",
          "VSCODE_IPC_HOOK_CLI": "/run/v", "VSCODE_GIT_IPC_HANDLE": "/run/w", "STY": "1.pts-0",
          "DOCKER_HOST": "unix:///run/docker.sock", "KUBECONFIG": "/run/k",
          "AWS_SECRET_ACCESS_KEY": "SECRET", "GITHUB_TOKEN": "SECRET", "NPM_TOKEN": "SECRET",
          "ANTHROPIC_API_KEY": "SECRET", "LD_PRELOAD_32": "/run/l", "BASH_ENV": "/run/e",
          "BASH_FUNC_ls%%": "() { echo SECRET; }"}


@row("S4", "F20")
def test_variables_that_lead_to_agents_and_secrets(cell):
    seen = cell.box.run("env", env=AGENTS)
    names = {line.split("=", 1)[0] for line in seen.lines}
    assert seen.rc == 0 and "HOME" in names and not names & set(AGENTS), seen
    assert "SECRET" not in seen.out
    given = cell.box.run("env", env=AGENTS, flags=["--env", "TMUX", "--env", "GITHUB_TOKEN"])
    assert {"TMUX=" + AGENTS["TMUX"], "GITHUB_TOKEN=SECRET"} <= set(given.lines), given


@row("S7")
def test_address_that_changes_while_the_kernel_reads_it(cell, tmp):
    """No call is judged by anybody who looks at it before the kernel does: whatever address the
    kernel ends up with, its socket is not there."""
    forbidden = tmp / "forbidden.sock"
    own = cell.box.proj / "own.sock"
    serve = ("import socket, subprocess, sys, threading\n"
             "s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(128)\n"
             "def go():\n"
             "    while True: s.accept()[0].send(b'O')\n"
             "threading.Thread(target=go, daemon=True).start()\n"
             "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
    attack = (cell.probe(), "flip", own, forbidden, "3000")
    with Server(forbidden) as server:
        seen = cell.box.run("python3", "-c", serve, *attack)
        assert seen.lines == ["ENOENT"] and server.calls == 0, seen
        own.unlink()
        seen = cell.box.outside("python3", "-c", serve, *attack)
        assert seen.lines == ["done"] and server.calls > 0, seen
    own.unlink()


def test_boxes_are_where_sockets_may_lie():
    """The places above are those of a user: nothing here may be hidden by lying below /tmp."""
    assert not box_base().startswith(("/tmp", "/run"))
