"""The keys of descriptions: every one has an example that the reader takes, and the reference and the schema agree."""

# ruff: noqa: E501  one table a line

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

import gateway.commands
from gateway.commands.analyse import Start, analyse
from gateway.commands.examples import failing
from gateway.core.errors import ConfigError
from gateway.spec.commandkeys import DIALECTS, EFFECT, EFFECTS, KINDS, OPTION, SLOT, SPEC, TOP
from gateway.spec.commandparts import documents
from gateway.spec.commands import compile_description
from gateway.spec.commandschema import command_schema
from gateway.spec.yamltext import load

_spec = spec_from_file_location("command_keys", Path(__file__).with_name("command_keys.py"))
assert _spec is not None
assert _spec.loader is not None
_reference = module_from_spec(_spec)
_spec.loader.exec_module(_reference)
PAGE, page = _reference.PAGE, _reference.page

SCHEMA = command_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FILES = sorted(Path(gateway.commands.__file__).parent.glob("*.yaml"))


def document(level: str, example: str) -> str:
    """A whole description around an example of one level."""
    if level == "option":
        return f"names: [x]\noptions:\n  {example}\n"
    if level == "operand":
        return f"names: [x]\noperands:\n  - {example}\n"
    if level == "effect":
        return f"names: [x]\neffects:\n  - {example}\n"
    pairs = yaml.safe_load(example)
    rest = {"names": ["x"]} if not {"names", "programs"} & set(pairs) else {}
    rest |= {"groups": {"common": {"flags": "-a"}}} if "use" in pairs else {}
    return json.dumps({**rest, **pairs})


EXAMPLES = [
    (level, key, example)
    for level, table in (("file", TOP), ("program", SPEC), ("option", OPTION), ("operand", SLOT), ("effect", EFFECT))
    for key, (_about, example) in table.items()
]


@pytest.mark.parametrize(("level", "key", "example"), EXAMPLES, ids=[f"{level} {key}" for level, key, _ in EXAMPLES])
def test_the_example_of_a_key_holds_it_and_is_read_by_the_reader_and_the_schema(
    level: str, key: str, example: str
) -> None:
    text = document(level, example)
    if key == "of":
        compile_description("names: [git]", "git.yaml", parts=[("git.x.yaml", example)])
        VALIDATOR.validate(load(example, "git.x.yaml").plain())
        return
    assert re.search(rf'[{{" ]{key}["]?:', " " + text)
    compile_description(text, "x.yaml")
    VALIDATOR.validate(load(text, "x.yaml").plain())


def test_the_reference_is_the_one_that_the_reader_goes_by() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run: python tests/spec/command_keys.py"


def test_the_walk_through_in_the_reference_comes_out_as_it_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    stamp = next(
        block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if block.startswith("names: [stamp]")
    )
    description = compile_description(stamp, "stamp.yaml", "user")
    [(_file, line, column, message)] = failing(description, {"stamp": description}.get)
    assert f"FAIL /home/ann/stamps/stamp.yaml:{line}:{column}: {message}\n" in text
    corrected = compile_description(stamp.replace("[code, read a.txt]", "[code, read x, read a.txt]"), "stamp.yaml")
    assert failing(corrected, {"stamp": corrected}.get) == []


def test_the_addition_in_the_reference_is_a_description() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        VALIDATOR.validate(load(block, "x.yaml").plain())
        compile_description(block, "x.yaml", "project")


def test_the_schema_is_valid_and_knows_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]
    assert [set(each["properties"]) for each in (
        SCHEMA, definitions["subcommand"]["anyOf"][0], definitions["option"]["anyOf"][0], definitions["operand"],
        definitions["effect"]["anyOf"][1],
    )] == [{*TOP, *SPEC}, set(SPEC), set(OPTION), set(SLOT), set(EFFECT)]  # fmt: skip


def test_the_schema_accepts_every_shipped_description() -> None:
    refused = {
        (file.name, number): [error.message for error in VALIDATOR.iter_errors(load(text, file.name).plain())]
        for file in FILES
        for number, text in share(enumerate(documents(file.read_bytes())), 4, file.name)
    }
    assert {name: errors for name, errors in refused.items() if errors} == {}


@pytest.mark.parametrize(
    "text",
    [
        "flags: -a",
        "{names: [x], programs: [y]}",
        "{names: [x], flag: -a}",
        "{names: [x], dialect: bsd}",
        "{names: [x], operands: [{kind: file}]}",
        "{names: [x], operands: [path]}",
        "{names: [x], options: {-f: {valeu: path}}}",
        "{names: [x], effects: [explode now]}",
        "{names: [x], effects: [{do: [read], then: x}]}",
        "{names: [x], numeric: 'yes'}",
        "{names: [x], subcommands: {a: {flag: -a}}}",
        "{names: [x], unknown_options: harmful}",
        "{names: [x], code: 5}",
    ],
)
def test_what_the_schema_refuses_the_reader_refuses_too(text: str) -> None:
    assert not VALIDATOR.is_valid(load(text, "x.yaml").plain())
    with pytest.raises(ConfigError):
        compile_description(text, "x.yaml")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{names: [x], groups: {a: {use: [a]}}, use: [a]}", "x.yaml:1:33: group must not use itself (got `a`)"),
        ("{names: [x], subcommands: {'': {}}}", "x.yaml:1:28: subcommand must have a name (got nothing)"),
        (
            "{names: [x], options: {-C: {cwd: true}}}",
            "x.yaml:1:34: cwd must stand beside a value\n  help: add `value: path`",
        ),
        (
            "{names: [x], effects: [{do: [read a, write b], there: true}]}",
            "x.yaml:1:38: there must stand with `read`, `credential` or `code` (got `write b`)",
        ),
        ("{names: [bin/x]}", "x.yaml:1:10: name must be that of a program, without its folder (got `bin/x`)"),
    ],
)
def test_what_would_go_wrong_later_is_an_error_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compile_description(text, "x.yaml")
    assert str(raised.value) == problem


# Whatever somebody writes into a description: it is refused with a place, or calls can be judged by it.

_OPTIONS = st.sampled_from(["-a", "-b|--bee", "--cee", "-d", "x=", "-1"])
_KINDS = st.sampled_from(sorted(KINDS))
_TARGETS = st.sampled_from(["", " ?", " x", " x tree", " x.org:443 send", " PATH set", " install x", " ~/.x"])
_DOES = st.builds(lambda kind, target: kind + target, st.sampled_from(sorted(EFFECTS)), _TARGETS)
_LOADED = st.builds(lambda path: {"do": [f"read {path}"], "there": True}, st.sampled_from(["x", "*/x", "~/.x", "?"]))
_MARKS = st.lists(_OPTIONS, max_size=2)


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


_PLACE = {"tree": st.booleans() | _MARKS, "when": _MARKS, "port": st.integers(0, 9), "direction": st.just("send"), "via": st.just("v")}  # fmt: skip
_OPTION = _some(
    value=_KINDS | st.lists(_KINDS, max_size=3), optional=_KINDS, does=st.lists(_DOES | _LOADED, max_size=2), sets=_MARKS,
    harmless=_MARKS, cwd=st.sampled_from([True, "operands"]), until=st.sampled_from([[";"], ["+", ";"]]),
    **dict.fromkeys(("inert", "open", "braces", "appends", "dash", "keep", "git_setting"), st.booleans()), **_PLACE,
)  # fmt: skip
_OPERAND = _some(
    kind=_KINDS, does=st.lists(_DOES | _LOADED, max_size=2), unless=_MARKS, default=st.sampled_from([".", "x"]),
    default_when=_MARKS, scheme=st.just("http"),
    **dict.fromkeys(("rest", "optional", "into", "adds", "elsewhere", "dash"), st.booleans()), **_PLACE,
)  # fmt: skip
_WORDS = st.lists(_OPTIONS, max_size=3)
_SPEC = {
    **dict.fromkeys(
        ("flags", "values", "optionals", "file_urls", "at_paths", "inert", "alone", "helps", "ignored"), _WORDS
    ),
    "options": st.dictionaries(_OPTIONS, _OPTION, max_size=3),
    "operands": st.lists(_OPERAND, max_size=3),
    "after": _OPERAND,
    "effects": st.lists(_DOES | _some(do=st.lists(_DOES, max_size=2), when=_MARKS), max_size=2),
    "code": st.just("odd"),
    "dialect": st.sampled_from(sorted(DIALECTS)),
    "unknown_options": st.just("harmless"),
    "skips": st.just({"hidden": ["-a"]}),
    **dict.fromkeys(("inherit", "numeric", "dashless", "assign"), st.booleans()),
}
_SUBCOMMANDS = st.dictionaries(st.sampled_from(["p", "q|r", "s t", "u-*", "*"]), _some(**_SPEC), max_size=3)
_CALLS = (
    "x", "x p", "x -a -b y", "x --bee=1 -c d", "x -ab1 -- y z", "x q -a * $F", "x x=1 *.py", "x abd y", "x t -1 host:path",
    "x -d cat y ; x u-v @y", "x http://a.org/b https://c.org", "x --b $(x p)", "x A=b -a ';' {} +", "x p --", "x '' -",
    "echo y | x -a", "x -a -b -d x p x q y", "bash -c 'x p $1'",
)  # fmt: skip


def _once(spec: dict[str, Any]) -> dict[str, Any]:
    """Without what would be refused for being listed twice, which few would not be."""
    found, seen = dict(spec), set(spec.get("options", ()))
    for key in ("flags", "values", "optionals", "file_urls", "at_paths", "inert"):
        found[key] = [word for word in dict.fromkeys(spec.get(key, ())) if word not in seen]
        seen.update(found[key])
    if "subcommands" in spec:
        found["subcommands"] = {name: _once(child) for name, child in spec["subcommands"].items()}
    return found


@given(_some(**_SPEC, subcommands=_SUBCOMMANDS), st.sampled_from(["", "p", "*"]))
def test_a_description_is_refused_with_a_place_or_every_call_can_be_judged_by_it(
    written: dict[str, Any], bare: str
) -> None:
    written = _once(written)
    text = json.dumps({"names": ["x"], **written, **({"bare": bare, "default": bare} if bare else {})})
    try:
        description = compile_description(text, "x.yaml", "project")
    except ConfigError as error:
        places = [(problem.line, problem.column) for problem in error.problems]
        description = None
    if description is None:
        assert all(line and column for line, column in places)
        return
    assert json.loads(json.dumps(description)) == description
    VALIDATOR.validate(load(text, "x.yaml").plain())
    lookup = {"x": description, "echo": None, "bash": None}.get
    also = {"x": {"name": "x", "names": ["x"], "undescribed": True, "also": [description]}}.get
    for call in _CALLS:
        for known in (lookup, also):
            analyse(call, Start("/home/dev/project", "/home/dev"), known)  # raises for nothing
