"""Commands that run on while the session goes on. Each has a thread that waits for it; all end with the session.

The sandbox ends a command with all its processes when it is cancelled, and when the gateway itself is gone, however
that came about.
"""

from __future__ import annotations

import os
import threading

from gateway.calls.command_output import Transcript
from gateway.core.cancel import Cancel
from gateway.core.errors import GatewayError
from gateway.model.result import Result
from gateway.sandbox.run import NOT_RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.audit.calls import Lasting

MOST = 64  # that run at the same time
MOST_KNOWN = 256  # with those that have ended
END_SECONDS = 30.0


class Background:
    """One command. `id`: what the model calls it; `transcript`: what it prints; `result`: once it has ended."""

    def __init__(self, number: int, command: str, folder: str, lasting: Lasting | None = None) -> None:
        """`lasting`: is told the end for the record, None where whoever starts it waits for the end."""
        self.id = f"bash_{number}"
        self.command = command
        self.cancel = Cancel()
        # The name cannot be foreseen, so that no call has put a file of its own there.
        file = f"{self.id}-{os.urandom(6).hex()}.txt"
        self.transcript = Transcript(os.path.join(folder, file), at_once=True)
        self.result: Result | None = None
        self.failure = ""
        self.looked = 0  # where the last look of BashOutput stopped
        self.looking = threading.Lock()
        self._lasting = lasting
        self._thread: threading.Thread | None = None

    @property
    def status(self) -> str:
        """running, killed, failed (it never started), or how the command ended."""
        if self._thread is None or self._thread.is_alive():
            return "running"
        if self.failure or self.result is None:
            return "failed"
        return {"cancelled": "killed", "exited": "completed"}.get(self.result.ended, self.result.ended)

    @property
    def unrecorded(self) -> str:
        """What could not be recorded of its end, "" if all could."""
        return "" if self._lasting is None else self._lasting.problem

    def run(self, runs: Callable[..., Result]) -> None:
        """Starts its thread. Raises GatewayError where there can be none."""

        def serve() -> None:
            try:
                self.result = runs(listener=lambda _stream, data: self.transcript.add(data), cancel=self.cancel)
            except Exception as error:  # told to whoever looks; there is no caller any more
                self.failure = str(error) or type(error).__name__
            if self.result is not None and self.result.status == NOT_RUN and self.result.ended == "failed":
                self.failure = self.result.reason
            if self._lasting is not None:
                self._lasting.ended(self.result or Result("failed", 1, reason=self.failure))
            self.cancel.close()
            self.transcript.end()

        thread = threading.Thread(target=serve, name=f"gateway-{self.id}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system gives no more of them
            self.cancel.close()
            self.transcript.end()
            raise GatewayError(f"no thread can wait for it ({error})") from error
        self._thread = thread

    def kill(self) -> None:
        """Ends it with all its processes; returns when they have ended. Raises GatewayError when they would not."""
        self.cancel.set()
        self.join(END_SECONDS)

    def join(self, seconds: float) -> None:
        """Waits for its end. Raises GatewayError when that does not come in time."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                raise GatewayError(f"command {self.id} did not end within {seconds:g} s")


class Shells:
    """The background commands of one session. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Background] = {}
        self._number = 0
        self._closed = False

    def start(
        self, command: str, folder: str, runs: Callable[..., Result], lasting: Lasting | None = None
    ) -> Background:
        """Runs a command in the background. `folder`: where its output is kept; `runs`: blocks until it has ended, with
        `listener` and `cancel` as `Runner.run` has them. Raises GatewayError when there are too many, or it cannot be
        started."""
        with self._lock:
            if self._closed:
                raise GatewayError("the session has ended")
            running = [each.id for each in self._known.values() if each.status == "running"]
            if len(running) >= MOST:
                raise GatewayError(f"there are {MOST} background commands already; end one with KillShell")
            self._number += 1
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(name for name in self._known if name not in running)]
            try:
                made = Background(self._number, command, folder, lasting)
            except OSError as error:
                raise GatewayError(f"the system does not let it: {error.strerror}") from error
            made.run(runs)
            self._known[made.id] = made
            return made

    def get(self, name: str) -> Background | None:
        """A command by its id, also after it has ended."""
        with self._lock:
            return self._known.get(name)

    def all(self) -> tuple[Background, ...]:
        """Every command of the session, the oldest first."""
        with self._lock:
            return tuple(self._known.values())

    def close(self) -> None:
        """Ends every command. Returns when all their processes have ended; raises GatewayError for those that would
        not, after all the others."""
        with self._lock:
            self._closed = True
            known = tuple(self._known.values())
        for each in known:
            each.cancel.set()
        problems: list[Any] = []
        for each in known:
            try:
                each.join(END_SECONDS)
            except GatewayError as error:
                problems.append(error)
        if problems:
            raise problems[0]
