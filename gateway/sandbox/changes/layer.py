"""What a layer over a folder holds: every name that is another in it than below, as it would be if it were kept.

Read when nothing writes to the layer any more. Folders that only lead to something are no change, nor is a file that
says what the one below says, with the same permissions and attributes.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager

from gateway.core.errors import StoreError
from gateway.core.plain_files import open_plain
from gateway.core.value import Value
from gateway.sandbox.birth_time import born_ns
from gateway.sandbox.changes.state import DEVICE, FILE, FOLDER, SOCKET, stamp_of
from gateway.sandbox.joining import is_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.sandbox.changes.state import Stamp

_OVERLAY = "user.overlay."
_ORIGIN = f"{_OVERLAY}origin"
_ACL = "system.posix_acl_access"
MOST_NAMES = 400_000
LINKED = "it has other names, which would keep what it said"
SINCE = "it was changed by somebody else meanwhile"


class Node(Value):
    """One name. `was`: what stands below, None for nothing; `now`: what stands in the layer; `place`: where that lies;
    `below`: what lies in it, where it is or was a folder. `conflict`: why it cannot simply take the place of what is
    there, "" if it can."""

    path: str
    was: Stamp | None
    now: Stamp | None
    place: str = ""
    below: tuple[Node, ...] = ()
    conflict: str = ""

    @property
    def stays_folder(self) -> bool:
        """Whether it is a folder before and after, so that only what lies in it, or its mode, is another."""
        both = self.was, self.now
        return all(each is not None and each.kind == FOLDER for each in both)

    @property
    def is_change(self) -> bool:
        """Whether the name itself is another, not only what lies in it."""
        was, now = self.was, self.now
        return not (self.stays_folder and was is not None and now is not None and was.mode == now.mode)

    @property
    def says_the_same(self) -> bool:
        """Whether it is a file before and after, and at most its permissions are others."""
        was, now = self.was, self.now
        if was is None or now is None or not was.kind == now.kind == FILE or now.links > 1:
            return False
        try:
            return _equal(self.place, self.path, was, now)
        except OSError:
            return False

    def all(self) -> Iterator[Node]:
        """Itself and all below, each before what lies in it."""
        yield self
        for each in self.below:
            yield from each.all()


def read_layer(upper: str, target: str, since: tuple[int, ...]) -> tuple[Node, ...]:
    """What keeping a layer would change in a folder. `since`: when the calls began that wrote to it, in nanoseconds
    since the epoch: what was changed below after the one began that brought a name into the layer was changed
    meanwhile. Raises StoreError where it cannot be told."""
    try:
        return tuple(_Reading(since).folder(upper, target, has_lower=True))
    except (OSError, RecursionError) as error:
        raise StoreError(f"what the call changed cannot be read: {error}") from error


class _Reading:
    def __init__(self, since: tuple[int, ...]) -> None:
        self._since = since
        self._count = 0

    def folder(self, upper: str, target: str, *, has_lower: bool) -> list[Node]:
        """The changes in one folder of the layer."""
        with opened_up(upper):
            with os.scandir(upper) as entries:
                names = sorted(entry.name for entry in entries)
            found = [self._one(f"{upper}/{name}", f"{target}/{name}", has_lower=has_lower) for name in names]
        if has_lower and is_opaque(upper):  # what is below is there no longer
            known = set(names)
            with os.scandir(target) as entries:
                gone = sorted(entry.name for entry in entries if entry.name not in known)
            found += [self._gone(f"{target}/{name}") for name in gone]
        return [each for each in found if each is not None]

    def _one(self, place: str, path: str, *, has_lower: bool) -> Node | None:
        self._count += 1
        if self._count > MOST_NAMES:
            raise StoreError(f"the call has changed more than {MOST_NAMES:,} names")
        looked = os.lstat(place)
        below = _look(path) if has_lower else None
        if stat.S_ISCHR(looked.st_mode) and not looked.st_rdev:
            return None if below is None else self._gone(path)
        now = _stamp(looked, place)
        was = None if below is None else _stamp(below, path)
        if now.kind in (SOCKET, DEVICE):
            return None  # nobody listens there any more; no device is ever taken over
        if now.kind == FOLDER:
            return self._folder(place, path, was, now)
        conflict = ""
        if below is not None and was is not None:
            is_linked = now.kind == FILE and now.links > 1  # with a name that came with the call
            if (
                was.kind == now.kind == FILE
                and was.mode == now.mode
                and not is_linked
                and _equal(place, path, was, now)
            ):
                return None
            if was.kind == now.kind != FILE and was.replace(ino=0, dev=0) == now.replace(ino=0, dev=0):
                return None
            conflict = self._conflict(below, place)
            if not conflict and was.kind == FILE and was.links > 1 and now.kind == FILE:
                conflict = "" if _equal(place, path, was, now) else LINKED
        elif has_lower and _has(place, _ORIGIN) and self._is_since(os.lstat(os.path.dirname(path)), place):
            conflict = SINCE  # it was deleted below, or comes from a name that was
        gone = self._all_gone(path) if was is not None and was.kind == FOLDER else ()
        if gone and not conflict:
            conflict = next((each.conflict for each in _all(gone) if each.conflict), "")
        return Node(path, was, now, place, below=gone, conflict=conflict)

    def _folder(self, place: str, path: str, was: Stamp | None, now: Stamp) -> Node | None:
        both = was is not None and was.kind == FOLDER
        inside = tuple(self.folder(place, path, has_lower=both))
        if was is not None and was.kind == FOLDER:
            conflict = ""
            if was.mode == now.mode:
                if not inside:
                    return None
            else:
                conflict = self._conflict(os.lstat(path), place)
            return Node(path, was, now, place, below=inside, conflict=conflict)
        conflict = SINCE if was is None and _has(place, _ORIGIN) else ""  # the folder below has gone
        if was is not None:
            conflict = self._conflict(os.lstat(path), place)
        return Node(path, was, now, place, below=inside, conflict=conflict)

    def _gone(self, path: str) -> Node | None:
        looked = _look(path)
        if looked is None:
            return None
        was = _stamp(looked, path)
        below = self._all_gone(path) if was.kind == FOLDER else ()
        return Node(path, was, None, below=below, conflict=self._conflict(looked))

    def _all_gone(self, folder: str) -> tuple[Node, ...]:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        found = [self._gone(f"{folder}/{name}") for name in names]
        return tuple(each for each in found if each is not None)

    def _conflict(self, looked: os.stat_result, place: str = "") -> str:
        return SINCE if self._is_since(looked, place) else ""

    def _is_since(self, looked: os.stat_result, place: str) -> bool:
        """`place`: what the layer has there; of a name that it lacks nobody can tell which call took it away."""
        first, *more = self._since
        if looked.st_ctime_ns < first:
            return False
        if not more or not place:
            return True
        born = born_ns(place)
        return looked.st_ctime_ns >= max([each for each in self._since if each <= born], default=first)


def _all(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for each in nodes:
        yield from each.all()


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stamp(looked: os.stat_result, path: str) -> Stamp:
    return stamp_of(looked, target=os.readlink(path)) if stat.S_ISLNK(looked.st_mode) else stamp_of(looked)


def _attributes(path: str) -> dict[str, bytes]:
    """What a program can have said of a file besides, with who else may use it. Raises OSError."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return {}
    own = [name for name in names if name == _ACL or (name.startswith("user.") and not name.startswith(_OVERLAY))]
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in own}


def _has(path: str, name: str) -> bool:
    try:
        os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        return False
    return True


@contextmanager
def opened_up(folder: str) -> Iterator[None]:
    """A folder of the layer that the call has closed to its owner is looked into all the same."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    closed = bool(os.geteuid()) and mode & 0o700 != 0o700
    if closed:
        os.chmod(folder, mode | 0o700)
    try:
        yield
    finally:
        if closed:
            os.chmod(folder, mode)


def _equal(one: str, other: str, was: Stamp, now: Stamp) -> bool:
    """Whether two files say the same, by their attributes, too."""
    if was.size != now.size:
        return False
    try:
        with open_plain(one) as ours, open_plain(other) as theirs:
            while True:
                first, second = ours.read(1 << 20), theirs.read(1 << 20)
                if first != second:
                    return False
                if not first:
                    return _attributes(one) == _attributes(other)
    except PermissionError:  # closed to its owner: it is not told apart from another
        return False
