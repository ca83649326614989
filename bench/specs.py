"""The specs that start and memory are measured with."""

import subprocess

from common import LNK

SPEC = """\
name = "start"
[files]
write = ["proj"]
read = ["lib"]
hide = ["proj/secret"]
[commands]
allow = [{}]
"""
NETWORK = """\
[internet]
hosts = ["example.com", "*.example.org", "93.184.215.14"]
tcp = ["example.com:5432"]
per_minute = 600
[lan]
hosts = ["nas.example.com", "192.168.1.0/24"]
[localhost]
ports = [5432, 6379]
models = [11434]
"""
OUTSIDE = """\
[tools]
names = ["uname"]
[browser]
hosts = ["example.com"]
"""
READING = """\
name = "reading"
[files]
read = ["proj"]
[commands]
allow = ["*"]
"""
PROGRAMS = ["sh", "bash", "true", "cat", "ls", "cp", "mv", "rm", "mkdir", "sed", "grep", "awk",
            "git", "make", "gcc", "as", "ld", "python3", "env", "sleep"]

def write_specs(folder, env):
    for name in ("proj", "lib"):
        (folder / name).mkdir()
    (folder / "proj/secret").write_text("x")
    listed = SPEC.format(", ".join(f'"{p}"' for p in PROGRAMS))
    for name, text in (("listed", listed), ("any", SPEC.format('"*"')),
                       ("reading", READING), ("network", listed + NETWORK), ("every", listed + NETWORK + OUTSIDE)):
        (folder / f"{name}.toml").write_text(text)
    subprocess.run([str(LNK), "sandbox", "tool", "add", "uname", "--any"], env=env, check=True,
                   capture_output=True)
