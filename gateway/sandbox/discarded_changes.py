"""Changes of a confined call that are discarded with it or its session: what it writes in its private folders. Pure."""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy.wording import visible
from gateway.sandbox.persistent_folders import ONCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

_MOST_NAMED = 4


def thrown_away(verdict: Verdict, plan: SandboxPlan | None, seen: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Paths that the call names to write and that are in a private folder of the plan, in the call's order. What code
    writes there by itself is not foreseen, but may have been `seen`. Nothing without a plan: then the call is not
    confined."""
    if plan is None:
        return ()
    found: dict[str, None] = dict.fromkeys(seen)
    for item in verdict.analysis.items:
        effect: Any = item.effect
        if effect.kind == "write":
            path = effect.real or effect.path
            if HOLE not in path and path not in plan.given and _is_private(path, plan):
                found[effect.path] = None
    return tuple(found)


def said_of(paths: tuple[str, ...], plan: SandboxPlan | None = None) -> str:
    """The sentence about them, "" for none. `plan`: by which some may be the session's."""
    session = [path for path in paths if plan is not None and _is_shared(path, plan)]
    call = [path for path in paths if path not in session]
    said = [f"written to folders of this call's own, gone with it: {_some(call)}"] if call else []
    if session:
        said.append(f"written to the session's own temporary folder, which its commands share: {_some(session)}")
    return "; ".join([*said, "keep files in the workspace"]) if said else ""


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(map(visible, paths[:_MOST_NAMED])) + more


def _is_shared(path: str, plan: SandboxPlan) -> bool:
    """Whether the deepest private folder that holds a path is its session's."""
    holding = [each for each in plan.private if path.startswith(f"{each}/")]
    kept = {folder for folder, place in plan.shared if f"/{ONCE}/" not in place}
    return bool(holding) and max(holding, key=len) in kept


def _is_private(path: str, plan: SandboxPlan) -> bool:
    """Whether the deepest thing shown that holds a path is a private folder."""
    shown = [(each, True) for each in plan.private] + [(each.path, False) for each in plan.mounts]
    holding = [each for each in shown if (path + "/").startswith(each[0].rstrip("/") + "/")]
    return bool(holding) and max(holding, key=lambda each: len(each[0]))[1]
