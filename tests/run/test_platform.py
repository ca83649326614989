"""Sandboxes inside the sandbox, and machines where something is missing."""

NO_USERNS = """
echo 0 > /proc/sys/user/max_user_namespaces
nocaps "$LNK" sandbox run --spec "$SPEC" -- sh -c "touch ran; echo x > $HOME/escaped"; echo rc=$?
"""


def test_without_user_namespaces_nothing_runs_unconfined(box, lab):
    result = lab(NO_USERNS)
    assert not (box.home / "escaped").exists()
    assert "rc=125" in result.lines, result
    assert not (box.proj / "ran").exists()
    assert result.said("user namespaces?"), result
    # The limit is what is wrong here, so that is what is named, with the command that lifts it.
    assert "sysctl user.max_user_namespaces=" in result.err, result


def test_new_user_namespaces_are_refused(box):
    result = box.run("unshare", "--user", "true")
    assert result.rc != 0, result
    control = box.outside("unshare", "--user", "true")
    assert control.rc == 0, control


CHROMIUM = ("chromium", "--headless", "--disable-gpu", "--dump-dom")


def test_chromium_with_its_own_sandbox(box):
    page = box.write("page.html", "<title>t</title><p id=p></p><script>"
                     'p.textContent = "two=" + (1 + 1)</script>')
    result = box.run(*CHROMIUM, f"--user-data-dir={box.proj}/ud", f"file://{page}",
                     flags=["--user-namespaces"], timeout=90)
    assert result.rc == 0 and "two=2" in result.out, result
    assert "no usable sandbox" not in result.err.lower()


def test_a_sandbox_in_the_sandbox(box):
    """lnk inside lnk: works with --user-namespaces or says what it needs, never half."""
    result = box.run(box.argv()[0], "sandbox", "run", "--write", box.proj, "--", "touch", "ran",
                     spec=False, flags=["--write", box.proj, "--read", box.argv()[0]])
    assert result.rc == 125 and not (box.proj / "ran").exists(), result
