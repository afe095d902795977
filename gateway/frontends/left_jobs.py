"""A command whose shell has ended while jobs of it still run: `server &`.

An agent that starts such a command goes on when the shell ends, and the jobs do too. The sandbox around them is held by
a process of ours, so there are two: one that the agent waits for and that ends with the shell's status, and one that
holds the sandbox until the last job has ended. As long as the shell runs, the second ends with the first.
"""

from __future__ import annotations

import os
import signal
import threading

from gateway.agents.tickets import Tickets
from gateway.core.cancel import Cancel
from gateway.core.places import places
from gateway.core.signal_wakeup import wait_readable
from gateway.sandbox.shell import folder_said, status_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Agents that give their commands a file to write to. Where it is a pipe they read it to its end, which whatever holds
# the sandbox would put off until the last job has ended.
_AGENTS = frozenset(("claude",))
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Left:
    """What the process that holds the sandbox knows of the one that the agent waits for."""

    def __init__(self, front: int, life: int) -> None:
        """`front`: where the status goes; `life`: at its end when the other process has ended."""
        self.cancel = Cancel()
        self.has_left = False
        self._front = front
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, args=(life,), name="gateway-front", daemon=True).start()

    def telling(self, follow: Callable[[str], None]) -> Callable[[bytes], None]:
        """What is handed the shell's report as it comes: once that says that jobs are left, the agent goes on."""
        said = bytearray()

        def told(data: bytes) -> None:
            said.extend(data)
            status = status_said(bytes(said))
            if status < 0 or self.has_left:
                return
            with self._lock:
                self.has_left = True
            follow(folder_said(bytes(said)))
            os.write(self._front, b"%d\n" % status)
            os.close(self._front)

        return told

    def _watch(self, life: int) -> None:
        os.read(life, 1)
        with self._lock:
            if not self.has_left:
                self.cancel.set()


def leaves_jobs(number: str) -> bool:
    """Whether the agent whose ticket this is expects jobs to go on."""
    ticket = Tickets(places().state).known(number)
    return ticket is not None and ticket.agent in _AGENTS


def with_jobs(work: Callable[[Left], int]) -> int:
    """Runs `work` in a process of its own, and gives its status, or the shell's as soon as that has left jobs."""
    ours, theirs = os.pipe()
    life, held = os.pipe()
    worker = os.fork()
    if not worker:
        status = 1
        try:
            os.close(ours)
            os.close(held)
            status = work(Left(theirs, life))
        finally:
            os._exit(status)
    os.close(theirs)
    os.close(life)
    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _frame: os.kill(worker, received))
    wait_readable(ours)
    said = os.read(ours, 16)
    if said.endswith(b"\n"):
        return int(said)
    return _exit_status(os.waitpid(worker, 0)[1])


def _exit_status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
