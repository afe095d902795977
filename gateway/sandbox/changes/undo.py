"""Names are made what they were: what was planned is written down, and then done so that it can be done again.

Each step looks at what is there and changes one name, by a rename or a link: who is killed between two steps has left
every name as it was or as it is to be, and the next one begins anew and does what is left. What is taken away is moved
aside first, and forgotten with the set.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, suppress

from gateway.core.errors import StoreError
from gateway.core.plainjson import dumps, loads
from gateway.sandbox.changes.beneath import Beneath
from gateway.sandbox.changes.closed_folders import reached
from gateway.sandbox.changes.looking import below, look
from gateway.sandbox.changes.recreated_files import made_again, note_again
from gateway.sandbox.changes.saver import copied, stored
from gateway.sandbox.changes.state import FILE, FOLDER, LINK, PIPE, Stamp, first, is_same, read, written
from gateway.sandbox.changes.store import DRAFT, KEEPING, RUNNING, UNDOING, UNDONE
from gateway.sandbox.changes.stored_bytes import remove_all
from gateway.sandbox.changes.undoing import MISSING, Plan, above_all, planned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.changes.state import Inode
    from gateway.sandbox.changes.store import Before, ChangeSet, Store

_HOLD = ".gateway-undo-"
_DRAFTS = "see `gateway changes`"
_SET_ID = 0o6000


def undo(
    store: Store,
    number: int,
    judged: Callable[[str], str] = lambda _path: "",
    step: Callable[[str], None] = lambda _what: None,
) -> Plan:
    """Takes back what a call changed: what was done, and what was left with the reason. `judged`: why policy forbids
    that a name is changed; `step` is told each step before it is taken. Raises StoreError where nothing was done."""
    with store.locked():
        made = store.checked(number)
        if made.state in (DRAFT, KEEPING):
            raise StoreError(f"the changes {number} are a draft: nothing of them is in the project yet", _DRAFTS)
        if made.state == UNDONE:
            raise StoreError(f"the changes {number} are undone")
        if made.state == RUNNING and store.has_owner(made):
            raise StoreError(f"the call {number} still runs", "wait for its end, or end it")
        plan = _begun(store, made) if made.state == UNDOING else None
        if plan is None:
            plan = planned(store, made, judged)
            _write_plan(store, made, plan)
            made = made.replace(state=UNDOING)
            store.put(made)
        left = _Work(store, made, plan, step).run()
        stays = dict(sorted({**plan.stays, **left}.items()))
        store.put(made.replace(state=UNDONE, partly=len(stays)))
        if not stays:
            remove_all(store.path(number, "old"))  # its names of files are no longer needed
        return plan.replace(
            stays=stays,
            gone=tuple(path for path in plan.gone if path not in left),
            restored=tuple(path for path in plan.restored if path not in left),
        )


def _write_plan(store: Store, made: ChangeSet, plan: Plan) -> None:
    place = store.path(made.number, "undo")
    target = [[path, written(stamp)] for path, stamp in plan.target.items()]
    with open(f"{place}.new", "w", encoding="utf-8") as file:
        file.write(dumps([target, plan.stays, plan.gone, plan.restored]))
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{place}.new", place)


def _begun(store: Store, made: ChangeSet) -> Plan | None:
    try:
        with open(store.path(made.number, "undo"), encoding="utf-8") as file:
            target, stays, gone, restored = loads(file.read())
        return Plan({path: read(stamp) for path, stamp in target}, stays, tuple(gone), tuple(restored))
    except (OSError, ValueError, TypeError):
        return None


class _Work:
    """One undo of one set."""

    def __init__(self, store: Store, made: ChangeSet, plan: Plan, step: Callable[[str], None]) -> None:
        self.store = store
        self.made = made
        self.plan = plan
        self.before: Before = store.before(made.number)
        self.same = made_again(store.folder)
        self.ours = made_again(store.folder, made.id)
        self.others = [each.number for each in store.sets() if each.number != made.number]
        self.left: dict[str, str] = {}
        self.step = step
        self.paths = sorted(plan.target)
        self.held = above_all(plan.stays)
        self.attempt, self.count = os.urandom(4).hex(), 0
        self.hold = ""
        self.tree: Beneath
        self.lying: dict[Inode, str] | None = None

    def run(self) -> dict[str, str]:
        """What could not be done, with the reason."""
        for root, dev, ino in self.made.roots:
            paths = [path for path in self.paths if self._root(path) == root]
            if not paths:
                continue
            with ExitStack() as stack:
                try:
                    self.tree = stack.enter_context(Beneath(root, (dev, ino)))
                except OSError as error:
                    self.left.update((path, f"{error.strerror}") for path in paths)
                    continue
                self.hold = f"{root}/{_HOLD}{self.made.id}"
                with suppress(FileExistsError):
                    os.mkdir(self.hold[len(root) + 1 :], 0o700, dir_fd=self.tree.descriptor)
                self._all(paths)
                self._put_aside()
        return self.left

    def _root(self, path: str) -> str:
        return max((root for root, _dev, _ino in self.made.roots if path.startswith(f"{root}/")), key=len, default="")

    def _all(self, paths: list[str]) -> None:
        target = self.plan.target
        for path in paths:
            if target[path] is not None:
                self.tree.open_up(path)
        for path in paths:
            self._try(path, self._clear)
        self.tree.forget()
        for path in paths:
            if target[path] is not None:
                self._try(path, self._restore)
        for path in reversed(paths):
            self._try(path, self._set_mode)

    def _try(self, path: str, does: Callable[[str, Stamp | None], None]) -> None:
        try:
            with reached(path):
                does(path, self.plan.target[path])
        except OSError as error:
            self.left.setdefault(path, f"{error.strerror or error}")

    # ----------------------------------------------------------------------------------------------- one name

    def _clear(self, path: str, was: Stamp | None) -> None:
        """Moves aside what stands where nothing was, or in the place of another folder."""
        now = self.tree.look(path)
        if now is None or (was is not None and was.kind != FOLDER):
            return
        if was is None or now.kind != FOLDER or not (self._is(now, was) or path in self.held):
            self._aside(path)
        elif path in self.before.moved:
            self._clear_below(path, path)

    def _clear_below(self, path: str, lies: str) -> None:
        """Moves aside all that was not in a folder, but for what stays. `lies`: where the folder is now."""
        for each, _stamp in list(below(lies)):
            name = f"{path}{each[len(lies) :]}"
            with reached(each):
                if self.plan.target.get(name) is not None:
                    self.tree.open_up(each)  # its mode comes last
                elif name not in self.held and name not in self.plan.stays and self.tree.look(each) is not None:
                    self._aside(each)  # else it went with the folder that it lies in

    def _aside(self, path: str) -> None:
        self.step(f"take away {path}")
        self.tree.open_up(path)  # a folder that is closed cannot be moved to another one
        self.tree.rename(path, self._fresh(), replace=False)
        self.tree.forget()
        self.lying = None

    def _restore(self, path: str, was: Stamp | None) -> None:
        assert was is not None
        now = self.tree.look(path)
        if was.kind == FOLDER:
            self._folder(path, was, now)
        elif was.kind == FILE:
            if now is None or now.kind != FILE or not self._is(now, was) or self._is_written(was, now):
                self._put(path, self._source(path, was), now)
        elif now is None or not is_same(was, now, as_it_was=self.same):
            if was.kind not in (LINK, PIPE):
                self.left[path] = f"a {was.kind} cannot be made again"
                return
            spare = self._fresh()
            folder, name = self.tree.at(spare)
            if was.kind == LINK:
                os.symlink(was.target, name, dir_fd=folder)
            else:
                os.mkfifo(name, was.mode & 0o777, dir_fd=folder)
            self._into(spare, path, now)

    def _folder(self, path: str, was: Stamp, now: Stamp | None) -> None:
        if now is not None and now.kind == FOLDER:
            return
        found = self._lying(was) if self.before.moved else ""
        if found:
            with reached(found):
                self.tree.open_up(found)  # its mode comes last
                self._clear_below(path, found)
                self._into(found, path, now)
            self.tree.forget()
            self.lying = None
            return
        spare = self._fresh()
        folder, name = self.tree.at(spare)
        os.mkdir(name, 0o700, dir_fd=folder)
        self._stands_for(spare, was)
        self._into(spare, path, now)
        self.tree.forget()

    def _held_file(self, inode: Inode) -> str:
        return f"{self.hold}/file-{inode[0]:x}-{inode[1]:x}"

    def _twin(self, path: str, spare: str) -> None:
        """A second name of a file, without rights that content does not have."""
        with reached(path):
            (one, name), (other, new) = self.tree.at(path), self.tree.at(spare)
            os.link(name, new, src_dir_fd=one, dst_dir_fd=other, follow_symlinks=False)
        self.tree.strip(spare)

    def _source(self, path: str, was: Stamp) -> str:
        """A name of the old file in the folder for what is held. Raises OSError where it is not kept."""
        inode = was.inode
        spare = self._held_file(inode)
        if self.tree.look(spare) is not None:
            return spare
        stamp = self.before.copied.get(inode)
        copy = self.store.path(self.made.number, "old", copied(inode))
        if stamp is None:
            kept = self.store.path(self.made.number, "old", stored(inode))
            there = look(kept)
            later = self._copied_later(inode) if there is not None else ""
            if later:
                stamp, copy = was, later
            elif there is not None and _is_unwritten(there, was):
                if self._is_linked(kept, spare):
                    return spare
                stamp, copy = was, kept
            found = "" if stamp is not None else self._lying(was)
            if found:
                self._twin(found, spare)
                return spare
        if stamp is None or not os.path.exists(copy):
            raise OSError(errno.ENOENT, MISSING, path)
        making = self._fresh()
        folder, name = self.tree.at(making)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        to = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            _fill(copy, to)
            os.fchmod(to, stamp.mode & ~_SET_ID)
            os.utime(to, ns=(stamp.mtime_ns, stamp.mtime_ns))
        finally:
            os.close(to)
        self._stands_for(making, was)
        self._keep_for_others(making, inode)
        self.tree.rename(making, spare, replace=False)
        return spare

    def _is_linked(self, kept: str, spare: str) -> bool:
        """Gives what the store has another name, unless it has come to be somebody else's: then its bytes do."""
        folder, name = self.tree.at(spare)
        try:
            os.link(kept, name, dst_dir_fd=folder, follow_symlinks=False)
        except PermissionError:
            return False
        self.tree.strip(spare)
        return True

    def _copied_later(self, inode: Inode) -> str:
        """The copy that the next call made of a file before it wrote it, by another name that it had: what is kept here
        by a name has been written with it, whatever its size and time say. "" where none did."""
        copies = (self.store.path(number, "old", copied(inode)) for number in self.others if number > self.made.number)
        return next((each for each in copies if os.path.exists(each)), "")

    def _keep_for_others(self, path: str, inode: Inode) -> None:
        """What older calls kept of this file by a second name was written with it: they keep what was made again."""
        for number in self.others:
            kept = self.store.path(number, "old", stored(inode))
            if os.path.lexists(kept):
                folder, name = self.tree.at(path)
                with suppress(OSError):
                    os.link(name, f"{kept}.new", src_dir_fd=folder, follow_symlinks=False)
                    os.replace(f"{kept}.new", kept)

    def _put(self, path: str, source: str, now: Stamp | None) -> None:
        (one, name), (other, new) = self.tree.at(source), self.tree.at(path)
        if now is None:
            self.step(f"bring back {path}")
            os.link(name, new, src_dir_fd=one, dst_dir_fd=other, follow_symlinks=False)
            return
        spare = self._fresh()
        folder, twin = self.tree.at(spare)
        os.link(name, twin, src_dir_fd=one, dst_dir_fd=folder, follow_symlinks=False)
        self._into(spare, path, now)

    def _into(self, spare: str, path: str, now: Stamp | None) -> None:
        """Gives a name what was made aside, in one step. What stood there lies aside then."""
        self.step(f"bring back {path}")
        if now is None:
            self.tree.rename(spare, path, replace=False)
        else:
            self.tree.rename(spare, path, exchange=True)
            if now.kind == FOLDER:
                self.tree.forget()
                self.lying = None

    def _set_mode(self, path: str, was: Stamp | None) -> None:
        if was is None or was.kind == LINK:
            return
        now = self.tree.look(path)
        if now is not None and now.kind == was.kind and (now.mode ^ was.mode) & ~_SET_ID:
            kept = now.mode & _SET_ID if now.kind == FOLDER else 0
            self.step(f"give back the mode of {path}")
            self.tree.set_mode(path, was.mode & ~_SET_ID | kept)

    # ------------------------------------------------------------------------------------------------ what is what

    def _is(self, now: Stamp, was: Stamp) -> bool:
        return first(now.inode, self.same) == first(was.inode, self.same)

    def _is_written(self, was: Stamp, now: Stamp) -> bool:
        """Whether a file was written in place, so that a copy has to take its place."""
        return was.inode in self.before.copied and now.inode not in self.ours

    def _stands_for(self, path: str, was: Stamp) -> None:
        now = self.tree.look(path)
        assert now is not None
        note_again(self.store.folder, now.inode, was.inode, self.made.id)
        self.same[now.inode] = self.ours[now.inode] = was.inode

    def _lying(self, was: Stamp) -> str:
        """Where an old file or folder lies by now, of all that was moved aside."""
        if self.lying is None:
            self.lying = {first(stamp.inode, self.same): path for path, stamp in below(self.hold)}
        found = self.lying.get(first(was.inode, self.same), "")
        there = look(found) if found else None
        return found if there is not None and there.kind == was.kind else ""

    def _fresh(self) -> str:
        """A name aside that nobody has used, in this attempt or one before."""
        self.count += 1
        return f"{self.hold}/aside-{self.attempt}-{self.count:x}"

    def _put_aside(self) -> None:
        """What was taken away leaves the project: to the set, or for good where that is another file system."""
        to = self.store.path(self.made.number, "taken")
        name = self.hold[len(self.tree.root) + 1 :]
        self.step("put aside what was taken away")
        folder = self.tree.at(f"{self.hold}/x")[0]
        for each in os.listdir(self.hold):
            if each.startswith("file-"):
                os.unlink(each, dir_fd=folder)
        try:
            os.makedirs(to, 0o700, exist_ok=True)
            os.rename(name, os.path.join(to, f"{self.made.id}-{os.urandom(4).hex()}"), src_dir_fd=self.tree.descriptor)
        except OSError:
            remove_all(self.hold)


def _is_unwritten(now: Stamp, was: Stamp) -> bool:
    return (now.kind, now.size, now.mtime_ns) == (was.kind, was.size, was.mtime_ns)


def _fill(source: str, to: int) -> None:
    with open(source, "rb") as file:
        while data := file.read(1 << 20):
            view = memoryview(data)
            while view:
                view = view[os.write(to, view) :]
