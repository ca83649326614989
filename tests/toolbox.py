"""Boxes with tools of the user's and pages that are asked about: what the tests of [tools] and
[browser] share."""

import http.server
import json
import socketserver
import sys
import threading

import pytest

from conftest import LNK, ROOT

sys.path.insert(0, str(ROOT / "tests/run"))
from terminal import Terminal  # noqa: E402

QUOTED = json.dumps


class Toolbox:
    """A box with a folder of tools outside of what its spec opens. Its spec writes `proj`."""

    def __init__(self, box):
        self.box = box
        self.folder = box.dir / "tools"
        self.folder.mkdir()
        self.names = []
        self.log_file = box.dir / "log"

    def script(self, name, text):
        """A program of the user's, outside of every grant."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def add(self, name, *flags):
        """`lnk sandbox tool add`, and the spec names it."""
        self.box.outside(LNK, "sandbox", "tool", "add", name, *flags, check=True)
        self.names.append(name)
        self.spec()

    def add_script(self, name, text, *flags):
        self.add(name, "--program", self.script(name, text), "--any", *flags)

    def spec(self, more="", hosts=(), commands=("*",), **files):
        """Writes the spec: `hosts` are those of [browser], `more` further sections."""
        files.setdefault("write", ["proj"])
        lines = ["[files]", *(f"{key} = {QUOTED(list(map(str, paths)))}"
                              for key, paths in files.items() if paths)]
        if self.names:
            lines += ["[tools]", f"names = {QUOTED(self.names)}"]
        if hosts:
            lines += ["[browser]", f"hosts = {QUOTED(list(hosts))}"]
        lines += ["[commands]", f"allow = {QUOTED(list(commands))}", more]
        return self.box.spec("\n".join(lines) + "\n")

    def run(self, *program, **kwargs):
        kwargs.setdefault("flags", ("--log", self.log_file))
        return self.box.run(*program, **kwargs)

    def sh(self, script, **kwargs):
        return self.run("bash", "-c", script, **kwargs)

    def python(self, script, **kwargs):
        """A script inside that can speak to the broker as no shim does (run/broker_client.py)."""
        client = ROOT / "tests/run/broker_client.py"
        self.box.write("client.py", client.read_text() + "\n" + script)
        return self.run(sys.executable, "-u", "client.py", **kwargs)

    def log(self):
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]


@pytest.fixture
def tools(box):
    return Toolbox(box)


class Browser:
    """$LNK_ASKPASS and $BROWSER of the user's: what was asked and what was opened."""

    def __init__(self, tools):
        self.tools = tools
        self.asked_file = tools.box.dir / "asked"
        self.opened_file = tools.box.dir / "opened"
        self.answers(True)
        browser = tools.script("the-browser", f"""\
#!/usr/bin/python3
import json, sys
open({str(self.opened_file)!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
""")
        tools.box.env["BROWSER"] = str(browser)

    def answers(self, yes, after=""):
        """What is asked from now on is answered so."""
        ask = self.tools.script("ask", f"""\
#!/usr/bin/python3
import json, sys, time
open({str(self.asked_file)!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
{after}
sys.exit({0 if yes else 1})
""")
        self.tools.box.env["LNK_ASKPASS"] = str(ask)

    @staticmethod
    def _lines(path):
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def asked(self):
        """The questions, one text each."""
        return [words[0] for words in self._lines(self.asked_file)]

    def opened(self):
        """The browser's arguments, call by call."""
        return self._lines(self.opened_file)


@pytest.fixture
def browser(tools):
    return Browser(tools)


class _Service(http.server.BaseHTTPRequestHandler):
    """As much of a service's interface as a command line asks for; it notes what it is sent."""

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.server.calls.append((self.command, self.path, self.headers.get("Authorization"),
                                  self.rfile.read(length).decode()))
        data = json.dumps(self.server.reply(self.path)).encode()
        self.send_response(201 if self.command == "POST" and "gists" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Oauth-Scopes", "repo, gist, read:org")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture
def service(tools):
    """A service on a Unix socket, which gh calls by its setting http_unix_socket."""
    path = tools.box.dir / "service.sock"
    server = _Server(str(path), _Service)
    server.calls = []
    server.path = path
    server.reply = lambda _: {"html_url": "https://gist.github.com/1", "login": "me",
                              "data": {"viewer": {"login": "me"}}}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


__all__ = ["Browser", "Terminal", "Toolbox", "browser", "service", "tools"]
