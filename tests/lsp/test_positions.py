"""Characters as people count them, and the units of the protocol."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lsp.positions import ENCODINGS, STRIDE, UTF8, UTF16, UTF32, Counted, character, lines_of, place, units

LINE = "a😀é→b"
CODEC = {UTF8: ("utf-8", 1), UTF16: ("utf-16-le", 2), UTF32: ("utf-32-le", 4)}


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [(UTF8, [0, 1, 5, 7, 10, 11, 11]), (UTF16, [0, 1, 3, 4, 5, 6, 6]), (UTF32, [0, 1, 2, 3, 4, 5, 5])],
    ids=["bytes", "UTF-16", "code points"],
)
def test_units_before_each_character(encoding: str, expected: list[int]) -> None:
    assert [units(LINE, number, encoding) for number in range(7)] == expected


@given(st.text(), st.integers(0, 50), st.sampled_from(ENCODINGS))
def test_a_character_comes_back_from_its_units(line: str, number: int, encoding: str) -> None:
    number = min(number, len(line))
    codec, size = CODEC[encoding]
    before = units(line, number, encoding)
    assert before * size == len(line[:number].encode(codec, "surrogatepass"))
    assert character(line, before, encoding) == number


@given(st.text(), st.integers(0, 10**9), st.sampled_from(ENCODINGS))
def test_a_unit_of_whatever_size_is_a_place_in_the_line(line: str, offset: int, encoding: str) -> None:
    assert 0 <= character(line, offset, encoding) <= len(line)


PARTS = st.lists(st.sampled_from(["a" * 700, "é" * 900, "😀" * 800, "→x" * 500, "b😀"]), max_size=24)


@given(PARTS, st.lists(st.integers(0, 60_000), max_size=6), st.sampled_from(ENCODINGS))
def test_a_long_line_is_counted_as_a_short_one_is(parts: list[str], offsets: list[int], encoding: str) -> None:
    line, counted = "".join(parts), Counted(encoding)
    assert [counted.character(line, each) for each in offsets] == [character(line, each, encoding) for each in offsets]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("length", [STRIDE - 1, STRIDE, STRIDE + 1, 2 * STRIDE, 2 * STRIDE + 1])
def test_each_character_where_the_counting_begins_anew_comes_back(length: int, encoding: str) -> None:
    line, counted = "😀é" * (length // 2) + "a" * (length % 2), Counted(encoding)
    for number in (0, 1, STRIDE - 1, STRIDE, STRIDE + 1, length - 1, length):
        if number <= length:
            assert counted.character(line, units(line, number, encoding)) == number


def test_lines_end_as_the_protocol_has_it() -> None:
    assert lines_of("a\r\nb\nc\rd\u2028e\x0bf\n") == ["a", "b", "c", "d\u2028e\x0bf", ""]


@pytest.mark.parametrize(
    "position",
    [None, [], {}, {"line": 1}, {"line": "1", "character": 2}, {"line": -1, "character": 0},
     {"line": 1.5, "character": 0}, {"line": 1 << 40, "character": 0}, {"line": 0, "character": -1}],
    ids=str,
)  # fmt: skip
def test_what_is_no_position_is_none(position: Any) -> None:
    assert place(position) is None


def test_a_position_is_a_line_and_a_unit() -> None:
    assert place({"line": 3, "character": 4}) == (3, 4)
