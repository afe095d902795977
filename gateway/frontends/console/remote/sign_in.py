"""Who somebody elsewhere is, for how long, and by what: a code that was shown at the terminal, or a passkey.

A code is worth something once, soon, and for the person whom it was shown for. A session is a cookie that scripts
cannot read, of which only the digest is kept here; it ends with the process, or after hours unused.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CODE, PASSKEY = "code", "passkey"
CODE_SECONDS = 600.0
IDLE_SECONDS = 12 * 3600.0
ADDING_SECONDS = 900.0  # after a code, in which a passkey may be added
MOST_SESSIONS = 32
MOST_WRONG = 100  # codes that are none; 2 to the 40th are possible
COOKIE = "__Host-gateway"
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that is taken for another
_LENGTH = 8


class Session(Value):
    """`name`: who it is; `by`: what showed it; `since`: when that was, and `used` when it was last of use."""

    id: str
    name: str
    by: str
    since: float
    used: float


class SignIns:
    """Codes and sessions of one process. `now`: seconds of a clock that never goes back."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._codes: dict[bytes, tuple[str, float]] = {}
        self._sessions: dict[bytes, Session] = {}
        self._wrong = 0

    def new_code(self, name: str) -> str:
        """A code for a person. One before it, for the same person, is worth nothing now."""
        code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        self._codes = {key: each for key, each in self._codes.items() if each[0] != name}
        self._codes[_digest(code)] = (name, self._now() + CODE_SECONDS)
        self._wrong = 0
        return f"{code[:4]}-{code[4:]}"

    def by_code(self, code: str) -> str | None:
        """Whom a code was shown for; it is worth nothing from then on. After too many that are none, no code is."""
        plain = code.upper().replace("-", "").replace(" ", "").replace("O", "0").replace("I", "1").replace("L", "1")
        given, found = _digest(plain), None
        for each in self._codes:
            if hmac.compare_digest(each, given):
                found = each
        if found is None:
            self._wrong += 1
            if self._wrong >= MOST_WRONG:
                self._codes.clear()
            return None
        name, until = self._codes.pop(found)
        return name if self._now() < until else None

    def open(self, name: str, by: str) -> str:
        """A new session's cookie."""
        while len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda each: self._sessions[each].used)]
        cookie = secrets.token_urlsafe(32)
        now = self._now()
        self._sessions[_digest(cookie)] = Session(secrets.token_hex(8), name, by=by, since=now, used=now)
        return cookie

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie, which is kept by that; None for one that is none, or over."""
        found = _digest(cookie)
        known = self._sessions.get(found)
        if known is None:
            return None
        if self._now() - known.used > IDLE_SECONDS:
            del self._sessions[found]
            return None
        self._sessions[found] = known.replace(used=self._now())
        return known

    def may_add(self, session: Session) -> bool:
        """Whether a passkey may be added: soon after a code, which only somebody at the terminal has seen."""
        return session.by == CODE and self._now() - session.since <= ADDING_SECONDS

    def close(self, cookie: str) -> None:
        """Ends one."""
        self._sessions.pop(_digest(cookie), None)

    def forget(self, name: str) -> None:
        """Ends everything of a person's."""
        self._codes = {key: each for key, each in self._codes.items() if each[0] != name}
        self._sessions = {key: each for key, each in self._sessions.items() if each.name != name}


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
