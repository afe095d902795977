"""Whether calls can be contained on this machine: mounts hold them, and changes are told of before they are made, so
that they can be taken back.

The path of a decision asks this only where a contained call would run without a question, so nothing of the sandbox is
loaded before.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.ports import InProgress
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

HOLDING = ("namespaces",)
"""Backends whose mounts hold the contained plan, and that tell of changes."""


FIRST = (
    "The sandbox holds this call, so it ran without a question, and so will others: they can change nothing but the "
    "workspace, which can be taken back, and reach no host but the registry that an install reads from. "
    "`settings: {contained: ask}` asks before."
)
_TOLD = "contained-told"


def is_first(state: str) -> bool:
    """Whether this is the first contained call of a user; told once. Where that cannot be kept, it is not."""
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        os.close(os.open(f"{state}/{_TOLD}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    return True


def cannot_hold(life: InProgress, verdict: Verdict, plan: SandboxPlan | None) -> str:
    """Why a contained call cannot run so after all, "" if it can, as far as that is known before."""
    if plan is None:
        return "it runs no command"
    from gateway.calls.saving import cannot_undo

    return cannot_undo(life, verdict, plan)


def cannot_contain(drafted: tuple[str, ...] = (), state: str = "") -> str:
    """Why calls cannot be contained here, with a layer over these folders that is kept in that state folder, "" if they
    can."""
    from gateway.sandbox.backends.choose import why_none  # lazy: few calls need to know

    return why_none(only=HOLDING) or (_cannot_lay(drafted, state) if drafted else "")


def _cannot_lay(folders: tuple[str, ...], state: str) -> str:
    from gateway.sandbox.backends.choose import backends
    from gateway.sandbox.drafts import cannot_lay
    from gateway.sandbox.overlays import lays_over
    from gateway.sandbox.persistent_folders import LAYERS

    backend = next(each for each in backends() if each.name in HOLDING)
    if not lays_over(backend, f"{state}/{LAYERS}"):
        return f"{backend.name}: no folder can be laid over another where `{state}` lies"
    try:
        return cannot_lay(folders)
    except OSError as error:
        return f"the workspace cannot be looked at ({error})"
