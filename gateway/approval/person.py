"""Questions to a person that are not approvals: which way to go, whether a plan is right.

    class Person(Protocol):
        def answer(self, inquiries, *, cancelled) -> tuple[Reply, ...] | None

Whoever opens a session says who sits before it (`session.person`); None where nobody does. Nothing that a model writes
counts as an answer, and silence is none.
"""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol


class Choice(Value):
    """An answer to choose. `description`: what it means."""

    label: str
    description: str = ""


class Inquiry(Value):
    """`header`: a few letters for a tab; `body`: a longer text to read first; `several`: whether more than one may be
    chosen; `free`: whether the person may say something else ("Other")."""

    question: str
    choices: tuple[Choice, ...]
    header: str = ""
    body: str = ""
    several: bool = False
    free: bool = True


class Reply(Value):
    """`chosen`: labels of choices; `other`: what the person said instead or besides."""

    chosen: tuple[str, ...] = ()
    other: str = ""


if TYPE_CHECKING:

    class Person(Protocol):
        """Somebody before a session."""

        def answer(self, inquiries: Sequence[Inquiry], /, *, cancelled: Callable[[], bool]) -> tuple[Reply, ...] | None:
            """A reply to each, in order; None where nobody answers."""


class Asked:
    """Asks a function of whoever uses the library: a dialog, a message to a person."""

    def __init__(self, function: Callable[[Sequence[Inquiry]], Sequence[Reply] | None]) -> None:
        """It is called from the thread that runs the call."""
        self._function = function

    def answer(self, inquiries: Sequence[Inquiry], /, *, cancelled: Callable[[], bool]) -> tuple[Reply, ...] | None:
        """The function's replies."""
        found = None if cancelled() else self._function(inquiries)
        return None if found is None else tuple(found)


def replies(
    person: Person | None, inquiries: Sequence[Inquiry], cancelled: Callable[[], bool]
) -> tuple[Reply, ...] | None:
    """The person's replies if they are ones to these questions; None for anything else, and where nobody is there."""
    if person is None:
        return None
    try:
        found = person.answer(tuple(inquiries), cancelled=cancelled)
    except Exception:
        return None  # as silence: an answer that broke is none
    if found is None or len(found) != len(inquiries):
        return None
    fits = [isinstance(reply, Reply) and _fits(reply, each) for reply, each in zip(found, inquiries, strict=True)]
    return tuple(found) if all(fits) else None


def _fits(reply: Reply, inquiry: Inquiry) -> bool:
    labels = [each.label for each in inquiry.choices]
    if any(label not in labels for label in reply.chosen) or len(set(reply.chosen)) != len(reply.chosen):
        return False
    if reply.other and not inquiry.free:
        return False
    said = len(reply.chosen) + bool(reply.other)
    return said >= 1 if inquiry.several else said == 1
