"""Approval by a function of whoever uses the library: a dialog, a message to a person, a rule of their own."""

from __future__ import annotations

from gateway.approval.base import Answer, no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Question


class Callback:
    """Asks a function. What it raises is a no."""

    def __init__(self, function: Callable[[Question], Answer | bool | None], *, name: str = "console") -> None:
        """`function` may answer True or False for this once. It is called from the thread that runs the call. `name`:
        which of the policy's `approvers` it stands for."""
        self.name = name
        self._function = function

    def ask(self, question: Question) -> Answer | None:
        """The function's answer."""
        try:
            found = self._function(question)
        except Exception as error:
            return no("callback", f"asking failed: {type(error).__name__}")
        if found is True:
            return Answer(True, "once", "callback")
        return no("callback") if found is False else found
