"""The fallback tokens of texts that can't be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.shell.tokens import MAX_TOKENS, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm -rf /", ("rm", "-rf", "/")),
        ("echo 'rm x", ("echo", "rm", "x")),
        ('r""m "a b"', ("rm", "a", "b")),
        ("r\\m r\\\nm", ("rm", "rm")),
        ("a;b&&c|d(e)", ("a", "b", "c", "d", "e")),
        ('"$(rm `ls`)"', ("rm", "ls")),
        ("$'\\x72m'", ("rm",)),
        ("r\u200bm x\0y\ra", ("rm", "xy", "a")),
        ("${x:-rm}", ("x:-rm",)),
        ("<(rm)>f", ("rm", "f")),
        ("", ()),
    ],
)
def test_every_word_comes_out(text, expected):
    assert tokens(text) == expected


def test_very_many_tokens_keep_every_different_one():
    found = tokens("a " * (MAX_TOKENS + 1) + "rm")
    assert found == ("a", "rm")


@given(st.text())
def test_any_text_has_tokens_without_blanks_or_operators(text):
    assert not any(set(token) & set(" \t\n;&|()<>`'\"") for token in tokens(text))
