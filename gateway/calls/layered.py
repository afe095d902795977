"""Tools that work on files by themselves, in the layers that commands have: what they change is drafted as what a
command changes is, and they see what calls before them have changed there.

Their handlers reach files by the folders of `Work.view` and by nothing else (`gateway.policy.table.LAYERED`).
"""

from __future__ import annotations

from gateway.policy.table import judged_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.output import Output
    from gateway.calls.ports import InProgress
    from gateway.calls.work import Handler, Work
    from gateway.model.verdict import Verdict


def is_layered(life: InProgress) -> bool:
    """Whether the work of a call is done by its tool's own handler, which can do it in layers."""
    return life.tool is not None and life.given is None and judged_as(life.tool).layered


def done(life: InProgress, verdict: Verdict, does: Handler, work: Work) -> Output:
    """Has the work of a call done: in layers where what it changes is a draft, or where it is about what lies in those
    of the turn. Raises what the work raises, and SandboxError."""
    together = life.session.together
    if life.plan is not None or not (verdict.drafts or together is not None) or not is_layered(life):
        return does(verdict.call, work)
    if not verdict.drafts and not together.is_about(verdict):
        return does(verdict.call, work)
    from gateway.calls.drafts import draft_of, ended  # lazy: few calls work in layers
    from gateway.sandbox.view import plan_over, viewed

    draft = draft_of(life, verdict, plan_over(verdict.context.workspace) if verdict.drafts else None)
    if draft is None:  # it was shown meanwhile
        return does(verdict.call, work)
    try:
        with viewed(draft.plan) as view:
            return does(verdict.call, work.replace(view=view))
    finally:
        ended(life, draft)
