"""Settings files on the disk: read whole, compared, and replaced whole, where links lead, with the rights they had."""

from __future__ import annotations

import os
import stat

from gateway.core.cache import replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.plain_files import open_plain
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST = 16_000_000


class Change(Value):
    """A file before and after; None where there is none. `path`: as people know it, `real`: where it lies."""

    path: str
    real: str
    before: str | None
    after: str | None


def read(path: str) -> tuple[str, str | None]:
    """Where a file really lies, and its text; None where there is none. Raises ConfigError for what is no text file."""
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except FileNotFoundError:
        if os.path.islink(path) and not os.path.isdir(os.path.dirname(real)):
            raise _problem(path, f"is a link to {real}, whose folder is not there", "mend the link") from None
        return real, None
    except OSError as error:
        raise _problem(path, f"cannot be looked at: {error.strerror}", "") from error
    if not stat.S_ISREG(found.st_mode):
        raise _problem(path, "must be a file", "move away what stands there")
    if found.st_size > _LARGEST:
        raise _problem(path, f"must not be larger than {_LARGEST:,} bytes", "")
    try:
        with open_plain(real) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise _problem(path, f"cannot be read: {error.strerror}", "") from error
    try:
        return real, data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        problem = Problem(
            "must be UTF-8", file=path, line=line, column=column, remedy="save it as UTF-8; nothing was changed"
        )
        raise ConfigError(problem) from error


def write(changes: Sequence[Change]) -> None:
    """Makes all changes or none. Raises ConfigError where one cannot be made, or a file is not what it was."""
    for each in changes:
        if read(each.path) != (each.real, each.before):
            raise _problem(each.path, "must not change while it is looked at", "run it again; nothing was changed")
        _require_writable(each)
    done: list[Change] = []
    folders: list[str] = []
    try:
        for each in changes:
            folders += _make_folders(os.path.dirname(each.real))
            _replace(each.real, each.after)
            done.append(each)
    except OSError as error:
        for each in reversed(done):
            _replace(each.real, each.before)
        for folder in reversed(folders):
            os.rmdir(folder)
        failed = changes[len(done)].path
        raise _problem(failed, f"cannot be written: {error.strerror}", "nothing was changed") from error


def _replace(path: str, text: str | None) -> None:
    if text is None:
        if os.path.lexists(path):
            os.unlink(path)
        return
    try:
        found: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        found = None
    replace_whole(path, text.encode("utf-8"))
    if found is None:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask & ~0o022)
        return
    os.chmod(path, stat.S_IMODE(found.st_mode))
    if os.geteuid() == 0:
        os.chown(path, found.st_uid, found.st_gid)


def _require_writable(change: Change) -> None:
    """Says before anything is touched that a file cannot be replaced."""
    near = os.path.dirname(change.real)
    while near != "/" and not os.path.lexists(near):
        near = os.path.dirname(near)
    if not os.path.isdir(near):
        raise _problem(near, "must be a folder", "move away what stands there; nothing was changed")
    try:
        fixed = os.statvfs(near).f_flag & os.ST_RDONLY
    except OSError as error:
        raise _problem(near, f"cannot be looked at: {error.strerror}", "nothing was changed") from error
    if fixed or not os.access(near, os.W_OK | os.X_OK):
        remedy = "run it as who may write there, or write the file by other means from --dry-run; nothing was changed"
        raise _problem(change.path, f"cannot be written: {near} is read-only for you", remedy)


def _make_folders(folder: str) -> list[str]:
    """Makes a folder and those above it that are missing; gives those that were made."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(missing):
        os.mkdir(each, 0o755)
    return missing[::-1]


def remove_empty(folders: Sequence[str]) -> None:
    """Takes away folders that were made and hold nothing any more, innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError:  # it is in use, or gone
            continue


def _problem(path: str, message: str, remedy: str) -> ConfigError:
    return ConfigError(Problem(message, file=path, remedy=remedy))
