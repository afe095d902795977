"""What a command prints, at a glance and in full: how much of it is seen, and when."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.render.printed import FIRST, LAST, ROWS, Printed

COUNT = "\r\x1b[K"


class Seen:
    """A terminal of 40 columns and a clock that stands still until it is moved."""

    def __init__(self, *, condensed: bool) -> None:
        self.parts: list[str] = []
        self.now = 0.0
        self.printed = Printed(self.parts.append, condensed, 40, lambda: self.now)

    def add(self, *chunks: str, stream: str = "stdout") -> None:
        for each in chunks:
            self.printed.add(stream, each)

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self.parts)


def lines(first: int, last: int) -> str:
    return "".join(f"{number}\n" for number in range(first, last + 1))


@pytest.mark.parametrize("condensed", [True, False])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_short_output_is_seen_whole_and_as_it_comes(condensed: bool, size: int) -> None:
    seen = Seen(condensed=condensed)
    text = lines(1, FIRST)
    seen.add(*[text[at : at + size] for at in range(0, len(text), size)])
    assert seen.text == text
    seen.printed.end()
    assert seen.text == text


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_at_a_glance_the_first_and_the_last_lines_of_a_long_output_are_seen(size: int) -> None:
    seen = Seen(condensed=True)
    text = lines(1, 100_000)[: 4_000 if size == 1 else None]
    last = text.count("\n")
    text = text[: text.rindex("\n") + 1]
    seen.add(*[text[at : at + size] for at in range(0, len(text), size)])
    seen.printed.end()
    end = f"… {last - FIRST - LAST:,} lines left out (--full shows them)\n" + lines(last - LAST + 1, last)
    assert seen.text.startswith(lines(1, FIRST) + COUNT + "… ")
    assert seen.text.endswith(COUNT + end)
    assert len(seen.text) < 1_000


def test_in_full_everything_is_seen_as_it_comes() -> None:
    seen = Seen(condensed=False)
    seen.add(lines(1, 500), "501")
    assert seen.text == lines(1, 500) + "501"
    seen.printed.end()
    assert seen.text == lines(1, 501)


def test_how_far_it_came_is_told_now_and_then() -> None:
    seen = Seen(condensed=True)
    seen.add(lines(1, FIRST), *["x\n"] * 1_000)
    assert seen.text == lines(1, FIRST) + f"{COUNT}… 21 lines"
    seen.now = 1.0
    seen.add("x\n")
    assert seen.text == lines(1, FIRST) + f"{COUNT}… 21 lines{COUNT}… 1,021 lines"


def test_one_line_without_end_takes_no_more_room_than_many() -> None:
    seen = Seen(condensed=True)
    seen.add(*["x" * 100_000] * 20)
    seen.printed.end()
    assert seen.text.startswith("x" * FIRST * 40 + "\n" + COUNT)
    assert seen.text.endswith("x\n")
    assert len(seen.text) < FIRST * 40 + ROWS * 40 + 100


def test_what_moves_the_cursor_is_seen_as_an_escape_wherever_it_stands() -> None:
    seen = Seen(condensed=True)
    seen.add("\x1b[2J\n" * 100)
    seen.printed.end()
    assert seen.text.replace(COUNT, "").count("\x1b") == 0
    assert seen.text.count("\\x1b[2J") == FIRST + LAST


def test_a_line_is_ended_before_anything_else_is_shown() -> None:
    seen = Seen(condensed=True)
    seen.add("no end")
    seen.printed.end()
    seen.printed.end()
    assert seen.text == "no end\n"


def test_the_lines_that_came_are_known_by_stream() -> None:
    seen = Seen(condensed=True)
    seen.add("a", "b\nc")
    seen.add("x\n", stream="stderr")
    seen.add("d\n")
    found: Any = seen.printed.lines()
    assert found == {"ab", "cd", "x", ""}
