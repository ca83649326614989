"""A git service over https with a login, and somebody who listens in: what the tests of git as a tool
share."""

import base64
import http.server
import os
import socket
import ssl
import subprocess
import threading
import urllib.parse

import pytest

LOGIN = "me:TOPSECRET"
BASIC = "Basic " + base64.b64encode(LOGIN.encode()).decode()

# Waits for what is done to the repository meanwhile, where a test wants that.
SYNC = """\
#!/bin/sh
if [ -e wait-for-it ]; then
    touch started; while [ ! -e go-on ]; do sleep 0.02; done
fi
exec git "$@"
"""


def certificate(folder, name):
    """A certificate of its own for localhost: (certificate, key)."""
    pem, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", pem],
                   check=True, capture_output=True)
    return pem, key


def tls(pair):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    return context


class _Backend(http.server.BaseHTTPRequestHandler):
    """git http-backend(1), for those who have the login."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        if self.headers.get("Authorization") != BASIC:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        url = urllib.parse.urlsplit(self.path)
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.server.root),
               "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": url.path, "QUERY_STRING": url.query,
               "REQUEST_METHOD": self.command, "REMOTE_USER": "me", "CONTENT_LENGTH": str(len(body)),
               "CONTENT_TYPE": self.headers.get("Content-Type") or "",
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or ""}
        out = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True).stdout
        head, _, data = out.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(lines.pop("Status", "200").split()[0]))
        for name, value in lines.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *_):
        pass


class _Listener(threading.Thread):
    """A proxy that reads along, and a server that is not the real one: it asks for a login."""

    def __init__(self, pair, address, port):
        super().__init__(daemon=True)
        self.context, self.heard, self.calls = tls(pair), [], 0
        self.server = socket.create_server((address, port))
        self.port = self.server.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            self.calls += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    @staticmethod
    def request(client):
        data = b""
        while b"\r\n\r\n" not in data:
            more = client.recv(65536)
            if not more:
                break
            data += more
        return data.decode(errors="replace")

    def serve(self, client):
        client.settimeout(10)
        try:
            if client.recv(7, socket.MSG_PEEK) == b"CONNECT":
                self.heard.append(self.request(client))
                client.sendall(b"HTTP/1.1 200 yes\r\n\r\n")
            client = self.context.wrap_socket(client, server_side=True)
            for _ in range(3):
                text = self.request(client)
                self.heard.append(text)
                client.sendall(b"HTTP/1.1 401 no\r\nWWW-Authenticate: Basic realm=x\r\n"
                               b"Content-Length: 0\r\n\r\n")
        except OSError:
            pass

    @property
    def has_login(self):
        return any(BASIC.split()[1] in text for text in self.heard)


class Lab:
    """`tools.box` with a repository whose origin is the service; `sync` is a tool that starts git."""

    def __init__(self, tools):
        self.tools, self.box = tools, tools.box
        box, own = tools.box, tools.box.home / ".config/git"
        own.mkdir(parents=True)
        self.evil = certificate(box.proj, "evil")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Backend)
        pair = certificate(own, "service")
        self.server.socket = tls(pair).wrap_socket(self.server.socket, server_side=True)
        self.server.root, self.server.seen = box.dir / "service", []
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.proxy = _Listener(self.evil, "127.0.0.1", 0)
        self.twin = _Listener(self.evil, "127.0.0.2", self.port)
        self.url = f"https://localhost:{self.port}/r.git"
        (box.home / ".gitconfig").write_text(
            f"[user]\n\tname = a\n\temail = a@b\n[http]\n\tsslCAInfo = {pair[0]}\n"
            "[credential]\n\thelper = store\n")
        (box.home / ".git-credentials").write_text(f"https://{LOGIN}@localhost:{self.port}\n")
        box.git("init", "-q", "--bare", "../service/r.git")
        box.git("init", "-q", "-b", "main", ".")
        box.write("f", "1\n")
        box.write(".gitignore", "evil*\nstarted\ngo-on\nwait-for-it\nother*\nsub/\n")
        box.git("add", "f", ".gitignore")
        box.git("commit", "-qm", "one")
        box.git("push", "-q", str(self.server.root / "r.git"), "main")
        box.git("remote", "add", "origin", self.url)
        own_files = [w for f in (".gitconfig", ".git-credentials", ".config/git")
                     for w in ("--read", box.home / f)]
        tools.add_script("sync", SYNC, *own_files)
        self.open()

    def open(self, **files):
        self.tools.spec(write_dot_files=["proj"], **files)

    def config(self, *pairs, file=None):
        for key, value in pairs:
            self.box.git("config", *(["-f", file] if file else []), key, value)

    def hostile(self, *more):
        """Settings that send what is for the service to the proxy."""
        return (("http.proxy", f"http://127.0.0.1:{self.proxy.port}"),
                (f"http.{self.url}.sslVerify", "false"), *more)

    @property
    def heard(self):
        return self.proxy.has_login or self.twin.has_login

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        for listener in (self.proxy, self.twin):
            listener.server.shutdown(socket.SHUT_RDWR)
            listener.server.close()


@pytest.fixture
def lab_git(tools):
    lab = Lab(tools)
    try:
        yield lab
    finally:
        lab.end()
