"""Predicates in long form: a mapping of a rule turned into its normal form, with every word checked.

Each form of argument has one reader in `FORMS`. In the normal form a list means any of, every pattern is a text, and
a mapping means all of. Which predicates there are, and what they test, is the business of `gateway.policy.predicates`.
"""

from __future__ import annotations

import re

from gateway.policy.predicates import PREDICATES
from gateway.spec import read
from gateway.spec.argtests import arg_test, number_test
from gateway.spec.short import ShortFormError, host_problem, parse_short, tool_pattern
from gateway.spec.yamltext import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.policy.predicates import Predicate
    from gateway.spec.short import ToolNames
    from gateway.spec.yamltext import Complaints, Node

    Reader = Callable[[Node, str, str, ToolNames, Complaints], Any]

_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00")

# What says when or for whom a rule holds, but not what it speaks of: no allow rule consists of these alone.
CIRCUMSTANCES = frozenset(name for name, each in PREDICATES.items() if each.circumstance)


def read_predicates(node: Node, lane: str, tools: ToolNames, complaints: Complaints) -> dict[str, Any]:
    """One mapping of predicates. Complains about each that is unknown or malformed."""
    found: dict[str, Any] = {}
    for name, value in read.mapping(node, "predicates", complaints).items():
        reader = READERS.get(name)
        if reader is None:
            read.unknown_key(name, value, "rule", READERS, complaints)
        else:
            found[name] = reader(value, f"`{name}`", lane, tools, complaints)
    return found


def read_alternatives(node: Node, lane: str, tools: ToolNames, complaints: Complaints) -> list[dict[str, Any]]:
    """A short string, a mapping, or a list of these, as flat alternatives."""
    found: list[dict[str, Any]] = []
    if node.value.__class__ is list and not node.value:
        complaints.at(node, "rule must say what it matches (got an empty list)")
    for item in node:
        value = item.value
        if value.__class__ is str:
            when = read_short(item, lane, tools, complaints)
        elif value.__class__ is dict:
            when = read_predicates(item, lane, tools, complaints)
        else:
            complaints.at(item, f"rule must be `Tool(…)` or a mapping of predicates (got {item.shown})")
            continue
        found.extend(when.get("any", (when,)))
    return found


def read_short(node: Node, lane: str, tools: ToolNames, complaints: Complaints) -> dict[str, Any]:
    """A short string; complains and gives no predicates if it is none."""
    try:
        return parse_short(node.value, lane, tools)
    except ShortFormError as error:
        complaints.at(node, str(error), error.remedy)
        return {}


def _texts(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> list[str]:
    return read.texts(node, what, complaints)


def _boolean(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> bool:
    return read.boolean(node, what, complaints)


def _words(known: tuple[str, ...]) -> Reader:
    def reader(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> list[str]:
        return read.choices(node, what, known, complaints)

    return reader


def _tool(node: Node, what: str, lane: str, tools: ToolNames, complaints: Complaints) -> list[str]:
    found = []
    for item in node:
        name = read.text(item, what, complaints)
        if not name:
            continue
        try:
            if "(" in name:
                raise ShortFormError(f"{what} must be a tool's name (got `{clip(name)}`)", _without(name, lane))
            found.append(tool_pattern(name, lane, tools))
        except ShortFormError as error:
            complaints.at(item, str(error), error.remedy)
    if node.value == []:
        complaints.at(node, f"{what} must not be empty")
    return found


def _without(name: str, lane: str) -> str:
    return f"write the short form as the rule itself: `{lane}: {clip(name)}`"


def _hosts(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> list[str]:
    hosts = read.texts(node, what, complaints)
    for item in node:
        problem = host_problem(item.value) if item.value.__class__ is str and item.value else None
        if problem:
            complaints.at(item, f"{what} must be {problem[0]} (got {item.shown})", problem[1])
    return hosts


def _ports(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> list[int]:
    if node.value == []:
        complaints.at(node, f"{what} must not be empty")
    return [read.integer(item, what, complaints, 1, 65535) for item in node]


def _commands(node: Node, what: str, lane: str, _tools: ToolNames, complaints: Complaints) -> list[str]:
    """Patterns as they stand between the parentheses of `Bash(…)`."""
    found = []
    for pattern in read.texts(node, what, complaints):
        if pattern.strip() in ("*", ":*", ""):
            complaints.at(
                node, f"{what} must name a command (got `{clip(pattern)}`)", f"write `{lane}: Bash` for every command"
            )
        found.append(pattern[:-2].rstrip() + " *" if pattern.endswith(":*") else pattern.strip())
    return found


def _exec(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> list[list[str]]:
    """The first words of a command: a text split at blanks, or a list whose entries are a word or alternatives."""
    if node.value.__class__ is str:
        if not node.value.split():
            complaints.at(node, f"{what} must name a program (got {node.shown})")
        return [[word] for word in node.value.split()]
    found = []
    for item in read.sequence(node, what, complaints):
        words = read.texts(item, f"each entry of {what}", complaints)
        found.append(words)
        for word in words:
            if " " in word:
                complaints.at(
                    item,
                    f"each entry of {what} must be one word (got `{clip(word)}`)",
                    f"write `[{', '.join(word.split())}]`",
                )
    if node.value == []:
        complaints.at(node, f"{what} must not be empty")
    return found


def _options(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> list[str]:
    names = read.texts(node, what, complaints)
    for item in node:
        name = item.value
        if name.__class__ is not str or not name:
            continue
        if "=" in name or " " in name:
            bare = name.replace("=", " ").split()
            complaints.at(
                item,
                f"{what} must be an option's name without value (got {item.shown})",
                f"write `{clip(bare[0])}`" if bare else "",
            )
    return names


def _args(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> dict[str, Any]:
    tests = read.mapping(node, what, complaints)
    if node.value == {}:
        complaints.at(node, f"{what} must not be empty")
    for path, test in tests.items():
        if not all(path.split(".")):
            complaints.at_key(test, f"field of {what} must be names with dots between them (got `{clip(path)}`)", "")
    return {path: arg_test(test, f"`{clip(path)}`", complaints) for path, test in tests.items()}


def _depth(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> dict[str, int]:
    """A number of levels, or bounds on it."""
    if node.value.__class__ is not dict:
        return {"equals": read.integer(node, what, complaints, 0)}
    return {name: int(value) for name, value in number_test(node, what, complaints).items()}


def _time(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> dict[str, Any]:
    """Hours and days in UTC."""
    window: dict[str, Any] = {}
    if node.value == {}:
        complaints.at(node, f"{what} must not be empty")
    for name, value in read.known_keys(node, what, ("from", "to", "days"), complaints).items():
        if name == "days":
            window[name] = read.choices(value, "`days`", PREDICATES["time"].choices, complaints)
        else:
            window[name] = _clock(value, f"`{name}`", complaints)
    return window


def _clock(node: Node, what: str, complaints: Complaints) -> str:
    value = node.value
    if value.__class__ is str and _CLOCK.fullmatch(value):
        return str(value)
    complaints.at(node, f"{what} must be a time of day as `HH:MM` (got {node.shown})")
    return "00:00"


def _annotations(node: Node, what: str, _lane: str, _tools: ToolNames, complaints: Complaints) -> dict[str, Any]:
    found = {}
    if node.value == {}:
        complaints.at(node, f"{what} must not be empty")
    for name, value in read.mapping(node, what, complaints).items():
        if value.value.__class__ in (dict, list):
            complaints.at(value, f"`{clip(name)}` must be a single value (got {value.shown})")
        else:
            found[name] = read.data(value, f"`{clip(name)}`", complaints)
    return found


FORMS: dict[str, Reader] = {
    "tools": _tool,
    "globs": _texts,
    "texts": _texts,
    "boolean": _boolean,
    "paths": _texts,
    "hosts": _hosts,
    "ports": _ports,
    "commands": _commands,
    "exec": _exec,
    "options": _options,
    "args": _args,
    "depth": _depth,
    "time": _time,
    "annotations": _annotations,
}


def _reader(predicate: Predicate) -> Reader:
    return _words(predicate.choices) if predicate.form.name == "choices" else FORMS[predicate.form.name]


READERS: dict[str, Reader] = {name: _reader(predicate) for name, predicate in PREDICATES.items()}
