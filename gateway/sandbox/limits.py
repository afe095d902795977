"""Bounds that the kernel keeps for each process of a call, set while the command still waits."""

from __future__ import annotations

import resource

from gateway.model.limits import LIMITS
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.limits import Limits

# Of a core dump: where dumps are handed to a program, 0 does not stop that, and 1 does; as a file one byte is none.
CORE = 1
_GRACE = 2  # seconds between the signal that can be caught and the one that cannot


def bounds(limits: Limits, *, processes: bool = True) -> tuple[tuple[int, int, int], ...]:
    """What to set: resource, soft and hard bound. `processes`: whether the kernel counts those of this call only, as it
    does in a user namespace of its own; process 1 of the sandbox is one of them."""
    found = [(resource.RLIMIT_CORE, CORE, CORE)]
    for limit in LIMITS.values():
        value = getattr(limits, limit.field) if limit.resource else 0
        if value > 0:
            bound = -int(-value // 1)
            kind = getattr(resource, limit.resource)
            found.append((kind, bound, bound + (_GRACE if kind == resource.RLIMIT_CPU else 0)))
    if processes and limits.processes > 0:
        found.append((resource.RLIMIT_NPROC, limits.processes + 1, limits.processes + 1))
    return tuple(found)


def apply(pid: int, limits: Limits, *, processes: bool = True) -> None:
    """Sets them on a waiting process, whose children inherit them. Never raises a bound that is lower already. Raises
    SandboxError when that is not possible."""
    try:
        for kind, soft, hard in bounds(limits, processes=processes):
            most = resource.prlimit(pid, kind)[1]
            if most != resource.RLIM_INFINITY:
                soft, hard = min(soft, most), min(hard, most)
            resource.prlimit(pid, kind, (soft, hard))
    except (OSError, ValueError) as error:
        raise SandboxError(f"limits cannot be set: {error}") from error
