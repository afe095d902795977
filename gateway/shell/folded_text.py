"""A text from which line continuations are taken out while it is read."""

from __future__ import annotations

from gateway.shell.guards import MAX_CONTINUATIONS, Refused

META = " \t\n;&|()<>"
"""What ends a word, where nothing quotes it."""


class FoldedText:
    """`text`: what was given, without the continuations met so far; `removed`: where one was, by positions in it.

    A backslash before the end of a line may stand between any two characters, of an operator too, but not everywhere:
    in single quotes it is itself. So only whoever reads knows which to fold.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.removed: list[int] = []

    def fold(self, at: int) -> None:
        """Takes out the continuation that stands there. Raises `Refused` where there are too many."""
        if len(self.removed) >= MAX_CONTINUATIONS:
            raise Refused("too many line continuations", at, at + 2)
        self.text = self.text[:at] + self.text[at + 2 :]
        self.removed.append(at)

    def peek(self, at: int) -> str:
        """The character at a position, after continuations there were folded; "" at the end."""
        while self.text.startswith("\\\n", at):
            self.fold(at)
        return self.text[at : at + 1]

    def line_end(self, at: int, folding: bool) -> int:
        """Where the line ends that begins there, after its continuations were folded if they are any (`folding`)."""
        begin = at
        while True:
            end = self.text.find("\n", at)
            if end < 0:
                return len(self.text)
            back = end
            while folding and back > begin and self.text[back - 1] == "\\":
                back -= 1
            if (end - back) % 2 == 0:
                return end
            self.fold(end - 1)
            at = end - 1
