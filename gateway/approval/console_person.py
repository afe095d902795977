"""The person at the terminal answers questions that are not approvals: by number, or in words of their own."""

from __future__ import annotations

import termios

from gateway.approval.person import Reply
from gateway.approval.terminal import SECONDS, at_terminal, forget_input, typed_line, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.approval.person import Inquiry

# More than an approval takes: an answer in words may be long, and thinking too.
MOST_TYPED = 4_000
_TRIES = 3


class AtConsole:
    """Asks at the controlling terminal, or at the descriptors given. Silence, the end of input and answers that are
    none three times over are no answer."""

    def __init__(
        self,
        visible: Callable[[str], str],
        *,
        seconds: float = 2 * SECONDS,
        streams: tuple[int, int] | None = None,
    ) -> None:
        """`visible` makes a text safe to show, line by line: what a model wrote must not move the cursor."""
        self._visible = visible
        self._seconds = seconds
        self._streams = streams

    def answer(self, inquiries: Sequence[Inquiry], /, *, cancelled: Callable[[], bool]) -> tuple[Reply, ...] | None:
        """The person's replies; None where nobody answers."""

        def ask(reading: int, writing: int) -> tuple[Reply, ...] | None:
            found: list[Reply] = []
            try:
                for each in inquiries:
                    reply = self._one(each, reading, writing, cancelled)
                    if reply is None:
                        write(writing, "\n")
                        return None
                    found.append(reply)
            except (OSError, termios.error):
                return None  # the terminal is gone
            return tuple(found)

        return at_terminal(ask, self._streams)

    def _one(self, inquiry: Inquiry, reading: int, writing: int, cancelled: Callable[[], bool]) -> Reply | None:
        text = self._text(inquiry)
        for _ in range(_TRIES):
            forget_input(reading)
            write(writing, text)
            line = typed_line(reading, self._seconds, cancelled, MOST_TYPED)
            if line is None:
                return None
            reply = understood(line, inquiry)
            if reply is not None:
                return reply
            text = f"That was none of the answers. {_prompt(inquiry)}"
        return None

    def _text(self, inquiry: Inquiry) -> str:
        def shown(text: str) -> str:
            return "\n".join(map(self._visible, text.split("\n")))

        lines = [""]
        if inquiry.body:
            lines += [shown(inquiry.body), ""]
        lines.append((f"[{shown(inquiry.header)}] " if inquiry.header else "") + shown(inquiry.question))
        for number, each in enumerate(inquiry.choices, 1):
            lines.append(
                f"  {number}  {shown(each.label)}" + (f": {shown(each.description)}" if each.description else "")
            )
        if inquiry.free:
            lines.append("  or say it in your own words")
        return "\n".join(lines) + f"\n{_prompt(inquiry)}"


def _prompt(inquiry: Inquiry) -> str:
    most = len(inquiry.choices)
    return f"[1-{most}{', several with commas' if inquiry.several else ''}] "


def understood(line: str, inquiry: Inquiry) -> Reply | None:
    """What a line answers: numbers of choices, their labels, or other words where there may be any; None for no
    answer."""
    line = line.strip()
    if not line or line == "?":
        return None
    by_name = {each.label.casefold(): each.label for each in inquiry.choices}
    by_name |= {str(number): each.label for number, each in enumerate(inquiry.choices, 1)}
    if line.casefold() in by_name:
        return Reply((by_name[line.casefold()],))
    parts = [part.strip().casefold() for part in line.split(",")]
    if inquiry.several and all(part in by_name for part in parts):
        return Reply(tuple(dict.fromkeys(by_name[part] for part in parts)))
    numbers = all(part.isdecimal() for part in parts)  # a slip of the finger is no answer in words
    return Reply(other=line) if inquiry.free and not numbers else None
