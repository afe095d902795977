"""What is odd about policies that load: rules that never speak, that say what others say, that open too much.

Pure: rules of all layers in, findings out. A finding may carry a call as its witness; whoever can run the engine
asks it whether that call really shows what the finding says (`Finding.proof`).
"""

from __future__ import annotations

from gateway.model.decision import LAYERS
from gateway.policy.lint.clauses import Clause, Finding, ToolTraits, active, clauses_of, is_expired
from gateway.policy.lint.coverage import Cover, comparable, covered
from gateway.policy.lint.expressions import expressions
from gateway.policy.lint.inert_parts import empty_exceptions, silent_modes
from gateway.policy.lint.overbroad import too_wide
from gateway.policy.lint.paths import surprising
from gateway.policy.lint.secret_reads import reaching
from gateway.policy.lint.unmatchable import never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gateway.policy.compile import Bound

SEVERITIES = ("error", "warning", "info")


def lint(
    bound: Sequence[Bound],
    tools: Mapping[str, ToolTraits],
    *,
    home: str,
    now: float,
    of: Callable[[str], bool] = lambda _file: True,
) -> list[Finding]:
    """All findings on the rules of the files that are asked about, of all layers, in the order of the files; what the
    rules of the others hold for counts as ever. The order of rules does not matter to what is found, only to which of
    two equal rules is named."""
    files = {each.file for each in bound if of(each.file)}
    found: list[Finding] = []
    clauses = clauses_of(bound, home, found)
    useless = set()
    for clause in clauses:
        wrong = list(never(clause, tools, now))
        found += wrong
        if wrong:
            useless.add(clause.number)
            continue
        if clause.bound.file not in files:
            continue
        found += surprising(clause)
        found += expressions(clause)
        found += too_wide(clause, tools)
    judged = comparable([clause for clause in clauses if clause.number not in useless])
    cover = Cover(judged)
    found += covered(judged, cover, files)
    asked = [clause for clause in judged if clause.bound.file in files]
    for clause in asked:
        found += reaching(clause, cover)
        found += silent_modes(clause, cover)
    for alternatives in _excepting(asked):
        found += empty_exceptions(alternatives)
    found += _exceptions(bound, now)
    found += _left_out(bound)
    order = {each.file: place for place, each in reversed(list(enumerate(bound)))}
    found = [each for each in found if each.file in files]
    return sorted(dict.fromkeys(found), key=lambda each: (order[each.file], each.line, each.id, each.message))


def _excepting(clauses: Sequence[Clause]) -> Iterator[list[Clause]]:
    """The clauses of each rule that has exceptions."""
    by_rule: dict[int, list[Clause]] = {}
    for clause in clauses:
        if clause.rule["except"]:
            by_rule.setdefault(clause.number, []).append(clause)
    yield from by_rule.values()


def _exceptions(bound: Sequence[Bound], now: float) -> Iterator[Finding]:
    """Allow rules that name a rule to silence which is not there, or which does not let them."""
    rules: dict[str, list[tuple[Bound, dict[str, Any]]]] = {}
    for _number, each, rule in active(bound):
        rules.setdefault(rule["id"], []).append((each, rule))
    for _number, each, rule in active(bound):
        name = rule["excepts"]
        if not name or is_expired(rule, now):
            continue
        why = _no_delegation(each, rules.get(name, ()), now)
        if why:
            yield Finding(
                "excepts-nothing", "warning", layer=each.layer, file=each.file, line=rule["line"], rule=rule["id"],
                message=f"`excepts: {name}` silences nothing: {why}",
                remedy=f"add `delegate: {{to: {each.layer}}}` to that rule, or remove `excepts`",
            )  # fmt: skip


def _no_delegation(lower: Bound, named: Sequence[tuple[Bound, dict[str, Any]]], now: float) -> str:
    """Why no rule of this id can be silenced from the lower layer, "" if one can."""
    from gateway.policy.compile import epoch

    if not named:
        return "no rule has this id"
    reason = ""
    for upper, rule in named:
        delegate = rule["delegate"]
        if LAYERS.index(upper.layer) >= LAYERS.index(lower.layer):
            reason = f"{upper.file}:{rule['line']} is no upper layer's"
        elif rule["lock"] or not delegate:
            reason = f"{upper.file}:{rule['line']} delegates nothing"
        elif delegate["to"] != lower.layer:
            reason = f"{upper.file}:{rule['line']} delegates to the layer {delegate['to']}"
        elif delegate.get("until") and epoch(delegate["until"]) <= now:
            reason = f"the delegation in {upper.file}:{rule['line']} is over since {delegate['until']}"
        else:
            return ""
    return reason


def _left_out(bound: Sequence[Bound]) -> Iterator[Finding]:
    """Ids under `without:` that none of the files has which they are meant for."""
    named: dict[tuple[str, str], Bound] = {}
    known: set[tuple[str, str]] = set()
    for each in bound:
        for name in each.without:
            named.setdefault((each.layer, name), each)
            if any(rule["id"] == name for rule in each.rules):
                known.add((each.layer, name))
    for (layer, name), each in named.items():
        if (layer, name) not in known:
            yield Finding(
                "without-nothing", "warning", layer=layer, file=each.file, line=0, rule=name,
                message=f"`without: {name}` leaves nothing out: no rule of the extended files has this id",
                remedy="correct the id; `gateway policy show` lists them",
            )  # fmt: skip


__all__ = ["SEVERITIES", "Finding", "ToolTraits", "lint"]
