"""The store of saved changes: a folder for each project in the state folder, and in it one for each call.

    changes/lock            held while something is made, undone or removed
    changes/again           of files that were made again: what they stand for
    changes/NUMBER/set      what the call was, and what has become of its changes
    changes/NUMBER/before   one line for each name that it touched, written before it was
    changes/NUMBER/after    what it left, written when it had ended
    changes/NUMBER/old/     old files, by a second name or as a copy
    changes/NUMBER/taken/   what undoing took away
    changes/NUMBER/draft/   the layers that a call wrote instead of the project, until somebody has decided about them
    changes/spare/          the layers of a call that changed nothing, for the next one
    changes/NAME.gone       what nobody needs any more, until somebody has time to remove it

Private to this user. What is older than a day and whose gateway has ended makes room for what is new; nothing else is
removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import contextmanager, suppress

from gateway.core import processes
from gateway.core.errors import StoreError
from gateway.core.plainjson import decoder, encoder
from gateway.core.value import Value
from gateway.sandbox.changes.journal import Journal
from gateway.sandbox.changes.state import read, written
from gateway.sandbox.changes.stored_bytes import clear, remove_all
from gateway.sandbox.drafts import GONE, SPARE, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.sandbox.changes.area import Area
    from gateway.sandbox.changes.state import Inode, Stamp

FOLDER = "changes"
MOST_BYTES = 4 << 30
MOST_DAYS = 7
YOUNG = 24 * 3600.0  # seconds in which nothing is removed to make room
RUNNING, KEPT, UNDOING, UNDONE = "running", "kept", "undoing", "undone"
DRAFT, KEEPING = "draft", "keeping"
_FREE = 256 << 20  # bytes that stay free on the disk
_encode = encoder(between=",", after_key=":")
_decode = decoder()


class ChangeSet(Value):
    """What one call changed. `number`: its place among those of the project; `state`: running, draft, keeping, kept,
    undoing or undone; `roots`: folders that were saved, each with device and inode; `owner`: process and start time of
    the gateway that runs it, zeros for nobody's; `key`: by which the call of somebody else's tool is known again;
    `bytes`: kept here and nowhere else; `partly`: how many names undoing left as they were; `named`: what the call said
    beforehand that it writes; `later`: what runs later of all the rest that it changed, from the project's root;
    `began`: of a draft, nanoseconds since the epoch from which on what changed below was changed by somebody else;
    `again`: the same for each further call that went on in it."""

    number: int
    id: str
    call: str
    tool: str
    session: str
    project: str
    time: float
    state: str
    roots: tuple[tuple[str, int, int], ...]
    owner: tuple[int, int]
    key: str = ""
    bytes: int = 0
    partly: int = 0
    named: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    began: int = 0
    again: tuple[int, ...] = ()


class Before(Value):
    """The journal of a call. `was`: what stood under each name; `copied`: of each file that was copied how it was;
    `moved`: names that a folder has come to; `missed`: what was not saved, with the reason."""

    was: dict[str, Stamp | None]
    copied: dict[Inode, Stamp]
    kept: frozenset[Inode]
    moved: frozenset[str]
    missed: dict[str, str]


class Store:
    """The changes of one project. `folder`: the project's in the state folder. Safe to use from several processes."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, FOLDER)

    def begin(
        self, call: str, tool: str, session: str, project: str, area: Area, key: str = "", named: Iterable[str] = ()
    ) -> Writing:
        """A new set, empty. Raises StoreError where there can be none."""
        try:
            return Writing(self, *self._begun(call, tool, session, project, area, key, tuple(named), drafts=False))
        except OSError as error:
            raise self._cannot(error) from error

    def begin_draft(
        self, call: str, tool: str, session: str, project: str, area: Area, named: Iterable[str] = ()
    ) -> ChangeSet:
        """The same of a call that writes to layers of its own, of which nothing is saved before it is kept."""
        try:
            return self._begun(call, tool, session, project, area, "", tuple(named), drafts=True)[0]
        except OSError as error:
            raise self._cannot(error) from error

    def _begun(
        self, call: str, tool: str, session: str, project: str, area: Area, key: str, named: tuple[str, ...], *,
        drafts: bool,
    ) -> tuple[ChangeSet, int]:  # fmt: skip
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with self.locked():
            room = self._make_room()
            names = os.listdir(self.folder)
            if len([name for name in names if name.endswith(GONE)]) >= _MOST_GONE:
                clear(self.folder)
            number = max(map(int, filter(str.isdigit, names)), default=0) + 1
            os.mkdir(self.path(number), 0o700)
            made = ChangeSet(
                number, os.urandom(6).hex(), call[:500], tool[:100], session=session[:200], project=project,
                time=time.time(), state=RUNNING, roots=self.roots_of(area), owner=self.ours(), key=key, named=named,
                began=self.moment(number) if drafts else 0,
            )  # fmt: skip
            self.put(made)
        return made, room

    def _cannot(self, error: OSError) -> StoreError:
        return StoreError(f"changes cannot be saved in {self.folder} ({error.strerror})")

    def moment(self, number: int) -> int:
        """Now, in nanoseconds since the epoch, by the clock of the disk: what is changed from here on is changed then
        or later. Raises OSError."""
        place = self.path(number)
        os.utime(place)
        return os.stat(place).st_ctime_ns

    @staticmethod
    def roots_of(area: Area) -> tuple[tuple[str, int, int], ...]:
        """The folders that are saved, as a set names them. Raises OSError."""
        return tuple([(root, found.st_dev, found.st_ino) for root in area.roots for found in [os.stat(root)]])

    def full(self) -> str:
        """Why nothing more can be saved, "" while there is room. Raises nothing."""
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with self.locked():
                room = self._make_room()
        except (OSError, StoreError) as error:
            return f"changes cannot be saved: {error}"
        return "" if room else f"there is no room to save changes in {self.folder}"

    def room(self) -> int:
        """Bytes that may be saved. Only while it is locked."""
        return self._make_room()

    @staticmethod
    def ours() -> tuple[int, int]:
        """What names this gateway as the owner of a set."""
        return os.getpid(), processes.started(os.getpid())

    def layers(self, number: int) -> list[tuple[str, str]]:
        """Of a draft, what was changed over which folder. Raises StoreError."""
        from gateway.sandbox.drafts import layers_in

        try:
            return layers_in(self.path(number, "draft"))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"the draft {number} cannot be read", "discard it") from error

    def sets(self) -> list[ChangeSet]:
        """Those there are, the oldest first."""
        found = (self._read(number) for number in sorted(self._numbers()))
        return [each for each in found if each is not None]

    def waiting(self) -> list[ChangeSet]:
        """The latest of those whose call has not been told to have ended."""
        found = (self._read(number) for number in sorted(self._numbers())[-_MOST_WAITING:])
        return [each for each in found if each is not None and each.state == RUNNING]

    def get(self, number: int) -> ChangeSet | None:
        """The one of this number, None where there is none."""
        return self._read(number)

    def checked(self, number: int) -> ChangeSet:
        """The same. Raises StoreError where there is none."""
        found = self._read(number)
        if found is None:
            raise StoreError(f"there are no changes {number}", "see `gateway changes`")
        return found

    def path(self, number: int, *names: str) -> str:
        """Where something of a set lies."""
        return os.path.join(self.folder, str(number), *names)

    def put(self, made: ChangeSet) -> None:
        """Writes down what a set is, at once and whole."""
        place = self.path(made.number, "set")
        with open(f"{place}.new", "w", encoding="utf-8") as file:
            file.write(_encode(made.as_dict()))
        os.replace(f"{place}.new", place)

    def remove(self, number: int, *, spares: bool = False) -> None:
        """Forgets a set, with all that it keeps. `spares`: its layers, which are empty, serve the next one."""
        place = self.path(number)
        with suppress(OSError):
            if spares:
                with suppress(OSError):  # there is one
                    os.rename(f"{place}/draft", os.path.join(self.folder, SPARE))
                set_aside(place, self.folder)
                return
            os.replace(place, f"{place}{GONE}")  # so that no half of it is ever read
            place = f"{place}{GONE}"
        remove_all(place)

    def before(self, number: int) -> Before:
        """The journal of a set. Raises StoreError where it cannot be read."""
        was: dict[str, Stamp | None] = {}
        copied: dict[Inode, Stamp] = {}
        kept: set[Inode] = set()
        moved: set[str] = set()
        missed: dict[str, str] = {}
        try:
            for line in self._lines(number, "before"):
                if line[0] == "was":
                    was.setdefault(line[1], read(line[2]))
                elif line[0] == "kept":
                    kept.add((line[1], line[2]))
                elif line[0] == "copied":
                    stamp = read(line[3])
                    if stamp is not None:
                        copied[(line[1], line[2])] = stamp
                elif line[0] == "moved":
                    moved.add(line[1])
                else:
                    missed[line[1]] = line[2]
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise StoreError(f"the changes {number} cannot be read", "they cannot be undone") from error
        return Before(was, copied, frozenset(kept), frozenset(moved), missed=missed)

    def after(self, number: int) -> dict[str, Stamp | None] | None:
        """What the call left under each name it touched, None while nobody has looked. Raises StoreError."""
        if not os.path.exists(self.path(number, "after")):
            return None
        try:
            return {line[0]: read(line[1]) for line in self._lines(number, "after")}
        except (ValueError, TypeError, IndexError) as error:
            raise StoreError(f"the changes {number} cannot be read", "they cannot be undone") from error

    def put_after(self, number: int, after: dict[str, Stamp | None]) -> None:
        """Writes down what a call left."""
        place = self.path(number, "after")
        with open(f"{place}.new", "w", encoding="utf-8") as file:
            file.writelines(f"{_encode([path, written(stamp)])}\n" for path, stamp in after.items())
        os.replace(f"{place}.new", place)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else makes, undoes or removes anything meanwhile. Raises StoreError where others do, for long."""
        try:
            descriptor = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError("no changes of this project are kept", "see `gateway changes`") from error
        try:
            until = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise StoreError("somebody else changes or undoes something in this project", _LATER) from None
                time.sleep(0.005)
            yield
        finally:
            os.close(descriptor)

    def is_running(self, each: ChangeSet) -> bool:
        """Whether its call may still run."""
        return each.state == RUNNING and self.has_owner(each)

    def has_owner(self, each: ChangeSet) -> bool:
        """Whether the gateway that made it lives."""
        pid, started = each.owner
        return pid > 0 and processes.started(pid) == started

    def _lines(self, number: int, name: str) -> Iterable[Any]:
        try:
            with open(self.path(number, name), encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):  # else it was cut off, and what it would have told never happened
                        yield _decode(line)
        except FileNotFoundError:
            return

    def _numbers(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self.folder) if name.isdigit()]
        except FileNotFoundError:
            return []

    def _read(self, number: int) -> ChangeSet | None:
        try:
            with open(self.path(number, "set"), encoding="utf-8") as file:
                told = _decode(file.read())
            roots = tuple((path, dev, ino) for path, dev, ino in told.pop("roots"))
            lists = {name: tuple(told.get(name, ())) for name in ("owner", "named", "later", "again")}
            return ChangeSet(**told | {"roots": roots, **lists})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def grown(self, size: int) -> None:
        """So many bytes more are kept. Only while it is locked."""
        with suppress(OSError, ValueError, TypeError):
            looked, used = self._room()
            self._put_room(looked, used + size)

    def _room(self) -> tuple[float, int]:
        """When somebody last looked for what may go, and the bytes that are kept."""
        with open(os.path.join(self.folder, "room"), encoding="utf-8") as file:
            looked, used = _decode(file.read())
        return float(looked), int(used)

    def _put_room(self, looked: float, used: int) -> None:
        place = os.path.join(self.folder, "room")
        with open(f"{place}.new", "w", encoding="utf-8") as file:
            file.write(_encode([looked, used]))
        os.replace(f"{place}.new", place)

    def _make_room(self) -> int:
        """Removes what has had its time: how many bytes may be kept now."""
        free = shutil.disk_usage(self.folder).free - _FREE
        now = time.time()
        try:
            looked, used = self._room()
        except (OSError, ValueError, TypeError):
            looked, used = 0.0, 0
        if not 0 <= now - looked < _LOOKS or used > MOST_BYTES // 2 or free <= 0:
            used, free = self._clear(now, free)
            self._put_room(now, used)
        return max(0, min(MOST_BYTES - used, free))

    def _clear(self, now: float, free: int) -> tuple[int, int]:
        """The bytes that are still kept, and those that are free."""
        clear(self.folder)
        kept = []
        for number in sorted(self._numbers()):
            each = self._read(number)
            if each is None or (now - each.time > MOST_DAYS * 24 * 3600.0 and not self.has_owner(each)):
                self.remove(number)
            else:
                kept.append(each)
        used = sum(each.bytes for each in kept)
        for each in kept:
            if used <= MOST_BYTES // 2 and free > 0:
                break
            if now - each.time > YOUNG and not self.has_owner(each):
                self.remove(each.number)
                used, free = used - each.bytes, free + each.bytes
        return used, free


class Writing:
    """One set that is being written. `room`: bytes that it may copy; `journal`: of what it changes."""

    def __init__(self, store: Store, made: ChangeSet, room: int) -> None:
        self.store = store
        self.made = made
        self.room = room
        self.old = store.path(made.number, "old")
        os.makedirs(self.old, mode=0o700, exist_ok=True)
        self.journal = Journal(store.path(made.number, "before"))


_PATIENCE = 10.0
_MOST_WAITING = 50
_MOST_GONE = 16  # of which the folder is not cleared yet
_LOOKS = 600.0  # seconds between two looks for what may go
_LATER = "try again when it has ended"
