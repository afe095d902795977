"""Cancellation of a call from another thread, as something that can be waited for beside other descriptors."""

from __future__ import annotations

import os
import threading
from time import sleep

from gateway.core.signal_wakeup import wait_readable


class Cancel:
    """Ends a call from another thread. It may be set before the call has started, and stays set."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._lock = threading.Lock()
        self.is_set = False

    def set(self) -> None:
        """Ends the call with all its processes; returns at once."""
        with self._lock:
            if not self.is_set:
                self.is_set = True
                if self._write >= 0:
                    os.write(self._write, b"x")

    def fileno(self) -> int:
        """Readable once it is set."""
        return self._read

    def wait(self, seconds: float) -> bool:
        """Whether it is set within so many seconds."""
        if self._read < 0:
            sleep(seconds)
        elif not self.is_set:
            wait_readable(self._read, seconds)
        return self.is_set

    def close(self) -> None:
        """Gives the descriptors back, when no call uses it any more."""
        with self._lock:
            for descriptor in (self._read, self._write):
                if descriptor >= 0:
                    os.close(descriptor)
            self._read = self._write = -1


class Never(Cancel):
    """What a call that nobody can cancel is handed. It has no descriptors, so that none is taken at the start."""

    def __init__(self) -> None:
        self._read = self._write = -1
        self._lock = threading.Lock()
        self.is_set = False

    def set(self) -> None:
        """Nobody can: all such calls share it."""


NEVER = Never()
