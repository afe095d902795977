"""Which of several equally strict reasons a verdict names: the one that tells a person most.

It never says how strict the verdict is, and neither the order of rules nor that of files shows in it.
"""

from __future__ import annotations

from gateway.model.decision import LAYERS, Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.effect import Effect, Item
    from gateway.model.verdict import Reason

# Kinds of effects, the gravest first: what may be anything, what cannot be undone or leaves the machine, what runs,
# what changes, what only looks. A connection counts by its direction.
GRAVEST_FIRST = (
    "opaque", "system", "push", "delete", "credential", "send", "code", "process", "listen", "fetch", "write", "env",
    "read", "list", "session", "exec", "use",
)  # fmt: skip
_ALLOW = Decision.ALLOW
_GRAVITY = {kind: number for number, kind in enumerate(GRAVEST_FIRST)}


def tells_more(reason: Reason, best: Reason, items: tuple[Item, ...]) -> bool:
    """Whether a reason is to be named before an equally strict one. `items`: the effects that both speak of.

    False between equals, so that the first of them stays: of the effects of one rule, that a program starts before what
    it does. A mode is asked about each effect, and allows them as a whole.
    """
    rule = reason.rule
    if rule is best.rule and reason.certain is best.certain:
        if rule.lane != "mode" or reason.decision is _ALLOW:
            return False
        return _gravity(items[reason.item].effect) < _gravity(items[best.item].effect)
    return rank(reason, items[reason.item].effect) < rank(best, items[best.item].effect)


def rank(reason: Reason, effect: Effect) -> tuple[Any, ...]:
    """The place of a reason among equally strict ones, the smallest first.

    A rule that surely holds comes before all else: a locked one, then the upper layer's, then by the gravity of the
    effect. A rule that only may hold, and a mode, come by the gravity of the effect, and then the rule before the mode.
    """
    rule = reason.rule
    source = rule.source
    by_mode = rule.lane == "mode"
    standing = (not rule.lock, LAYERS.index(source.layer))
    gravity = _gravity(effect)
    own = (rule.id, source.file, source.line)
    if by_mode or not reason.certain:
        return (1, gravity, by_mode, standing, own)
    return (0, standing, gravity, own)


def _gravity(effect: Any) -> int:
    return _GRAVITY[effect.direction if effect.kind == "connect" else effect.kind]
