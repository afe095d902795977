"""What was answered for a session, kept in memory and gone with it."""

from __future__ import annotations

import threading

from gateway.model.grant import SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.grant import Grant

MAX_GRANTS = 1_000


class Grants:
    """The answers of one session. Safe to use from several threads: a grant for n uses is used n times."""

    def __init__(self) -> None:
        self._grants: list[Grant] = []
        self._lock = threading.Lock()

    def add(self, grant: Grant) -> None:
        """Remembers an answer for the session; a later one to the same question takes its place. Raises ValueError for
        any other answer."""
        if grant.scope != SESSION:
            raise ValueError("only an answer for the session is remembered")
        with self._lock:
            kept = [each for each in self._grants if not each.replace(uses=-1, until=0.0).holds(grant, 0.0)]
            self._grants = [*kept[-(MAX_GRANTS - 1) :], grant]

    def use(self, asked: Grant, now: float) -> Grant | None:
        """The answer that was given to this question before, and one use of it; None if there is none."""
        with self._lock:
            for place, grant in enumerate(self._grants):
                if grant.holds(asked, now):
                    if grant.uses > 0:
                        self._grants[place] = grant.replace(uses=grant.uses - 1)
                    return grant
        return None

    def __len__(self) -> int:
        return len(self._grants)
