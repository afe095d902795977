"""The paths that a call names itself to read, write and delete: what whoever allowed it has agreed to. Pure."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.verdict import Verdict


class Agreed(Value):
    """The paths that a call itself names, with where they lead: the verdict spoke of these very names, so that rules
    on names in general were answered for them."""

    reads: frozenset[str]
    writes: frozenset[str]
    deletes: frozenset[str]


def agreed_of(verdict: Verdict) -> Agreed:
    """What the call names to read, to write and to delete."""
    found: dict[str, set[str]] = {"read": set(), "write": set(), "delete": set()}
    for item in verdict.analysis.items:
        effect: Any = item.effect
        if effect.kind in found and HOLE not in effect.path and HOLE not in effect.real:
            found[effect.kind].update((effect.path, effect.real or effect.path))
    return Agreed(*[frozenset(paths) for paths in found.values()])
