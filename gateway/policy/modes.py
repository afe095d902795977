"""What the mode says of an effect that no rule speaks of, and the ceilings that no rule can lift.

The tables here are the ones of `docs/modes.md`, which is generated from the tests.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.changes import DISCARD, KEEP
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, LEAVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.model.context import Context
    from gateway.model.effect import Effect, Item, Touch

# What a command may read wherever it runs: the operating system's own, world-readable parts. Secrets in
# there (`/etc/shadow`, private keys) are denied by the `builtin` policy.
SYSTEM_VIEW = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix/store", "/System", "/Library",
    "/private/etc", "/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/uptime", "/proc/version",
    "/proc/sys", "/proc/stat", "/proc/self/status",
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin", "/dev/stdout",
    "/dev/stderr", "/dev/fd",
)  # fmt: skip

# Devices that swallow or only echo what is written to them.
HARMLESS_SINKS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdout", "/dev/stderr")

_A, _Q, _D = Decision.ALLOW, Decision.ASK, Decision.DENY

# class of effect -> decision, for each mode; the classes are those of `classify`
_ROWS = (
    "near_read",
    "far_read",
    "temp_write",
    "near_write",
    "near_delete",
    "far_write",
    "fetch",
    "send",
    "code",
    "loose_code",
    "deep",
    "leave",
)
_TABLE = {
    #               near_read far_read temp_write near_write near_delete far_write fetch send code loose_code deep leave
    "default":      (_A, _Q, _A, _Q, _Q, _Q, _Q, _Q, _Q, _Q, _Q, _Q),
    "accept_edits": (_A, _Q, _A, _A, _Q, _Q, _Q, _Q, _Q, _Q, _Q, _Q),
    "plan":         (_A, _Q, _D, _D, _D, _D, _Q, _D, _Q, _D, _D, _D),
    "read_only":    (_A, _Q, _D, _D, _D, _D, _Q, _D, _Q, _D, _D, _D),
    "auto":         (_A, _Q, _A, _Q, _Q, _Q, _Q, _Q, _Q, _Q, _Q, _D),
    "dont_ask":     (_A, _D, _A, _D, _D, _D, _D, _D, _D, _D, _D, _D),
    "bypass":       (_A, _A, _A, _A, _A, _A, _A, _A, _A, _A, _A, _Q),
}  # fmt: skip
_DECISIONS = {mode: dict(zip(_ROWS, row, strict=True)) for mode, row in _TABLE.items()}

CLASSES = _ROWS
CEILINGS = ("plan", "read_only")

REVIEWED_MODE = "auto"
_UNCHANGING = ("", "near_read", "far_read")


class Regions(Value):
    """Folders, each with a trailing slash, that make a path near: workspace and own temporary folders. `temp`: only
    the latter."""

    writable: tuple[str, ...]
    readable: tuple[str, ...]
    temp: tuple[str, ...] = ()


def regions_of(context: Context) -> Regions:
    """The regions of a session. Own temporary folders count only with the sandbox, which makes them private."""
    workspace, temp = tuple(map(_folder, context.workspace)), tuple(map(_folder, context.temp))
    writable = workspace + temp
    return Regions(writable, writable + tuple(map(_folder, SYSTEM_VIEW)), temp=temp)


def _folder(path: str) -> str:
    return path if path.endswith("/") else path + "/"


def is_near(path: str, folders: tuple[str, ...]) -> bool:
    """True if the path is one of the folders or below one, and fully known."""
    return (path + "/").startswith(folders) and HOLE not in path


def classify(effect: Effect, regions: Regions, confined: bool) -> str:
    """The row of the mode table that an effect belongs to; "" for carriers and session changes."""
    kind = effect.kind
    if kind in ("read", "list"):
        touch: Touch = effect  # type: ignore[assignment]
        near = is_near(touch.path, regions.readable) and (not touch.real or is_near(touch.real, regions.readable))
        return "near_read" if near else "far_read"
    if kind in ("write", "delete"):
        touch = effect  # type: ignore[assignment]
        if kind == "write" and touch.path in HARMLESS_SINKS and not touch.real:
            return "near_read"
        near = is_near(touch.path, regions.writable) and (not touch.real or is_near(touch.real, regions.writable))
        if near and confined and not touch.real and _is_own(touch.path + "/", regions):
            return "temp_write"
        return ("near_write" if kind == "write" else "near_delete") if near else "far_write"
    if kind == "connect":
        return "fetch" if effect.direction == "fetch" else "send"  # type: ignore[attr-defined]
    if kind in ("push", "credential"):
        return "send"
    if kind == "code":
        return "code" if confined else "loose_code"
    if kind in ("use", "exec", "session"):
        return ""
    if kind == "system" and effect.action == LEAVE:  # type: ignore[attr-defined]
        return "leave"  # nobody but a person, or a rule that names it, lets a call run without the sandbox
    return "deep"


def _is_own(path: str, regions: Regions) -> bool:
    """Whether nobody but the session has what lies at a path: in its temporary folder, which is not where a workspace
    lies."""
    workspace = regions.writable[: len(regions.writable) - len(regions.temp)]
    return path.startswith(regions.temp) and not any(
        path.startswith(each) or each.startswith(path) for each in workspace
    )


def runs_unknown(items: Iterable[Item]) -> bool:
    """Whether something of a call runs code that is not known, or changes what programs are given."""
    found: Any = [each.effect for each in items]
    return any(each.kind in ("code", "opaque") or (each.kind == "env" and each.access == "set") for each in found)


def is_change(row: str) -> bool:
    """True if an effect of this class does more than read and list."""
    return row not in _UNCHANGING


def mode_decision(mode: str, row: str) -> Decision:
    """What `mode` says of an effect of class `row`; an unknown mode or class is a refusal."""
    table = _DECISIONS.get(mode)
    return table.get(row, Decision.DENY) if table else Decision.DENY


def is_ceiling(mode: str, row: str) -> bool:
    """True if the mode refuses this class of effect whatever allows it (`plan` and `read_only`)."""
    return mode in CEILINGS and _DECISIONS[mode][row] is Decision.DENY


def changes_in(mode: str) -> str:
    """The mildest that becomes of what contained calls change: modes that change nothing throw it away."""
    return DISCARD if mode in CEILINGS else KEEP
