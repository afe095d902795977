"""Delivers signals at once to a loop that waits for a descriptor.

Python runs a signal's handler between two instructions. A signal that comes in the moment before a blocking call begins
is only noted: its handler runs when that call returns, which may be never. So whoever waits waits for one descriptor
more, which the interpreter itself writes to when a signal comes.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from time import monotonic

from gateway.core import plain_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class Signalled:
    """While it is entered, `descriptor` is readable once a signal that has a handler has come. Outside the main thread,
    where no handler runs, it is -1. Signals that came meanwhile are told to whoever was told of them before, an event
    loop for one."""

    def __init__(self) -> None:
        self.descriptor = self._told = self._before = -1
        self._heard = bytearray()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.descriptor, self._told = os.pipe()
            os.set_blocking(self.descriptor, False)
            os.set_blocking(self._told, False)
            self._before = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
        return self

    def hear(self) -> None:
        """Empties the descriptor: the handlers have run."""
        try:
            while data := os.read(self.descriptor, 512):
                self._heard += data
        except BlockingIOError:
            return

    def __exit__(self, *_error: object) -> None:
        if self.descriptor < 0:
            return
        signal.set_wakeup_fd(self._before)
        self.hear()
        os.close(self.descriptor)
        os.close(self._told)
        if self._before >= 0 and self._heard:
            with suppress(BlockingIOError):  # whoever reads it is woken by what is in it already
                os.write(self._before, self._heard)


def wait_readable(descriptor: int, seconds: float = float("inf")) -> bool:
    """Whether it is readable, waiting up to so many seconds for that. Handlers run as soon as their signals come."""
    deadline = monotonic() + seconds
    poll = select.poll()  # not `select`, which takes no descriptor above 1023
    poll.register(descriptor, select.POLLIN)
    with Signalled() as signals:
        if signals.descriptor >= 0:
            poll.register(signals.descriptor, select.POLLIN)
        while True:
            left = max(0.0, deadline - monotonic())
            ready = {each for each, _event in poll.poll(min(left * 1000, 2**30))}
            if descriptor in ready:
                return True
            if signals.descriptor in ready:
                signals.hear()
            elif not ready and left * 1000 < 2**30:
                return False
