"""The mounts of a plan in the order in which they are made, for a backend that builds a file system from nothing.

Pure. What is said of a path holds for it wherever it can be moved to: all folders between something writable and a path
below it that is kept from being changed or seen are pinned, so that neither they nor it can be renamed or replaced.
A pin is a mount of the folder over itself, or of a link over itself where the kernel takes one. The pins in a writable
folder are buried under a second mount of it: the kernel still refuses to rename what is a mount point anywhere in this
sandbox, and no rename or hard link within the writable folder meets the border of a mount.
"""

from __future__ import annotations

from functools import lru_cache

from gateway.core.value import Value
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.limits import Limits
    from gateway.model.plan import SandboxPlan

BIND, READ_ONLY, MASK, COVER, PRIVATE, LINK = "bind", "read-only", "mask", "cover", "private", "link"
MARKER = "/.gateway"  # an empty file that says, to whoever asks, that this is a sandbox
PRIVATE_SIZE = 1 << 30
COVER_SIZE = 1 << 20
# With these the command may write to some files of /proc: then what is the machine's own there is shut one by one.
NEED_PROC = frozenset(("ptrace", "namespaces"))


class Step(Value):
    """One mount at `path`.

    bind, read-only: the host's own object at the same path. mask: an object that nobody may open instead of it. cover:
    an empty folder that may be passed through but not listed, for what is hidden except for something below it.
    private: an empty writable folder. link: a link that stays where it is. `inner`: its mount point lies on the host,
    below something that is mounted writable, so that a running command could meddle with it; `folder`: what it is.
    """

    kind: str
    path: str
    folder: bool = True
    inner: bool = False


@lru_cache(maxsize=64)
def steps(mounts: tuple[Mount, ...], private: tuple[str, ...], links: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """What to mount, parents before what lies in them. `links`: those in writable folders that are to stay. Remembered:
    calls of one session ask for the same."""
    wanted = {_parts(path): Mount(path, PRIVATE) for path in private}
    wanted |= {_parts(mount.path): mount for mount in mounts}  # a mount says more than an empty folder
    order = sorted(wanted)
    around = {parts: _nearest(parts, wanted) for parts in order}
    held = {_parts(path) for path in links}.difference(wanted)
    around |= {parts: _nearest(parts, wanted) for parts in held}
    pins = _pins([*order, *held], held, wanted, around)
    found: list[Step] = []
    for parts in order:
        mount = wanted[parts]
        inner = _inside_writable(parts, wanted, around)
        if mount.access == HIDDEN and mount.folder and any(around[other] == parts for other in order):
            found.append(Step(COVER, mount.path, True, inner))
            continue
        kind = {WRITE: BIND, READ: READ_ONLY, FIXED: READ_ONLY, HIDDEN: MASK, PRIVATE: PRIVATE}[mount.access]
        step = Step(kind, mount.path, mount.folder, inner)
        found.append(step)
        if parts in pins:
            found += pins[parts]
            found.append(step)
    return tuple(found)


def inexpressible(plan: SandboxPlan) -> tuple[str, ...]:
    """What of a plan no file system of our own can have, each as a sentence."""
    found = list(_unresolved(plan.mounts, plan.private, plan.links, tuple(path for path, _content in plan.files)))
    found += [
        f"{mount.path}: the sandbox has a /proc of its own"
        for mount in plan.mounts
        if mount.path == "/proc" or mount.path.startswith("/proc/")
    ]
    found += ["/: the sandbox has a root of its own" for mount in plan.mounts if mount.path == "/"]
    for name, value in plan.environment:
        if not name or "=" in name or "\0" in name:
            found.append(f"an environment variable cannot be named {name!r}")
        elif "\0" in value:
            found.append(f"the environment variable {name} holds a zero byte")
    return tuple(found)


def private_size(limits: Limits) -> int:
    """The most that one private folder takes; it is memory."""
    return min((bound for bound in (limits.disk, limits.memory) if bound), default=PRIVATE_SIZE)


def is_device(step: Step) -> bool:
    """Whether a step shows devices, which would be there and not open if they were bound like other files."""
    return step.kind != MASK and step.path.startswith("/dev/") and not f"{step.path}/".startswith("/dev/shm/")


@lru_cache(maxsize=64)
def _unresolved(
    mounts: tuple[Mount, ...], private: tuple[str, ...], links: tuple[tuple[str, str], ...], files: tuple[str, ...]
) -> tuple[str, ...]:
    """A path that leads up again would be mounted, and kept in its place, somewhere else than it says."""
    paths = (*(mount.path for mount in mounts), *private, *(path for path, _target in links), *files)
    return tuple(
        f"{path!r} is no path that was resolved"
        for path in paths
        if "\0" in path or not path.startswith("/") or not {".", ".."}.isdisjoint(path.split("/"))
    )


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _nearest(parts: tuple[str, ...], wanted: dict[tuple[str, ...], Mount]) -> tuple[str, ...] | None:
    """The deepest of the wanted ones that this one lies in."""
    for length in range(len(parts) - 1, -1, -1):
        if parts[:length] in wanted:
            return parts[:length]
    return None


def _inside_writable(
    parts: tuple[str, ...], wanted: dict[tuple[str, ...], Mount], around: dict[tuple[str, ...], tuple[str, ...] | None]
) -> bool:
    """Whether a folder of the host that it lies in is mounted writable."""
    outer = around[parts]
    while outer is not None and wanted[outer].access != PRIVATE:
        if wanted[outer].access == WRITE:
            return True
        outer = around[outer]
    return False


def _pins(
    parts_of_all: list[tuple[str, ...]],
    links: set[tuple[str, ...]],
    wanted: dict[tuple[str, ...], Mount],
    around: dict[tuple[str, ...], tuple[str, ...] | None],
) -> dict[tuple[str, ...], list[Step]]:
    """For each writable folder the folders and links in it that must stay where they are, outer ones first."""
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for parts in parts_of_all:
        outer = around[parts]
        if outer is None or wanted[outer].access != WRITE:
            continue
        between = {parts[:length] for length in range(len(outer) + 1, len(parts) + (parts in links))}
        found.setdefault(outer, set()).update(between)
    return {outer: [_pin(parts, links) for parts in sorted(between)] for outer, between in found.items() if between}


def _pin(parts: tuple[str, ...], links: set[tuple[str, ...]]) -> Step:
    path = "/" + "/".join(parts)
    return Step(LINK, path, False) if parts in links else Step(BIND, path, True, True)
