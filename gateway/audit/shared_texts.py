"""Texts that many lines of the record refer to, stored once beside each file of lines and removed with it.

    audit/000001.facts    a line for each text: its digest, a blank, the text
    audit/000001.known    which of them are there, as far as anybody needs to know: a table of digests' first bytes

A writer holds the record's lock. The table may forget, so a text may stand there twice; it never says that one is there
that is not, unless the disk lost it. Who reads compares each text with its digest and believes nothing else.
"""

from __future__ import annotations

import os

from gateway.audit.files import KNOWN, TEXTS, open_own, read_between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BUCKETS = 4_096
_SLOTS = 16
_WIDTH = 8
_BUCKET = _SLOTS * _WIDTH
_FLAGS = os.O_RDWR | os.O_CREAT
_DIGEST = 32
_MOST_KNOWN = 8_192


class Beside:
    """The texts beside the file of lines that is written to now. Its caller holds the record's lock."""

    def __init__(self, most_bytes: int) -> None:
        """`most_bytes`: of texts beside one file; what comes then is not kept."""
        self._most = most_bytes
        self._stem = ""
        self._texts = self._table = -1
        self._here: set[str] = set()  # what this process knows to be there

    def keep(self, stem: str, texts: Iterable[tuple[str, str]]) -> None:
        """Makes sure of texts beside the file `stem`, each by its digest. Raises OSError and AuditError."""
        if stem != self._stem:
            self.close()
            self._stem = stem
        for digest, text in texts:
            if text and digest not in self._here:
                self._add(digest, text)

    def _add(self, digest: str, text: str) -> None:
        if self._texts < 0:
            self._texts = open_own(self._stem + TEXTS, _FLAGS | os.O_APPEND)
            self._table = open_own(self._stem + KNOWN, _FLAGS)
        mark = bytes.fromhex(digest[: 2 * _WIDTH])
        start = int(digest[-3:], 16) % _BUCKETS * _BUCKET
        bucket = os.pread(self._table, _BUCKET, start)
        known = [bucket[at : at + _WIDTH] for at in range(0, len(bucket), _WIDTH)]
        if mark not in known:
            size = os.fstat(self._texts).st_size
            line = f"{digest} {text}\n".encode("ascii")
            if size + len(line) > self._most:
                return
            if size and os.pread(self._texts, 1, size - 1) != b"\n":
                line = b"\n" + line  # somebody was killed, or had no room, in the middle of one
            if os.write(self._texts, line) != len(line):
                os.ftruncate(self._texts, size)
                return
            free = known.index(bytes(_WIDTH)) if bytes(_WIDTH) in known else len(known)
            slot = free if free < _SLOTS else size % _SLOTS
            os.pwrite(self._table, mark, start + slot * _WIDTH)
        if len(self._here) >= _MOST_KNOWN:
            self._here.clear()
        self._here.add(digest)

    def close(self) -> None:
        """Gives the files back."""
        for file in (self._texts, self._table):
            if file >= 0:
                os.close(file)
        self._texts = self._table = -1
        self._stem = ""
        self._here.clear()


def read_texts(stem: str) -> dict[str, bytes]:
    """All texts beside a file, by the digest that stands before each; none where there are none. Raises OSError."""
    try:
        file = os.open(stem + TEXTS, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return {}
    try:
        data = read_between(file, 0, os.fstat(file).st_size)
    finally:
        os.close(file)
    return {
        line[:_DIGEST].decode("ascii", "replace"): line[_DIGEST + 1 :]
        for line in data.split(b"\n")
        if line[_DIGEST : _DIGEST + 1] == b" "
    }
