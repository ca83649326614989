"""The lab's name server, over UDP and TCP: answers from zone.py and notes every query."""

import ipaddress
import socket
import struct
import threading
import time

import zone

A, CNAME, SOA, AAAA, HTTPS = 1, 5, 6, 28, 65


def read_name(packet, at):
    labels = []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("latin1"))
        at += 1 + packet[at]
    return ".".join(labels), at + 1


def write_name(name):
    return b"".join(bytes([len(p)]) + p.encode("latin1") for p in name.split(".")) + b"\0"


class NameServer:
    def __init__(self, note):
        self.note = note
        self.asked = {}
        self.lock = threading.Lock()

    def addresses(self, name, kind):
        found = zone.ZONE[name]
        if found and isinstance(found[0], list):
            # Each type is asked once a look-up, so that both count the same.
            with self.lock:
                turn = self.asked.get((name, kind), 0)
                self.asked[name, kind] = turn + 1
            found = found[min(turn, len(found) - 1)]
        version = 4 if kind == A else 6
        return [a for a in map(ipaddress.ip_address, found) if a.version == version]

    def answer(self, packet):
        ident, flags, questions = struct.unpack(">HHH", packet[:6])
        name, end = read_name(packet, 12)
        kind, _ = struct.unpack(">HH", packet[end:end + 4])
        asked, name = name, name.lower()
        self.note(event="query", name=asked, type=kind)
        time.sleep(zone.LATE.get(name, 0))
        records, code = [], 0
        if name in zone.ALIASES:
            records.append((write_name(name), CNAME, write_name(zone.ALIASES[name])))
            name = zone.ALIASES[name]
        if name in zone.FAILING:
            code = zone.FAILING[name]
        elif name not in zone.ZONE:
            code = 3
        elif kind in (A, AAAA):
            records += [(write_name(name), kind, a.packed) for a in self.addresses(name, kind)]
        elif kind == HTTPS:
            # Priority 1, own name, and an ECH configuration (SvcParamKey 5) of rubbish.
            records.append((write_name(name), HTTPS, b"\0\1\0\0\5\0\4\0\2\xfe\x0d"))
        body = b"".join(n + struct.pack(">HHIH", k, 1, 5, len(d)) + d for n, k, d in records)
        return (struct.pack(">HHHHHH", ident, 0x8180 | (flags & 0x0110) | code, 1, len(records), 0, 0)
                + packet[12:end + 4] + body)

    def serve_udp(self, sock):
        def one(packet, peer):
            try:
                sock.sendto(self.answer(packet), peer)
            except (IndexError, struct.error):
                self.note(event="query", name="(broken)", type=0)
        while True:
            threading.Thread(target=one, args=sock.recvfrom(4096), daemon=True).start()

    def serve_tcp(self, conn):
        with conn, conn.makefile("rb") as stream:
            while len(head := stream.read(2)) == 2:
                reply = self.answer(stream.read(struct.unpack(">H", head)[0]))
                conn.sendall(struct.pack(">H", len(reply)) + reply)

    def start(self, address):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind((address, 53))
        tcp = socket.create_server((address, 53))

        def accept():
            while True:
                threading.Thread(target=self.serve_tcp, args=(tcp.accept()[0],), daemon=True).start()
        threading.Thread(target=self.serve_udp, args=(udp,), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
