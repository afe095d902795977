"""The commands of an analysed text as a tree: what stands in, or is run by, another command is below it."""

from __future__ import annotations

from gateway.model.effect import CARRIERS, HOLE
from gateway.policy.explain import by_item, classes, effect_of
from gateway.policy.wording import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.command import Part
    from gateway.model.verdict import Verdict


def tree_of(verdict: Verdict) -> dict[str, Any]:
    """The tree as plain data, with the decision on every effect."""
    decided = by_item(verdict)
    parts = verdict.analysis.parts
    nodes = [_node(part) for part in parts]
    loose = []
    for number, item in enumerate(verdict.analysis.items):
        if item.effect.kind in CARRIERS and number not in decided:
            continue  # the tree itself says what starts
        effect = effect_of(item, decided.get(number))
        if item.part >= 0:
            nodes[item.part]["effects"].append(effect)
        else:
            loose.append(effect)
    roots: list[dict[str, Any]] = []
    for number, above in _parents(parts):
        (roots if above < 0 else nodes[above]["commands"]).append(nodes[number])
    return {
        "text": verdict.call.shown,
        "decision": verdict.decision.word,
        "rule": verdict.reason.rule.id,
        "classes": classes(verdict),
        "commands": roots,
        "effects": loose,
        "tokens": [token.replace(HOLE, UNKNOWN) for token in verdict.analysis.tokens],
        "cwd": verdict.context.cwd,
        "mode": verdict.context.mode,
    }


def _node(part: Part) -> dict[str, Any]:
    return {
        "program": part.program,
        "subcommands": list(part.subcommands),
        "argv": [word.replace(HOLE, UNKNOWN) for word in part.argv],
        "options": sorted(part.options),
        "operands": [word.replace(HOLE, UNKNOWN) for word in part.operands],
        "classes": list(part.classes),
        "span": [part.start, part.end],
        "via": list(part.via),
        "direct": part.direct,
        "described": part.described,
        "literal": part.literal,
        "trusted": part.trusted,
        "effects": [],
        "commands": [],
    }


def _parents(parts: tuple[Part, ...]) -> list[tuple[int, int]]:
    """Each command's index with that of the nearest one that holds or runs it (-1 if none), in text order."""
    found = []
    open_ones: list[int] = []
    for number in sorted(range(len(parts)), key=lambda n: (parts[n].start, -parts[n].end)):
        while open_ones and not _holds(parts[open_ones[-1]], parts[number]):
            open_ones.pop()
        found.append((number, open_ones[-1] if open_ones else -1))
        open_ones.append(number)
    return found


def _holds(outer: Part, inner: Part) -> bool:
    """Whether a command that stands before another holds it; at the same place the inner one has more before it."""
    if outer.start == inner.start and outer.end == inner.end:
        return len(outer.via) < len(inner.via)
    return outer.start <= inner.start and inner.end <= outer.end
