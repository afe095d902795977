"""A folder that is searched, held open, and what lies below it: reached name by name, never through a link.

A search only says what was found when it looked. What is shown is looked at again through descriptors, so that a name
which has become a link meanwhile leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat

from gateway.calls.output import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from gateway.calls.work import Work

# Looking only, where the system can: it neither needs to be readable nor wakes up a device.
_LOOK = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _LOOK | os.O_DIRECTORY
_MOST_FOLDERS = 256
# So many folders within folders are looked into.
MOST_DEEP = 128


class Place:
    """Where a search starts: the folder that was judged, or the one that holds the file that was judged. Closed by
    `close`, or as a context manager."""

    def __init__(self, asked: str, work: Work) -> None:
        """Raises Failure for what is not there, or no longer what it was when the call was judged."""
        fact = work.verdict.facts.paths.get(asked)
        if fact is None or fact.kind == "unknown":
            raise Failure(f"Nobody can tell what `{asked}` is.", "Use another path.")
        view = work.view
        kind = (view.kind(fact.real) if view is not None else "") or fact.kind
        if kind == "missing":
            raise Failure(f"`{asked}` does not exist.", "Use Glob to see what there is.")
        if kind not in ("dir", "file"):
            raise Failure(f"`{asked}` is neither a file nor a folder.")
        self.asked = asked
        self.real = fact.real
        self.name = "" if kind == "dir" else os.path.basename(fact.real)
        self._folders: dict[str, int] = {}
        folder = fact.real if kind == "dir" else os.path.dirname(fact.real)
        try:
            self.folder = _opened(*(view.start(folder) if view is not None else None) or (-1, folder))
        except OSError as error:
            told = "cannot be opened" if error.errno == errno.EACCES else "changed while it was being judged"
            raise Failure(f"`{asked}` {told}.", "Try again, or use another path.") from error
        # How programs are told of a folder in whose place nobody else has what is seen here; "" for any other.
        self.top = f"/proc/self/fd/{self.folder}/" if view is not None and view.start(folder) is not None else ""

    def paths(self, found: str) -> tuple[str, ...]:
        """The names of something found below, as it was asked for and as it is: policy is asked about each."""
        both = (self.asked, self.real)
        return tuple(dict.fromkeys(both if self.name else [_joined(each, found) for each in both]))

    def is_too_deep(self, found: str) -> bool:
        """Whether something below lies so deep that it is not looked at."""
        return found.count("/") > MOST_DEEP

    def open(self, found: str) -> int:
        """A descriptor of a plain file below, -1 where there is none, or no longer."""
        try:
            descriptor = os.open(os.path.basename(found), _LOOK, dir_fd=self._folder(os.path.dirname(found)))
        except OSError:
            return -1
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        return -1

    def changed_ns(self, found: str) -> int:
        """When a plain file below was last changed, -1 where there is none, or no longer."""
        try:
            state = os.stat(os.path.basename(found), dir_fd=self._folder(os.path.dirname(found)), follow_symlinks=False)
        except OSError:
            return -1
        return state.st_mtime_ns if stat.S_ISREG(state.st_mode) else -1

    def _folder(self, path: str) -> int:
        """A folder below, kept open: neighbours in a result mostly share it. Raises OSError."""
        if not path:
            return self.folder
        known = self._folders.get(path)
        if known is not None:
            return known
        missing = []
        while path and path not in self._folders:
            missing.append(path)
            path = os.path.dirname(path)
        if len(self._folders) + len(missing) > _MOST_FOLDERS:
            self._forget(path)
        descriptor = self._folders.get(path, self.folder)
        for each in reversed(missing):
            descriptor = self._folders[each] = os.open(os.path.basename(each), _FOLDER, dir_fd=descriptor)
        return descriptor

    def _forget(self, kept: str = "") -> None:
        for each in [each for each in self._folders if each != kept]:
            os.close(self._folders.pop(each))

    def close(self) -> None:
        """Gives the descriptors back."""
        self._forget()
        os.close(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _opened(start: int, folder: str) -> int:
    """A folder by its real path, no link on the way; from a folder that is held open, if one is given. Raises
    OSError."""
    descriptor = os.open("/", _FOLDER) if start < 0 else os.open(".", _FOLDER, dir_fd=start)
    for name in folder.split("/"):
        if name not in ("", "."):
            try:
                following = os.open(name, _FOLDER, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = following
    return descriptor


def _joined(folder: str, name: str) -> str:
    return folder.rstrip("/") + "/" + name
