"""Names that read-only hosts gave to the calls of a session: files that an index listed, and what hosts call their
content. They may be sent freely in later calls of the same session, and in no other. Used in the loop's thread
alone."""

from __future__ import annotations

MOST_SESSIONS = 16
MOST_NAMES = 500_000
"""Of all sessions together; those that were used last are kept."""


class Taught:
    """Of one session. `files`: by a host and those whose answers name its files, each name with the path as it was
    named; `tags`: hosts, each with an entity tag that it has given."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, tuple[str, ...]], dict[bytes, bytes]] = {}
        self.tags: set[tuple[str, bytes]] = set()


class Sessions:
    """Of all sessions of this process, those that were used last."""

    def __init__(self) -> None:
        self._kept: dict[str, Taught] = {}

    def of(self, session: str) -> Taught:
        """That of a session, by its name; of a call without one nothing is kept."""
        if not session:
            return Taught()
        found = self._kept.pop(session, None) or Taught()
        self._kept[session] = found
        while len(self._kept) > MOST_SESSIONS or (len(self._kept) > 1 and self._names() > MOST_NAMES):
            del self._kept[next(iter(self._kept))]
        return found

    def _names(self) -> int:
        return sum(len(each) for taught in self._kept.values() for each in taught.files.values())
