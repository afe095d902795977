"""Where something was written."""

from __future__ import annotations

from gateway.core.value import Value


class Source(Value):
    """A place in a file of a layer. `line` and `column` count from 1; 0 means the whole file."""

    layer: str
    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file
