"""Landlock: the fallback for hosts that refuse namespaces, where the policy permits this weaker form.

The kernel allows what a rule names and refuses the rest, so a plan becomes a list of rules. What cannot be said in that
form is refused (`missing`); what is held in another way than by the kernel during the call is told (`degraded`):

- Private folders count as expressed: the call gets fresh folders of its own elsewhere, which HOME, TMPDIR and every
  other variable that led into a private folder lead to. `/tmp` itself is refused, never shared.
- Protected names inside writable folders are verified and put back after the call (`gateway.sandbox.after.protect`).
- No network means no sockets at all, local ones included: a local socket outside cannot be told from one inside.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE
from gateway.policy.confine import BY_PROFILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.model.plan import Mount, SandboxPlan

# Below 3 files outside could be truncated; below 6 neither signals nor abstract sockets are held.
LEAST_ABI, FULL_ABI, KNOWN_ABI = 3, 6, 7
# Stands in `weaker` where a kernel without the holds of FULL_ABI will do.
UNSCOPED = "landlock-unscoped"
MOST_RULES = 4000

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_REMOVE, _MAKE = 0x30, 0x1780  # folders and files; folders, files, sockets, pipes and links, never devices
_REFER, _TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
READS = EXECUTE | READ_FILE | READ_DIR
WRITES = READS | WRITE_FILE | _REMOVE | _MAKE | _REFER | _TRUNCATE
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | IOCTL
_TCP = 3
_SCOPES = 3

DEVICES = (
    ("/dev/full", READ_FILE | WRITE_FILE),
    ("/dev/null", READ_FILE | WRITE_FILE | _TRUNCATE),
    ("/dev/random", READ_FILE),
    ("/dev/tty", READ_FILE | WRITE_FILE | IOCTL),
    ("/dev/urandom", READ_FILE),
    ("/dev/zero", READ_FILE | WRITE_FILE),
    ("/proc", READ_FILE | READ_DIR),
)
ALWAYS_DEGRADED = (
    "other processes can be seen, though neither signalled nor looked into",
    "names, sizes and times of files outside can be seen, and modes and times of the user's own files changed",
    "no sockets at all, local ones included, and no shared memory of System V or in /dev/shm",
)
PRIVATE_DEGRADED = "/tmp and the home folder are refused; TMPDIR and HOME lead to fresh private folders"
FIXED_DEGRADED = "protected names in writable folders are put back after the call, not held during it"
UNLISTED_DEGRADED = "folders that hold a hidden folder cannot be listed"
PARTLY_DEGRADED = "nothing new can be made beside what is hidden in a folder that the sandbox profile opens"
UNSCOPED_DEGRADED = "processes of the same user can be signalled, and a supervisor that they kill ends the call late"


class Ruleset(Value):
    """What the kernel is told: the rights that are handled at all, and those granted below each path. `held`: the
    folders of which nothing but what is named is granted, because something in them is hidden."""

    handled: int
    network: int
    scoped: int
    paths: tuple[tuple[str, int], ...]
    held: tuple[str, ...] = ()


def missing(plan: SandboxPlan, abi: int) -> tuple[str, ...]:
    """What of the plan Landlock of this version cannot express, each as a sentence. Pure.

    A folder that only the profile opens may be opened in part: less than the plan grants breaks no promise. What the
    call was predicted to change must be granted whole.
    """
    found = []
    if abi < FULL_ABI and UNSCOPED not in plan.weaker:
        found.append(
            f"this kernel's Landlock (version {abi}) does not hold signals and abstract sockets, which takes version "
            f"{FULL_ABI} (Linux 6.12), and policy does not permit `{UNSCOPED}`"
        )
    if plan.network.mode != "off":
        hosts = ", ".join(each.host for each in plan.network.allow[:3])
        what = "any network" if plan.network.mode == "open" else f"the network for single hosts ({hosts})"
        found.append(f"{what} cannot be granted: Landlock knows ports, not hosts")
    found += [f"{path} cannot be shown with other content than it has" for path, _content in plan.files]
    mounts = _by_path(plan)
    for mount in plan.mounts:
        if mount.access in (HIDDEN, READ):
            above = _above(mounts, mount.path)
            if above is not None and above.access == WRITE and not _is_carvable(mount, above):
                what = "be hidden" if mount.access == HIDDEN else "be kept read-only"
                found.append(f"{mount.path} cannot {what} inside {above.path}, in which files may be created")
    return tuple(found)


def _is_carvable(hidden: Mount, above: Mount) -> bool:
    return hidden.access == HIDDEN and above.rule == BY_PROFILE


def degraded(plan: SandboxPlan, abi: int) -> tuple[str, ...]:
    """What of the plan is not held by the kernel during the call, each as a sentence. Pure."""
    found = list(ALWAYS_DEGRADED)
    if plan.private:
        found.append(PRIVATE_DEGRADED)
    mounts = _by_path(plan)
    if any(
        mount.access == FIXED and (above := _above(mounts, mount.path)) is not None and above.access == WRITE
        for mount in plan.mounts
    ):
        found.append(FIXED_DEGRADED)
    hiding = _hiding(plan)
    if any(mount.path in hiding for mount in plan.mounts if mount.access != HIDDEN):
        found.append(UNLISTED_DEGRADED)
    if any(
        mount.access == HIDDEN and (above := _above(mounts, mount.path)) is not None and above.access == WRITE
        for mount in plan.mounts
    ):
        found.append(PARTLY_DEGRADED)
    if abi < FULL_ABI:
        found.append(UNSCOPED_DEGRADED)
    return tuple(found)


def carved(plan: SandboxPlan) -> tuple[str, ...]:
    """The folders whose entries must be known, because something below them is hidden: sorted. Pure."""
    found: dict[str, None] = {}
    mounts = _by_path(plan)
    for mount in plan.mounts:
        if mount.access != HIDDEN:
            continue
        above = _above(mounts, mount.path)
        if above is None or above.access == HIDDEN:
            continue
        folder = mount.path
        while folder != above.path:
            folder = _parent(folder)
            found[folder] = None
    return tuple(sorted(found))


def rules_of(plan: SandboxPlan, abi: int, listing: Mapping[str, tuple[tuple[str, bool], ...]]) -> Ruleset:
    """The rules that keep a plan of which nothing is missing. Pure.

    `listing`: the entries of each folder that `carved` names, links left out, each with whether it is a folder.
    """
    handled = (1 << 13) - 1
    for least, right in ((2, _REFER), (3, _TRUNCATE), (5, IOCTL)):
        handled |= right if abi >= least else 0
    paths: dict[str, int] = {}
    own, hiding = _by_path(plan), _hiding(plan)
    for mount in plan.mounts:
        if mount.access == HIDDEN:
            continue
        rights = WRITES if mount.access == WRITE else READS
        if mount.path in listing:
            for folder in (each for each in listing if _within(each, mount.path)):
                if _ruling(own, folder) is not mount:
                    continue
                if folder not in hiding:
                    paths[folder] = paths.get(folder, 0) | READ_DIR
                for name, is_folder in listing[folder]:
                    path = f"{folder.rstrip('/')}/{name}"
                    if path not in own and path not in listing:
                        paths[path] = paths.get(path, 0) | (rights if is_folder else rights & _ON_FILES)
        else:
            paths[mount.path] = paths.get(mount.path, 0) | (rights if mount.folder else rights & _ON_FILES)
    kept = tuple((path, rights & handled) for path, rights in sorted(paths.items()))
    return Ruleset(
        handled,
        _TCP if abi >= 4 else 0,
        scoped=_SCOPES if abi >= FULL_ABI else 0,
        paths=kept,
        held=tuple(sorted(listing)),
    )


def private_folders(plan: SandboxPlan) -> tuple[str, ...]:
    """The names below the call's private folder of what stands in for each of the plan's. Pure."""
    return tuple(f"{number}-{path.rpartition('/')[2] or 'root'}" for number, path in enumerate(plan.private))


def environment_of(plan: SandboxPlan, private: str) -> dict[bytes, bytes]:
    """The plan's environment with what led into private folders leading to their stand-ins below `private`. Pure."""
    encode = _encode
    stand_ins = dict(zip(plan.private, private_folders(plan), strict=True))
    shown = [mount.path for mount in plan.mounts if mount.access != HIDDEN]
    found = {}
    for name, value in plan.environment:
        inside = [folder for folder in stand_ins if _within(value, folder)]
        if inside and ":/" not in value and not any(_within(value, path) for path in shown):
            folder = max(inside, key=len)
            value = f"{private}/{stand_ins[folder]}{value[len(folder) :]}"
        found[encode(name)] = encode(value)
    temporary = next((stand_ins[each] for each in ("/tmp", "/var/tmp") if each in stand_ins), "")
    if temporary:
        found.setdefault(b"TMPDIR", encode(f"{private}/{temporary}"))
    return found


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _within(path: str, folder: str) -> bool:
    return (path + "/").startswith(folder.rstrip("/") + "/")


def _by_path(plan: SandboxPlan) -> dict[str, Mount]:
    return {mount.path: mount for mount in plan.mounts}


def _ruling(mounts: Mapping[str, Mount], path: str) -> Mount | None:
    """The deepest mount that holds a path, itself included."""
    while (found := mounts.get(path)) is None and path != "/":
        path = _parent(path)
    return found


def _above(mounts: Mapping[str, Mount], path: str) -> Mount | None:
    """The deepest mount that a path lies in, not itself; fixed ones count as what they lie in."""
    found = None
    while path != "/" and (next_one := _ruling(mounts, _parent(path))) is not None:
        found = next_one
        if found.access != FIXED:
            break
        path = found.path
    return found


def _hiding(plan: SandboxPlan) -> frozenset[str]:
    """Every folder that holds a hidden folder, at any depth."""
    found = set()
    for mount in plan.mounts:
        if mount.access == HIDDEN and mount.folder:
            path = mount.path
            while path != "/" and (path := _parent(path)) not in found:
                found.add(path)
    return frozenset(found)
