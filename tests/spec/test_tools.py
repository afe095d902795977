"""`tools.yaml`: what the loader takes, what it complains about and where, and the schema that editors get."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError
from gateway.spec.tool_effects import CONFINED, EFFECTS, HANDLERS
from gateway.spec.tool_fields import KEYWORDS
from gateway.spec.tools import ENTRY_KEYS, EXAMPLE_KEYS, INPUT_KEYS, REQUIRED_KEYS, compile_tools
from gateway.spec.tools_schema import tools_schema
from gateway.spec.yamltext import load

TOOLS = Path(__file__).parents[2] / "tools.yaml"
PLAIN = load(TOOLS.read_bytes(), "tools.yaml").plain()
SCHEMA = tools_schema()
ORACLE = jsonschema.Draft202012Validator(SCHEMA)

SMALLEST = {
    "summary": "A tool.",
    "description": "Does it.",
    "input": {"properties": {"file": {"type": "string"}, "n": {"type": "integer"}}},
    "handler": {"python": "a.b"},
    "examples": [{"call": {}, "verdict": "ask"}],
}


def as_text(tool, name="T"):
    """The file with one tool, one key a line, as JSON values (which YAML reads)."""
    lines = [f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in tool.items()]
    return "\n".join(["version: 1", "tools:", f"  {name}:", *lines, ""])


def complaints(text):
    with pytest.raises(ConfigError) as caught:
        compile_tools(text, "t.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_the_compiled_form_is_plain_and_the_same_every_time():
    compiled = compile_tools(TOOLS.read_bytes(), "tools.yaml")
    assert json.loads(json.dumps(compiled)) == compiled
    assert compiled == compile_tools(TOOLS.read_text(encoding="utf-8"), "tools.yaml")
    assert list(compiled) == ["file", "tools", "aliases"]


def test_what_is_left_out_has_fail_closed_defaults():
    tool = compile_tools(as_text(SMALLEST), "t.yaml")["tools"]["T"]
    assert tool == {
        "name": "T",
        "line": 3,
        "summary": "A tool.",
        "description": [{"text": "Does it.", "modes": []}],
        "input": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "n": {"type": "integer"}},
            "additionalProperties": False,
        },
        "internal": {},
        "output": None,
        "open": False,
        "enabled": True,
        "level": "execute",
        "read_only": False,
        "destructive": False,
        "concurrency_safe": False,
        "match": None,
        "effects": [],
        "kinds": {},
        "handler": {"kind": "python", "name": "a.b"},
        "max_result_chars": 30000,
        "search_hint": "",
        "aliases": [],
        "spellings": {},
        "render": {},
        "reviewer": [],
        "private": [],
        "examples": [{"line": 8, "column": 16, "call": {}, "verdict": "ask"}],
        "defer": False,
        "always_load": False,
        "filters": False,
    }


def test_every_key_of_an_entry_is_read():
    tool = SMALLEST | {
        "description": ["Always.", {"text": "In plan.", "modes": ["plan"]}],
        "internal": {"trace": {"type": "string"}},
        "output": {"type": "object", "properties": {"lines": {"type": "integer"}}},
        "open": True,
        "enabled": {"flag": "beta", "env": "X", "needs": "lsp"},
        "level": "write",
        "read_only": False,
        "destructive": "overwrites",
        "concurrency_safe": "by_effects",
        "match": {"field": "file", "kind": "path"},
        "effects": {
            "read": "file",
            "write": [{"path": "file", "default": "cwd", "tree": True}],
            "connect": [{"direction": "send"}, {"host": "file2", "port": "n", "direction": "listen"}],
            "shell": "script",
            "session": "tasks of {n} in {file}",
            "opaque": "nobody knows",
        },
        "input": {
            "properties": {
                "file": {"type": "string"},
                "file2": {"type": "string"},
                "script": {"type": "string"},
                "glob": {"type": "string"},
                "page": {"type": ["string", "null"]},
                "n": {"type": "integer"},
            }
        },
        "canonical": {"glob": {"glob": "file"}, "page": "https_url"},
        "filters": True,
        "handler": {
            "http": {
                "method": "POST",
                "url": "https://a.b/{n}",
                "headers": {"X-N": "{n}"},
                "body": "{file}",
            }
        },
        "max_result_chars": "none",
        "defer": True,
        "always_load": True,
        "search_hint": "some words",
        "aliases": ["Old", "Older"],
        "spellings": {"filename": "file", "n": {"values": {"zero": 0}}, "effort": {"ignore": True}},
        "render": {"call": {"condensed": "T {file}", "full": "T {file} {n}"}, "result": "{message}"},
        "reviewer": ["file", "n"],
        "private": ["n"],
    }
    assert set(tool) == set(ENTRY_KEYS)
    assert ORACLE.is_valid({"version": 1, "tools": {"T": tool}})
    compiled = compile_tools(as_text(tool), "t.yaml")
    assert compiled["aliases"] == {"Old": "T", "Older": "T"}
    found = compiled["tools"]["T"]
    wanted = {
        "description": [{"text": "Always.", "modes": []}, {"text": "In plan.", "modes": ["plan"]}],
        "internal": {"trace": {"type": "string"}},
        "output": {"type": "object", "properties": {"lines": {"type": "integer"}}},
        "open": True,
        "enabled": {"flag": "beta", "env": "X", "needs": "lsp"},
        "level": "write",
        "destructive": "overwrites",
        "concurrency_safe": "by_effects",
        "match": {"field": "file", "kind": "path"},
        "effects": [
            {"do": "read", "field": "file"},
            {"do": "write", "field": "file", "default": "cwd", "tree": True},
            {"do": "connect", "by": "", "direction": "send"},
            {"do": "connect", "by": "host", "direction": "listen", "field": "file2", "port": "n"},
            {"do": "shell", "field": "script"},
            {"do": "session", "text": [{"text": "tasks of "}, {"field": "n"}, {"text": " in "}, {"field": "file"}]},
            {"do": "opaque", "why": "nobody knows"},
            {"do": "connect", "direction": "send", "by": "fixed", "url": "https://a.b/"},
        ],
        "kinds": {
            "file": "path",
            "file2": "host",
            "script": "shell",
            "n": "text",
            "glob": ["glob", "file"],
            "page": "https_url",
        },
        "filters": True,
        "handler": {
            "kind": "http",
            "method": "POST",
            "url": [{"text": "https://a.b/"}, {"field": "n"}],
            "headers": {"X-N": [{"field": "n"}]},
            "body": [{"field": "file"}],
        },
        "max_result_chars": None,
        "defer": True,
        "always_load": True,
        "search_hint": "some words",
        "spellings": {
            "filename": {"field": "file", "values": {}, "ignore": False},
            "n": {"field": "n", "values": {"zero": 0}, "ignore": False},
            "effort": {"field": "effort", "values": {}, "ignore": True},
        },
        "aliases": ["Old", "Older"],
        "render": {
            "call": {
                "condensed": [{"text": "T "}, {"field": "file"}],
                "full": [{"text": "T "}, {"field": "file"}, {"text": " "}, {"field": "n"}],
            },
            "result": {"full": [{"field": "message"}]},
        },
        "reviewer": ["file", "n"],
        "private": ["n"],
    }
    assert {key: found[key] for key in wanted} == wanted


def without(key):
    return {name: value for name, value in SMALLEST.items() if name != key}


def with_fields(fields, **more):
    return SMALLEST | {"input": {"properties": fields}} | more


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (without("summary"), ["t.yaml:3:3: tool `T` must have `summary`"]),
        (without("examples"), ["t.yaml:3:3: tool `T` must have `examples`"]),
        (
            SMALLEST | {"sumary": "x"},
            ["t.yaml:9:5: tool `T` must not have the key `sumary`\n  help: did you mean `summary`?"],
        ),
        (
            SMALLEST | {"level": "raed"},
            [
                (
                    "t.yaml:9:12: level must be `read`, `write`, `execute`, `network`, `agent` or `session`"
                    " (got `raed`)\n  help: did you mean `read`?"
                )
            ],
        ),
        (SMALLEST | {"open": "yes"}, ["t.yaml:9:11: open must be true or false (got `yes`)"]),
        (SMALLEST | {"summary": "a\nb"}, ["t.yaml:4:14: summary must be one line"]),
        (SMALLEST | {"examples": []}, ["t.yaml:8:15: tool `T` must have at least one example"]),
        (
            SMALLEST | {"examples": [{"call": {}}]},
            ["t.yaml:8:16: example must say what the call gives\n  help: effects, complaint or verdict"],
        ),
        (
            SMALLEST | {"examples": [{"call": {}, "effects": ["x"], "complaint": ["$"]}]},
            ["t.yaml:8:16: example must give effects or a complaint, not both"],
        ),
        (SMALLEST | {"examples": [{"verdict": "ask"}]}, ["t.yaml:8:16: example must have `call`"]),
        (
            SMALLEST | {"effects": {"raed": "file"}},
            ["t.yaml:9:15: effects must not have the key `raed`\n  help: did you mean `read`?"],
        ),
        (
            SMALLEST | {"effects": {}},
            [
                (
                    "t.yaml:9:14: effects must say something"
                    "\n  help: a tool that changes only the session: `session: what`"
                ),
            ],
        ),
        (
            SMALLEST | {"effects": {"read": "fiel"}},
            ["t.yaml:9:23: field of `read` must be a known one (got `fiel`)\n  help: did you mean `file`?"],
        ),
        (
            SMALLEST | {"effects": {"read": "n"}},
            ["t.yaml:9:23: field of `read` must be of type string (got `n`)"],
        ),
        (
            SMALLEST | {"effects": {"write": {"path": "file", "default": "home"}}},
            ["t.yaml:9:52: default of a path effect must be `cwd` (got `home`)"],
        ),
        (
            SMALLEST | {"effects": {"connect": {"url": "file"}}},
            ["t.yaml:9:15: effect `connect` must have `direction`"],
        ),
        (
            SMALLEST | {"effects": {"session": "a {b"}},
            ["t.yaml:9:26: session must close each place as `{field}` (got `a {b`)"],
        ),
        (
            SMALLEST | {"match": {"field": "name", "kind": "path"}},
            ["t.yaml:9:22: field of `match` must be a known one (got `name`)\n  help: known are `file` or `n`"],
        ),
        (SMALLEST | {"match": {"field": "file"}}, ["t.yaml:9:5: match must have `kind`"]),
        (
            SMALLEST | {"effects": {"read": "file"}, "canonical": {"file": "url"}},
            ["t.yaml:10:25: canonical form of `file` must be `path`, as its effect says (got `url`)"],
        ),
        (
            with_fields({"p": {"type": "string"}, "g": {"type": "string"}}, canonical={"g": {"glob": "p"}}),
            ["t.yaml:9:22: base of a glob must be a field with a path effect (got `p`)"],
        ),
        (
            SMALLEST | {"handler": {}},
            ["t.yaml:7:14: handler must be exactly one of python, command, http, mcp (got 0 of them)"],
        ),
        (
            SMALLEST | {"handler": {"python": "a.b", "mcp": {"server": "a", "tool": "b"}}},
            ["t.yaml:7:14: handler must be exactly one of python, command, http, mcp (got 2 of them)"],
        ),
        (
            SMALLEST | {"handler": {"python": "os.system; x"}},
            [
                (
                    "t.yaml:7:25: handler `python` must be `module:function` of a file in `handlers/` beside the "
                    "tools.yaml, or a name that the gateway knows, such as `files.read` (got `os.system; x`)"
                ),
            ],
        ),
        (
            SMALLEST | {"handler": {"command": ["{file}"]}},
            [
                "t.yaml:7:27: the program of a command must be fixed (got `{file}`)",
                (
                    "t.yaml:7:27: a free text must not be able to become an option (got `{file}`)"
                    "\n  help: put `--` before it, or write it as `--option={field}`"
                ),
            ],
        ),
        (
            SMALLEST | {"handler": {"command": ["wc", "{file}", "--", "{file}"]}},
            [
                (
                    "t.yaml:7:33: a free text must not be able to become an option (got `{file}`)"
                    "\n  help: put `--` before it, or write it as `--option={field}`"
                ),
            ],
        ),
        (
            SMALLEST | {"handler": {"command": ["head", "{n}"]}},
            [
                (
                    "t.yaml:7:35: a free text must not be able to become an option (got `{n}`)"
                    "\n  help: put `--` before it, or write it as `--option={field}`"
                ),
            ],
        ),
        (
            SMALLEST
            | {
                "input": {"properties": {"file": {"type": "string"}, "l": {"type": "array"}, "o": {"type": "object"}}},
                "handler": {"command": ["wc", "--", "{file}", "{l}", "-{l}", "{o}"]},
            },
            [
                (
                    f"t.yaml:7:{column}: field `{name}` must hold what can be a word"
                    "\n  help: a list must stand alone in its word, as in `'{field}'`"
                )
                for column, name in ((56, "l"), (64, "o"))
            ],
        ),
        (SMALLEST | {"handler": {"command": []}}, ["t.yaml:7:26: handler `command` must have at least the program"]),
        (
            SMALLEST | {"handler": {"http": {"method": "GET", "url": "https://{file}/x"}}},
            ["t.yaml:7:48: url must start with a fixed scheme and host (got `https://{file}/x`)"],
        ),
        (
            SMALLEST | {"handler": {"http": {"method": "GET", "url": "https://a.b{file}/x"}}},
            ["t.yaml:7:48: url must start with a fixed scheme and host (got `https://a.b{file}/x`)"],
        ),
        (
            SMALLEST | {"handler": {"http": {"method": "GET", "url": "file:///etc/passwd"}}},
            ["t.yaml:7:48: url must start with a fixed scheme and host (got `file:///etc/passwd`)"],
        ),
        (
            SMALLEST | {"internal": {"n": {"type": "integer"}}},
            ["t.yaml:9:16: internal field must not also be an input (got `n`)"],
        ),
        (
            SMALLEST | {"effects": {"write": "file"}, "read_only": True},
            [
                (
                    "t.yaml:10:16: read_only must be true only where the effects say so (got effect `write`)"
                    "\n  help: declare it `by_effects`, or leave it out"
                )
            ],
        ),
        (
            SMALLEST | {"read_only": True},
            [
                (
                    "t.yaml:9:16: read_only must be true only where the effects say so (got no declared effects)"
                    "\n  help: declare it `by_effects`, or leave it out"
                )
            ],
        ),
        (
            SMALLEST | {"read_only": "sometimes"},
            ["t.yaml:9:16: read_only must be `by_effects` or `overwrites` (got `sometimes`)"],
        ),
        (SMALLEST | {"enabled": {}}, ["t.yaml:9:14: enabled must be true, false or name one of flag, env, needs"]),
        (
            SMALLEST | {"reviewer": ["m"]},
            ["t.yaml:9:16: field that the reviewer sees must be `file` or `n` (got `m`)"],
        ),
        (
            SMALLEST | {"private": ["m"]},
            ["t.yaml:9:15: field that the record keeps no content of must be `file` or `n` (got `m`)"],
        ),
        (
            SMALLEST | {"render": {"call": "{m}"}},
            ["t.yaml:9:22: field in render of call must be a known one (got `m`)\n  help: known are `file` or `n`"],
        ),
        (
            SMALLEST | {"aliases": ["T"]},
            ["t.yaml:9:15: alias must be free (got `T`)\n  help: a tool or another alias has this name"],
        ),
        (
            SMALLEST | {"max_result_chars": 0},
            ["t.yaml:9:23: max_result_chars must be an integer of at least 1 (got `0`)"],
        ),
        (
            SMALLEST | {"description": {"text": "x", "modes": ["paln"]}},
            [
                (
                    "t.yaml:5:42: mode must be `default`, `accept_edits`, `plan`, `read_only`, `auto`, `dont_ask` or"
                    " `bypass` (got `paln`)\n  help: did you mean `plan`?"
                )
            ],
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_remedy(tool, said):
    assert complaints(as_text(tool)) == said


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            {"type": "strng"},
            (
                "type of field `f` must be `string`, `integer`, `number`, `boolean`, `array`, `object` or `null`"
                " (got `strng`)\n  help: did you mean `string`?"
            ),
        ),
        ({"minimum": 3, "maximum": 2}, "maximum of field `f` must be at least minimum (got `2`)"),
        ({"minLength": -1}, "minLength of field `f` must be an integer of at least 0 (got `-1`)"),
        ({"enum": []}, "enum of field `f` must not be empty"),
        ({"type": "integer", "default": "x"}, "default of field `f` must be of type integer (got `x`)"),
        (
            {"pattern": "("},
            "pattern must be a regular expression (got `(`)\n  help: missing ), unterminated subpattern at position 0",
        ),
        (
            {"properties": {"a": {}}, "required": ["b"]},
            "required field of field `f` must be a known one (got `b`)\n  help: known are `a`",
        ),
        (
            {"additionalProperties": {}},
            "additionalProperties of field `f` must be true or false (got an empty mapping)",
        ),
        ("string", "field `f` must be a mapping (got `string`)"),
    ],
)
def test_a_mistake_in_a_schema_is_told(field, said):
    (found,) = complaints(as_text(with_fields({"f": field})))
    place, _, message = found.partition(" ")
    assert place.startswith("t.yaml:6:")
    assert message == said


@pytest.mark.parametrize("keyword", ["format", "$ref", "allOf", "not", "patternProperties", "uniqueItems", "if"])
def test_a_keyword_that_nobody_checks_is_a_load_error(keyword):
    (found,) = complaints(as_text(with_fields({"f": {keyword: {}}})))
    assert f"field `f` must not have the key `{keyword}`" in found


def test_a_value_that_readers_of_yaml_disagree_about_must_be_quoted():
    text = as_text(SMALLEST).replace('{"type": "integer"}', "{enum: [on, off]}")
    assert [problem.split(": ", 1)[1] for problem in complaints(text)] == [
        (
            "enum of field `n` must be unmistakable (got `on`)"
            "\n  help: write `true` for a boolean, quotes around it for a text"
        ),
        (
            "enum of field `n` must be unmistakable (got `off`)"
            "\n  help: write `false` for a boolean, quotes around it for a text"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["t.yaml:1:1: file must be a mapping (got nothing)"]),
        ("tools: {}\n", ["t.yaml:1:1: file must have the key `version`"]),
        ("version: 2\ntools: {}\n", ["t.yaml:1:10: `version` must be 1"]),
        ("version: 1\ntools: []\n", ["t.yaml:2:8: tools must be a mapping (got an empty list)"]),
        (
            as_text(SMALLEST, name="rm -rf"),
            [
                (
                    "t.yaml:3:3: tool name must start with a letter and be at most 64 letters, digits, `_` or `-`"
                    " (got `rm -rf`)"
                )
            ],
        ),
        (
            as_text(SMALLEST) + as_text(SMALLEST).split("tools:\n")[1],
            ["t.yaml:9:3: key must be unique in its mapping (got it again, first on line 3)"],
        ),
    ],
)
def test_a_file_that_is_none_is_told_so(text, said):
    assert [found.split("\n")[0] for found in complaints(text)] == said


def test_all_mistakes_of_a_file_come_at_once_in_order():
    text = as_text(SMALLEST | {"level": "x", "sumary": "y", "handler": {"pyton": "a.b"}, "open": 1})
    places = [int(found.split(":")[1]) for found in complaints(text)]
    assert places == sorted(places)
    assert set(places) == {7, 9, 10, 11}


def test_a_command_makes_its_effects_from_its_words():
    tool = with_fields(
        {"f": {"type": "string"}, "u": {"enum": ["a"]}},
        handler={"command": ["wc", "--{u}", "--", "{f}"]},
        effects={"session": "x"},
    )
    found = compile_tools(as_text(tool), "t.yaml")["tools"]["T"]
    words = [
        [{"text": "wc"}],
        [{"text": "--"}, {"field": "u", "required": False}],
        [{"text": "--"}],
        [{"field": "f", "required": False}],
    ]
    assert found["handler"] == {"kind": "command", "words": words}
    assert found["effects"] == [{"do": "session", "text": [{"text": "x"}]}, {"do": "argv", "words": words}]


# --- the schema for editors ---------------------------------------------------------------------------------------


def test_the_schema_is_valid_and_takes_the_shipped_file():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [error.message for error in ORACLE.iter_errors(PLAIN)] == []
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_the_schema_knows_the_loader_s_keys():
    defs = SCHEMA["$defs"]
    assert tuple(defs["tool"]["properties"]) == ENTRY_KEYS
    assert tuple(defs["tool"]["required"]) == REQUIRED_KEYS
    assert tuple(defs["input"]["properties"]) == INPUT_KEYS
    assert tuple(defs["example"]["properties"]) == EXAMPLE_KEYS
    assert tuple(defs["handler"]["properties"]) == (*HANDLERS, CONFINED)
    assert set(defs["schema"]["properties"]) == set(KEYWORDS)
    assert tuple(defs["effects"]["anyOf"][1]["properties"]) == EFFECTS
    assert all("description" in key for key in defs["tool"]["properties"].values())


def test_the_schema_is_a_new_value_every_time():
    tools_schema()["$defs"].clear()
    assert tools_schema() == SCHEMA


ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        7,
        "",
        "x",
        "file",
        "a.b",
        "read",
        "none",
        [],
        ["x"],
        {},
        {"x": 1},
        {"path": "file"},
        [[]],
        [{}],
    ]
)


def _places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))


@given(st.data())
def test_what_the_schema_refuses_the_loader_refuses_too(data):
    name = data.draw(st.sampled_from(sorted(PLAIN["tools"])))
    tool = copy.deepcopy(PLAIN["tools"][name])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(_places(tool))[1:]))
        holder = tool
        for key in path[:-1]:
            holder = holder[key]
        odd = copy.deepcopy(data.draw(ODD))
        if isinstance(holder, dict) and data.draw(st.booleans()):
            holder[data.draw(st.sampled_from(["x", "type", "read", "path", "level", "tree"]))] = odd
        else:
            holder[path[-1]] = odd
    fits = ORACLE.is_valid({"version": 1, "tools": {name: tool}})
    try:
        compile_tools(as_text(tool, name), "t.yaml")
    except ConfigError as error:
        assert all(problem.file == "t.yaml" for problem in error.problems)  # noqa: PT017 - both ways are fine
    else:
        assert fits
