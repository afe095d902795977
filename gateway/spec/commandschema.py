"""The JSON Schema (2020-12) of descriptions of programs, for editors.

The reader in `gateway.spec.commands` has the last word: it also knows groups, hooks and what goes together. Whatever it
accepts, this schema accepts.
"""

from __future__ import annotations

from gateway.spec.commandkeys import (
    CHECKED,
    CLASSES,
    DIALECTS,
    DIRECTIONS,
    EFFECT,
    EFFECTS,
    KINDS,
    OPTION,
    SKIPS,
    SLOT,
    SPEC,
    TOP,
    UNKNOWN_OPTIONS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.spec.commandkeys import Keys

_BOOLEAN = {"type": "boolean"}
# YAML reads an option such as `-3` as a number.
_WORD = {"type": ["string", "integer"]}
_MAPPING = {"type": "object"}
_TEXTS = (
    "flags", "values", "optionals", "file_urls", "at_paths", "inert", "alone", "helps", "ignored", "special",
)  # fmt: skip


def command_schema() -> dict[str, Any]:
    """The schema as a new dict."""
    words = _one_or_many(_WORD)
    texts = {"anyOf": [words, {"type": "null"}]}
    conditions = {"when": texts, "unless": texts}
    tree = {"anyOf": [_BOOLEAN, words]}
    place = {"direction": {"enum": list(DIRECTIONS)}, "port": {}, "scheme": {}, "via": {}}
    effects = _one_or_many(_ref("effect"))
    spec: dict[str, Any] = {
        **dict.fromkeys(_TEXTS, texts),
        "options": {**_MAPPING, "additionalProperties": _ref("option")},
        "operands": _one_or_many(_ref("operand")),
        "after": _ref("operand"),
        "effects": effects,
        "code": {"type": "string"},
        "subcommands": {**_MAPPING, "additionalProperties": _ref("subcommand")},
        "bare": _WORD,
        "default": _WORD,
        "use": _one_or_many({"type": "string"}),
        "classes": _one_or_many({"enum": list(CLASSES)}),
        "dialect": {"enum": list(DIALECTS)},
        "unknown_options": {"enum": list(UNKNOWN_OPTIONS)},
        "skips": {**_MAPPING, "propertyNames": {"enum": list(SKIPS)}, "additionalProperties": texts},
        **dict.fromkeys(("inherit", "numeric", "dashless", "assign"), _BOOLEAN),
    }
    kinds = _one_or_many({"enum": list(KINDS)})
    option = {
        **dict.fromkeys(("value", "optional"), kinds),
        "does": effects,
        "tree": tree,
        **dict.fromkeys(("when", "sets", "harmless", "until"), texts),
        **dict.fromkeys(("inert", "open", "braces", "appends", "dash", "keep", "split", "git_setting"), _BOOLEAN),
        "cwd": {"enum": [True, "operands"]},
        **place,
    }
    operand = {
        "kind": {"enum": list(KINDS)},
        "does": effects,
        "tree": tree,
        **dict.fromkeys(("rest", "optional", "into", "adds", "elsewhere", "dash"), _BOOLEAN),
        **conditions,
        "default": {},
        "default_when": texts,
        **place,
    }
    top = {
        **dict.fromkeys(("names", "programs"), words),
        "of": {"type": "string"},
        "about": {},
        "checked": _one_or_many({"type": "string", "pattern": CHECKED}),
        "groups": {**_MAPPING, "additionalProperties": {"anyOf": [{"type": "object"}, {"type": "null"}]}},
        "examples": {**_MAPPING, "additionalProperties": texts},
        "builtin": _BOOLEAN,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gateway description of a program",
        "description": "What one program, or several that are used alike, does.",
        **_closed({**top, **spec}, {**TOP, **SPEC}),
        "oneOf": [{"required": ["names"]}, {"required": ["programs"]}, {"required": ["of"]}],
        "$defs": {
            "effect": {
                "description": "What is done.",
                "anyOf": [
                    {"type": "string", "pattern": f"^({'|'.join(EFFECTS)})( |$)"},
                    _closed({"do": _one_or_many({"type": "string"}), **conditions, "there": _BOOLEAN}, EFFECT),
                ],
            },
            "option": {"anyOf": [_closed(option, OPTION), {"type": "null"}]},
            "operand": _closed(operand, SLOT),
            "subcommand": {"anyOf": [_closed(spec, SPEC), effects, {"type": "null"}]},
        },
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _one_or_many(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item}]}


def _closed(properties: dict[str, Any], keys: Keys) -> dict[str, Any]:
    """A mapping with these keys and no others, each with what the table says of it."""
    described = {name: {**each, "description": _sentence(keys[name])} for name, each in properties.items()}
    return {"type": "object", "properties": described, "additionalProperties": False}


def _sentence(entry: Iterable[str]) -> str:
    about, example = entry
    return f"{about[:1].upper()}{about[1:]}. Example: {example}"
