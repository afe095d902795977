"""A call in a session of its own, for systems that offer nothing better: everywhere but on Linux.

Ending it reaches what stayed in the session's process group; a process that left for a session of its own goes on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading

from gateway.model.limits import LIMITS
from gateway.sandbox.base import OF_THE_TERMINAL, SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.sandbox.base import Streams

# Waits for one line on a descriptor of its own, then becomes the command; a closed one ends it. Old shells know no
# descriptors above 9, so it is opened by name, and the command inherits the reading end of a pipe that is empty.
_GATE = 'read -r go < "/dev/fd/$GATEWAY_GATE" && unset GATEWAY_GATE go && exec "$@"; exit 126'


class Session:
    """`gateway.sandbox.base.Running`."""

    def __init__(
        self,
        argv: Sequence[bytes],
        environment: Mapping[bytes, bytes],
        cwd: bytes,
        streams: Streams,
        keep: Sequence[int],
        rlimits: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """Starts it, waiting. Raises SandboxError."""
        gate, self._gate = os.pipe()
        self.exited, self._end = os.pipe()
        self._terminal = streams.terminal
        self._lock = threading.Lock()
        self._status = 0
        self.failure = ""
        try:
            self._process = subprocess.Popen(
                [b"/bin/sh", b"-c", _limited(rlimits) + _GATE.encode(), b"sh", *argv],
                env={**environment, b"GATEWAY_GATE": b"%d" % gate},
                cwd=cwd,
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                pass_fds=(gate, *keep),
                start_new_session=not streams.terminal,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            for descriptor in (self._gate, self.exited, self._end):
                os.close(descriptor)
            raise SandboxError(f"the command cannot be started: {error}") from error
        finally:
            os.close(gate)
        self.pid = self.root = self._process.pid
        self._waiter = threading.Thread(target=self._wait, name="gateway-session", daemon=True)
        self._waiter.start()

    def _wait(self) -> None:
        code = self._process.wait()
        self._status = code if code >= 0 else 128 - code
        self._signal_group(signal.SIGKILL)
        os.close(self._end)

    def _signal_group(self, number: int) -> None:
        try:
            if self._terminal:
                if self._process.returncode is None:
                    os.kill(self.pid, number)
            else:
                os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # it has ended

    def release(self) -> None:
        """Lets the command start. Raises SandboxError when it has ended already."""
        with self._lock:
            if self._gate < 0:
                return
            gate, self._gate = self._gate, -1
        try:
            os.write(gate, b"go\n")
        except BrokenPipeError:
            raise SandboxError("the command's process ended before it could start") from None
        finally:
            os.close(gate)

    def signal(self, number: int) -> None:
        """Passes a signal on to the command, or to its process group."""
        if number in OF_THE_TERMINAL:
            self._signal_group(number)
        elif self._process.returncode is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Ends the process group."""
        self._signal_group(signal.SIGKILL)

    def wait(self) -> int:
        """Blocks until the command has ended: its exit status, 128 + n after signal n."""
        self._waiter.join()
        return self._status

    def close(self) -> None:
        """Gives back descriptors."""
        with self._lock:
            if self._gate >= 0:
                os.close(self._gate)
                self._gate = -1
        if self.exited >= 0:
            os.close(self.exited)
            self.exited = -1


def _limited(rlimits: Sequence[tuple[int, int, int]]) -> bytes:
    """The start of a shell text that sets bounds and gives up where one cannot be set. Raises ValueError for a bound
    that no shell can set: a command without it must not start."""
    import resource

    letters = {resource.RLIMIT_CORE: ("c", 1)}
    letters |= {getattr(resource, each.resource): each.letter for each in LIMITS.values() if each.resource}
    unknown = [kind for kind, _soft, _hard in rlimits if not letters.get(kind, ("", 1))[0]]
    if unknown:
        raise ValueError(f"a shell cannot set the bounds {unknown}")
    found = []
    for kind, value, _hard in rlimits:
        letter, unit = letters[kind]
        found.append(b"ulimit -%b %d && " % (letter.encode(), value if unit == 1 else max(1, value // unit)))
    return b"".join(found)
