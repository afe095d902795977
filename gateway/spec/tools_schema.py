"""The JSON Schema of `tools.yaml`, for editors.

It says of the format what a schema can say; `gateway.spec.tools` is the judge. The tests hold the two together:
the same keys and words, and whatever this schema refuses the loader refuses too.
"""

from __future__ import annotations

from gateway.model.decision import LEVELS, MODES
from gateway.spec.tool_effects import CONFINED, DIRECTIONS, EFFECTS, HANDLERS, KINDS, MATCH_KINDS, METHODS, PATH_EFFECTS
from gateway.spec.tool_fields import TYPES
from gateway.spec.tools import (
    CONDITIONS,
    FORMS,
    INPUT_KEYS,
    MAX_RESULT_CHARS,
    NAME_PATTERN,
    RENDERED,
    REQUIRED_KEYS,
    TRAITS,
    VERSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_BOOLEAN: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_INTEGER: Schema = {"type": "integer"}
_ANY: Schema = {}


def tools_schema() -> Schema:
    """The schema, JSON-able; a new value on every call."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tools.yaml",
        "description": "The tools that the gateway offers and gates.",
        **_closed(
            {
                "version": {"const": VERSION},
                "tools": {
                    "type": "object",
                    "propertyNames": {"pattern": NAME_PATTERN},
                    "additionalProperties": {"$ref": "#/$defs/tool"},
                },
            },
            required=("version", "tools"),
        ),
        "$defs": {
            "tool": _tool(),
            "schema": _schema(),
            "input": _input(),
            "effects": _effects(),
            "handler": _handler(),
            "example": _example(),
        },
    }


def _tool() -> Schema:
    described = {
        "summary": _said("One line for lists and prompts.", _TEXT),
        "description": _said("The full text a model gets, or parts of it for some modes.", _parts()),
        "input": _said("JSON Schema (2020-12) of the input.", {"$ref": "#/$defs/input"}),
        "internal": _said(
            "Fields that only the gateway itself may set; never shown to a model.", _map({"$ref": "#/$defs/schema"})
        ),
        "output": _said("JSON Schema of the structured result.", {"$ref": "#/$defs/schema"}),
        "open": _said("Unknown fields are taken, as tools of foreign agents need it.", _BOOLEAN),
        "enabled": _said(
            "Whether the tool is offered, or the flag, variable or capability it depends on.",
            {"anyOf": [_BOOLEAN, {**_closed(dict.fromkeys(CONDITIONS, _TEXT)), "minProperties": 1}]},
        ),
        "level": _said("The risk class that policies speak of; `execute` if it is left out.", {"enum": list(LEVELS)}),
        "read_only": _said("The call changes nothing and contacts nobody.", _trait()),
        "destructive": _said("The call may lose what was there before.", _trait()),
        "concurrency_safe": _said("The call may run beside others.", _trait()),
        "match": _said(
            "The field that `Tool(…)` speaks of, and how.",
            _closed({"field": _TEXT, "kind": {"enum": list(MATCH_KINDS)}}, required=("field", "kind")),
        ),
        "effects": _said(
            "What a call does, said with its own fields; opaque if left out.", {"$ref": "#/$defs/effects"}
        ),
        "canonical": _said(
            "How fields are brought to one spelling, where effects do not say it already.", _canonical()
        ),
        "filters": _said("The tool leaves out of its results what may not be read.", _BOOLEAN),
        "handler": _said("What runs.", {"$ref": "#/$defs/handler"}),
        "max_result_chars": _said(
            f"Longer results go to a file; {MAX_RESULT_CHARS:,} if left out, `none` for no limit.",
            {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "none"}]},
        ),
        "defer": _said("Shown by name only until a model asks for it.", _BOOLEAN),
        "always_load": _said("Never deferred.", _BOOLEAN),
        "search_hint": _said("Words that find the tool.", _TEXT),
        "aliases": _said("Old names that models may still use.", _one_or_many(_TEXT)),
        "spellings": _said(
            "Names and values that models of other agents send for those of the input, by the name that is sent.",
            _map({"anyOf": [_TEXT, {**_closed(_spelling()), "minProperties": 1}]}),
        ),
        "render": _said("How the tool looks to a person.", _render()),
        "reviewer": _said("The fields that an automatic reviewer sees.", _one_or_many(_TEXT)),
        "private": _said("The fields of which the record keeps size and digest only.", _one_or_many(_TEXT)),
        "examples": _said(
            "Calls and what they must give; run when the file is loaded.",
            {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/example"}},
        ),
    }
    return _closed(described, required=REQUIRED_KEYS)


def _spelling() -> Schema:
    return {
        "field": _said("The field that is meant; the one of that name if left out.", _TEXT),
        "values": _said(
            "Values as they are sent, and what they stand for.", _map({"type": ["string", "integer", "boolean"]})
        ),
        "ignore": _said("It says nothing here, and is left out.", {"const": True}),
    }


def _said(description: str, schema: Schema) -> Schema:
    return {"description": description, **schema}


def _closed(properties: Schema, required: Iterable[str] = ()) -> Schema:
    closed: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**closed, "required": list(required)} if required else closed


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _one_or_many(schema: Schema, least: int = 1) -> Schema:
    return {"anyOf": [schema, {"type": "array", "items": schema, "minItems": least}]}


def _parts() -> Schema:
    modes = _one_or_many({"enum": list(MODES)})
    return _one_or_many({"anyOf": [_TEXT, _closed({"text": _TEXT, "modes": modes}, required=("text", "modes"))]})


def _trait() -> Schema:
    return {"anyOf": [_BOOLEAN, {"enum": list(TRAITS)}]}


def _canonical() -> Schema:
    return _map({"anyOf": [{"enum": list(KINDS)}, _closed({"glob": _TEXT}, required=("glob",))]})


def _render() -> Schema:
    stage = {"anyOf": [_TEXT, _closed(dict.fromkeys(FORMS, _TEXT))]}
    return {"anyOf": [{"const": "generic"}, _closed(dict.fromkeys(RENDERED, stage))]}


def _schema() -> Schema:
    """The part of JSON Schema that tools may use."""
    this: Schema = {"$ref": "#/$defs/schema"}
    schemas: Schema = {"type": "array", "items": this, "minItems": 1}
    kinds: Schema = {"enum": list(TYPES)}
    keywords: Schema = {
        "type": _one_or_many(kinds),
        "title": _TEXT,
        "description": _TEXT,
        "default": _ANY,
        "examples": {"type": "array", "minItems": 1},
        "deprecated": _BOOLEAN,
        "enum": {"type": "array", "minItems": 1},
        "const": _ANY,
        "properties": _map(this),
        "required": _one_or_many(_TEXT),
        "additionalProperties": _BOOLEAN,
        "items": this,
        **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), _COUNT),
        "pattern": {**_TEXT, "format": "regex"},
        **dict.fromkeys(("minimum", "maximum"), _INTEGER),
        **dict.fromkeys(("anyOf", "oneOf"), schemas),
    }
    return _closed(keywords)


def _input() -> Schema:
    keywords = _schema()["properties"]
    return _closed({key: {"const": "object"} if key == "type" else keywords[key] for key in INPUT_KEYS})


def _effects() -> Schema:
    path = _closed({"path": _TEXT, "default": {"enum": ["cwd"]}, "tree": _BOOLEAN}, required=("path",))
    place = {"url": _TEXT, "host": _TEXT, "to": _TEXT, "port": _TEXT, "direction": {"enum": list(DIRECTIONS)}}
    connect = _closed(place, required=("direction",))
    forms: Schema = dict.fromkeys(EFFECTS, _TEXT)
    forms |= dict.fromkeys(PATH_EFFECTS, _one_or_many({"anyOf": [_TEXT, path]}))
    forms["connect"] = _one_or_many({"anyOf": [_TEXT, connect]})
    return {"anyOf": [{"const": "opaque"}, {**_closed(forms), "minProperties": 1}]}


def _handler() -> Schema:
    request: Schema = {"method": {"enum": list(METHODS)}, "url": _TEXT, "headers": _map(_TEXT), "body": _TEXT}
    kinds: Schema = {
        "python": {
            **_TEXT,
            "description": "A function: `module:function` of `handlers/module.py` beside the file, or one of ours.",
        },
        "command": {
            "description": "The words of a program's call, with `{field}` places; run in the sandbox.",
            "type": "array",
            "items": _TEXT,
            "minItems": 1,
        },
        "http": _closed(request, required=("method", "url")),
        "mcp": _closed({"server": _TEXT, "tool": _TEXT}, required=("server", "tool")),
    }
    confined: Schema = {**_BOOLEAN, "description": "Whether the function runs in the sandbox, by its input alone."}
    closed = _closed({**{kind: kinds[kind] for kind in HANDLERS}, CONFINED: confined})
    return {**closed, "oneOf": [{"required": [kind]} for kind in HANDLERS]}


def _example() -> Schema:
    said: Schema = {
        "call": _map(_ANY),
        "effects": _one_or_many(_TEXT, least=0),
        "complaint": _one_or_many(_TEXT),
        "verdict": {"enum": ["allow", "ask", "deny"]},
    }
    return {**_closed(said, required=("call",)), "minProperties": 2, "not": {"required": ["effects", "complaint"]}}
