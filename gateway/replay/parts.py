"""Maps a function over many parts of work, in this process or in several, with the same results in the same order.

A function is given as a class that is made once by whoever works, from values that can be pickled, and called for each
part: what is expensive to make is made once.
"""

from __future__ import annotations

import os

from gateway.core.gc_pause import keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.pool import Pool
    from typing import Any

PROCESS, POOL, RAY = "process", "pool", "ray"
WAYS = (PROCESS, POOL, RAY)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_parts(
    make: Callable[[], Callable[[Any], Any]], parts: Sequence[Any], *, how: str = POOL, workers: int = 0
) -> Iterator[Any]:
    """`make()(part)` of each part, in order. `how`: one of `WAYS`; `workers`: how many work, 0 for all processors.
    What the function raises is raised here."""
    count = min(workers or cores(), len(parts))
    if how == RAY and parts:
        from gateway.replay.on_ray import map_on_ray  # lazy: an extra

        yield from map_on_ray(make, parts, workers or cores())
    elif how == PROCESS or count < 2 or not hasattr(os, "fork"):
        if parts:
            work = make()
            try:
                for part in parts:
                    yield work(part)
            finally:
                if hasattr(work, "close"):
                    work.close()
    else:
        with _pool(count, make, parts) as pool:
            yield from pool.imap(_work, range(len(parts)))


def _pool(count: int, make: Callable[[], Callable[[Any], Any]], parts: Sequence[Any]) -> Pool:
    """Whoever works has the parts from the beginning, and is told the number of one."""
    import multiprocessing
    import signal

    # The signal that ends them waits until they take it as they must: see `_begin`. Threads of the pool, which start
    # others in the place of workers that ended, keep this mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        return multiprocessing.get_context("fork").Pool(count, _begin, (make, parts))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_working: list[tuple[Callable[[Any], Any], Sequence[Any]]] = []


def _begin(make: Callable[[], Callable[[Any], Any]], parts: Sequence[Any]) -> None:
    import signal

    # A handler of whoever started it would only note the signal here, and the pool would wait for it for ever.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it is told, and ends it
    keep()
    _working[:] = [(make(), parts)]


def _work(number: int) -> Any:
    work, parts = _working[0]
    return work(parts[number])
