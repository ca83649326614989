#!/usr/bin/python3
"""The inside of the network lab: lab.py starts it in namespaces of its own (network, mount, and a
user namespace unless it is root). It makes the far machines, the wires between, this machine's own
/etc, and every server; then it does what lab.py asks for, one line of JSON after the other.

    near (where lnk runs)  v0 ------ v1  far (the internet and the local network)

A packet socket on v0 sees everything that leaves: that is how a test knows that nothing did."""

import contextlib
import ctypes
import errno
import json
import os
import pathlib
import select
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import nameserver  # noqa: E402
import proxy  # noqa: E402
import web  # noqa: E402
import zone  # noqa: E402

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def ip(*lines):
    """Commands of ip(8), in the network namespace of this thread."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)


class Namespaces:
    def __init__(self):
        self.near = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        ready = threading.Event()

        def live():
            # A thread that stays in it gives the far namespace a name: /proc/PID/task/TID/ns/net.
            call("unshare", CLONE_NEWNET)
            self.far_task = threading.get_native_id()
            self.far = os.open(f"/proc/self/task/{self.far_task}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            ready.set()
            threading.Event().wait()
        threading.Thread(target=live, daemon=True).start()
        ready.wait()

    @contextlib.contextmanager
    def inside(self, where):
        """This thread is in `where` ("near", "far") for a while; what it opens stays there."""
        call("setns", getattr(self, where), CLONE_NEWNET)
        try:
            yield
        finally:
            call("setns", self.near, CLONE_NEWNET)


def host_bits(address):
    return 128 if ":" in address else 32


def write(path, text):
    pathlib.Path(path).write_text(text)


def make_network(spaces, options):
    far_net = f"/proc/{os.getpid()}/fd/{spaces.far}"
    for where in ("near", "far"):
        with spaces.inside(where):
            write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")
            if os.path.exists("/proc/sys/net/ipv6"):
                write("/proc/sys/net/ipv6/conf/default/accept_dad", "0")
    ip("link set lo up", f"link add v0 type veth peer name v1 netns {far_net}",
       f"address add {zone.NEAR4}/24 dev v0", f"address add {zone.NEAR6}/64 dev v0 nodad",
       f"address add {zone.NEAR_PUBLIC4}/32 dev v0", f"address add {zone.NEAR_PUBLIC6}/128 dev v0 nodad",
       "link set v0 up")
    with spaces.inside("far"):
        ip("link set lo up", "link set v1 up",
           *(f"address add {a}/{24 if a == zone.FAR4 else 64 if a == zone.FAR6 else host_bits(a)} "
             f"dev v1 {'nodad' if ':' in a else ''}" for a in zone.FAR_ADDRESSES),
           f"route add {zone.NEAR_PUBLIC4}/32 dev v1", f"route add {zone.NEAR_PUBLIC6}/128 dev v1")
    if options.get("way_out", True):
        ip(f"route add default via {zone.FAR4}", f"route add default via {zone.FAR6}")


def make_etc(folder, certificates):
    """This machine's names and trust, seen in this mount namespace only."""
    call("mount", b"none", b"/", None, 0x40000 | 0x4000, None)  # private, all the way down
    for name, text in {
            "hosts": zone.HOSTS, "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
            "resolv.conf": f"nameserver {zone.NAME_SERVER}\noptions timeout:2 attempts:1\n"}.items():
        write(folder / name, text)
        call("mount", os.fsencode(folder / name), os.fsencode(f"/etc/{name}"), None, 0x1000, None)
    call("mount", b"none", b"/etc/ssl/certs", b"tmpfs", 0, b"size=4m,mode=0755")
    ca = certificates / "ca.pem"
    digest = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", ca], check=True,
                            capture_output=True, text=True).stdout.strip()
    for name in ("ca-certificates.crt", f"{digest}.0"):
        write(f"/etc/ssl/certs/{name}", ca.read_text())
    os.mkdir("/etc/ssl/certs/java")
    shutil.copy(certificates / "cacerts", "/etc/ssl/certs/java/cacerts")


class Sniffer:
    """What leaves by v0: every packet but TCP's that begins no connection."""


    def __init__(self, interface):
        self.packets, self.lost = [], 0
        self.lock = threading.Lock()
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        code = b"".join(struct.pack("HBBI", *line) for line in self.program())
        buffer = ctypes.create_string_buffer(code)
        self.sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", len(code) // 8,
                                                               ctypes.addressof(buffer)))
        self.sock.setblocking(False)
        self.sock.bind((interface, 3))  # ETH_P_ALL

    def program(self):
        """The filter: jumps are checked by hand below, so that it stays readable."""
        accept, drop = (0x06, 0, 0, 0xffff), (0x06, 0, 0, 0)
        v4 = [(0x30, 0, 0, 23), (0x15, 1, 0, 6), accept,  # not TCP: keep
              (0xb1, 0, 0, 14), (0x50, 0, 0, 27), (0x54, 0, 0, 0x12), (0x15, 0, 1, 2), accept, drop]
        v6 = [(0x30, 0, 0, 20), (0x15, 1, 0, 6), accept,
              (0x30, 0, 0, 67), (0x54, 0, 0, 0x12), (0x15, 0, 1, 2), accept, drop]
        return [(0x28, 0, 0, 12), (0x15, 0, len(v4), 0x800), *v4,
                (0x15, 0, len(v6), 0x86dd), *v6, accept]

    def read(self, packet):
        kind, = struct.unpack(">H", packet[12:14])
        if kind == 0x800:
            proto, at = packet[23], 14 + (packet[14] & 15) * 4
            target = socket.inet_ntop(socket.AF_INET, packet[30:34])
        elif kind == 0x86dd:
            proto, at = packet[20], 54
            target = socket.inet_ntop(socket.AF_INET6, packet[38:54])
            if proto in (0, 58):
                return None  # neighbour discovery and its kin
        else:
            return None  # ARP
        names = {6: "tcp", 17: "udp", 1: "icmp"}
        port = struct.unpack(">H", packet[at + 2:at + 4])[0] if proto in (6, 17, 132) else 0
        return {"proto": names.get(proto, str(proto)), "to": target, "port": port,
                "data": packet[at:at + 512].decode("latin1")}

    def drain(self):
        with self.lock:
            while True:
                try:
                    packet, where = self.sock.recvfrom(2048)
                except BlockingIOError:
                    # PACKET_STATISTICS: what was seen, and lost, since it was last asked.
                    self.lost += struct.unpack("II", self.sock.getsockopt(263, 6, 8))[1]
                    return len(self.packets)
                if where[2] == socket.PACKET_OUTGOING and (seen := self.read(packet)):
                    self.packets.append(seen)


class World:
    def __init__(self, folder, options):
        self.folder = pathlib.Path(folder)
        self.options = options
        self.events = open(self.folder / "events", "a", buffering=1)
        self.lock, self.accepting = threading.Lock(), threading.Lock()
        self.children = []
        self.listeners = selectors.DefaultSelector()
        self.spaces = Namespaces()
        make_network(self.spaces, options)
        make_etc(self.folder, self.folder / "tls")
        self.sniffer = Sniffer("v0")
        self.serve()
        threading.Thread(target=self.accept, daemon=True).start()
        threading.Thread(target=self.keep_draining, daemon=True).start()

    def note(self, **what):
        with self.lock:
            self.events.write(json.dumps(what) + "\n")

    def keep_draining(self):
        while True:
            select.select([self.sniffer.sock], [], [])
            self.sniffer.drain()

    # --- servers ---------------------------------------------------------------------------------

    def listen(self, where, address, port, handle, kind="", backlog=4096):
        with self.spaces.inside(where):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((address, port))
            sock.listen(backlog)
            sock.setblocking(False)
        self.listeners.register(sock, selectors.EVENT_READ, (handle, kind))

    def accept(self):
        while True:
            ready = self.listeners.select()
            with self.accepting:
                for key, _ in ready:
                    self.take(key)

    def take(self, key):
        handle, kind = key.data
        try:
            sock, _ = key.fileobj.accept()
        except OSError:
            return
        sock.setblocking(True)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at = sock.getsockname()[:2]
        self.note(event="accept", at=f"{at[0]} {at[1]}")
        threading.Thread(target=handle, args=(sock, at, kind), daemon=True).start()

    def settle(self):
        """Waits until every connection that is there has been accepted, and noted."""
        while True:
            with self.accepting:
                if not self.listeners.select(0):
                    return
            time.sleep(0.001)

    def serve(self):
        site = web.Web(self.note, self.folder, (self.folder / "tls/server.pem",
                                                self.folder / "tls/server.key"))
        self.site = site
        with self.spaces.inside("far"):
            nameserver.NameServer(self.note).start(zone.NAME_SERVER)
        for every in ("0.0.0.0", "::"):
            for port, kind in ((80, "http"), (443, "https"), (8443, "https"), (8080, "http")):
                self.listen("far", every, port, site.handle, kind)
            for port, handle in ((zone.RAW, self.echo), (zone.SINK, self.sink),
                                 (zone.FLOOD, self.flood), (22, self.echo), (853, self.sink)):
                self.listen("far", every, port, handle)
        self.listen("far", zone.PROXY, 3128, proxy.Proxy(self.note, self.dial_far, "u:TOPSECRET").handle)
        # This machine's own servers, on all of its addresses: nobody may come back to them.
        for address in ("127.0.0.1", "::1", *zone.NEAR_ADDRESSES):
            for port, kind in ((80, "http"), (443, "https")):
                self.listen("near", address, port, site.handle, kind)
            self.listen("near", address, zone.RAW, self.echo)
        for address, port, kind in (("127.0.0.1", zone.LOCAL_WEB, "http"),
                                    ("::1", zone.LOCAL_WEB6, "http"),
                                    ("127.0.0.1", zone.LOCAL_CLOSED, "http"),
                                    ("127.0.0.1", zone.LOCAL_MODEL, "models")):
            self.listen("near", address, port, site.handle, kind)
        # Each by itself, so that the answer comes from where it was asked for.
        for address in (zone.OK, zone.OK6, zone.FAR4):
            self.datagrams(address, 443)

    def dial_far(self, host, port):
        with self.spaces.inside("far"):
            found = zone.ZONE.get(host.lower(), [host])
            return socket.create_connection((found[0], port), timeout=10)

    def echo(self, sock, at, kind):
        """Says back what it gets; after the end of it says goodbye."""
        total = 0
        with contextlib.suppress(OSError), sock:
            while data := sock.recv(65536):
                total += len(data)
                sock.sendall(data)
            sock.sendall(b"bye")
        self.note(event="echoed", at=f"{at[0]} {at[1]}", length=total)

    def sink(self, sock, at, kind):
        total, start = 0, b""
        with contextlib.suppress(OSError), sock:
            while data := sock.recv(65536):
                total += len(data)
                start = (start + data)[:1024]
        self.note(event="sunk", at=f"{at[0]} {at[1]}", length=total, start=start.decode("latin1"))

    def flood(self, sock, at, kind):
        total, block = 0, bytes(65536)
        with contextlib.suppress(OSError), sock:
            while True:
                total += sock.send(block)
        self.note(event="flooded", at=f"{at[0]} {at[1]}", length=total)

    def datagrams(self, address, port):
        """QUIC's place: says every datagram back."""
        with self.spaces.inside("far"):
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
            if ":" in address:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((address, port))

        def serve():
            while True:
                data, peer = sock.recvfrom(65536)
                self.note(event="datagram", data=data.decode("latin1"))
                sock.sendto(data, peer)
        threading.Thread(target=serve, daemon=True).start()

    # --- what lab.py asks for ----------------------------------------------------------------------

    def do_packets(self, since):
        self.sniffer.drain()
        if self.sniffer.lost:
            raise RuntimeError(f"{self.sniffer.lost} packets went by unseen")
        return self.sniffer.packets[since:]

    def do_mark(self):
        self.settle()
        count, self.sniffer.lost = self.sniffer.drain(), 0
        return count

    def do_ip(self, where, lines):
        with self.spaces.inside(where):
            ip(*lines)

    def do_shut(self, port):
        """Ends a listening server of this machine."""
        for key in list(self.listeners.get_map().values()):
            if key.fileobj.getsockname()[1] == port:
                self.listeners.unregister(key.fileobj)
                key.fileobj.close()

    def do_descriptors(self, pid):
        """What a process of the lab holds. Only here is the right to look at the gate's, and by
        pidfd_getfd(2) alone: /proc shows what belongs to root, whom the lab does not know."""
        libc, pidfd = ctypes.CDLL(None, use_errno=True), os.pidfd_open(pid)
        with open(f"/proc/{pid}/status") as file:
            size = next(int(line.split()[1]) for line in file if line.startswith("FDSize"))
        found = []
        for number in range(size):
            fd = libc.syscall(438, pidfd, number, 0)
            if fd >= 0:
                found.append(os.readlink(f"/proc/self/fd/{fd}"))
                os.close(fd)
            elif ctypes.get_errno() != errno.EBADF:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
        os.close(pidfd)
        return found

    def do_hello(self):
        return {"pid": os.getpid(), "far_task": self.spaces.far_task}

    def commands(self):
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                reply = {"value": getattr(self, "do_" + asked.pop("do"))(**asked)}
            except Exception as error:  # told to the test that asked
                reply = {"error": repr(error)}
            print(json.dumps(reply), flush=True)


def main():
    call("prctl", 1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG: goes with the tests
    threading.stack_size(256 * 1024)
    World(sys.argv[1], json.loads(sys.argv[2])).commands()


main()
