"""A company's proxy: tunnels and absolute-form requests, with a password."""

import base64
import socket
import threading


def pour(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Proxy:
    """`dial(host, port)` connects; `login` is "user:password"."""

    def __init__(self, note, dial, login):
        self.note, self.dial = note, dial
        self.login = b"Basic " + base64.b64encode(login.encode())

    def handle(self, sock, at, kind):
        try:
            self.serve(sock, f"{at[0]} {at[1]}")
        except OSError as error:
            self.note(event="proxy-failed", error=str(error))
        finally:
            sock.close()

    def serve(self, sock, at):
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return
            data += more
        head, rest = data.split(b"\r\n\r\n", 1)
        first, *lines = head.split(b"\r\n")
        method, target, _ = first.decode("latin1").split(" ")
        good = any(n.lower() == b"proxy-authorization" and v.strip() == self.login
                   for n, _, v in (line.partition(b":") for line in lines))
        self.note(event="proxy", at=at, method=method, target=target, login=good,
                  head=head.decode("latin1"))
        if not good:
            sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                         b"Proxy-Authenticate: Basic realm=\"company\"\r\nContent-Length: 0\r\n"
                         b"Connection: close\r\n\r\n")
            return
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            server = self.dial(host.strip("[]"), int(port))
            sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(rest)
        else:
            place, _, path = target.removeprefix("http://").partition("/")
            host, _, port = place.partition(":")
            server = self.dial(host, int(port or 80))
            keep = [line for line in lines if not line.lower().startswith((b"proxy-", b"connection:"))]
            server.sendall(b"\r\n".join([f"{method} /{path} HTTP/1.1".encode("latin1"), *keep,
                                         b"Connection: close"]) + b"\r\n\r\n" + rest)
        threading.Thread(target=pour, args=(sock, server), daemon=True).start()
        pour(server, sock)
        server.close()
