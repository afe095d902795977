"""What tests on arguments of calls say of their values.

Values stand in a text: their type and then themselves, nothing for one that is absent. So most tests are languages;
comparisons of numbers are spans, and what is no regular language is a dimension of its own.
"""

from __future__ import annotations

import functools
import json

from gateway.model.effect import HOLE
from gateway.policy import globs
from gateway.policy.algebra import patterns
from gateway.policy.algebra.languages import union
from gateway.policy.algebra.sets import ALL_NUMBERS, Some, Spans, Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.policy.algebra.languages import Language

    Limits = dict[str, Any]

_HOLDS = Some(frozenset((True,)))
_NATURAL = Spans(((0, True, float("inf"), True),), whole=True)
every_text = functools.cache(patterns.everything)


@functools.lru_cache(4096)
def glob(pattern: str, prefix: str = "") -> Language:
    """What a glob over texts matches, behind a prefix."""
    return patterns.text(globs.compile_glob(pattern), prefix=prefix)


def numbers(test: Any, *, whole: bool = False) -> Spans:
    """The numbers that pass `lt`, `le`, `gt`, `ge` and `equals`; `whole`: integers from 0."""
    low, at_low, high, at_high = float("-inf"), True, float("inf"), True
    for name, bound in test.items():
        if name in ("gt", "ge", "equals"):
            low, at_low = max((low, at_low), (bound, name != "gt"), key=lambda each: (each[0], not each[1]))
        if name in ("lt", "le", "equals"):
            high, at_high = min((high, at_high), (bound, name != "lt"))
    return Spans(((low, at_low, high, at_high),), whole=whole).both(_NATURAL if whole else ALL_NUMBERS)


def of_args(_name: str, value: Any, _allow: bool) -> list[Limits]:
    """The dimensions that tests on arguments limit."""
    limits: Limits = {}
    for place, test in value.items():
        for dimension, found in _of_test(place, test).items():
            limits[dimension] = limits[dimension].both(found) if dimension in limits else found
    return [limits]


# How values stand in a text: their type and then themselves, nothing for one that is absent.
_TYPES = {"string": "s", "boolean": "b", "null": "z", "array": "a", "object": "o"}


def _of_test(place: str, test: Any) -> Limits:
    """A test on an argument: a language over its values as texts, a span where it compares numbers, and for what is no
    regular language a dimension of its own."""
    name = f"args:{place}"
    inside: list[Language] = []
    outside: list[Language] = []
    limits: Limits = {}
    compared = {key: bound for key, bound in test.items() if key in ("lt", "le", "gt", "ge")}
    if compared:
        limits[f"number:{place}"] = numbers(compared)
        inside.append(glob("*", "n"))
    for key, argument in test.items():
        if key == "glob":
            inside.append(union([glob(argument, prefix) for prefix in "snb"]))
        elif key == "equals":
            inside.append(_value(argument))
            if isinstance(argument, (int, float)) and not isinstance(argument, bool):
                limits.setdefault(f"number:{place}", numbers({"equals": argument}))
        elif key == "in":
            inside.append(union([_value(each) for each in argument]))
        elif key == "type":
            if argument == "integer":
                outside += [glob(f"n*{sign}*") for sign in ".ein"]
            inside.append(glob("*", _TYPES.get(argument, "n")))
        elif key == "absent":
            (inside if argument else outside).append(glob(""))
        elif key == "regex":
            inside.append(glob("*", "s"))
            limits[f"regex:{place}:{argument}"] = _HOLDS
        elif key == "not":
            inner = _of_test(place, argument)
            plain: Any = inner.get(name)
            if set(inner) - {f"known:{name}"} == {name} and len(plain.inside) + len(plain.outside) == 1:
                inside += plain.outside
                outside += plain.inside
            else:
                limits[f"not:{place}:{json.dumps(argument, sort_keys=True, default=str)}"] = _HOLDS
    if set(test) != {"absent"}:
        limits[f"known:{name}"] = _HOLDS
    if inside or outside:
        limits[name] = Texts(every_text(), tuple(inside), tuple(outside))
    return limits


def _value(value: Any) -> Language:
    if value is None:
        return patterns.literal("z")
    if isinstance(value, bool):
        return patterns.literal("b" + str(value).lower())
    if isinstance(value, (int, float)):
        return patterns.literal(f"n{value}")
    if isinstance(value, str):
        return patterns.literal("s" + value.replace(HOLE, "\ufffd"))
    return patterns.literal(("a" if isinstance(value, list) else "o") + json.dumps(value, sort_keys=True, default=str))
