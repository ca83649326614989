"""The lab's web server: HTTP/1.1 on plain and TLS connections, with paths for everything a client
may meet. It believes whatever it is told, and notes every head and body as it came, so that a test
sees what the gate let through."""

import base64
import hashlib
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import time
import urllib.parse

import zone

# What a broken server answers, by name: /broken/NAME.
BROKEN = {
    "nothing": b"",
    "half-status": b"HTTP/1.",
    "no-http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "version": b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "no-code": b"HTTP/1.1 OK\r\n\r\n",
    "code": b"HTTP/1.1 99999 OK\r\n\r\n",
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhii",
    "both": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "negative": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi",
    "huge-length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nhi",
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhi\r\n0\r\n\r\n",
    "chunk-huge": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhi",
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "cut-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nonly this",
    "nul": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nhi",
    "bare-cr": b"HTTP/1.1 200 OK\r\nX: a\rY: b\r\nContent-Length: 2\r\n\r\nhi",
    "space-colon": b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
    "head-huge": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\nContent-Length: 2\r\n\r\nhi",
    "head-endless": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nraw",
    "continues": b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
    "second": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n"
              b"Content-Length: 6\r\n\r\npoison",
}


def pattern(n):
    """n bytes that show where one is missing: 251 divides no buffer's size."""
    return (bytes(range(251)) * (n // 251 + 1))[:n]


GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


KEPT = 4 << 20  # of a body, for who reads it as JSON; the log gets its beginning


class Request:
    def __init__(self, head):
        self.raw = head
        line, *fields = head.decode("latin1").split("\r\n")
        self.method, self.target, *_ = line.split(" ") + ["", ""]
        self.fields = [(n.strip().lower(), v.strip()) for n, _, v in
                       (f.partition(":") for f in fields if f)]
        split = urllib.parse.urlsplit(self.target)
        self.path = split.path
        self.query = {k: v[0] for k, v in urllib.parse.parse_qs(split.query).items()}

    def get(self, name, default=""):
        return next((v for n, v in self.fields if n == name), default)


class Connection:
    """One accepted connection; `at` is where it was sent to."""

    def __init__(self, web, sock, at, sni=None):
        self.web, self.sock, self.at, self.sni = web, sock, at, sni
        self.stream = sock.makefile("rb")
        self.count = 0

    def note(self, **what):
        self.web.note(at=self.at, tls=self.sni, **what)

    # --- reading -------------------------------------------------------------------------------

    def head(self):
        lines = []
        while (line := self.stream.readline(1 << 20)) not in (b"\r\n", b"\n", b""):
            lines.append(line)
        return b"".join(lines).rstrip(b"\r\n")

    def body(self, request):
        digest, total, start = hashlib.sha256(), 0, b""

        def take(left):
            nonlocal total, start
            while left and (data := self.stream.read1(min(left, 65536))):
                digest.update(data)
                start = start + data if total < KEPT else start
                total += len(data)
                left -= len(data)
        if "chunked" in request.get("transfer-encoding").lower():
            while size := int(self.stream.readline().split(b";")[0] or b"0", 16):
                take(size)
                self.stream.readline()
            while self.stream.readline() not in (b"\r\n", b"\n", b""):
                pass
        else:
            take(int(request.get("content-length", "0")))
        request.body, request.length, request.digest = start, total, digest.hexdigest()

    # --- writing -------------------------------------------------------------------------------

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, request, body=b"", status="200 OK", fields=(), kind="text/plain"):
        head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *fields]
        if not status.startswith(("204", "304")):
            head.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(head).encode() + b"\r\n\r\n" +
                  (body if request.method != "HEAD" else b""))

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def start_chunks(self, kind="text/plain", fields=()):
        self.send("\r\n".join(["HTTP/1.1 200 OK", f"Content-Type: {kind}",
                               "Transfer-Encoding: chunked", *fields]).encode() + b"\r\n\r\n")

    # --- paths ---------------------------------------------------------------------------------

    def do_stream(self, request):
        """Server-sent events, each with the moment it was sent."""
        q = request.query
        self.start_chunks("text/event-stream")
        time.sleep(float(q.get("quiet", 0)))
        for i in range(int(q.get("n", 5))):
            self.chunk(b"data: %d %.6f\n\n" % (i, time.monotonic()))
            time.sleep(float(q.get("gap", 0.05)))
        self.send(b"0\r\n\r\n")

    def do_bytes(self, request):
        n = int(request.query["n"])
        self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
        block = pattern(251 * 256)
        while n and request.method != "HEAD":
            self.send(block[:n])
            n -= len(block[:n])

    def do_chunked(self, request):
        self.start_chunks(fields=["Trailer: X-Sum"])
        for part in (b"one ", b"two ", b"three"):
            self.chunk(part)
        self.send(b"0\r\nX-Sum: 13\r\n\r\n")

    def do_until_close(self, request):
        n = int(request.query.get("n", 0))
        self.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")
        self.send(pattern(n))
        if "reset" in request.query:
            reset(self.sock)
        return False

    def do_cut(self, request):
        """An answer of n bytes of which half come, and then the end or a reset."""
        n = int(request.query["n"])
        self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n + pattern(n // 2))
        time.sleep(float(request.query.get("wait", 0)))
        if "reset" in request.query:
            reset(self.sock)
        return False

    def midway(self, request):
        """Answers when it has read `at` bytes of a body, and reads on. Over when it was there."""
        self.stream.read(int(request.query["at"]))
        self.answer(request, b"midway\n", "413 Said")
        self.note(event="midway", rest=len(self.stream.read()))

    def do_hints(self, request):
        self.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
        self.answer(request, b"after hints\n")

    def do_status(self, request):
        code = request.path.rsplit("/", 1)[1]
        self.answer(request, b"" if code in ("204", "304") else b"body\n", f"{code} Said")

    def do_redirect(self, request):
        self.answer(request, b"", "302 Found", [f"Location: {request.query['to']}"])

    def do_headers(self, request):
        self.answer(request, json.dumps(request.fields).encode(), kind="application/json")

    def do_broken(self, request):
        self.send(BROKEN[request.path.rsplit("/", 1)[1]])
        return False

    def do_ws(self, request):
        key = request.get("sec-websocket-key").encode()
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        self.send(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        while frame := self.stream.read(2):
            length = frame[1] & 127
            if length > 125:
                size = 2 if length == 126 else 8
                length = int.from_bytes(self.stream.read(size), "big")
            mask = self.stream.read(4) if frame[1] & 128 else bytes(4)
            data = bytes(b ^ mask[i & 3] for i, b in enumerate(self.stream.read(length)))
            head = bytes([frame[0]]) + (bytes([length]) if length < 126 else
                                        b"\x7e" + struct.pack(">H", length))
            self.send(head + data)
            if frame[0] & 15 == 8:
                break
        return False

    def do_git(self, request):
        env = dict(os.environ, GIT_PROJECT_ROOT=str(self.web.folder / "repositories"),
                   GIT_HTTP_EXPORT_ALL="1", PATH_INFO=request.path.removeprefix("/git"),
                   QUERY_STRING=urllib.parse.urlsplit(request.target).query,
                   REQUEST_METHOD=request.method, CONTENT_TYPE=request.get("content-type"),
                   REMOTE_USER="lab", CONTENT_LENGTH=str(request.length),
                   HTTP_CONTENT_ENCODING=request.get("content-encoding"),
                   GIT_PROTOCOL=request.get("git-protocol"))
        out = subprocess.run(["git", "http-backend"], input=request.whole, env=env,
                             stdout=subprocess.PIPE).stdout
        head, _, data = out.partition(b"\r\n\r\n")
        fields = head.decode().split("\r\n")
        status = next((f.split(": ")[1] for f in fields if f.startswith("Status:")), "200 OK")
        self.send("\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(data)}",
                               *(f for f in fields if f and not f.startswith("Status:"))]).encode()
                  + b"\r\n\r\n" + data)

    def default(self, request):
        name = request.get("host").rsplit(":", 1)[0].lower()
        path = self.web.folder / "www" / name / urllib.parse.unquote(request.path).lstrip("/")
        odd = (request.path == "/" or ".." in request.path or "\0" in str(path) or
               len(request.path) > 1000 or len(name) > 255)
        if not odd and path.is_dir():
            path /= "index.html"
        if not odd and path.is_file():
            kind = {".html": "text/html", ".json": "application/json"}.get(path.suffix, "text/plain")
            return self.answer(request, path.read_bytes(), kind=kind)
        self.answer(request, f"ok {request.method} {request.path} host={request.get('host')} "
                             f"len={request.length} sha256={request.digest}\n".encode())

    # --- the life of a connection ----------------------------------------------------------------

    def serve(self):
        while True:
            head = self.head()
            if not head:
                break
            request = Request(head)
            self.count += 1
            # What comes with the head, so that a request hidden behind it shows.
            self.note(event="request", method=request.method, target=request.target,
                      host=request.get("host"), head=head.decode("latin1"), count=self.count)
            if request.get("expect").lower() == "100-continue":
                self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            if request.path == "/early":
                self.answer(request, b"too early\n", "413 Said")
                break
            if request.path == "/midway":
                self.midway(request)
                break
            if request.path.startswith("/git/"):
                self.whole(request)
            else:
                self.body(request)
            if request.length:
                self.note(event="body", target=request.target, length=request.length,
                          sha256=request.digest, start=request.body[:4096].decode("latin1"))
            if not self.one(request):
                break

    def whole(self, request):
        """git's requests are kept whole."""
        keep, read1 = [], self.stream.read1

        class Tee:
            readline = self.stream.readline

            def read1(_, n):
                keep.append(read1(n))
                return keep[-1]
        self.stream, stream = Tee(), self.stream
        self.body(request)
        self.stream = stream
        request.whole = b"".join(keep)

    def one(self, request):
        name = request.path.strip("/").split("/")[0].replace("-", "_")
        done = getattr(self, f"do_{name}", self.default)(request)
        return done is not False and request.get("connection").lower() != "close"


class Models(Connection):
    """Speaks as Ollama and as OpenAI's servers do, token by token; says ok to everything else."""

    TOKENS = ["Once", " upon", " a", " time", "."]

    def one(self, request):
        try:
            asked = json.loads(request.body or b"{}")
        except ValueError:
            asked = {}
        gap = float(request.get("x-gap", "0.03"))
        stream = asked.get("stream", request.path.startswith("/api/")) and request.method == "POST"
        time.sleep(float(request.get("x-quiet", "0")))
        if request.path in ("/api/generate", "/api/chat") and stream:
            self.start_chunks("application/x-ndjson")
            for token in self.TOKENS:
                said = {"response": token} if request.path == "/api/generate" else {
                    "message": {"role": "assistant", "content": token}}
                self.chunk(json.dumps({"model": asked.get("model"), **said, "done": False,
                                       "sent": time.monotonic()}).encode() + b"\n")
                time.sleep(gap)
            self.chunk(json.dumps({"done": True, "sent": time.monotonic()}).encode() + b"\n")
            self.send(b"0\r\n\r\n")
        elif request.path in ("/v1/chat/completions", "/v1/completions") and stream:
            self.start_chunks("text/event-stream")
            for token in self.TOKENS:
                self.chunk(b"data: " + json.dumps({
                    "object": "chat.completion.chunk", "model": asked.get("model"),
                    "choices": [{"index": 0, "delta": {"content": token}}],
                    "sent": time.monotonic()}).encode() + b"\n\n")
                time.sleep(gap)
            self.chunk(b"data: [DONE]\n\n")
            self.send(b"0\r\n\r\n")
        elif request.get("upgrade"):
            return self.do_ws(request)
        else:
            self.answer(request, json.dumps({"ok": request.path, "model": asked.get("model")}).encode(),
                        kind="application/json")
        return request.get("connection").lower() != "close"


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def odd(name, sock):
    """The servers that misbehave before any request, by their name in zone.ODD."""
    if name == "early":
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
        time.sleep(0.5)
    elif name == "closing":
        pass
    elif name == "resetting":
        return reset(sock)
    elif name == "stalling":
        sock.recv(1)
        time.sleep(60)
    elif name == "garbling":
        sock.recv(1)
        sock.sendall(os.urandom(70_000))
    elif name == "deaf":
        time.sleep(60)
    elif name == "halving":
        sock.recv(65536)
        sock.shutdown(socket.SHUT_WR)
        time.sleep(5)
    elif name == "dribbling":
        sock.recv(65536)
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow":
            sock.sendall(bytes([byte]))
            time.sleep(0.005)
    sock.close()


class Web:
    """`certificate`: files of a chain and a key. `note`: how events are written down."""

    def __init__(self, note, folder, certificate):
        self.note, self.folder = note, pathlib.Path(folder)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*certificate)
        self.tls.set_alpn_protocols(["http/1.1"])
        self.tls.sni_callback = lambda sock, name, context: setattr(sock, "lab_sni", name or "")
        self.odd = {address: name for name, address in zone.ODD.items()}

    def handle(self, sock, at, kind):
        host = at[0]
        where = f"{host} {at[1]}"
        try:
            if host in self.odd:
                return odd(self.odd[host], sock)
            sni = None
            if kind == "https":
                sock = self.tls.wrap_socket(sock, server_side=True)
                sni = getattr(sock, "lab_sni", "")
                self.note(event="tls", at=where, sni=sni, version=sock.version())
            with sock:
                (Models if kind == "models" else Connection)(self, sock, where, sni).serve()
        except (OSError, ValueError, IndexError) as error:
            self.note(event="gone", at=where, error=str(error))
