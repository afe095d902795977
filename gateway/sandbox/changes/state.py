"""What stands under a name: enough to tell whether it is still the same, and to make it again. Pure."""

from __future__ import annotations

import stat

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

FILE, FOLDER, LINK, PIPE, SOCKET, DEVICE = "file", "folder", "link", "pipe", "socket", "device"
_KINDS = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: FOLDER,
    stat.S_IFLNK: LINK,
    stat.S_IFIFO: PIPE,
    stat.S_IFSOCK: SOCKET,
}
_SET_ID = 0o6000
Inode = tuple[int, int]


class Stamp(Value):
    """One object as it was seen. `mode`: its permissions; `links`: its names; `target`: where a link leads. Size and
    time are those of files only, as folders' change with what lies in them."""

    kind: str
    mode: int
    dev: int
    ino: int
    size: int = 0
    mtime_ns: int = 0
    links: int = 1
    target: str = ""

    @property
    def inode(self) -> Inode:
        """What names it on this machine."""
        return self.dev, self.ino


def stamp_of(found: os.stat_result, mode: int | None = None, target: str = "") -> Stamp:
    """The stamp of what was looked at, links not followed. `mode`: its true one, be it opened to be looked at."""
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), DEVICE)
    mode = stat.S_IMODE(found.st_mode) if mode is None else mode
    if kind != FILE:
        return Stamp.make((kind, mode, found.st_dev, found.st_ino, 0, 0, 1, target))
    return Stamp.make((kind, mode, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_nlink, ""))


def is_same(one: Stamp | None, other: Stamp | None, *, as_it_was: dict[Inode, Inode]) -> bool:
    """Whether two looks saw the same, unchanged. `as_it_was`: of what was made again, what it stands for."""
    if one is None or other is None:
        return one is other
    if one.kind != other.kind or one.target != other.target:
        return False
    if one.kind == LINK:
        return True
    if (one.mode | _SET_ID) != (other.mode | _SET_ID):
        return False
    if one.kind != FILE:
        return True
    same = first(one.inode, as_it_was) == first(other.inode, as_it_was)
    return same and (one.size, one.mtime_ns) == (other.size, other.mtime_ns)


def first(inode: Inode, as_it_was: dict[Inode, Inode]) -> Inode:
    """What something that was made again, perhaps more than once, stands for."""
    seen = {inode}
    while (before := as_it_was.get(inode)) is not None and before not in seen:
        seen.add(before)
        inode = before
    return inode


def written(stamp: Stamp | None) -> list[Any] | None:
    """As JSON keeps it."""
    if stamp is None:
        return None
    return [stamp.kind, stamp.mode, stamp.dev, stamp.ino, stamp.size, stamp.mtime_ns, stamp.links, stamp.target]


def read(given: Any) -> Stamp | None:
    """What `written` has written. Raises TypeError and ValueError for anything else."""
    if given is None:
        return None
    kind, mode, dev, ino, size, mtime_ns, links, target = given
    if not (isinstance(kind, str) and isinstance(target, str)):
        raise TypeError("a stamp")
    size, time, links = int(size), int(mtime_ns), int(links)
    return Stamp(kind, int(mode), int(dev), int(ino), size=size, mtime_ns=time, links=links, target=target)
