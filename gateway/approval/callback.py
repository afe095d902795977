"""Approval by a function of whoever uses the library: a dialog, a message to a person, a rule of their own."""

from __future__ import annotations

from gateway.approval.base import Answer, Decided, no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Question, Review


class Callback:
    """Asks a function. What it raises is a no."""

    def __init__(
        self,
        function: Callable[[Question], Answer | bool | None],
        *,
        name: str = "console",
        review: Callable[[Review], Decided | bool | None] | None = None,
    ) -> None:
        """`function` may answer True or False for this once. It is called from the thread that runs the call. `name`:
        which of the policy's `approvers` it stands for. `review`: answers what becomes of what a call has changed, True
        to keep all of it; without it such calls are asked about before they run."""
        self.name = name
        self._function = function
        self._review = review

    def ask(self, question: Question) -> Answer | None:
        """The function's answer."""
        try:
            found = self._function(question)
        except Exception as error:
            return no("callback", f"asking failed: {type(error).__name__}")
        if found is True:
            return Answer(True, "once", "callback")
        return no("callback") if found is False else found

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
