"""Checks a value against a JSON Schema, with every complaint at once.

The part of JSON Schema 2020-12 that tools are declared with is compiled to a program: a list of `[operation,
argument]` pairs that survives a trip through JSON. It gives the same verdicts as a full validator would
(jsonschema is the oracle of the tests) at a cost that a decision can afford. A keyword that is not in
`KEYWORDS` is an error, never ignored.
"""

from __future__ import annotations

from gateway.core.errors import ConfigError, Problem
from gateway.tools.words import json_path, quoted, suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # A place in the value: the place of what holds it, and the key or index there. Rendered only for a complaint.
    Place = tuple[Any, ...] | None
    Program = list[list[Any]]

MAX_PROBLEMS = 50
TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated"})
KEYWORDS = frozenset(
    {
        "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
        "minLength", "maxLength", "pattern", "minimum", "maximum", "anyOf", "oneOf",
    }
)  # fmt: skip

_NAMES = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null",
    list: "array", tuple: "array", dict: "object",
}  # fmt: skip
_ARTICLES = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean",
    "array": "an array", "object": "an object", "null": "null",
}  # fmt: skip
_COUNTED = ("minItems", "maxItems", "minLength", "maxLength")


def compile_validator(schema: Any, path: str = "$") -> Program:
    """The program that checks values against `schema`; `ConfigError` for what is outside the supported part."""
    if not isinstance(schema, dict):
        raise ConfigError(Problem(f"schema must be an object (got {quoted(schema)})", path=path))
    unknown = [key for key in schema if key not in KEYWORDS and key not in ANNOTATIONS]
    if unknown:
        raise ConfigError(
            [
                Problem(
                    f"keyword must be one that tools support (got `{key}`)",
                    path=path,
                    remedy=suggestion(key, KEYWORDS) or "supported: " + ", ".join(sorted(KEYWORDS)),
                )
                for key in unknown
            ]
        )
    program: Program = []
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not kinds or any(kind not in TYPES for kind in kinds):
            got = quoted(schema["type"])
            raise ConfigError(Problem(f"type must be one of {', '.join(TYPES)} (got {got})", path=path))
        program.append(["type", list(kinds)])
    for key in ("const", "enum"):
        if key in schema:
            program.append([key, schema[key]])
    for key in (*_COUNTED, "minimum", "maximum"):
        if key in schema:
            program.append([key, _number(key, schema[key], path)])
    if "pattern" in schema:
        _pattern(schema["pattern"], path)
        program.append(["pattern", schema["pattern"]])
    if "items" in schema:
        program.append(["items", compile_validator(schema["items"], path + ".items")])
    if "required" in schema:
        program.append(["required", list(schema["required"])])
    if "properties" in schema or "additionalProperties" in schema:
        extra = schema.get("additionalProperties", True)
        if type(extra) is not bool:
            got = quoted(extra)
            raise ConfigError(Problem(f"additionalProperties must be true or false (got {got})", path=path))
        known = {
            name: compile_validator(part, f"{path}.properties.{name}")
            for name, part in schema.get("properties", {}).items()
        }
        program.append(["fields", {"known": known, "closed": not extra}])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            parts = schema[key]
            if not isinstance(parts, list) or not parts:
                raise ConfigError(Problem(f"{key} must be a list of schemas (got {quoted(parts)})", path=path))
            program.append([key, [compile_validator(p, f"{path}.{key}[{i}]") for i, p in enumerate(parts)]])
    return program


def validate(program: Program, value: Any) -> list[Problem]:
    """Every complaint about `value`, each with its JSON path, in the order of the value; empty if it is valid."""
    problems: list[Problem] = []
    _run(program, value, None, problems)
    return problems


def _run(program: Program, value: Any, place: Place, problems: list[Problem]) -> None:
    for operation, argument in program:
        if operation == "type":
            name = _NAMES.get(type(value)) or _name_of_other(value)
            if name in argument or (name == "integer" and "number" in argument):
                continue
            if name == "number" and "integer" in argument and value.is_integer():
                continue
            wanted = " or ".join([_ARTICLES[kind] for kind in argument])
            _complain(problems, place, f"must be {wanted} (got {quoted(value)})")
            return  # what else the schema says is about a value of another type
        _OPERATIONS[operation](argument, value, place, problems)


def _complain(problems: list[Problem], place: Place, message: str, remedy: str = "") -> None:
    if len(problems) < MAX_PROBLEMS:
        problems.append(Problem(message, path=_render(place), remedy=remedy))
    elif len(problems) == MAX_PROBLEMS:
        problems.append(Problem("more complaints are not shown", path="$"))


def _render(place: Place) -> str:
    keys = []
    while place is not None:
        place, key = place
        keys.append(key)
    return json_path(reversed(keys))


def _name_of_other(value: Any) -> str:
    for kind, name in _NAMES.items():
        if isinstance(value, kind):
            return name
    return "nothing that JSON has"


def _enum(choices: Any, value: Any, place: Place, problems: list[Problem]) -> None:
    for choice in choices:
        if same(choice, value):
            return
    names = ", ".join([quoted(choice) for choice in choices])
    remedy = suggestion(value, [c for c in choices if isinstance(c, str)]) if isinstance(value, str) else ""
    _complain(problems, place, f"must be one of {names} (got {quoted(value)})", remedy)


def _const(wanted: Any, value: Any, place: Place, problems: list[Problem]) -> None:
    if not same(wanted, value):
        _complain(problems, place, f"must be {quoted(wanted)} (got {quoted(value)})")


def _min_length(limit: int, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, str) and len(value) < limit:
        what = "must not be empty" if limit == 1 else f"must be at least {limit} characters long (got {len(value)})"
        _complain(problems, place, what)


def _max_length(limit: int, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, str) and len(value) > limit:
        _complain(problems, place, f"must be at most {_plural(limit, 'character')} long (got {len(value)})")


def _min_items(limit: int, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, (list, tuple)) and len(value) < limit:
        _complain(problems, place, f"must have at least {_plural(limit, 'item')} (got {len(value)})")


def _max_items(limit: int, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, (list, tuple)) and len(value) > limit:
        _complain(problems, place, f"must have at most {_plural(limit, 'item')} (got {len(value)})")


def _minimum(limit: float, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, (int, float)) and type(value) is not bool and value < limit:
        _complain(problems, place, f"must be at least {limit} (got {quoted(value)})")


def _maximum(limit: float, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, (int, float)) and type(value) is not bool and value > limit:
        _complain(problems, place, f"must be at most {limit} (got {quoted(value)})")


def _matches(text: str, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, str) and not _pattern(text, "$").search(value):
        _complain(problems, place, f"must match the pattern `{text}` (got {quoted(value)})")


def _items(program: Program, value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _run(program, item, (place, index), problems)


def _required(names: list[str], value: Any, place: Place, problems: list[Problem]) -> None:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                _complain(problems, (place, name), "must be given")


def _fields(argument: dict[str, Any], value: Any, place: Place, problems: list[Problem]) -> None:
    if not isinstance(value, dict):
        return
    known = argument["known"]
    for name in value:
        program = known.get(name)
        if program is not None:
            if program:
                _run(program, value[name], (place, name), problems)
        elif argument["closed"]:
            remedy = ""
            if len(problems) < MAX_PROBLEMS:
                remedy = suggestion(name, known) or "fields: " + ", ".join(known)
            _complain(problems, (place, name), f"must be a known field (got {quoted(name)})", remedy)


def _any_of(programs: list[Program], value: Any, place: Place, problems: list[Problem]) -> None:
    failed = []
    for program in programs:
        found: list[Problem] = []
        _run(program, value, place, found)
        if not found:
            return
        failed.append(found)
    _none_fits(programs, failed, value, place, problems)


def _one_of(programs: list[Program], value: Any, place: Place, problems: list[Problem]) -> None:
    failed = []
    fitting = []
    for program in programs:
        found: list[Problem] = []
        _run(program, value, place, found)
        if found:
            failed.append(found)
        else:
            fitting.append(program)
    if not fitting:
        _none_fits(programs, failed, value, place, problems)
    elif len(fitting) > 1:
        _complain(problems, place, f"must have only one of: {'; '.join(map(_described, fitting))}")


def _none_fits(
    programs: list[Program], failed: list[list[Problem]], value: Any, place: Place, problems: list[Problem]
) -> None:
    """The complaints of the one alternative that was meant, if the type tells it; else what there is to choose."""
    meant = []
    for program, found in zip(programs, failed, strict=True):
        types = [argument for operation, argument in program if operation == "type"]
        mistyped: list[Problem] = []
        _run([["type", types[0]]] if types else [], value, place, mistyped)
        if types and not mistyped:
            meant.append(found)
    if len(meant) == 1:
        problems.extend(meant[0])
    else:
        _complain(problems, place, f"must be one of: {'; '.join(map(_described, programs))}")


def _described(program: Program) -> str:
    """An alternative in a few words."""
    said = []
    for operation, argument in program:
        if operation == "type":
            said.append(" or ".join([_ARTICLES[kind] for kind in argument]))
        elif operation == "required":
            said.append(("with " if said else "") + " and ".join([f"`{name}`" for name in argument]))
        elif operation in ("enum", "const"):
            choices = argument if operation == "enum" else [argument]
            said.append(" or ".join([quoted(choice) for choice in choices]))
        elif operation == "pattern":
            said.append(f"matching `{argument}`")
    return " ".join(said) or "another form"


def same(one: Any, other: Any) -> bool:
    """Equality as JSON Schema means it: `1` is `1.0`, and `true` is not `1`."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[name]) for name, item in one.items())
    return bool(one == other) and (type(one) is bool) == (type(other) is bool)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _number(key: str, value: Any, path: str) -> Any:
    wanted = int if key in _COUNTED else (int, float)
    if type(value) is bool or not isinstance(value, wanted) or (key in _COUNTED and value < 0):
        raise ConfigError(Problem(f"{key} must be a number (got {quoted(value)})", path=path))
    return value


_patterns: dict[str, Any] = {}


def _pattern(text: str, path: str) -> Any:
    """The compiled pattern. Few tools have one, so `re` is loaded only for those."""
    found = _patterns.get(text)
    if found is None:
        import re

        try:
            found = _patterns[text] = re.compile(text)
        except (re.error, TypeError) as error:
            message = f"pattern must be a regular expression (got {quoted(text)})"
            raise ConfigError(Problem(message, path=path, remedy=str(error))) from error
    return found


_OPERATIONS: dict[str, Callable[[Any, Any, Place, list[Problem]], None]] = {
    "enum": _enum,
    "const": _const,
    "minLength": _min_length,
    "maxLength": _max_length,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minimum": _minimum,
    "maximum": _maximum,
    "pattern": _matches,
    "items": _items,
    "required": _required,
    "fields": _fields,
    "anyOf": _any_of,
    "oneOf": _one_of,
}
