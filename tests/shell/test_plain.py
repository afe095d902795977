"""What counts as plain is exactly this expression, letter by letter, without loading `re` for it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.shell.guards import PLAIN_LETTERS, PLAIN_NAME
from gateway.shell.plain import is_plain

PLAIN = re.compile(rf"[A-Za-z_./][{PLAIN_NAME}]*(?: +[{PLAIN_LETTERS}]+)*")
EDGES = "".join(map(chr, range(0x20, 0x7F))) + "\n\t\0é\u00a0\u212a\uff41"


@pytest.mark.parametrize("letter", EDGES, ids=ascii)
def test_every_letter_in_every_place(letter: str) -> None:
    for text in (
        letter,
        f"{letter}s",
        f"l{letter}",
        f"ls {letter}",
        f"ls a{letter}b",
        f"ls{letter} a",
        f"ls a {letter}",
    ):
        assert is_plain(text) == (PLAIN.fullmatch(text) is not None), text


@given(st.text(alphabet="a1 =./-%\n'é", max_size=12))
def test_any_text(text: str) -> None:
    assert is_plain(text) == (PLAIN.fullmatch(text) is not None)
