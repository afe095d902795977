"""A call that is paused (its processes are frozen): nothing of it can write over what a person reads or
read what they type."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress

from gateway.sandbox.spawn import open_process, send, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 2.0
_LOOK_EVERY = 0.01
_STANDING = frozenset(b"TtZX")


@contextmanager
def stopped(root: int) -> Iterator[bool]:
    """Has all processes of a call stand still, whose first process on the host is given, for as long as the block
    runs; what stood still before does so after it. False where that cannot be had: then nothing is stopped."""
    held: dict[int, int] = {}  # pidfds of those that were stopped here
    try:
        yield _stop(root, held)
    finally:
        for pidfd in held.values():
            send(pidfd, signal.SIGCONT)
            os.close(pidfd)


def _stop(root: int, held: dict[int, int]) -> bool:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        going = [pid for pid in tree(root)[1:] if not _stands(pid)]
        if not going:
            return True  # who could start another one stands still
        for pid in going:
            if pid in held:
                continue
            pidfd = open_process(pid)
            # By the descriptor, and only what is certainly of this call: numbers are given again.
            if pidfd >= 0 and pid in tree(root):
                held[pid] = pidfd
                send(pidfd, signal.SIGSTOP)
            elif pidfd >= 0:
                os.close(pidfd)
        time.sleep(_LOOK_EVERY)
    for pid in list(held):
        send(held[pid], signal.SIGCONT)
        os.close(held.pop(pid))
    return False


def _stands(pid: int) -> bool:
    """Whether all threads of a process stand still, or have ended: the first one may end before others."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    return all(_state(f"{pid}/task/{thread}") in _STANDING for thread in threads)


def _state(thread: str) -> int:
    """The letter of its state, that of what has ended where it is gone."""
    with suppress(OSError, IndexError), open(f"/proc/{thread}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0][0]
    return ord("X")
