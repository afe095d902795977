"""Places in a text: characters as people and models count them, and the units in which a server counts. Pure."""

from __future__ import annotations

from bisect import bisect_right

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
ENCODINGS = (UTF16, UTF32, UTF8)
_MOST = 1 << 31
# Characters between two that are counted to once for all questions about a line; a shorter line is counted each time.
STRIDE = 1 << 12
# Of a character, the bytes behind its first in UTF-8; of a half in UTF-16, the byte that says that it is a second one.
_FOLLOWING, _SECOND = bytes(range(0x80, 0xC0)), bytes(range(0xDC, 0xE0))


def lines_of(text: str) -> list[str]:
    """The lines of a text as the protocol counts them, without what ends them."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def units(line: str, character: int, encoding: str) -> int:
    """How many units lie before a character of a line, counted from 0."""
    return _length(line[:character], encoding)


def _length(text: str, encoding: str) -> int:
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def character(line: str, offset: int, encoding: str) -> int:
    """The character of a line at which so many units have gone by; the last place of the line for more."""
    if encoding == UTF32 or line.isascii():
        return min(offset, len(line))
    before = line[:offset]  # a character has at least one unit
    if encoding == UTF8:
        return len(before.encode("utf-8", "surrogatepass")[:offset].translate(None, _FOLLOWING))
    return len(before.encode("utf-16-le", "surrogatepass")[1 : 2 * offset : 2].translate(None, _SECOND))


class Counted:
    """The characters of the lines of one answer. However many places in a line it names, the line is gone through
    once."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._known: dict[str, list[int]] = {}

    def character(self, line: str, offset: int) -> int:
        """As `character`."""
        if len(line) <= STRIDE or self._encoding == UTF32 or line.isascii():
            return character(line, offset, self._encoding)
        marks = self._known.get(line)
        if marks is None:
            marks = self._known[line] = _marks(line, self._encoding)
        number = bisect_right(marks, offset) - 1
        start = number * STRIDE
        return start + character(line[start : start + STRIDE], offset - marks[number], self._encoding)


def _marks(line: str, encoding: str) -> list[int]:
    """How many units lie before each character whose number is a multiple of the stride."""
    found = [0]
    for start in range(0, len(line) - STRIDE, STRIDE):
        found.append(found[-1] + _length(line[start : start + STRIDE], encoding))
    return found


def place(position: object) -> tuple[int, int] | None:
    """Line and unit of a position that a server names, both from 0; None for what is none."""
    if not isinstance(position, dict):
        return None
    line, unit = position.get("line"), position.get("character")
    if isinstance(line, int) and isinstance(unit, int) and 0 <= line < _MOST and unit >= 0:
        return int(line), min(int(unit), _MOST)
    return None
