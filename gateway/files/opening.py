"""Opening what was judged, and nothing else: a real path is opened so that no link is followed on the way.

What policy judged is a path with every link resolved. Between that look and the use anybody who may write there can put
a link in its place. So the folder above is opened with the kernel's word that no link was followed (Linux `openat2`;
elsewhere folder by folder without following), and everything after happens relative to that descriptor. Whatever is
not a plain file is refused before it is opened: a device, FIFO or socket is neither woken nor waited for.

On a file system that takes several spellings for one name (case, Unicode forms, short names) the name found must be
the very one that was judged: a rule speaks of names as they stand in their folder.

A hard link is no link in this sense: it is the file under a second, equal name, and nothing tells the two apart.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cache

from gateway.calls.output import Failure
from gateway.core.value import Value
from gateway.model.effect import HOLE
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from gateway.calls.work import Work
    from gateway.model.call import Call
    from gateway.sandbox.view import View

_O_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER = _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OPENAT2 = 437
_NO_MAGIC, _NO_LINKS = 0x02, 0x04
# What kernels without `openat2`, and filters that do not know it, answer.
_UNKNOWN_CALL = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG})


class Place(Value):
    """A path of a call. `path`: as the call says it; `real` and `kind`: what it was when it was judged. `view`: the
    folders through whose layers it is reached, None for the person's own."""

    path: str
    real: str
    kind: str
    view: View | None = None

    @property
    def shown(self) -> str:
        """The path for sentences: on one line, nothing invisible in it."""
        return visible(self.path)


class Changed(Failure):
    """Something else stands where the judged thing stood."""

    def __init__(self, place: Place, what: str) -> None:
        super().__init__(f"{place.shown} changed while it was being judged: {what}.", "Make the call again.")


def place_of(call: Call, work: Work, field: str) -> Place:
    """What a field of a call was judged as. Raises Failure where nobody could tell what it is."""
    path = call.input[field]
    fact = work.verdict.facts.paths.get(path)
    if fact is None or fact.kind == "unknown" or HOLE in fact.real or not _is_real(fact.real):
        raise Failure(f"{visible(path)} leads to where nobody can tell.", "Name the file by another path.")
    view = work.view
    return Place(path, fact.real, (view.kind(fact.real) if view is not None else "") or fact.kind, view)


def _is_real(path: str) -> bool:
    return path == "/" or (
        path.startswith("/") and not any(name in ("", ".", "..") for name in path[1:].split("/")) and "\0" not in path
    )


class Way:
    """A name in a folder that is held open: what stands there is looked at, opened and replaced by that name only."""

    def __init__(self, place: Place, folder: int, name: str) -> None:
        self.place = place
        self.folder = folder
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the folder go."""
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1

    def look(self) -> os.stat_result | None:
        """What stands under the name now, itself and not what it may lead to; None if nothing does."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self) -> tuple[int, os.stat_result]:
        """A descriptor for reading the plain file under the name, and what it is. Raises Failure for anything else,
        FileNotFoundError for nothing, and OSError."""
        found = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        self.refuse_special(found.st_mode)
        descriptor = os.open(self.name, _PLAIN, dir_fd=self.folder)
        try:
            found = os.fstat(descriptor)
            self.refuse_special(found.st_mode)  # it may have been exchanged since
            self.check_spelling()
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, found

    def refuse_special(self, mode: int) -> None:
        """Raises Failure for everything but a plain file, and for one that was judged as something else."""
        kind = self.place.kind
        if stat.S_ISREG(mode):
            if kind in ("dir", "other"):
                raise Changed(self.place, "it is a file now")
            return
        if stat.S_ISLNK(mode):
            raise Changed(self.place, "it is a link now")
        what = "a folder" if stat.S_ISDIR(mode) else _SPECIAL.get(stat.S_IFMT(mode), "no plain file")
        if kind == "file":
            raise Changed(self.place, f"it is {what} now")
        if stat.S_ISDIR(mode):
            raise Failure(f"{self.place.shown} is a folder.", "Glob shows what it holds.")
        raise Failure(f"{self.place.shown} is {what}; only plain files are read and written.")

    def check_spelling(self, *, upwards_only: bool = False) -> None:
        """Raises Failure if a folder gives what was judged under another spelling than the judged one."""
        names = self.place.real[1:].split("/")
        for above, name in enumerate(reversed(names)):
            if not (above == 0 and upwards_only) and not _is_exact(self.folder, "../" * above, name):
                raise Failure(
                    f"{self.place.shown}: the folder knows `{visible(name)}` under another spelling.",
                    "Write the name as the folder lists it (case included).",
                )


_SPECIAL = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def way_to(place: Place) -> Way:
    """The held folder of a judged path, and the name in it. Raises Failure and OSError."""
    if place.real == "/":
        raise Failure(f"{place.shown} is a folder.", "Glob shows what it holds.")
    above, _, name = place.real.rpartition("/")
    return Way(place, _open_folder(place, above or "/"), name)


def made_way_to(place: Place) -> tuple[Way, list[tuple[int, str]]]:
    """The same, with the missing folders made. Also what was made, as held folders and names in them, for
    `unmake` or `keep`; on failure nothing is left of it."""
    if place.real == "/":
        raise Failure(f"{place.shown} is a folder.", "Glob shows what it holds.")
    made: list[tuple[int, str]] = []
    missing: list[str] = []
    above, _, name = place.real.rpartition("/")
    while True:
        try:
            folder = _open_folder(place, above or "/")
            break
        except FileNotFoundError:
            above, _, last = above.rpartition("/")
            missing.append(last)
    way = Way(place, folder, name)
    try:
        for each in reversed(missing):
            try:
                os.mkdir(each, dir_fd=folder)
            except FileExistsError:  # somebody was faster; what it is shows when it is opened
                below = _open_below(folder, each, place)
                os.close(folder)
            else:
                made.append((folder, each))
                below = _open_below(folder, each, place)
            way.folder = folder = below
        way.check_spelling(upwards_only=True)
    except BaseException:
        if not any(folder == each for each, _ in made):
            way.close()
        unmake(made)
        raise
    return way, made


def unmake(made: list[tuple[int, str]]) -> None:
    """Removes folders that were made, as far as they are still empty."""
    while made:
        folder, name = made.pop()
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            keep(made)  # in use by somebody else, and so are those above
        finally:
            os.close(folder)


def keep(made: list[tuple[int, str]]) -> None:
    """Lets go of folders that were made."""
    while made:
        os.close(made.pop()[0])


_HERE = -100  # of a whole path: it starts at no folder that is held


def _open_folder(place: Place, path: str) -> int:
    """A descriptor of a folder by its real path. Raises Changed where a link is on the way, and OSError."""
    global _has_openat2
    start, way = (place.view.start(path) if place.view is not None else None) or (_HERE, path)
    if _has_openat2:
        try:
            return _open_unlinked(start, way)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Changed(place, "a link is on the way") from error
            if error.errno not in _UNKNOWN_CALL:
                raise
            _has_openat2 = False
    return _walk(place, start, way)


_has_openat2 = os.uname().sysname == "Linux"


def _open_unlinked(start: int, path: str) -> int:
    import ctypes

    syscall = _library(ctypes.CDLL).syscall
    how = (ctypes.c_uint64 * 3)(_FOLDER, 0, _NO_LINKS | _NO_MAGIC)
    name, size = ctypes.c_char_p(os.fsencode(path)), ctypes.c_size_t(ctypes.sizeof(how))
    while True:
        found: int = syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(start), name, how, size)
        if found >= 0:
            return found
        number = ctypes.get_errno()
        if number not in (errno.EINTR, errno.EAGAIN):
            raise OSError(number, os.strerror(number), path)


@cache
def _library(load: Any) -> Any:
    return load(None, use_errno=True)


def _walk(place: Place, start: int, path: str) -> int:
    """The same without the kernel's help: folder by folder, none of them through a link."""
    folder = os.open("/", _FOLDER) if start == _HERE else os.open(".", _FOLDER, dir_fd=start)
    for name in path.strip("/").split("/") if path not in ("/", ".") else ():
        try:
            below = _open_below(folder, name, place)
        finally:
            os.close(folder)
        folder = below
    return folder


def _open_below(folder: int, name: str, place: Place) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link(folder, name)):
            raise Changed(place, "a link is on the way") from error
        raise


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return True  # it was something else a moment ago


def _is_exact(folder: int, upwards: str, name: str) -> bool:
    """Whether a folder, so far above a held one, lists exactly this name. Listing is left out where another case of
    the name is another file or none: then the file system tells names apart."""
    other = name.swapcase()
    if name.isascii():
        if other == name and "~" not in name and name[-1] not in ". ":
            return True
        if other != name and not _is_same(folder, upwards + name, upwards + other):
            return True
    try:
        listed = os.open(upwards or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        # Who may not list a folder cannot be told; a name of plain letters that answers to both cases stays in doubt.
        return not name.isascii() and not _is_same(folder, upwards + name, upwards + other)
    try:
        return name in os.listdir(listed)
    finally:
        os.close(listed)


def _is_same(folder: int, name: str, other: str) -> bool:
    try:
        twin = os.stat(other, dir_fd=folder, follow_symlinks=False)
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (twin.st_dev, twin.st_ino)


def failure(error: OSError, place: Place, doing: str) -> Failure:
    """One sentence for what the system refused. `doing`: read or written."""
    said, remedy = _SAID.get(error.errno or 0, (f"the system says: {error.strerror}", ""))
    return Failure(f"{place.shown} cannot be {doing}: {said}.", remedy)


_SAID = {
    errno.ENOENT: ("it does not exist", ""),
    errno.ENOTDIR: ("a name on the way to it is no folder", ""),
    errno.EACCES: ("this user has no permission", ""),
    errno.EPERM: ("the system does not permit it", ""),
    errno.EROFS: ("its file system is read-only", ""),
    errno.ENOSPC: ("the disk is full; what was there is unchanged", "Free some space first."),
    errno.EDQUOT: ("the disk quota is used up; what was there is unchanged", "Free some space first."),
    errno.EFBIG: ("it would be larger than allowed; what was there is unchanged", ""),
    errno.ENAMETOOLONG: ("its name is too long", "Use a shorter one."),
    errno.EBUSY: ("it is a mount point or in use by the system", ""),
    errno.ELOOP: ("it became a link meanwhile", "Make the call again."),
    errno.EIO: ("the device reports an error", ""),
    errno.EMFILE: ("too many files are open", "Try again later."),
    errno.ENXIO: ("no device is there", ""),
}
