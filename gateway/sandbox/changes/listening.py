"""The kernel tells of each system call that can change files, and the call waits for an answer: it goes on as it is,
once what it changes is saved.

Nothing is decided here but that a change which cannot be saved does not happen, where that is wanted. A call that is
not answered waits for ever, so every one is, whatever goes wrong.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
from _thread import start_new_thread
from contextlib import suppress
from threading import Lock

from gateway.sandbox.changes.called import Calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.changes.saver import Saver

_RECEIVE, _SEND, _HOW = 0xC0502100, 0xC0182101, 0x40082104
_SAME_PROCESSOR = 1
_GO_ON = 1
_TOLD = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")


class Listening:
    """One call. `listener` stays the caller's. `flush`: what the saver has noted of a system call stands in the journal
    when it returns, and only then does that go on. `must`: a system call whose change cannot be saved fails with EPERM.
    One that would change a file of others does in any case.
    Raises RuntimeError where there can be no thread."""

    def __init__(self, listener: int, saver: Saver, flush: Callable[[], None], *, must: bool = False) -> None:
        self._must = must
        self._listener = listener
        self._saver = saver
        self._flush = flush
        self._calls = Calls(saver)
        with suppress(OSError):  # before Linux 6.6 both sides wake wherever there is room, which takes longer
            fcntl.ioctl(listener, _HOW, _SAME_PROCESSOR)
        self._wake, self._woken = os.pipe2(os.O_CLOEXEC)
        self._over = Lock()
        self._over.acquire()
        try:
            start_new_thread(self._run, ())
        except RuntimeError:
            os.close(self._wake)
            os.close(self._woken)
            raise

    def stop(self) -> None:
        """Ends it. Nothing of the call may run any more."""
        os.close(self._woken)
        self._over.acquire()
        os.close(self._wake)

    def _run(self) -> None:
        try:
            self._listen(saves=True)
        except Exception as error:
            with suppress(Exception):
                self._saver.miss("", f"saving has failed ({type(error).__name__}: {error})")
            self._listen(saves=False)  # what waits, and will, goes on
        finally:
            self._over.release()

    def _listen(self, *, saves: bool) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        told, answer, nothing = bytearray(_TOLD.size), bytearray(_ANSWER.size), bytes(_TOLD.size)
        while True:
            for descriptor, event in poll.poll():
                if descriptor == self._wake:
                    return
                if not event & select.POLLIN:  # nobody is left who could call
                    return
                told[:] = nothing
                try:
                    fcntl.ioctl(self._listener, _RECEIVE, told)
                except OSError:  # it has ended meanwhile
                    continue
                number, pid, _flags, call, _machine, _at, *arguments = _TOLD.unpack(told)
                refused = self._must
                try:
                    if saves:
                        misses, refusals = self._saver.misses, self._saver.refusals
                        self._calls.about(call, pid, tuple(arguments))
                        self._flush()
                        refused = self._must and self._saver.misses > misses
                        refused = refused or self._saver.refusals > refusals
                finally:
                    _ANSWER.pack_into(answer, 0, number, 0, *((-errno.EPERM, 0) if refused else (0, _GO_ON)))
                    with suppress(OSError):  # the process has been ended
                        fcntl.ioctl(self._listener, _SEND, answer)
