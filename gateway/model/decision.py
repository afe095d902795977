"""The three answers, ordered by strictness, so that combining answers is `max`."""

from __future__ import annotations

from enum import IntEnum


class Decision(IntEnum):
    """What becomes of a call. A higher value is stricter."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """`allow`, `ask` or `deny`, as policies and JSON spell it."""
        return self.name.lower()


MODES = ("default", "accept_edits", "plan", "read_only", "auto", "dont_ask", "bypass")
LAYERS = ("builtin", "enterprise", "user", "project", "local", "session")
LEVELS = ("read", "write", "execute", "network", "agent", "session")
