"""Files as servers and answers need them: the whole text of one, opened by its real path and through no link."""

from __future__ import annotations

import os

from gateway.core.errors import GatewayError
from gateway.core.value import Value
from gateway.files.kinds import kind_of
from gateway.files.opening import Place, way_to
from gateway.files.text import decoded, encoding_of
from gateway.lsp.positions import lines_of
from gateway.model.call import RawCall
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.calls.work import Work

    Stamp = tuple[int, int, int, int]

MOST_SOURCE = 8 << 20
# Files that one answer is read from, and how much of them.
MOST_FILES = 200
MOST_CHARACTERS = 32 << 20
_HEAD = 4096


class Source(Value):
    """A file's text. `stamp`: tells one version of the file from another."""

    real: str
    text: str
    stamp: Stamp
    lines: tuple[str, ...]


def stamp_of(found: os.stat_result) -> Stamp:
    """What changes when the file does."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def source_of(real: str) -> Source | None:
    """The text of a plain file by its real path; None where there is none, or none that is text and not too large."""
    try:
        with way_to(Place(real, real, "file")) as way:
            descriptor, found = way.open()
            try:
                if found.st_size > MOST_SOURCE:
                    return None
                data = _all(descriptor)
            finally:
                os.close(descriptor)
    except (OSError, GatewayError):
        return None
    text = None if len(data) > MOST_SOURCE else text_of(data)
    return None if text is None else Source(real, text, stamp_of(found), tuple(lines_of(text)))


def text_of(data: bytes) -> str | None:
    """The text of a file, with a mark in the place of bytes that are none; None for what is no text."""
    encoding = None if kind_of(data[:_HEAD]) else encoding_of(data)
    if encoding is None:
        return None
    try:
        text = decoded(data, encoding)
    except ValueError:
        return None
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if not text.isascii() else text


def _all(descriptor: int) -> bytes:
    parts, size = [], 0
    while size <= MOST_SOURCE and (part := os.read(descriptor, 1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def may_always_read(path: str, work: Work) -> bool:
    """Whether any call of the session may read a file, and not only this one, for which somebody was asked."""
    verdict = work.judge.check(RawCall("Read", {"file_path": path}), work.context)
    return verdict.decision is Decision.ALLOW


class Sources:
    """The files that one answer speaks of, as far as they may be read, each looked at once."""

    def __init__(self, may_read: Callable[[str], bool]) -> None:
        self._may_read = may_read
        self._known: dict[str, Source | None] = {}
        self._left = MOST_CHARACTERS

    def is_refused(self, path: str) -> bool:
        """Whether policy does not let this call see a file. One that is not there is not refused."""
        real = os.path.realpath(path)
        return os.path.lexists(path) and not (self._may_read(path) and self._may_read(real))

    def of(self, path: str) -> Source | None:
        """A file that may be read, None for any other."""
        found = self._known.get(path)
        if found is None and path not in self._known and len(self._known) < MOST_FILES and self._left > 0:
            real = os.path.realpath(path)
            may = self._may_read(path) and self._may_read(real)
            found = self._known[path] = source_of(real) if may else None
            self._left -= 0 if found is None else len(found.text)
        return found
