"""From a raw call to the one value that is judged, shown, run and recorded.

Numbers and booleans sent as text are coerced, defaults filled in, paths made absolute and lexically normal, URLs
brought to one spelling. All complaints come at once, each with its JSON path. The disk is never touched.
"""

from __future__ import annotations

from gateway.core.errors import CallError, Problem
from gateway.model.call import Call
from gateway.tools.coerce import coerced
from gateway.tools.frozen import SCALARS, FrozenDict, freeze
from gateway.tools.paths import UnclearError, absolute, check_text, split_pattern
from gateway.tools.validate import validate
from gateway.tools.words import json_path, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.tools.declaration import Declaration


def canonicalise(tool: Declaration, raw: RawCall, context: Context) -> Call:
    """The canonical, validated form of a call of this tool. Raises `CallError` with every complaint.

    In a partial call required fields may be missing; what is there is held to the same rules.
    """
    values = _copied(raw.input)
    if tool.spellings and not tool.spellings.keys().isdisjoint(values):
        from gateway.tools.spellings import respelled  # lazy: most calls name fields as they are declared

        respelled(values, tool.spellings)
    coerce = tool.coerce
    for name, value in values.items():
        if value.__class__ in SCALARS:
            if value.__class__ is float:
                freeze(value)  # complains of what JSON has no number for
            kind = coerce.get(name)
            if kind is not None:
                values[name] = coerced(value, kind)
        else:
            value = freeze(value, 1)
            shape = tool.shapes.get(name)
            values[name] = value if shape is None else shape.apply(value)
    if _is_plainly_valid(tool.plain_fields, tool.required, values):
        problems: list[Problem] = []
    else:
        problems = validate(tool.check_partial if raw.partial else tool.check, values)
    if tool.internal and not tool.internal.isdisjoint(values):
        problems = _internal(tool, values, problems)
    values = values | tool.defaults | values  # what was given keeps its place and its value
    for name in tool.cwd_fields:
        if values.get(name) is None and context.cwd:
            values[name] = context.cwd
    for name, kind, base in tool.canonical:
        value = values.get(name)
        if value is None:
            continue
        try:
            if kind == "path" and value.__class__ is str:
                values[name] = absolute(value, context.cwd, context.home)
            elif kind != "glob":
                values[name] = _formed(value, kind, context, tool.open)
            elif value.__class__ is str:
                _move_folders(values, name, base, context)
        except UnclearError as unclear:
            if not any(problem.path == json_path([name]) for problem in problems):
                got = f" (got {quoted(value)})" if value else ""
                problems.append(Problem(unclear.must + got, path=json_path([name]), remedy=unclear.remedy))
    if problems:
        raise CallError(problems)
    if tool.words is not None:
        from gateway.tools.argv import command_text  # lazy: few tools are commands that somebody declared

        shown = command_text(tool.words, values) or ""
    else:
        shown = values.get(tool.match, "") if tool.match else ""
        if shown.__class__ is not str:
            shown = ""
        elif tool.shown_base and shown and values.get(tool.shown_base):
            shown = values[tool.shown_base].rstrip("/") + "/" + shown  # the pattern alone would not tell where
    annotations = raw.annotations and freeze(raw.annotations)
    server = tool.server or (tool.server_field and values.get(tool.server_field)) or raw.server
    return Call.make((tool.name, FrozenDict(values), shown, server, annotations))


def _is_plainly_valid(
    plain: Mapping[str, tuple[type, int]] | None, required: frozenset[str], values: dict[str, Any]
) -> bool:
    """Whether nothing can be said against the values, told without the whole schema: what most calls are."""
    if plain is None or not required <= values.keys():
        return False
    for name in values:
        kind, least = plain.get(name, _NEVER)
        if values[name].__class__ is not kind or (least and len(values[name]) < least):
            return False
    return True


_NEVER: tuple[type, int] = (FrozenDict, 0)


def _copied(given: Any) -> dict[str, Any]:
    if not hasattr(given, "keys"):
        raise CallError(Problem(f"input must be an object (got {quoted(given)})", path="$"))
    values = dict(given)
    for name in values:
        if name.__class__ is not str:
            raise CallError(Problem(f"field names must be text (got {quoted(name)})", path="$"))
    return values


def _internal(tool: Declaration, values: dict[str, Any], problems: list[Problem]) -> list[Problem]:
    """The complaints, with those about internal fields saying what they are about."""
    sent = [name for name in values if name in tool.internal]
    paths = {json_path([name]) for name in sent}
    kept = [problem for problem in problems if problem.path not in paths]
    return kept + [
        Problem("must not be sent: only the gateway itself sets it", path=json_path([name]), remedy="leave it out")
        for name in sent
    ]


def _formed(value: Any, kind: str, context: Context, lenient: bool) -> Any:
    """A field's value in the canonical form of its kind. Raises `UnclearError`.

    A URL or host of a foreign tool that we cannot read stays as it is: its effect has an unknown host.
    """
    if value.__class__ is tuple:
        return tuple([_formed(item, kind, context, lenient) for item in value])
    if value.__class__ is not str:
        return value
    if kind == "path":
        return absolute(value, context.cwd, context.home)
    check_text(value)
    if kind not in ("url", "https_url", "host"):
        return value
    from gateway.tools.urls import host, parse

    try:
        return host(value) if kind == "host" else parse(value, upgrade=kind == "https_url").text
    except UnclearError:
        if lenient:
            return value
        raise


def _move_folders(values: dict[str, Any], name: str, base: str, context: Context) -> None:
    """Splits the folders off a pattern and makes them part of the field it is based on."""
    folder, rest = split_pattern(values[name])
    if folder:
        below = values.get(base)
        values[base] = absolute(folder, below if below.__class__ is str else context.cwd, context.home)
        values[name] = rest
