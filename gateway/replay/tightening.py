"""What the allow rules of a project were used for, by a record: which not at all, and which more widely than needed.

A narrower form is made of the same clauses that are suggested. It is shown where each recorded effect that the rule let
happen would have been let happen by it, which the engine says, and where the linter proves that it allows nothing but
what rules allow already.
"""

from __future__ import annotations

import functools
import json
import time

from gateway.approval.saved_rules import document_of, entry_of, rule_id, rule_text
from gateway.config.load import tool_names
from gateway.core.value import Value
from gateway.judge.policy_tests import is_packaged
from gateway.model.decision import Decision
from gateway.policy.always import MAX_ALTERNATIVES, MAX_PATHS, join, likely
from gateway.policy.change import Trial
from gateway.policy.lint.clauses import is_expired
from gateway.policy.table import judged_as
from gateway.policy.wording import shortened, visible
from gateway.replay.parts import POOL
from gateway.replay.rule_trials import EXAMPLES, Trying
from gateway.replay.uses import uses_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.verdict import Verdict
    from gateway.replay.compare import Progress
    from gateway.replay.judging import Anew
    from gateway.spec.short import ToolNames
    from gateway.tools.tool import Tool

# What the linter says of a rule that others hold all of.
_CONTAINED = ("shadowed", "implied", "duplicate")


class Tightened(Value):
    """`rules`: every allow rule that is in force in a project and is not packaged, unused ones first. `untold`: why
    none can be called unused, "" where those without a decision are."""

    rules: tuple[Use, ...]
    untold: str = ""


class Use(Value):
    """An allow rule, and what it let happen. `decisions`: those that it took part in; `last`: when, `calls`: some of
    them, where they can be judged again; `narrower`: a rule that is enough for all of them, "" where none is known
    that is."""

    id: str
    layer: str
    file: str
    line: int
    decisions: int = 0
    last: str = ""
    calls: tuple[str, ...] = ()
    narrower: str = ""


def tightened(
    folder: str,
    root: str,
    since: str = "",
    until: str = "",
    *,
    how: str = POOL,
    workers: int = 0,
    judging: Progress = lambda _done, _of: None,
) -> Tightened:
    """What the allow rules of a project were used for. Raises AuditError, OSError where the record cannot be read, and
    ConfigError where a policy is broken."""
    trying = Trying(folder, root, since, until, how=how, workers=workers)
    half = trying.half(trying.base)
    found: dict[tuple[str, str, int], list[tuple[Anew, str]]] = {}
    noted: list[tuple[Anew, list[str]]] = []
    for each in trying.judged(trying.base, functools.partial(_uses, tool_names(half.registry)), judging):
        rows = [json.loads(text) for text in each.new.noted]
        noted.append((each, list(dict.fromkeys(name for name, *_row in rows))))
        for name, file, line, clause in rows if each.new.is_certain and each.new.decision == "allow" else ():
            found.setdefault((name, file, line), []).append((each, clause))
    used = uses_of(folder, since, noted)
    now = time.time()
    uses = []
    for bound in half.bound:
        for rule in () if is_packaged(bound.file) else bound.rules:
            if rule["lane"] != "allow" or rule["id"] in bound.without or is_expired(rule, now):
                continue
            its = found.get((rule["id"], bound.file, rule["line"]))
            use = Use(rule["id"], bound.layer, bound.file, rule["line"], decisions=used.rules.get(rule["id"], 0))
            uses.append(use if its is None else _told(use, its, trying))
    order = sorted(uses, key=lambda each: (bool(each.decisions), not each.narrower))
    return Tightened(tuple(each for each in order if each.decisions or not used.untold), used.untold)


def _uses(tools: ToolNames, verdict: Verdict, tool: Tool) -> tuple[str, ...]:
    """For each effect that a rule lets happen: the rule, and the clause that would, "" where none is known to."""
    found = []
    for outcome in verdict.outcomes:
        rule = outcome.reason.rule
        if outcome.decision is not Decision.ALLOW or rule.lane != "allow" or is_packaged(rule.source.file):
            continue
        clause = likely(verdict, outcome)
        if clause is not None:
            judged = judged_as(tool)
            again = Trial(verdict, judged, {}).resolved(_parsed(rule_text([clause]), tools), "")
            enough = again is not None and any(
                each.reason.item == outcome.reason.item
                and each.decision is Decision.ALLOW
                and each.reason.rule.lane == "allow"
                for each in again.outcomes
            )
            clause = clause if enough else None
        key = json.dumps(clause) if clause else ""
        found.append(json.dumps([rule.id, rule.source.file, rule.source.line, key]))
    return tuple(dict.fromkeys(found))


def _parsed(text: str, tools: ToolNames) -> list[dict[str, Any]]:
    from gateway.spec.policy import parse_policy

    rules: list[dict[str, Any]] = parse_policy(
        document_of(entry_of(text, shown="a call", by="somebody", now=0.0)), "narrower.yaml", tools
    )["rules"]
    return rules


def _told(use: Use, its: list[tuple[Anew, str]], trying: Trying) -> Use:
    calls = {(each.distinct.segment, each.distinct.start): each for each, _clause in its}.values()
    order = sorted(calls, key=lambda each: (-each.distinct.count, each.shown))
    texts = dict.fromkeys(visible(shortened(f"{each.tool}  {each.shown}", 200)) for each in order)
    return use.replace(
        last=max(each.distinct.last for each in calls),
        calls=tuple(texts)[:EXAMPLES],
        narrower=_narrower(dict.fromkeys(clause for _each, clause in its), trying),
    )


def _narrower(clauses: dict[str, None], trying: Trying) -> str:
    """A rule of these clauses, where it is one that rules already hold all of."""
    groups: dict[str, dict[str, Any]] = {}
    for clause in clauses:
        if not clause:
            return ""
        join(groups, json.loads(clause))
    if len(groups) > MAX_ALTERNATIVES or any(len(each.get("path", ())) > MAX_PATHS for each in groups.values()):
        return ""
    text = rule_text(list(groups.values()))
    name = rule_id(text)
    half = trying.half(trying.side({name: text}))
    held = any(each.id in _CONTAINED and each.rule == name for each in trying.odd(half))
    return text if held else ""
