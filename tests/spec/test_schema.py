"""The JSON Schema and the table of keys: both have exactly the reference's fields, a real validator
takes the schema for one, real TOML tools pass the good specs through it and refuse the bad ones."""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from conftest import LNK  # noqa: E402

TAPLO = HERE.parent / "node_modules" / ".bin" / "taplo"

KEYS = {
    "browser": ["hosts"],
    "commands": ["allow", "developer_tools"],
    "files": ["hide", "read", "write", "write_dot_files"],
    "internet": ["hosts", "per_minute", "tcp"],
    "lan": ["hosts"],
    "localhost": ["models", "ports"],
    "network": ["mode"],
    "tools": ["names"],
}
FIELDS = ["root: " + ", ".join(sorted([*KEYS, "name", "version"]))]
for _section, _keys in KEYS.items():
    for _table in (_section, f"{_section}.linux", f"{_section}.macos"):
        FIELDS.append(f"{_table}: " + ", ".join(sorted([*_keys, "linux", "macos"])))
DEFAULTS = ['network.mode = "proxy"']

# Refused for what they mean, which a schema cannot say: files that are in form, or that flags or
# the machine make wrong, or a number beyond TOML's own 64 bits.
BY_MEANING = [
    "dot-files-*", "file-too-large", "flag-*", "host-carriers", "host-loopback", "host-numbers",
    "host-private", "host-public-in-lan", "host-range-public", "host-reserved", "host-too-long",
    "main-missing-flag-hide", "main-missing-here", "main-missing-nested-elsewhere",
    "main-missing-of-flags", "main-missing-on-macos", "os-nested-too-deep", "path-dotdot-by-flag",
    "path-too-long", "ports-in-both*", "range-beyond-integers", "range-of-flags", "refused-*", "star-of-flags",
    "tcp-address-not-in-hosts", "tcp-after-*", "tcp-host-not-in-hosts", "write-*",
]
# Good only with the flags beside it.
COMPLETED_BY_FLAGS = {"flags-complete-a-section"}


def lnk(flag):
    done = subprocess.run([str(LNK), "sandbox", "spec", flag], capture_output=True, text=True,
                          check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def schema():
    return json.loads(lnk("--schema"))


def good():
    return sorted(p for p in (HERE / "ok").glob("*.toml") if p.stem not in COMPLETED_BY_FLAGS)


def bad_by_meaning():
    found = []
    for pattern in BY_MEANING:
        paths = list((HERE / "bad").glob(f"{pattern}.toml"))
        assert paths, f"no bad/{pattern}.toml"
        found += paths
    return sorted(found)


def bad_by_form():
    meaning = set(bad_by_meaning())
    return sorted(p for p in (HERE / "bad").glob("*.toml") if p not in meaning)


def resolve(schema, node):
    while "$ref" in node:
        assert list(node) == ["$ref"], node
        at = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        node = at
    return node


def tables(schema):
    """{name: its object} of the root, each section and each section's OS tables."""
    found = {"root": schema}
    for name, node in schema["properties"].items():
        section = resolve(schema, node)
        if section["type"] != "object":
            continue
        found[name] = section
        for os in ("linux", "macos"):
            found[f"{name}.{os}"] = resolve(schema, section["properties"][os])
    return found


def test_keys_have_the_fields():
    text = lnk("--keys").split("\nFIELDS\n")[1]
    assert text.splitlines() == [*FIELDS, "", *DEFAULTS]


def key_rows():
    lines = lnk("--keys").split("\n\n")[0].splitlines()
    columns = ["KEY", "TYPE", "RANGE", "MAIN", "LIST", "DEFAULT", "FLAG", "WHAT IT IS"]
    at = [lines[0].index(c) for c in columns] + [None]
    rows = {}
    for line in lines[1:]:
        cells = [line[a:b].strip() for a, b in zip(at, at[1:])]
        assert all(cells), line
        rows[cells[0]] = dict(zip(columns, cells))
    return rows


def test_keys_table():
    rows = key_rows()
    expected = {f"{s}.{k}" for s, keys in KEYS.items() for k in keys} | {"name", "version"}
    assert set(rows) == expected
    assert rows["files.hide"]["FLAG"] == "--hide PATH"
    assert rows["internet.per_minute"]["RANGE"] == "1 or more"
    assert rows["localhost.ports"]["RANGE"] == "1 to 65535"
    assert rows["localhost.ports"]["TYPE"] == "a list of integers"
    assert rows["commands.developer_tools"]["TYPE"] == "true or false"
    assert rows["network.mode"]["DEFAULT"] == '"proxy"'
    assert {n for n, r in rows.items() if r["DEFAULT"] != "unset"} == {"network.mode"}
    assert {n for n, r in rows.items() if r["MAIN"] == "yes"} == {
        "files.write", "files.read", "network.mode", "internet.hosts", "lan.hosts",
        "localhost.ports", "localhost.models", "tools.names", "browser.hosts", "commands.allow"}
    assert {r["FLAG"].split()[0] for r in rows.values()} == {"-"} | set("""--write --read --hide
        --write-dot-files --host --tcp --per-minute --lan --port --model --tool --browser --command
        --developer-tools --network""".split())
    assert {n for n, r in rows.items() if r["LIST"] == "-"} == {
        "name", "version", "network.mode", "internet.per_minute", "commands.developer_tools"}


def test_schema_has_the_fields(schema):
    lines = []
    for name, table in tables(schema).items():
        lines.append(f"{name}: " + ", ".join(sorted(table["properties"])))
    assert lines[0] == FIELDS[0]
    assert sorted(lines) == sorted(FIELDS)


def test_schema_tables_are_recursive(schema):
    found = tables(schema)
    for section in KEYS:
        for os in ("linux", "macos"):
            inner = found[f"{section}.{os}"]
            for again in ("linux", "macos"):
                assert resolve(schema, inner["properties"][again]) is inner


def test_schema_is_closed_and_described(schema):
    rows = key_rows()
    for name, table in tables(schema).items():
        assert table["type"] == "object"
        assert table["additionalProperties"] is False
        assert table["description"]
        if name != "root":
            assert table["minProperties"] == 1
        for key, node in table["properties"].items():
            node = resolve(schema, node)
            assert node["description"], key
            if node["type"] == "object":
                continue
            full = key if name == "root" else f"{name.split('.')[0]}.{key}"
            assert node["description"] == rows[full]["WHAT IT IS"]
            assert node["examples"]
            if node["type"] == "array":
                assert node["minItems"] == 1
    ports = resolve(schema, schema["properties"]["localhost"])["properties"]["ports"]["items"]
    assert ports == {"type": "integer", "minimum": 1, "maximum": 65535}
    internet = resolve(schema, schema["properties"]["internet"])["properties"]
    assert internet["per_minute"]["minimum"] == 1 and "maximum" not in internet["per_minute"]
    network = resolve(schema, schema["properties"]["network"])["properties"]
    assert network["mode"]["default"] == "proxy"
    assert "default" not in json.dumps({k: v for k, v in schema["$defs"].items()
                                        if not k.startswith("network")})


def as_json(value):
    """What JSON has no type for becomes an object: 1.0 is no integer in TOML."""
    if isinstance(value, dict):
        return {k: as_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [as_json(v) for v in value]
    return value if isinstance(value, (str, int)) else {"toml": str(value)}


def ajv(schema, paths):
    documents = {p.name: as_json(tomllib.loads(p.read_text())) for p in paths}
    done = subprocess.run(["node", str(HERE / "ajv.mjs")], capture_output=True, text=True,
                          input=json.dumps({"schema": schema, "documents": documents}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_toml(path):
    try:
        tomllib.loads(path.read_bytes().decode())
        return True
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False


def test_ajv_takes_it_and_judges_alike(schema):
    paths = good() + bad_by_meaning()
    assert ajv(schema, paths) == {p.name: None for p in paths}
    form = [p for p in bad_by_form() if is_toml(p)]
    assert len(form) >= 50
    assert [n for n, why in ajv(schema, form).items() if why is None] == []


def test_ajv_refuses_what_is_no_schema(schema):
    done = subprocess.run(["node", str(HERE / "ajv.mjs")], capture_output=True, text=True,
                          input=json.dumps({"schema": {**schema, "type": "thing"}, "documents": {}}))
    assert done.returncode != 0 and "must be equal to one of the allowed values" in done.stderr


def taplo(tmp_path, paths):
    """The names of the files that taplo refuses."""
    (tmp_path / "schema.json").write_text(lnk("--schema"))
    done = subprocess.run([str(TAPLO), "check", "--colors", "never", "--schema",
                           f"file://{tmp_path}/schema.json", *map(str, paths)],
                          capture_output=True, text=True, cwd=HERE)
    refused = set(re.findall(r'ERROR taplo:lint_files: invalid file .*path="[^"]*/([^/"]+)"',
                             done.stdout + done.stderr))
    assert (done.returncode != 0) == bool(refused), done.stderr[-2000:]
    return sorted(refused)


def test_taplo_passes_the_good_ones(tmp_path):
    assert taplo(tmp_path, good()) == []


def test_taplo_refuses_the_bad_ones(tmp_path):
    paths = bad_by_form()
    assert taplo(tmp_path, paths) == sorted(p.name for p in paths)


def test_taplo_cannot_see_meanings(tmp_path):
    """So that the list above stays honest: what it could refuse does not belong there."""
    assert taplo(tmp_path, bad_by_meaning()) == []
