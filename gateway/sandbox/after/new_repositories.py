"""Repositories that a call has made: they stay, but for what git would run by itself.

Active hooks are taken away, and configuration keeps only what is known to be harmless.
"""

from __future__ import annotations

import os
import stat
from time import time_ns

from gateway.commands.steering import git_keys
from gateway.commands.steering.git_config import BadConfig, entries, name_of
from gateway.host.repository import is_like_bare
from gateway.sandbox.real_paths import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gateway.commands.steering.git_config import Entry
    from gateway.sandbox.after.quarantine import Quarantine

    Told = tuple[str, str]

MOST_CONFIG = 1 << 20
_OF_BARE = ("commondir", "objects", "refs")


def is_repository(folder: str) -> bool:
    """Whether git may take a folder for a repository."""
    if not os.path.lexists(f"{folder}/HEAD") or os.path.islink(folder):
        return False
    return is_like_bare({"HEAD", *[name for name in _OF_BARE if os.path.lexists(f"{folder}/{name}")]})


def repository_of(path: str) -> str:
    """The repository that a path is a part of, "" if none: the nearest folder above that looks like one."""
    folder = path.rpartition("/")[0]
    while folder:
        if is_repository(folder):
            return folder
        folder = folder.rpartition("/")[0]
    return ""


def tame(
    repository: str, roots: tuple[str, ...], quarantine: Quarantine, rule: str, *, finished: bool = True
) -> Iterator[Told]:
    """Leaves a new repository without anything that git would run by itself: each path that was dealt with, and what
    was done. `roots`: where work trees may lie; not `finished`: it may be half made, so that only what is whole is
    judged."""
    suspects = _active(f"{repository}/hooks")
    suspects += [path for name in ("commondir", "config") if os.path.islink(path := f"{repository}/{name}")]
    for path in suspects:
        yield path, f"it {quarantine.take(path, rule, 'active in a new repository')}"
    for name in ("config", "config.worktree"):
        config = f"{repository}/{name}"
        if os.path.lexists(config):
            yield from tame_config(config, repository, roots, quarantine, rule, finished=finished)


def tame_config(
    config: str,
    repository: str,
    roots: tuple[str, ...],
    quarantine: Quarantine,
    rule: str,
    *,
    finished: bool = True,
    known: Collection[Entry] = (),
) -> Iterator[Told]:
    """Leaves a configuration only what is harmless. `known`: entries that it may have all the same."""
    try:
        content = content_of(config)
        found = entries(content.decode("utf-8", "surrogateescape"))
    except (OSError, BadConfig):
        if finished:
            told = quarantine.take(config, rule, "not understood")
            yield config, f"nobody can tell what git would run for it, so it {told}"
        return
    bad = [each for each in found if each not in known and not git_keys.is_harmless(each, repository, roots)]
    if not bad:
        return
    names = ", ".join(sorted({name_of(each) for each in bad})[:5])
    where = quarantine.keep_copy(config, content, rule, "says what git runs")
    text = git_keys.written([each for each in found if each not in bad])
    try:
        with at(config) as (folder, name):
            spare = f".gateway-{time_ns():x}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(spare, flags, 0o644, dir_fd=folder), "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
            os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        told = quarantine.take(config, rule, "says what git runs")
        yield config, f"{names} could not be taken out of it, so it {told}"
        return
    kept = f"; the original is {where}" if where else ""
    yield config, f"{names} was taken out of it, since git runs or obeys that{kept}"


def content_of(path: str) -> bytes:
    """A plain file of modest size. Raises OSError for anything else."""
    with at(path) as (folder, name):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_CONFIG:
                raise OSError(27, "it is no plain file, or too large")
            return file.read()


def _active(hooks: str) -> list[str]:
    """Of a folder of hooks those that git would run; the folder itself where nobody can tell."""
    if os.path.islink(hooks):
        return [hooks]
    try:
        return [f"{hooks}/{name}" for name in sorted(os.listdir(hooks)) if _runs(f"{hooks}/{name}")]
    except FileNotFoundError:
        return []
    except OSError:
        return [hooks]


def _runs(hook: str) -> bool:
    try:
        mode = 0 if hook.endswith(".sample") else os.lstat(hook).st_mode
    except FileNotFoundError:
        return False
    return mode != 0 and (not stat.S_ISREG(mode) or bool(mode & 0o111))
