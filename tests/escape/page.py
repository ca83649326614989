"""doc/escapes.md: the table of compare.py, what it was measured with, and what only lnk was asked."""

import json
import os
import re

SECTIONS = {
    "K": "Processes, the terminal, the kernel", "S": "Servers on sockets",
    "F": "Files and variables", "C": "Programs that are not listed",
    "I": "Hosts of the internet", "N": "The local network", "L": "This machine's servers",
    "M": "Model runtimes", "T": "Tools that run outside", "B": "The browser",
    "H": "With the machine's own network",
}

# Rows of catalogue.md that no other sandbox is asked, and why.
LNK_ONLY = {
    "K10": "a limit", "K11": "needs a kernel that runs 32-bit programs, or answers them",
    "K16": "what an ordinary user may not do outside either; tried as root",
    "K19": "needs root to set up", "K20": "about lnk's own guards and its refusal to start",
    "S7": "a race of some thousand rounds", "F4": "a race of some thousand rounds",
    "F9": "about what lnk's spec refuses", "F15": "a limit", "F16": "a limit", "F17": "a limit",
    "C4": "a limit", "C5": "a limit", "C9": "a limit",
    "U1": "about lnk's `--user-namespaces`", "U2": "a limit in time: who is told first",
    "I10": "needs hellos made by hand, which proxies that end TLS themselves do not see",
    "I11": "a limit", "I21": "about the gate's own port", "I25": "about what lnk's spec refuses",
    "L2": "about the gate's place", "M4": "as M1, which no other has", "M5": "as M1",
    "M6": "a limit", "M8": "as M1", "T1": "as T2, which no other has", "T3": "as T2",
    "T6": "as T2", "T8": "as T2", "T9": "as T2", "T11": "about lnk's broker",
    "T12": "as T2", "B1": "as B5, which no other has", "B3": "as B5", "B7": "as B5",
    "H2": "a limit", "H3": "a limit",
}

HEAD = """\
# What was tried, and what held

<!-- Made by script/escapes; not edited by hand. -->

The attacks of lnk's escape suite, tried on lnk and on other sandboxes that an ordinary user of Linux
has: each with its nearest equivalent of the same spec, used as its documentation advises, as strict
as what comes with it can be made while the granted work goes on. `script/escapes` makes this page.

{when} on {machine}, as an ordinary user:

{versions}

**held**: the attack failed, and before it, in the same sandbox, the granted work succeeded: writing
and reading in the project, starting a granted program, and where hosts are granted a call to one.
**NOT held**: it succeeded. **–**: the grant cannot be expressed there, so there is nothing to hold;
the reason is below the table. **not tried**: the sandbox refused to start or could not do the
granted work, with its own words below. Every attack succeeded on the machine without a sandbox in
the same run, but for those marked ¹, which need a sandbox to be attacks at all: they succeeded in lnk
with the guard left out.

*Guard* is what holds the attack in lnk. The same attack succeeded in the same run with that guard
left out, by a build that exists for tests alone (`-Dtest_guards=true`); several names mean that
all of them had to go. A guard in words cannot be left out by itself. Release builds have no such
switch: `tests/escape/test_rows.py` looks for it in the program's bytes.

What this table is not: a measure of how likely an attack is, or a verdict on programs that were made
for something else. It was written by the authors of one of them. bubblewrap is a tool to
build sandboxes from, and brings no policy; srt and Codex guard an agent that asks before it does
what is dangerous; firejail comes with hundreds of profiles for programs of the desktop. Where you
find an equivalent that is stricter, tell us.

"""

MARK = {"held": "held", "**NOT held**": "**NOT held**", "cannot be expressed": "–",
        "not tried": "not tried"}


def machine():
    u = os.uname()
    return f"{u.sysname} {u.release} ({u.machine})"


def counts(data, name):
    cells = [li["of"][name]["verdict"] for li in data["lines"]]
    return {v: cells.count(v) for v in MARK}


def summary(data):
    lines = []
    for c in data["contestants"]:
        count = counts(data, c["name"])
        lines.append(f"{c['title']:14} {c['version']:10} " + ", ".join(
            f"{n} {v.strip('*')}" for v, n in count.items() if n))
    return "\n".join(lines)


def guard_cell(line):
    if not line["guard"]:
        return line["why"]
    return ", ".join(f"`{g}`" for g in line["guard"].split(","))


def section_table(data, lines):
    titles = [c["title"] for c in data["contestants"]]
    yield "| Case | Row | What is tried | Guard in lnk | " + " | ".join(titles) + " |"
    yield "|-|-|-|-|" + "-|" * len(titles)
    for li in lines:
        cells = [MARK[li["of"][c["name"]]["verdict"]] for c in data["contestants"]]
        mark = " ¹" if li["control"]["how"] != "outside" else ""
        yield (f"| {li['name']}{mark} | {', '.join(li['rows'])} | {li['tries']} | "
               f"{guard_cell(li)} | {' | '.join(cells)} |")


def reasons(data, verdict):
    """- contestant: reason (cases)"""
    for c in data["contestants"]:
        found = {}
        for li in data["lines"]:
            cell = li["of"][c["name"]]
            if cell["verdict"] == verdict:
                found.setdefault(cell["why"], []).append(li["name"])
        for why, cases in found.items():
            yield f"- {c['title']} {why}: {', '.join(cases)}"


def plain(text):
    """Words of a sandbox's own, in a table of ours: without the names of this run's folders."""
    text = re.sub(r"/\S*?/lnk-test-boxes/probes-\w+", "~/tools", text)
    text = re.sub(r"/\S*?/lnk-test-boxes/[cbn]-\w+", "~/box", text)
    return re.sub(r"/\S*?/node_modules", "~/node_modules", text).replace("|", "/")


def write(data):
    versions = ["| | version | held | NOT held | cannot be expressed | not tried |", "|-|-|-|-|-|-|"]
    for c in data["contestants"]:
        versions.append(f"| {c['title']} | {c['version']} | " + " | ".join(
            str(n) for n in counts(data, c["name"]).values()) + " |")
    out = [HEAD.format(when=data["date"], machine=data["machine"], versions="\n".join(versions)),
           f"## The {len(data['lines'])} cases\n"]
    for letter, title in SECTIONS.items():
        lines = [li for li in data["lines"] if li["rows"][0][0] == letter]
        if lines:
            out += [f"### {title}\n", *section_table(data, lines), ""]
    out += ["## What cannot be expressed, and why\n", *reasons(data, "cannot be expressed"), ""]
    tried = [plain(r) for r in reasons(data, "not tried")]
    out += ["## What was not tried, and why\n", *(tried or ["All that can be expressed was."]), ""]
    out += ["## Rows that only lnk is asked\n",
            "The rest of [the catalogue](../tests/escape/catalogue.md) is tried in lnk's tests "
            "alone:\n", "| Row | Why |", "|-|-|",
            *(f"| {row} | {why} |" for row, why in LNK_ONLY.items()), ""]
    out += ["## The equivalents\n",
            "For a case that hides `proj/s`, lists nothing and grants no host; and what is added for "
            "other grants. The project is `~/box/proj`, the attacks are programs in `~/tools`.\n"]
    for c in data["contestants"]:
        out += [f"### {c['title']}\n", *(f"{note}\n" for note in c["notes"]),
                *(f"{what}:\n\n```\n{plain(text)}\n```\n" for what, text in c["shown"])]
    return "\n".join(out).rstrip() + "\n"


def names_on(text):
    """The cases that a page lists, and the rows that only lnk is asked."""
    body, _, rest = text.partition("## Rows that only lnk is asked")
    cases = re.findall(r"^\| ([a-z0-9_-]+)(?: ¹)? \| [A-Z]\d", body, re.M)
    return cases, re.findall(r"^\| ([A-Z]\d+) \|", rest, re.M)


def shorten(argv):
    """A command line over several lines, an option each."""
    lines = [[]]
    for word in argv:
        if word.startswith("--") and lines[-1]:
            lines.append([])
        lines[-1].append(word if re.fullmatch(r"[\w@%+=:,./\[\]-]+", word) else json.dumps(word))
    return " \\\n  ".join(" ".join(li) for li in lines)
