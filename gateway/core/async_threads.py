"""Work on threads that asyncio waits for: a cancelled task has ended what it started before it goes on, however often
it is cancelled meanwhile."""

from __future__ import annotations

from gateway.core.cancel import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable
    from concurrent.futures import Executor
    from typing import Any


async def on_thread(does: Callable[[Cancel], Any], pool: Executor | None = None) -> Any:
    """Runs it on a thread, with a `Cancel` that is set when the task is cancelled, and closed when it has returned."""
    import asyncio

    cancel = Cancel()

    def run() -> Any:
        try:
            return does(cancel)
        finally:
            cancel.close()

    try:
        work = asyncio.get_running_loop().run_in_executor(pool, run)
    except BaseException:
        cancel.close()
        raise
    return await lasting(work, cancel.set)


def alone(does: Callable[[], Any], name: str) -> Future[Any]:
    """Runs it on a thread of its own, of this name: it may take as long as a person does to answer, and keeps no other
    work waiting meanwhile."""
    import asyncio
    import threading
    from concurrent.futures import Future as Promise

    work: Promise[Any] = Promise()

    def run() -> None:
        try:
            found = does()
        except BaseException as error:
            work.set_exception(error)
        else:
            work.set_result(found)

    work.set_running_or_notify_cancel()  # nobody can take it back
    waited = asyncio.wrap_future(work)
    threading.Thread(target=run, name=name, daemon=True).start()
    return waited


async def lasting(work: Future[Any], cancelled: Callable[[], object] = lambda: None) -> Any:
    """What it gives. Where whoever waits is cancelled, `cancelled` is called, and the cancellation goes on once the
    work is done."""
    interrupted = await _until_done(work, cancelled)
    if interrupted is None:
        return work.result()
    raise interrupted


async def ended(work: Future[Any]) -> None:
    """Cancels it if it is not done, and waits for its end. What came of it does not matter."""
    work.cancel()
    interrupted = await _until_done(work, lambda: None)
    if not work.cancelled():
        work.exception()  # which counts as having looked at it
    if interrupted is not None:
        raise interrupted


async def _until_done(work: Future[Any], cancelled: Callable[[], object]) -> BaseException | None:
    """Waits for it, and gives the cancellation that whoever waits has met on the way."""
    import asyncio

    interrupted: BaseException | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            interrupted = error
            cancelled()
    if interrupted is not None and not work.cancelled():
        work.exception()  # nobody else will look at it
    return interrupted
