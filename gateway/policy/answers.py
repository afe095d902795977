"""The three answers of a match, ordered so that `min` is "and" and `max` is "or".

`MAYBE`: it holds only if a part of the call that is not known yet takes the right value. For deny and ask it counts,
for allow it does not.
"""

from __future__ import annotations

NO, MAYBE, YES = 0, 1, 2


def negate(answer: int) -> int:
    """The answer to the opposite question; what may be may also not be."""
    return YES - answer
