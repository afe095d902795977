"""Which lines may hold a text: found by a look at the bytes of the files, so that only these are read as JSON."""

from __future__ import annotations

import re

from gateway.audit import chain, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.audit.reading import Moment, Part

_CHUNK = 1 << 22
# What stands in a line exactly as it stands in a text: neither quoted nor beside what JSON may put blanks behind.
_PLAIN = re.compile(rb"[!#-+\-./0-9;-\[\]-~]+")
# Letters of which the small form is ASCII, as lines have them.
_UNUSUAL = {b"k": b"\\u212a", b"i": b"\\u0130"}


class Candidates:
    """The lines of a record that may hold a text, in any case. Each file is looked at when it is asked about first."""

    def __init__(self, moment: Moment, text: str) -> None:
        self._parts = {part.segment: part for part in moment.parts}
        self._needles = needles(text)
        self._known: dict[int, frozenset[int]] = {}

    def may_hold(self, segment: int | None, start: int | None) -> bool:
        """Whether the line at this place may hold it; a place that is none holds nothing."""
        if segment is None or start is None:
            return False
        if not self._needles or segment not in self._parts:
            return True
        found = self._known.get(segment)
        if found is None:
            found = self._known[segment] = frozenset(self._starts(self._parts[segment]))
        return start in found

    def _starts(self, part: Part) -> set[int]:
        found: set[int] = set()
        at, rest = 0, b""
        while at < part.size:
            data = files.read_between(part.file, at, min(at + _CHUNK, part.size))
            if not data:
                break
            at += len(data)
            data = rest + data
            end = data.rfind(chain.NEWLINE) + 1
            rest = data[end:]
            self._look(data[:end].lower(), at - len(data), found)
        self._look(rest.lower(), at - len(rest), found)
        return found

    def _look(self, data: bytes, offset: int, found: set[int]) -> None:
        for needle in self._needles:
            place = data.find(needle)
            while place >= 0:
                found.add(offset + data.rfind(chain.NEWLINE, 0, place) + 1)
                end = data.find(chain.NEWLINE, place)
                place = data.find(needle, end) if end >= 0 else -1


def needles(text: str) -> tuple[bytes, ...]:
    """Bytes of which a line that holds a text has at least one, in small letters; () where any line may hold it."""
    runs: list[bytes] = _PLAIN.findall(text.lower().encode("utf-8", "surrogatepass"))
    longest = max(runs, key=len, default=b"")
    if not longest:
        return ()
    return (longest, *(escape for letter, escape in _UNUSUAL.items() if letter in longest))
