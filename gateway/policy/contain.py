"""Whether a call may run contained: without being understood, because its plan holds it. Pure.

A call is judged as it always was. Where that does not let it run, and all that is predicted of it fits in the contained
plan, it is judged once more as a contained one: allow rules that say `contained: true` cover then what fits, and rules
that forbid contained calls speak. Only what that lets run without a question takes the place of the first answer, so
that nothing here makes a call run that a deny or an ask speaks of. Where nobody can be asked about its changes when it
has ended, it still runs if rules that discard them cover all of it: what is run for what it prints.
"""

from __future__ import annotations

from gateway.model.changes import ASK, DISCARD, KEEP, NONE, OFF
from gateway.model.decision import Decision
from gateway.model.effect import LEAVE, Touch
from gateway.model.verdict import Outcome, Reason
from gateway.policy.fitting import fits, is_unknown, leaves
from gateway.policy.modes import CEILINGS, is_near
from gateway.policy.resolve import Resolution
from gateway.policy.table import changes_rule

_ALLOW, _ASK = Decision.ALLOW, Decision.ASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.analysis import Analysis
    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.model.effect import Effect
    from gateway.model.facts import Facts
    from gateway.model.verdict import Verdict
    from gateway.policy.fetching import Fetch
    from gateway.policy.modes import Regions
    from gateway.policy.table import Judged, Policy


def decide(
    policy: Policy,
    call: Call,
    tool: Judged,
    analysis: Analysis,
    context: Context,
    facts: Facts,
    regions: Regions,
    cannot: Callable[[tuple[str, ...]], str],
    cannot_fetch: Callable[[Fetch], str],
) -> Verdict:
    """The verdict on a call, contained where that is what lets it run. `cannot`: why calls cannot be contained here,
    with a layer over these folders, "" if they can; `cannot_fetch`: why what a call installs cannot be fetched before
    it runs; both asked only where it matters."""
    if context.contained:  # one that a verdict handed on
        context = context.replace(contained=False)
    resolution = Resolution(policy, call, tool, analysis, context, facts, regions)
    # Else there is neither plan nor layer: what it changes is changed.
    can_be_held = context.confined and (tool.shell or (tool.layered and _is_of_workspace(analysis, context)))
    shows = can_be_held and context.changes == ASK and context.reviewed
    verdict = _shown_after(resolution.verdict(), regions) if shows else resolution.verdict()
    if verdict.decision is _ALLOW and context.changes in (ASK, DISCARD) and (tool.shell or can_be_held):
        return _in_layers(verdict, cannot)
    if not policy.contains or policy.contained == OFF or verdict.decision is _ALLOW or not can_be_held:
        return verdict
    if _stays(verdict, policy, regions):
        return verdict
    left = [item.effect for item in analysis.items if leaves(item.effect, regions)]
    if left:
        import gateway.policy.caches as caches  # lazy: most calls change nothing there

        is_layered = caches.in_caches(policy.written, context.home)
        left = [each for each in left if not (isinstance(each, Touch) and is_layered(each))]
    if left and policy.registries and context.mode not in CEILINGS:
        left, why = _without_installs(analysis, left, policy.registries, cannot_fetch)
        if why:
            return verdict.replace(unfetched=why) if verdict.decision is Decision.ASK else verdict
    if left:
        return verdict
    contained = _shown_after(resolution.contained(), regions) if shows else resolution.contained()
    if contained.decision is not _ALLOW or contained.changes == NONE:
        return verdict  # it asks all the same, or no rule gives it the contained plan
    asks = contained.changes == ASK
    if asks and not context.reviewed and resolution.discards:
        shown = resolution.contained(unseen=True)
        is_lost = any(resolution.kept.get(number, DISCARD) != DISCARD for number in _changing(analysis))
        if shown.decision is _ALLOW and shown.changes == DISCARD and not is_lost and not cannot(context.workspace):
            return shown
    if not (asks and not context.reviewed) and not cannot(() if contained.changes == KEEP else context.workspace):
        return contained
    return verdict.replace(changes=ASK) if asks and verdict.decision is _ASK and not cannot(()) else verdict


def _stays(verdict: Verdict, policy: Policy, regions: Regions) -> bool:
    """Whether some question or refusal would be the same for the call as a contained one, so that nobody need ask."""
    modes_hold = verdict.context.mode not in CEILINGS  # else a rule may have allowed what the mode refused
    for outcome in verdict.outcomes:
        if outcome.decision is _ALLOW:
            continue
        reason = outcome.reason
        if reason.rule.lane == "mode":
            if modes_hold and not fits(verdict.analysis.items[reason.item].effect, regions):
                return True
        elif reason.certain and reason.rule.id not in policy.contains:
            return True
    return False


def _is_of_workspace(analysis: Analysis, context: Context) -> bool:
    """Whether a tool's own work changes files, and is about files of the workspace alone: nothing else is laid over for
    it, a temporary folder neither."""
    effects = [item.effect for item in analysis.items if item.effect.kind != "use"]
    inside = tuple([f"{folder.rstrip('/')}/" for folder in context.workspace])
    return any(each.kind in ("write", "delete") for each in effects) and all(
        isinstance(each, Touch) and not is_unknown(each) and is_near(each.real or each.path, inside) for each in effects
    )


def _without_installs(
    analysis: Analysis, left: list[Effect], registries: tuple[str, ...], cannot_fetch: Callable[[Fetch], str]
) -> tuple[list[Effect], str]:
    """What leaves the plan beside the installs of a call, where these are such as policy lets read from registries; and
    why what they need cannot be fetched before, where that is all that stands in the way."""
    import gateway.policy.fetching as fetching  # lazy: few calls install anything
    import gateway.policy.installs as installs

    installer = installs.install_of(analysis, registries)
    if installer is not None:
        return [each for each in left if not installer.reaches(each)], ""
    fetch = fetching.fetch_of(analysis, registries)
    if fetch is None:
        return left, ""
    fetcher = fetching.FETCHERS[fetch.fetcher]
    parts = fetching.installing(analysis, fetcher)
    held = [item.effect for item in analysis.items if fetching.is_held(fetcher, item, parts)]
    left = [each for each in left if not any(each is one for one in held)]
    return left, "" if left else cannot_fetch(fetch)


def _shown_after(verdict: Verdict, regions: Regions) -> Verdict:
    """A call in a session of whoever wants to see what calls change when they have run: what the mode alone asks about,
    and what lies in the layers, need not be asked about before."""
    asks = [outcome for outcome in verdict.outcomes if outcome.decision is _ASK]
    if verdict.decision is not _ASK or not all(_is_shown(each, verdict, regions) for each in asks):
        return verdict
    outcomes = tuple(
        Outcome(_ALLOW, each.reason.replace(decision=_ALLOW)) if each in asks else each for each in verdict.outcomes
    )
    reason = verdict.reason.replace(decision=_ALLOW)
    return verdict.replace(decision=_ALLOW, reason=reason, outcomes=outcomes)


def _is_shown(outcome: Outcome, verdict: Verdict, regions: Regions) -> bool:
    effect = verdict.analysis.items[outcome.reason.item].effect
    by_mode = outcome.reason.rule.lane == "mode"
    return by_mode and effect.kind in ("write", "delete") and not is_unknown(effect) and not leaves(effect, regions)


def _in_layers(verdict: Verdict, cannot: Callable[[tuple[str, ...]], str]) -> Verdict:
    """A command that runs by itself, in a session of whoever wants to see what those change: in layers of its own, or
    asked about before, as where nothing confines it. What only reads needs neither."""
    context = verdict.context
    changing = _changing(verdict.analysis)
    if not changing:
        return verdict
    leaves_all = any(getattr(item.effect, "action", "") == LEAVE for item in verdict.analysis.items)
    can_be_decided = context.confined and (context.reviewed or context.changes == DISCARD)
    if can_be_decided and not leaves_all and not cannot(context.workspace):
        return verdict.replace(changes=context.changes)
    asks = Outcome(_ASK, Reason(changes_rule(context.changes), _ASK, changing[0]))
    return verdict.replace(decision=_ASK, reason=asks.reason, outcomes=(*verdict.outcomes, asks), changes=ASK)


def _changing(analysis: Analysis) -> list[int]:
    """Where the effects of a call stand that may change something."""
    return [number for number, item in enumerate(analysis.items) if item.effect.kind in _CHANGING]


_CHANGING = ("write", "delete", "code", "opaque")
