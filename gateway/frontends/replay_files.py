"""Comparisons of policies for programs: JSON, JUnit for pipelines, SARIF for reviews of code."""

from __future__ import annotations

import os

from gateway.frontends.sarif import Result, RuleText, sarif
from gateway.replay.symbolic import NARROWER, WIDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.replay.tally import Comparison, Group, Rule

_RULES = {
    WIDER: RuleText("policy-wider", "A change lets through what was asked about or refused"),
    NARROWER: RuleText("policy-narrower", "A change asks about or refuses what was let through"),
}


def comparison_data(found: Comparison) -> dict[str, Any]:
    """The comparison as plain data."""
    groups = [{**group.as_dict(), "examples": [each.as_dict() for each in group.examples]} for group in found.groups]
    untold = [{"why": why, "decisions": count} for why, count in found.untold]
    rules = {**found.unlogged.as_dict(), "differences": [each.as_dict() for each in found.unlogged.differences]}
    return {**found.as_dict(), "outcome": found.outcome, "groups": groups, "untold": untold, "unlogged": rules}


def comparison_junit(found: Comparison) -> str:
    """A suite for each kind of change, a failing case for each group; one case that passes where nothing changes."""
    from gateway.frontends.junit import document, suite  # lazy: the standard library's XML brings much along

    suites = []
    for kind in (WIDER, NARROWER):
        cases = [
            (f"{group.before} -> {group.after} by {group.rule[0]}", group.rule[2], group.rule[3], _told(group))
            for group in found.groups
            if group.kind == kind
        ]
        cases += [
            (
                f"{each.before} -> {each.after} by {each.rule[0]}",
                each.rule[2],
                each.rule[3],
                f"by its rules: {each.call}",
            )
            for each in found.unlogged.differences
            if each.kind == kind
        ]
        suites.append(suite(kind, cases or [(f"no decision becomes {kind}", "", 0, "")]))
    return document("gateway policy diff", suites)


def comparison_sarif(found: Comparison, root: str) -> str:
    """A result for each group, at the rule that decides now. `root`: what files are told relative to."""
    results = []
    for group in found.groups:
        name, layer, _file, _line = group.rule
        message = f"{group.before} becomes {group.after} by `{name}`: {_told(group)}"
        same = f"{group.kind} {layer} {name} {group.before} {group.after}"
        results.append(_result(group.kind, group.rule, message, same, root))
    for each in found.unlogged.differences:
        at = each.rule if each.rule[2] else each.was
        message = f"{each.before} becomes {each.after} by `{each.rule[0]}`, for example {each.call}"
        same = f"rules {each.kind} {at[1]} {at[0]} {each.before} {each.after}"
        results.append(_result(each.kind, at, message, same, root))
    return sarif(tuple(_RULES.values()), results)


def _result(kind: str, at: Rule, message: str, same: str, root: str) -> Result:
    _name, _layer, file, line = at
    return Result(
        rule=_RULES[kind].id,
        level="error" if kind == WIDER else "note",
        message=message,
        file=os.path.relpath(file, root) if file.startswith(root + "/") else file,
        line=line,
        same=same,
    )


def _told(group: Group) -> str:
    shown = "; ".join(f"{each.tool}: {each.shown}" for each in group.examples)
    return f"{group.decisions:,} decisions in {group.sessions:,} sessions, for example {shown}"
