"""The warm service: answers hooks and dry runs for one user, from memory.

It decides nothing that the cold path would not decide as well: each request brings its folder, its environment and its
input, and is answered by the same function. It serves one user, one set of folders, one installation in one namespace,
and ends when any of that is not its own any more, when it has nothing to do, or when it has answered enough.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import threading
import time

from gateway.frontends.service import wire
from gateway.frontends.service.keeper import Keeper
from gateway.frontends.service.stamps import Code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # (words, environment, folder, what was given) -> standard output, standard error, status; None: not from here
    Answering = Callable[[list[str], Mapping[str, str], str, bytes], tuple[bytes, bytes, int] | None]

IDLE_SECONDS = 600.0
MOST_ANSWERS = 50_000
WORKERS = 8
_WAITING = 128
# How long a client may take to say what it wants, and to read what it is told.
_SECONDS = 5.0
_INHERITED_LOCK = 3
_LOOK_SECONDS = 1.0


class Service:
    """One service on one socket."""

    def __init__(
        self, answering: Answering, place: bytes, told: bytes, *, idle: float = IDLE_SECONDS, most: int = MOST_ANSWERS,
        code: Code | None = None,
    ) -> None:  # fmt: skip
        """`place`: the folder of the socket, which must be this user's own; `told`: the identity that it answers for.
        Whoever makes one must hold its lock. Raises OSError."""
        self._answering = answering
        self._told = told
        self._idle = idle
        self._left = most
        self._code = code or Code()
        self._last = time.monotonic()
        self._busy = 0
        self._lock = threading.Lock()
        self._waiting = threading.Lock()
        self._end = threading.Event()
        name = wire.name_of(told)
        self.path = place + b"/" + name + b".sock"
        address, held = wire.address(place, name)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _unlink(self.path)  # of one that was killed: the lock says that there is none now
            self._listener.bind(address)
            os.chmod(self.path, 0o600)
            self._named = _file(self.path)
            self._listener.listen(_WAITING)
            self._listener.setblocking(False)
        except OSError:
            self._listener.close()
            raise
        finally:
            if held >= 0:
                os.close(held)

    def serve(self) -> None:
        """Answers until it ends."""
        workers = [threading.Thread(target=self._work, name=f"gateway-{n}", daemon=True) for n in range(WORKERS)]
        for worker in workers:
            worker.start()
        while not self._end.wait(min(_LOOK_SECONDS, self._idle)):
            with self._lock:
                is_idle = not self._busy and time.monotonic() - self._last >= self._idle
            if is_idle or _file(self.path) != self._named:
                self.end()
        _unlink(self.path, self._named)
        self._listener.close()

    def end(self) -> None:
        """Takes no more requests."""
        self._end.set()

    def _work(self) -> None:
        poll = select.poll()
        poll.register(self._listener.fileno(), select.POLLIN)
        while not self._end.is_set():
            # One waits at a time: if all did, each request would wake all, to find that another has it.
            with self._waiting:
                poll.poll(_LOOK_SECONDS * 1000)
                try:
                    connection, _ = self._listener.accept()
                except BlockingIOError:
                    continue
                except OSError:
                    return  # it was closed
            with self._lock:
                self._busy += 1
                self._left -= 1
                if self._left <= 0:
                    self._end.set()
            try:
                with connection:
                    self._serve(connection)
            except (Exception, SystemExit):
                continue  # nobody waits any more, or a fault of ours: the cold path decides
            finally:
                with self._lock:
                    self._busy -= 1
                    self._last = time.monotonic()

    def _serve(self, connection: socket.socket) -> None:
        uid, gid, _pid = wire.peer(connection)
        if (uid, gid) != (os.geteuid(), os.getegid()):
            return
        message = _received(connection, time.monotonic() + _SECONDS)
        parts = wire.parts_of(message)
        answer = None
        if parts is not None and len(parts) == 5:
            answer = self._answer(*parts)
        reply = (wire.OTHER, b"\0", b"", b"") if answer is None else (wire.ANSWER, bytes([answer[2]]), *answer[:2])
        connection.settimeout(_SECONDS)
        connection.sendall(wire.framed(reply))

    def _answer(
        self, told: bytes, folder: bytes, spoken: bytes, variables: bytes, given: bytes
    ) -> tuple[bytes, bytes, int] | None:
        if told != self._told:
            return None
        if not self._code.is_same():
            self.end()  # the next one is started from the code that is there now
            return None
        words = [os.fsdecode(word) for word in spoken.split(b"\0")]
        environment = {}
        for each in variables.split(b"\0"):
            name, mark, value = each.partition(b"=")
            if mark:
                environment[os.fsdecode(name)] = os.fsdecode(value)
        return self._answering(words, environment, os.fsdecode(folder), given)


def _received(connection: socket.socket, until: float) -> bytes:
    """A whole message. Raises OSError, ValueError for one that is none or too long."""
    found = bytearray()
    size = 0
    while not size or len(found) < size:
        connection.settimeout(max(0.001, until - time.monotonic()))
        data = connection.recv(1 << 18)
        if not data:
            break
        found += data
        size = size or wire.needed(found)
        if max(size, len(found)) > wire.MOST_ASKED + (4 << 20):
            raise ValueError("the request is too long")
    return bytes(found)


def _file(path: bytes) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def _unlink(path: bytes, only: tuple[int, int] | None = None) -> None:
    if only is None or _file(path) == only:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


def main() -> int:
    """The process that `thin.launch` starts, with the lock as its descriptor 3."""
    from gateway.frontends.service.answering import Answers

    environment = os.environb
    told = wire.identity(dict(environment))
    if told is None:
        return 1
    place = wire.folder(dict(environment))
    lock = place + b"/" + wire.name_of(told) + b".lock"
    held = os.fstat(_INHERITED_LOCK)
    if not wire.is_own(place) or (held.st_dev, held.st_ino) != _file(lock):
        return 1
    code = Code()  # before what is loaded late
    gc.disable()
    answers = Answers(Keeper())
    answers.warm()
    if not code.is_loaded():
        return 1
    service = Service(answers, place, told, code=code)
    gc.freeze()
    gc.enable()
    service.serve()
    return 0
