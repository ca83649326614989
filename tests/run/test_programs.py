"""Real programs under the example specs, as a newcomer would use them: the placeholder path is
edited, nothing else."""

import os
import pathlib
import shutil

import pytest

from conftest import ROOT

SPECS = ROOT / "share/specs"


def example(box, name):
    """The example spec with the project's folder in place of ~/code/app."""
    text = (SPECS / name).read_text()
    assert '"~/code/app' in text
    return box.spec(text.replace("~/code/app", str(box.proj)), name)


@pytest.mark.parametrize("name", sorted(p.name for p in SPECS.glob("*.toml")))
def test_every_example_is_taken_as_it_is(box, name):
    (box.home / "code/app").mkdir(parents=True)
    spec = box.spec((SPECS / name).read_text(), name)
    result = box.outside(box.argv()[0], "sandbox", "spec", spec)
    assert result.rc == 0, result
    assert str(box.home / "code/app") in result.out or "~/code/app" in result.out, result


def test_gnu_hello(box):
    """configure, make and make check of a Debian source package, with gcc."""
    source = ROOT / "build/cache/hello"
    assert (source / "configure").exists(), "script/setup --test fetches the source"
    shutil.rmtree(box.proj)
    shutil.copytree(source, box.proj, symlinks=True)
    spec = example(box, "c.toml")
    result = box.sh("./configure && make && make check && ./hello", spec=spec, timeout=400)
    assert result.rc == 0, result
    assert "Hello, world!" in result.lines
    assert "# FAIL:  0" in result.lines and "# PASS:  4" in result.lines, result


ADDON = r"""
#include <node_api.h>
static napi_value answer(napi_env env, napi_callback_info info)
{
	napi_value number;
	(void)info;
	napi_create_int32(env, 42, &number);
	return number;
}
NAPI_MODULE_INIT()
{
	napi_value function;
	napi_create_function(env, "answer", NAPI_AUTO_LENGTH, answer, NULL, &function);
	napi_set_named_property(env, exports, "answer", function);
	return exports;
}
"""

NODE_TEST = """
const test = require('node:test'); const assert = require('node:assert');
const { execFileSync, execSync } = require('node:child_process');
test('own add-on', () => assert.strictEqual(require('./addon.node').answer(), 42));
test('add-on of a package', () => {
  const bcrypt = require('bcrypt');
  assert(bcrypt.compareSync('secret', bcrypt.hashSync('secret', 4)));
});
test('shell', () => assert.strictEqual(execSync('echo hi').toString(), 'hi\\n'));
test('closed program', () => assert.throws(() => execFileSync('/usr/bin/perl', ['-v'])));
test('closed home', () => assert.throws(
  () => require('fs').readFileSync(process.env.HOME + '/secret'), { code: 'ENOENT' }));
"""


def test_node_project_with_native_addons(box):
    """An add-on compiled from C and one of an npm package; node's own test runner, through npm."""
    (box.home / "secret").write_text("TOPSECRET\n")
    box.write("addon.c", ADDON)
    box.outside("gcc", "-shared", "-fPIC", "-I/usr/include/node", "-o", "addon.node", "addon.c",
                check=True)
    for package in ("bcrypt", "node-gyp-build", "node-addon-api"):
        shutil.copytree(ROOT / "tests/node_modules" / package,
                        box.proj / "node_modules" / package)
    box.write("package.json", '{"name": "app", "version": "1.0.0", '
              '"scripts": {"test": "node --test --test-reporter=tap"}}')
    box.write("app.test.js", NODE_TEST)
    spec = example(box, "node.toml")
    result = box.run("npm", "test", spec=spec)
    assert result.rc == 0 and "# pass 5" in result.out, result
    strict = box.spec(f'[files]\nwrite = ["{box.proj}"]\n[commands]\nallow = ["sh", "node"]\n',
                      "strict.toml")
    result = box.run("node", "--test", "--test-reporter=tap", spec=strict)
    assert result.rc == 0 and "# pass 5" in result.out, result


def test_python_environment_with_compiled_modules(box):
    """A virtual environment with numpy in it: imported, computing, and through its own python."""
    box.outside("/usr/bin/python3", "-m", "venv", "--without-pip", ".venv", check=True)
    where = box.outside("/usr/bin/python3", "-c",
                        "import numpy; print(numpy.__file__)", check=True).out.strip()
    site = next((box.proj / ".venv/lib").glob("python3*/site-packages"))
    shutil.copytree(pathlib.Path(where).parent, site / "numpy")
    box.write("t.py", "import numpy, ctypes, sys, subprocess\n"
              "assert sys.prefix != sys.base_prefix and '.venv' in numpy.__file__\n"
              "print(numpy.linalg.det(numpy.eye(3)), subprocess.getoutput('echo sub'))\n")
    spec = example(box, "python.toml")
    result = box.run(".venv/bin/python", "t.py", spec=spec)
    assert (result.rc, result.out) == (0, "1.0 sub\n"), result


def test_python_tests_with_pytest(box):
    box.write("test_sum.py", "import os\n\ndef test_sum(tmp_path):\n"
              "    (tmp_path / 'x').write_text('1')\n    assert sum([1, 2]) == 3\n")
    result = box.run("python3", "-m", "pytest", "-q", spec=example(box, "python.toml"))
    assert result.rc == 0 and "1 passed" in result.out, result


def test_git_example_commits(box):
    (box.home / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@b\n")
    spec = example(box, "git.toml")
    box.write("f", "1\n")
    for argv in (("init", "-q", "."), ("add", "f"), ("commit", "-qm", "one"),
                 ("submodule", "status"), ("log", "-p"), ("stash", "list")):
        result = box.run("git", *argv, spec=spec)
        assert result.rc == 0, result
    assert box.git("log", "--format=%an %s") == "a one\n"
    assert box.run("python3", "-c", "1", spec=spec).rc == 126


def test_debugger_and_tracer_inside(box):
    """ptrace among the sandbox's own processes works."""
    box.write("p.c", "int main(void)\n{\n\tvolatile int x = 41;\n\tx++;\n"
              "\treturn x == 42 ? 0 : 1;\n}\n")
    box.outside("gcc", "-g", "-o", "p", "p.c", check=True)
    traced = box.run("strace", "-f", "-o", "trace", "./p")
    assert traced.rc == 0 and "exit_group(0)" in (box.proj / "trace").read_text(), traced
    debugged = box.run("gdb", "-q", "-batch", "-ex", "break main", "-ex", "run", "-ex", "next",
                       "-ex", "next", "-ex", "print x", "./p")
    assert "$1 = 42" in debugged.out, debugged


def test_compiler_cache_of_threads_and_locks(box):
    """File locks, mmap, fallocate and inotify on the real file system."""
    result = box.run("python3", "-c", """if True:
        import fcntl, mmap, os, sqlite3
        with open("lock", "w") as f: fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600); os.write(fd, b"x")
        with open("m", "w+b") as f:
            f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); m[:2] = b"ok"; m.flush()
        os.posix_fallocate(os.open("a", os.O_CREAT | os.O_RDWR), 0, 1 << 20)
        db = sqlite3.connect("d.db"); db.execute("pragma journal_mode=wal")
        db.execute("create table t(x)"); db.execute("insert into t values(1)"); db.commit()
        os.setxattr("m", "user.k", b"v"); os.chmod("m", 0o640); os.utime("m", (1, 1))
        print(open("m", "rb").read(2).decode())""")
    assert result.rc == 0 and result.out == "ok\n", result
    assert os.stat(box.proj / "m").st_mtime == 1


def test_environment_that_is_activated_is_explained(box):
    """An activated environment puts its folder on PATH, and a spec from a file may not write it:
    the hint says what to do instead."""
    box.outside("/usr/bin/python3", "-m", "venv", "--without-pip", ".venv", check=True)
    spec = example(box, "python.toml")
    result = box.run("python", "-c", "1", spec=spec,
                     env={"PATH": f"{box.proj}/.venv/bin:{box.env['PATH']}",
                          "VIRTUAL_ENV": str(box.proj / ".venv")})
    assert result.rc in (2, 125) and result.said("PATH"), result
    assert "hint:" in result.err

