"""What a call changed in a layer of its own becomes the person's: what is to be done is written down, and then done so
that it can be done again.

Each step gives one name what lies in the layer, by a rename or an exchange that moves no byte: who is killed between
two steps has left every name as it was or as it is to be, and the next one begins anew and does what is left. What was
there is saved first, as that of any call, so that all of it can be undone.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, suppress

from gateway.core.errors import StoreError
from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value
from gateway.sandbox.changes.area import Area
from gateway.sandbox.changes.beneath import Beneath
from gateway.sandbox.changes.drafted import ONE_UNIT, Drafted, drafted
from gateway.sandbox.changes.layer import Node, opened_up
from gateway.sandbox.changes.layer_extraction import SET_ID, clean, copy_to, folders_above, forget
from gateway.sandbox.changes.leaving import finish, git_of
from gateway.sandbox.changes.saver import Saver
from gateway.sandbox.changes.state import FOLDER, LINK
from gateway.sandbox.changes.store import DRAFT, KEEPING, Writing
from gateway.sandbox.changes.stored_bytes import remove_all
from gateway.sandbox.drafts import set_aside
from gateway.sandbox.joining import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

    from gateway.sandbox.changes.state import Stamp
    from gateway.sandbox.changes.store import ChangeSet, Store

_HOLD = ".gateway-keep-"
_PLACE, _DELETE, _MODE, _FOLDER = "place", "delete", "mode", "folder"


class Kept(Value):
    """What has become of it. `kept`: how many names; `stays`: those that are as they were, with the reason."""

    kept: int
    stays: dict[str, str]


def keep(
    store: Store,
    number: int,
    judged: Callable[[str], str] = lambda _path: "",
    only: Collection[str] | None = None,
    *,
    rest: bool = False,
    step: Callable[[str], None] = lambda _what: None,
) -> Kept:
    """Makes what a call changed in its layers the person's. `only`: these names, with what lies in them; `rest`: what
    is in no conflict, where something is; `step` is told each step before it is taken. Raises StoreError where nothing
    was done: also where something is in conflict, unless `rest`."""
    with store.locked():
        made = store.checked(number)
        if made.state not in (DRAFT, KEEPING):
            raise StoreError(f"the changes {number} are no draft", "see `gateway changes`")
        if made.state == KEEPING:
            steps, stays = _begun(store, made)
        else:
            found = drafted(store, number, judged)
            stays = dict(found.never)
            wanted = {each.path for each in found.all() if _is_among(each.path, only)}
            against = {path: why for path, why in found.conflicts.items() if path in wanted and path not in stays}
            if against and not rest:
                path, why = next(iter(against.items()))
                raise StoreError(f"nothing is kept: `{path}`: {why}", "keep the rest, or discard all")
            stays.update(against)
            wanted -= stays.keys()
            _only_whole_units(found, wanted, stays)
            steps = []
            for target, nodes in found.nodes:
                for node in nodes:
                    steps += [[target, *each] for each in _steps(node, wanted)]
            _write_steps(store, made, steps, stays)
            made = made.replace(state=KEEPING, owner=store.ours())
            store.put(made)
        work = _Work(store, made, step)
        try:
            work.run(steps)
        finally:
            work.close()
        stays |= work.left
    join(store.path(number, "draft"))
    finish(store, made)
    draft = store.path(number, "draft")
    with suppress(OSError):
        if only is None and not stays:
            set_aside(draft, store.folder)  # only folders are left of it
    remove_all(draft)
    return Kept(work.kept, dict(sorted(stays.items())))


def discard(store: Store, number: int, *, is_empty: bool = False) -> None:
    """Forgets what a call changed in its layers. `is_empty`: nothing lies in them, as its own gateway knows. Raises
    StoreError where it is none, or is being kept."""
    with store.locked():
        if not is_empty and store.checked(number).state != DRAFT:
            raise StoreError(f"the changes {number} are no draft")
        store.remove(number, spares=is_empty)


def _is_among(path: str, only: Collection[str] | None) -> bool:
    return only is None or any(f"{path}/".startswith(f"{each}/") for each in only)


def _only_whole_units(found: Drafted, wanted: set[str], stays: dict[str, str]) -> None:
    """A choice that takes a part of a repository's own folder takes none of it."""
    units: dict[str, list[str]] = {}
    for each in found.all():
        git = git_of(each.path)
        if git:
            units.setdefault(git, []).append(each.path)
    for paths in units.values():
        chosen = wanted.intersection(paths)
        if chosen and len(chosen) < len(paths):
            wanted -= chosen
            stays.update((path, stays.get(path, ONE_UNIT)) for path in chosen)


def _steps(node: Node, wanted: Collection[str]) -> Iterator[list[Any]]:
    """What gives a name, and all below it, what is wanted of it: whole where all of it is."""
    was, now = node.was, node.now
    inode = list(was.inode) if was is not None else None
    if node.stays_folder:
        for each in node.below:
            yield from _steps(each, wanted)
        if node.is_change and node.path in wanted and now is not None:
            yield [_MODE, node.path, now.mode, inode]
        return
    if all(each.path in wanted for each in node.all() if each.is_change):
        if now is None:
            yield [_DELETE, node.path, inode]
        elif was is not None and was.mode != now.mode and node.says_the_same:
            yield [_MODE, node.path, now.mode, inode]
        else:
            yield [_PLACE, node.path, node.place, list(now.inode), inode]
            if now.kind == FOLDER and now.mode & 0o700 != 0o700:
                yield [_MODE, node.path, now.mode, None]  # its owner moves no folder that is closed to them
        return
    if now is not None and now.kind == FOLDER and node.path in wanted:
        if was is not None:
            yield [_DELETE, node.path, inode]
        yield [_FOLDER, node.path]
        for each in node.below:
            yield from _steps(each, wanted)
        yield [_MODE, node.path, now.mode, None]
    elif now is None and was is not None and was.kind == FOLDER:
        for each in node.below:
            yield from _steps(each, wanted)


def _write_steps(store: Store, made: ChangeSet, steps: list[list[Any]], stays: dict[str, str]) -> None:
    place = store.path(made.number, "keep")
    with open(f"{place}.new", "w", encoding="utf-8") as file:
        file.write(dumps([steps, stays]))
    os.replace(f"{place}.new", place)


def _begun(store: Store, made: ChangeSet) -> tuple[list[list[Any]], dict[str, str]]:
    try:
        with open(store.path(made.number, "keep"), encoding="utf-8") as file:
            steps, stays = loads(file.read())
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"what was begun to be kept of {made.number} cannot be read") from error
    return steps, stays


class _Work:
    """One keeping of one draft."""

    def __init__(self, store: Store, made: ChangeSet, step: Callable[[str], None]) -> None:
        self.store = store
        self.made = made
        self.step = step
        self.left: dict[str, str] = {}
        self.kept = 0
        self.writing = Writing(store, made, store.room())
        area = Area([root for root, _dev, _ino in made.roots])
        self.saver = Saver(area, self.writing.old, self.writing.journal.note, self.writing.room)
        self.saver.resume(store.before(made.number))
        self.count = 0
        self.hold = ""
        self.tree: Beneath

    def close(self) -> None:
        self.writing.journal.close()

    def run(self, steps: list[list[Any]]) -> None:
        """Does what is left of it."""
        expected = {root: (dev, ino) for root, dev, ino in self.made.roots}
        for target in dict.fromkeys(each[0] for each in steps):
            mine = [each[1:] for each in steps if each[0] == target]
            with ExitStack() as stack:
                try:
                    self.tree = stack.enter_context(Beneath(target, expected.get(target)))
                except OSError as error:
                    self.left.update((each[1], f"{error.strerror}") for each in mine)
                    continue
                self.hold = f"{target}/{_HOLD}{self.made.id}"
                with suppress(FileExistsError):
                    os.mkdir(self.hold[len(target) + 1 :], 0o700, dir_fd=self.tree.descriptor)
                try:
                    for what, path, *how in mine:
                        self._try(what, path, how)
                finally:
                    self.tree.forget()
                    self._put_aside(target)

    def _put_aside(self, target: str) -> None:
        """What was taken away leaves the project."""
        to = self.store.path(self.made.number, "taken")
        try:
            os.rename(self.hold[len(target) + 1 :], to, src_dir_fd=self.tree.descriptor)
        except OSError:
            remove_all(self.hold)
        remove_all(to)

    def _try(self, what: str, path: str, how: list[Any]) -> None:
        missed = len(self.saver.missed)
        try:
            done = getattr(self, f"_{what}")(path, *how)
        except OSError as error:
            self.left.setdefault(path, f"{error.strerror or error}")
            return
        if len(self.saver.missed) > missed:
            self.left.setdefault(path, list(self.saver.missed.values())[-1])
        elif done:
            self.kept += 1

    def _can_undo(self, path: str) -> bool:
        """Whether what stands under a name is saved, with all below it."""
        missed = len(self.saver.missed)
        self.saver.tree(path)
        return len(self.saver.missed) == missed

    def _place(self, path: str, place: str, inode: list[int], was: list[int] | None) -> bool:
        """What lies in the layer comes to its name, and what stood there goes."""
        with ExitStack() as stack:
            try:
                for folder in folders_above(place, self.store.path(self.made.number, "draft")):
                    stack.enter_context(opened_up(folder))
                found = os.lstat(place)
            except FileNotFoundError:
                return False  # it has come there
            return self._placed(path, place, found, inode, was)

    def _placed(self, path: str, place: str, found: os.stat_result, inode: list[int], was: list[int] | None) -> bool:
        if [found.st_dev, found.st_ino] != inode:
            return False  # what it has taken the place of
        now = self.tree.look(path)
        if (None if now is None else list(now.inode)) != was:
            raise OSError(errno.ESTALE, "it was changed by somebody else meanwhile", path)
        if not self._can_undo(path):
            return False
        clean(place)
        if now is not None and now.kind == FOLDER:
            self.tree.open_up(path)
        if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o700 != 0o700:
            os.chmod(place, stat.S_IMODE(found.st_mode) & ~SET_ID | 0o700)
        above, _slash, name = place.rpartition("/")
        with ExitStack() as stack:
            try:
                source = os.open(above, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                stack.callback(os.close, source)
                self.step(f"keep {path}")
                self._swap(source, name, path, now)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                spare = self._fresh()
                folder, copy = self.tree.at(spare)
                copy_to(place, folder, copy, {})
                self.step(f"keep a copy at {path}")
                self._swap(folder, copy, path, now)
                forget(place)
        self.tree.forget()
        return True

    def _swap(self, source: int, name: str, path: str, now: Stamp | None) -> None:
        """One name for another, in one step; what comes back must be what was looked at."""
        folder, there = self.tree.at(path)
        self.tree.between(source, name, folder, there, exchange=now is not None)
        if now is not None:
            back = os.stat(name, dir_fd=source, follow_symlinks=False)
            if (back.st_dev, back.st_ino) != now.inode:
                self.tree.between(source, name, folder, there, exchange=True)
                raise OSError(errno.ESTALE, "it was changed by somebody else meanwhile", path)

    def _delete(self, path: str, was: list[int]) -> bool:
        now = self.tree.look(path)
        if now is None:
            return False
        if list(now.inode) != was:
            raise OSError(errno.ESTALE, "it was changed by somebody else meanwhile", path)
        if not self._can_undo(path):
            return False
        self.step(f"remove {path}")
        self.tree.open_up(path)
        spare = self._fresh()
        self.tree.rename(path, spare, replace=False)
        self.tree.forget()
        gone = self.tree.look(spare)
        if gone is None or list(gone.inode) != was:
            self.tree.rename(spare, path, replace=False)
            raise OSError(errno.ESTALE, "it was changed by somebody else meanwhile", path)
        return True

    def _mode(self, path: str, mode: int, was: list[int] | None) -> bool:
        now = self.tree.look(path)
        if now is None or now.kind == LINK or (was is not None and list(now.inode) != was):
            return False
        self.saver.mode(path)
        self.step(f"set the mode of {path}")
        kept = now.mode & SET_ID if now.kind == FOLDER else 0
        self.tree.set_mode(path, mode & ~SET_ID | kept)
        return True

    def _folder(self, path: str) -> bool:
        if self.tree.look(path) is not None:
            return False
        self.saver.name(path)
        self.step(f"make {path}")
        folder, name = self.tree.at(path)
        os.mkdir(name, 0o700, dir_fd=folder)
        return True

    def _fresh(self) -> str:
        self.count += 1
        return f"{self.hold}/aside-{os.urandom(4).hex()}-{self.count:x}"
