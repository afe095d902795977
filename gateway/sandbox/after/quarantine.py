"""Where things go that a call should not have left: moved, never deleted, with a note on what each was.

Whatever happens ends safely. Where something cannot be moved to the quarantine folder (another file system that is
full, a folder that cannot be written) it is renamed where it lies, to a name that no program obeys; where even that
fails it loses the right to be run and read. What was done is told in words.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from time import strftime, time_ns

from gateway.sandbox.after.reopen import Reopened, grant
from gateway.sandbox.after.restoring import give_back, is_old
from gateway.sandbox.real_paths import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIX = ".quarantined"
MOST_COPIED = 256 << 20


class Quarantine:
    """The quarantine of one call: a folder of its own, made when the first thing is taken."""

    def __init__(self, folder: str, since: int = 0, protects: Callable[[str], str] = lambda _path: "") -> None:
        """`since`: in nanoseconds since the epoch, when the call began; `protects`: the rule that keeps a path, "" for
        none, so that nothing is given back under such a name."""
        self.base = folder
        self._since = since
        self._protects = protects
        self._own = ""
        self._taken: list[dict[str, str | int]] = []

    def take(self, path: str, rule: str, why: str = "", *, old: bool = False) -> str:
        """Takes what is at a path out of the way and says what became of it, as the end of a sentence. `old`: even if
        it was there before, since what it was then is put back."""
        try:
            with Reopened() as opened, at(path) as (folder, name):
                with suppress(OSError):  # what is not ours may be movable all the same
                    opened.give(path.rpartition("/")[0], 0o300)
                    grant(path, 0o700)
                kept = "" if old else self._kept(folder, name, path.rpartition("/")[0])
                if kept is None:
                    return self._disarm(folder, name, "since it, or something in it, was there before the call")
                return self._take(folder, name, path, rule, why) + kept
        except OSError as error:
            return f"could not be taken away ({error.strerror}): remove it by hand"

    def take_out(self, path: str, root: str = "") -> str:
        """As `take`, of what nobody can look into as a whole: where it cannot be moved to the quarantine folder it is
        moved up to `root`, where the next look takes it for what it is; without one it stays."""
        name = path.rpartition("/")[2]
        try:
            with Reopened() as opened, at(path) as (folder, _name):
                opened.give(path.rpartition("/")[0], 0o300)
                grant(path, 0o700)
                kept = self._kept(folder, name, root or path.rpartition("/")[0])
                try:
                    if kept is None:
                        raise OSError(1, "it was there before the call")
                    where = f"{self._folder()}/{len(self._taken):03}-{_plain(name)}"
                    os.rename(name, where, src_dir_fd=folder)
                except OSError:
                    if not root:
                        raise
                    where = f"{root}/{name[:100]}{SUFFIX}-{time_ns():x}"
                    os.rename(name, where, src_dir_fd=folder)
        except OSError as error:
            return f"could not be taken away ({error.strerror}): remove it by hand"
        self._note(path, where, "", "too deep")
        return f"was moved to {where}{kept or ''}"

    def _kept(self, folder: int, name: str, to: str) -> str | None:
        """Gives back, in the folder `to`, what was there before: what that was, for people; None where what goes by
        this name was itself there before, or something in it cannot be given back."""
        if not self._since:
            return ""
        if is_old(folder, name, self._since):
            return None
        given: list[str] = []

        def give(here: int, each: str) -> None:
            free = each
            if each.startswith(".") or self._protects(f"{to}/{each}") or os.path.lexists(f"{to}/{each}"):
                free = f"{each[:100]}{SUFFIX}-{time_ns():x}"
            with at(f"{to}/{free}") as (above, _name):
                os.rename(each, free, src_dir_fd=here, dst_dir_fd=above)
            given.append(f"{to}/{free}")

        try:
            give_back(folder, name, self._since, give)
        except OSError:
            return None
        if not given:
            return ""
        more = f" and {len(given) - 1} more" if len(given) > 1 else ""
        return f"; what was there before the call came back to {given[0]}{more}"

    def _take(self, folder: int, name: str, path: str, rule: str, why: str) -> str:
        try:
            where = f"{self._folder()}/{len(self._taken):03}-{_plain(name)}"
            try:
                os.rename(name, where, src_dir_fd=folder)
            except OSError:
                _copy(folder, name, where)
                _remove(folder, name)
        except OSError:
            return self._disarm(folder, name)
        self._note(path, where, rule, why)
        return f"was moved to {where}"

    def keep_copy(self, path: str, content: bytes, rule: str, why: str) -> str:
        """Keeps content that is about to be replaced. "" where it could not be kept."""
        try:
            where = f"{self._folder()}/{len(self._taken):03}-{_plain(os.path.basename(path))}"
            descriptor = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(content)
        except OSError:
            return ""
        self._note(path, where, rule, why)
        return where

    def _disarm(self, folder: int, name: str, why: str = "since the quarantine folder could not take it") -> str:
        free = f"{name[:200]}{SUFFIX}-{time_ns():x}"
        try:
            os.rename(name, free, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            try:
                if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.chmod(name, 0, dir_fd=folder)
                    return "could not be moved; it lost all its permissions: remove it by hand"
            except OSError:
                pass  # the first error says why
            return f"could not be taken away ({error.strerror}): remove it by hand"
        return f"was renamed to {free}, {why}"

    def _folder(self) -> str:
        if not self._own:
            import tempfile

            os.makedirs(self.base, mode=0o700, exist_ok=True)
            self._own = tempfile.mkdtemp(prefix=strftime("%Y%m%d-%H%M%S-"), dir=self.base)
        return self._own

    def _note(self, path: str, where: str, rule: str, why: str) -> None:
        self._taken.append(
            {"path": path, "kept": os.path.basename(where), "rule": rule, "why": why, "time_ns": time_ns()}
        )
        if len(self._taken) & (len(self._taken) - 1) == 0:  # however many there are, few times; then `close`
            self.close()

    def close(self) -> None:
        """Writes down what has been taken until now."""
        if not self._own:
            return
        try:
            import json

            with open(f"{self._own}/manifest.json", "w", encoding="ascii") as file:
                json.dump({"taken": self._taken}, file, indent=1)
        except OSError:
            return  # a full disk: the things themselves are there under their names


def _plain(name: str) -> str:
    """A name that is safe to show and to type: what is odd becomes an underscore."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in name)[:100]


def _copy(folder: int, name: str, where: str) -> None:
    """To another file system. Raises OSError, and then nothing is left at `where`."""
    import shutil

    source = f"/proc/self/fd/{folder}/{name}"
    if not os.path.isdir("/proc/self/fd"):
        raise OSError(18, "on another file system")
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    try:
        if stat.S_ISDIR(mode):
            if _size(source) > MOST_COPIED:
                raise OSError(27, "too large")
            shutil.copytree(source, where, symlinks=True)
        elif stat.S_ISLNK(mode):
            os.symlink(os.readlink(name, dir_fd=folder), where)
        elif stat.S_ISREG(mode):
            if os.stat(name, dir_fd=folder).st_size > MOST_COPIED:
                raise OSError(27, "too large")
            shutil.copyfile(source, where, follow_symlinks=False)
        else:  # a pipe or socket holds nothing
            os.close(os.open(where, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except (OSError, shutil.Error, RecursionError) as error:
        if os.path.isdir(where) and not os.path.islink(where):
            from gateway.sandbox.launched.leftovers import remove

            remove(os.fsencode(where))
        elif os.path.lexists(where):
            os.unlink(where)
        raise error if isinstance(error, OSError) else OSError(5, str(error)) from error


def _remove(folder: int, name: str) -> None:
    """What has been copied. Raises OSError; the copy stays, since a part of this may be gone by then."""
    import shutil

    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def _size(tree: str) -> int:
    total = 0
    for where, _folders, names in os.walk(tree):
        for name in names:
            total += os.lstat(f"{where}/{name}").st_size
        if total > MOST_COPIED:
            break
    return total
