"""Memory that belongs to no process's address space: what lies in sockets, and files that exist in memory only, also
while they are on their way through a socket and nobody has them open; and what the kernel itself must keep for what
processes asked of it."""

from __future__ import annotations

import os
import stat
import struct
from contextlib import suppress

from gateway.sandbox import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_TAKE = 438  # pidfd_getfd, on every machine
_MEMINFO = 55  # SO_MEMINFO: what is received, its bound, what is sent, its bound, kept in advance, queued, ...
_COUNTED = (0, 2, 4, 5)
_MEMINFO_BYTES = 36
# What the kernel keeps for each area of an address space, and for each lock on a part of a file.
_AREA, _LOCK = 216, 216
_FEW = 64  # sockets that hold no more together than is worth a look at each


class Unmapped:
    """Looks at one tree again and again. `start`: the machine's memory of that kind before the tree began."""

    def __init__(self) -> None:
        self._start = _meminfo(b"Shmem:")
        self._kept = _meminfo(b"SUnreclaim:")
        self._most = 2 * max(_setting("wmem_max"), _setting("rmem_max"))

    def kernels(self, pids: list[int], limit: int) -> int:
        """What the kernel keeps for the address spaces and locks of the tree, counted one by one, which is slow: only
        where the memory that it cannot give up has grown by a good part of the limit since the tree began, by whomever,
        and not further than to the limit."""
        if _meminfo(b"SUnreclaim:") - self._kept <= limit // 4:
            return 0
        total = _locks({b"%d" % pid for pid in pids}, limit) * _LOCK
        for pid in pids:
            if total > limit:
                break
            total += usage.read(f"/proc/{pid}/maps").count(b"\n") * _AREA
        return total

    def bytes(self, pids: list[int], room: int, known: int) -> int:
        """What the tree holds outside of its processes. `room`: what it may hold; less than that is not looked at in
        detail. `known`: what is accounted for otherwise of the memory that `_shared` counts."""
        sockets: dict[str, tuple[int, int]] = {}
        files: dict[tuple[int, int], int] = {}
        for pid in pids:
            for number, target in _descriptors(pid):
                if target.startswith("socket:"):
                    sockets.setdefault(target, (pid, number))
                elif target.startswith("/memfd:"):
                    with suppress(OSError):
                        state = os.stat(f"/proc/{pid}/fd/{number}")
                        if stat.S_ISREG(state.st_mode):
                            files[state.st_dev, state.st_ino] = state.st_blocks << 9
        total = sum(files.values())
        if len(sockets) > _FEW and total + len(sockets) * self._most > room:
            total += _held(sockets.values(), self._most)
        travelling = sum(_travelling(pid, number) for pid, number in sockets.values())
        if travelling:
            # Nobody has them open, so nobody can say how large they are: the machine's growth is held against the tree.
            total += max(0, _meminfo(b"Shmem:") - self._start - total - known)
            total += travelling * self._most if travelling > _FEW else 0
        return total


def _descriptors(pid: int) -> Iterable[tuple[int, str]]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield int(name), os.readlink(f"{folder}/{name}")
        except OSError:
            continue


def _held(sockets: Iterable[tuple[int, int]], most: int) -> int:
    """Bytes in the buffers of these, `most` for each that cannot be asked."""
    import ctypes  # lazy: few calls have so many
    import socket

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    total = 0
    for pid, number in sockets:
        try:
            process = os.pidfd_open(pid)
        except OSError:
            continue  # it has ended
        taken = call(*map(ctypes.c_long, (_TAKE, process, number, 0)))
        os.close(process)
        if taken < 0:
            total += most
            continue
        with socket.socket(fileno=taken) as here:
            try:
                said = here.getsockopt(socket.SOL_SOCKET, _MEMINFO, _MEMINFO_BYTES)
            except OSError:
                total += most
                continue
        numbers = struct.unpack(f"={len(said) // 4}I", said[: len(said) // 4 * 4])
        total += sum(numbers[each] for each in _COUNTED if each < len(numbers))
    return total


def _travelling(pid: int, number: int) -> int:
    """How many descriptors lie in a local socket, sent and not received."""
    for line in usage.read(f"/proc/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(b"scm_fds:"):
            return int(line.split()[1])
    return 0


def _locks(pids: set[bytes], room: int) -> int:
    """How many locks these processes have on parts of files; not counted further than they would fill `room`."""
    found = 0
    with suppress(OSError, IndexError), open("/proc/locks", "rb") as file:
        for line in file:
            found += line.split(None, 5)[4] in pids
            if found * _LOCK > room:
                break
    return found


def _meminfo(name: bytes) -> int:
    """Bytes of the machine's memory of one kind: `Shmem:` is in files of memory and shared, `SUnreclaim:` what the
    kernel keeps for itself."""
    for line in usage.read("/proc/meminfo").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0


def _setting(name: str) -> int:
    said = usage.read(f"/proc/sys/net/core/{name}")
    return int(said) if said.strip().isdigit() else 1 << 20
