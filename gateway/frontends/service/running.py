"""The warm services that run for this user, for people who want to see or end them.

One is known by its socket, and the process by what the kernel says of the other end; nothing is asked of it, so that
one that is stopped or stuck is found and ended as well.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress

from gateway.core.value import Value
from gateway.frontends.service import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_CONNECT_SECONDS = 2.0
_END = b".sock"


class Running(Value):
    """One service. `pid`: 0 where the system does not tell it; `is_ours`: whether hooks from here, started with this
    environment, are answered by it."""

    socket: str
    pid: int
    is_ours: bool


def found(environment: Mapping[bytes, bytes]) -> tuple[Running, ...]:
    """Those whose sockets lie in the state folder of this environment. Raises OSError where the folder is there and
    cannot be read."""
    told = wire.identity(dict(environment))
    if told is None:  # without a home there is no service
        return ()
    place, ours = wire.folder(dict(environment)), wire.name_of(told)
    if not wire.is_own(place):
        return ()
    names = sorted(name.removesuffix(_END) for name in os.listdir(place) if name.endswith(_END))
    running = []
    for name in names:
        pid = _pid(place, name)
        if pid >= 0:
            running.append(Running(os.fsdecode(place + b"/" + name + _END), pid, name == ours))
    return tuple(running)


def _pid(place: bytes, name: bytes) -> int:
    """The process behind a socket, 0 where that is not told, -1 where there is none of this user."""
    address, held = wire.address(place, name)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_CONNECT_SECONDS)
            connection.connect(address)
            uid, _gid, pid = wire.peer(connection)
            return max(pid, 0) if uid == os.geteuid() else -1
    except OSError:
        return -1  # its process is gone; the next service takes the name
    finally:
        if held >= 0:
            os.close(held)


def stop(one: Running, seconds: float) -> bool:
    """Takes the socket away, after which it answers what it has begun and ends; one that has not ended after so many
    seconds is killed. False where it is not known whether it has ended. Raises OSError."""
    try:
        watch = os.pidfd_open(one.pid) if one.pid and hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        return True
    try:
        with suppress(FileNotFoundError):  # it has just ended by itself
            os.unlink(one.socket)
        if watch < 0:
            return False
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        if poll.poll(seconds * 1000):
            return True
        signal.pidfd_send_signal(watch, signal.SIGKILL)
        return bool(poll.poll(seconds * 1000))
    finally:
        if watch >= 0:
            os.close(watch)
