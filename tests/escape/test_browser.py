"""Rows B: what a program can have the user's browser open, and what the user is told of it."""

import http.server
import json
import os
import re
import threading

import pytest

from cell import row
from conftest import descendants, wait_until
from toolbox import Terminal, browser, tools

SHIMS = ("xdg-open", "open", "sensible-browser", "www-browser")
OPENED = 0
NOT_OPENED = 4  # as xdg-open(1) has it: the action failed


@pytest.fixture
def page(tools, browser):
    """The sandbox of a spec that grants ok.test: page(ADDRESS) asks for it."""
    tools.spec(hosts=["ok.test", "*.wild.test"])

    def ask(address, shim="xdg-open", **kwargs):
        return tools.run(shim, address, **kwargs)
    ask.tools, ask.browser = tools, browser
    return ask


def outside_opens(page, address):
    """The control: the same browser opens the same address when it is asked outside."""
    before = len(page.browser.opened())
    page.tools.box.outside(page.tools.box.env["BROWSER"], address)
    return page.browser.opened()[before:] == [[address]]


@row("B1")
@pytest.mark.parametrize("address", [
    "file:///etc/passwd", "FILE:///etc/passwd", "javascript:alert(1)", "JaVa\tScript:alert(1)",
    "java\nscript:alert(1)", " javascript:alert(1)", "data:text/html,<script>1</script>",
    "vscode://ok.test/x", "vscode:extension/x", "ssh://ok.test/", "mailto:a@ok.test",
    "view-source:https://ok.test/", "blob:https://ok.test/x", "about:config", "chrome://settings",
    "ftp://ok.test/", "https:ok.test", "//ok.test/", "ok.test", "/etc/passwd", "./a.desktop",
    "--help", "-https://ok.test/", "--proxy-server=evil https://ok.test/", "",
])
def test_other_schemes_are_refused_unasked(page, address):
    seen = page(address)
    assert seen.rc == NOT_OPENED and "lnk: xdg-open:" in seen.err, seen
    assert page.browser.asked() == [] and page.browser.opened() == []
    assert outside_opens(page, address)


@row("B1")
def test_every_shim_opens_what_the_user_says_yes_to(page):
    for i, shim in enumerate(SHIMS):
        address = f"https://ok.test/{i}?q=a%20b&c=$(id)#d"
        seen = page(address, shim=shim)
        assert seen.rc == OPENED and seen.err == "", seen
        assert wait_until(lambda: page.browser.opened()[-1:] == [[address]], 5)
    seen = page.tools.sh('"$BROWSER" https://ok.test/b && echo $BROWSER')
    assert seen.out == "/run/lnk/bin/xdg-open\n", seen
    assert wait_until(lambda: page.browser.opened()[-1:] == [["https://ok.test/b"]], 5)
    assert len(page.browser.asked()) == 5
    seen = page.tools.run("xdg-open", "https://ok.test/1", "https://ok.test/2")
    assert seen.rc == 1 and len(page.browser.asked()) == 5, seen


@row("B1")
def test_no_is_no(page):
    for answer in ("page.browser.answers(False)", None):
        if answer:
            page.browser.answers(False)
        else:
            page.browser.answers(True, after="import os; os.kill(os.getpid(), 9)")
        seen = page("https://ok.test/")
        assert seen.rc == NOT_OPENED and "the user said no" in seen.err, seen
    page.tools.box.env["LNK_ASKPASS"] = "/nonexistent"
    seen = page("https://ok.test/x?y=z")
    assert seen.rc == 3 and "open it yourself, if you trust it: https://ok.test/x?y=z" in seen.err
    assert page.browser.opened() == [] and outside_opens(page, "https://ok.test/")


@row("B1")
def test_hosts_that_are_not_granted(page):
    for address in ("https://evil.test/", "https://ok.test.evil.test/", "https://notok.test/",
                    "https://wild.test/", "https://a.ok.test/", "http://ok.test.:80@evil.test/",
                    "https://evil.test/?https://ok.test/", "https://evil.test#https://ok.test/"):
        seen = page(address)
        assert seen.rc == NOT_OPENED and page.browser.asked() == [], seen
        assert outside_opens(page, address)
    assert page("https://a.wild.test/").rc == OPENED
    page.tools.spec()
    seen = page("https://ok.test/")
    assert seen.rc == 127 or "lnk" not in seen.err, seen
    assert page.browser.asked() == [page.browser.asked()[0]]


@row("B3")
@pytest.mark.parametrize("address", [
    "https://ok.test@evil.test/", "https://ok.test:443@evil.test/", "https://ok.test%2f@evil.test/",
    "https://ok.test\\@evil.test/", "https:\\\\evil.test/", "https://ok.test\u2044.evil.test/",
    "https://ok.test/\u202egnp.exe", "https://ok.test/\u2066x", "https://ok.test/\u200fx",
    "https://ok.test/\x1b[2J\x1b[Hhttps://bank.test/", "https://ok.test/\x9b2J",
    "https://ok.test/\r\nhttps://bank.test/", "https://ok.test/ x", "https://\u043ek.test/",
    "https://ok\u3002test/", "https://ok.test/" + "x" * 8192, "https://ok.test:99999/",
    "https://ok..test/",
])
def test_addresses_that_look_like_others_are_refused_unasked(page, address):
    seen = page(address)
    assert seen.rc == NOT_OPENED, seen
    assert page.browser.asked() == [] and page.browser.opened() == []
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", seen.err), seen
    assert outside_opens(page, address)


@row("B3")
def test_the_question_begins_with_the_host_and_has_the_whole_address(page):
    """Printable ASCII alone; what is shown is what is opened."""
    long = "https://OK.test:443/" + "a/" * 900 + "?q='\"<>`{b\u00fccher}"
    seen = page(long)
    assert seen.rc == OPENED, seen
    question = page.browser.asked()[0]
    assert question.startswith("ok.test\n")
    assert wait_until(page.browser.opened, 5)
    (opened,) = page.browser.opened()[0]
    assert opened in question.splitlines() and opened.startswith("https://ok.test/a/a/")
    assert opened.endswith("?q=%27%22%3C%3E%60%7Bb%C3%BCcher%7D")
    assert question.isascii() and question.replace("\n", "").isprintable()


@row("B3")
def test_the_question_on_a_terminal(page):
    """Host first, on a screen of its own; what was typed before is no answer."""
    box = page.tools.box
    del box.env["LNK_ASKPASS"]
    argv = box.argv("sh", "-c", "echo go; read x; xdg-open https://ok.test/one; echo rc=$?;"
                    "xdg-open https://ok.test/two; echo rc=$?")
    with Terminal(argv, box.proj, box.environment()) as t:
        t.wait("go")
        t.send("\ny\ny\n")
        t.wait("\x1b[2Jok.test\r")
        t.wait("A program in the sandbox asks")
        t.wait("https://ok.test/one")
        t.wait("Open it? Type y for yes: ")
        t.send("no\n")
        t.wait("rc=4")
        t.wait("Open it? Type y for yes: ")
        t.send("y\n")
        t.wait("rc=0")
        assert t.end() == 0
    assert wait_until(page.browser.opened, 5) == [["https://ok.test/two"]]


@row("B3")
def test_no_question_while_the_program_reads_keys(page):
    """It could type the answer for the user to see nothing of."""
    box = page.tools.box
    del box.env["LNK_ASKPASS"]
    script = """
import os, subprocess, termios, tty
tty.setraw(0)
r = subprocess.run(["xdg-open", "https://ok.test/"], capture_output=True, text=True)
termios.tcflush(0, termios.TCIFLUSH)
os.write(1, f"rc={r.returncode} {r.stderr}".encode())
"""
    with Terminal(box.argv("python3", "-c", script), box.proj, box.environment()) as t:
        t.wait("rc=3")
        t.wait("open it yourself")
        t.end()
    assert page.browser.opened() == []


@row("B5")
@pytest.mark.parametrize("address", [
    "http://127.0.0.1:631/", "http://localhost:631/", "http://[::1]:631/", "http://2130706433/",
    "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://0.0.0.0:631/", "http://[::]/",
    "http://[::ffff:127.0.0.1]/", "http://192.168.1.1/", "http://10.0.0.1/", "http://169.254.169.254/",
    "http://[fd00::1]/", "http://a.localhost/", "http://router/",
])
def test_this_machine_and_the_local_network(page, address):
    """Pages there act by being opened. "*" does not cover them; a name of one does, when it is
    listed as such."""
    page.tools.spec(hosts=["*"])
    seen = page(address)
    if address == "http://router/":
        assert seen.rc == OPENED and len(page.browser.asked()) == 1, seen
        return
    assert seen.rc == NOT_OPENED and page.browser.asked() == [], seen
    assert page.browser.opened() == [] and outside_opens(page, address)
    assert page("https://any.test/").rc == OPENED


@row("B7")
def test_every_page_is_asked_for_and_shown_whole(page):
    """Also the same one again, and one that differs in what it carries away."""
    addresses = ["https://ok.test/", "https://ok.test/", "https://ok.test/?q=SECRET1",
                 "https://ok.test/?q=SECRET2"]
    for address in addresses:
        assert page(address).rc == OPENED
    assert [q.splitlines()[0] for q in page.browser.asked()] == ["ok.test"] * 4
    assert [a in q.splitlines() for a, q in zip(addresses, page.browser.asked())] == [True] * 4
    assert wait_until(lambda: [[a] for a in addresses] == sorted(page.browser.opened()), 5)
    told = [(e["section"], e["host"], e["url"], e["verdict"]) for e in page.tools.log()]
    assert ("browser", "ok.test", "https://ok.test/?q=SECRET2", "allowed") in told, told


@row("B7")
def test_one_question_stands_and_one_waits(page):
    """A flood is no way to tire the user out."""
    go = page.tools.box.dir / "go"
    page.browser.answers(False, after=f"""
import os
while not os.path.exists({str(go)!r}): time.sleep(0.02)""")
    script = "for i in $(seq 12); do { xdg-open https://ok.test/$i; echo rc=$?; } & done; wait"
    process = page.tools.box.start("bash", "-c", script)
    assert wait_until(page.browser.asked, 10)
    refused = 0
    while refused < 10:
        refused += "the user is being asked about two other pages" in process.stderr.readline()
    assert len(page.browser.asked()) == 1
    go.write_text("")
    out, _ = process.communicate(timeout=30)
    assert out.count("rc=4") == 12 and len(page.browser.asked()) == 2, out


@row("B7")
def test_a_question_goes_with_whoever_asked(page):
    page.browser.answers(True, after="time.sleep(600)")
    seen = page.tools.sh("timeout 1 xdg-open https://ok.test/; echo $?; xdg-open ftp://x; echo $?")
    assert seen.lines == ["124", "4"], seen
    assert page.browser.opened() == []


def test_what_the_browser_is_started_with(page):
    """The user's environment and nothing of the run's; it lives on after it."""
    program = page.tools.script("the-browser", f"""\
#!/usr/bin/python3
import json, os, time
fds = {{n: os.readlink(f"/proc/self/fd/{{n}}") for n in os.listdir("/proc/self/fd")[:-1]}}
json.dump([dict(os.environ), fds, os.getcwd(), os.getsid(0) == os.getpid()],
          open({str(page.tools.box.dir / "told.new")!r}, "w"))
os.rename({str(page.tools.box.dir / "told.new")!r}, {str(page.tools.box.dir / "told")!r})
""")
    page.tools.box.env["BROWSER"] = str(program)
    page.tools.box.env["OF_THE_USER"] = "x"
    seen = page.tools.sh("OF_THE_PROGRAM=y xdg-open https://ok.test/")
    assert seen.rc == OPENED, seen
    assert wait_until((page.tools.box.dir / "told").exists, 5)
    env, fds, _, leads = json.loads((page.tools.box.dir / "told").read_text())
    assert env["OF_THE_USER"] == "x" and "OF_THE_PROGRAM" not in env and leads
    assert env["BROWSER"] == str(program) and "/run/lnk" not in env["PATH"]
    assert {os.path.basename(v) for v in fds.values()} <= {"null", "told.new", "fd"} or \
        set(fds) <= {"0", "1", "2", "3"}, fds


@row("B1", "B3")
def test_chromium_opens_what_was_said_yes_to(page):
    """The real one, without a window; ok.test is a server of ours to it."""
    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            visits.append((self.headers["Host"].split(":")[0], self.path))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    def wait_for_visits(n):
        return wait_until(lambda: len(pages()) >= n, 60) and pages()

    def pages():
        # It calls its maker, too.
        return [v for v in visits if v[0].endswith(".test") and v[1] != "/favicon.ico"]

    visits = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tools = page.tools
    program = tools.script("the-browser", f"""\
#!/bin/sh
exec chromium --headless --no-sandbox --disable-gpu --user-data-dir={tools.box.dir}/chromium \
    --host-resolver-rules="MAP * 127.0.0.1:{server.server_port}" --dump-dom "$@" \
    > {tools.box.dir}/dom 2>&1
""")
    tools.box.env["BROWSER"] = str(program)
    try:
        assert page("http://ok.test/yes?a=b%20c").rc == OPENED
        assert wait_for_visits(1) == [("ok.test", "/yes?a=b%20c")]
        assert wait_until(lambda: "ok" in (tools.box.dir / "dom").read_text(), 20)
        page.browser.answers(False)
        assert page("http://ok.test/no").rc == NOT_OPENED
        page.browser.answers(True)
        for address in ("http://evil.test/", "file:///etc/passwd", "javascript:fetch('//evil.test')",
                        "http://ok.test@evil.test/"):
            assert page(address).rc == NOT_OPENED
        assert page("http://ok.test/last").rc == OPENED
        assert wait_for_visits(2)[1:] == [("ok.test", "/last")]
        tools.box.outside(program, "http://evil.test/")
        assert pages()[2:] == [("evil.test", "/")]
    finally:
        server.shutdown()
        server.server_close()
        wait_until(lambda: "chromium" not in descendants().values(), 20)


__all__ = ["browser", "tools"]
