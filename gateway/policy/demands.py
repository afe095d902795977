"""What `require` rules ask of the plan of a call, and whether this call meets it."""

from __future__ import annotations

from gateway.model.decision import Decision
from gateway.model.verdict import Outcome, Reason
from gateway.policy.subject import NO
from gateway.policy.table import DEMANDS, EXCEPT, EXPIRES, LEVEL, REST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.effect import Item
    from gateway.policy.candidates import Finder

    Demands = tuple[tuple[str, object], ...]


def demanded(finder: Finder, items: tuple[Item, ...]) -> tuple[list[Outcome], Demands, list[Reason]]:
    """A denial for each rule whose demands this call does not meet; the demands of all others, by name; and what is
    only noted, of rules that are not in force yet."""
    policy, context = finder.policy, finder.context
    unmet: list[Outcome] = []
    noted: list[Reason] = []
    demands: dict[str, object] = {}
    seen: set[int] = set()
    for number, item in enumerate(items):
        finder.look_at(item)
        for clause in policy.requires:
            rule, tests, of_part = policy.clauses[clause]
            row = policy.rules[rule]
            if rule in seen or 0 < row[EXPIRES] <= context.now:
                continue
            if finder.answer([*of_part, *tests], False) is NO:
                continue
            if row[EXCEPT] and finder.is_excepted(row[EXCEPT]):
                continue
            seen.add(rule)
            note = _unmet(row[REST][DEMANDS], finder, items)
            reason = Reason(policy.rule(rule), Decision.DENY if note else Decision.ALLOW, number, note=note)
            if row[LEVEL]:
                noted.append(reason)
            elif note:
                unmet.append(Outcome(Decision.DENY, reason))
            else:
                demands.update(row[REST][DEMANDS])
    return unmet, tuple(sorted(demands.items())), noted


def _unmet(demands: Mapping[str, Any], finder: Finder, items: tuple[Item, ...]) -> str:
    """Why a demand is not met, "" if all are. What only a plan can give needs confinement."""
    context = finder.context
    for name, value in demands.items():
        if name in ("confined", "contained"):
            if getattr(context, name) != value:
                return f"required: {name} {str(value).lower()}"
        elif name == "changes":
            continue  # of calls that are not contained it says nothing
        elif not context.confined:
            return f"required: {name} {value}, which nobody enforces outside the sandbox"
        elif (name, value) == ("network", "off") and any(item.effect.kind in ("connect", "push") for item in items):
            return "required: network off"
    return ""
