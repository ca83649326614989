"""Runs commands under brokerdrive: a small sandbox with the real shims, and the real broker."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import HELPERS, LNK, wait_until
from terminal import Terminal

DRIVE = HELPERS / "brokerdrive"
SHIM = LNK.parent / "shim/lnk-shim"
HERE = pathlib.Path(__file__).resolve().parent

TOOLS = {"cat": "/bin/cat", "gh": "/bin/echo", "shell": "/bin/sh", "sleeper": "/bin/sleep",
         "missing": "/nonexistent/tool"}


class Drive:
    def __init__(self, box):
        self.box = box
        self.flags = []
        self.tools = dict(TOOLS)
        self.env = {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONUNBUFFERED": "1"}
        self.log_file = box.dir / "log"
        self.pid_file = box.dir / "broker.pid"

    def argv(self, *command):
        tools = [word for name, program in self.tools.items()
                 for word in ("--tool", f"{name}={program}")]
        return [str(a) for a in (DRIVE, SHIM, *tools, "--log", self.log_file, "--broker-pid",
                                 self.pid_file, *self.flags, "--", *command)]

    def run(self, *command, **kwargs):
        return self.box.outside(*self.argv(*command), env=self.box.environment(self.env), **kwargs)

    def sh(self, script, **kwargs):
        return self.run("bash", "-c", script, **kwargs)

    def python(self, script, **kwargs):
        return self.run(sys.executable, "-c", "from broker_client import *\n" + script, **kwargs)

    def start(self, *command, **kwargs):
        kwargs.setdefault("start_new_session", True)
        return subprocess.Popen(self.argv(*command), env=self.box.environment(self.env),
                                cwd=self.box.proj, text=True, **kwargs)

    def terminal(self, *command):
        return Terminal(self.argv(*command), self.box.proj, self.box.environment(self.env))

    def log(self):
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def broker(self):
        return int(wait_until(lambda: self.pid_file.exists() and self.pid_file.read_text()))


@pytest.fixture
def drive(box):
    return Drive(box)


