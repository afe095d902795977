"""Where the folders lie that outlive a confined call: shared by its session, layers over caches, layers over the
workspace. Pure; `rooms`, `layers` and `drafts` work with what lies there."""

from __future__ import annotations

import os
from _blake2 import blake2b

from gateway.model.changes import DISCARD
from gateway.model.plan import WRITE
from gateway.policy.modes import CEILINGS
from gateway.sandbox.base import SandboxError
from gateway.sandbox.nested_paths import is_below, is_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from gateway.model.plan import Mount
    from gateway.model.verdict import Verdict

ROOMS = "rooms"
LAYERS = "layers"
ONCE = "once"  # in the place of a room's name: one for a single call
SHARED = (("/tmp", "tmp"), ("/var/tmp", "var-tmp"))
"""Folders of a call that its session shares, and how a room calls them."""


def keeps_nothing(verdict: Verdict) -> bool:
    """Whether nothing of what a call changes may stay, in caches neither: in modes that only look, and of what runs
    without a question because its changes are thrown away."""
    return verdict.context.mode in CEILINGS or _is_shown(verdict)


def room_of(verdict: Verdict) -> str:
    """The room of the session that a call shares, "" for none: what runs because its changes are thrown away does not
    reach the servers of its session, which could change something for it."""
    return "" if _is_shown(verdict) and verdict.context.mode not in CEILINGS else verdict.context.room


def _is_shown(verdict: Verdict) -> bool:
    return verdict.contained and verdict.changes == DISCARD and verdict.context.changes != DISCARD


def shared_by(rooms: str, name: str, private: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The private folders of a call that its session shares, and where that keeps them. `rooms`: the folder of all."""
    if not name:
        return ()
    kept = dict(SHARED)
    return tuple((path, f"{rooms}/{name}/{kept[path]}") for path in private if path in kept)


def layer_of(layers: str, root: str, path: str) -> str:
    """Where the changes of a project to a cache are kept. `layers`: the folder of all."""
    name = path.strip("/").replace("/", "-")[-60:]
    return f"{layers}/{_digest(root)}/{_digest(path)}-{name}"


def own_of(layers: str, root: str, name: str) -> str:
    """Where a project has a folder of its own that stands for none of the person's. `layers`: the folder of all."""
    return f"{layers}/{_digest(root)}/own/{name}"


def drafted_of(mounts: Iterable[Mount], caches: Container[str]) -> tuple[str, ...]:
    """The folders that a call changes only in layers of its own, of what it may write. Raises SandboxError where that
    is more than can lie in one."""
    written = [mount for mount in mounts if mount.access == WRITE and mount.path not in caches]
    folders = [mount.path for mount in written if mount.folder]
    tops = tuple(sorted(path for path in folders if not is_inside(path, folders)))
    loose = next((mount.path for mount in written if not is_below(mount.path, tops)), "")
    if loose:
        raise SandboxError(f"`{loose}` cannot be changed in a layer", "let a person agree to the call beforehand")
    return tops


def _digest(text: str) -> str:
    return blake2b(os.fsencode(text), digest_size=8).hexdigest()
