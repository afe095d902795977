"""Whether a person can be asked about a call that has begun: about connections that were not predicted while it
runs, and about its changes when it has ended."""

from __future__ import annotations

from gateway.model.changes import ASK, KEEP, NONE
from gateway.model.effect import HOLE
from gateway.policy.modes import CEILINGS
from gateway.tools.traits import in_background

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.calls.dialling import Dialling
    from gateway.calls.planner import Planner
    from gateway.calls.ports import Approves, InProgress
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict


def circumstances(context: Context, raw: RawCall, services: Approves, planner: Planner) -> Context:
    """Those of a call: whether somebody can be asked, when it has ended, what becomes of what it has changed."""
    if context.reviewed or in_background(raw) or not services.can_review(planner):
        return context
    return context.replace(reviewed=True)


def settle(life: InProgress, verdict: Verdict) -> None:
    """Has somebody decide about what a call has changed in layers of its own, if it has."""
    if life.draft is not None:
        from gateway.calls.drafts import settle as decide  # lazy: few calls are drafts

        decide(life, verdict)


def without_layer(verdict: Verdict) -> Verdict:
    """The verdict on a call that a person has agreed to run on the files themselves, whatever a layer was to hold."""
    if not (verdict.drafts and verdict.changes == ASK):
        return verdict
    return verdict.replace(changes=KEEP if verdict.contained else NONE)


def asking_of(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> Dialling | None:
    """Who says of a call's connections what nobody said before; None for a call that has none which anybody could be
    asked about: it makes none, may make any, or runs where nobody sits."""
    context = verdict.context
    if plan.free or plan.network.mode == "open" or plan.network.installer:
        return None
    if in_background(life.raw) or context.mode == "dont_ask" or context.mode in CEILINGS:
        return None
    if dict(verdict.demands).get("network") == "off" or not (plan.network.mode != "off" or _is_unforeseen(verdict)):
        return None
    if not life.services.can_be_dialled(life.planner):
        return None
    from gateway.calls.dialling import Dialling  # lazy: it is asked about few calls

    return Dialling(life, verdict, plan)


def _is_unforeseen(verdict: Verdict) -> bool:
    """Whether a call may connect to what nobody knows before."""
    effects: list[Any] = [item.effect for item in verdict.analysis.items]
    return any(
        each.kind in ("code", "opaque") or (each.kind == "connect" and each.direction != "listen" and HOLE in each.host)
        for each in effects
    )
