"""What the confined calls of one session share: a temporary folder, and a loopback.

A session's room has a name, which says by whom it is used: a process, with which it ends, or a client by its own name
for the session, whose room goes a day after it was last used. A call without a session has no room: its folders are
memory, its loopback is its own, both gone with it. No two sessions have one room, and none sees another's.

    STATE/rooms/NAME/use       locked by each call while it runs, shared with the others; alone by whoever ends the room
    STATE/rooms/NAME/place     where its folders lie, `tmp` and `var-tmp`: below the system's temporary folder
    STATE/rooms/NAME/names     what the client's own tools wrote in the real temporary folder: it is there inside, too
    STATE/rooms/NAME/holder    the process that holds its loopback (`gateway.sandbox.launched.holder`)
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from contextlib import contextmanager, suppress
from posixpath import dirname

from gateway.core.room_names import has_gone, of_process
from gateway.core.temporary import reserved
from gateway.model.plan import HIDDEN, SandboxPlan
from gateway.sandbox.base import SandboxError
from gateway.sandbox.launched.leftovers import remove
from gateway.sandbox.mount_points import kind_of, link, make, opened, opened_below
from gateway.sandbox.persistent_folders import ONCE, SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = "gateway-room-"
MOST_NAMES = 1_000
_PENDING, _GIVEN = "pending-", "given"
_KEPT = 24 * 3600.0
_LOOKS = 3
_OPENED = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

_lock = threading.Lock()
_swept: set[str] = set()


# ------------------------------------------------------------------------------------- while a call uses its room


@contextmanager
def entered(plan: SandboxPlan) -> Iterator[SandboxPlan]:
    """The plan of a call in its session's room, for as long as it runs: with the folders that are there. Raises
    SandboxError where there can be none."""
    room = dirname(plan.shared[0][1]) if plan.shared else plan.loopback
    rooms, _slash, name = room.rpartition("/")
    once = name == ONCE
    if once:
        name = of_process(os.getpid(), anew=True)
        room = f"{rooms}/{name}"
    lock = -1
    try:
        try:
            sweep(rooms)
            lock = _used(room)
            found = _furnished(plan, room) if plan.shared else plan
        except OSError as error:
            raise SandboxError(f"the session's temporary folder cannot be used: {error}") from error
        yield found
        for path in plan.given:
            _hand_over(path, dict(found.shared), room)
    finally:
        if lock >= 0:
            os.close(lock)
        if once:
            with suppress(OSError):
                end(rooms, name)


def _hand_over(path: str, shared: dict[str, str], room: str) -> None:
    """Moves what a call wrote under a name that it was granted to where that is the host's, if nothing is there. From
    then on it is what the session has under this name as well."""
    folder = next((each for each in shared if _within(path, each)), "")
    if not folder:
        return
    with suppress(OSError), opened(shared[folder]) as top, opened(folder) as real:
        name = path[len(folder) + 1 :]
        found = kind_of(top, name)
        if "/" in name or kind_of(real, name):
            return
        if stat.S_ISREG(found):
            os.link(name, name, src_dir_fd=top, dst_dir_fd=real, follow_symlinks=False)
            os.unlink(name, dir_fd=top)
        elif stat.S_ISDIR(found):
            os.rename(name, name, src_dir_fd=top, dst_dir_fd=real)
        if found:
            with alone_in(room):
                _keep(room, "names", {path: _GIVEN})


def furnished(rooms: str, name: str, outside: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The folders of a room, made if they are not there, for tools that use them outside of the sandbox. `outside`:
    trees that commands may write. Raises OSError."""
    room = f"{rooms}/{name}"
    lock = _used(room)
    try:
        with alone_in(room):
            place = _place(room, outside)
    finally:
        os.close(lock)
    return tuple((path, f"{place}/{folder}") for path, folder in SHARED)


def _used(room: str) -> int:
    """A lock on a room that is there, shared with other calls."""
    while True:
        os.makedirs(room, mode=0o700, exist_ok=True)
        lock = os.open(f"{room}/use", _OPENED, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(f"{room}/use")):
                os.utime(lock)
                return lock
        os.close(lock)  # somebody has ended the room meanwhile


@contextmanager
def alone_in(room: str) -> Iterator[None]:
    """Nobody else makes anything of the room meanwhile."""
    lock = os.open(f"{room}/make", _OPENED, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _furnished(plan: SandboxPlan, room: str) -> SandboxPlan:
    with alone_in(room):
        place = _place(room, [mount.path for mount in plan.mounts if mount.folder and mount.access != HIDDEN])
        kept = {path: f"{place}/{os.path.basename(folder)}" for path, folder in plan.shared}
        for path, folder in kept.items():
            _tidy(path, folder, room)
            with opened(folder) as top:
                for point, is_folder in _points(plan, path):
                    make(top, point, is_folder, place)
                for name, target in plan.links:
                    if _within(name, path):
                        link(top, name[len(path) + 1 :], target, place)
        links = tuple(each for each in plan.links if not any(_within(each[0], path) for path in kept))
    return plan.replace(shared=tuple(kept.items()), links=links)


def _place(room: str, outside: Iterable[str]) -> str:
    """Where its folders lie, made where they are not there."""
    known = _read(f"{room}/place")
    if not (known and _is_ours(known)):
        known = reserved(PREFIX, outside)
        os.mkdir(known, 0o700)
        with open(f"{room}/place", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(known)
    for _path, name in SHARED:
        if not os.path.isdir(f"{known}/{name}"):
            os.mkdir(f"{known}/{name}")
            os.chmod(f"{known}/{name}", 0o1777)
    return known


def _is_ours(place: str) -> bool:
    """Whether it is there still, and nobody but this user can look into it."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _points(plan: SandboxPlan, folder: str) -> list[tuple[str, bool]]:
    """What has to be in a shared folder for something to be mounted on it, or the command to start there: each below
    it, and whether it is a folder."""
    shown = {mount.path: mount.folder for mount in plan.mounts}
    shown |= dict.fromkeys(plan.private, True)
    wanted = [(path, is_folder) for path, is_folder in shown.items() if _nearest(path, shown) == folder]
    if plan.cwd not in shown and _nearest(plan.cwd, shown) == folder:
        wanted.append((plan.cwd, True))
    return [(path[len(folder) + 1 :], is_folder) for path, is_folder in sorted(wanted)]


def _nearest(path: str, shown: dict[str, bool]) -> str:
    """The deepest of these that a path lies in."""
    while path not in ("/", ""):
        path = dirname(path)
        if path in shown:
            return path
    return ""


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


# ------------------------------------------------------------------- files of the real temporary folder, by name


def note(rooms: str, name: str, paths: Iterable[str], *, call: str = "") -> None:
    """Has these paths of the real temporary folder be in the session's, once a tool that is about to write them has
    done so, as long as they are files of this user's own. `call`: it is not certain that the tool may, so that they
    count only when `done` says so. Raises OSError."""
    room = f"{rooms}/{name}"
    lock = _used(room)
    try:
        with alone_in(room):
            _keep(room, _PENDING + call if call else "names", {path: _stamp(path) for path in paths})
    finally:
        os.close(lock)


def done(rooms: str, name: str, call: str) -> None:
    """A call of which `note` was told has ended. Raises OSError."""
    room, pending = f"{rooms}/{name}", _PENDING + call
    if name and os.path.exists(f"{room}/{pending}"):
        with alone_in(room):
            _keep(room, "names", _names(room, pending))
            os.unlink(f"{room}/{pending}")


def brought(rooms: str, name: str) -> tuple[str, ...]:
    """Those that were written: each a file of this user's that nobody has another name for, at the end of no link, by
    its resolved path."""
    return tuple(path for path, stamp in _names(f"{rooms}/{name}").items() if _is_own(path, stamp)) if name else ()


def _is_own(path: str, stamp: str) -> bool:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    is_file = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
    is_given = stat.S_ISDIR(found.st_mode) and stamp == _GIVEN
    return (
        (is_file or is_given)
        and found.st_uid == os.geteuid()
        and _stamp(path) != stamp
        and os.path.realpath(path) == path
    )


def _stamp(path: str) -> str:
    """What is another when a file was written, "" where there is none."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ""
    return f"{found.st_ino} {found.st_ctime_ns}"


def is_temporary(path: str) -> bool:
    """Whether a resolved path lies in a folder that sessions have one of their own of."""
    return any(_within(path, folder) for folder, _name in SHARED)


def _names(room: str, file: str = "names") -> dict[str, str]:
    """Paths, and what each was before it was written."""
    entries = _read(f"{room}/{file}").split("\0")
    return {path: stamp for path, stamp in zip(entries[::2], entries[1::2], strict=False) if is_temporary(path)}


def _keep(room: str, file: str, names: dict[str, str]) -> None:
    known = _names(room, file)
    for path, stamp in names.items():
        known.setdefault(path, stamp)
    entries = list(known.items())[-MOST_NAMES:]
    with open(f"{room}/{file}", "w", encoding="utf-8", errors="surrogateescape") as opened:
        opened.write("\0".join([text for entry in entries for text in entry]))


def _tidy(path: str, folder: str, room: str) -> None:
    """Takes away what stood for files that are gone from the real temporary folder."""
    for name in _names(room):
        if _within(name, path) and not os.path.lexists(name):
            with suppress(OSError), opened(folder) as top, opened_below(top, dirname(name[len(path) + 1 :])) as here:
                last = os.path.basename(name)
                found = os.stat(last, dir_fd=here, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and not found.st_size:
                    os.unlink(last, dir_fd=here)


# ------------------------------------------------------------------------------------------------------- their end


def sweep(rooms: str) -> None:
    """Ends the rooms whose sessions are gone: once in a process."""
    with _lock:
        if rooms in _swept:
            return
        _swept.add(rooms)
    try:
        names = os.listdir(rooms)
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            if _is_over(rooms, name):
                end(rooms, name)


def _is_over(rooms: str, name: str) -> bool:
    gone = has_gone(name)
    return time.time() - os.stat(f"{rooms}/{name}/use").st_mtime > _KEPT if gone is None else gone


def end(rooms: str, name: str) -> bool:
    """Removes a room with all that is in it; False while a call uses it. Raises OSError."""
    room = f"{rooms}/{name}"
    try:
        lock = os.open(f"{room}/use", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True  # it was never used
    try:
        if not _is_unused(lock):
            return False
        place = _read(f"{room}/place")
        if os.path.basename(place).startswith(PREFIX) and _is_ours(place):
            remove(os.fsencode(place))
        remove(os.fsencode(room))
    finally:
        os.close(lock)
    return True


def _is_unused(lock: int) -> bool:
    """Whether nobody but its holder has a room, which is then locked. A holder that sees the same goes."""
    for _ in range(_LOOKS):
        fcntl.flock(lock, fcntl.LOCK_SH)  # not before a holder that is about to go has gone
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""
