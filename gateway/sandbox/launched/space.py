"""Process 1 of a sandbox: it has namespaces of its own from its first moment, makes what every sandbox has, waits for
an order, builds what that says, gives up every right to change it, and only then waits for the word to start the
command.

    launcher ── process 1 ── command
                   │
                   └─ says "ready", waits for "go", says how the command ended

A call of a session shares that one's network, which its room's holder has (`gateway.sandbox.launched.holder`): then
process 1 comes from a process that has gone into the holder's namespaces for it. It has no rights over them: its own
user namespace lies below the one that owns them.

When the command has ended it ends whatever is left, tells, and goes. It goes with the launcher, however that ends; and
with process 1 the kernel ends every process of its namespace.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import fcntl
import marshal
import os
import sys

from gateway.sandbox.launched.command import keep_only, place, spawn
from gateway.sandbox.launched.kernel import (
    CLONE,
    DEATH_SIGNAL,
    DUMPABLE,
    Refused,
    call,
    checked,
    control,
    drop_capabilities,
    filter_calls,
    libc,
    shown,
    tell_of_calls,
)
from gateway.sandbox.launched.rootfs import Root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

USER, NETWORK = 0x10000000, 0x40000000
_PARENT = 0x8000  # a child of the parent of whoever makes it
# Mounts, control groups, names, messages, users, processes, network.
_SPACES = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | USER | 0x20000000 | NETWORK
_NAME = b"sandbox"
_MSG_CMSG_CLOEXEC = 0x40000000
_MOST_DESCRIPTORS = 250
_SET_FLAGS, _UP = 0x8914, 1  # of a network interface
LENGTH = 8  # bytes that say how long the early part of an order is
_NOT_RUN = 126
_MOST_SAID = 2048


class Waiting:
    """A process 1 that waits for its order, as the launcher sees it."""

    def __init__(self, pid: int, hand: _socket.socket) -> None:
        self.pid = pid
        self._hand = hand

    def give(self, given: list[int]) -> None:
        """Hands it what its call is spoken of on, the order, then the command's descriptors. Raises OSError when it has
        ended."""
        rights = b"".join(each.to_bytes(4, sys.byteorder) for each in given)
        self._hand.sendmsg([b"call"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])

    def close(self) -> None:
        """Nothing more will be handed to it: if it still waits it ends."""
        self._hand.close()


def enter(life: int, room: Sequence[int] = (), early: bytes = b"") -> Waiting:
    """A new process 1. Raises Refused when the kernel will not have it. `life`: comes to its end with this process;
    `room`: descriptors of a user namespace and the network that it owns, to have that network instead of a new one;
    `early`: the early part of the order that it is likely to get."""
    maps = Maps.ours()
    hand, theirs = _pair()
    try:
        began = theirs, life, maps, early
        pid = _within(room, *began) if room else _cloned(_SPACES, *began, alone=True)
    except Refused:
        hand.close()
        raise
    finally:
        theirs.close()
    return Waiting(pid, hand)


def _cloned(spaces: int, theirs: _socket.socket, life: int, maps: Maps, early: bytes, *, alone: bool) -> int:
    """`alone`: its network is its own. Raises Refused."""
    nothing = ctypes.c_void_p(0)
    flags = ctypes.c_ulong(spaces | _signal.SIGCHLD)
    pid = call("namespaces", CLONE[maps.machine], flags, nothing, nothing, nothing, nothing)
    if pid == 0:
        _live(theirs, life, maps, early, alone=alone)
    return pid


def _within(room: Sequence[int], theirs: _socket.socket, life: int, maps: Maps, early: bytes) -> int:
    """The same from a process in between, since none returns from a user namespace. Raises Refused."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        try:
            try:
                for descriptor, kind in zip(room, (USER, NETWORK), strict=True):
                    checked("the session's loopback", libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)))
                said = b"%d" % _cloned(_SPACES & ~NETWORK | _PARENT, theirs, life, maps, early, alone=False)
            except Refused as error:
                said = str(error).encode("utf-8", "backslashreplace")
            os.write(writing, said)
        finally:
            os._exit(0)
    os.close(writing)
    said = os.read(reading, _MOST_SAID)
    os.close(reading)
    os.waitpid(between, 0)
    if not said.isdigit():
        raise Refused(said.decode("utf-8", "replace") or "the process in between has ended")
    return int(said)


def _pair() -> tuple[_socket.socket, _socket.socket]:
    one, other = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC)
    return one, other


class Maps:
    """Who this user is inside: itself, and there is nobody else."""

    def __init__(self, machine: str, user: int, group: int) -> None:
        self.machine = machine
        self._said = (
            ("setgroups", b"deny"),
            ("uid_map", b"%d %d 1" % (user, user)),
            ("gid_map", b"%d %d 1" % (group, group)),
        )

    @classmethod
    def ours(cls) -> Maps:
        """Of this process. Raises Refused for a machine that nobody knows."""
        machine = os.uname().machine
        if machine not in CLONE:
            raise Refused(f"namespaces are not known for {machine}")
        return cls(machine, os.geteuid(), os.getegid())  # inside it is nobody until it has said who it is

    def write(self, process: int) -> None:
        """Once in each user namespace. `process`: this one's folder in a /proc."""
        for name, said in self._said:
            try:
                file = os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=process)
                os.write(file, said)
            except OSError as error:
                raise Refused(f"the user mapping of the sandbox ({name}): {error.strerror}") from error
            os.close(file)


def _live(hand: _socket.socket, life: int, maps: Maps, early: bytes, *, alone: bool) -> None:
    """The whole life of process 1: never returns. `alone`: its network is its own."""
    status = _NOT_RUN  # of whatever ends it but what it says itself
    try:
        _signal.set_wakeup_fd(-1)
        keep_only([hand.fileno(), life])
        control("the death signal", DEATH_SIGNAL, _signal.SIGKILL)
        problem = ""
        made = None
        try:
            made = _Made(maps, early, alone=alone)
        except (Refused, OSError) as error:
            problem = str(error)
        _said, given = received(hand)
        if not given:
            return  # there will be no order, or nothing to answer on
        talk = _socket.socket(fileno=given[0])
        try:
            if made is None:
                raise Refused(problem)
            if len(given) == 1:
                raise Refused("process 1 has no descriptor left")
            early, order = early_of(given[1]), order_in(given[1])
            made.finish(early, order)
            talk, life = _placed(talk, life, given[2:], order["targets"])
            _renounce(order, life)
            listener, why = tell_of_calls(order["told"]) if order["told"] else (-1, "")
        except Exception as error:
            talk.send(f"failed {error}".encode("utf-8", "backslashreplace")[:_MOST_SAID])
            return
        _ready(talk, listener, why)
        if talk.recv(16) == b"go":
            try:
                status, failure = _run(order)
            except Exception as error:
                failure = f"process 1 has failed: {error}".encode("utf-8", "backslashreplace")
            talk.send(b"ended %d %s" % (status, failure[:_MOST_SAID]))
    except (Refused, OSError):
        return  # nobody is there any more
    finally:
        os._exit(status)


def received(orders: _socket.socket) -> tuple[bytes, list[int]]:
    """What the next order on a socket is, nothing when there will be none, and its descriptors. Where not all of them
    can be had the first alone, what is spoken on, or none."""
    space = _socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
    said, ancillary, flags, _address = orders.recvmsg(16, space, _MSG_CMSG_CLOEXEC)
    given = [
        int.from_bytes(data[at : at + 4], sys.byteorder)
        for _level, _kind, data in ancillary
        for at in range(0, len(data), 4)
    ]
    if flags & _socket.MSG_CTRUNC:
        for descriptor in given[1:]:
            os.close(descriptor)
        del given[1:]
    return said, given


def early_of(descriptor: int) -> bytes:
    """The part of an order that says nothing about its call but what the host shows it, as
    `gateway.sandbox.backends.launcher` writes it. It alone is read by who serves other calls, too."""
    return os.pread(descriptor, int.from_bytes(os.pread(descriptor, LENGTH, 0), "little"), LENGTH)


def order_in(descriptor: int) -> dict[str, Any]:
    """The rest of it."""
    start = LENGTH + int.from_bytes(os.pread(descriptor, LENGTH, 0), "little")
    found: dict[str, Any] = marshal.loads(os.pread(descriptor, os.fstat(descriptor).st_size - start, start))
    return found


class _Made:
    """What every sandbox has, what is known of the next one, and what is needed to make the rest."""

    def __init__(self, maps: Maps, early: bytes, *, alone: bool) -> None:
        self._maps = maps
        os.umask(0)
        self._host = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        maps.write(self._host)
        self._most = os.open("/proc/sys/user/max_user_namespaces", os.O_WRONLY | os.O_CLOEXEC)
        checked("the name of the machine", libc.sethostname(_NAME, ctypes.c_size_t(len(_NAME))))
        if alone:
            loopback()
        self._root = Root(maps.machine)
        self._root.begin()
        if early:
            self._root.prepare(early)

    def finish(self, early: bytes, order: dict[str, Any]) -> None:
        """All that the order says is there, and nothing else. Raises Refused."""
        self._root.fill(early, order)
        self._root.finish()
        if order["alone"]:
            # One more within the one that owns all of this, and then none: neither this process nor any that it starts
            # could have rights over what was built, were a capability to come back.
            os.write(self._most, b"1")
            checked("a user namespace", libc.unshare(ctypes.c_int(USER)))
            self._maps.write(self._host)
            if libc.unshare(ctypes.c_int(USER)) == 0:
                raise Refused("user namespaces cannot be switched off")
        os.umask(order["umask"])


def _placed(talk: _socket.socket, life: int, given: list[int], targets: list[int]) -> tuple[_socket.socket, int]:
    """Has the command's descriptors where it will find them, and none but them and these two is open."""
    above = max(targets)
    ours = [above + 1, above + 2]
    place([talk.fileno(), life, *given], [*ours, *targets])
    for descriptor in ours:
        os.set_inheritable(descriptor, False)
    talk.detach()
    keep_only([*ours, *targets])
    return _socket.socket(fileno=ours[0]), ours[1]


def _renounce(order: dict[str, Any], life: int) -> None:
    """From all rights over namespaces of its own to none at all. Raises Refused."""
    drop_capabilities()
    control("looks by the gateway", DUMPABLE, 1)
    if not order["terminal"]:
        os.setsid()  # before anything can be told from a group of its own
    control("the death signal", DEATH_SIGNAL, _signal.SIGKILL)  # again: who changes what it may do loses it
    if _at_its_end(life):
        raise Refused("the launcher has gone")
    filter_calls(order["filters"])


def _ready(talk: _socket.socket, listener: int, why: str) -> None:
    """Everything is built; with it goes what tells of calls, or why there is nothing that does."""
    if listener < 0:
        talk.send(f"ready {why}".rstrip().encode())
        return
    rights = listener.to_bytes(4, sys.byteorder)
    talk.sendmsg([b"ready"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    os.close(listener)


def _at_its_end(life: int) -> bool:
    os.set_blocking(life, False)
    try:
        return not os.read(life, 1)
    except BlockingIOError:
        return False


def loopback() -> None:
    """The interface to itself, the only one, is up."""
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
    fcntl.ioctl(any_socket.fileno(), _SET_FLAGS, b"lo".ljust(16, b"\0") + _UP.to_bytes(2, sys.byteorder) + bytes(22))
    any_socket.close()


def _run(order: dict[str, Any]) -> tuple[int, bytes]:
    """The command, and all that it leaves behind, to the end: its status, and why it could not be started."""
    command, status, failure = _started(order)
    for descriptor in order["targets"]:
        os.close(descriptor)
    pid = 0
    while command and pid != command:
        pid, how = os.waitpid(-1, 0)
        if pid == command:
            code = os.waitstatus_to_exitcode(how)
            status = code if code >= 0 else 128 - code
    _end_the_rest()
    return status, failure


def _started(order: dict[str, Any]) -> tuple[int, int, bytes]:
    """As `spawn`, in the command's folder."""
    try:
        os.chdir(order["cwd"])
    except OSError as error:
        return 0, 126, f"the command cannot start in {shown(order['cwd'])}: {error.strerror}".encode()
    return spawn(order["argv"], order["environment"])


def _end_the_rest() -> None:
    """Whoever lost its parent is a child of this process: when it has no child, there is nobody else."""
    how = os.WNOHANG
    while True:
        try:
            os.waitpid(-1, how)
        except ChildProcessError:
            return
        try:
            os.kill(-1, _signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended meanwhile, and is waited for
        how = 0
