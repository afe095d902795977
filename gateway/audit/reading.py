"""The record as its readers see it: a snapshot, with files that stay open whatever rotation does meanwhile."""

from __future__ import annotations

import fcntl
import os

from gateway.audit import chain, files
from gateway.core.errors import AuditError
from gateway.core.value import Value
from gateway.model.record import DECISION, OUTCOME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

_CHUNK = 1 << 20
_STEP = 1 << 16  # to read backwards by
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe of that name is not waited for


class Part(Value):
    """One file: its number, path and size when it was looked at, and its descriptor."""

    segment: int
    path: str
    size: int
    file: int


class Line(Value):
    """One line as it stands in a file: where, and its bytes with the end."""

    part: Part
    start: int
    data: bytes


class Moment:
    """All files as they were under the lock, no write half done. Closes them when it ends."""

    def __init__(self, folder: str) -> None:
        """Raises AuditError where there is a record that cannot be read. Where there is none, `parts` is empty."""
        self.folder = folder
        self.parts: tuple[Part, ...] = ()
        self.raw = b""
        self.key: bytes | None = None
        try:
            self._look()
        except OSError as error:
            self.close()
            raise AuditError(f"the record in {folder} cannot be read ({error.strerror})") from error

    def _look(self) -> None:
        try:
            lock = os.open(os.path.join(self.folder, files.SEAL), _FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            lock = -1
        try:
            if lock >= 0:
                files.lock(lock, fcntl.LOCK_SH, self.folder)
                self.raw = os.pread(lock, 2 * chain.SEAL_SIZE, 0)
                self.key = _key(self.folder)
            if os.path.isdir(self.folder):
                for number in files.segments(self.folder):
                    path = os.path.join(self.folder, files.name_of(number))
                    file = os.open(path, _FLAGS)
                    self.parts = (*self.parts, Part(number, path, os.fstat(file).st_size, file))
        finally:
            if lock >= 0:
                os.close(lock)

    @property
    def seal(self) -> chain.Seal | None:
        """What the seal says, None where it says nothing that can be believed."""
        return None if self.key is None else chain.unpack(self.raw, self.key)

    def lines(self, part: Part, start: int = 0) -> Iterator[Line]:
        """A file's lines from a place on; the last one may have no end."""
        rest = b""
        at = start
        while at < part.size:
            data = files.read_between(part.file, at, min(at + _CHUNK, part.size))
            if not data:
                break
            at += len(data)
            *whole, rest = (rest + data).split(chain.NEWLINE)
            for each in whole:
                yield Line(part, start, each + chain.NEWLINE)
                start += len(each) + 1
        if rest:
            yield Line(part, start, rest)

    def last(self, count: int) -> list[dict[str, Any]]:
        """The last records, in order."""
        found: list[dict[str, Any]] = []
        for part in reversed(self.parts):
            window = 1 << 16
            while len(found) < count:
                start = max(part.size - window, 0)
                lines = [line.data for line in self.lines(part, start)]
                here = [record for data in lines[start > 0 :] if (record := chain.read(data)) is not None]
                if len(found) + len(here) >= count or not start:
                    found = [*here, *found]
                    break
                window *= 4
        return found[-count:] if count else []

    def backwards(self, most: int) -> Iterator[dict[str, Any]]:
        """The records from the last one back, as many as lie in the last `most` bytes of the files."""
        for part in reversed(self.parts):
            end, rest = part.size, b""
            while end and most > 0:
                start = max(end - _STEP, 0)
                data = files.read_between(part.file, start, end) + rest
                most -= end - start
                first, *lines = data.split(chain.NEWLINE)
                rest = first
                for line in reversed(lines if start else [first, *lines]):
                    record = chain.read(line)
                    if record is not None:
                        yield record
                end = start

    def bytes_at(self, segment: int, start: int, size: int) -> bytes:
        """The bytes at a place, fewer where there are not so many."""
        part = next((each for each in self.parts if each.segment == segment), None)
        return b"" if part is None else files.read_between(part.file, start, start + size)

    def close(self) -> None:
        """Closes the files."""
        for part in self.parts:
            os.close(part.file)
        self.parts = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def added_since(folder: str, at: tuple[int, int]) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """The whole records behind a place (file number and bytes), and the place behind them. Raises AuditError."""
    found = []
    with Moment(folder) as moment:
        for part in moment.parts:
            if part.segment < at[0]:
                continue
            for line in moment.lines(part, at[1] if part.segment == at[0] else 0):
                if line.data.endswith(chain.NEWLINE):
                    record = chain.read(line.data)
                    found += [record] if record is not None else []
                    at = (part.segment, line.start + len(line.data))
    return found, at


def recent(folder: str, number: int, most: int) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """The decision of that number and the last outcome of its call, if it stands in the last `most` bytes of the
    record: found without an index. Raises AuditError."""
    outcomes: dict[Any, dict[str, Any]] = {}
    with Moment(folder) as moment:
        for record in moment.backwards(most):
            if record["kind"] == OUTCOME:
                outcomes.setdefault(record.get("id"), record)
            elif record["n"] == number and record["kind"] == DECISION:
                return record, outcomes.get(record.get("id"))
            if isinstance(record["n"], int) and record["n"] < number:
                return None
    return None


def _key(folder: str) -> bytes | None:
    try:
        file = os.open(os.path.join(folder, files.KEY), _FLAGS)
    except FileNotFoundError:
        return None
    try:
        key = os.read(file, files.KEY_SIZE + 1)
    finally:
        os.close(file)
    return key if len(key) == files.KEY_SIZE else None
