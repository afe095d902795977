"""Files of a host, learnt from the answers of another: an index page names them, then they may be asked for. Pure.

What is asked for is the path as the index wrote it, so that of a named file nothing can be said but which one it is.
"""

from __future__ import annotations

import re
import zlib
from urllib.parse import unquote_to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.learned_names import Taught

MAX_NAMED = 500_000
MAX_SHOWN = 256 << 20
"""Bytes of one answer, unpacked, that are looked at; what it names behind them stays unknown."""
_PATH = rb"(/[A-Za-z0-9._~!$&'()*+,=:@%/-]{1,1024})"
_LONGEST = 1024 + 300
# Indexes are text; the files themselves are not, and teach nothing.
_TEXTS = re.compile(rb"(?:text/|application/(?:[a-z0-9.+-]*json|javascript|xml|xhtml))[^,]*", re.IGNORECASE)
# Beside a file, under its name with this behind it: its description, as the index says without naming it.
_BESIDE = (b".metadata",)


class NamedFiles:
    """What has been named to one call, and to its session before. `by`: hosts, each with those whose answers name its
    files."""

    def __init__(self, by: Iterable[tuple[str, tuple[str, ...]]], taught: Taught) -> None:
        self._named: dict[str, dict[bytes, bytes]] = {each[0]: taught.files.setdefault(each, {}) for each in by}
        self._taught_by: dict[str, list[str]] = {}
        for host, teachers in by:
            for each in teachers:
                self._taught_by.setdefault(each, []).append(host)

    def knows(self, host: Host) -> bool:
        """Whether files of a host are named by others at all."""
        return host.text in self._named

    def teaches(self, host: Host) -> bool:
        """Whether answers of a host name files."""
        return host.text in self._taught_by

    def path_of(self, host: Host, path: bytes) -> bytes:
        """A path as it was named, whichever way it is spelled; b"" for one that was not."""
        named = self._named.get(host.text, {})
        whole = unquote_to_bytes(path)
        found = named.get(whole, b"")
        for end in _BESIDE:
            if not found and whole.endswith(end) and (beside := named.get(whole[: -len(end)])):
                found = beside + end
        return found

    def bits(self, host: Host) -> int:
        """What choosing among the named files of a host says, in bits."""
        return (len(self._named.get(host.text, ())) * (1 + len(_BESIDE))).bit_length()

    def reader(self, host: Host, fields: tuple[tuple[bytes, bytes], ...]) -> Callable[[bytes], None] | None:
        """Who is to be shown an answer of a host, as it comes; None where there is nothing to learn from it."""
        types = [value for name, value in fields if name == b"content-type"]
        encodings = [value.lower() for name, value in fields if name == b"content-encoding"]
        if len(types) != 1 or not _TEXTS.fullmatch(types[0]) or encodings not in ([], [b"identity"], [b"gzip"]):
            return None
        pages = [(re.compile(rb"https://" + re.escape(each.encode("ascii")) + _PATH), self._named[each])
                 for each in self._taught_by.get(host.text, ())]  # fmt: skip
        return _Page(pages, packed=b"gzip" in encodings).more if pages else None


class _Page:
    """One answer, in pieces."""

    def __init__(self, pages: list[tuple[re.Pattern[bytes], dict[bytes, bytes]]], *, packed: bool) -> None:
        self._pages = pages
        self._unpack = zlib.decompressobj(31) if packed else None
        self._left = MAX_SHOWN
        self._tail = b""

    def more(self, data: bytes) -> None:
        while data and self._left > 0:
            if self._unpack is None:
                self._look(data)
                return
            try:
                text = self._unpack.decompress(data, 1 << 20)
            except zlib.error:
                self._left = 0
                return
            data = self._unpack.unconsumed_tail
            self._look(text)

    def _look(self, text: bytes) -> None:
        self._left -= len(text)
        text = self._tail + text
        # A name that the piece may have cut is looked at again, whole, with the next one.
        self._tail = text[-_LONGEST:]
        for pattern, named in self._pages:
            for found in pattern.finditer(text):
                path = found[1]
                if len(named) < MAX_NAMED and found.end() < len(text):
                    named.setdefault(unquote_to_bytes(path), path)
