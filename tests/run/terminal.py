"""A terminal of one's own: plays keys to a program and reads what it shows."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    """Starts `argv` as the session's leader on a new terminal of 24 rows and 80 columns."""

    def __init__(self, argv, cwd, env, rows=24, columns=80):
        self.seen = b""
        self.mark = 0
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                # The size is set before the program can ask for it.
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.chdir(cwd)
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(111)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.status is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.fd)

    def send(self, text):
        os.write(self.fd, text.encode())

    def pump(self, seconds):
        """Reads what is there, for at most so long. False when the terminal is gone."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def wait(self, text, seconds=15):
        """Waits until `text` shows up after what was waited for before."""
        wanted = text.encode()
        end = time.monotonic() + seconds
        while wanted not in self.seen[self.mark:]:
            alive = self.pump(0.1)
            if wanted in self.seen[self.mark:]:
                break
            assert alive and time.monotonic() < end, f"no {text!r} in {self.seen[-2000:]!r}"
        self.mark = self.seen.index(wanted, self.mark) + len(wanted)

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.pump(0.05):
            pass

    def end(self, seconds=15):
        """Waits for the program; its exit status, 128+n for a signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                if self.status < 0:
                    self.status = 128 - self.status
                while select.select([self.fd], [], [], 0.05)[0] and self.pump(0.05):
                    pass
                return self.status
        raise AssertionError(f"does not end; it shows {self.seen[-2000:]!r}")
