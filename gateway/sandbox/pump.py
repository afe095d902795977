"""Moves bytes between a running command and its caller: output is bounded and handed on as it comes.

One poll waits for output, the end of the command, a cancel and the deadline; nothing here sleeps or looks twice.
"""

from __future__ import annotations

import os
import select
from time import monotonic

from gateway.core.signal_wakeup import Signalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Listener = Callable[[int, bytes], None]

CHUNK = 1 << 16
STDOUT, STDERR = 1, 2
# After the tree has ended nothing can write any more; what the pipes still hold is read, but not for ever.
DRAIN_SECONDS = 2.0


class Kept:
    """The beginning and the end of a stream, at most `most` bytes in all; 0 keeps everything."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Takes what was read."""
        self.total += len(data)
        if not self.most:
            self._head += data
            return
        room = self.most - self.most // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            if len(self._tail) > 4 * self.most:
                del self._tail[: -(self.most // 2) or None]

    def bytes(self) -> bytes:
        """What is kept, the end directly behind the beginning."""
        return bytes(self._head + self._end())

    @property
    def dropped(self) -> int:
        """How many bytes between beginning and end were not kept."""
        return self.total - len(self._head) - len(self._end())

    def _end(self) -> bytearray:
        half = self.most // 2
        return self._tail if not self.most or len(self._tail) <= half else self._tail[len(self._tail) - half :]


class Pump:
    """Reads what a command prints and writes what it is told, until it has ended, is cancelled or is out of time.

    `exited` and `cancelled` are descriptors that become readable (`cancelled` -1: nobody cancels); `sources` maps a
    descriptor to the stream it carries; `more` makes the next bytes to tell it, at most so many, empty at their end.
    The descriptors stay the caller's."""

    def __init__(
        self,
        exited: int,
        cancelled: int,
        sources: dict[int, int],
        kept: dict[int, Kept],
        listener: Listener | None = None,
        sink: int = -1,
        more: Callable[[int], bytes] | None = None,
    ) -> None:
        self.sources = dict(sources)
        self.kept = kept
        self.listener = listener
        self.sink = sink
        self.unwritten = memoryview(b"")
        self._more = more
        self.exited = exited
        self.cancelled = cancelled
        self._poll = select.poll()
        for descriptor in (exited, cancelled, *self.sources):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)
        if sink >= 0:
            os.set_blocking(sink, False)
            self._poll.register(sink, select.POLLOUT)

    def run(self, deadline: float, held: Callable[[], float] = lambda: 0.0) -> str:
        """Until something ends it: "exited", "cancelled" or "timeout". `deadline`: of the monotonic clock; `held`: how
        many seconds later it is by now."""
        with Signalled() as signals:
            if signals.descriptor >= 0:
                self._poll.register(signals.descriptor, select.POLLIN)
            try:
                return self._until(deadline, held, signals)
            finally:
                if signals.descriptor >= 0:
                    self._poll.unregister(signals.descriptor)

    def _until(self, deadline: float, held: Callable[[], float], signals: Signalled) -> str:
        while True:
            left = deadline + held() - monotonic()
            if left <= 0:
                return "timeout"
            ready = {descriptor for descriptor, _event in self._poll.poll(min(left * 1000 + 1, 2**30))}
            if self.cancelled in ready:
                return "cancelled"
            if signals.descriptor in ready:
                signals.hear()
            self._serve(ready)
            if self.exited in ready:
                return "exited"

    def drain(self) -> None:
        """What the pipes still hold, once the tree has ended."""
        self.close_sink()
        self._poll.unregister(self.exited)
        if self.cancelled >= 0:
            self._poll.unregister(self.cancelled)
        deadline = monotonic() + DRAIN_SECONDS
        while self.sources and (left := deadline - monotonic()) > 0:
            self._serve({descriptor for descriptor, _event in self._poll.poll(left * 1000 + 1)})

    def _serve(self, ready: set[int]) -> None:
        if self.sink in ready:
            self._write()
        for descriptor in ready & self.sources.keys():
            data = os.read(descriptor, CHUNK)
            stream = self.sources[descriptor]
            if not data:
                self.leave(descriptor)
                continue
            self.kept[stream].add(data)
            if self.listener is not None:
                self.listener(stream, data)

    def leave(self, descriptor: int) -> None:
        """Reads this one no more. It stays the caller's."""
        self._poll.unregister(descriptor)
        del self.sources[descriptor]

    def _write(self) -> None:
        if not self.unwritten and self._more is not None:
            self.unwritten = memoryview(self._more(CHUNK))
        if not self.unwritten:
            self.close_sink()
            return
        try:
            self.unwritten = self.unwritten[os.write(self.sink, self.unwritten) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the command reads no more
            self.close_sink()

    def close_sink(self) -> None:
        """Tells the command nothing more."""
        if self.sink >= 0:
            self._poll.unregister(self.sink)
            os.close(self.sink)
            self.sink = -1
