"""Who may read, and who may answer.

A start token opens one page, once and soon; the page gets one of its own for it, that was never on disk, on a command
line or in an address. Only that one may answer. A reader's token, printed when a person asks for it, reads and does no
more. All end with the process.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PAGE, READER = "page", "reader"
START_SECONDS = 600.0
IDLE_SECONDS = 12 * 3600.0
MOST_PAGES = 16


class Tokens:
    """The tokens of one process, of which it keeps digests only. `now`: seconds of a clock that never goes back."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._starts: dict[bytes, float] = {}
        self._pages: dict[bytes, float] = {}
        self._readers: set[bytes] = set()

    def new_start(self) -> str:
        """A token that opens a page, once, within ten minutes. One before it that was not used is worth nothing now."""
        token = secrets.token_urlsafe(32)
        self._starts = {_digest(token): self._now() + START_SECONDS}
        return token

    def new_reader(self) -> str:
        """A token that only reads."""
        token = secrets.token_urlsafe(32)
        self._readers.add(_digest(token))
        return token

    def exchange(self, start: str) -> str | None:
        """A page's own token for a start token; None for one that is unknown, used or too old."""
        found = _among(start, self._starts)
        if found is None or self._starts.pop(found) < self._now():
            return None
        while len(self._pages) >= MOST_PAGES:
            del self._pages[min(self._pages, key=self._pages.__getitem__)]
        token = secrets.token_urlsafe(32)
        self._pages[_digest(token)] = self._now()
        return token

    def kind(self, token: str) -> str:
        """`page`, `reader`, or "" for a token that opens nothing. Using a page's token keeps it."""
        found = _among(token, self._pages)
        if found is not None:
            if self._now() - self._pages[found] <= IDLE_SECONDS:
                self._pages[found] = self._now()
                return PAGE
            del self._pages[found]
            return ""
        return READER if _among(token, self._readers) is not None else ""


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _among(token: str, digests: dict[bytes, float] | set[bytes]) -> bytes | None:
    """The digest that this token has, compared with each in a time that tells nothing."""
    given, found = _digest(token), None
    for each in digests:
        if hmac.compare_digest(each, given):
            found = each
    return found
