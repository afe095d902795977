"""The changes of a project as they are shown: by call, and of one call by name."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.core.errors import StoreError
from gateway.core.plain_files import open_plain
from gateway.core.value import Value
from gateway.sandbox.changes.drafted import Drafted, drafted
from gateway.sandbox.changes.leaving import GIT, changes, left
from gateway.sandbox.changes.runs_later import runs_later
from gateway.sandbox.changes.saver import copied, stored
from gateway.sandbox.changes.state import FILE, FOLDER
from gateway.sandbox.changes.store import DRAFT, ChangeSet
from gateway.sandbox.changes.unfinished import finish_orphans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.sandbox.changes.state import Stamp
    from gateway.sandbox.changes.store import Store

NEW, CHANGED, DELETED, MODE = "new", "changed", "deleted", "mode"
MOST_SHOWN = 256 << 10  # bytes of a file whose text is compared


class Change(Value):
    """What became of one name. `path`: from the project's root; `what`: new, changed, deleted or mode; `later`: why it
    may be started or obeyed later; `executable`: whether it can be started now; `before` and `after`: its texts, None
    where they are not compared, because it is no text, too large, or not kept."""

    path: str
    what: str
    kind: str
    was: int
    now: int
    later: str = ""
    executable: bool = False
    before: str | None = None
    after: str | None = None


class Listed(Value):
    """One call and what it changed: what runs later first. `git`: names in repositories' own folders, which are not
    listed one by one; `missed`: what was not saved, with the reason."""

    of: ChangeSet
    changes: tuple[Change, ...]
    git: int
    missed: tuple[tuple[str, str], ...]

    @property
    def is_draft(self) -> bool:
        """Whether nobody has decided yet: what changed lies in a layer, not in the project."""
        return self.of.state == DRAFT


def listed(store: Store) -> list[Listed]:
    """All calls of a project that changed something, the oldest first. Raises StoreError."""
    finish_orphans(store)
    found = []
    for each in store.sets():
        with suppress(StoreError):  # one that cannot be read is told by who asks for it
            found.append(_listed(store, each, texts=False))
    return found


def shown(store: Store, number: int) -> Listed:
    """One call, with texts. Raises StoreError where there is none."""
    finish_orphans(store)
    return _listed(store, store.checked(number), texts=True)


def _listed(store: Store, made: ChangeSet, *, texts: bool) -> Listed:
    if made.state == DRAFT:
        return draft_listed(drafted(store, made.number), texts=texts)
    before = store.before(made.number)
    after = store.after(made.number)
    old = store.path(made.number, "old")
    found = changes(before, left(before) if after is None else after, old)
    every, git = [], 0
    for path, (was, now) in found.items():
        if f"/{GIT}/" in f"{path}/":
            git += 1
        else:
            every.append(_change(path, was, now, made, _kept_at(was, old), path, texts=texts))
    every.sort(key=lambda change: (not change.later, change.path))
    return Listed(made, tuple(every), git, tuple(sorted(before.missed.items())))


def packed(found: list[Listed]) -> list[Any]:
    """As plain data, for whoever cannot look for themselves."""
    return [
        [
            each.of.as_dict(),
            [change.as_dict() for change in each.changes],
            each.git,
            [list(pair) for pair in each.missed],
        ]
        for each in found
    ]


def unpacked(data: Any) -> list[Listed]:
    """What was packed."""
    return [
        Listed(
            ChangeSet(**of), tuple(Change(**each) for each in every), git, tuple((path, why) for path, why in missed)
        )
        for of, every, git, missed in data
    ]


def draft_listed(found: Drafted, *, texts: bool) -> Listed:
    """What keeping a draft would change in the project, whatever is in the way: what runs later first, then what can be
    started, then what goes."""
    made = found.of
    inside = tuple(f"{root}/" for root, _dev, _ino in made.roots)
    every, git = [], 0
    for node in found.all():
        if not node.path.startswith(inside):
            continue  # in the session's temporary folder
        if f"/{GIT}/" in f"{node.path}/":
            git += 1
        elif not (node.was is None and node.now is not None and node.now.kind == FOLDER and node.below):
            change = _change(node.path, node.was, node.now, made, node.path, node.place, texts=texts)
            every.append(change.replace(what=MODE, before=None, after=None) if node.says_the_same else change)
    every.sort(key=lambda change: (not change.later, not change.executable, change.what != DELETED, change.path))
    stays = {**found.conflicts, **found.never}
    return Listed(made, tuple(every), git, tuple(sorted(stays.items())))


def _kept_at(was: Stamp | None, old: str) -> str:
    """Where what a call has changed is kept, "" for nowhere."""
    if was is None:
        return ""
    places = [os.path.join(old, name) for name in (copied(was.inode), stored(was.inode))]
    return next((place for place in places if os.path.lexists(place)), "")


def _change(
    path: str, was: Stamp | None, now: Stamp | None, made: ChangeSet, before: str, after: str, *, texts: bool
) -> Change:
    """`before` and `after`: where what it said and what it says lie."""
    what = NEW if was is None else DELETED if now is None else CHANGED
    if was is not None and now is not None and _but_mode(was) == _but_mode(now):
        what = MODE
    stamp = now or was
    assert stamp is not None
    name = path[len(made.project) + 1 :] if path.startswith(f"{made.project}/") else path
    change = Change(
        name, what, stamp.kind, was=was.size if was is not None else 0, now=now.size if now is not None else 0,
        later=runs_later(name, was.mode if was is not None and was.kind == FILE else 0),
        executable=now is not None and now.kind == FILE and bool(now.mode & 0o111),
    )  # fmt: skip
    if not texts or stamp.kind == FOLDER or what == MODE:
        return change
    return change.replace(before=_text(was, before), after=_text(now, after))


def _but_mode(stamp: Stamp) -> Stamp:
    return stamp.replace(mode=0) if stamp.kind != FOLDER else stamp.replace(mode=0, dev=0, ino=0)


def _text(stamp: Stamp | None, place: str) -> str | None:
    if stamp is None:
        return ""
    if stamp.target:
        return f"-> {stamp.target}\n"
    if stamp.kind != FILE or not place or stamp.size > MOST_SHOWN:
        return None
    if not stamp.size:
        return ""
    try:
        with open_plain(place) as file:
            data = file.read(MOST_SHOWN + 1)
        return None if b"\0" in data or len(data) > MOST_SHOWN else data.decode()
    except (OSError, UnicodeDecodeError):
        return None
