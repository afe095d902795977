"""Pauses the garbage collector while many long-lived values are made."""

from __future__ import annotations

import gc

_is_kept = False


def keep() -> None:
    """What there is by now stays as long as the process: no search for garbage looks through it any more."""
    global _is_kept
    _is_kept = True
    gc.freeze()


class Uncollected:
    """No collection while it is entered; what was made in between counts as old afterwards, so that it is not looked
    through at once. Loading ten thousand rules takes half the time."""

    __slots__ = ("_collects",)

    def __enter__(self) -> None:
        self._collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *_error: object) -> None:
        if not self._collects:
            return
        # Nobody keeps anything frozen that this would thaw; to count it takes as long as there is much of it.
        if not _is_kept and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.enable()
