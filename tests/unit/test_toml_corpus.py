"""The toml-test corpus and Python's own reader against ours.

Every valid file of the corpus is read to the values in the .json beside it, every invalid one
refused. Then the corpus is mutated, always in the same way, and each mutant is read by us and by
tomllib, which must agree on whether it is TOML and on what it says.

TOML_DUMP names the program made from toml_dump.c. The corpus is at $TOML_TEST or beside the
repository; without it these tests skip.
"""

import datetime
import json
import math
import os
import pathlib
import random
import re
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = pathlib.Path(os.environ.get("TOML_TEST") or ROOT.parent / "shared" / "toml-test")
DUMP = os.environ.get("TOML_DUMP") or next(
    (str(p) for p in sorted(ROOT.glob("build/*/tests/unit/toml_dump"))), "toml_dump-not-built")
MUTANTS = int(os.environ.get("TOML_MUTANTS", "400"))

VALID = sorted(CORPUS.glob("valid/**/*.toml"))
INVALID = sorted(CORPUS.glob("invalid/**/*.toml"))

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason=f"the toml-test corpus is not at {CORPUS}; set TOML_TEST")


def name(path):
    return str(path.relative_to(CORPUS))


def dump(data):
    """The tree as tagged JSON, or None and the errors when the text is refused."""
    done = subprocess.run([DUMP], input=data, capture_output=True, timeout=20)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    if done.returncode == 1:
        errors = done.stderr.decode(errors="replace").splitlines()
        assert errors and all(re.match(r"[1-9]\d*:[1-9]\d*: .", e) for e in errors), errors
        return None, errors
    return json.loads(done.stdout.decode()), []


def moment(text):
    """An offset date-time as UTC to the microsecond; a local one, a date or a time as text
    without needless zeros."""
    fraction = re.search(r"\.(\d+)", text)
    if fraction:
        digits = fraction.group(1)[:6].rstrip("0")
        text = text.replace(fraction.group(0), "." + digits if digits else "", 1)
    if not re.search(r"(Z|[+-]\d\d:\d\d)$", text) or "T" not in text:
        return text
    fraction = re.search(r"\.(\d+)", text)
    micro = int(fraction.group(1).ljust(6, "0")) if fraction else 0
    plain = re.sub(r"\.\d+", "", text).replace("Z", "+00:00")
    offset = datetime.timedelta(hours=int(plain[-5:-3]), minutes=int(plain[-2:]))
    local = datetime.datetime.fromisoformat(plain[:-6]).replace(microsecond=micro)
    try:
        return str(local + (offset if plain[-6] == "-" else -offset))
    except OverflowError:
        return text


def same(ours, theirs):
    """Compares trees of tagged values."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    if ours.keys() != theirs.keys():
        return False
    if ours.keys() == {"type", "value"} and isinstance(ours["type"], str):
        return same_leaf(ours["type"], ours["value"], theirs["type"], theirs["value"])
    return all(same(ours[k], theirs[k]) for k in ours)


def same_leaf(our_type, our_value, their_type, their_value):
    if our_type != their_type:
        return False
    if our_type == "float":
        a, b = float(our_value), float(their_value)
        return (math.isnan(a) and math.isnan(b)) or a == b
    if our_type in ("datetime", "datetime-local", "date-local", "time-local"):
        return moment(our_value) == moment(their_value)
    return our_value == their_value


def tagged(value):
    """What tomllib gives, as the corpus writes it."""
    if isinstance(value, dict):
        return {k: tagged(v) for k, v in value.items()}
    if isinstance(value, list):
        return [tagged(v) for v in value]
    if isinstance(value, bool):
        return {"type": "bool", "value": "true" if value else "false"}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    if isinstance(value, float):
        return {"type": "float", "value": repr(value)}
    if isinstance(value, datetime.datetime):
        kind = "datetime" if value.tzinfo else "datetime-local"
        return {"type": kind, "value": value.isoformat().replace("+00:00", "Z")}
    if isinstance(value, datetime.date):
        return {"type": "date-local", "value": value.isoformat()}
    if isinstance(value, datetime.time):
        return {"type": "time-local", "value": value.isoformat()}
    return {"type": "string", "value": value}


def test_the_corpus_is_whole():
    assert len(VALID) > 200 and len(INVALID) > 450


@pytest.mark.parametrize("path", VALID, ids=map(name, VALID))
def test_valid(path):
    tree, errors = dump(path.read_bytes())
    assert tree is not None, errors
    wanted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert same(tree, wanted), (tree, wanted)


@pytest.mark.parametrize("path", INVALID, ids=map(name, INVALID))
def test_invalid(path):
    tree, _ = dump(path.read_bytes())
    assert tree is None, tree


# --- against tomllib --------------------------------------------------------------------------

PIECES = [
    b"[", b"]", b"[[", b"]]", b"{", b"}", b"=", b",", b".", b"\n", b"\r\n", b"\r", b'"', b"'",
    b'"""', b"'''", b"\\", b"#", b" ", b"\t", b"_", b"-", b"+", b"0", b"1", b"9", b"e", b":",
    b"T", b"Z", b"a", b"a.b", b"true", b"inf", b"nan", b"0x1f", b"1979-05-27", b"07:32:00",
    b"\\u00e9", b"\\U0001F600", b"\xc3\xa9", b"\xef\xbb\xbf", b"\x00", b"\x7f", b"\xff",
    b"a = 1\n", b"[a]\n", b"[[a]]\n", b"a.b = 1\n", b"a = {b = 1}\n", b"[a.b]\n", b"[1, 2]",
    b"{a = 1, b.c = 2}", b"\xed\xa0\x80", b"\xc0\x80",
]


def mutants(count):
    rng = random.Random(20240229)
    valid = [t for t in (p.read_bytes() for p in VALID) if len(t) < 2000]
    texts = valid + [p.read_bytes() for p in INVALID]
    for _ in range(count):
        data = bytearray(rng.choice(rng.choice([valid, texts])))
        for _ in range(rng.choice([1, 1, 2, 3])):
            at = rng.randint(0, len(data))
            end = min(len(data), at + rng.choice([0, 0, 0, 1, 2, 5]))
            other = rng.choice(texts)
            cut = rng.randint(0, len(other))
            data[at:end] = rng.choice([rng.choice(PIECES), other[cut:cut + rng.randint(0, 30)]])
        yield bytes(data)


def beyond_python(data, tree):
    """Where tomllib is known to differ from TOML 1.0: integers beyond 64 bits, which it reads;
    a byte order mark at the start, seconds of 60 and the year 0, which it refuses."""
    if tree is None:
        return False
    text = json.dumps(tree)
    return bool(re.search(r"\d\d:\d\d:60|\"0000-", text)) or data.startswith(b"\xef\xbb\xbf")


def big(value):
    if isinstance(value, dict):
        return any(map(big, value.values()))
    if isinstance(value, list):
        return any(map(big, value))
    return isinstance(value, int) and not -2**63 <= value < 2**63


def agree(data):
    """True when both take it for TOML, after comparing what they read."""
    tree, errors = dump(data)
    try:
        theirs = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError):
        assert tree is None or beyond_python(data, tree), (data, tree)
        return False
    if big(theirs):
        assert tree is None, data
        return False
    assert tree is not None, (data, errors)
    assert same(tree, tagged(theirs)), (data, tree, theirs)
    return True


def test_mutants_are_read_as_python_does():
    both = sum(map(agree, mutants(MUTANTS)))
    assert both > MUTANTS // 10, "hardly any mutant is still TOML: the test says nothing"


def tables(count):
    """Texts of few keys in every form that makes or adds to tables, so that most clash."""
    rng = random.Random(19790527)

    def key():
        return ".".join(rng.choice(["a", "b", '"a"', "c"]) for _ in range(rng.choice([1, 1, 2, 3])))

    def value(depth=0):
        kind = rng.randint(0, 9 if depth < 2 else 6)
        if kind < 7:
            return rng.choice(["1", "true", '"x"', "[]", "{}", "[{}]", "1.5"])
        if kind == 7:
            return "[" + ", ".join(value(depth + 1) for _ in range(2)) + "]"
        pairs = (f"{key()} = {value(depth + 1)}" for _ in range(rng.randint(1, 2)))
        return "{ " + ", ".join(pairs) + " }"

    for _ in range(count):
        lines = []
        for _ in range(rng.randint(2, 6)):
            lines.append(rng.choice([
                lambda: f"{key()} = {value()}", lambda: f"{key()} = 1",
                lambda: f"[{key()}]", lambda: f"[[{key()}]]"])())
        yield "\n".join(lines).encode()


def test_tables_are_made_as_python_does():
    both = sum(map(agree, tables(MUTANTS)))
    assert MUTANTS // 10 < both < MUTANTS * 9 // 10, both
