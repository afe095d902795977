"""Room for Python's frames in one piece.

Python 3.11 and later keep frames in pieces of 16 KB, get a piece from the system with the call that needs it and give
it back when that call ends. A loop that happens to stand at the end of a piece pays two system calls and a page fault
for each call in it, some hundred times what a call costs; tests, so far below pytest, do so everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
# In words. A piece is a power of two that holds the frame that needs it: so a frame of a little more than 1 MB has as
# much again behind it.
_LARGE = 140_000


def in_one_piece(run: Callable[[], Result]) -> Result:
    """What `run` returns; its frames, and those of all that it calls in this thread, lie in one piece."""
    return run()


in_one_piece.__code__ = in_one_piece.__code__.replace(co_stacksize=_LARGE)
