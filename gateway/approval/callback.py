"""Approval by a function of whoever uses the library: a dialog, a message to a person, a rule of their own."""

from __future__ import annotations

from gateway.approval.base import Answer, Decided, no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.approval.base import Dialled, Question, Review


class Callback:
    """Asks a function. What it raises is a no."""

    def __init__(
        self,
        function: Callable[[Question], Answer | bool | None],
        *,
        name: str = "console",
        review: Callable[[Review], Decided | bool | None] | None = None,
        dialled: Callable[[Dialled], Answer | bool | None] | None = None,
    ) -> None:
        """`function` may answer True or False for this once. It is called from the thread that runs the call. `name`:
        which of the policy's `approvers` it stands for. `review`: answers what becomes of what a call has changed, True
        to keep all of it; without it such calls are asked about before they run. `dialled` answers whether a call that
        runs may connect to a host that nobody predicted, in a thread of its own, within a minute; without it such a
        connection is refused."""
        self.name = name
        self._function = function
        self._review = review
        self._dialled = dialled

    def ask(self, question: Question) -> Answer | None:
        """The function's answer."""
        return _answered(self._function, question)

    @property
    def dials(self) -> bool:
        """Whether it can be asked while a call runs."""
        return self._dialled is not None

    def dialled(self, question: Dialled) -> Answer | None:
        """The function's answer."""
        return None if self._dialled is None else _answered(self._dialled, question)

    @property
    def reviews(self) -> bool:
        """Whether it can be asked when a call has ended."""
        return self._review is not None

    def review(self, review: Review) -> Decided | None:
        """The function's answer. What it raises is none, so that nothing is lost."""
        if self._review is None:
            return None
        try:
            found = self._review(review)
        except Exception:
            return None
        return Decided(found, "callback") if isinstance(found, bool) else found


def _answered(function: Callable[[Any], Answer | bool | None], question: Any) -> Answer | None:
    try:
        found = function(question)
    except Exception as error:
        return no("callback", f"asking failed: {type(error).__name__}")
    if found is True:
        return Answer(True, "once", "callback")
    return no("callback") if found is False else found
