"""A connection that waits for a decision, and the answer: shared by those who decide and those who hold it."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Asks(Protocol):
        """Who says whether a call may connect to what was not predicted. Called in threads of their own."""

        def judged(self, host: str, port: int) -> Answered | None:
            """What policy says by itself; None where a person has to say. Never raises."""

        def ask(self, dial: Dial, withdrawn: Callable[[], bool]) -> Answered:
            """What whoever is asked says, until `withdrawn` says that nobody waits for it any more. Never raises."""


class Dial(Value):
    """A connection that is held. `program`: who dialled, in words, "" where nobody can tell."""

    host: str
    port: int
    program: str = ""


class Answered(Value):
    """`by`: who said so, "" where it was policy. `rule`: the id of the rule behind it; `reason`: of a no."""

    allow: bool
    by: str = ""
    rule: str = ""
    reason: str = ""
