#!/usr/bin/python3
"""Small network calls, in the sandbox and outside: probe.py takes a list of steps (JSON, as
its word or on standard input) and prints what came of each, one line of JSON. The steps are the functions do_* below. Only sockets: what a
client library would hide is told as it is. Bytes are text in latin-1."""

import base64
import errno
import json
import os
import selectors
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

EVENTS = {socket.EAI_NONAME: "unknown name", socket.EAI_AGAIN: "try again",
          socket.EAI_NODATA: "no address", socket.EAI_FAIL: "failed"}


def failure(error):
    if isinstance(error, socket.gaierror):
        return EVENTS.get(error.errno, str(error))
    if isinstance(error, TimeoutError):
        return "time-out"
    if isinstance(error, ssl.SSLError):
        return error.reason or "EOF"
    return errno.errorcode.get(error.errno, str(error))


def proxy_address():
    """(host, port, login in base64) of the proxy that the environment names, or None."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        if os.environ.get(name):
            url = urllib.parse.urlsplit(os.environ[name])
            login = urllib.parse.unquote(f"{url.username}:{url.password}") if url.username else ""
            return url.hostname, url.port, base64.b64encode(login.encode()).decode()
    return None


def dial_proxy(host, port, timeout=8.0, connect=True, **_):
    """A connection to the environment's proxy, through it to the host when `connect`."""
    where, at, login = proxy_address()
    sock = socket.create_connection((where, at), timeout)
    if connect:
        name = f"[{host}]" if ":" in host else host
        ask = (f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n" +
               (f"Proxy-Authorization: Basic {login}\r\n" if login else "") + "\r\n")
        sock.sendall(ask.encode("latin1"))
        head = b""
        while b"\r\n\r\n" not in head:
            more = sock.recv(1)
            if not more:
                break
            head += more
        if head[9:12] != b"200":
            sock.close()
            raise OSError(errno.EACCES, "the proxy refused")
    return sock


def dial(host, port, timeout=8.0, family=0, by="", **_):
    """Connects as getaddrinfo says, the first address that answers; `by` "connect" or "absolute":
    by way of the environment's proxy."""
    if by:
        return dial_proxy(host, port, timeout, by == "connect")
    error = None
    for info in socket.getaddrinfo(host, port, family, socket.SOCK_STREAM):
        sock = socket.socket(*info[:3])
        sock.settimeout(timeout)
        try:
            sock.connect(info[4])
            return sock
        except OSError as failed:
            sock.close()
            error = failed
    raise error


def drain(sock, limit=1 << 20):
    """Reads to the end; how it ended: "eof", "time-out" or an errno."""
    data = b""
    try:
        while len(data) < limit and (more := sock.recv(65536)):
            data += more
        return data, "eof" if len(data) < limit else "limit"
    except OSError as error:
        return data, failure(error)


def do_lookup(host, family=0):
    return sorted({i[4][0] for i in socket.getaddrinfo(host, 80, family, socket.SOCK_STREAM)})


def do_connect(**where):
    with dial(**where) as sock:
        return {"peer": sock.getpeername()[0], "own": sock.getsockname()[0]}


def absolute(text, host, port, **_):
    """A request in the form that a proxy is asked in (RFC 9112 section 3.2.2), with the login."""
    name = host if port == 80 else f"{host}:{port}"
    line, _, rest = text.partition("\r\n")
    words = line.split(" ")
    if len(words) > 1 and words[1].startswith("/"):
        words[1] = f"http://{name}{words[1]}"
    login = proxy_address()[2]
    return " ".join(words) + "\r\n" + (
        f"Proxy-Authorization: Basic {login}\r\n" if login else "") + rest


def do_raw(send="", pieces=None, pause=0.0, half=False, limit=1 << 20, wait=None, **where):
    """Sends bytes (or pieces, with a pause between) and reads to the end. `half`: ends its half
    first. `wait`: seconds until it gives up reading."""
    with dial(**where) as sock:
        if where.get("by") == "absolute":
            send, pieces = absolute(send, **where), None
        try:
            for piece in pieces or [send]:
                sock.sendall(piece.encode("latin1"))
                time.sleep(pause)
            if half and not where.get("by"):  # some proxies take that for the end of the call
                sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            pass_on = failure(error)
            data, end = drain(sock, limit)
            return {"data": data.decode("latin1"), "end": end, "sending": pass_on}
        sock.settimeout(wait or where.get("timeout", 8.0))
        data, end = drain(sock, limit)
    return {"data": data.decode("latin1"), "end": end}


def do_tls(sni=None, verify=True, send="", version=None, alpn=None, **where):
    """A TLS handshake; the name asked for may be another than the host that is called."""
    context = ssl.create_default_context()
    context.check_hostname = False
    if not verify:
        context.verify_mode = ssl.CERT_NONE
    if version:
        context.maximum_version = context.minimum_version = getattr(ssl.TLSVersion, version)
    if alpn:
        context.set_alpn_protocols(alpn)
    name = where["host"] if sni is None else sni
    with dial(**where) as sock:
        with context.wrap_socket(sock, server_hostname=name or None) as tls:
            said = {"version": tls.version(), "cipher": tls.cipher()[0]}
            if send:
                tls.sendall(send.encode("latin1"))
                data, said["end"] = drain(tls)
                said["data"] = data.decode("latin1")
            return said


def do_http(path="/", method="GET", fields=None, body=None, host_field=None, tls=False, **where):
    """One request, the answer whole. `fields` {name: value}."""
    port, host = where["port"], where["host"]
    name = host_field if host_field is not None else (f"[{host}]" if ":" in host else host) + (
        "" if port in (80, 443) else f":{port}")
    lines = [f"{method} {path} HTTP/1.1", f"Host: {name}", "Connection: close",
             *(f"{k}: {v}" for k, v in (fields or {}).items())]
    if body is not None:
        lines.append(f"Content-Length: {len(body.encode())}")
    data = "\r\n".join(lines) + "\r\n\r\n" + (body or "").encode().decode("latin1")
    said = (do_tls if tls else do_raw)(send=data, **where)
    head, _, rest = said["data"].partition("\r\n\r\n")
    status = head.split(" ")[1] if head.startswith("HTTP/") else ""
    fields = {k.lower(): v.strip() for k, _, v in (f.partition(":") for f in head.split("\r\n")[1:])}
    return {"status": int(status) if status.isdigit() else 0, "body": rest, "end": said["end"],
            "fields": fields}


def do_datagram(host, port, send="x", wait=0.5, times=1):
    """One datagram: the answer, "silence", or the errno that says that it was refused at once."""
    info = socket.getaddrinfo(host, port, 0, socket.SOCK_DGRAM)[0]
    with socket.socket(*info[:3]) as sock:
        sock.settimeout(wait)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for _ in range(times):
            sock.sendto(send.encode("latin1"), info[4])
        sock.connect(info[4])
        sock.send(send.encode("latin1"))
        try:
            return sock.recv(65536).decode("latin1")
        except TimeoutError:
            return "silence"


def read_answer(data):
    ident, flags, nq, na, nn, nx = struct.unpack(">6H", data[:12])
    return {"id": ident, "rcode": flags & 15, "tc": bool(flags & 0x200), "qr": bool(flags & 0x8000),
            "counts": [nq, na, nn, nx], "length": len(data), "raw": data.decode("latin1")}


def query(name, kind, flags=0x0100, edns=False):
    labels = b"".join(bytes([len(p)]) + p.encode("latin1") for p in name.split(".") if p)
    packet = struct.pack(">6H", 0x1234, flags, 1, 0, 0, int(edns)) + labels + b"\0" + struct.pack(
        ">HH", kind, 1)
    return packet + (b"\0\0\x29\x04\xd0\0\0\0\0\0\0" if edns else b"")


def do_dns(name=None, kind=1, packet=None, server="127.0.0.1", port=53, tcp=False, wait=1.0, edns=False):
    """One query, built or as it is; what the answer's header says, or "silence"."""
    data = packet.encode("latin1") if packet is not None else query(name, kind, edns=edns)
    if tcp:
        with dial(server, port, wait) as sock:
            sock.sendall(struct.pack(">H", len(data)) + data)
            with sock.makefile("rb") as stream:
                try:
                    length = stream.read(2)
                    if len(length) < 2:
                        return "closed"
                    return read_answer(stream.read(struct.unpack(">H", length)[0]))
                except TimeoutError:
                    return "silence"
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(wait)
        sock.connect((server, port))
        sock.send(data)
        try:
            return read_answer(sock.recv(65536))
        except TimeoutError:
            return "silence"


def do_serve(port=0, address="127.0.0.1"):
    """A server of its own, called by itself."""
    with socket.create_server((address, port),
                              family=socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
        def serve():
            conn, _ = server.accept()
            with conn:
                conn.sendall(conn.recv(100)[::-1])
        threading.Thread(target=serve, daemon=True).start()
        with socket.create_connection(server.getsockname()[:2], timeout=5) as sock:
            sock.sendall(b"hello")
            return sock.recv(100).decode()


def do_socket(family, type, proto=0):
    """Whether such a socket can be made at all."""
    socket.socket(family, type, proto).close()
    return "made"


def do_fastopen(host, port, send=""):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        # With a time-out of Python's own it would be EINPROGRESS.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("qq", 5, 0))
        sock.sendto(send.encode("latin1"), 0x20000000, (host, port))  # MSG_FASTOPEN
        sock.settimeout(5)
        data, end = drain(sock)
        return {"data": data.decode("latin1"), "end": end}


def do_listeners():
    """The ports on which somebody listens here, by /proc/net/tcp and tcp6."""
    found = set()
    for name in ("tcp", "tcp6"):
        if os.path.exists(f"/proc/net/{name}"):
            for line in open(f"/proc/net/{name}").readlines()[1:]:
                if line.split()[3] == "0A":
                    found.add(int(line.split()[1].rsplit(":", 1)[1], 16))
    return sorted(found)


def do_many(count, host, port, hold=0.0):
    """So many calls open at once; each says a word and hears it again. How many did."""
    select, socks = selectors.DefaultSelector(), []
    import resource
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    address = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)[0]
    for _ in range(count):
        sock = socket.socket(*address[:3])
        sock.setblocking(False)
        sock.connect_ex(address[4])
        select.register(sock, selectors.EVENT_WRITE)
        socks.append(sock)
    good, pending, end = 0, set(socks), time.monotonic() + 30
    while pending and time.monotonic() < end:
        for key, _ in select.select(1.0):
            sock = key.fileobj
            try:
                if key.events == selectors.EVENT_WRITE:
                    sock.send(b"word")
                    select.modify(sock, selectors.EVENT_READ)
                else:
                    good += sock.recv(100) == b"word"
                    select.unregister(sock)
                    pending.discard(sock)
            except OSError:
                select.unregister(sock)
                pending.discard(sock)
    time.sleep(hold)
    return good


def do_sleep(seconds):
    time.sleep(seconds)


def do_say(text):
    """To the test outside, in the middle of the steps."""
    print(text, file=sys.stderr, flush=True)


def main():
    for step in json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()):
        # "every": once more by each way that the environment's proxy offers, where there is one.
        if step.pop("every", False) and proxy_address():
            for by in ("connect", "absolute"):
                words = {k: v for k, v in step.items() if k != "do"}
                try:
                    said = globals()["do_" + step["do"]](**words, by=by)
                except (OSError, UnicodeError, ValueError) as error:
                    said = repr(error)
                print(f"{by}: {str(said)[:300]}", file=sys.stderr, flush=True)
        name = step.pop("do")
        start = time.monotonic()
        try:
            said = {"value": globals()["do_" + name](**step)}
        except OSError as error:
            said = {"error": failure(error)}
        except UnicodeError:
            # Python's own rule for names: it never gets to ask.
            said = {"error": "unknown name"}
        said["ms"] = round((time.monotonic() - start) * 1000, 1)
        print(json.dumps(said), flush=True)


main()
