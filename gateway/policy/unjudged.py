"""The verdict on a call that was not judged by rules: it denies, and the record says why."""

from __future__ import annotations

from gateway.model.analysis import Analysis
from gateway.model.decision import Decision
from gateway.model.effect import Item, Use
from gateway.model.facts import NO_FACTS
from gateway.model.rule import Rule, Source
from gateway.model.verdict import Outcome, Reason, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.context import Context

INVALID, INTERNAL = "invalid-call", "internal-error"
BY_HOOK = "hook:"  # and its id, which no rule of a file can have


def built_in(name: str, because: str) -> Rule:
    """The rule of ours that stands for a call that is none, or for an error of ours."""
    return Rule(name, "deny", Source("builtin", ""), name, because=because)


def by_hook(hook: Mapping[str, Any], because: str) -> Rule:
    """What stands for the refusal of a hook: its id, with the layer and the file that declare it."""
    name = f"{BY_HOOK}{hook['id']}"
    return Rule(name, "deny", Source(hook["layer"], hook["file"], hook["line"]), name, because=because)


def is_own_reason(rule: Rule) -> bool:
    """Whether why it denies stands in no file, so that the record must say it."""
    return rule.id in (INVALID, INTERNAL) or rule.id.startswith(BY_HOOK)


def unjudged(call: Call, context: Context, rule: Rule) -> Verdict:
    """A denial by one of these rules. `call`: as much of it as could be made out."""
    reason = Reason(rule, Decision.DENY, 0)
    analysis = Analysis((), (Item(Use(call.tool)),))
    outcomes = (Outcome(Decision.DENY, reason),)
    return Verdict(
        Decision.DENY,
        reason,
        outcomes=outcomes,
        lost=(),
        noted=(),
        call=call,
        analysis=analysis,
        context=context,
        facts=NO_FACTS,
    )
