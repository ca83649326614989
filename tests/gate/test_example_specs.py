"""The example specs of share/specs: each is good, and those with a network work with real clients,
the lab's host put in place of the registry's."""

import pytest

from conftest import ROOT
from lab import nbox, net
from test_clients import repository
from test_services import TRUST, registries

SPECS = sorted((ROOT / "share/specs").glob("*.toml"))
AGENTS = {  # its model's host, where it is on PATH, and what that leads to
    "claude-code": ("api.anthropic.com", ".local/bin/claude", ".local/share/claude/versions/1.0"),
    "codex": ("api.openai.com", ".npm-global/bin/codex", ".npm-global/lib/node_modules/codex/bin/codex.js"),
    "gemini-cli": ("generativelanguage.googleapis.com", ".nvm/versions/node/v9/bin/gemini",
                   ".nvm/versions/node/v9/lib/node_modules/gemini/gemini.js"),
    "aider": ("api.anthropic.com", ".local/bin/aider", ".local/share/pipx/venvs/aider-chat/bin/aider"),
}
AGENT = """\
#!/bin/sh
curl -sS --max-time 10 https://ok.test/
cat ~/.agent .env 2>/dev/null
curl -s --max-time 10 https://other.test/
[ -e ~/.agent ] && echo second >>made || echo first >made
echo login >~/.agent
"""
QUIET = ["--no-audit", "--no-fund", "--no-update-notifier"]


@pytest.fixture
def example(nbox):
    """example(NAME, HOST, LAB'S HOST): the box's spec is that example, for the box's project."""
    def use(name, host, lab_host):
        text = (ROOT / "share/specs" / f"{name}.toml").read_text()
        assert f'"{host}"' in text and "~/code/app" in text
        nbox.spec(text.replace("~/code/app", str(nbox.proj)).replace(f'"{host}"', f'"{lab_host}"'))
        return nbox
    return use


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.stem)
def test_each_is_good(box, spec):
    (box.home / "code/app").mkdir(parents=True)
    (box.home / "code" / spec.name).write_text(spec.read_text())
    checked = box.outside(*box.argv("x")[:2], "spec", box.home / "code" / spec.name)
    assert checked.rc == 0 and f"name              {spec.stem} " in checked.out, checked


def test_all_of_them_are_there():
    assert {s.stem for s in SPECS} >= {"agent", "c", "git", "node", "python", "rust", *AGENTS}


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent(example, net, name):
    """It starts from where npm, pipx or its own installer puts it, works on the project and not on
    its .env, reaches its model and nobody else, and finds its login again in the next run."""
    host, program, lies = AGENTS[name]
    box = example(name, host, "ok.test")
    box.write(".env", "TOPSECRET\n")
    agent = box.home / lies
    agent.parent.mkdir(parents=True)
    agent.write_text(AGENT)
    agent.chmod(0o755)
    on_path = box.home / program
    on_path.parent.mkdir(parents=True, exist_ok=True)
    on_path.symlink_to(agent)
    env = {"PATH": f"{on_path.parent}:{box.env['PATH']}", **TRUST}
    for run in ("first", "second"):
        since = net.mark()
        done = box.run(on_path.name, flags=["--keep-home"], env=env)
        assert done.rc == 0 and "TOPSECRET" not in done.out + done.err, done
        assert [line.split()[0] for line in done.lines] == ["ok"] + (["login"] if run == "second" else []), done
        assert since.queries() == {"ok.test"} and "add \"other.test\"" in done.err, done
    assert (box.proj / "made").read_text() == "first\nsecond\n" and not (box.home / ".agent").exists()


def test_node(example, net, registries):
    box = example("node", "registry.npmjs.org", "pkg.test")
    box.write("package.json", '{"name":"app","version":"1.0.0","scripts":{"test":"node -p 40+2"}}')
    done = box.run("npm", "install", "ajv", "--registry", "https://pkg.test/", *QUIET, env=TRUST)
    assert done.rc == 0, done
    assert box.run("npm", "test").lines[-1] == "42"


def test_python(example, net, registries):
    box = example("python", "pypi.org", "pkg.test")
    box.outside("/usr/bin/python3", "-m", "venv", ".venv", check=True)
    done = box.run(".venv/bin/python", "-m", "pip", "install", "-q", "--index-url",
                   "https://pkg.test/simple/", "labdep", env=TRUST)
    assert done.rc == 0, done
    assert box.run(".venv/bin/python", "-c", "import labdep; print(labdep.said)").out == "pip-dep\n"


def test_git(example, net, repository):
    box = example("git", "github.com", "git.test")
    box.outside("git", "init", "-q", ".", check=True)
    done = box.run("git", "pull", "-q", f"https://git.test/git/{repository.name}", "main")
    assert done.rc == 0 and (box.proj / "f").read_text() == "hi\n", done
