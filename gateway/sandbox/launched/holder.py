"""The holder of a session's room: a process with a network of its own, in which calls of one session meet.

It does nothing, and lives for as long as any call uses the room: each has a lock on the room's file, shared with the
others, and the holder waits for that lock alone. Once it has it nobody is left, and it goes with the network.

It belongs to nobody: the launcher that made it serves one process, the room all that work in the session.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import fcntl
import os

from gateway.sandbox.launched.command import keep_only
from gateway.sandbox.launched.kernel import Refused, checked, libc
from gateway.sandbox.launched.space import NETWORK, USER, Maps, loopback


def held(lock: int) -> int:
    """A new holder: its pid, once its loopback is there. `lock`: the room's file, opened for it alone. Raises Refused
    and OSError."""
    maps = Maps.ours()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _hold(maps, lock, writing)
    os.close(writing)
    said = os.read(reading, 2048)
    os.close(reading)
    if said != b"ready":
        raise Refused(said.decode("utf-8", "replace") or "the holder of the session's loopback has ended")
    return pid


def _hold(maps: Maps, lock: int, writing: int) -> None:
    """The whole life of it: never returns."""
    try:
        _signal.set_wakeup_fd(-1)
        keep_only([lock, writing])
        os.setsid()  # what ends a client's process group does not end what others use
        os.chdir("/")
        try:
            process = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            checked("a network of the session's own", libc.unshare(ctypes.c_int(USER | NETWORK)))
            maps.write(process)
            os.close(process)
            loopback()
        except (Refused, OSError) as error:
            os.write(writing, str(error).encode("utf-8", "backslashreplace"))
            return
        os.write(writing, b"ready")
        os.close(writing)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except InterruptedError:
                continue
            return
    finally:
        os._exit(0)
