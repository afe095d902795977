"""Effects of a call that show only while it runs, judged by the policy and circumstances of the call."""

from __future__ import annotations

from gateway.judge.judge import in_modes
from gateway.model.analysis import Analysis
from gateway.model.effect import Item
from gateway.model.facts import Facts
from gateway.policy.modes import regions_of
from gateway.policy.resolve import resolve
from gateway.policy.table import judged_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.judge.judge import Judge
    from gateway.model.effect import Effect
    from gateway.model.verdict import Verdict


def judged_besides(judge: Judge, verdict: Verdict, effect: Effect) -> Verdict:
    """The verdict on one more effect of a call: by the policy and the circumstances of the call, as that of none of its
    commands. Of a contained call it is judged both as such a one and as any other: the strictest counts."""
    tool = judge.registry.tool(verdict.call.tool)
    judged = judged_as(tool)
    loaded = judge.loaded_for(verdict)
    modes = () if judge.options.mode else loaded.modes_elsewhere
    analysis = Analysis((), (Item(effect),))
    found = [
        resolve(loaded.policy, verdict.call, judged, analysis, each, Facts(), regions_of(each))
        for context in {verdict.context, verdict.context.replace(contained=False)}
        for each in in_modes(context, modes)
    ]
    return max(found, key=lambda each: each.decision)
