"""The changes of a project as they are shown: by call, and of one call by name."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.changes.leaving import GIT, changes, finish_orphans, left
from gateway.changes.runs_later import runs_later
from gateway.changes.saver import copied, stored
from gateway.changes.state import FILE, FOLDER
from gateway.core.errors import StoreError
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.changes.state import Stamp
    from gateway.changes.store import ChangeSet, Store

NEW, CHANGED, DELETED, MODE = "new", "changed", "deleted", "mode"
MOST_SHOWN = 256 << 10  # bytes of a file whose text is compared


class Change(Value):
    """What became of one name. `path`: from the project's root; `what`: new, changed, deleted or mode; `later`: why it
    may be started or obeyed later; `before` and `after`: its texts, None where they are not compared, because it is no
    text, too large, or not kept."""

    path: str
    what: str
    kind: str
    was: int
    now: int
    later: str = ""
    before: str | None = None
    after: str | None = None


class Listed(Value):
    """One call and what it changed: what runs later first. `git`: names in repositories' own folders, which are not
    listed one by one; `missed`: what was not saved, with the reason."""

    of: ChangeSet
    changes: tuple[Change, ...]
    git: int
    missed: tuple[tuple[str, str], ...]


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
    made = store.get(number)
    if made is None:
        raise StoreError(f"there are no changes {number}", "see `gateway changes`")
    return _listed(store, made, texts=True)


def _listed(store: Store, made: ChangeSet, *, texts: bool) -> Listed:
    before = store.before(made.number)
    after = store.after(made.number)
    old = store.path(made.number, "old")
    found = changes(before, left(before) if after is None else after, old)
    every, git = [], 0
    for path, (was, now) in found.items():
        if f"/{GIT}/" in f"{path}/":
            git += 1
        else:
            every.append(_change(path, was, now, made, old, texts=texts))
    every.sort(key=lambda change: (not change.later, change.path))
    return Listed(made, tuple(every), git, tuple(sorted(before.missed.items())))


def _change(path: str, was: Stamp | None, now: Stamp | None, made: ChangeSet, old: str, *, texts: bool) -> Change:
    what = NEW if was is None else DELETED if now is None else CHANGED
    if was is not None and now is not None and was.replace(mode=0) == now.replace(mode=0):
        what = MODE
    stamp = now or was
    assert stamp is not None
    name = path[len(made.project) + 1 :] if path.startswith(f"{made.project}/") else path
    change = Change(
        name, what, stamp.kind, was=was.size if was is not None else 0, now=now.size if now is not None else 0,
        later=runs_later(name, was.mode if was is not None and was.kind == FILE else 0),
    )  # fmt: skip
    if not texts or stamp.kind == FOLDER or what == MODE:
        return change
    kept = ""
    if was is not None:
        places = [os.path.join(old, name) for name in (copied(was.inode), stored(was.inode))]
        kept = next((place for place in places if os.path.lexists(place)), "")
    return change.replace(before=_text(was, kept), after=_text(now, path))


def _text(stamp: Stamp | None, place: str) -> str | None:
    if stamp is None:
        return ""
    if stamp.target:
        return f"-> {stamp.target}\n"
    if stamp.kind != FILE or not place or stamp.size > MOST_SHOWN:
        return None
    try:
        with open(place, "rb") as file:
            data = file.read(MOST_SHOWN + 1)
        return None if b"\0" in data or len(data) > MOST_SHOWN else data.decode()
    except (OSError, UnicodeDecodeError):
        return None
