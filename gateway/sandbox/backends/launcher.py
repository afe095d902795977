"""The gateway's side of the launcher that `gateway.sandbox.launched` is: starts it, gives it orders, starts it again.

One launcher serves a process for its whole life. It ends with the process, however that ends.
"""

from __future__ import annotations

import _socket as socket  # the whole takes as long to load as a call takes to start
import marshal
import os
import threading
import weakref
from contextlib import closing, suppress

from gateway.core.places import CHECKOUT
from gateway.sandbox.base import SandboxError
from gateway.sandbox.fd_passing import packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.core.programs import Beside
    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.base import Streams

_PROGRAM = (
    "import sys; sys.path.append(sys.argv[3]); from gateway.sandbox.launched.main import main; main(*sys.argv[1:3])"
)
_ROOT = CHECKOUT  # where the package lies
LANDLOCK, UNCONFINED, SPACES = "landlock", "free", "spaces"  # as `gateway.sandbox.launched.main` knows them
_PATIENCE = 20.0
_AGAIN = "run it again; if that does not help, see `gateway doctor`"


class Launcher:
    """Safe to use from several threads, and after a fork. `kind`: what its calls are confined by."""

    def __init__(self, kind: str = LANDLOCK) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._of: tuple[object, ...] = ()
        _all.add(self)
        self._owner = 0
        self._process: Beside | None = None
        self._end: weakref.finalize[..., Launcher] | None = None
        self._orders: socket.socket | None = None
        self._greeted = False

    def start(
        self,
        plan: SandboxPlan,
        argv: Sequence[str | bytes],
        streams: Streams,
        keep: Sequence[int],
        private: str,
        *,
        rules: Sequence[tuple[bytes, int]] = (),
        handled: int = 0,
        network: int = 0,
        scoped: int = 0,
        filters: Sequence[bytes] = (),
    ) -> Held:
        """Has a call confined; its command waits. `private`: the stand-in for the plan's private folders, which goes
        with the call; what else is given is what the kernel is told. Raises SandboxError."""
        from gateway.sandbox.backends.landlock_rules import environment_of  # lazy: namespaces have orders of their own
        from gateway.sandbox.limits import bounds
        from gateway.sandbox.placeholders import start_folder

        order: dict[str, Any] = {
            "argv": [os.fsencode(word) for word in argv],
            "environment": environment_of(plan, private),
            "cwd": os.fsencode(start_folder(plan, private)),
            "rules": list(rules),
            "handled": handled,
            "network": network,
            "scoped": scoped,
            "filters": list(filters),
            "rlimits": bounds(plan.limits, processes=False),
            "private": os.fsencode(private),
            "terminal": streams.terminal,
        }
        talk = self.order(order, streams, keep)
        try:
            return Held(talk, order["private"])
        except BaseException:
            talk.close()
            raise

    def order(
        self,
        order: dict[str, Any],
        streams: Streams,
        keep: Sequence[int],
        room: Sequence[int] = (),
        early: bytes = b"",
    ) -> socket.socket:
        """Hands an order on: what its call is spoken of on from now. `room`: descriptors of the user namespace and the
        network that the call is to be in; `early`: what of it may be made before the next call is known. Raises
        SandboxError."""
        targets = [0, 1, 2, *keep]
        if len(set(targets)) != len(targets) or len(targets) > 200:
            raise SandboxError("descriptors to keep must be different from each other and from 0, 1 and 2")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        memory = -1
        try:
            memory = os.memfd_create("gateway-order", os.MFD_CLOEXEC)
            rest = marshal.dumps(order | {"targets": targets, "umask": _umask()})
            _write(memory, early + rest)
            given = [theirs.fileno(), memory, streams.stdin, streams.stdout, streams.stderr, *keep, *room]
            self._send(given, b"room" if room else b"call")
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            if memory >= 0:
                os.close(memory)
        return ours

    def holder(self, lock: int) -> int:
        """A new holder of a session's loopback (`gateway.sandbox.launched.holder`): its pid. Raises SandboxError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with closing(ours):
            with closing(theirs):
                self._send([theirs.fileno(), lock], b"hold")
            ours.settimeout(_PATIENCE)
            try:
                said = ours.recv(4096)
            except OSError as error:
                raise SandboxError(f"the session's loopback cannot be made: {error}", _AGAIN) from error
        word, _, rest = said.partition(b" ")
        if word != b"made" or not rest.isdigit():
            raise SandboxError(f"the session's loopback cannot be made: {rest.decode('utf-8', 'replace')}")
        return int(rest)

    def after_fork(self) -> None:
        """In the new process: whoever held the lock is not there."""
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Ends the launcher and with it whatever it still runs. The next order starts another."""
        with self._lock:
            self._forget()

    def begun(self) -> None:
        """Tells that a call's command has begun, so that there is time to make ready for the next."""
        with self._lock, suppress(OSError):  # who has gone will make nothing ready
            if self._orders is not None and self._owner == os.getpid():
                self._orders.send(b"next", socket.MSG_DONTWAIT)

    def _send(self, given: Sequence[int], what: bytes) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed(given))]
        with self._lock:
            for attempt in (1, 2):
                orders = self._running()
                try:
                    orders.sendmsg([what], rights)
                    return
                except OSError as error:
                    if not _lost(orders, error):  # others' calls go on
                        raise SandboxError(f"the call's descriptors cannot be handed on: {error}", _AGAIN) from error
                    self._forget()
                    if attempt == 2:
                        raise SandboxError(f"the launcher of confined calls cannot be reached: {error}") from error

    def prepare(self) -> None:
        """Starts it beforehand, without waiting until it is there. What fails will be told by the first order."""
        with self._lock, suppress(SandboxError):
            if not self._is_there():
                self._launch()

    def _is_there(self) -> bool:
        known = self._process is not None and self._owner == os.getpid() and self._process.poll() is None
        return self._orders is not None and known and self._of == _whose()

    def _running(self) -> socket.socket:
        if not self._is_there():
            self._launch()
        assert self._orders is not None
        if not self._greeted:
            self._hear()
        return self._orders

    def _launch(self) -> None:
        from gateway.core.programs import Untrusted, start_beside

        self._forget()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            words = ["-I", "-S", "-E", "-c", _PROGRAM, str(theirs.fileno()), self._kind, _ROOT]
            process = start_beside("python", words, keep=theirs.fileno())
        except (OSError, ValueError, Untrusted) as error:
            ours.close()
            raise SandboxError(f"the launcher of confined calls cannot be started: {error}", _AGAIN) from error
        finally:
            theirs.close()
        self._owner, self._process, self._orders, self._greeted = os.getpid(), process, ours, False
        self._of = _whose()
        self._end = weakref.finalize(self, _end, self._owner, process, ours)

    def _hear(self) -> None:
        """Waits until it is there."""
        assert self._orders is not None
        assert self._process is not None
        try:
            self._orders.settimeout(_PATIENCE)
            greeting = self._orders.recv(64)
            self._orders.settimeout(None)
        except OSError as error:
            self._forget()
            raise SandboxError(f"the launcher of confined calls cannot be started: {error}", _AGAIN) from error
        if not greeting:
            process = self._process
            self._forget()
            raise SandboxError(f"the launcher of confined calls ended at once (status {process.returncode})", _AGAIN)
        self._greeted = True

    def _forget(self) -> None:
        self._orders = self._process = None
        if self._end is not None:
            self._end()
            self._end = None


def _umask() -> int:
    """What files that this process makes are kept from. Asking the usual way would change it for a moment."""
    with open("/proc/self/status", "rb", buffering=0) as file:
        for line in file.read(1024).split(b"\n"):
            if line.startswith(b"Umask:"):
                return int(line[6:], 8)
    return 0o077


def _whose() -> tuple[object, ...]:
    """Who this process is and what it sees: a launcher that was started as somebody else does nothing for it."""
    root, mounts = os.stat("/"), os.stat("/proc/self/ns/mnt")
    return os.getresuid(), os.getresgid(), os.getgroups(), root.st_dev, root.st_ino, mounts.st_ino


_all: weakref.WeakSet[Launcher] = weakref.WeakSet()


def _fresh_locks() -> None:
    for each in _all:
        each.after_fork()


os.register_at_fork(after_in_child=_fresh_locks)

# One of each for a process: starting the first call of one starts it.
SHARED = Launcher()
FREE = Launcher(UNCONFINED)
IN_SPACES = Launcher(SPACES)


def _lost(orders: socket.socket, error: OSError) -> bool:
    """Whether an order failed because of whom it was sent to, not because of what was sent."""
    if isinstance(error, ConnectionError):
        return True
    try:
        orders.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
    except OSError:  # somebody has closed everything
        return True
    return False


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _end(owner: int, process: Beside, orders: socket.socket) -> None:
    """Ends a launcher, which goes when nobody can give it orders any more."""
    orders.close()
    if owner == os.getpid():
        with suppress(PermissionError):  # this process has become somebody else, and the launcher goes by itself
            process.kill()  # it may not be far enough to see that nobody will ask
        process.wait()
    else:
        process.returncode = 0  # another process waits for it


class Held:
    """A call that the launcher confined: `gateway.sandbox.base.Running`."""

    def __init__(self, talk: socket.socket, private: bytes) -> None:
        """Waits until the call is confined. Raises SandboxError when it could not be."""
        self._talk = talk
        self._private = private
        self._lock = threading.Lock()
        self._status: int | None = None
        self.failure = ""
        talk.settimeout(_PATIENCE)
        try:
            said = talk.recv(4096)
        except OSError as error:
            raise SandboxError(f"the call could not be confined: {error}", _AGAIN) from error
        talk.settimeout(None)
        word, _, rest = said.partition(b" ")
        if word != b"ready":
            reason = rest.decode("utf-8", "replace") or "its supervisor ended"
            raise SandboxError(f"the call could not be confined: {reason}", "" if rest else _AGAIN)
        self.root, self.pid = map(int, rest.split())
        try:
            self.exited = os.pidfd_open(self.root)
        except OSError as error:
            raise SandboxError(f"the call's supervisor has gone: {error.strerror}", _AGAIN) from error

    def release(self) -> None:
        """Lets the command start. Raises SandboxError when its supervisor has gone."""
        if not self._say(b"go"):
            raise SandboxError("the call's supervisor has gone before the command could start", _AGAIN)

    def signal(self, number: int) -> None:
        """Passes a signal on to the command and what it runs in the foreground."""
        self._say(b"signal %d" % number)

    def kill(self) -> None:
        """Ends the whole tree at once."""
        self._say(b"end")

    def _say(self, what: bytes) -> bool:
        try:
            self._talk.send(what)
        except OSError:
            return False
        return True

    def wait(self) -> int:
        """The command's exit status, once every process of the call has ended."""
        with self._lock:
            if self._status is None:
                said = b"?"
                while said and not said.startswith(b"ended "):
                    try:
                        said = self._talk.recv(4096)
                    except OSError:
                        said = b""
                # A supervisor that says nothing was killed, and the launcher ends what it left behind.
                _word, status, failure = said.split(b" ", 2) if said else (b"", b"137", b"the supervisor was killed")
                self._status = int(status)
                self.failure = failure.decode("utf-8", "replace")
        return self._status

    def close(self) -> None:
        """Gives back descriptors and what is left of the private folder."""
        self._talk.close()
        if self.exited >= 0:
            os.close(self.exited)
            self.exited = -1
        if self._private and os.path.isdir(self._private):
            from gateway.sandbox.launched.leftovers import remove

            remove(self._private)
