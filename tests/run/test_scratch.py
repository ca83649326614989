"""Scratch space, shared memory, sockets of one's own, watchers: what ordinary programs expect."""

import os
import subprocess
import time

from conftest import wait_until


def test_temporary_files_whatever_tmpdir_says(box):
    (box.home / "scratch").mkdir()
    marker = f"/tmp/lnk-test-{os.getpid()}"
    result = box.run("bash", "-c", f"""
        f=$(mktemp) && echo ok > "$f" && cat "$f"; d=$(mktemp -d) && test -d "$d" && echo dir
        python3 -c 'import tempfile; tempfile.mkdtemp(); print("py")'
        echo t > {marker} && cat {marker}; echo v > /var/tmp/x && cat /var/tmp/x
        sort <<X
b
a
X""", env={"TMPDIR": str(box.home / "scratch")})
    assert result.lines == ["ok", "dir", "py", "t", "v", "a", "b"], result
    assert not os.path.exists(marker)
    assert os.listdir(box.home / "scratch") == []


def test_scratch_is_not_shared_between_runs(box):
    assert box.sh("echo x > /tmp/f; echo x > /dev/shm/f; echo x > ~/f").rc == 0
    assert box.sh("cat /tmp/f /dev/shm/f ~/f; ls -A /tmp /dev/shm").out.count("x") == 0


def test_shared_memory_and_semaphores(box):
    name = f"lnk_test_{os.getpid()}"
    box.write("pool.py", f"""
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory
def f(x): return x + 1
if __name__ == "__main__":
    m = shared_memory.SharedMemory(create=True, size=64 << 20, name="{name}"); m.buf[0] = 7
    with ProcessPoolExecutor(2) as ex: print(list(ex.map(f, [1, 2, 3])), m.buf[0])
    m.close(); m.unlink()
""")
    result = box.run("python3", "pool.py")
    assert (result.rc, result.out) == (0, "[2, 3, 4] 7\n"), result
    assert not os.path.exists("/dev/shm/" + name)


def test_own_unix_sockets(box):
    box.write("s.js", """
const net = require('net');
let left = 3;
for (const p of ['/tmp/own.sock', './p.sock', '\\0own-abstract']) {
  const s = net.createServer(c => c.end('pong'));
  s.on('error', e => { console.log('listen', e.code); process.exit(1); });
  s.listen(p, () => net.connect(p).on('data', d => console.log(JSON.stringify(p), String(d)))
    .on('end', () => s.close()));
}
""")
    result = box.run("node", "s.js")
    assert result.rc == 0, result
    assert sorted(result.lines) == ['"./p.sock" pong', '"/tmp/own.sock" pong',
                                    '"\\u0000own-abstract" pong']


def test_own_loopback(box):
    """With no network section the program has a loopback of its own, and nothing else."""
    result = box.run("python3", "-c", """if True:
        import socket
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            s = socket.create_server((host, 0), family=family)
            c = socket.create_connection(s.getsockname()[:2]); a, _ = s.accept()
            c.sendall(b"x"); print(a.recv(1).decode())
        for address in ("192.0.2.1", "8.8.8.8"):
            try:
                socket.create_connection((address, 80), 3); print("connected")
            except OSError as e:
                print(e.errno in (101, 113, 111, 1))
        try:
            socket.getaddrinfo("example.com", 80); print("resolved")
        except OSError:
            print("no name")""")
    assert result.lines == ["x", "x", "True", "True", "no name"], result


def test_host_sockets_are_out_of_reach(box):
    agent = box.home / ".agent"
    agent.mkdir()
    (agent / "conf").write_text("cfg\n")
    inside, outside, moved = agent / "S.sock", box.dir / "outside.sock", agent / "M.sock"
    box.spec('[files]\nwrite = ["proj"]\nread = ["~/.agent"]\n[commands]\nallow = ["*"]\n')
    servers = [subprocess.Popen(["socat", f"UNIX-LISTEN:{p},fork", "SYSTEM:echo TOPSECRET"])
               for p in (inside, outside, agent / "before.sock", box.proj / "p.sock")]
    ask = "socat -t1 - UNIX-CONNECT:{} </dev/null"
    try:
        assert wait_until(lambda: all(
            p.exists() for p in (inside, outside, agent / "before.sock", box.proj / "p.sock")))
        # Its name in the kernel's list is not its name any more.
        os.rename(agent / "before.sock", moved)
        control = box.outside("sh", "-c", ask.format(moved) + ";" + ask.format(inside))
        assert control.out == "TOPSECRET\n" * 2
        result = box.sh("cat ~/.agent/conf; " + "; ".join(
            ask.format(p) for p in (inside, outside, moved, "p.sock")))
        assert "cfg" in result.lines, result
        assert "TOPSECRET" not in result.out
    finally:
        for server in servers:
            server.kill()
            server.wait()


def test_watchers_see_changes_from_both_sides(box):
    box.write("w.js", """
const fs = require('fs'); const seen = new Set();
fs.watch('.', (e, n) => {
  seen.add(n);
  if (['host.txt', 'host2.txt', 'in.txt'].every(f => seen.has(f))) {
    console.log('all'); process.exit(0);
  }
});
setTimeout(() => fs.writeFileSync('in.txt', '1'), 200);
setTimeout(() => { console.log([...seen].join()); process.exit(1); }, 8000);
console.log('READY');
""")
    running = box.start("node", "w.js")
    assert running.stdout.readline() == "READY\n", running.stderr.read()
    time.sleep(0.3)
    box.write("host.txt", "1")
    box.write("t", "2")
    os.rename(box.proj / "t", box.proj / "host2.txt")
    out, err = running.communicate(timeout=15)
    assert (running.returncode, out) == (0, "all\n"), (out, err)


def test_devices_that_programs_expect(box):
    result = box.run("bash", "-c", "echo x > /dev/null && head -c 4 /dev/zero | wc -c && head -c 8 /dev/urandom "
                    "| wc -c && echo e > /dev/stderr && cat /dev/stdin && test -d /dev/pts && "
                    "test -e /dev/ptmx && test -L /dev/fd && cat <(echo fd); ls /dev",
                    stdin="in\n")
    assert result.lines[:4] == ["4", "8", "in", "fd"], result
    assert not {"sda", "vda", "mem", "kmsg", "fuse", "kvm"} & set(result.lines)


def test_system_information(box):
    result = box.run("python3", "-c", "import os; print(os.cpu_count(), "
                     "len(os.sched_getaffinity(0)), os.getloadavg() != None, "
                     "os.sysconf('SC_PAGE_SIZE'), os.uname().sysname)")
    assert result.rc == 0, result
    assert result.out.split()[0] == str(os.cpu_count())
