"""Tests on the arguments of tools: what each condition says of each value, and where a path leads."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.effect import HOLE
from gateway.policy.arguments import answer, compare, prepare
from gateway.policy.subject import MAYBE, NO, YES

NUMBERS: tuple[tuple[dict[str, Any], tuple[object, ...], tuple[object, ...]], ...] = (
    ({"lt": 3}, (2, 2.9, -1), (3, 3.1, True, "2", None)),
    ({"le": 3}, (2, 3), (3.1, 4, False)),
    ({"gt": 3}, (3.1, 4), (3, 2, True)),
    ({"ge": 3}, (3, 4), (2.9, 2, "3")),
    ({"equals": 3}, (3, 3.0), (2, 4, True)),
    ({"ge": 1, "lt": 3}, (1, 2), (0, 3)),
    ({"unheard-of": 3}, (), (3,)),
)


@pytest.mark.parametrize(("test", "holds", "fails"), NUMBERS, ids=str)
def test_numbers_are_compared_and_nothing_else_is_one(test, holds, fails) -> None:
    assert [each for each in (*holds, *fails) if compare(test, each)] == list(holds)


TESTS: dict[str, tuple[dict[str, Any], tuple[object, ...], tuple[object, ...]]] = {
    "a glob is tried on texts and on what is written as one": (
        {"glob": "1*"}, ("1", "12", 12, 1.5), ("2", 21, None, ["1"], {"a": 1})),
    "truth is written small": ({"glob": "true"}, ("true", True), ("True", False)),
    "equals is of the same type": ({"equals": 1}, (1,), (2, True, "1", 1.0)),
    "one of several, of the same type": ({"in": [1, "a"]}, (1, "a"), (2, "b", True, 1.0, None)),
    "a number may be whole": ({"type": "number"}, (1, 1.5), (True, "1", None)),
    "a whole one is no other": ({"type": "integer"}, (1,), (1.5, True)),
    "truth is no number": ({"type": "boolean"}, (True, False), (1, 0, "true")),
    "texts": ({"type": "string"}, ("", "a"), (1, None)),
    "lists": ({"type": "array"}, ([], (1,)), ({}, "a")),
    "mappings": ({"type": "object"}, ({}, {"a": 1}), ([], None)),
    "nothing": ({"type": "null"}, (None,), (0, "", False)),
    "an expression is looked for in texts alone": ({"regex": "b+"}, ("abc",), ("ac", 1, None)),
    "a number that is compared": ({"gt": 1}, (2,), (1, "2")),
    "all of several": ({"type": "integer", "lt": 5}, (4,), (5, 4.5)),
    "the contrary": ({"not": {"equals": 1}}, (2, "1"), (1,)),
    "what is there is not absent": ({"absent": False}, (1, None, ""), ()),
    "nor is it missed": ({"absent": True}, (), (1, None)),
}  # fmt: skip


@pytest.mark.parametrize("name", TESTS)
def test_each_condition_holds_of_the_values_that_it_speaks_of(name: str) -> None:
    test, holds, fails = TESTS[name]
    found = {repr(each): answer(prepare({"a": test}), {"a": each}) for each in (*holds, *fails)}
    assert found == {**{repr(each): YES for each in holds}, **{repr(each): NO for each in fails}}


GIVEN = {"a": {"b": [{"c": 1}, {"c": 2}, 3]}, "list": [4, 5], "text": "xy"}
PLACES = {
    "a.b.0.c": {1}, "a.b.1.c": {2}, "a.b.2": {3}, "a.b.3": set(), "a.b.*.c": {1, 2}, "list.*": {4, 5}, "list.0": {4},
    "list.2": set(), "list.-1": set(), "list.x": set(), "a.x": set(), "x": set(), "text.0": set(), "a.b.*.x": set(),
}  # fmt: skip


@pytest.mark.parametrize("path", PLACES)
def test_a_path_leads_through_mappings_and_lists(path: str) -> None:
    found = {number for number in range(1, 6) if answer(prepare({path: {"equals": number}}), GIVEN) is YES}
    assert found == PLACES[path]
    is_one = "*" not in path
    assert not is_one or (answer(prepare({path: {"absent": True}}), GIVEN) is YES) == (not PLACES[path])


def test_every_argument_that_is_tested_must_hold() -> None:
    both = prepare({"a": {"equals": 1}, "b": {"equals": 2}})
    assert [answer(both, each) for each in ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1}, {})] == [YES, NO, NO, NO]
    assert answer([], {}) is YES


@pytest.mark.parametrize("test", [{"equals": "x"}, {"glob": "x"}, {"regex": "x"}, {"not": {"equals": "x"}}])
def test_of_what_is_not_known_nothing_can_be_told(test: dict[str, Any]) -> None:
    assert answer(prepare({"a": test}), {"a": f"x{HOLE}"}) == MAYBE


def test_nor_of_a_text_that_is_too_long_for_an_expression() -> None:
    tests = prepare({"a": {"regex": "(a|b)*c"}})
    longest = tests[0][1]["regex"][1]
    assert [answer(tests, {"a": "c" * size}) for size in (longest, longest + 1)] == [YES, MAYBE]


def test_of_entries_of_a_list_the_answer_that_holds_most_counts() -> None:
    tests = prepare({"a.*": {"equals": "x"}})
    found = [answer(tests, {"a": each}) for each in (["y", "x"], ["y", HOLE], [HOLE, "x"], ["y"], [])]
    assert found == [YES, MAYBE, YES, NO, NO]
