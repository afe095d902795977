"""Which changes of a call can be taken back, before anything is touched.

A name is taken back only where what stands there is what the call left. What has changed since stays as it is, with the
folders on the way to it, and is told; a repository's own folder is taken back whole or not at all.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.core.value import Value
from gateway.sandbox.changes.closed_folders import is_closed, reached
from gateway.sandbox.changes.leaving import changes, git_of, is_new, left
from gateway.sandbox.changes.looking import below
from gateway.sandbox.changes.looking import look as look_at
from gateway.sandbox.changes.recreated_files import made_again
from gateway.sandbox.changes.rights import CLOSED, against
from gateway.sandbox.changes.saver import stored
from gateway.sandbox.changes.state import FILE, FOLDER, first, is_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.sandbox.changes.state import Inode, Stamp
    from gateway.sandbox.changes.store import Before, ChangeSet, Store

SINCE = "it has changed since"
IN_THE_WAY = "something new is in the way"
COMMITS = "the repository has changed since, and is taken back whole or not at all"
MISSING = "what it was is not kept"
UNSEEN = "it is closed, and somebody else's: another name of a file that comes back may lie in it"
_OPEN = 0o700


class Plan(Value):
    """What undoing would do. `target`: what each name is to be, None for nothing there; `stays`: names that are left
    as they are, each with the reason; `gone` and `restored`: of what the call changed, in order."""

    target: dict[str, Stamp | None]
    stays: dict[str, str]
    gone: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def planned(store: Store, made: ChangeSet, judged: Callable[[str], str] = lambda _path: "") -> Plan:
    """What undoing a set would do. `judged`: why policy forbids that a name is changed, "" if it does not. Raises
    StoreError."""
    before = store.before(made.number)
    after = store.after(made.number)
    if after is None:
        after = left(before)
    same = made_again(store.folder)
    changed = changes(before, after, store.path(made.number, "old"))
    stays = dict.fromkeys(before.missed, "")
    stays = {path: reason for path, reason in before.missed.items() if path}
    stays.update(_since(before, after, changed, same))
    for path in changed:
        if path not in stays and (
            reason := _no_way(path, made) or judged(path) or _no_right(path, before, store, made)
        ):
            stays[path] = reason
    stays.update((path, CLOSED) for path in before.was if path not in stays and _cannot_tell(path))
    for git in {git for path in changed if (git := git_of(path))}:
        parts = [path for path in after if path == git or path.startswith(f"{git}/")]
        touched = [path for path in parts if path in changed]
        others = [path for path in parts if path not in changed]
        if any(path in stays for path in touched) or not all(
            not _cannot_tell(path) and is_same(after[path], look_at(path), as_it_was=same) for path in others
        ):
            stays.update((path, COMMITS) for path in touched)
    target = _target(before, after, changed, stays, same)
    unseen: list[str] = []
    target.update(_other_names(before, after, made, target, same, lambda inode: _names_kept(store, inode), unseen))
    stays.update((path, UNSEEN) for path in unseen if path not in stays)
    _need_ways(target, stays, before)
    target.update(_closed_ways(target, made))
    names = [path for path in changed if path in target]
    gone = tuple(sorted(path for path in names if target[path] is None))
    restored = tuple(sorted(path for path in names if target[path] is not None))
    return Plan(target, dict(sorted(stays.items())), gone, restored)


def _since(
    before: Before,
    after: dict[str, Stamp | None],
    changed: dict[str, tuple[Stamp | None, Stamp | None]],
    same: dict[Inode, Inode],
) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in changed:
        if _cannot_tell(path):
            continue  # told by whoever asks next
        now, left_there = look_at(path), after[path]
        if left_there is None or not is_same(left_there, now, as_it_was=same):
            if left_there is not now:
                found[path] = IN_THE_WAY if left_there is None else SINCE
        elif now is not None and now.kind == FOLDER and is_new(path, before.was.get(path), left_there, before):
            found.update((each, SINCE) for each, _stamp in below(path) if each not in after)
    return found


def _no_way(path: str, made: ChangeSet) -> str:
    if not any(path.startswith(f"{root}/") for root, _dev, _ino in made.roots):
        return "it lies elsewhere"
    return ""


def _cannot_tell(path: str) -> bool:
    """Whether nobody can tell what stands under a name."""
    if not is_closed(path):
        return False
    with reached(path):
        return is_closed(path)


def _no_right(path: str, before: Before, store: Store, made: ChangeSet) -> str:
    was = before.was.get(path)
    kept = was is not None and was.kind == FILE and was.inode in before.kept and was.inode not in before.copied
    return against(path, was, store.path(made.number, "old", stored(was.inode)) if was is not None and kept else "")


def _target(
    before: Before,
    after: dict[str, Stamp | None],
    changed: dict[str, tuple[Stamp | None, Stamp | None]],
    stays: dict[str, str],
    same: dict[Inode, Inode],
) -> dict[str, Stamp | None]:
    """Of each name that was touched what it is to be; names that came with a new folder go with it, unless something
    in it stays. What the call left as it was, and somebody has changed since, is theirs."""
    held = above_all(stays)
    target: dict[str, Stamp | None] = {}
    for path in before.was.keys() | changed.keys():
        if path in stays or _under(path, stays):
            continue
        was = before.was.get(path)
        if path not in changed and not is_same(after.get(path), now := look_at(path), as_it_was=same):
            if now is None or was is None or not now.kind == was.kind == FOLDER:
                continue
            was = now
        if path in held and (was is None or was.kind != FOLDER):
            continue  # a folder that something lies in which stays
        target[path] = was
    return target


def above_all(paths: Iterable[str]) -> set[str]:
    """Every folder on the way to some paths."""
    found: set[str] = set()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in found:
            found.add(path)
    return found


def _under(path: str, stays: dict[str, str]) -> bool:
    """Whether a name lies in what stays: a file that was put where a folder was."""
    while path := path.rpartition("/")[0]:
        if path in stays:
            return True
    return False


def _other_names(
    before: Before,
    after: dict[str, Stamp | None],
    made: ChangeSet,
    target: dict[str, Stamp | None],
    same: dict[Inode, Inode],
    kept: Callable[[Inode], int],
    unseen: list[str],
) -> dict[str, Stamp | None]:
    """A file that was written in place, and has names that nobody touched, is restored under all of them. `kept`: how
    many names the store has for a file; `unseen` is given the folders that may have another one, and are closed."""
    wanted = {}
    for stamp in target.values():
        if stamp is not None and stamp.kind == FILE and stamp.links > 1 and stamp.inode in before.copied:
            wanted[first(stamp.inode, same)] = stamp
    if not wanted:
        return {}
    found: dict[str, Stamp | None] = {}
    missing: dict[Inode, int] = {}
    closed: list[str] = []
    for root, _dev, _ino in made.roots:
        for path, now in below(root, closed):
            stamp = wanted.get(first(now.inode, same)) if now.kind == FILE else None
            if stamp is not None:
                missing[now.inode] = missing.get(now.inode, now.links) - 1
                if path not in after:
                    found[path] = stamp
    if closed and any(names > kept(inode) for inode, names in missing.items()):
        unseen += closed
    return found


def _closed_ways(target: dict[str, Stamp | None], made: ChangeSet) -> dict[str, Stamp | None]:
    """Folders on the way that are closed to their owner: they are opened first, and get their modes back last."""
    roots = {root for root, _dev, _ino in made.roots}
    found: dict[str, Stamp | None] = {}
    seen = set(roots)
    for path in target:
        while (path := path.rpartition("/")[0]) and path not in seen:
            seen.add(path)
            now = look_at(path) if path not in target and not _cannot_tell(path) else None
            if now is not None and now.kind == FOLDER and now.mode & _OPEN != _OPEN:
                found[path] = now
    return found


def _names_kept(store: Store, inode: Inode) -> int:
    found = 0
    for each in store.sets():
        with suppress(OSError):
            there = os.lstat(store.path(each.number, "old", stored(inode)))
            found += (there.st_dev, there.st_ino) == inode
    return found


def _need_ways(target: dict[str, Stamp | None], stays: dict[str, str], before: Before) -> None:
    """What would be restored where no folder is any more stays gone."""
    for path in sorted(target):
        if target[path] is None:
            continue
        above = path.rpartition("/")[0]
        if above in target and target[above] is None:
            continue  # it came in a new folder that something else stays in
        if above not in target and above in before.was and not os.path.isdir(above):
            stays[path] = IN_THE_WAY
            del target[path]


__all__ = ["MISSING", "Plan", "above_all", "planned"]
