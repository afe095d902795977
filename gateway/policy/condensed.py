"""The JSON of a verdict as it is printed unless all is asked for: no text stands in it twice.

What is left out can be found: texts of rules in `gateway policy show`, pieces of the call by their spans, the lists of
the confinement in one line. Everything else is as `explain` has it.
"""

from __future__ import annotations

from gateway.policy.wording import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_RULE = 200
MAX_TARGET = 400
_OF_RULE = ("id", "layer", "file", "line", "decision", "span", "note", "lost", "effects")
_OF_CONFINEMENT = ("kind", "network", "text")
_WHERE_THERE_IS_ANY = ("hosts", "credentials", "demands", "unenforced")


def condensed(found: dict[str, Any]) -> dict[str, Any]:
    """The same verdict in short. Effects that only carry others are left out unless a rule speaks of them; the numbers
    of effects are those of the shortened list."""
    entries = found["matched"] + found["noted"]
    named = {number for entry in entries for number in entry["effects"]}
    kept = [at for at, effect in enumerate(found["effects"]) if "decision" in effect or at in named]
    numbers = {at: number for number, at in enumerate(kept)}
    confinement = found["confinement"]
    shown = {key: confinement[key] for key in _OF_CONFINEMENT}
    shown |= {key: confinement[key] for key in _WHERE_THERE_IS_ANY if confinement[key]}
    if "plan" in confinement:
        shown["plan"] = confinement["plan"]
    return found | {
        "rule": found["rule"] | {"text": shortened(found["rule"]["text"], MAX_RULE)},
        "matched": [_entry(entry, numbers) for entry in found["matched"]],
        "noted": [_entry(entry, numbers) for entry in found["noted"]],
        "effects": [_effect(found["effects"][at]) for at in kept],
        "confinement": shown,
    }


def _entry(entry: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
    """What one rule said: its text and the piece of the call that it is about are told by place and span."""
    return {key: entry[key] for key in _OF_RULE} | {"effects": [numbers[at] for at in entry["effects"]]}


def _effect(effect: dict[str, Any]) -> dict[str, Any]:
    return effect | {"target": shortened(effect["target"], MAX_TARGET)}
