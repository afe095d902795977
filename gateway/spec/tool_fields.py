"""The JSON Schemas in `tools.yaml`: the supported part, checked with positions.

What is accepted here is exactly what `gateway.tools.validate` can check; a test holds the two together.
"""

from __future__ import annotations

import re

from gateway.spec import read
from gateway.spec.node import clip
from gateway.spec.suggest import did_you_mean, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from gateway.spec.node import Complaints, Node

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
KEYWORDS = (
    "type", "title", "description", "default", "examples", "deprecated", "enum", "const", "properties", "required",
    "additionalProperties", "items", "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
    "anyOf", "oneOf",
)  # fmt: skip

_BOUNDS = (("minItems", "maxItems"), ("minLength", "maxLength"), ("minimum", "maximum"))
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength")
_LEAST = -(10**15)


def entries(
    node: Node, what: str, known: Collection[str], complaints: Complaints, required: Collection[str] = ()
) -> dict[str, Node]:
    """The entries of a mapping whose keys are among `known`; complains about the others and about missing ones."""
    found = read.known_keys(node, what, known, complaints)
    if node.kind == "mapping":
        for name in required:
            if name not in found:
                complaints.at_key(node, f"{what} must have `{name}`")
    return found


def unknown_name(complaints: Complaints, node: Node, what: str, known: Collection[str], name: str = "") -> None:
    """Complains about a name (the node's value, or one in it) that is not known, with the nearest that is."""
    name = name or node.value
    remedy = did_you_mean(name, known, f"known are {one_of(known)}" if known else "")
    complaints.at(node, f"{what} must be a known one (got `{clip(name)}`)", remedy)


def read_schema(complaints: Complaints, node: Node, what: str, *, is_open: bool) -> dict[str, Any]:
    """The schema in plain form. Objects with named fields are closed unless they or the tool say otherwise."""
    found = entries(node, what, KEYWORDS, complaints)
    schema: dict[str, Any] = {}
    for key, value in found.items():
        part = f"{key} of {what}"
        if key == "type":
            kinds = read.choices(value, part, TYPES, complaints)
            if kinds:
                schema[key] = kinds if value.kind == "list" else kinds[0]
        elif key in ("title", "description", "pattern"):
            schema[key] = read.text(value, part, complaints)
            if key == "pattern":
                _check_pattern(complaints, value)
        elif key in ("deprecated", "additionalProperties"):
            schema[key] = read.boolean(value, part, complaints)
        elif key in ("default", "const"):
            schema[key] = read.data(value, part, complaints)
        elif key in ("enum", "examples"):
            schema[key] = [read.data(item, part, complaints) for item in read.sequence(value, part, complaints)]
        elif key == "properties":
            schema[key] = {
                name: read_schema(complaints, field, f"field `{name}`", is_open=is_open)
                for name, field in read.mapping(value, part, complaints).items()
            }
        elif key == "items":
            schema[key] = read_schema(complaints, value, f"items of {what}", is_open=is_open)
        elif key == "required":
            schema[key] = read.texts(value, part, complaints)
        elif key in ("anyOf", "oneOf"):
            schema[key] = [
                read_schema(complaints, item, f"alternative {index} of {what}", is_open=True)
                for index, item in enumerate(read.sequence(value, part, complaints), 1)
            ]
        elif key in _COUNTS:
            schema[key] = read.integer(value, part, complaints, 0)
        else:
            schema[key] = read.integer(value, part, complaints, _LEAST)
    _check_together(complaints, node, found, schema, what)
    if "properties" in schema and not is_open:
        schema.setdefault("additionalProperties", False)
    return schema


def _check_together(
    complaints: Complaints, node: Node, found: dict[str, Node], schema: dict[str, Any], what: str
) -> None:
    for low, high in _BOUNDS:
        if low in schema and high in schema and schema[low] > schema[high]:
            complaints.at(found[high], f"{high} of {what} must be at least {low} (got {found[high].shown})")
    names = schema.get("properties")
    if names is not None:
        for item in found.get("required", ()):
            if item.kind == "text" and item.value not in names:
                unknown_name(complaints, item, f"required field of {what}", names)
    for key in ("enum", "examples", "anyOf", "oneOf"):
        if key in schema and not schema[key]:
            complaints.at(found[key], f"{key} of {what} must not be empty")
    if "default" in schema and node.get("default") is not None:
        _check_default(complaints, found["default"], schema, what)


def _check_default(complaints: Complaints, node: Node, schema: dict[str, Any], what: str) -> None:
    """The commonest mistake, told with its place: a default of another type. The rest is checked with the examples."""
    kinds = schema.get("type")
    if kinds is None:
        return
    names = {"text": {"string"}, "integer": {"integer", "number"}, "boolean": {"boolean"}, "list": {"array"}}
    names |= {"mapping": {"object"}, "nothing": {"null"}}
    if not names[node.kind] & set(kinds if isinstance(kinds, list) else [kinds]):
        wanted = " or ".join(kinds) if isinstance(kinds, list) else kinds
        complaints.at(node, f"default of {what} must be of type {wanted} (got {node.shown})")


def _check_pattern(complaints: Complaints, node: Node) -> None:
    try:
        re.compile(str(node.value))
    except re.error as error:
        complaints.at(node, f"pattern must be a regular expression (got {node.shown})", str(error))
