"""A policy rule as verdicts and explanations show it, and where it was written."""

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


class Rule(Value):
    """One rule with its origin.

    `lane`: deny, ask, allow or require. `level`: enforce, or warn and observe, which are recorded but decide
    nothing. `text`: the rule on one line. `because` and `instead` are the message for the model.
    """

    id: str
    lane: str
    source: Source
    text: str
    because: str = ""
    instead: str = ""
    lock: bool = False
    level: str = "enforce"
