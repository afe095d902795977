"""What a predicate looks at, and its three answers, ordered so that `min` is "and" and `max` is "or".

`MAYBE`: it holds only if a part of the call that is not known yet takes the right value. For deny and ask it counts,
for allow it does not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.call import Call
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.effect import Effect, Item

NO, MAYBE, YES = 0, 1, 2


class Subject:
    """What is being judged: one effect of one call, seen from one lane. Reused from effect to effect. `items`: every
    effect of the call, None where nobody has said them."""

    __slots__ = ("allow", "call", "context", "effect", "items", "part")

    call: Call
    context: Context
    effect: Effect | None
    part: Part | None
    items: tuple[Item, ...] | None
    allow: bool

    def __init__(self, call: Call, context: Context) -> None:
        self.call = call
        self.context = context
        self.effect = self.part = self.items = None
        self.allow = False


def negate(answer: int) -> int:
    """The answer to the opposite question; what may be may also not be."""
    return YES - answer
