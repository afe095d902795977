"""What fits in the contained plan: the workspace, temporary folders and the loopback of the sandbox. Pure."""

from __future__ import annotations

from gateway.model.effect import HOLE, PATH_KINDS
from gateway.policy import hosts
from gateway.policy.modes import CEILINGS, classify, is_ceiling, is_near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.context import Context
    from gateway.model.effect import Effect
    from gateway.policy.modes import Regions


def leaves(effect: Effect, regions: Regions) -> bool:
    """Whether an effect would change or reach what the contained plan does not give. What is unknown of a path is held
    by the plan; an unknown host is asked about, because none but the loopback would be there."""
    found: Any = effect
    kind = effect.kind
    if kind in ("write", "delete"):
        if HOLE in found.path:
            return not _may_be_near(found.path, regions)
        return classify(effect, regions, True) == "far_write"
    if kind == "connect":
        return not (found.direction == "listen" or is_loopback(found.host))
    return kind in ("push", "credential", "system")


def fits(effect: Effect, regions: Regions) -> bool:
    """Whether an allow of contained calls covers an effect, of a call that does not leave the plan."""
    found: Any = effect
    kind = effect.kind
    if kind in ("read", "list"):
        return is_unknown(effect) or classify(effect, regions, True) == "near_read"
    if kind == "env":
        return bool(found.access == "set")
    if (
        kind == "process"
    ):  # it has processes of its own, and meets no others; one that is named by its number is another
        return found.action == "signal" and (found.who.startswith("%") or HOLE in found.who)
    if kind == "system":
        return bool(found.action == "install")  # of a call that leaves nothing: its programs are read-only there
    return kind in _HELD


def is_unknown(effect: Effect) -> bool:
    """Whether nobody knows yet which path is touched: whichever it is, the mounts of a contained call hold what policy
    says of it."""
    found: Any = effect
    return effect.kind in PATH_KINDS and (HOLE in found.path or HOLE in found.real)


FITTING = ("read", "list", "env", "process", "code", "opaque", "write", "delete", "connect", "system")
"""Kinds of effects of which any fits."""


def is_refused(effect: Effect, context: Context, regions: Regions) -> bool:
    """Whether the mode refuses an effect whatever allows it: but what a contained call does that leaves nothing, since
    what it changes is thrown away there."""
    if context.mode not in CEILINGS or (context.contained and effect.kind in _HELD_BY_PLAN):
        return False
    return is_ceiling(context.mode, classify(effect, regions, context.confined))


_HELD_BY_PLAN = ("code", "opaque", "connect", "env", "process")
"""Those of which nothing is left where what the call changes is thrown away. Files that a call says it changes are not
among them: in modes that change nothing it is refused, so that nobody takes them for changed."""
_HELD = ("code", "opaque", "write", "delete", "connect")


def _may_be_near(path: str, regions: Regions) -> bool:
    """Whether the part of a path before what is not known leaves it open that it lies near."""
    known = path[: path.index(HOLE)]
    folder = known[: known.rfind("/") + 1]
    if not folder or is_near(folder.rstrip("/"), regions.writable):
        return True
    return any(each.startswith(folder) for each in regions.writable)


def is_loopback(host: str) -> bool:
    """Whether a host, or a group of them as rules name it, is the loopback for certain."""
    if host == "loopback":
        return True
    if HOLE in host:
        return False
    if not _LOOPBACK:
        _LOOPBACK.append(hosts.build([("loopback", 0)]))
    certain, _possible = hosts.lookup_possible(_LOOPBACK[0], host)
    return bool(certain)


_LOOPBACK: list[Any] = []
