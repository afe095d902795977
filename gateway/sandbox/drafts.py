"""Calls that change nothing but layers of their own: where one can be laid over a workspace, and what it is made of.

A layer holds what the call changes, and it alone; what lies below is not written. Over the folders of the workspace,
the caches and the session's temporary folder lies one each. Who decides what becomes of them is
`gateway.sandbox.changes.drafting`.

    DRAFT/0/upper, DRAFT/0/work   what was changed in the first of these folders, and what the kernel needs for that
    DRAFT/layers                  of each which folder it lies over for the call, and what somebody may want to have
                                  changed by it, "" for a cache

Those of a call that has changed nothing serve the next one (`SPARE`), since making folders takes longer than all else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from posixpath import dirname

from gateway.core.plainjson import dumps, loads
from gateway.model.plan import READ, WRITE, Mount
from gateway.sandbox.base import SandboxError
from gateway.sandbox.joining import note
from gateway.sandbox.launched.leftovers import remove
from gateway.sandbox.nested_paths import is_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.model.plan import SandboxPlan

# File systems that the kernel lays a layer over such that names, links and times below it mean what they always do.
_KNOWN = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "f2fs", "zfs", "bcachefs", "overlay"))
_MOST_LOOKED_AT = 500
_LISTED = "layers"
SPARE = "spare"  # beside the folders of drafts: the layers of one, empty
GONE = ".gone"  # how what nobody needs any more is named there, until somebody has time
# What the kernel says of the folder that lies over a workspace. Whatever else is said of it a call has said.
_OWN = frozenset(("user.overlay.impure", "user.overlay.origin", "user.overlay.uuid"))
_MOUNTS = "/proc/self/mountinfo"


def cannot_lay(folders: tuple[str, ...]) -> str:
    """Why no layer can be laid over these folders so that all in them is there and can be written, "" if one can."""
    try:
        mounts = _mounts()
    except (OSError, ValueError) as error:
        return f"it cannot be told what is mounted ({error})"
    for folder in folders:
        below = next((each for each in mounts if each.startswith(f"{folder.rstrip('/')}/")), "")
        if below:
            return f"something is mounted on `{below}`, which a layer would hide"
        around = max((each for each in mounts if f"{folder}/".startswith(f"{each.rstrip('/')}/")), key=len, default="")
        kind = mounts.get(around, "none")
        if kind not in _KNOWN:
            return f"`{folder}` lies on a file system of the kind `{kind}`, over which no layer is laid"
        foreign = _foreign(folder)
        if foreign:
            return f"`{foreign}` belongs to another user or group, and could not be changed in a layer"
    return ""


def laid(plan: SandboxPlan) -> SandboxPlan:
    """The plan with what the call changes in layers of its own, whose folders are made; in those that are there from a
    call before it goes on. Its caches and what it shares are those that it uses for certain. Raises SandboxError."""
    below: dict[str, tuple[str, ...]] = {path: (path,) for path in plan.drafted}
    below |= {path: (f"{folder}/upper", path) for path, folder in plan.layers}
    below |= {path: (folder,) for path, folder in plan.shared}
    below |= {plan.packages: (plan.packages,)} if plan.packages and plan.contained else {}
    kept = {path: path for path in plan.drafted} | dict(plan.shared)
    if not plan.draft.startswith("/"):
        raise SandboxError("no layer was prepared for what the call changes", "start what runs so as a call of its own")
    found = []
    try:
        known = _listed(plan.draft) if os.path.exists(f"{plan.draft}/{_LISTED}") else []
        before = {str(path): (number, str(target)) for number, path, target in known}
        listed = dict(before)
        for path in below:
            listed.setdefault(path, (len(listed), kept.get(path, "")))
        text = dumps([[number, path, target] for path, (number, target) in listed.items()])
        is_spare = not before and _has_spare(plan.draft, text)
        for path, lowers in below.items():
            is_new = path not in before and not is_spare
            folder = f"{plan.draft}/{listed[path][0]}"
            if is_new:
                remove(os.fsencode(folder))  # of an attempt that did not come to start
                os.makedirs(f"{folder}/work", mode=0o700)
                os.mkdir(f"{folder}/upper")
            else:
                _used_again(f"{folder}/work", dirname(dirname(plan.draft)))
            if path not in before:
                os.chmod(f"{folder}/upper", os.stat(lowers[-1]).st_mode & 0o7777)
            found.append((path, lowers, folder))
        note(plan.draft, [(listed[path][0], f"{folder}/upper") for path, folder in plan.layers])
        if listed != before and not is_spare:
            with open(f"{plan.draft}/{_LISTED}.new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(f"{plan.draft}/{_LISTED}.new", f"{plan.draft}/{_LISTED}")
    except (OSError, ValueError) as error:
        raise SandboxError(f"there can be no layer for what the call changes: {error}") from error
    return plan.replace(laid=tuple(found), layers=(), shared=())


def layers_in(draft: str) -> list[tuple[str, str]]:
    """What was changed over which folder, in the layers of a call that has ended. Raises OSError and ValueError."""
    return [(f"{draft}/{number}/upper", target) for number, _path, target in _listed(draft) if target]


def only_reading(plan: SandboxPlan) -> SandboxPlan:
    """The plan for what nobody decides about when it has ended: it sees the same, and writes nothing of it. Pure."""
    mounts = tuple([each.replace(access=READ) if each.access == WRITE else each for each in plan.mounts])
    return plan.replace(mounts=mounts, drafted=())


def is_touched(draft: str) -> bool:
    """Whether anything at all lies in the layers of a call over what somebody may want to have changed. Raises OSError
    and ValueError."""
    for upper, _target in layers_in(draft):
        with os.scandir(upper) as entries:
            if next(entries, None) is not None:
                return True
    return False


def over(plan: SandboxPlan, folders: Iterable[str]) -> SandboxPlan:
    """The plan with layers over these folders, too, which the call sees through them, be it only to read. Pure."""
    every = {*folders, *plan.drafted}
    tops = tuple(sorted(each for each in every if not is_inside(each, every)))
    shown = {mount.path for mount in plan.mounts}
    added = tuple(Mount(each, READ, True) for each in tops if each not in shown)
    return plan.replace(mounts=tuple(sorted((*plan.mounts, *added))), drafted=tops)


def is_empty(draft: str) -> bool:
    """Whether nothing at all lies in the layers of a call, nor is known of them but what the kernel says. False, too,
    where that cannot be told."""
    try:
        if not os.path.exists(f"{draft}/{_LISTED}"):
            return True  # nothing was ever laid
        for number, _path, _target in _listed(draft):
            upper = f"{draft}/{number}/upper"
            with os.scandir(upper) as entries:
                if next(entries, None) is not None or not _OWN.issuperset(os.listxattr(upper)):
                    return False
    except (OSError, ValueError):
        return False
    return True


def _has_spare(draft: str, text: str) -> bool:
    """Whether the layers of a call before, which changed nothing, are those of this one now. `text`: what is listed."""
    try:
        os.rename(f"{dirname(dirname(draft))}/{SPARE}", draft)  # from here on it is nobody else's
    except OSError:
        return False
    with suppress(OSError), open(f"{draft}/{_LISTED}", encoding="utf-8") as file:
        if file.read() == text and is_empty(draft):
            return True
    set_aside(draft, dirname(dirname(draft)))
    return False


def _used_again(work: str, aside: str) -> None:
    """Gives the kernel a folder of its own anew: it would not take one in which it has left that what it wrote need not
    be on the disk, which it need not be before it is kept. Raises OSError."""
    set_aside(work, aside)
    os.mkdir(work, 0o700)


def set_aside(path: str, folder: str) -> None:
    """Names what nobody needs any more in a folder that is cleared while nobody waits: to give up one folder takes some
    disks milliseconds, and naming it none. Raises OSError."""
    with suppress(FileNotFoundError):
        os.rename(path, f"{folder}/{os.urandom(8).hex()}{GONE}")


def _listed(draft: str) -> list[list[Any]]:
    with open(f"{draft}/{_LISTED}", encoding="utf-8") as file:
        return list(loads(file.read()))


def _mounts() -> dict[str, str]:
    """The kind of file system by where it is mounted, the last one on top."""
    found = {}
    with open(_MOUNTS, "rb") as file:
        for line in file:
            place, _dash, kind = line.partition(b" - ")
            path = place.split(b" ")[4].decode("ascii", "surrogateescape").encode("latin-1", "replace")
            found[os.fsdecode(path.decode("unicode_escape").encode("latin-1"))] = kind.split(b" ")[0].decode("ascii")
    return found


def _foreign(folder: str) -> str:
    """The first of a folder and what lies in it that is not this user's and group's, "" for none."""
    own = (os.geteuid(), os.getegid())
    looked = os.lstat(folder)
    if (looked.st_uid, looked.st_gid) != own:
        return folder
    with os.scandir(folder) as entries:
        for number, each in enumerate(entries):
            if number >= _MOST_LOOKED_AT:
                break
            looked = each.stat(follow_symlinks=False)
            if (looked.st_uid, looked.st_gid) != own:
                return each.path
    return ""
