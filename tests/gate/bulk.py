#!/usr/bin/python3
"""A client of long bodies, in the sandbox: bulk.py takes a list of calls (JSON, on standard input)
and prints what came of each, a line of JSON. A call is one connection:

    host      where to, port 80
    send      what is sent, in this order: text; {"body": N}, a pattern of N bytes, and with
              "chunk": M in chunks of M; {"sleep": S}; {"reset": 1}
    hold      seconds before the first byte is read
    fill      instead of reading: sends on until nothing is taken for so many seconds, and keeps the
              connection open to the end of all; how much was taken

While it sends, it reads. Of each answer: [status, length, digest of the body]; then how all ended,
and how sending did."""

import hashlib
import json
import socket
import struct
import sys
import threading
import time


def pattern(n):
    return (bytes(range(251)) * (n // 251 + 1))[:n]


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def send_all(sock, parts, said):
    try:
        for part in parts:
            if isinstance(part, str):
                sock.sendall(part.encode("latin1"))
            elif "body" in part:
                body, step = pattern(part["body"]), part.get("chunk")
                for at in range(0, len(body), step or len(body)):
                    piece = body[at:at + (step or len(body))]
                    sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if step else piece)
                if step:
                    sock.sendall(b"0\r\n\r\n")
            elif "sleep" in part:
                time.sleep(part["sleep"])
            else:
                reset(sock)
                return
        sock.shutdown(socket.SHUT_WR)
        said["sent"] = "all"
    except OSError as error:
        said["sent"] = type(error).__name__


def send_on(sock, seconds):
    block, total = bytes(65536), 0
    sock.settimeout(seconds)
    try:
        while True:
            total += sock.send(block)
    except OSError as error:
        return total, type(error).__name__


def chunks(stream):
    body = b""
    while size := int(stream.readline(), 16):
        piece = stream.read(size)
        if len(piece) < size or stream.read(2) != b"\r\n":
            return body + piece
        body += piece
    stream.readline()
    return body


def answers(sock, methods):
    """To requests with these methods, in turn."""
    stream, found = sock.makefile("rb", buffering=1 << 16), []
    try:
        for method in methods:
            line, fields = stream.readline(), {}
            if not line:
                return found, "eof"
            while (field := stream.readline()) not in (b"\r\n", b""):
                name, _, value = field.decode("latin1").partition(":")
                fields[name.lower()] = value.strip()
            status = int(line.split()[1])
            if method == "HEAD" or status in (204, 304):
                body = b""
            elif "chunked" in fields.get("transfer-encoding", ""):
                body = chunks(stream)
            elif "content-length" in fields:
                length = int(fields["content-length"])
                body = stream.read(length)
                if len(body) < length:
                    return found + [[status, len(body), "cut"]], "eof"
            else:
                body = stream.read()
            found.append([status, len(body), hashlib.sha256(body).hexdigest()])
        return found, "eof" if not stream.read(1) else "more"
    except OSError as error:
        return found, type(error).__name__


def call(host, send, hold=0, fill=None):
    said = {"sent": None}
    sock = socket.create_connection((host, 80), 15)
    sock.settimeout(15)
    if fill:
        kept.append(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        sock.sendall(send[0].encode("latin1"))
        said["filled"], said["sent"] = send_on(sock, fill)
        return said
    with sock:
        sender = threading.Thread(target=send_all, args=(sock, send, said), daemon=True)
        sender.start()
        time.sleep(hold)
        methods = [part.split(" ", 1)[0] for part in send if isinstance(part, str)]
        said["answers"], said["end"] = answers(sock, methods)
        sender.join(15)
    return said


kept = []
for words in json.loads(sys.stdin.read()):
    start = time.monotonic()
    try:
        result = call(**words)
    except OSError as failed:
        result = {"error": type(failed).__name__}
    result["ms"] = round((time.monotonic() - start) * 1000, 1)
    print(json.dumps(result), flush=True)
