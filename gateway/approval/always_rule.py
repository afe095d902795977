"""The rule that "always" would save, tried before anybody is shown it.

It is written as it would stand in the file, read as it would be read, and the call is resolved under it; and the linter
must have nothing to say about it. What does not come out as allowed is not offered.
"""

from __future__ import annotations

from gateway.approval.saved_rules import document_of, entry_of, rule_text
from gateway.config.load import tool_names
from gateway.core.errors import ConfigError
from gateway.model.decision import Decision
from gateway.model.rule import Rule, Source
from gateway.model.verdict import Outcome, Reason
from gateway.policy.always import alternatives
from gateway.policy.change import Trial
from gateway.policy.compile import Bound
from gateway.policy.confine import confinement, enforced_by
from gateway.policy.table import judged_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.judge.judge import Judge
    from gateway.model.verdict import Verdict
    from gateway.tools.tool import Tool

FILE = "approved.yaml"


def offered(judge: Judge, verdict: Verdict) -> str:
    """The rule on one line, "" where none may be offered."""
    if judge.options.policies:  # then the local layer, in which it would be saved, does not count
        return ""
    texts = (rule_text(found) for found in alternatives(verdict))
    return next((text for text in texts if _is_enough(judge, verdict, text)), "")


def later(judge: Judge, verdict: Verdict) -> str:
    """What the code of a call would be confined to if a rule covered what is asked, in words; "" without code."""
    asked = [outcome for outcome in verdict.outcomes if outcome.decision is Decision.ASK]
    if all(verdict.analysis.items[outcome.reason.item].effect.kind != "code" for outcome in asked):
        return ""
    loaded = judge.loaded_for(verdict)
    rule = Rule("always", "allow", Source("local", ""), "")
    outcomes = tuple(
        outcome
        if outcome.decision is not Decision.ASK
        else Outcome(Decision.ALLOW, Reason(rule, Decision.ALLOW, outcome.reason.item))
        for outcome in verdict.outcomes
    )
    allowed = verdict.replace(decision=Decision.ALLOW, reason=outcomes[0].reason, outcomes=outcomes)
    profile = loaded.settings.get("sandbox")
    enforced = enforced_by(loaded.policy, profile.value if profile else {})
    return confinement(allowed, enforced).replace(hidden=()).line()


def _is_enough(judge: Judge, verdict: Verdict, text: str) -> bool:
    return is_enough(judge, verdict, judge.registry.tool(verdict.call.tool), parsed(judge, text))


def parsed(judge: Judge, text: str) -> list[dict[str, Any]]:
    """A rule as it would be read from its file, in normal form; [] where it would not be."""
    from gateway.spec.policy import parse_policy

    document = document_of(entry_of(text, shown="a call", by="somebody", now=0.0))
    try:
        rules: list[dict[str, Any]] = parse_policy(document, FILE, tool_names(judge.registry))["rules"]
    except ConfigError:
        return []
    return rules


def bound_of(rules: list[dict[str, Any]], root: str) -> Bound:
    """Rules where they would be saved."""
    return Bound("local", FILE, rules=rules, base=root, layer_root=root)


def trial_of(judge: Judge, verdict: Verdict, tool: Tool) -> Trial:
    """Who resolves a call anew under other rules."""
    return Trial(verdict, judged_as(tool), dict(judge.loaded_for(verdict).policy.levels))


def is_enough(judge: Judge, verdict: Verdict, tool: Tool, rules: list[dict[str, Any]]) -> bool:
    """Whether rules in normal form let a call run, and the linter has nothing to say about them."""
    from gateway.policy.lint.lint import ToolTraits, lint

    if not rules or trial_of(judge, verdict, tool).under(rules) is not Decision.ALLOW:
        return False
    found = lint(
        [bound_of(rules, verdict.context.root)],
        {tool.name: ToolTraits(tool.match_kind == "shell", frozenset())},
        home=verdict.context.home,
        now=verdict.context.now,
    )
    return all(each.severity == "info" for each in found)
