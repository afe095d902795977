"""Lines of a file by number: what they are, and how much of the file is looked at for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.calls.reads import Marks
from gateway.handlers import files_lines
from gateway.handlers.files_lines import STEP, Found, Line, lines_from


class File:
    """Bytes that count how many of them are looked at."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.marks = Marks()
        self.looked = 0

    def read(self, at: int, size: int) -> bytes:
        found = self.data[at : at + size]
        self.looked += len(found)
        return found

    def lines(self, first: int, limit: int, *, longest: int = 100, most: int = 1 << 30, end: bytes = b"\n") -> Found:
        return lines_from(self.read, self.marks, first, limit, longest=longest, most=most, end=end)


def split(data: bytes, end: bytes = b"\n") -> list[bytes]:
    parts = data.split(end)
    return parts if parts[-1] else parts[:-1]


@given(
    st.lists(st.binary(max_size=6), max_size=60).map(b"\n".join),
    st.lists(st.tuples(st.integers(1, 70), st.integers(1, 70)), min_size=1, max_size=4),
    st.sampled_from([1, 2, 3, 7, 64]),
    st.sampled_from([b"\n", b"\r"]),
)
def test_the_lines_are_those_of_the_text_in_whatever_order_they_are_asked_for(
    data: bytes, asked: list[tuple[int, int]], step: int, end: bytes
) -> None:
    before = files_lines.STEP
    files_lines.STEP = step
    try:
        file, lines = File(data), split(data, end)
        for first, limit in asked:
            found = file.lines(first, limit, longest=4, end=end)
            wanted = lines[first - 1 : first - 1 + limit]
            assert found.lines == tuple(Line(line[:4], len(line) > 4) for line in wanted)
            assert found.more == (first - 1 + limit < len(lines) and bool(wanted))
            assert found.total in (-1, len(lines))
            if not wanted and first > 1:
                assert found.total == len(lines)
    finally:
        files_lines.STEP = before


@pytest.fixture(scope="module")
def numbered() -> bytes:
    """About 10 MB."""
    return b"".join(b"%07d\n" % number for number in range(1, 1_300_001))


def test_the_start_of_a_large_file_takes_one_look(numbered: bytes) -> None:
    file = File(numbered)
    assert file.lines(1, 10).lines[-1] == Line(b"0000010", False)
    assert file.looked <= STEP


def test_whoever_pages_on_looks_only_at_what_is_returned(numbered: bytes) -> None:
    file = File(numbered)
    file.lines(1_200_000, 50)
    first = file.looked
    assert first <= len(numbered) + 2 * STEP
    for page in range(1, 20):
        found = file.lines(1_200_000 + 50 * page, 50)
        assert found.lines[0] == Line(b"%07d" % (1_200_000 + 50 * page), False)
    assert file.looked - first <= 19 * 3 * STEP


def test_going_back_looks_at_nothing_twice(numbered: bytes) -> None:
    file = File(numbered)
    file.lines(1_300_000, 1)
    first = file.looked
    assert file.lines(650_000, 2).lines == (Line(b"0650000", False), Line(b"0650001", False))
    assert file.looked - first <= 3 * STEP


def test_the_end_is_known_once_it_was_seen(numbered: bytes) -> None:
    file = File(numbered)
    assert file.lines(1_300_001, 1) == Found((), False, False, 1_300_000)
    assert file.lines(1, 1).total == 1_300_000


def test_a_line_without_end_is_not_kept() -> None:
    file = File(b"x" * (8 * STEP) + b"\nlast")
    assert file.lines(1, 2).lines == (Line(b"x" * 100, True), Line(b"last", False))


def test_lines_that_come_to_too_much_end_the_look() -> None:
    file = File((b"y" * 99 + b"\n") * 100_000)
    found = file.lines(1, 100_000, most=5_000)
    assert (len(found.lines), found.is_full, found.more) == (50, True, True)
    assert file.looked <= STEP


@pytest.mark.parametrize(("start", "expected"), [(0, b"\xef\xbb\xbfone"), (3, b"one")])
def test_a_mark_before_the_text_is_left_out(start: int, expected: bytes) -> None:
    file = File(b"\xef\xbb\xbfone\ntwo")
    found = lines_from(file.read, file.marks, 1, 1, longest=9, most=99, start=start)
    assert found.lines == (Line(expected, False),)


def test_a_look_can_be_ended_from_outside(numbered: bytes) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    file = File(numbered)
    with pytest.raises(Stopped):
        lines_from(file.read, file.marks, 1_000_000, 1, longest=9, most=99, stop=stop)
    assert file.looked == 0
