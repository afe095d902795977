"""The loopback of a session's room, for a call that is to be in it: found, or made where no call uses one."""

from __future__ import annotations

import os

from gateway.core import processes
from gateway.sandbox.base import SandboxError
from gateway.sandbox.rooms import alone_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.backends.launcher import Launcher


def loopback_of(room: str, launcher: Launcher) -> tuple[int, int]:
    """Descriptors of the user namespace and the network of a room's holder, which lives as long as the caller has the
    room (`gateway.sandbox.rooms.entered`). Raises SandboxError."""
    try:
        with alone_in(room):
            found = _held(f"{room}/holder")
            if found is None:
                lock = os.open(f"{room}/use", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    pid = launcher.holder(lock)
                finally:
                    os.close(lock)
                with open(f"{room}/holder", "w", encoding="ascii") as file:
                    file.write(f"{pid} {processes.started(pid)}")
                found = _held(f"{room}/holder")
    except OSError as error:
        raise SandboxError(f"the session's loopback cannot be set up: {error}") from error
    if found is None:
        raise SandboxError("the session's loopback cannot be set up: its holder has ended")
    return found


def _held(file: str) -> tuple[int, int] | None:
    """Those of the holder that is written down, None where it is gone."""
    try:
        with open(file, encoding="ascii") as said:
            pid, began = map(int, said.read().split())
    except (OSError, ValueError):
        return None
    if began <= 0 or processes.started(pid) != began:
        return None
    opened: list[int] = []
    try:
        for kind in ("user", "net"):
            opened.append(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC))
            found, ours = os.fstat(opened[-1]), os.stat(f"/proc/self/ns/{kind}")
            if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
                return None
        if processes.started(pid) != began:
            return None
        (user, network), opened = opened, []
    except (FileNotFoundError, ProcessLookupError):
        return None
    except PermissionError:  # so Linux says of one that has ended since its folder was looked up
        if processes.started(pid) == began:
            raise
        return None
    finally:
        for each in opened:
            os.close(each)
    return user, network
