"""Data of a judged call cannot change, and still is data."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import CallError
from gateway.tools.frozen import FrozenDict, freeze, readable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_frozen_data_is_the_same_data_and_hashable(value):
    frozen = freeze(value)
    assert json.loads(json.dumps(frozen)) == value
    assert freeze(frozen) == frozen
    assert hash(frozen) == hash(freeze(copy.deepcopy(value)))


def test_frozen_data_can_be_copied_and_sent_to_another_process():
    frozen = freeze({"a": [1, {"b": None}]})
    assert copy.copy(frozen) is frozen
    assert copy.deepcopy(frozen) is frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert isinstance(frozen["a"][1], FrozenDict)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_what_json_has_no_number_for_is_no_input(number):
    for value in (number, [number], {"a": {"b": number}}):
        with pytest.raises(CallError, match="nothing but JSON values"):
            freeze(value)
    assert freeze([1e308, -0.0]) == (1e308, -0.0)


def test_an_input_that_is_none_can_be_told_all_the_same():
    given_ = {"a": "x", "b": float("nan"), "c": object(), 1: [2], "d": [float("inf")]}
    assert readable(given_) == {"a": "x", "b": "nan", "c": "(object)", "1": (2,), "d": "(list)"}
    assert readable(None) == readable(7) == {}
    assert readable({"a": [1]}) == freeze({"a": [1]})
