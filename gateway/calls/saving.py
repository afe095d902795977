"""Has what a call changes be saved before it does, so that it can be taken back.

Confined commands are saved by what the kernel tells of them, whether they run in the foreground or not; tools that
write by themselves by the names that they were judged for. What cannot be saved is reported, and the call runs.
"""

from __future__ import annotations

import os

from gateway.config.layers import local_folder
from gateway.core.errors import GatewayError
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, Touch
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.ports import InProgress
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.sandbox.changes.recording import Of, Recording, Written

_CHANGES = ("write", "delete")


def recording_of(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> Recording | None:
    """Who saves what a confined command changes, None where nobody does. Raises SandboxError where the command runs
    unasked because its changes can be undone, and they could not."""
    if not plan.writes:
        return None  # it changes nothing, or nothing but layers of its own
    from gateway.sandbox.changes.recording import ASKED, Recording

    must = verdict.contained and verdict.decision is Decision.ALLOW
    why = cannot_undo(life, verdict, plan)
    if not why:
        try:
            return Recording(of_call(life, verdict), plan, (verdict.context.scratch,), must=must)
        except (GatewayError, OSError) as error:
            why = str(error)
            life.reports.append(f"what it changes cannot be undone: {why}")
    if must:
        raise SandboxError(f"what the call changes could not be undone: {why}", ASKED)
    return None


def cannot_undo(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> str:
    """Why what a confined command changes could not be taken back, "" if it could, as far as that is known before."""
    if plan.drafted:
        return ""  # it changes nothing but layers of its own
    if not life.services.saves_changes:
        return "what calls of this gateway change is not saved"
    from gateway.sandbox.changes.recording import against

    return against(of_call(life, verdict).folder, plan, backend_tells=True)


def written_by(life: InProgress, verdict: Verdict) -> Written | None:
    """What a tool is about to write by itself, saved; None where it writes nothing that is known by name."""
    paths = written_paths(verdict)
    if not paths or life.plan is not None or verdict.drafts or not life.services.saves_changes:
        return None
    from gateway.sandbox.changes.recording import Written

    try:
        return Written(of_call(life, verdict), paths, verdict.context.workspace)
    except (GatewayError, OSError) as error:
        life.reports.append(f"what it changes cannot be undone: {error}")
        return None


def written_paths(verdict: Verdict) -> tuple[str, ...]:
    """The names in the workspace that a call writes or deletes, as far as they are known, by where they really lie."""
    found = []
    inside = tuple(f"{folder.rstrip('/')}/" for folder in verdict.context.workspace)
    for item in verdict.analysis.items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.kind in _CHANGES and not effect.tree and HOLE not in effect.path:
            above, _slash, name = (effect.real or effect.path).rpartition("/")
            path = f"{os.path.realpath(above or '/').rstrip('/')}/{name}"
            if path.startswith(inside):
                found.append(path)
    return tuple(dict.fromkeys(found))


def of_call(life: InProgress, verdict: Verdict) -> Of:
    """Whose changes they are."""
    from gateway.sandbox.changes.recording import Of

    context, call = verdict.context, verdict.call
    folder = local_folder(life.planner.judge.places, context.root or context.cwd)
    return Of(
        folder, context.root or context.cwd, call.shown or call.tool, call.tool, session=life.session.name,
        named=written_paths(verdict),
    )  # fmt: skip
