"""The launcher: a process that is started once and takes orders from the gateway until that has gone."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import os
import select

from gateway.sandbox.launched.holder import held
from gateway.sandbox.launched.kernel import (
    SETFCAP,
    SUBREAPER,
    Refused,
    control,
    drop_capabilities,
    keep_capability,
)
from gateway.sandbox.launched.leftovers import kill_below
from gateway.sandbox.launched.space import Waiting, early_of, enter, received
from gateway.sandbox.launched.supervisor import drain, supervise, wakes

# What it is for. `landlock`: calls that confine themselves; `free`: calls that policy lets run unconfined, so that it
# keeps its capabilities; `spaces`: calls in namespaces.
LANDLOCK, FREE, SPACES = "landlock", "free", "spaces"
_IDLE_MS = 60_000
_LEAST = 5  # descriptors of an order: what it is spoken of on, the order, the command's 0, 1 and 2
# What an order is for: a call; one in a session's room, whose user namespace and network come last; a room's holder.
# And what is said once a call's command has begun: there is time to make ready for the next.
CALL, IN_ROOM, HOLDER, BEGUN = b"call", b"room", b"hold", b"next"
# What is sent to the gateway's whole process group: the gateway decides what becomes of its calls then.
_FOR_THE_GATEWAY = (
    *(_signal.SIGINT, _signal.SIGQUIT, _signal.SIGHUP, _signal.SIGTSTP, _signal.SIGTTIN, _signal.SIGTTOU),
    *(_signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2),
)


def main(orders: str, kind: str) -> None:
    """Serves on this descriptor, and ends the process. Whatever else was handed on is closed first."""
    os.chdir("/")
    for each in _handed_on():
        if each > 2 and each != int(orders):
            os.closerange(each, each + 1)
    Launcher(_socket.socket(fileno=int(orders)), kind).serve()
    os._exit(0)


def _handed_on() -> list[int]:
    """The descriptors that are open, or may be."""
    try:
        return [int(each) for each in os.listdir("/proc/self/fd")]
    except OSError:
        return list(range(os.sysconf("SC_OPEN_MAX")))


class Launcher:
    """Takes orders from the gateway at the other end of a socket until that is closed."""

    def __init__(self, orders: _socket.socket, kind: str) -> None:
        self.orders = orders
        self.kind = kind
        self.gateway = os.pidfd_open(os.getppid())
        # What it has started: supervisors, or each process 1 of a sandbox with what its call is spoken of on.
        self.started: dict[int, int] = {}
        self.nursery = Nursery() if kind == SPACES else None

    def serve(self) -> None:
        """Runs until the gateway has gone."""
        for number in _FOR_THE_GATEWAY:
            _signal.signal(number, _signal.SIG_IGN)
        if self.kind == SPACES:
            keep_capability(SETFCAP)  # without it the kernel would not have root be root inside
        else:
            control("the subreaper", SUBREAPER, 1)
            if self.kind == LANDLOCK:
                drop_capabilities()
        gc.disable()  # a look through all objects would copy their memory into each process that is forked
        wake = wakes()
        self.orders.send(b"at your service")
        poll = select.poll()
        for descriptor in (self.orders.fileno(), wake, self.gateway):
            poll.register(descriptor, select.POLLIN)
        mounts = self.nursery.mounts if self.nursery is not None else -1
        if mounts >= 0:
            poll.register(mounts, select.POLLPRI)
        while True:
            seen = poll.poll(_IDLE_MS if self.nursery is not None and self.nursery.ready is not None else None)
            found = [descriptor for descriptor, _event in seen]
            if self.nursery is not None and (not found or mounts in found):
                self.nursery.rest()  # before any order: a change is told once
            for descriptor in found:
                if descriptor == wake:
                    drain(wake)
                    self._collect()
                elif descriptor == self.gateway or (descriptor != mounts and not self._take()):
                    return

    def _take(self) -> bool:
        """One order; False when there will be none any more."""
        said, given = received(self.orders)
        if not said:
            return False
        if said == BEGUN and not given:
            if self.nursery is not None:
                self.nursery.prepare()
            return True
        talk = -1
        room: tuple[int, ...] = ()
        try:
            if said == HOLDER and len(given) == 2:  # what it is spoken of on, and what tells that nobody is left
                _say(given[0], b"made %d" % held(given[1]))
                return True
            if len(given) < _LEAST:
                raise Refused("the launcher has no descriptor left")
            if said == IN_ROOM:
                *given, user, network = given
                room = user, network
            if self.nursery is not None:
                pid = self.nursery.hand(given, room)
                talk = os.dup(given[0])
                _say(talk, b"made %d" % pid)
            else:
                launcher = os.getpid()
                pid = os.fork()
                if pid == 0:
                    supervise(given, self.gateway, launcher, self.orders)
            self.started[pid] = talk
        except (OSError, Refused) as error:
            if given:
                _say(given[0], f"failed {error}".encode("utf-8", "backslashreplace"))
        finally:
            for descriptor in (*given, *room):
                os.close(descriptor)
        return True

    def _collect(self) -> None:
        """Collects what has ended: tells that a sandbox is gone, ends what a killed supervisor has left behind."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            talk = self.started.pop(pid, None)
            if talk is None:
                continue
            if talk >= 0:
                code = os.waitstatus_to_exitcode(status)
                _say(talk, b"ended %d " % (code if code >= 0 else 128 - code))
                os.close(talk)
            elif os.WIFSIGNALED(status):
                while kill_below(os.getpid(), frozenset(self.started)):
                    self._wait_for_orphan()

    def _wait_for_orphan(self) -> None:
        """Waits for one orphan that was killed; supervisors that end meanwhile are seen by the next look."""
        pid, _status = os.waitpid(-1, 0)
        self.started.pop(pid, None)


class Nursery:
    """Where each process 1 comes from. Where calls follow each other one is made beforehand, for the next.

    What is likely to be the same in that order is laid out in it: `gateway.sandbox.launched.rootfs` says when that is
    used. One that was made before something was mounted on the host, or unmounted, is not used: what it would show is
    not what the call was planned from, and it holds what was unmounted. `mounts`: tells of such a change by POLLPRI."""

    def __init__(self) -> None:
        self.ready: Waiting | None = None
        self._asked = False
        self._room: tuple[int, ...] = ()  # where the next one is made
        self._early = b""  # what is laid out in it
        self._life, self._our_life = os.pipe()  # ends when this process does: nobody else keeps the second
        self.mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changes = select.poll()
        self._changes.register(self.mounts, select.POLLPRI)

    def hand(self, given: list[int], room: tuple[int, ...] = ()) -> int:
        """Gives an order to a process 1: its pid. `room`: the user namespace and network that it is to have. Raises
        OSError and Refused."""
        if self._changes.poll(0) or not _is_same(room, self._room):
            self.rest()
            self._room = tuple(map(os.dup, room))
        self._early = early_of(given[1])
        for waiting in (self.ready, None):
            self.ready = None
            one = waiting or enter(self._life, self._room)
            try:
                one.give(given)
            except BrokenPipeError:
                if waiting is None:
                    raise
            else:
                return one.pid
            finally:
                one.close()
        raise Refused("no process could be made for the call")

    def prepare(self) -> None:
        """Makes one for the next order, unless the one before was the first for a while."""
        if self._asked and self.ready is None:
            try:
                self.ready = enter(self._life, self._room, self._early)
            except (OSError, Refused):
                self.ready = None  # the next order will tell why
        self._asked = True

    def rest(self) -> None:
        """Keeps none: nobody has asked for a while, or it would show what is not there any more."""
        self._asked = False
        self._early = b""
        for descriptor in self._room:
            os.close(descriptor)
        self._room = ()
        if self.ready is not None:
            self.ready.close()
            self.ready = None


def _is_same(room: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether descriptors are of the same namespaces. One that is held open is no other's meanwhile."""
    return len(room) == len(other) and all(map(os.path.sameopenfile, room, other))


def _say(talk: int, what: bytes) -> None:
    """On a socket that may have nobody at its other end any more."""
    try:
        os.write(talk, what)
    except OSError:
        return
