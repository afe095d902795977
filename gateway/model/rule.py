"""A policy rule as verdicts and explanations show it."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.source import Source


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
