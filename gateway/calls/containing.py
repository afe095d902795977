"""Whether calls can be contained on this machine: mounts hold them, and what they change can be taken back.

The path of a decision asks this only where a contained call would run without a question, so nothing of the sandbox is
loaded before.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.plan import SandboxPlan

HOLDING = ("namespaces", "bubblewrap")
"""Backends whose mounts hold the contained plan."""


def cannot_contain() -> str:
    """Why calls cannot be contained here, "" if they can."""
    return cannot_undo(None) or _not_held()


def cannot_undo(plan: SandboxPlan | None) -> str:
    """Why what a call changes could not be taken back, "" if it could. None: of calls as such, before there is a plan.

    The one place where keeping changes unasked meets what saves them.
    """
    return "" if plan is not None and not plan.contained else "nothing saves what calls change"


def _not_held() -> str:
    from gateway.sandbox.backends.choose import backends  # lazy: few calls need to know

    reasons = []
    for backend in backends():
        if backend.name not in HOLDING:
            continue
        probe = backend.probe()
        if probe.works:
            return ""
        reasons.append(f"{backend.name}: {probe.reason}")
    return "; ".join(reasons) or "there is no sandbox with mounts on this platform"
