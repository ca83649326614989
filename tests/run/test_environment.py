"""What the program learns of the user's environment, and tools that live in the home folder."""

import json
import re
import stat

import pytest


def test_secrets_of_the_environment_stay_outside(box):
    secrets = {"AWS_SECRET_ACCESS_KEY": "TOPSECRET1", "GITHUB_TOKEN": "TOPSECRET2",
               "DB_PASSWORD": "TOPSECRET3", "OPENAI_API_KEY": "TOPSECRET4",
               "SSH_AUTH_SOCK": "/TOPSECRET5", "EDITOR": "vi", "MY_FLAG": "on"}
    result = box.sh("env; for e in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $e; done 2>/dev/null; "
                    "strings -a /proc/1/mem 2>/dev/null; "
                    'echo "home=$HOME lang=$LANG term=$TERM user=$USER"', env=secrets)
    assert "TOPSECRET" not in result.out, result
    assert "MY_FLAG" not in result.out
    assert f"home={box.home} lang=C.UTF-8 term=xterm user={box.env['USER']}" in result.lines
    assert "EDITOR=vi" in result.lines
    assert any(line.startswith("PATH=") for line in result.lines)


def test_env_flag_passes_names_and_values(box):
    env = {"MY_FLAG": "on", "OTHER": "two", "GITHUB_TOKEN": "t"}
    named = box.run("env", flags=["--env", "MY_FLAG", "--env", "NEW=a=b c"], env=env)
    assert {"MY_FLAG=on", "NEW=a=b c"} <= set(named.lines), named
    assert "OTHER=two" not in named.lines
    everything = box.run("env", flags=["--env", "*"], env=env)
    assert {"MY_FLAG=on", "OTHER=two", "GITHUB_TOKEN=t"} <= set(everything.lines), everything


def test_all_of_the_environment_but_the_way_out(box):
    """A proxy is the gate's to call: inside it would be a host that is closed."""
    env = {"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "a", "HTTPS_PROXYX": "1"}
    everything = box.run("env", flags=["--env", "*"], env=env)
    assert "HTTPS_PROXYX=1" in everything.lines and "roxy" not in everything.out.replace("HTTPS_PROXYX", "")
    assert "no_proxy" not in everything.out, everything
    named = box.run("env", flags=["--env", "*", "--env", "HTTPS_PROXY"], env=env)
    assert "HTTPS_PROXY=http://proxy:3128" in named.lines, named
    host = box.run("env", flags=["--env", "*", "--network", "host"], env=env)
    assert "no_proxy=a" in host.lines, host


SSH = """
empty=$(find /usr/lib/python3* -name __init__.py -empty -readable | head -n 1)
mkdir -p "$W/d"; touch "$W/d/50-lab.conf"
mount --bind "$empty" "$W/d/50-lab.conf"; mount --rbind "$W/d" /etc/ssh/ssh_config.d
stat -c '%U' /etc/ssh/ssh_config.d/50-lab.conf
nocaps "$LNK" sandbox run --spec "$SPEC" -- ssh -G example.com"""


def test_root_owned_ssh_configuration(box, lab):
    """ssh refuses files that belong to nobody: what /etc/ssh includes is ours inside. Systems
    differ in whether they have such a file, so one is put there."""
    result = lab(SSH)
    assert result.lines[0] != box.env["USER"], result
    assert result.rc == 0 and "hostname example.com" in result.lines, result
    assert "bad owner" not in result.err.lower()


def _program(path, says):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _managers(box):
    """A node of nvm's first on PATH, and a virtual environment whose python is uv's."""
    _program(box.home / ".nvm/versions/node/v99/bin/node", "node-managed")
    python = box.home / ".local/share/uv/python/cpython-3.99/bin/python3"
    _program(python, "python-managed")
    (box.proj / ".venv/bin").mkdir(parents=True)
    (box.proj / ".venv/bin/python").symlink_to(python)
    box.write("x.js", 'console.log("node-system")\n')
    box.write("tool", '#!/usr/bin/env node\nconsole.log("node-system")\n', 0o755)
    return {"PATH": f"{box.home}/.nvm/versions/node/v99/bin:{box.env['PATH']}"}


def test_managed_tools_run_when_their_folders_are_read(box):
    env = _managers(box)
    box.spec('[files]\nwrite = ["proj"]\nread = ["~/.nvm", "~/.local/share/uv"]\n'
             '[commands]\nallow = ["*"]\n')
    for program, says in ((("node", "x.js"), "node-managed"),
                          ((".venv/bin/python", "x.py"), "python-managed"),
                          (("sh", "-c", "./tool"), "node-managed")):
        result = box.run(*program, env=env)
        assert result.out == says + "\n", result


def test_managed_tools_are_never_swapped_in_silence(box):
    env = _managers(box)
    node = box.run("node", "x.js", env=env)
    assert node.out == "node-managed\n" or node.said(r"\.nvm"), node
    python = box.run(".venv/bin/python", "x.py", env=env)
    assert python.out == "python-managed\n" or python.said(r"\.local/share/uv"), python
    tool = box.run("./tool", env=env)
    assert tool.out == "node-managed\n" or tool.said(r"\.nvm"), tool


def _link(path, to):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


def _told_to_open(result):
    """The entries of the read list that a note gives."""
    return re.findall(r'"([^"]+)"', re.search(r"read = \[(.*?)\]", result.err)[1])


LINKED = {  # what is on PATH: (where it lies, what the note says to open)
    # npm's packages in a prefix of one's own, run by a node of nvm's
    ".npm-global/bin/prog": (".npm-global/lib/node_modules/prog/bin/prog.js", ["~/.npm-global", "~/.nvm/versions/node/v9"]),
    # an installer's
    ".local/bin/prog": (".local/share/prog/versions/1.0/prog",
                        ["~/.local/share/prog/versions/1.0", "~/.local/bin/prog"]),
    # one's own: the rest of the home stays closed
    "bin/prog": ("bin/prog-1", ["~/bin/prog-1", "~/bin/prog"]),
}


@pytest.mark.parametrize("on_path", LINKED)
def test_one_note_names_all_that_a_linked_program_needs(box, on_path):
    """Its file, the link on PATH and its interpreter, and no more; with them it runs."""
    lies, opens = LINKED[on_path]
    script = lies.endswith(".js")
    _program(box.home / lies, "ran")
    if script:
        (box.home / lies).write_text("#!/usr/bin/env node\n")
        _program(box.home / ".nvm/versions/node/v9/bin/node", "ran")
    _link(box.home / on_path, box.home / lies)
    env = {"PATH": f"{(box.home / on_path).parent}:{box.home}/.nvm/versions/node/v9/bin:{box.env['PATH']}"}
    closed = box.run("prog", env=env)
    assert closed.rc == 127 and _told_to_open(closed) == opens, closed
    box.spec(f'[files]\nwrite = ["proj"]\nread = {json.dumps(opens)}\n[commands]\nallow = ["*"]\n')
    opened = box.run("prog", env=env)
    assert (opened.rc, opened.out, opened.err) == (0, "ran\n", ""), opened


def test_closed_interpreter_of_a_script_is_named(box):
    _program(box.home / "tools/interp", "ran")
    box.write("script", f"#!{box.home}/tools/interp\n", 0o755)
    result = box.run("./script")
    assert result.rc in (126, 127), result
    assert result.said("tools"), result


def test_unlisted_interpreter_is_named(box):
    box.write("script.py", "#!/usr/bin/python3\nprint('ran')\n", 0o755)
    box.spec('[files]\nwrite = ["proj"]\n[commands]\nallow = ["proj/script.py"]\n')
    result = box.run("./script.py")
    assert result.rc != 0 and "ran" not in result.out
    assert result.said("python3"), result


def test_certificate_variable_that_names_a_closed_file_is_noted(box):
    (box.home / "corp.pem").write_text("x")
    result = box.sh('echo "$SSL_CERT_FILE"', env={"SSL_CERT_FILE": str(box.home / "corp.pem")})
    assert result.out.strip() == str(box.home / "corp.pem"), result
    assert result.said("SSL_CERT_FILE"), result
