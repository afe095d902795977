"""One background thread for all listeners and connections.

Until the first client comes it only waits: a command that never uses the network does not pay for loading asyncio.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

_ABANDONED: list[asyncio.AbstractEventLoop] = []


class Loop:
    """Starts with `start`, ends with `close`. `submit` may be called from any thread, everything else from its own."""

    def __init__(self) -> None:
        self._orders: deque[Callable[[], None]] = deque()
        self._watched: dict[int, Callable[[], None]] = {}
        self._wake: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.running: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Starts the thread unless it runs. Raises OSError."""
        if self._thread is None:
            self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            self._thread = threading.Thread(target=self._main, name="gateway-egress", daemon=True)
            self._thread.start()

    def submit(self, order: Callable[[], None]) -> None:
        """Has something done in the thread, soon and in order. It must not raise."""
        self._orders.append(order)
        if self._wake is not None:
            with contextlib.suppress(BlockingIOError):  # then it is awake
                os.write(self._wake[1], b"x")

    def here(self) -> bool:
        """Whether this is the loop's own thread."""
        return threading.current_thread() is self._thread

    def close(self) -> None:
        """Ends the thread. Whatever is watched must have been let go."""
        thread = self._thread
        if thread is None or self._wake is None:
            return
        self.submit(self._stop)
        thread.join()
        for each in self._wake:
            os.close(each)
        self._thread = self._wake = None
        self._stopping = False
        self._orders.clear()

    def forget(self) -> None:
        """In a fork of this process, where the thread does not exist."""
        for each in self._wake or ():
            os.close(each)
        if self.running is not None:
            # Closing it would take descriptors out of a poll that the parent shares.
            _ABANDONED.append(self.running)
        self.running = self._thread = self._wake = None
        self._stopping = False
        self._orders = deque()
        self._watched = {}

    def watch(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Calls `ready` whenever a client waits. Called in the thread."""
        self._watched[listener.fileno()] = ready
        if self.running is not None:
            self.running.add_reader(listener.fileno(), ready)

    def unwatch(self, listener: socket.socket) -> None:
        """Calls nobody any more for this listener. Called in the thread."""
        if self._watched.pop(listener.fileno(), None) is not None and self.running is not None:
            self.running.remove_reader(listener.fileno())

    def _stop(self) -> None:
        self._stopping = True
        if self.running is not None:
            self.running.stop()

    def _obey(self) -> None:
        assert self._wake is not None
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake[0], 4096)
        while self._orders:
            self._orders.popleft()()

    def _main(self) -> None:
        if self._wait_for_a_client():
            import asyncio  # only now

            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            assert self._wake is not None
            loop.add_reader(self._wake[0], self._obey)
            for descriptor, ready in self._watched.items():
                loop.add_reader(descriptor, ready)
            self.running = loop
            loop.call_soon(self._obey)
            try:
                loop.run_forever()
            finally:
                self.running = None
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()

    def _wait_for_a_client(self) -> bool:
        """False when the end came first."""
        assert self._wake is not None
        while not self._stopping:
            poll = select.poll()
            poll.register(self._wake[0], select.POLLIN)
            for descriptor in self._watched:
                poll.register(descriptor, select.POLLIN)
            found = {descriptor for descriptor, _events in poll.poll()}
            if self._wake[0] in found:
                self._obey()
            elif found:
                return True
        return False


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Awaits something that blocks, in a thread of its own that nobody waits for when the process ends."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return  # cancelled meanwhile
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = function(*arguments)
        except Exception as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="gateway-egress-call", daemon=True).start()
    return await future
