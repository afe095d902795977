"""What a gateway that was killed has left half done: the next one that looks finishes it."""

from __future__ import annotations

from contextlib import suppress
from time import time

from gateway.sandbox.changes.keeping import keep
from gateway.sandbox.changes.leaving import finish
from gateway.sandbox.changes.store import KEEPING, RUNNING, UNDOING
from gateway.sandbox.changes.undo import undo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.changes.store import Store

_WAITS = 3600.0  # seconds in which a call that somebody else makes may yet change something


def finish_orphans(store: Store) -> None:
    """Those whose gateway ended before it could: what is there now is what their calls left, and what a person has said
    is to be kept is kept. Raises StoreError."""
    for each in store.sets():
        if store.has_owner(each):
            continue
        if each.state == KEEPING:
            keep(store, each.number)
        elif each.state == RUNNING:
            with suppress(OSError):
                finish(store, each, may_come=time() - each.time < _WAITS)


def finish_begun(store: Store) -> None:
    """The same, and what an undo that was killed has begun. Raises StoreError."""
    finish_orphans(store)
    for each in store.sets():
        if each.state == UNDOING:
            undo(store, each.number)
