"""The example specs of share/specs: each is good, and those with a network work with real clients,
the lab's host put in place of the registry's."""

import pytest

from conftest import ROOT
from lab import nbox, net
from test_clients import repository
from test_services import TRUST, registries

SPECS = sorted((ROOT / "share/specs").glob("*.toml"))
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
    assert {s.stem for s in SPECS} >= {"agent", "c", "git", "node", "python", "rust"}


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
