"""A person at the terminal of `gateway agent`: what they type at the prompt, while the model works, and Ctrl-C."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING

from gateway.approval.terminal import between_questions
from gateway.core.cancel import Cancel
from gateway.frontends.output import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Self, TypeVar

    T = TypeVar("T")

_LOOK_EVERY = 0.1
_MOST_TYPED = 4096


class Keys:
    """What a person types, Ctrl-C included: it ends what runs; twice, or where nothing runs, the session."""

    def __init__(self) -> None:
        self._is_warned = False
        self._waiting: deque[str] = deque()

    def waits(self, line: str) -> None:
        """Has a line come before what is typed next."""
        self._waiting.append(line)

    def asked(self) -> str | None:
        """What is said next, None at the end."""
        import readline  # noqa: F401 - lines can be edited

        if self._waiting:
            return self._waiting.popleft()
        while True:
            try:
                found = input("\n> ")
            except EOFError:
                write("\n")
                return None
            except KeyboardInterrupt:
                if self._is_warned:
                    return None
                self._is_warned = True
                write("\n(Ctrl-C again, or Ctrl-D, ends the session)\n")
                continue
            self._is_warned = False
            return found

    def during(self, work: Callable[[Cancel], T]) -> T:
        """Lets something run that Ctrl-C ends."""
        cancel = Cancel()

        def stop(_number: int, _frame: object) -> None:
            if cancel.is_set:
                raise KeyboardInterrupt
            cancel.set()

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, stop)
        try:
            return work(cancel)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            cancel.close()

    def hearing(self, hear: Callable[[str], None]) -> AbstractContextManager[object]:
        """While it lasts, each line that is typed is given to `hear`, from another thread; one that begins with `/`
        waits until the work is done. What answers a question at the terminal is none of these."""

        def take(line: str) -> None:
            if line.startswith("/"):
                self.waits(line)
                write("(done when the model has ended)\n")
            else:
                hear(line)
                write("(told to the model before its next reply)\n")

        return _Hearing(take)


class _Hearing:
    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="gateway-typed", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ends.set()
        self._thread.join()

    def _listen(self) -> None:
        for line in self._lines(sys.stdin.fileno()):
            if line.strip():
                self._take(line.strip())

    def _lines(self, reading: int) -> Iterator[str]:
        """What is typed, a line at a time: the terminal gives none before its end."""
        while not self._ends.is_set():
            data = between_questions(lambda: _typed(reading), _LOOK_EVERY)
            if data == b"":
                return  # nothing more can be typed
            if data is not None:
                yield from data.decode("utf-8", "replace").splitlines()


def _typed(reading: int) -> bytes | None:
    """What was typed, None for nothing, b"" at the end of input."""
    if not select.select([reading], [], [], _LOOK_EVERY)[0]:
        return None
    try:
        return os.read(reading, _MOST_TYPED)
    except OSError:
        return b""
