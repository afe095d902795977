"""What a terminal can show: colour, width, and how many columns a character takes."""

from __future__ import annotations

import os

from gateway.core.value import Value
from gateway.policy.wording import visible_character

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

PLAIN_WIDTH = 100
MIN_WIDTH = 40
MAX_WIDTH = 160
_CODES = {"deny": "1;31", "ask": "1;33", "allow": "1;32", "strong": "1", "dim": "2"}


class Style(Value):
    """How to write: `width` columns, with or without colour."""

    width: int = PLAIN_WIDTH
    colour: bool = False

    def paint(self, text: str, name: str) -> str:
        """The text in the colour of that name, where there is colour."""
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.colour and text else text


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at the stream; a closed one is None or fails."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def style_for(stream: TextIO | None) -> Style:
    """The style of a stream: colour on a terminal that can, unless NO_COLOR is set; the terminal's width."""
    if stream is None or not is_terminal(stream):
        return Style()
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and len(wanted) < 5:
        columns = int(wanted)
    width = min(max(columns or PLAIN_WIDTH, MIN_WIDTH), MAX_WIDTH)
    return Style(width, not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def columns_of(text: str) -> int:
    """How many columns a text of visible characters takes."""
    if text.replace("…", "").isascii():
        return len(text)
    import unicodedata

    total = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Mc"):
            continue
        total += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return total


class Excerpt(Value):
    """A line of a text around a span, with everything in it visible: `line[:]` and where the mark goes, in columns."""

    line: str
    before: int
    marked: int


def excerpt(text: str, span: tuple[int, int] | None, width: int) -> Excerpt:
    """The part of `text` around `span` that fits in `width` columns; what was left out shows as `…`."""
    start, end = span if span is not None else (0, 0)
    before = _cells(text[max(0, start - width) : start])
    after = _cells(text[end : end + width])
    inside = text[start:end]
    if len(inside) > width * 2:
        inside = f"{inside[:width]}…{inside[-width:]}"
    middle = _fit_middle(_cells(inside), max(width - 8, 4) if before or after else width)
    room = width - _width(middle)
    more_before, more_after = start > width, len(text) > end + width
    need_before = _width(before) + more_before
    need_after = _width(after) + more_after
    give_after = min(need_after, max(room // 2, room - need_before))
    before = _keep(before, min(need_before, room - give_after), more_before, from_end=True)
    after = _keep(after, give_after, more_after, from_end=False)
    line = "".join(cell for cell, _ in (*before, *middle, *after))
    return Excerpt(line, _width(before), _width(middle))


_Cells = list[tuple[str, int]]


def _cells(text: str) -> _Cells:
    return [(shown, columns_of(shown)) for shown in map(visible_character, text)]


def _width(cells: _Cells) -> int:
    return sum(columns for _, columns in cells)


_CUT = ("…", 1)


def _keep(cells: _Cells, room: int, more: bool, *, from_end: bool) -> _Cells:
    """As many cells as fit, from one end, with a mark where some are left out."""
    if _width(cells) <= room and not more:
        return cells
    kept: _Cells = []
    left = room - 1
    for cell in reversed(cells) if from_end else cells:
        if cell[1] > left:
            break
        kept.append(cell)
        left -= cell[1]
    if room < 1:
        return []
    return [_CUT, *reversed(kept)] if from_end else [*kept, _CUT]


def _fit_middle(cells: _Cells, room: int) -> _Cells:
    """The cells with their middle left out if they take more than `room`."""
    if _width(cells) <= room:
        return cells
    head = _keep(cells, (room - 1) * 2 // 3 + 1, True, from_end=False)
    tail = _keep(cells, room - _width(head) + 1, True, from_end=True)
    return [*head, *tail[1:]]


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at blanks; a longer word is broken where it must be."""
    found: list[str] = []
    line = ""
    for word in text.split(" "):
        rest = word
        room = width - columns_of(line) - 1 if line else width
        while columns_of(rest) > room:
            if line and (columns_of(rest) <= width or room < width // 2):
                found.append(line)
            else:
                cut = _fitting(rest, room)
                found.append(f"{line} {rest[:cut]}" if line else rest[:cut])
                rest = rest[cut:]
            line, room = "", width
        line = f"{line} {rest}" if line else rest
    return [*found, line] if line or not found else found


def _fitting(text: str, columns: int) -> int:
    """How many characters of the text fit, at least one."""
    fits = 0
    while fits < len(text) and columns_of(text[: fits + 1]) <= columns:
        fits += 1
    return max(fits, 1)


def clipped(text: str, columns: int) -> str:
    """The start of the text, with a mark where the rest is left out."""
    return text if columns_of(text) <= columns else text[: _fitting(text, columns - 1)] + "…"
