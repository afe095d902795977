"""Process 1 of a sandbox with namespaces, as it is seen from outside."""

from __future__ import annotations

import os
import threading

from gateway.core import plain_signal as signal
from gateway.sandbox.base import OF_THE_TERMINAL
from gateway.sandbox.spawn import children, open_process, send, send_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.mounts import Step

_LOOKS = 100
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # they end what has not begun yet


def command_of(root: int) -> int:
    """A pidfd of the process that process 1 started, -1 when it has ended. Whoever else is its child has lost another
    parent, and came later; when the command has ended all of them are being killed."""
    for pid in children(root)[:1]:
        descriptor = open_process(pid)
        if descriptor < 0:
            continue
        try:
            with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
                parent = next(line for line in file.read().split(b"\n") if line.startswith(b"PPid:"))
        except (OSError, StopIteration):
            parent = b""
        if parent.split()[-1:] == [b"%d" % root]:
            return descriptor
        os.close(descriptor)
    return -1


def astray(root: int, made: tuple[Step, ...], being_built: bytes = b"") -> str:
    """A mount that a running command of another call has led away from where it was planned, "" if all are in their
    places. `being_built`: where the root is put together until it is the root."""
    missing = {_escaped(step.path) for step in made if step.inner}
    for _ in range(_LOOKS):  # the root is being exchanged, and the list is not read in one piece
        if not missing:
            return ""
        with open(f"/proc/{root}/mountinfo", "rb", buffering=1 << 16) as file:
            missing -= {line.split(b" ", 5)[4].removeprefix(being_built) for line in file}
    return os.fsdecode(min(missing)) if missing else ""


def _escaped(path: str) -> bytes:
    """A path as mountinfo writes it."""
    text = os.fsencode(path)
    for character in (b"\\", b" ", b"\t", b"\n"):
        if character in text:
            text = text.replace(character, b"\\%03o" % ord(character))
    return text


class OfProcess1:
    """What a handle does by process 1 of its sandbox: part of `gateway.sandbox.base.Running`."""

    root = 0

    def __init__(self, *, leads: bool) -> None:
        """`leads`: process 1 leads a session and process group of its own."""
        self._leads = leads
        self._lock = threading.RLock()  # a signal's handler may run while its thread waits
        self._root = self._command = -1  # pidfds of process 1 and of the command, once they are known
        self.interrupted = False  # whether a signal was passed on that ends most programs

    def signal(self, number: int) -> None:
        """Passes a signal on to the command, or to its process group. Does nothing when it has ended."""
        self.interrupted = self.interrupted or number in _ENDING
        with self._lock:
            if self._command < 0 and self._root >= 0:
                self._command = command_of(self.root)
            if self._command < 0:
                if number in _ENDING:
                    self.kill()
                return
            if number in OF_THE_TERMINAL and self._leads:
                # Process 1 leads the group; the kernel keeps from it whatever it could not survive.
                send_group(self._root, self.root, number)
            else:
                send(self._command, number)

    def kill(self) -> None:
        """Ends the whole tree at once: with process 1 the kernel ends every process of its namespace."""
        with self._lock:
            if self._root >= 0:
                send(self._root, signal.SIGKILL)

    def give_back(self) -> None:
        """Closes the pidfds."""
        with self._lock:
            for name in ("_root", "_command"):
                descriptor = getattr(self, name)
                setattr(self, name, -1)
                if descriptor >= 0:
                    os.close(descriptor)
