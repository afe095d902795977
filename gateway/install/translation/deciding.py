"""What an agent's own rules say of a call. Pure.

Two ways of combining: `STRICTEST`, where deny stands above ask and ask above allow wherever they stand, and `FIRST`,
where the strongest rule that holds decides, whatever it says.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.install.translation.common_call import SHELL, Asked
from gateway.install.translation.matching import STAR, Command, Everything
from gateway.install.translation.rules import ALLOW, ASK, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.translation.matching import Test
    from gateway.install.translation.rules import Rule

STRICTEST, FIRST = "strictest", "first"
_ORDER = {ALLOW: 0, ASK: 1, DENY: 2}


class Said(Value):
    """`lane`: allow, ask, deny, or "" where no rule speaks. `rule`: the one that decided."""

    lane: str
    rule: Rule | None = None


def said_of_one(rules: Sequence[Rule], asked: Asked, way: str) -> Said:
    """What the rules say of a call that is not taken apart: one simple command, one path, one address, one tool."""
    best = Said("")
    for rule in rules:
        if any(test.holds(asked) for test in rule.tests):
            if way == FIRST:
                return Said(rule.lane, rule)
            if best.rule is None or _ORDER[rule.lane] > _ORDER[best.lane]:
                best = Said(rule.lane, rule)
    return best


def _is_any(test: Test) -> bool:
    return test == Everything(SHELL) or (isinstance(test, Command) and test.pieces == (STAR,))


def said(rules: Sequence[Rule], asked: Asked, way: str, parts: Sequence[str]) -> Said:
    """What the rules say of a call. `parts`: the simple commands of a text, whatever it joins them by. A deny of any
    part, or of the whole text, counts, then an ask; an allow only where each part has one."""
    if asked.kind != SHELL:
        return said_of_one(rules, asked, way)
    whole = said_of_one(rules, asked, way)
    if parts and whole.rule is not None and any(_is_any(test) for test in whole.rule.tests):
        whole = Said("")  # what speaks of every command speaks of each of them
    each = [said_of_one(rules, Asked(SHELL, part), way) for part in parts]
    for lane in (DENY, ASK):
        for found in (*each, whole):
            if found.lane == lane:
                return found
    if each and all(found.lane == ALLOW for found in each):
        return each[0]
    return whole if len(each) <= 1 and not each else Said("")
