"""The descriptors of one confined call: what its command reads, writes and reports on, and where that goes."""

from __future__ import annotations

import os
import stat
from io import BytesIO

from gateway.core.value import Value
from gateway.sandbox.base import Streams
from gateway.sandbox.inherited_descriptors import Copy, FileRead, HandedOver, is_regular
from gateway.sandbox.pump import STDERR, STDOUT, Kept, Pump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.limits import Limits
    from gateway.sandbox.pump import Listener

REPORT = 3
# What is kept of standard error to tell a refusal by the kernel from an ordinary failure, where nobody captures it.
TAIL = 16 << 10
_MOST_REPORT = 256 << 10


class Ways(Value):
    """Where a command's own streams go.

    `stdin`: bytes that it reads, or a descriptor of the caller's. `stdout`, `stderr`: descriptors of the caller's that
    it writes to directly, or by way of us where it is a regular file or both are one; -1 to capture. `copy`: a
    descriptor that captured standard error is handed on to as it comes, so that refusals can be read off it all the
    same. `terminal`: it shares the caller's terminal.
    """

    stdin: bytes | int = b""
    stdout: int = -1
    stderr: int = -1
    copy: int = -1
    terminal: bool = False


CAPTURED = Ways()


class Wires:
    """One call; one use: `connect`, `handed_over` when the command has its ends, `pump`, and `close` when it has
    ended."""

    def __init__(self, limits: Limits) -> None:
        self.kept = {STDOUT: Kept(limits.output), STDERR: Kept(limits.output), REPORT: Kept(_MOST_REPORT)}
        self._most = limits.file_size
        self._sources: dict[int, int] = {}
        self._theirs: list[int] = []
        self._ours: list[int] = []
        self._shared = HandedOver()
        self._copies: dict[int, Copy] = {}
        self._elsewhere: set[int] = set()  # streams that a caller gets himself: none of a result
        self._sink = -1
        self._more: Callable[[int], bytes] | None = None
        self._file: FileRead | None = None
        self._pump: Pump | None = None

    def connect(self, ways: Ways, *, report: bool) -> tuple[Streams, int]:
        """The command's descriptors, and the one that it reports on, -1 unless it does. Raises OSError."""
        stdin = self._read(ways.stdin)
        if _same(ways.stdout, ways.stderr):
            # One pipe, so that what is written to either stays in order, and complaints are read all the same.
            stdout = stderr = self._copied(ways.stderr, STDERR)
        else:
            stdout = self._written(ways.stdout, STDOUT)
            stderr = self._written(ways.stderr, STDERR)
        if ways.copy >= 0:
            self._copies[STDERR] = Copy(ways.copy, self._most)
        return Streams(stdin, stdout, stderr, ways.terminal), self._source(REPORT) if report else -1

    def _read(self, given: bytes | int) -> int:
        """What the command reads from."""
        if isinstance(given, int) and not is_regular(given):
            return self._shared.add(given)
        if given == b"":
            stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            self._theirs.append(stdin)
            return stdin
        stdin, self._sink = os.pipe()
        if isinstance(given, int):
            self._file = FileRead(given, stdin)
            self._more = self._file.more
        else:
            self._theirs.append(stdin)
            self._more = BytesIO(given).read
        return stdin

    def _written(self, given: int, stream: int) -> int:
        """What the command writes to. `given`: a descriptor of the caller's, -1 to capture."""
        if given >= 0 and not is_regular(given):
            return self._shared.add(given)
        return self._copied(given, stream) if given >= 0 else self._source(stream)

    def _copied(self, given: int, stream: int) -> int:
        self._copies[stream] = Copy(given, self._most)
        self._elsewhere.add(stream)
        self.kept[stream] = Kept(TAIL)
        return self._source(stream)

    def _source(self, stream: int) -> int:
        ours, theirs = os.pipe()
        self._sources[ours] = stream
        self._ours.append(ours)
        self._theirs.append(theirs)
        return theirs

    def handed_over(self) -> None:
        """The command has its ends."""
        _close(self._theirs)
        self._shared.close()

    def pump(self, exited: int, cancelled: int, listener: Listener) -> Pump:
        """What carries bytes both ways."""
        self._pump = Pump(
            exited, cancelled, self._sources, self.kept, listener=listener, sink=self._sink, more=self._more
        )
        return self._pump

    def copied(self, stream: int) -> bool:
        """Whether what is captured of a stream is handed on by `copy`."""
        return stream in self._copies

    def copy(self, stream: int, data: bytes) -> bool:
        """Hands it on. False when the command should not go on: what it writes can be kept no more. Where a reader has
        gone, the command learns of it when it next writes."""
        copy = self._copies[stream]
        goes_on = copy.write(data)
        if copy.is_gone and stream in self._elsewhere and self._pump is not None:
            for descriptor in [each for each in self._ours if self._sources.get(each) == stream]:
                self._pump.leave(descriptor)
                self._ours.remove(descriptor)
                os.close(descriptor)
        return goes_on

    @property
    def problem(self) -> str:
        """Why what the command wrote could not be handed on, "" if it could."""
        return next((each.problem for each in self._copies.values() if each.stops), "")

    @property
    def is_over(self) -> bool:
        """Whether that is because it was too much."""
        return any(each.is_over for each in self._copies.values())

    def captured(self, stream: int) -> tuple[bytes, int]:
        """What was kept for the result, and how many bytes were not."""
        return (b"", 0) if stream in self._elsewhere else (self.kept[stream].bytes(), self.kept[stream].dropped)

    def close(self) -> None:
        """Gives everything back. The command must have ended."""
        _close(self._ours)
        self._shared.restore()
        if self._pump is not None:
            self._pump.close_sink()
        elif self._sink >= 0:
            os.close(self._sink)
        self._sink = -1
        if self._file is not None:
            self._file.close(len(self._pump.unwritten) if self._pump is not None else 0)
            self._file = None


def _same(one: int, other: int) -> bool:
    """Whether these descriptors of the caller's lead to the same, and that is no terminal, which a command must see."""
    return one >= 0 and other >= 0 and os.path.sameopenfile(one, other) and not stat.S_ISCHR(os.fstat(one).st_mode)


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())
