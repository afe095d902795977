"""Who is at the other end of a Unix socket, as the kernel has it."""

from __future__ import annotations

import socket
import struct
import sys

_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """User and process; -1 for a process that the system does not tell. Raises OSError."""
    if sys.platform == "darwin":
        told = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        return struct.unpack_from("@I", told, 4)[0], connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
    pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid, pid
