"""The three answers behave as the enumeration that they are declared as."""

from __future__ import annotations

import copy
import json
import pickle
from enum import IntEnum
from typing import Any

import pytest

from gateway.model.decision import Decision


class Usual(IntEnum):
    """What `enum` makes of the same."""

    ALLOW = 0
    ASK = 1
    DENY = 2


def seen(kind: Any) -> list[Any]:
    """What a program may ask of such a class."""
    return [
        [(each.name, each.value, repr(each).partition(".")[2], str(each), f"{each}", hash(each)) for each in kind],
        [kind(each.value) is each and kind[each.name] is each and each in kind for each in kind],
        [copy.deepcopy(each) is each and copy.copy(each) is each for each in kind],
        max(kind.ALLOW, kind.DENY, kind.ASK) is kind.DENY,
        sorted(kind, reverse=True) == [2, 1, 0],
        len(kind),
        json.dumps({"a": kind.ASK}),
        kind.ALLOW < kind.ASK < kind.DENY,
        bool(kind.ALLOW),
        {kind.ALLOW: "x"}[0],
    ]


def test_all_that_an_enumeration_does() -> None:
    assert seen(Decision) == seen(Usual)
    assert [pickle.loads(pickle.dumps(each)) is each for each in Decision] == [True] * 3


@pytest.mark.parametrize("value", [3, -1, "ALLOW", None])
def test_nothing_else_is_a_decision(value: Any) -> None:
    with pytest.raises(ValueError, match="no decision"):
        Decision(value)
    with pytest.raises(KeyError):
        Decision[f"{value}x"]


def test_words_are_those_of_policies() -> None:
    assert [each.word for each in Decision] == ["allow", "ask", "deny"]
