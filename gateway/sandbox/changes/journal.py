"""What a call is about to change, a line each, on the disk before it does."""

from __future__ import annotations

import errno
import os

from gateway.core.plainjson import encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_encode = encoder(between=",", after_key=":")


class Journal:
    """A file of lines that are only added. Used by one thread at a time."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self._held: list[str] = []
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, line: list[Any]) -> None:
        """One line, there before this returns, as are those that were held. Raises OSError."""
        self.hold(line)
        self.flush()

    def hold(self, line: list[Any]) -> None:
        """One line, there once `flush` has returned."""
        self._held.append(f"{_encode(line)}\n")

    def flush(self) -> None:
        """All lines are there when this returns. Raises OSError where they cannot be: none of those that were held is
        then, and none ever will be."""
        if not self._held:
            return
        lines, self._held = "".join(self._held).encode(), []
        done = os.write(self._descriptor, lines)
        if done < len(lines):  # the disk is full; half a line would make one with the next
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - done)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is written."""
        return self._descriptor < 0

    def close(self) -> None:
        """Nothing more is written. Raises OSError where what was held cannot be."""
        if self._descriptor >= 0:
            try:
                self.flush()
            finally:
                os.close(self._descriptor)
                self._descriptor = -1
