"""The order that the launcher gets to build the sandbox of a plan. Pure: the same plan gives the same order."""

from __future__ import annotations

import marshal
import os
from functools import lru_cache

from gateway.sandbox.mounts import (
    BIND,
    COVER,
    COVER_SIZE,
    LINK,
    MARKER,
    MASK,
    NEED_PROC,
    PRIVATE,
    READ_ONLY,
    is_device,
    private_size,
    steps,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.mounts import Step

# Attributes of a mount.
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4


def order_of(
    plan: SandboxPlan, argv: Sequence[str | bytes], filter_: bytes, *, terminal: bool = False, told: bytes = b""
) -> dict[str, Any]:
    """Everything, in the plain values that the launcher reads; what each means is said where it is used, in
    `gateway.sandbox.launched.space` and `rootfs`."""
    return {
        **_root_of(plan.replace(environment=()))[1],
        "argv": [os.fsencode(word) for word in argv],
        "environment": {os.fsencode(name): os.fsencode(value) for name, value in plan.environment},
        "cwd": os.fsencode(plan.cwd),
        "alone": "namespaces" not in plan.permits,
        "filters": [filter_],
        "told": told,
        "terminal": terminal,
    }


def steps_of(plan: SandboxPlan) -> tuple[Step, ...]:
    """What is mounted. Of what is compared when the call has ended links stay where they are; what git keeps of a
    linked work tree may go with it."""
    return steps(plan.mounts, plan.private, tuple([path for path in plan.held if not path.endswith("/commondir")]))


def early_of(plan: SandboxPlan) -> bytes:
    """What of the order may be made before it is known which call it is for, as the launcher hands it on."""
    return _root_of(plan.replace(environment=()))[0]


@lru_cache(maxsize=16)
def _root_of(plan: SandboxPlan) -> tuple[bytes, dict[str, Any]]:
    """The file system: what of it may be made early, and the rest. Remembered: calls of one session ask for the
    same."""
    made = steps_of(plan)
    size = private_size(plan.limits)
    shown = (*[step.path for step in made], *[path for path, _content in plan.files])
    in_devices = any(f"{path}/".startswith("/dev/") for path in shown)
    private = tuple(f"{folder}/" for folder in plan.private)
    links = [(os.fsencode(path), os.fsencode(target), path.startswith(private)) for path, target in plan.links]
    sealed = [step.path for step in made if step.kind == COVER] + (["/dev"] if in_devices else [])
    laid = _laid(plan)
    sealed += [step.path for step in made if step.kind == READ_ONLY and step.path in laid]
    to_do = _steps(made, size, laid, dict(plan.shared), plan.transient)
    early = _is_early(made, [kind for kind, *_rest in to_do], plan.cwd)
    first = marshal.dumps(
        {
            "steps": [step for step, is_early in zip(to_do, early, strict=True) if is_early],
            "links": [(path, target) for path, target, late in links if not late],
            "shared": size,
            "in_devices": in_devices,
            "machine": not NEED_PROC.isdisjoint(plan.permits),
        },
        2,  # the same for equal values: no references to objects that happen to be one
    )
    return len(first).to_bytes(8, "little") + first, {
        "steps": [step for step, is_early in zip(to_do, early, strict=True) if not is_early],
        "late_links": [(path, target) for path, target, late in links if late],
        "files": [(os.fsencode(path), content) for path, content in plan.files],
        "marker": os.fsencode(MARKER),
        "sealed": [os.fsencode(path) for path in sealed],
    }


def _is_early(made: Sequence[Step], kinds: Sequence[str], cwd: str) -> list[bool]:
    """Which steps may be made before it is known which call they are for: what is shown to be read, hidden, or empty,
    and lies neither in what this call may write nor in what holds the folder that calls work in, which some may."""
    around = max((step.path for step in made if f"{cwd}/".startswith(f"{step.path}/")), key=len, default="")
    late: tuple[str, ...] = ()
    found = []
    for step, kind in zip(made, kinds, strict=True):
        seen = step.kind == READ_ONLY and kind == "bind" and step.path != around and not is_device(step)
        early = seen or step.kind in (MASK, COVER) or (step.kind == PRIVATE and kind == "memory")
        early = early and not f"{step.path}/".startswith(late)
        if not early:
            late = (*late, f"{step.path}/")
        found.append(early)
    return found


def _laid(plan: SandboxPlan) -> dict[str, tuple[list[bytes], bytes, bytes, bool]]:
    """Folders that are made of several: what lies below, what is changed and where, and whether that may be lost if the
    machine goes down."""
    found = {}
    for path, lowers, folder, once in (
        *[(path, (path,), folder, False) for path, folder in plan.layers],
        *[(*each, True) for each in plan.laid],
    ):
        place = os.fsencode(folder)
        found[path] = ([os.fsencode(each) for each in lowers], place + b"/upper", place + b"/work", once)
    return found


def _steps(
    made: Sequence[Step],
    size: int,
    laid_over: dict[str, tuple[list[bytes], bytes, bytes, bool]],
    shared: dict[str, str],
    transient: tuple[str, ...],
) -> list[tuple[str, bytes, bool, Any]]:
    """With layers: such a folder is made of several, and whatever is shown writable in it comes from what was made.
    With folders of the session: such a one is shown from where that keeps it. With transient ones: what the call
    changes there lies in memory."""
    found = []
    laid: set[str] = set()
    for step in made:
        kind, path, folder, how = _step(step, size)
        if step.kind == READ_ONLY and step.path in transient:
            kind, how = "over", (size, how)
        elif kind == "bind" and step.kind in (BIND, READ_ONLY):
            if step.path in laid_over and step.path not in laid:
                laid.add(step.path)  # one that is only to be read is sealed last: what lies in it may be to be written
                kind, how = "layer", (*laid_over[step.path], how & ~_READ_ONLY)
            elif step.kind == BIND and any(f"{step.path}/".startswith(f"{each}/") for each in laid):
                kind = "again"
        elif step.kind == PRIVATE and step.path in laid_over:
            kind, how = "layer", (*laid_over[step.path], _NO_SETUID | _NO_DEVICES)
        elif step.kind == PRIVATE and step.path in shared:
            kind, how = "elsewhere", (os.fsencode(shared[step.path]), _NO_SETUID | _NO_DEVICES)
        found.append((kind, path, folder, how))
    return found


def _step(step: Step, size: int) -> tuple[str, bytes, bool, Any]:
    """Kind, place, whether it is a folder, and how: attributes of what is shown, mode and size of what is in memory."""
    path = os.fsencode(step.path)
    if step.kind == PRIVATE:
        return "memory", path, True, (0o1777 if step.path == "/tmp" else 0o700, size)
    if step.kind == COVER:
        return "memory", path, True, (0o111, COVER_SIZE)
    if step.kind in (MASK, LINK):
        return step.kind, path, step.folder, None
    attributes = _NO_SETUID
    if not is_device(step):
        attributes |= _NO_DEVICES
    if step.kind == READ_ONLY and not is_device(step):
        attributes |= _READ_ONLY
    return "bind", path, step.folder, attributes
