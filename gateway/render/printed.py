"""What a command prints, on a terminal as it comes: all of it, or at a glance its first lines and its last ones."""

from __future__ import annotations

from gateway.policy.wording import shortened
from gateway.render.texts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# At a glance so many lines are shown as they come, and so many of the end; a line takes no more rows than that.
FIRST, LAST, ROWS = 20, 10, 4
_KEPT = 1 << 14  # characters of the end
_PAUSE = 0.1  # between two counts, in seconds
_REPLACE = "\r\x1b[K"


class Printed:
    """The streams of one command. They are written as they come, whatever line the other one is in."""

    def __init__(
        self, write: Callable[[str], None], is_condensed: bool, width: int, clock: Callable[[], float]
    ) -> None:
        """`write` takes what is to be seen; `is_condensed`: at a glance, on a terminal of so many columns."""
        self._write = write
        self._is_condensed = is_condensed
        self._width = width
        self._clock = clock
        self._came: dict[str, list[str]] = {}
        self._lines = 0  # whole lines that came
        self._goes_on = False  # a line is not at its end
        self._room = FIRST * width  # characters that are still shown as they come
        self._first = 0  # lines that were shown as they came
        self._last = ""  # the end of what was not
        self._counted: float | None = None  # when the count was last shown

    def add(self, stream: str, text: str, form: Callable[[str], str] = shown) -> None:
        """What has come now. `form` makes of it what is to be seen."""
        self._came.setdefault(stream, []).append(text)
        self._lines += text.count("\n")
        if not self._is_condensed:
            self._goes_on = not text.endswith("\n")
            self._write(form(text))
            return
        if not self._last:
            end = min(_end_of_line(text, FIRST - self._first), self._room)
            if end:
                head, text = text[:end], text[end:]
                self._first += head.count("\n")
                self._room -= end
                self._goes_on = not head.endswith("\n")
                self._write(form(head))
        if text:
            self._last = (self._last + text)[-_KEPT:]
            self._count()

    def _count(self) -> None:
        """Says on one line how far it came, not more often than anybody can read."""
        now = self._clock()
        if self._counted is None and self._goes_on:
            self._write("\n")
        if self._counted is None or now - self._counted >= _PAUSE:
            self._counted = now
            self._write(f"{_REPLACE}… {self._lines:,} lines"[: len(_REPLACE) + self._width - 1])

    def end(self) -> None:
        """Nothing more will come: shows the end of what was left out, and ends the line."""
        if self._last:
            lines = self._last.removesuffix("\n").split("\n")[-LAST:]
            left_out = self._lines + (not self._last.endswith("\n")) - self._first - len(lines)
            said = f"… {left_out:,} lines left out (--full shows them)\n" if left_out > 0 else ""
            most = ROWS * self._width
            self._write(_REPLACE + said + "".join(shortened(shown(line), most) + "\n" for line in lines))
        elif self._goes_on:
            self._write("\n")
        self._last, self._goes_on = "", False

    def lines(self) -> frozenset[str]:
        """Every line that came, as it came."""
        return frozenset(line for texts in self._came.values() for line in "".join(texts).split("\n"))


def _end_of_line(text: str, number: int) -> int:
    """Where so many lines of a text end; its length where there are no more."""
    end = 0
    for _ in range(number):
        found = text.find("\n", end)
        if found < 0:
            return len(text)
        end = found + 1
    return end
