"""The machine as it is."""

from __future__ import annotations

import os
import stat

from gateway.core.links import target, way
from gateway.core.plain_files import open_plain
from gateway.model.facts import PathFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.host.bounds import Entries

MAX_GIT_FILE = 1_000_000
MAX_INDEX_FILE = 50_000_000
MAX_KEPT_TEXTS = 256
_O_PATH = getattr(os, "O_PATH", 0)


class Machine:
    """A `gateway.host.base.Host`: the machine that this process runs on.

    Only absolute paths are looked at: what a relative one names would depend on the folder that this process stands in,
    which is not the one a call begins in.

    `environment`: what calls begin with, else this process's.

    Small files that are asked for again and again (git's) are kept for as long as their stamp stays the same.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._kept: dict[str, tuple[tuple[int, ...], str]] = {}

    def path(self, path: str) -> PathFact | None:
        """Where a path leads; None if that cannot be told (no permission, a loop of links, not a path)."""
        if path[:1] != "/":
            return None
        try:
            fact = _resolve_by_descriptor(path) if _O_PATH else _resolve_by_name(path)
            return _of_a_process(path, fact) if fact.real != path else fact
        except (OSError, ValueError):
            return None

    def glob(self, pattern: str, entries: Entries | None = None) -> tuple[str, ...] | None:
        """Paths that an absolute pattern matches, sorted; None when a bound was hit. `entries`: what is left for it."""
        from gateway.host.bounds import MAX_ENTRIES, MAX_GLOB_ENTRIES, MAX_GLOB_MATCHES, Entries
        from gateway.host.glob_expansion import expand  # lazy: few calls have globs

        if pattern[:1] != "/":
            return None
        return expand(pattern, entries or Entries(MAX_GLOB_ENTRIES, MAX_ENTRIES), MAX_GLOB_MATCHES)

    def program(self, name: str, path: str) -> str:
        """The file that the absolute folders of a search path give for a name, "" if none."""
        for folder in path.split(":"):
            candidate = f"{folder}/{name}"
            if folder[:1] == "/" and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
                return candidate
        return ""

    def variable(self, name: str) -> str:
        """A variable of the environment that calls begin with, "" if it is not set."""
        return self._environment.get(name, "")

    def read(self, path: str) -> str:
        """A small configuration file's text, "" if it cannot be read or is too large."""
        if path[:1] != "/":
            return ""
        try:
            found = os.stat(path)
            stamp = (found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_size)
            known = self._kept.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_GIT_FILE:
                return ""
            with open_plain(path) as file:
                text = file.read(MAX_GIT_FILE).decode("utf-8", "replace")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, ValueError):
            return ""
        if len(self._kept) >= MAX_KEPT_TEXTS:
            self._kept.clear()
        self._kept[path] = (stamp, text)
        return text

    def data(self, path: str) -> bytes:
        """A file's bytes, empty if it cannot be read or is too large."""
        if path[:1] != "/":
            return b""
        try:
            with open_plain(path) as file:
                found = file.read(MAX_INDEX_FILE + 1)
        except (OSError, ValueError):
            return b""
        return found if len(found) <= MAX_INDEX_FILE else b""

    def is_empty(self, path: str) -> bool:
        """Whether there is a file that holds nothing."""
        try:
            found = os.stat(_absolute(path))
        except (OSError, ValueError):
            return False
        return stat.S_ISREG(found.st_mode) and found.st_size == 0

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder, links followed."""
        return path[:1] == "/" and os.path.isdir(path)

    def is_missing(self, path: str) -> bool:
        """Whether nothing stands under a name, not even a link: told faster than where it would lead."""
        try:
            os.lstat(_absolute(path))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            pass
        return False

    def is_link(self, path: str) -> bool:
        """Whether a name is a link, wherever it leads; of a relative one nobody can tell, so that it may be."""
        return path[:1] != "/" or os.path.islink(path)

    def link(self, path: str) -> str:
        """What a link says, "" where a name is none."""
        return target(path) if path[:1] == "/" else ""

    def stamp(self, path: str) -> tuple[int, int, int, int]:
        """What changes whenever something is added to a folder, taken from it or renamed in it; the times come first,
        in nanoseconds. Links are not followed. Raises OSError where nothing is."""
        found = os.lstat(_absolute(path))
        return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev

    def is_superuser(self) -> bool:
        """Whether modes of files say nothing to this process."""
        return os.geteuid() == 0

    def is_private(self, path: str) -> bool:
        """Whether its mode lets this user read what stands under a name as its owner or by its group, and lets nobody
        else; links are not followed. True where that cannot be told."""
        try:
            found = os.lstat(path)
        except OSError:
            return True
        mode = found.st_mode
        if mode & (stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH):
            return False
        owned, grouped = found.st_uid == os.geteuid(), found.st_gid == os.getegid()
        return bool((owned and mode & stat.S_IRUSR) or (grouped and mode & stat.S_IRGRP))

    def entries(self, folder: str) -> list[tuple[str, str]]:
        """The names in a folder, each with its kind: dir, file, link or other. Raises OSError where it cannot look."""
        with os.scandir(_absolute(folder)) as found:
            return [
                (
                    each.name,
                    "dir"
                    if each.is_dir(follow_symlinks=False)
                    else "link"
                    if each.is_symlink()
                    else "file"
                    if each.is_file(follow_symlinks=False)
                    else "other",
                )
                for each in found
            ]

    def below(self, tree: str, *, hidden: bool = True) -> Iterator[str]:
        """Every path below a folder, without following links; raises OSError where it cannot look. `hidden`: with
        names that start with a dot, and what lies below them."""
        pending = [_absolute(tree)]
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if not hidden and entry.name.startswith("."):
                        continue
                    yield entry.path
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)


def _absolute(path: str) -> str:
    """The same path. Raises OSError where it is relative."""
    if path[:1] != "/":
        raise PermissionError(f"{path} is relative")
    return path


def _resolve_by_descriptor(path: str) -> PathFact:
    """Linux: the kernel resolves the links; the descriptor neither opens a device nor waits for a FIFO."""
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return _resolve_by_name(path)
    try:
        return PathFact(os.readlink(f"/proc/self/fd/{descriptor}"), _kind(os.fstat(descriptor).st_mode))
    finally:
        os.close(descriptor)


def _resolve_by_name(path: str) -> PathFact:
    """Anywhere, and for paths that do not exist yet: as far as they exist, links included."""
    real = os.path.realpath(path)
    try:
        return PathFact(real, _kind(os.stat(real).st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return PathFact(real, "missing")


def _of_a_process(path: str, fact: PathFact) -> PathFact | None:
    """The same fact unless links lead through the files of a process: `/proc/self` is this process here and another one
    when the call runs, and where `/proc/self/cwd` or a descriptor leads then nobody can tell: None."""
    own: list[str] = []

    def leads(place: str) -> str:
        folder, _, name = place.rpartition("/")
        if folder == "/proc" and name in _OWN:
            own.append(place)
            return ""
        if folder.startswith("/proc/") and (name in _MAGIC or folder.endswith(_MAGIC_FOLDERS)):
            raise ValueError("it leads where the process says that looks")
        return target(place)

    try:
        real, _steps = way(path, leads)
    except ValueError:
        return None
    if not real:
        return None
    return PathFact(real, fact.kind) if own else fact


_OWN = frozenset(("self", "thread-self"))
_MAGIC = frozenset(("cwd", "root", "exe"))
_MAGIC_FOLDERS = ("/fd", "/map_files", "/ns")


def _kind(mode: int) -> str:
    return "file" if stat.S_ISREG(mode) else "dir" if stat.S_ISDIR(mode) else "other"
