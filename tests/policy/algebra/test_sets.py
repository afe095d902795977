"""The sets of each kind hold exactly what their operations say, tried on every value of a small universe."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from gateway.model.call import Call
from gateway.model.context import Context
from gateway.model.effect import HOLE
from gateway.policy import arguments, paths
from gateway.policy.algebra import dimensions, patterns
from gateway.policy.algebra.argument_values import every_text, numbers, of_args
from gateway.policy.algebra.sets import ALL_NUMBERS, LONE, Bits, Some, Spans, Texts
from gateway.policy.anchors import Anchors
from gateway.policy.predicates import PREDICATES
from gateway.policy.subject import YES, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

INFINITE = float("inf")
HALVES = [each / 2 for each in range(-3, 10)]


def _texts(*inside: str, outside: tuple[str, ...] = ()) -> Texts:
    return Texts(every_text(), tuple(map(patterns.literal, inside)), tuple(map(patterns.literal, outside)))


# A kind: sets of it, and values among which each of them that is not empty has one.
KINDS: dict[str, tuple[list[Any], list[Any]]] = {
    "some of a list": (
        [Some(frozenset(each), negated) for each in ("", "a", "ab", "bc") for negated in (False, True)],
        ["a", "b", "c", "something else"],
    ),
    "numbers": (
        [
            ALL_NUMBERS, Spans(()), Spans(((0, True, 2, False),)), Spans(((0, False, 2, True),)),
            Spans(((-INFINITE, True, 0, False),)), Spans(((1, True, 1, True),)), Spans(((3, False, INFINITE, True),)),
            Spans(((0, True, 1, True), (2, False, 3, False))),
        ],
        HALVES,
    ),
    "integers": (
        [
            Spans(((0, True, INFINITE, True),), True), Spans((), True), Spans(((0, True, 2, False),), True),
            Spans(((1, False, 3, True),), True), Spans(((2, True, 2, True),), True),
            Spans(((0, False, 1, True), (3, True, 4, False)), True),
        ],
        [0, 1, 2, 3, 4, 5],
    ),
    "moments": ([Bits(each) for each in (0, 1, 0b1010, 0b0110, 0b1111)], [0, 1, 2, 3]),
    "texts": (
        [_texts(), _texts("a"), _texts("b"), _texts(outside=("a",)), _texts("a", outside=("b",)),
         _texts(outside=("a", "b"))],
        ["a", "b", "c", ""],
    ),
    "hosts": (
        [
            dimensions.hosts(each, grow=False)
            for each in ([], ["x.org"], ["10.0.0.0/8"], ["10.0.0.1", "::1"], ["*"], ["private"], ["x.org", "::/64"])
        ],
        ["x.org", "y.org", (4, 0x0A000001), (4, 0x0A000002), (4, 0x01010101), (6, 1), (6, 2), (6, 1 << 127), LONE],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_two_sets_have_in_common_and_what_one_has_alone(kind: str) -> None:
    sets, values = KINDS[kind]
    for one, other in itertools.product(sets, repeat=2):
        left = one.without(other)
        found = [(one.both(other).holds(each), any(rest.holds(each) for rest in left)) for each in values]
        held = [(one.holds(each), other.holds(each)) for each in values]
        assert found == [(first and second, first and not second) for first, second in held], (one, other)
        assert all(each.holds(each.sample()) for each in left), (one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_is_in_its_set_and_there_is_none_where_that_is_empty(kind: str) -> None:
    sets, values = KINDS[kind]
    found = [(each.sample() is not None, each.sample() is not None and each.holds(each.sample())) for each in sets]
    assert found == [(held, held) for held in (any(map(each.holds, values)) for each in sets)]


BOUNDS = [
    {"lt": 2}, {"le": 2}, {"gt": 2}, {"ge": 2}, {"equals": 2}, {"gt": 1, "ge": 1}, {"lt": 3, "le": 3},
    {"gt": 0, "le": 3}, {"ge": 2, "equals": 2}, {"gt": 2, "equals": 2}, {"lt": 2, "equals": 2}, {},
]  # fmt: skip


@pytest.mark.parametrize("test", BOUNDS, ids=str)
def test_numbers_are_those_that_a_comparison_lets_pass(test: dict[str, float]) -> None:
    passing = [each for each in HALVES if arguments.compare(test, each)]
    assert [each for each in HALVES if numbers(test).holds(each)] == passing
    whole = [each for each in passing if each >= 0 and each == int(each)]
    assert [each for each in range(5) if numbers(test, whole=True).holds(each)] == whole


def test_patterns_of_the_whole_file_system_hold_behind_what_is_not_known() -> None:
    written = ["/", "/*", "/**", "/**/a", "/a", "/a/**", "/*/a"]
    found = {each: [*map(sorted, dimensions.FORMS["paths"]("path", [each], True))] for each in written}
    sure = {each: bool(paths.lookup_possible(paths.build([(each, 1)]), f"{HOLE}/a")[0]) for each in written}
    plain, behind = ["known:path", "path"], ["known:path", "unknown path"]
    assert found == {each: [plain, behind] if sure[each] else [plain] for each in written}


MISSING = object()
VALUES = ("a", "ab", "b", "", 5, 5.5, 4, 9, 5e20, True, False, None, [1], {"y": 1}, "missing", MISSING)
ARGUMENTS: list[dict[str, Any]] = [
    {"glob": "a*"}, {"glob": "*"}, {"glob": "5*"}, {"glob": "t*"}, {"equals": 5}, {"equals": 5.5}, {"equals": "ab"},
    {"equals": True}, {"equals": None}, {"equals": [1]}, {"equals": {"y": 1}}, {"in": ["ab", 5, False]},
    {"lt": 5}, {"le": 5}, {"gt": 5}, {"ge": 5, "lt": 9}, {"absent": True}, {"absent": False},
    {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"},
    {"type": "array"}, {"type": "object"}, {"not": {"glob": "a*"}}, {"not": {"absent": True}},
    {"not": {"equals": "ab"}},
]  # fmt: skip


def _written(value: Any) -> str:
    if value is MISSING:
        return ""
    name = {str: "string", bool: "boolean", type(None): "null", list: "array", dict: "object"}.get(type(value), "")
    return (
        {"string": "s", "boolean": "b", "null": "z", "array": "a", "object": "o", "": "n"}[name]
        + {"array": "[1]", "object": '{"y": 1}', "null": "", "boolean": str(value).lower()}.get(name, str(value))
    )  # fmt: skip


@pytest.mark.parametrize("test", ARGUMENTS, ids=str)
def test_values_of_an_argument_are_those_that_pass_its_test(test: dict[str, Any]) -> None:
    (limits,) = of_args("args", {"x": test}, True)

    def holds(value: Any) -> bool:
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
        spans = limits.get("number:x")
        return limits["args:x"].holds(_written(value)) and (spans is None or (numeric and spans.holds(value)))

    prepared = arguments.prepare({"x": test})
    passing = [each for each in VALUES if arguments.answer(prepared, {} if each is MISSING else {"x": each}) == YES]
    assert [each for each in VALUES if holds(each)] == passing
    assert ("known:args:x" in limits) is (set(test) != {"absent"})


@pytest.mark.parametrize(
    ("test", "dimension"),
    [
        ({"not": {"equals": 4}}, 'not:x:{"equals": 4}'),
        ({"not": {"type": "integer"}}, 'not:x:{"type": "integer"}'),
        ({"not": {"regex": "a"}}, 'not:x:{"regex": "a"}'),
    ],
)
def test_what_is_no_language_is_a_dimension_of_its_own(test: dict[str, Any], dimension: str) -> None:
    holds = Some(frozenset((True,)))
    assert of_args("args", {"x": test}, True) == [{dimension: holds, "known:args:x": holds}]


WINDOWS: list[dict[str, Any]] = [
    {}, {"from": "09:00", "to": "17:30"}, {"from": "22:00", "to": "06:00"}, {"from": "08:00"}, {"to": "08:00"},
    {"days": ["mon", "sun"]}, {"days": ["tue", "wed"], "from": "22:00", "to": "06:00"},
    {"days": ["sun"], "from": "22:00", "to": "06:00"}, {"from": "06:00", "to": "06:00"},
]  # fmt: skip
FIRST_MONDAY = 4 * 24 * 60  # 1970 began on a Thursday
MINUTES = [
    ((day * 24 + hour) * 60 + minute + by) % (7 * 24 * 60)
    for day in range(7)
    for hour, minute in ((0, 1), (6, 0), (8, 0), (9, 0), (17, 30), (22, 0), (23, 58))
    for by in (-1, 0, 1)
]


@pytest.mark.parametrize("allow", [True, False], ids=["to allow", "to forbid"])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_moments_of_a_week_are_those_that_a_window_lets_pass(window: Mapping[str, Any], allow: bool) -> None:
    (limits,) = dimensions.FORMS["time"]("time", window, allow)
    predicate = PREDICATES["time"]
    prepared = predicate.prepare(window, Anchors("/p", "/p", "/p", "/h", False))
    subject = Subject(Call("T", {}, ""), Context("/p", "/p", "/h", ("/p",)))
    subject.allow = allow
    passing = []
    for each in MINUTES:
        subject.context = subject.context.replace(now=(FIRST_MONDAY + each) * 60.0)
        passing += [each] if predicate.test(prepared, subject) == YES else []
    assert [each for each in MINUTES if limits["time"].holds(each)] == passing
