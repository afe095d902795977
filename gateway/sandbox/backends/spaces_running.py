"""A call that process 1 of our own making holds: the handle on it, from waiting to ended."""

from __future__ import annotations

import _socket as socket  # the whole takes as long to load as a call takes to start
import os
import select
import threading

from gateway.core import plain_signal as signal
from gateway.sandbox.base import SandboxError
from gateway.sandbox.fd_passing import unpacked
from gateway.sandbox.first_process import OfProcess1, astray
from gateway.sandbox.spawn import children, open_process, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.mounts import Step

_PATIENCE = 20.0
_DIGITS = 3  # of a status


class Held(OfProcess1):
    """`gateway.sandbox.base.Running`. `failure`: why the command itself could not be started, "" if it was.
    `listener`: what tells of its calls where that was asked for, else -1, and `untold` says why."""

    def __init__(
        self,
        talk: socket.socket,
        made: tuple[Step, ...],
        forget: Callable[[], None],
        begun: Callable[[], None] = lambda: None,
        *,
        leads: bool = True,
    ) -> None:
        """Waits until the sandbox is being built. `forget` is called when it could not be, through no fault of ours;
        `begun` when the command has begun; `leads`: process 1 leads a session and process group of its own. Raises
        SandboxError; then nothing runs."""
        super().__init__(leads=leads)
        self._talk = talk
        self._made = made
        self._forget = forget
        self._begun = begun
        self._is_built = False
        self._waiting = threading.Lock()
        self._status: int | None = None
        self.failure = ""
        self.listener = -1
        self.untold = ""
        self.root = self.pid = 0
        talk.settimeout(_PATIENCE)
        self._hear_until(lambda: bool(self.root))

    def built(self) -> None:
        """Waits until everything is built, and only the command has not been started. Raises SandboxError; then nothing
        runs."""
        self._hear_until(lambda: self._is_built)

    def _hear_until(self, is_so: Callable[[], bool]) -> None:
        try:
            while not is_so():
                self._heard()
        except OSError as error:
            raise self._failed(f"{error}") from error
        if self._is_built:
            self._talk.settimeout(None)

    def _heard(self) -> None:
        """One message of the launcher or of process 1, which come in any order."""
        said, rights, _flags, _address = self._talk.recvmsg(4096, socket.CMSG_LEN(4))
        for level, kind, data in rights:
            for descriptor in unpacked(data) if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS) else ():
                os.set_inheritable(descriptor, False)
                self.listener = descriptor
        word, _, rest = said.partition(b" ")
        if word == b"made":
            self._root = open_process(int(rest))
            if self._root >= 0:  # else it has ended, and why is said next
                self.root = self.pid = int(rest)
        elif word == b"ready":
            self.untold = rest.decode("utf-8", "replace")
            self._is_built = True
        else:
            self._forget()
            raise self._failed(rest.decode("utf-8", "replace") if word == b"failed" else "process 1 has ended")

    @property
    def exited(self) -> int:
        """A descriptor that is readable once the command has ended, with all that it has started."""
        return self._talk.fileno()

    def release(self) -> None:
        """Lets the command start, once everything is found to be mounted as planned. Raises SandboxError."""
        self.built()
        try:
            lost = astray(self.root, self._made)
            if not lost:
                self._talk.send(b"go")
        except OSError as error:  # it has ended, or is about to
            raise self._failed("process 1 has ended") from error
        if lost:
            raise self._failed(f"{lost} is not mounted where it was planned: the workspace changed meanwhile")
        self._begun()

    def _failed(self, reason: str) -> SandboxError:
        """Ends what there is, and says why the sandbox could not be built."""
        if self._root >= 0:
            self.kill()
            self.wait()
        self.close()
        return SandboxError(f"the sandbox could not be built: {reason}", "see `gateway doctor`")

    def wait(self) -> int:
        """Blocks until all that the command started has ended: its exit status, 128 + n after signal n."""
        with self._waiting:
            if self._status is None:
                word, status, failure = [*self._last_word().split(b" ", 2), b"", b""][:3]
                told = word == b"ended" and status.isdigit() and len(status) <= _DIGITS
                self._see_it_end(certainly=not told)
                if told:
                    self.failure = failure.decode("utf-8", "replace")
                # Else it was killed, or somebody else than process 1 speaks.
                self._status = int(status) if told else 128 + signal.SIGKILL
            return self._status

    def _see_it_end(self, *, certainly: bool) -> None:
        """Nothing of the call runs on, whatever was said. Process 1 by itself is not waited for: all that is left of it
        is that its mounts are taken down."""
        if self._root >= 0:
            left = certainly or children(self.root)
            send(self._root, signal.SIGKILL)
            if left:
                poll = select.poll()
                poll.register(self._root, select.POLLIN)
                poll.poll()

    def _last_word(self) -> bytes:
        """What was said when the command has ended, nothing when process 1 ended without a word. It is left where it
        is, so that `exited` stays readable."""
        poll = select.poll()
        poll.register(self._talk, select.POLLIN)
        if self._root >= 0:
            poll.register(self._root, select.POLLIN)
        poll.poll()
        try:
            return self._talk.recv(4096, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            return b""

    def close(self) -> None:
        """Gives the descriptors back. The tree must have ended."""
        self._talk.close()
        if self.listener >= 0:
            os.close(self.listener)
            self.listener = -1
        self.give_back()
