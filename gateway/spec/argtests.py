"""Tests on the fields of a call's input, as `args:` writes them.

    args: {subagent_type: Explore, timeout: {gt: 60000}, "options.dry_run": {absent: true}, mode: [a, b]}

A text alone is a glob, any other value alone must be equal, a list means one of its values. Regular expressions
are searched for anywhere in the text; those that may take more than linear time for each start are refused.
"""

from __future__ import annotations

import re
import warnings
from re import _parser as sre  # type: ignore[attr-defined]  # the only way to look inside an expression

from gateway.core.backtracking import longest_text
from gateway.spec import read
from gateway.spec.yamltext import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
COMPARISONS = ("lt", "le", "gt", "ge")
TESTS = ("glob", "equals", *COMPARISONS, "absent", "in", "type", "regex", "not")
MAX_REGEX = 500
_MAX_NOT = 8
_MAX_WAYS = 10_000  # in which nested bounded repetitions may share a text among themselves


def arg_test(node: Node, what: str, complaints: Complaints, depth: int = 0) -> dict[str, Any]:
    """The normal form of one test."""
    value = node.value
    if value.__class__ is str:
        read.data(node, what, complaints)
        return {"glob": value}
    if value.__class__ is list:
        return {"in": _values(node, what, complaints)}
    if value.__class__ is not dict:
        return {"equals": value}
    if not value:
        complaints.at(node, f"test of {what} must not be empty")
    found: dict[str, Any] = {}
    for name, item in read.known_keys(node, f"test of {what}", TESTS, complaints).items():
        key = f"`{name}`"
        if name == "glob":
            found[name] = read.text(item, key, complaints, empty=True)
        elif name == "equals":
            found[name] = read.data(item, key, complaints)
        elif name == "absent":
            found[name] = read.boolean(item, key, complaints)
        elif name == "in":
            found[name] = _values(item, key, complaints)
        elif name == "type":
            found[name] = read.choice(item, key, TYPES, complaints)
        elif name == "regex":
            found[name] = _regex(item, key, complaints)
        elif name == "not":
            if depth >= _MAX_NOT:
                complaints.at(item, f"`not` must be at most {_MAX_NOT} levels deep")
            else:
                found[name] = arg_test(item, what, complaints, depth + 1)
        else:
            found[name] = _number(item, key, complaints)
    if len(found) > 1 and ("not" in found or "absent" in found):
        alone = "not" if "not" in found else "absent"
        complaints.at_key(value[alone], f"`{alone}` must stand alone in its test (got {len(found)} tests of {what})")
    return found


def number_test(node: Node, what: str, complaints: Complaints) -> dict[str, int]:
    """Bounds on a whole number that is never negative."""
    if node.value == {}:
        complaints.at(node, f"{what} must not be empty")
    entries = read.known_keys(node, what, (*COMPARISONS, "equals"), complaints)
    return {name: read.integer(item, f"`{name}`", complaints, 0) for name, item in entries.items()}


def _values(node: Node, what: str, complaints: Complaints) -> list[Any]:
    values = [read.data(item, what, complaints) for item in read.sequence(node, what, complaints)]
    if node.value == []:
        complaints.at(node, f"{what} must not be empty")
    return values


def _number(node: Node, what: str, complaints: Complaints) -> int | float:
    """An integer or a plain decimal fraction."""
    value = node.value
    if value.__class__ is int:
        return int(value)
    if value.__class__ is str and node.bare and re.fullmatch(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}", value):
        return float(value)
    complaints.at(
        node, f"{what} must be a number (got {node.shown})", "write it in plain decimal digits, without quotes"
    )
    return 0


def _regex(node: Node, what: str, complaints: Complaints) -> str:
    text = read.text(node, what, complaints)
    if not text:
        return ""
    problem = regex_problem(text)
    if problem:
        complaints.at(node, f"{what} must be {problem} (got `{clip(text)}`)")
    return text


def regex_problem(text: str) -> str:
    """What a regular expression must be and is not, "" if it is fine.

    Refused is what a backtracking matcher may need exponential time for: repetitions inside repetitions,
    references to groups, and tests of what lies ahead or behind.
    """
    if len(text) > MAX_REGEX:
        return f"at most {MAX_REGEX} characters long"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what a later Python will read differently is refused today
            re.compile(text)
        parsed = sre.parse(text)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        return f"a regular expression, {str(error) or 'less deeply nested'}"
    problem = _costly(parsed, 1)
    if not problem:
        try:
            longest_text(text)
        except ValueError:
            problem = "with fewer repetitions whose end is open"
    return problem


def _costly(parsed: Any, outer: float) -> str:
    """`outer`: how often what is looked at may be repeated by what is around it."""
    for operation, argument in parsed:
        name = str(operation)
        inside: list[tuple[Any, float]] = []
        if name in ("GROUPREF", "GROUPREF_EXISTS"):
            return "without references to groups"
        if name in ("ASSERT", "ASSERT_NOT"):
            return "without looking ahead or behind"
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            often = float("inf") if most == sre.MAXREPEAT else float(most)
            spread = often - least + 1
            if spread > 1 and outer > 1 and (often * outer > _MAX_WAYS or spread**outer > _MAX_WAYS):
                return "without repetitions inside repetitions"
            inside = [(inner, outer * max(often, 1))]
        elif name == "BRANCH":
            inside = [(each, outer) for each in argument[1]]
        elif name == "SUBPATTERN":
            inside = [(argument[3], outer)]
        elif name == "ATOMIC_GROUP":
            inside = [(argument, outer)]
        problem = next(filter(None, (_costly(*each) for each in inside)), "")
        if problem:
            return problem
    return ""
