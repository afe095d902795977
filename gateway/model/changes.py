"""What becomes of what a contained call changes, ordered by strictness, so that combining answers is `max` over it."""

from __future__ import annotations

NONE, KEEP, ASK, DISCARD = "none", "keep", "ask", "discard"
OFF = "off"

CHANGES = (NONE, KEEP, ASK, DISCARD)
"""`none`: the call is not contained. `keep`: its changes stay, and can be taken back. `ask`: somebody agrees to them,
once they are made in a layer over the workspace, or before where nobody can then. `discard`: they are made in such a
layer, and gone when the call ends."""

BOUNDS = (KEEP, ASK, DISCARD, OFF)
"""What the setting `contained` may be, mildest first: no rule gives a milder answer. `off`: nothing is contained."""

_ORDER = {name: number for number, name in enumerate((*CHANGES, OFF))}


def strictest(*changes: str) -> str:
    """The strictest of some answers; `none` of none."""
    return max(changes, key=_ORDER.__getitem__, default=NONE)


def mildest(*changes: str) -> str:
    """The mildest of some answers; at least one."""
    return min(changes, key=_ORDER.__getitem__)
