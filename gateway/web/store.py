"""Pages that were fetched lately, on disk: this user's own, sealed, bounded, and safe with several processes.

Whatever is not whole, not ours or too old is not there. A page that is found is judged as if it were fetched again.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.core.cache import MAX_ENTRIES, Cache, digest
from gateway.web.fetch import Step
from gateway.web.page import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SECONDS = 15 * 60.0
MOST_BYTES = 32 << 20  # of all entries together
MOST_ENTRIES = MAX_ENTRIES
MOST_OF_ONE = 4 << 20
_FORMAT = "1"
_ENDING = ".json"
# What a writer that was killed leaves behind is swept up after this.
_STALE = 3600.0
_FIELDS = ("asked", "final", "status", "media_type", "title", "text", "size", "fetched", "elsewhere", "hidden", "cut")


class Store:
    """Entries below one folder, which is made when something is first kept. Never raises: what cannot be kept is
    fetched again."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._cache = Cache(folder)

    def find(self, url: str, settings: Sequence[str], now: float) -> Page | None:
        """The page of a URL as it was fetched under these settings, if that is not too long ago."""
        found = self._cache.read(_key(url, settings))
        if not isinstance(found, dict):
            return None
        page = _page(found)
        # A clock that was set back makes an entry look as if it came from the future.
        if page is None or page.asked != url or not 0 <= now - page.fetched < SECONDS:
            return None
        return page

    def keep(self, page: Page, settings: Sequence[str]) -> bool:
        """Keeps a page for the next who ask for it; False where it cannot be."""
        if page.passing or len(page.text) > MOST_OF_ONE:
            return False
        given: dict[str, Any] = {name: getattr(page, name) for name in _FIELDS}
        given["steps"] = [[step.url, list(step.addresses)] for step in page.steps]
        given["notes"] = list(page.notes)
        try:
            kept = self._cache.write(_key(page.asked, settings), given)
            self._bound()
        except OSError:
            return False
        return kept

    def _bound(self) -> None:
        """Drops the oldest entries where all together are too large, and everything that is too old."""
        with os.scandir(self.folder) as entries:
            found = []
            for entry in entries:
                with suppress(OSError):  # another process was faster
                    seen = entry.stat(follow_symlinks=False)
                    found.append((seen.st_mtime, seen.st_size, entry.name))
        left = MOST_BYTES
        now = max((modified for modified, _size, _name in found), default=0.0)  # by the clock that wrote the others
        for modified, size, name in sorted(found, reverse=True):
            if name.endswith(_ENDING):
                left -= size
                if left >= 0 and now - modified < SECONDS:
                    continue
            elif _ENDING not in name or now - modified < _STALE:
                continue
            with suppress(OSError):
                os.unlink(os.path.join(self.folder, name))


def _key(url: str, settings: Sequence[str]) -> str:
    return "page-" + digest([_FORMAT, url, *settings])


def _page(found: dict[str, Any]) -> Page | None:
    """The page of an entry; None for what has another form, as an older version may have written it."""
    try:
        steps = tuple(Step(str(url), tuple(map(str, addresses))) for url, addresses in found["steps"])
        fields = {name: found[name] for name in _FIELDS}
        page = Page(**fields, steps=steps, notes=tuple(map(str, found["notes"])), cached=True)
    except (KeyError, TypeError, ValueError):
        return None
    texts = (page.asked, page.final, page.media_type, page.title, page.text, page.elsewhere)
    fits = all(isinstance(each, str) for each in texts) and isinstance(page.fetched, (int, float)) and bool(steps)
    return page if fits else None
