"""Words of `command:` tools: how values are spelled, and what is no word."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.core.errors import CallError
from gateway.tools.argv import argv, command_text

ALONE = [[{"text": "x"}], [{"field": "f", "required": True}]]
INSIDE = [[{"text": "x"}], [{"text": "--f="}, {"field": "f", "required": True}]]


@pytest.mark.parametrize(
    ("value", "spelled"),
    [("", ""), ("None", "None"), (True, "true"), (False, "false"), (0, "0"), (-7, "-7"), (1.5, "1.5")],
    ids=repr,
)
def test_a_value_is_spelled_the_same_alone_in_a_word_and_in_a_list(value: Any, spelled: str) -> None:
    assert argv(ALONE, {"f": value}) == ["x", spelled]
    assert argv(INSIDE, {"f": value}) == ["x", f"--f={spelled}"]
    assert argv(ALONE, {"f": (value, value)}) == ["x", spelled, spelled]


def test_null_is_a_word_in_a_list_and_no_value_elsewhere() -> None:
    assert argv(ALONE, {"f": (None, 1)}) == ["x", "null", "1"]
    assert argv(ALONE, {"f": None}) is None
    assert argv(ALONE, {"f": ()}) == ["x"]


@pytest.mark.parametrize(
    ("template", "value", "complaint"),
    [
        (ALONE, ({"a": 1},), "$.f[0]: must be a text, a number, true, false or null (got an object)"),
        (ALONE, (1, (1, 2)), "$.f[1]: must be a text, a number, true, false or null (got an array)"),
        (ALONE, {"a": 1}, "$.f: must be a text, a number, true, false or null (got an object)"),
        (INSIDE, (1,), "$.f: must be a text, a number, true, false or null (got an array)"),
        (INSIDE, float("inf"), "$.f: must be a text, a number, true, false or null (got `inf`)"),
    ],
    ids=["an object in a list", "a list in a list", "an object", "a list in a word", "an infinite number"],
)
def test_what_is_no_word_is_refused_where_it_stands(template: Any, value: Any, complaint: str) -> None:
    for spell in (argv, command_text):
        with pytest.raises(CallError) as raised:
            spell(template, {"f": value})
        assert str(raised.value) == complaint
