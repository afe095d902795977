"""Whether a call may run contained: without being understood, because its plan holds it. Pure.

A call is judged as it always was. Where that does not let it run, and all that is predicted of it fits in the contained
plan, it is judged once more as a contained one: allow rules that say `contained: true` cover then what fits, and rules
that forbid contained calls speak. Only what that lets run without a question takes the place of the first answer, so
that nothing here makes a call run that a deny or an ask speaks of.
"""

from __future__ import annotations

from gateway.model.changes import ASK, KEEP, OFF
from gateway.model.decision import Decision
from gateway.policy.fitting import leaves
from gateway.policy.modes import CEILINGS
from gateway.policy.resolve import Resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.analysis import Analysis
    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.model.facts import Facts
    from gateway.model.verdict import Verdict
    from gateway.policy.modes import Regions
    from gateway.policy.resolve import Judged
    from gateway.policy.table import Policy


def decide(
    policy: Policy,
    call: Call,
    tool: Judged,
    analysis: Analysis,
    context: Context,
    facts: Facts,
    regions: Regions,
    cannot: Callable[[], str],
) -> Verdict:
    """The verdict on a call, contained where that is what lets it run. `cannot`: why calls cannot be contained here, ""
    if they can; asked only where it matters."""
    if context.contained:  # one that a verdict handed on
        context = context.replace(contained=False)
    resolution = Resolution(policy, call, tool, analysis, context, facts, regions)
    verdict = resolution.verdict()
    if not policy.contains or policy.contained == OFF or verdict.decision is Decision.ALLOW:
        return verdict
    if not (tool.shell and context.confined) or context.mode in CEILINGS:
        return verdict
    left = [item.effect for item in analysis.items if leaves(item.effect, regions)]
    if left and policy.registries:
        from gateway.policy.installs import install_of  # lazy: few calls install anything

        installer = install_of(analysis, policy.registries)
        left = [each for each in left if installer is None or not installer.reaches(each)]
    if left or cannot():
        return verdict
    contained = resolution.contained()
    if contained.decision is not Decision.ALLOW:
        return verdict
    if contained.changes == KEEP:
        return contained
    return verdict.replace(changes=ASK) if verdict.decision is Decision.ASK and contained.changes == ASK else verdict
