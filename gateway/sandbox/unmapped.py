"""Memory that belongs to no process's address space: what lies in sockets, and files that exist in memory only, also
while they are on their way through a socket and nobody has them open; and what the kernel itself must keep for what
processes asked of it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import groupby

from gateway.sandbox import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TAKE = 438  # pidfd_getfd, on every machine
_MEMINFO = 55  # SO_MEMINFO: what is received, its bound, what is sent, its bound, kept in advance, queued, ...
_COUNTED = (0, 2, 4, 5)
_MEMINFO_BYTES = 36
# What the kernel keeps for each area of an address space, and for each lock on a part of a file.
_AREA, _LOCK = 216, 216
_FEW = 64  # sockets, or pipes, that hold no more together than is worth a look at each
_PAGE = 4096
_LEAST_OF_PIPE = 2 * _PAGE  # what each pipe has, however many there are


class Unmapped:
    """Looks at one tree again and again. What the machine has of such memory is compared with the least since before
    the tree began: what others give back meanwhile hides nothing that the tree takes."""

    def __init__(self) -> None:
        self._least = self._now()

    @staticmethod
    def _now() -> tuple[int, int]:
        shared, kept = _meminfo(b"Shmem:", b"SUnreclaim:")
        return shared, kept

    def _grown(self) -> tuple[int, int]:
        """By how much there is more in files of memory and shared, and of what the kernel keeps for itself."""
        (shared, kept), (least_shared, least_kept) = self._now(), self._least
        self._least = min(shared, least_shared), min(kept, least_kept)
        return shared - self._least[0], kept - self._least[1]

    def kernels(self, pids: list[int], limit: int) -> int:
        """What the kernel keeps for the address spaces and locks of the tree, counted one by one, which is slow: only
        where the memory that it cannot give up has grown by a good part of the limit since the tree began, by whomever,
        and not further than to the limit."""
        if self._grown()[1] <= limit // 4:
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
        pipes: dict[object, tuple[int, int]] = {}
        named: list[tuple[int, int]] = []
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
                elif target.startswith("pipe:"):
                    pipes.setdefault(target, (pid, number))
                elif target.startswith("/"):
                    named.append((pid, number))  # a pipe that has a name, perhaps
        if len(named) > _FEW:
            pipes |= _with_names(named)
        total = sum(files.values())
        if len(sockets) > _FEW and total + len(sockets) * _most() > room:
            total += _held(sockets.values(), _most())
        if len(pipes) > _FEW and total + _pipes_at_most(len(pipes)) > room:
            total += _piped(pipes.values(), room - total)
        travelling = sum(_travelling(pid, number) for pid, number in sockets.values())
        if travelling:
            # Nobody has them open, so nobody can say how large they are: the machine's growth is held against the tree.
            total += max(0, self._grown()[0] - total - known)
            total += travelling * _most() if travelling > _FEW else 0
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
    import socket  # lazy: few calls have so many
    import struct

    total = 0
    for taken in _taken(sockets):
        if taken < 0:
            total += most
            continue
        with socket.socket(fileno=os.dup(taken)) as here:
            try:
                said = here.getsockopt(socket.SOL_SOCKET, _MEMINFO, _MEMINFO_BYTES)
            except OSError:
                total += most
                continue
        numbers = struct.unpack(f"={len(said) // 4}I", said[: len(said) // 4 * 4])
        total += sum(numbers[each] for each in _COUNTED if each < len(numbers))
    return total


def _with_names(opened: Iterable[tuple[int, int]]) -> dict[object, tuple[int, int]]:
    """Those of these that are pipes with names, each once."""
    found: dict[object, tuple[int, int]] = {}
    for pid, number in opened:
        with suppress(OSError):
            state = os.stat(f"/proc/{pid}/fd/{number}")
            if stat.S_ISFIFO(state.st_mode):
                found.setdefault((state.st_dev, state.st_ino), (pid, number))
    return found


def _pipes_at_most(number: int) -> int:
    """Bytes that so many pipes may hold: of one user the kernel lets all together have so many pages, and each further
    one two; without such a bound each as many as one may have."""
    pages = _kernels("fs/pipe-user-pages-soft", 0)
    return pages * _PAGE + number * _LEAST_OF_PIPE if pages else number * _kernels("fs/pipe-max-size", 1 << 20)


def _piped(pipes: Iterable[tuple[int, int]], room: int) -> int:
    """Bytes that these may hold: what one has room for that is not empty, since a page may hold a single byte; of an
    empty one the pages that the kernel keeps for the next. Not counted much further than to `room`."""
    import fcntl  # lazy: few calls have so many
    from termios import FIONREAD

    total = 0
    for taken in _taken(pipes):
        filled = taken >= 0 and any(fcntl.ioctl(taken, FIONREAD, bytes(4)))
        total += fcntl.fcntl(taken, fcntl.F_GETPIPE_SZ) if filled else _LEAST_OF_PIPE
        if total > room:
            break
    return total


def _taken(wanted: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Descriptors of processes, each as one of ours until the next is asked for; -1 for one that cannot be had. Of a
    process that has ended, none."""
    import ctypes  # lazy: few calls have so many

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    for pid, descriptors in groupby(sorted(wanted), lambda each: each[0]):
        try:
            process = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            for _pid, number in descriptors:
                taken = call(*map(ctypes.c_long, (_TAKE, process, number, 0)))
                try:
                    yield taken
                finally:
                    if taken >= 0:
                        os.close(taken)
        finally:
            os.close(process)


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


def _meminfo(*names: bytes) -> list[int]:
    """Bytes of the machine's memory of some kinds: `Shmem:` is in files of memory and shared, `SUnreclaim:` what the
    kernel keeps for itself."""
    found = {line.partition(b" ")[0]: line for line in usage.read("/proc/meminfo").splitlines()}
    return [int(found[name].split()[1]) << 10 if name in found else 0 for name in names]


def _most() -> int:
    """Bytes that the buffers of one socket may hold together."""
    return 2 * max(_kernels("net/core/wmem_max", 1 << 20), _kernels("net/core/rmem_max", 1 << 20))


def _kernels(setting: str, otherwise: int) -> int:
    """What a setting of the kernel says, `otherwise` where it cannot be read."""
    said = usage.read(f"/proc/sys/{setting}")
    return int(said) if said.strip().isdigit() else otherwise
