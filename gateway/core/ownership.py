"""Who could have written the enterprise policy: it counts only if root alone can write it."""

from __future__ import annotations

import os
import stat

from gateway.core.errors import ConfigError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def check_folder(folder: str) -> None:
    """Only root may be able to write the enterprise folder, what is in it, where links in it lead, and what any of
    that lies in. Raises ConfigError."""
    paths = {folder: None}
    try:
        if not os.path.isdir(folder):
            raise ConfigError(Problem("the enterprise policy must be a folder", file=folder))
        paths |= _below(folder)
        for path in tuple(paths):
            if os.path.islink(path):
                paths |= _below(path)
        problems = [found for path in _with_parents(paths) if (found := _owner_problem(path, path in paths))]
    except OSError as error:
        raise ConfigError(Problem(f"cannot be looked at: {error.strerror}", file=error.filename or folder)) from error
    if problems:
        raise ConfigError(problems)


def check_file(path: str) -> None:
    """A file that an enterprise policy extends must be as safe as the policy itself. Raises ConfigError."""
    try:
        problems = [found for each in _with_parents([path]) if (found := _owner_problem(each, False))]
    except OSError as error:
        raise ConfigError(Problem(f"cannot be looked at: {error.strerror}", file=path)) from error
    if problems:
        raise ConfigError(problems)


def _below(path: str) -> dict[str, None]:
    """Everything in the folder that a path leads to; nothing for a file."""
    target = os.path.realpath(path)
    if not os.path.isdir(target):
        return {}
    found = {target: None}
    for where, folders, names in os.walk(target, onerror=_give_up):
        found |= dict.fromkeys(os.path.join(where, name) for name in (*folders, *names))
    return found


def _give_up(error: OSError) -> None:
    raise error


def _with_parents(paths: Iterable[str]) -> list[str]:
    """Every path, where it leads, and all folders on both ways, each once."""
    found: dict[str, None] = {}
    for path in paths:
        for each in (path, os.path.realpath(path)):
            while each not in found:
                found[each] = None
                each = os.path.dirname(each)
    return list(found)


def _owner_problem(path: str, inside: bool) -> Problem | None:
    """What is wrong with who may write a path. In a folder with the sticky bit nobody can replace what is root's;
    but `inside` the policy's own folders nobody may add anything either."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        loose = found.st_uid != 0
    else:
        sticky = not inside and stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        loose = found.st_uid != 0 or bool(found.st_mode & 0o022 and not sticky)
    if not loose:
        return None
    return Problem(
        "the enterprise policy must belong to root and be writable by nobody else",
        file=path,
        remedy=f"chown -h root {path} && chmod go-w {path}",
    )
