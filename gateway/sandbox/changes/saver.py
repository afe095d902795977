"""What a name and a file were before a call touches them, written down first.

A name is written down once, when it is first touched: what stood there, or nothing. An old file that is about to lose a
name gets another one in the store, which moves no byte; one that is about to be written is copied. What a call itself
has made needs neither. A folder that moves is written down with all that lies in it, so that old files are known
wherever they go.

Nothing here depends on whether what was about to happen then happened: what is written down is how it was.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from weakref import finalize

from gateway.sandbox.changes.closed_folders import opened, reached
from gateway.sandbox.changes.hard_links import Shared
from gateway.sandbox.changes.looking import look, lying_in
from gateway.sandbox.changes.state import FILE, FOLDER, Stamp, stamp_of, written
from gateway.sandbox.real_paths import LastFolder, at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import EllipsisType
    from typing import Any

    from gateway.sandbox.changes.area import Area
    from gateway.sandbox.changes.state import Inode
    from gateway.sandbox.changes.store import Before

MOST_COPIED = 256 << 20  # bytes of one file that is written in place
MOST_NAMES = 400_000
_MOST_LOST = 100
_CLONE = 0x40049409
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINK = frozenset((errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES, errno.ENOSYS))
_MISSING = object()


class Saver:
    """Of one call. Used by one thread at a time. `note` writes one line of the journal; `room`: bytes that may be
    copied. What cannot be saved is in `missed`, with the reason. `found`: what whoever asks has just seen under the
    name, if they have looked."""

    def __init__(
        self, area: Area, folder: str, note: Callable[[list[Any]], None], room: int, *, apart: bool = False
    ) -> None:
        """`apart`: files that have names elsewhere, too, are given a file of their own before they are written."""
        self.area = area
        self._shared = Shared(area, self._kept_names, _fill) if apart else None
        self.before: dict[str, Stamp | None] = {}
        self.missed: dict[str, str] = {}
        self.forbidden: dict[str, str] = {}  # what must not be changed, whether it could be saved or not
        self.misses = 0  # how often something was about to change that is not saved
        self.refusals = 0
        self.moved: set[str] = set()
        self.copied: set[Inode] = set()
        self._folder = folder
        self._note = note
        self._room = room
        self._unsaved: set[Inode] = set()
        self._known: dict[Inode, bool] = {}  # old files, and whether the store has a name for them
        self._first: dict[Inode, Stamp] = {}
        self._is_new: dict[str, bool] = {}
        self._is_mixed = False
        self.lost: dict[str, None] = {}  # what was written and is gone with the call
        self._last = LastFolder()
        finalize(self, self._last.close)

    def name(self, path: str, found: Stamp | EllipsisType | None = ...) -> None:
        """A name is about to come, go or lead elsewhere."""
        self.lost.pop(path, None)
        if not self.area.root(path) or self._is_all_new(path):
            return
        found = look(path) if found is ... else found
        self._write_down(path, found)
        self._recount(found)
        if found is None or found.kind != FILE:
            return
        if found.inode in self._unsaved:
            self._miss_again(path)
        elif self._known.get(found.inode) is False:
            self._keep(path, found)

    def content(self, path: str, found: Stamp | EllipsisType | None = ..., *, reopened: bool = False) -> bool:
        """The file under a name is about to be written, or made: whether nothing need be saved when it is once more.
        `reopened`: what a process has open is, whatever stands under the name."""
        if self.area.is_lost(path) and len(self.lost) < _MOST_LOST:
            self.lost[path] = None
        if not self.area.root(path):
            return False
        if self._is_all_new(path):
            return True
        found = look(path) if found is ... else found
        if not self._write_down(path, found):
            return False
        if found is None or found.kind != FILE or found.inode not in self._known:
            return found is None or found.kind == FILE
        if self._part(path, found, reopened=reopened):
            return False
        if found.inode in self._unsaved:
            self._miss_again(path)
        elif found.inode not in self.copied:
            self._copy(path, found)
        return found.inode in self.copied

    def is_to_be_saved(self, inode: Inode) -> bool:
        """Whether a file is one of those that were there, of which no copy was made."""
        return inode in self._known and inode not in self.copied

    def part(self, path: str) -> None:
        """Gives a name a file of its own where the one it has is somebody else's, too."""
        try:
            found = look(path)
            if self._shared is not None and found is not None and self._shared.is_elsewhere(path, found):
                self.content(path, found)
        except OSError as error:
            self.miss(path, f"nobody can tell what it was ({error.strerror})")

    def mode(self, path: str, found: Stamp | EllipsisType | None = ..., *, reopened: bool = False) -> None:
        """The permissions of what stands under a name are about to change."""
        if self.area.root(path) and not self._is_all_new(path):
            found = look(path) if found is ... else found
            self._write_down(path, found)
            if found is not None and found.inode in self._known:
                self._part(path, found, reopened=reopened)

    def link(self, path: str, found: Stamp | EllipsisType | None = ...) -> None:
        """What stands under a name is about to get another one."""
        if not self._is_all_new(path):
            self._is_mixed = True
            if self.area.root(path):
                found = look(path) if found is ... else found
                self._write_down(path, found)
                if self._shared is not None:
                    self._shared.forget()

    def _is_all_new(self, path: str) -> bool:
        """Whether a name came with the call, and what stands there as well: nothing old has come to a new name."""
        return not self._is_mixed and path not in self.before and self._lies_in_new(path)

    def move(
        self, path: str, to: str, found: Stamp | EllipsisType | None = ..., replaced: Stamp | EllipsisType | None = ...
    ) -> None:
        """A name is about to become another; what stands there is replaced, or exchanged."""
        found = look(path) if found is ... else found
        replaced = look(to) if replaced is ... else replaced
        self._is_mixed = self._is_mixed or not (self._is_all_new(path) and self._is_all_new(to))
        for each, there in ((path, found), (to, replaced)):
            if there is not None and there.kind == FOLDER and self.area.root(each):
                self._write_down(each, there)
                self._walk(each)
        self.name(path, found)
        self.name(to, replaced)
        if found is not None and found.kind == FOLDER and self.area.root(to):
            self._came(to)
        if replaced is not None and replaced.kind == FOLDER and self.area.root(path):
            self._came(path)

    def tree(self, path: str) -> None:
        """What stands under a name is about to go or to be replaced, with all that lies in it."""
        pending = [path]
        while pending:
            each = pending.pop()
            try:
                found = look(each)
                self.name(each, found)
                if found is None or found.kind != FOLDER or not self.area.root(each) or self._is_all_new(each):
                    continue
                pending += lying_in(each)
            except OSError as error:
                self.miss(each, f"it cannot be read ({error.strerror})")

    def resume(self, before: Before) -> None:
        """Goes on from what was written down before."""
        self.before.update(before.was)
        self.copied.update(before.copied)
        for stamp in before.was.values():
            if stamp is not None and stamp.kind == FILE:
                self._known.setdefault(stamp.inode, stamp.inode in before.kept)
                self._first.setdefault(stamp.inode, stamp)

    def make_way(self, path: str) -> None:
        """Folders may be made on the way to a name."""
        above = path.rpartition("/")[0]
        if self.area.root(above) and look(above) is None:
            self.make_way(above)
            self.name(above)

    def knows(self, path: str) -> bool:
        """Whether what becomes of a name is known: it was written down, or came with the call."""
        spares = self._shared.spares if self._shared is not None else ()
        return path in self.before or path in spares or self._lies_in_new(path)

    def miss(self, path: str, reason: str) -> None:
        """Something is changed that cannot be saved."""
        self.misses += 1
        if path not in self.missed:
            self.missed[path] = reason
            self._note(["missed", path, reason])

    def _fail(self, path: str, found: Stamp, reason: str) -> None:
        self._unsaved.add(found.inode)
        self.miss(path, reason)

    def _miss_again(self, path: str) -> None:
        self.miss(path, "it could not be saved before")

    def forbid(self, path: str, reason: str) -> None:
        """Something would be changed that is not the call's to change."""
        self.refusals += 1
        self.forbidden.setdefault(path, reason)

    def _came(self, path: str) -> None:
        if path not in self.moved:
            self.moved.add(path)
            self._is_new.clear()
            self._note(["moved", path])

    def _write_down(self, path: str, found: Stamp | None) -> bool:
        """Unless it has been, or all that lies there came with this call; whether nothing is missing."""
        if path in self.before or self._lies_in_new(path):
            return True
        if len(self.before) >= MOST_NAMES:
            self.miss(path, f"the call has touched more than {MOST_NAMES:,} names")
            return False
        above = path.rpartition("/")[0]
        if above not in self.before and self.area.root(above):
            self._write_down(above, look(above))
        if found is not None and found.kind == FILE:
            self._known.setdefault(found.inode, False)
            found = self._first.setdefault(found.inode, found)  # it may have been changed by another name
        self.before[path] = found
        self._note(["was", path, written(found)])
        return True

    def has_only_new(self, folder: str) -> bool:
        """Whether all that lies in a folder came with the call, for as long as nothing old is renamed or linked."""
        return not self._is_mixed and (self._is_new.get(folder) or self._lies_in_new(f"{folder}/x"))

    def _lies_in_new(self, path: str) -> bool:
        """Whether a name that is not written down is new: on the way to it was no folder, or one that was written down
        as a whole before another came to its name."""
        above = path.rpartition("/")[0]
        found = self._is_new.get(above)
        if found is None:
            was = self.before.get(above, _MISSING)
            found = above in self.moved or was is None or (isinstance(was, Stamp) and was.kind != FOLDER)
            found = found or (bool(self.area.root(above)) and self._lies_in_new(above))
            if found or was is not _MISSING:
                self._is_new[above] = found
        return found

    def _walk(self, top: str) -> None:
        """Writes down all that lies in a folder that moves."""
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                with reached(folder), opened(folder):
                    names = [(path, look(path)) for path in lying_in(folder) if self.area.root(path)]
            except OSError as error:
                self.miss(folder, f"it cannot be read ({error.strerror})")
                continue
            for path, found in names:
                self._write_down(path, found)
                if found is not None and found.kind == FOLDER:
                    pending.append(path)

    def _recount(self, found: Stamp | None) -> None:
        if self._shared is not None and found is not None and found.links > 1:
            self._shared.forget()

    def _kept_names(self, inode: Inode) -> int:
        """How many names the store has for a file, of this call and of those before."""
        sets = self._folder.rpartition("/")[0].rpartition("/")[0]
        try:
            numbers = [each for each in os.listdir(sets) if each.isdigit()]
        except OSError:
            return 0
        return sum(os.path.lexists(f"{sets}/{number}/old/{stored(inode)}") for number in numbers)

    def _part(self, path: str, found: Stamp, *, reopened: bool = False) -> bool:
        """Whether the name has a file of its own now, as others have the old one, too. Where it cannot have, that is
        missed."""
        if self._shared is None or found.inode in self.copied or not self._shared.is_elsewhere(path, found):
            return False
        if reopened:
            self.forbid(path, "it has other names elsewhere, and was open already")
            return True
        self._keep(path, found)
        try:
            self._room -= self._shared.part(path, found, min(MOST_COPIED, self._room))
        except OSError as error:
            self.forbid(path, f"it has other names elsewhere, and cannot have a file of its own ({error.strerror})")
        return True

    def _keep(self, path: str, found: Stamp) -> None:
        """Another name for an old file, in the store."""
        self._known[found.inode] = True
        place = f"{self._folder}/{stored(found.inode)}"
        try:
            try:
                self._link_to(path, place)
            except PermissionError:
                with reached(path):
                    self._link_to(path, place)
            now = os.lstat(place)
            if (now.st_dev, now.st_ino) != found.inode:
                os.unlink(place)
                self._fail(path, found, "it was replaced while it was being saved")
                return
        except (FileExistsError, FileNotFoundError):
            return
        except OSError as error:
            if error.errno not in _NO_LINK:
                self._fail(path, found, f"it cannot be saved ({error.strerror})")
            elif found.inode not in self.copied:
                self._copy(path, found)
            return
        self._note(["kept", *found.inode])

    def _link_to(self, path: str, place: str) -> None:
        folder, name = self._last.at(path)  # no link has come to be on the way
        os.link(name, place, src_dir_fd=folder, follow_symlinks=False)

    def _copy(self, path: str, found: Stamp) -> None:
        """The bytes of a file, in the store; the file system's own way first, which copies none."""
        if found.size > min(MOST_COPIED, self._room):
            self._fail(path, found, f"it is too large to be copied ({found.size >> 20} MiB)")
            return
        place = f"{self._folder}/{copied(found.inode)}"
        try:
            with reached(path), at(path) as (folder, name):
                source = os.open(name, _READ, dir_fd=folder)
        except OSError as error:
            self._fail(path, found, f"it cannot be read ({error.strerror})")
            return
        try:
            there = stamp_of(os.fstat(source))
            if there.inode != found.inode:
                self._fail(path, found, "it was replaced while it was being saved")
                return
            to = os.open(place, _NEW, 0o600)
            try:
                _fill(source, to)
            finally:
                os.close(to)
        except OSError as error:
            with suppress(OSError):
                os.unlink(place)
            self._fail(path, found, f"it cannot be saved ({error.strerror})")
            return
        finally:
            os.close(source)
        self.copied.add(found.inode)
        self._room -= there.size
        self._note(["copied", *found.inode, written(there)])


def stored(inode: Inode) -> str:
    """The name in the store that an old file got."""
    return f"kept-{inode[0]:x}-{inode[1]:x}"


def copied(inode: Inode) -> str:
    """The name in the store of a copy."""
    return f"copy-{inode[0]:x}-{inode[1]:x}"


def _fill(source: int, to: int) -> None:
    try:
        fcntl.ioctl(to, _CLONE, source)
        return
    except OSError:  # not on this file system
        pass
    while data := os.read(source, 1 << 20):
        view = memoryview(data)
        while view:
            view = view[os.write(to, view) :]
