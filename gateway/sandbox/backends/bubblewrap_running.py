"""A call that bubblewrap holds: the handle on it, from waiting to ended."""

from __future__ import annotations

import json
import os
import select
import signal
import socket

from gateway.sandbox.base import SandboxError
from gateway.sandbox.first_process import OfProcess1, astray
from gateway.sandbox.spawn import children, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.mounts import Step
    from gateway.sandbox.spawn import Child

NOT_FOUND, NOT_STARTED = 127, 126
_BEING_BUILT = b"/newroot"  # where bubblewrap puts together what becomes the root


class Confined(OfProcess1):
    """`gateway.sandbox.base.Running`. `failure`: why the command itself could not be started, "" if it was."""

    def __init__(
        self,
        child: Child,
        reports: int,
        gate: socket.socket,
        built: socket.socket,
        *,
        filter_: bytes,
        made: tuple[Step, ...],
        plan: SandboxPlan,
        argv: Sequence[str | bytes],
        reason: Callable[[], str],
        leads: bool = True,
    ) -> None:
        """Waits until the sandbox's first process is there. `leads`: it leads a session and process group of its own.
        Raises SandboxError when it will not come."""
        super().__init__(leads=leads)
        self._child = child
        self._reports = reports
        self._gate = gate
        self._built = built
        self._filter = filter_
        self._made = made
        self._plan = plan
        self._program = os.fsdecode(argv[0]) if argv else ""
        self._reason = reason
        self._status: int | None = None
        self._killed = False
        self.failure = ""
        self.pid = child.pid
        try:
            self.root = self._first()
            self._root = os.pidfd_open(self.root)
        except (OSError, ValueError) as error:
            raise self._failed() from error

    @property
    def exited(self) -> int:
        """A descriptor that is readable once our child has ended."""
        return self._child.exited

    def _first(self) -> int:
        """The pid on the host of process 1, as bubblewrap reports it."""
        said = b""
        while b"\n" not in said:
            more = os.read(self._reports, 4096)
            if not more:
                raise ValueError("bubblewrap ended before it had made a process")
            said += more
        return int(json.loads(said.split(b"\n")[0])["child-pid"])

    def release(self) -> None:
        """Lets the command start, once the sandbox is built and found to be as planned. Raises SandboxError."""
        try:
            self._built.recv(1)  # comes to its end when the last file is made, or bubblewrap is gone
            lost = astray(self.root, self._made, _BEING_BUILT)
            if not lost:
                self._gate.sendall(self._filter)
                self._gate.shutdown(socket.SHUT_WR)
                self._gate.recv(1)  # an error if the filter was never read
        except OSError as error:  # it has ended, or is about to
            raise self._failed() from error
        if lost:
            raise self._failed(f"{lost} is not mounted where it was planned: the workspace changed meanwhile")

    def _failed(self, text: str = "") -> SandboxError:
        """Ends what there is, and says why the sandbox could not be built."""
        self.kill()
        if self._root < 0:
            self._child.send(signal.SIGKILL)
        status = self._child.wait()
        self.close()
        reason = text or self._reason() or f"bubblewrap ended with status {status}"
        return SandboxError(f"the sandbox could not be built: {reason}", "see `gateway doctor`")

    def kill(self) -> None:
        """Ends the whole tree at once."""
        self._killed = True
        super().kill()

    def wait(self) -> int:
        """Blocks until our child and all that the command started have ended: the command's exit status, 128 + n after
        signal n."""
        status = self._child.wait()
        with self._lock:
            if self._root >= 0:
                # Process 1 is being killed, and what the command left behind ends with it. Where nothing is left there
                # is nothing to wait for: it starts nothing itself, and taking down its mounts takes the kernel a while.
                left = children(self.root)
                send(self._root, signal.SIGKILL)
                if left:
                    poll = select.poll()
                    poll.register(self._root, select.POLLIN)
                    poll.poll()
            if self._status is None:
                self._status = self._told(status)
            return self._status

    def _told(self, status: int) -> int:
        """The command's status where there was a command: bubblewrap reports it only then."""
        told = b""
        while self._reports >= 0 and (more := os.read(self._reports, 4096)):
            told += more
        for line in told.splitlines():
            code = json.loads(line).get("exit-code")
            if code is not None:
                return int(code)
        if self._killed:
            return status if status > 128 else 128 + signal.SIGKILL
        found = "/" in self._program or _on_path(self._program, self._plan)
        self.failure = f"{self._program} cannot be started" if found else f"{self._program} is not found"
        return NOT_STARTED if found else NOT_FOUND

    def close(self) -> None:
        """Gives the descriptors back. The tree must have ended."""
        self._child.close()
        self._gate.close()
        self._built.close()
        with self._lock:
            if self._reports >= 0:
                os.close(self._reports)
            self._reports = -1
        self.give_back()


def _on_path(program: str, plan: SandboxPlan) -> bool:
    path = dict(plan.environment).get("PATH", os.defpath)
    return any(os.path.lexists(os.path.join(folder, program)) for folder in path.split(":") if folder)
