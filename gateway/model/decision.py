"""The three answers, ordered by strictness, so that combining answers is `max`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import IntEnum

    class Decision(IntEnum):
        """What becomes of a call. A higher value is stricter."""

        ALLOW = 0
        ASK = 1
        DENY = 2

        @property
        def word(self) -> str:
            """`allow`, `ask` or `deny`, as policies and JSON spell it."""

else:
    # The same by hand: `enum` alone takes as long to load as a call to judge.
    _NAMES = ("ALLOW", "ASK", "DENY")
    _WORDS = ("allow", "ask", "deny")

    class _DecisionType(type):
        def __iter__(cls):
            return iter(_ALL)

        def __len__(cls):
            return len(_ALL)

        def __contains__(cls, value):
            return value in _ALL

        def __getitem__(cls, name):
            return _ALL[_NAMES.index(name)] if name in _NAMES else {}[name]

    class Decision(int, metaclass=_DecisionType):
        """What becomes of a call. A higher value is stricter."""

        __slots__ = ()

        def __new__(cls, value):
            if value not in _ALL:
                raise ValueError(f"{value!r} is no decision")
            return _ALL[value]

        @property
        def name(self):
            return _NAMES[self]

        @property
        def value(self):
            return int(self)

        @property
        def word(self):
            """`allow`, `ask` or `deny`, as policies and JSON spell it."""
            return _WORDS[self]

        def __repr__(self):
            return f"<Decision.{self.name}: {int(self)}>"

        __str__ = int.__repr__

        def __reduce__(self):
            return (Decision, (int(self),))

    _ALL = tuple(int.__new__(Decision, value) for value in range(len(_NAMES)))
    Decision.ALLOW, Decision.ASK, Decision.DENY = _ALL


MODES = ("default", "accept_edits", "plan", "read_only", "auto", "dont_ask", "bypass")
LAYERS = ("builtin", "enterprise", "user", "project", "local", "session")
# What the reviewer of the mode `auto` is shown, each with all before it: what the mode asks, what rules ask, what is
# allowed and changes something, everything.
REVIEWS = ("mode", "asks", "changes", "all")
LEVELS = ("read", "write", "execute", "network", "agent", "session")
