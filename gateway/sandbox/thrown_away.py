"""What of a confined call's changes is gone with it: what was predicted to be written in folders of its own. Pure."""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

_MOST_NAMED = 4


def thrown_away(verdict: Verdict, plan: SandboxPlan | None) -> tuple[str, ...]:
    """Paths that the call names to write and that are in a private folder of the plan, in the call's order. What code
    writes there by itself is not foreseen. Nothing without a plan: then the call is not confined."""
    if plan is None:
        return ()
    found: dict[str, None] = {}
    for item in verdict.analysis.items:
        effect: Any = item.effect
        if effect.kind == "write":
            path = effect.real or effect.path
            if HOLE not in path and _is_private(path, plan):
                found[effect.path] = None
    return tuple(found)


def said_of(paths: tuple[str, ...]) -> str:
    """The sentence about them, "" for none."""
    if not paths:
        return ""
    named = ", ".join(map(visible, paths[:_MOST_NAMED]))
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return f"written to folders of this call's own, gone with it: {named}{more}; keep files in the workspace"


def _is_private(path: str, plan: SandboxPlan) -> bool:
    """Whether the deepest thing shown that holds a path is a private folder."""
    shown = [(each, True) for each in plan.private] + [(each.path, False) for each in plan.mounts]
    holding = [each for each in shown if (path + "/").startswith(each[0].rstrip("/") + "/")]
    return bool(holding) and max(holding, key=lambda each: len(each[0]))[1]
