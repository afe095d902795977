"""Protected names as they were before a call, for backends that cannot hold them during it: verified and put back.

What is remembered: the content of files up to a bound, links, folders as trees, modes and owners. Attributes beyond
those (access lists, extended attributes) are not.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from time import time_ns

from gateway.core.value import Value
from gateway.sandbox.after.restored_names import latest, note
from gateway.sandbox.base import SandboxError
from gateway.sandbox.real_paths import at, where_is

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateway.sandbox.after.quarantine import Quarantine

MOST_BYTES = 64 << 20
MOST_NAMES = 20_000
# A change within one step of the file system's clock leaves no trace in the times.
_STEP_NS = 2_000_000_000
_O_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_REMEDY = "install bubblewrap, which holds such names without copies"


class Original(Value):
    """One name. `kind`: dir, file, link or other; `content`: a file's bytes or a link's target; `stamp`: what changes
    when anything does."""

    rule: str
    kind: str
    mode: int
    owner: tuple[int, int]
    content: bytes
    stamp: tuple[int, ...]
    whole: bool = False


class Originals:
    """What was there. Raises SandboxError while it is made when it is too much to remember: then nothing may run."""

    def __init__(self, names: Mapping[str, str], trees: Iterable[str]) -> None:
        """`names`: path and rule of each protected name; `trees`: those of them whose whole content is protected."""
        self._taken_ns = time_ns()
        self._known: dict[str, Original] = {}
        self._bytes = 0
        whole = set(trees)
        for path, rule in sorted(names.items()):
            self._remember(path, rule, path in whole)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, path: object) -> bool:
        return path in self._known

    def _remember(self, path: str, rule: str, whole: bool) -> None:
        pending = [path]
        while pending:
            each = pending.pop()
            if each in self._known:
                continue
            try:
                found = _look(each, rule, whole)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise SandboxError(f"{each} is protected and cannot be read: {error.strerror}", _REMEDY) from error
            self._known[each] = found
            self._bytes += len(found.content)
            if self._bytes > MOST_BYTES or len(self._known) > MOST_NAMES:
                raise SandboxError(
                    f"more is protected than can be verified and put back (at {each}: {self._bytes >> 20} MiB, "
                    f"{len(self._known):,} names)",
                    _REMEDY,
                )
            if found.kind == "dir" and whole:
                pending += [f"{each}/{name}" for name in os.listdir(each)]

    def restore(self, quarantine: Quarantine) -> Iterator[tuple[str, str, str]]:
        """Puts back what has changed: the path, rule and what was done of each."""
        for path, original in sorted(self._known.items()):
            if original.kind == "dir":
                if os.path.isdir(path) and not os.path.islink(path):
                    if stat.S_IMODE(os.lstat(path).st_mode) != original.mode:
                        yield path, original.rule, _put(path, original, None)
                    if original.whole:
                        yield from self._unknown(path, original, quarantine)
                    continue
                if not original.whole:
                    where = quarantine.take(path, original.rule, "replaced") if os.path.lexists(path) else "is gone"
                    yield path, original.rule, f"{where}; it cannot be put back"
                    continue
            elif self._same(path, original) or _went_with_its_work_tree(path):
                continue
            elif original.kind in ("file", "link"):
                # What was found may have been another call's doing, whose end has undone it meanwhile.
                other = latest(quarantine.base, path, self._taken_ns)
                if other is not None:
                    original = original.replace(
                        kind=other.kind, mode=other.mode, owner=other.owner, content=other.content, stamp=()
                    )
                    if self._same(path, original):
                        continue
                note(quarantine.base, path, original.kind, original.mode, original.owner, original.content)
            yield path, original.rule, _put(path, original, quarantine)

    def _unknown(self, folder: str, original: Original, quarantine: Quarantine) -> Iterator[tuple[str, str, str]]:
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            yield folder, original.rule, f"cannot be read ({error.strerror}): look at it"
            return
        for name in names:
            path = f"{folder}/{name}"
            if path not in self._known:
                yield path, original.rule, f"is new and {quarantine.take(path, original.rule, 'new')}"

    def _same(self, path: str, original: Original) -> bool:
        try:
            found = os.lstat(path)
            if _stamp(found) == original.stamp and self._taken_ns - found.st_ctime_ns > _STEP_NS:
                return True
            now = _look(path, original.rule, original.whole)
        except OSError:
            return False
        return (now.kind, now.mode, now.owner, now.content) == (
            original.kind, original.mode, original.owner, original.content,
        )  # fmt: skip


def _went_with_its_work_tree(path: str) -> bool:
    """Whether git has removed what it kept of a linked work tree."""
    folder, _slash, name = path.rpartition("/")
    return name == "commondir" and "/worktrees/" in path and not os.path.lexists(folder)


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _look(path: str, rule: str, whole: bool) -> Original:
    with at(path) as (folder, name):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mode, content = found.st_mode, b""
        kind = "dir" if stat.S_ISDIR(mode) else "other"
        if stat.S_ISLNK(mode):
            kind, content = "link", os.fsencode(os.readlink(name, dir_fd=folder))
        elif stat.S_ISREG(mode):
            kind = "file"
            if found.st_size > MOST_BYTES:
                raise OSError(27, "it is too large")
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
            with open(descriptor, "rb") as file:
                content = file.read(MOST_BYTES + 1)
        return Original(
            rule,
            kind,
            mode=stat.S_IMODE(mode),
            owner=(found.st_uid, found.st_gid),
            content=content,
            stamp=_stamp(found),
            whole=whole,
        )


def _put(path: str, original: Original, quarantine: Quarantine | None) -> str:
    """Makes a name what it was. What stood in its place goes into quarantine. Never raises: says what was done."""
    told = "was changed back"
    try:
        if quarantine is not None:
            _clear_way(path, original, quarantine)
            if os.path.lexists(path):
                told = (
                    f"was changed back; what the call had made of it "
                    f"{quarantine.take(path, original.rule, 'changed', old=True)}"
                )
        with at(path) as (folder, name):
            if original.kind == "dir":
                if quarantine is not None:
                    os.mkdir(name, 0o700, dir_fd=folder)
                _dress(folder, name, original)
            elif original.kind == "link":
                os.symlink(os.fsdecode(original.content), name, dir_fd=folder)
            elif original.kind == "file":
                spare = f".gateway-{time_ns():x}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(os.open(spare, flags, 0o600, dir_fd=folder), "wb") as file:
                    file.write(original.content)
                _dress(folder, spare, original)
                os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                return "is gone and cannot be put back"
    except OSError as error:
        return f"could not be put back ({error.strerror}): look at it"
    return told


def _dress(folder: int, name: str, original: Original) -> None:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if (found.st_uid, found.st_gid) != original.owner:
        with suppress(PermissionError):  # an ordinary user's files are the user's own
            os.chown(name, *original.owner, dir_fd=folder, follow_symlinks=False)
    os.chmod(name, original.mode, dir_fd=folder)


def _clear_way(path: str, original: Original, quarantine: Quarantine) -> None:
    """Makes every folder on the way a real one again. Raises OSError."""
    parts = path.split("/")[1:-1]
    descriptor = os.open("/", _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    here = ""
    try:
        for part in parts:
            here += "/" + part
            try:
                below = os.open(part, _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except FileNotFoundError:
                os.mkdir(part, 0o755, dir_fd=descriptor)
                below = os.open(part, _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except NotADirectoryError:  # a link or a file stands there
                quarantine.take(here, original.rule, "stood on the way")
                os.mkdir(part, 0o755, dir_fd=descriptor)
                below = os.open(part, _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        if where_is(descriptor, here or "/") != (here or "/"):
            raise OSError(40, "a link has come to be on the way")
    finally:
        os.close(descriptor)
