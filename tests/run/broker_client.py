"""Speaks to the broker from inside, in ways that no shim does. The frames are in src/broker/frame.h."""

import array
import os
import socket
import struct

SOCKET = "/run/lnk/broker"
TOOL, BROWSE, SIGNAL, EXIT, STOPPED, ERROR = 1, 2, 3, 16, 17, 18


def head(kind, length, version=1):
    return struct.pack("<IHH", length, kind, version)


def frame(kind, payload):
    return head(kind, len(payload)) + payload


def request(name, args, cwd="/", count=None):
    parts = [name, cwd, *args]
    payload = struct.pack("<I", len(args) if count is None else count)
    return payload + b"".join(p.encode() if isinstance(p, str) else p for p in
                              [piece for part in parts for piece in (part, "\0")])


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(SOCKET)
    s.settimeout(20)
    return s


def send(s, data, fds=()):
    """All of `data`; the descriptors with the first of it."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sent = s.sendmsg([data], rights)
    while sent < len(data):
        sent += s.send(data[sent:])


def call(name, *args, fds=(0, 1, 2), kind=TOOL):
    s = connect()
    send(s, frame(kind, request(name, args)), fds)
    return s


def read(s, n):
    data = b""
    while len(data) < n:
        piece = s.recv(n - len(data))
        if not piece:
            return None
        data += piece
    return data


def answer(s):
    """(kind, number, more or text) of one frame; None when the broker hangs up without one."""
    try:
        start = read(s, 8)
        if start is None:
            return None
        length, kind, version = struct.unpack("<IHH", start)
        assert version == 1
        payload = read(s, length)
    except ConnectionResetError:
        return None
    if kind == ERROR:
        return kind, struct.unpack_from("<I", payload)[0], payload[4:].decode()
    return (kind, *struct.unpack("<II", payload))


def null():
    return os.open("/dev/null", os.O_RDWR)
