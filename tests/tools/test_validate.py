"""The compiled validator: its complaints, and its verdicts beside those of jsonschema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError, Problem
from gateway.spec.tool_fields import KEYWORDS as DECLARABLE
from gateway.spec.tools import compile_tools
from gateway.tools.validate import ANNOTATIONS, KEYWORDS, MAX_PROBLEMS, TYPES, compile_validator, same, validate

TOOLS = Path(__file__).parents[2] / "tools.yaml"
SCHEMAS = {name: e["input"] for name, e in compile_tools(TOOLS.read_bytes(), "tools.yaml")["tools"].items()}


def complaints(schema, value):
    return [str(problem) for problem in validate(compile_validator(schema), value)]


def test_what_can_be_declared_is_what_can_be_checked():
    assert set(DECLARABLE) == KEYWORDS | ANNOTATIONS


def test_a_program_survives_json():
    schema = SCHEMAS["Edit"]
    program = compile_validator(schema)
    assert json.loads(json.dumps(program)) == program


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]*$"},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
        "score": {"type": "number"},
        "sort": {"enum": ["cat", "dog", 1]},
        "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "kind": {"const": True},
        "where": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}]},
        "-A": {"type": "boolean"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"name": "ann", "age": 7, "score": 1, "sort": 1.0, "kind": True, "where": 3, "-A": False}, []),
        ({"name": "ann", "age": None, "tags": ["a"]}, []),
        ({"name": "ann", "age": 7.0}, []),
        ({}, ["$.name: must be given"]),
        (7, ["$: must be an object (got `7`)"]),
        (
            {"name": "", "age": "7", "tags": []},
            [
                "$.name: must not be empty",
                "$.age: must be an integer or null (got `7`)",
                "$.tags: must have at least 1 item (got 0)",
            ],
        ),
        (
            {"name": "Annika", "age": -1, "tags": ["a", 2, None], "-A": 1},
            [
                "$.name: must be at most 5 characters long (got 6)",
                "$.name: must match the pattern `^[a-z]*$` (got `Annika`)",
                "$.age: must be at least 0 (got `-1`)",
                "$.tags: must have at most 2 items (got 3)",
                "$.tags[1]: must be a string (got `2`)",
                "$.tags[2]: must be a string (got null)",
                "$['-A']: must be a boolean (got `1`)",
            ],
        ),
        (
            {"name": "a", "sort": "cats", "kind": 1},
            [
                "$.sort: must be one of `cat`, `dog`, `1` (got `cats`)\n  help: did you mean `cat`?",
                "$.kind: must be `true` (got `1`)",
            ],
        ),
        ({"name": "a", "where": "abc"}, ["$.where: must be at most 2 characters long (got 3)"]),
        ({"name": "a", "where": []}, ["$.where: must be one of: a string; an integer"]),
        (
            {"name": "a", "Tag": [], "x": 1},
            [
                "$.Tag: must be a known field (got `Tag`)\n  help: did you mean `tags`?",
                "$.x: must be a known field (got `x`)\n  help: fields: name, age, score, sort, tags, kind, where, -A",
            ],
        ),
    ],
)
def test_every_complaint_comes_at_once_with_its_json_path(value, said):
    assert complaints(PERSON, value) == said


def test_a_value_is_shown_on_one_line_and_bounded():
    (said,) = complaints({"const": 1}, "a\n\x1b[2J" * 99)
    assert said.startswith(r"$: must be `1` (got `a\n\x1b[2Ja\n\x1b[2J")
    assert said.isprintable()
    assert len(said) < 150


def test_alternatives_of_fields_say_what_there_is_to_choose():
    schema = {"oneOf": [{"required": ["a", "b"]}, {"required": ["c"]}]}
    assert complaints(schema, {"c": 1}) == []
    assert complaints(schema, {"a": 1}) == ["$: must be one of: `a` and `b`; `c`"]
    assert complaints(schema, {"a": 1, "b": 2, "c": 3}) == ["$: must have only one of: `a` and `b`; `c`"]


def test_the_number_of_complaints_is_bounded():
    found = complaints({"items": {"type": "string"}}, list(range(100_000)))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "$: more complaints are not shown"
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    assert len(complaints(closed, {f"field{i}": 1 for i in range(10_000)})) == MAX_PROBLEMS + 1


@pytest.mark.parametrize(
    ("schema", "path", "message"),
    [
        ({"format": "uri"}, "$", "keyword must be one that tools support (got `format`)"),
        ({"properties": {"a": {"$ref": "#"}}}, "$.properties.a", "keyword must be one that tools support (got `$ref`)"),
        ({"type": "text"}, "$", f"type must be one of {', '.join(TYPES)} (got `text`)"),
        ({"items": [{}]}, "$.items", "schema must be an object (got an array)"),
        ({"additionalProperties": {}}, "$", "additionalProperties must be true or false (got an object)"),
        ({"minimum": "0"}, "$", "minimum must be a number (got `0`)"),
        ({"minLength": -1}, "$", "minLength must be a number (got `-1`)"),
        ({"anyOf": []}, "$", "anyOf must be a list of schemas (got an array)"),
        ({"pattern": "("}, "$", "pattern must be a regular expression (got `(`)"),
        (True, "$", "schema must be an object (got `true`)"),
    ],
)
def test_a_schema_outside_the_supported_part_is_an_error(schema, path, message):
    with pytest.raises(ConfigError) as caught:
        compile_validator(schema)
    (problem,) = caught.value.problems
    assert (problem.path, problem.message) == (path, message)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0, False, False),
        ([1, {"a": [True]}], [1.0, {"a": [True]}], True),
        ([1, {"a": [True]}], [1.0, {"a": [1]}], False),
        ([1], [1, 2], False),
        ("1", 1, False),
    ],
)
def test_equality_is_that_of_json(one, other, equal):
    assert same(one, other) is equal


# --- beside jsonschema -----------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "file_path", "command", "edits", "old_string", "new_string", "-n", "limit"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.0, 1.0, 1.5, -2.0, 600000, 600001]),
    st.sampled_from(["", "a", "ab", "abc", "é", "1", "true", "content", "replace", "3-5"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def _bounded(low: str, high: str, most: int):
    return st.fixed_dictionaries({}, optional={low: st.integers(0, most), high: st.integers(0, most)})


LEAVES = st.one_of(
    st.builds(
        lambda kind, more: {"type": kind} | more,
        st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        _bounded("minLength", "maxLength", 3) | _bounded("minimum", "maximum", 4) | _bounded("minItems", "maxItems", 3),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(VALUES, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, VALUES),
    st.builds(lambda pattern: {"pattern": pattern}, st.sampled_from(["^a", "b$", "^[0-9]+$", "a|b"])),
    st.just({}),
)


def _larger(inner):
    objects = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": st.booleans(),
            "items": inner,
        },
    )
    choices = st.builds(
        lambda key, parts: {key: parts}, st.sampled_from(["anyOf", "oneOf"]), st.lists(inner, min_size=1, max_size=3)
    )
    return objects | choices | st.builds(lambda one, other: one | other, objects, choices)


RANDOM_SCHEMAS = st.recursive(LEAVES, _larger, max_leaves=8)


@given(RANDOM_SCHEMAS, VALUES)
def test_the_verdict_on_a_random_schema_is_that_of_jsonschema(schema, value):
    assert (complaints(schema, value) == []) is jsonschema.Draft202012Validator(schema).is_valid(value)


def _fields_of(schema):
    """Values that come near to what a schema wants."""
    fields = {
        name: st.one_of(
            VALUES,
            st.sampled_from(part["enum"]) if "enum" in part else SCALARS,
            st.lists(_fields_of(part["items"]), max_size=2) if "properties" in part.get("items", {}) else SCALARS,
        )
        for name, part in schema["properties"].items()
    }
    return st.fixed_dictionaries({}, optional=fields | {"unknown": VALUES})


@pytest.mark.parametrize("name", share(SCHEMAS, 3))
def test_the_verdict_on_a_shipped_schema_is_that_of_jsonschema(name):
    schema = SCHEMAS[name]
    oracle = jsonschema.Draft202012Validator(schema)
    program = compile_validator(schema)

    @given(_fields_of(schema) | VALUES)
    def agrees(value):
        assert (validate(program, value) == []) is oracle.is_valid(value)

    agrees()


def test_problems_are_values_of_the_shared_kind():
    assert validate(compile_validator({"type": "string"}), 1) == [Problem("must be a string (got `1`)", path="$")]
