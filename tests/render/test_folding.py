"""Long lists, folded to their beginning and the number of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.render.folding import MOST, folded, folded_value

WORDS = [f"w{n}" for n in range(9)]
LONG, SHORT = f"[{', '.join(WORDS)}]", f"[{', '.join(WORDS[:MOST])}]"
FOLDED = "[w0, w1, w2, w3, … 5 more]"

TEXTS = [
    ("a list that fits", f"deny Bash({SHORT})", f"deny Bash({SHORT})"),
    ("a long one", f"allow {{command: {LONG}}}", f"allow {{command: {FOLDED}}}"),
    ("in a list of mappings", f"[{{exec: [{LONG}]}}, {{path: {SHORT}}}]", f"[{{exec: [{FOLDED}]}}, {{path: {SHORT}}}]"),
    ("many mappings", f"[{', '.join(['{a: b}'] * 9)}]", f"[{', '.join(['{a: b}'] * 9)}]"),
    ("after a pattern with braces", f"[a{{b,c}}*, {', '.join(WORDS)}]", "[a{b,c}*, w0, w1, w2, … 6 more]"),
    ("where brackets do not match", f"deny Bash([x) {LONG}", f"deny Bash([x) {LONG}"),
    ("where one closes too much", f"{LONG}]", f"{LONG}]"),
    ("no list", "deny Read(.env)", "deny Read(.env)"),
    ("nothing in it", "[]", "[]"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS])
def test_the_text_of_a_rule_keeps_its_form(text: str, expected: str) -> None:
    assert folded(text) == expected


@given(st.text(alphabet="a,[]{} ", max_size=60))
def test_whatever_the_text_it_is_folded_or_left_as_it_is(text: str) -> None:
    assert folded(text) == text or "more" in folded(text)


VALUES: list[tuple[Any, str]] = [
    ("off", "off"),
    (True, "true"),
    (["a", "b"], '["a", "b"]'),
    (WORDS, '["w0", "w1", "w2", "w3", … 5 more]'),
    ({"env": WORDS, "n": 1}, '{"env": ["w0", "w1", "w2", "w3", … 5 more], "n": 1}'),
    ("é", "é"),
    (["é"], '["é"]'),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=[expected[:12] for _, expected in VALUES])
def test_the_value_of_a_setting_is_told_like_json(value: Any, expected: str) -> None:
    assert folded_value(value) == expected
