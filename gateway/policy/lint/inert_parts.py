"""Parts of rules that never count: exceptions that except nothing, modes in which a rule changes nothing."""

from __future__ import annotations

from gateway.model.decision import LAYERS
from gateway.policy.algebra.clauses import at_most, limits
from gateway.policy.algebra.dimensions import BARE, WRITTEN, everything
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import overlap, sample
from gateway.policy.lint.clauses import absolute
from gateway.policy.modes import CEILINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gateway.policy.algebra.regions import Region
    from gateway.policy.lint.clauses import Clause, Finding
    from gateway.policy.lint.coverage import Cover

_CHANGING = {"write", "delete", "push", "system"}
_USER = LAYERS.index("user")
# Of commands and programs one and the same call has several: that two of them differ shows nothing.
_READINGS = ("command", "view", WRITTEN, BARE, "exec:0")


def empty_exceptions(alternatives: Sequence[Clause]) -> Iterator[Finding]:
    """Exceptions of one rule that hold for nothing of what it speaks of. `alternatives`: all of its clauses."""
    first = alternatives[0]
    for place, written in enumerate(first.rule["except"]):
        try:
            apart = all(_are_apart(clause, absolute(written, clause.anchors)) for clause in alternatives)
        except (UndecidedError, ValueError):
            continue
        if apart:
            which = "the exception" if len(first.rule["except"]) == 1 else f"exception {place + 1}"
            yield first.finding(
                "exception-empty", "warning", f"{which} excepts nothing: the rule speaks of none of it", "remove it"
            )


def _are_apart(clause: Clause, excepted: dict[str, Any]) -> bool:
    for one in limits(clause.when, allow=False):
        for other in limits(excepted, allow=True):
            if sample(overlap(_plain(one), _plain(other)), everything) is not None:
                return False
    return True


def _plain(region: Region) -> Region:
    return {
        name: values
        for name, values in region.items()
        if name not in _READINGS and not name.startswith(("pattern ", "option", "path_not", "host_not"))
    }


def silent_modes(clause: Clause, cover: Cover) -> Iterator[Finding]:
    """Modes that a rule names beside others, and in which it changes nothing."""
    modes = clause.when.get("mode", ())
    if len(modes) < 2:
        return
    found = {mode: why for mode in modes if (why := _silence(clause, mode, cover))}
    if found and len(found) < len(modes):
        said = "; ".join(f"in mode `{mode}` {why}" for mode, why in found.items())
        yield clause.finding("mode-unreachable", "warning", said, "name the modes in which it is to hold")


def _silence(clause: Clause, mode: str, cover: Cover) -> str:
    """Why a rule changes nothing in a mode, "" if it may."""
    if clause.lane == "allow" and mode in CEILINGS and clause.kinds and set(clause.kinds) <= _CHANGING:
        return "all that it allows is refused whatever allows it"
    is_answered = not clause.rule["lock"] and LAYERS.index(clause.bound.layer) >= _USER
    if clause.lane == "ask" and mode == "bypass" and is_answered:
        return "its question is answered without asking"
    try:
        regions = at_most({**clause.when, "mode": [mode]}, clause.lane, clause.bound.layer)
    except UndecidedError:
        return ""
    above = cover.above(clause, regions)
    return f"{above[0].place()} decides all of it" if above else ""
