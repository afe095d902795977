"""Tests on the arguments of any tool: nested, typed, absent.

A path is a list of keys and indexes, `*` for any entry of a list. A test is a mapping of conditions that must all
hold: `glob`, `equals`, `in`, `type`, `regex`, `lt` to `ge`; or one of `absent` and `not`.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import globs
from gateway.policy.subject import MAYBE, NO, YES, negate

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any


def prepare(argument: Mapping[str, Any]) -> list[list[Any]]:
    """The tests by path, in the form that `answer` reads: plain data."""
    return [[path.split("."), _prepare_test(test)] for path, test in argument.items()]


def answer(tests: list[list[Any]], value: Any) -> int:
    """Whether every test holds of the input of a call."""
    return min((_arg(path, test, value) for path, test in tests), default=YES)


def _prepare_test(test: Any) -> Any:
    prepared = dict(test)
    if "glob" in prepared:
        prepared["glob"] = globs.compile_glob(prepared["glob"])
    if "not" in prepared:
        prepared["not"] = _prepare_test(prepared["not"])
    if "regex" in prepared:
        from gateway.core.backtracking import longest_text

        prepared["regex"] = [prepared["regex"], longest_text(prepared["regex"])]
    return prepared


_ABSENT = object()


def _arg(path: list[str], test: Any, value: Any) -> int:
    for step in path:
        if isinstance(value, (list, tuple)) and step == "*":
            rest = path[path.index(step) + 1 :]
            return max((_arg(rest, test, each) for each in value), default=NO)
        if isinstance(value, (list, tuple)) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif hasattr(value, "get") and step in value:
            value = value[step]
        else:
            return _test(test, _ABSENT)
    return _test(test, value)


def _test(test: Any, value: Any) -> int:
    if "not" in test:
        return negate(_test(test["not"], value))
    if "absent" in test:
        return YES if (value is _ABSENT) == test["absent"] else NO
    if value is _ABSENT:
        return NO
    if isinstance(value, str) and (HOLE in value or ("regex" in test and len(value) > test["regex"][1])):
        return MAYBE
    for name, argument in test.items():
        if name == "glob":
            holds = isinstance(value, (str, int, float)) and globs.matches(argument, _as_text(value))
        elif name == "equals":
            holds = type(value) is type(argument) and value == argument
        elif name == "in":
            holds = any(type(value) is type(each) and value == each for each in argument)
        elif name == "type":
            holds = _type_of(value) == argument or (argument == "number" and _type_of(value) == "integer")
        elif name == "regex":
            holds = isinstance(value, str) and _regex(argument[0]).search(value) is not None
        else:
            holds = compare({name: argument}, value)
        if not holds:
            return NO
    return YES


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", tuple: "array"}
    return names.get(type(value), "object")


_compiled: dict[str, re.Pattern[str]] = {}


def _regex(text: str) -> re.Pattern[str]:
    """The compiled expression, kept for good: the module's own cache forgets after 512."""
    found = _compiled.get(text)
    if found is None:
        import re  # few policies have any, and it takes longer to load than a call to judge

        found = _compiled[text] = re.compile(text)
    return found


def compare(test: Mapping[str, Any], value: Any) -> bool:
    """`lt`, `le`, `gt`, `ge`, `equals` on numbers; anything else is no match."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    for name, bound in test.items():
        if name == "lt":
            holds = value < bound
        elif name == "le":
            holds = value <= bound
        elif name == "gt":
            holds = value > bound
        elif name == "ge":
            holds = value >= bound
        else:
            holds = name == "equals" and value == bound
        if not holds:
            return False
    return True
