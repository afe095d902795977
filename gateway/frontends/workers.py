"""A long batch judged on every core: processes that were forked when the policies had been loaded.

Each reads the file itself and judges every n-th chunk of lines; the parent hands their answers on in the order of the
lines. A worker that dies loses nothing: its chunks are judged by the parent.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

CHUNK = 128  # lines
MOST = 8
LEAST_SIZE = 100_000  # bytes of a file that it is worth it for: some hundred milliseconds of work


def workers_for(size: int) -> int:
    """How many processes judge a file of this size; 1 where it is done without others."""
    if size < LEAST_SIZE or not hasattr(os, "fork"):
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST)


def chunks(lines: Iterator[bytes | None]) -> Iterator[list[bytes | None]]:
    """The lines in groups of `CHUNK`."""
    chunk: list[bytes | None] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class Workers:
    """Processes that each run `judge` on every n-th chunk of a file. `judge` gives the answers to a chunk, how many
    calls were judged, and the exit status so far."""

    def __init__(
        self, count: int, opened: Callable[[], Iterator[list[bytes | None]]], judge: Callable[..., tuple[str, int, int]]
    ) -> None:
        self._pipes: list[BinaryIO | None] = []
        self._children: list[int] = []
        for number in range(count):
            ours, theirs = os.pipe()
            child = os.fork()
            if not child:
                _work(number, count, theirs, opened, judge)
            os.close(theirs)
            self._children.append(child)
            self._pipes.append(os.fdopen(ours, "rb"))

    def answer(self, index: int) -> tuple[str, int, int] | None:
        """What the worker whose turn it is made of the chunk of this index; None if it did not answer."""
        at = index % len(self._pipes)
        pipe = self._pipes[at]
        if pipe is None:
            return None
        try:
            size, judged, status = (int(number) for number in pipe.readline().split())
            text = pipe.read(size)
        except ValueError:  # it has died, and said nothing or half a line
            text = b""
            size = -1
        if len(text) != size:
            self._pipes[at] = None
            pipe.close()
            return None
        return text.decode("utf-8", "surrogatepass"), judged, status

    def close(self) -> None:
        """Ends them, and waits until they have."""
        for pipe in self._pipes:
            if pipe is not None:
                pipe.close()
        for child in self._children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _work(
    number: int,
    count: int,
    pipe: int,
    opened: Callable[[], Iterator[list[bytes | None]]],
    judge: Callable[..., tuple[str, int, int]],
) -> None:
    """The life of a worker; it never returns, so that nothing of the parent's runs twice."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says what an interrupt means
        with open(pipe, "wb") as out:
            for index, chunk in enumerate(opened()):
                if index % count == number:
                    text, judged, status = judge(chunk)
                    data = text.encode("utf-8", "surrogatepass")
                    out.write(b"%d %d %d\n" % (len(data), judged, status))
                    out.write(data)
                    out.flush()
    except BaseException:
        os._exit(1)  # the parent judges what is missing
    os._exit(0)
