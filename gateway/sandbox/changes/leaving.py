"""What a call left under each name that it touched, and below each folder that it made: what undoing compares with."""

from __future__ import annotations

from gateway.core.plain_files import open_plain
from gateway.sandbox.changes.closed_folders import reached
from gateway.sandbox.changes.looking import below, look
from gateway.sandbox.changes.runs_later import runs_later
from gateway.sandbox.changes.saver import copied
from gateway.sandbox.changes.state import FILE, FOLDER, Stamp, is_same
from gateway.sandbox.changes.stored_bytes import size_of
from gateway.sandbox.drafts import is_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.sandbox.changes.store import Before, ChangeSet, Store

GIT = ".git"
# What says which commits there are. Whoever commits writes one of them.
_HEADS = ("HEAD", "ORIG_HEAD", "packed-refs", "logs/HEAD")
_REFS = "refs"
_MOST_LATER = 200


def left(before: Before, is_in_area: Callable[[str], bool] = lambda _path: True) -> dict[str, Stamp | None]:
    """Of each name that was touched what stands there now; with all that lies in folders that came with the call."""
    found: dict[str, Stamp | None] = {}
    for path, was in before.was.items():
        now = found[path] = _look(path)
        if now is not None and now.kind == FOLDER and is_new(path, was, now, before):
            found.update((each, stamp) for each, stamp in below(path) if each not in before.was and is_in_area(each))
    for path in list(found):
        git = git_of(path)
        if git:
            found.update((each, _look(each)) for each in heads(git) if each not in found)
    return found


def _look(path: str) -> Stamp | None:
    """What stands there, None also where nobody can tell: undoing asks again, and leaves it as it is."""
    try:
        return look(path)
    except OSError:
        return None


def is_new(path: str, was: Stamp | None, now: Stamp, before: Before) -> bool:
    """Whether a folder came with the call, with all that lies in it."""
    return was is None or was.kind != FOLDER or path in before.moved or was.inode != now.inode


def git_of(path: str) -> str:
    """The repository's own folder that a path is in or is, "" for none."""
    parts = path.split("/")
    return "/".join(parts[: parts.index(GIT) + 1]) if GIT in parts else ""


def heads(git: str) -> list[str]:
    """The files of a repository that say which commits there are."""
    found = [f"{git}/{name}" for name in _HEADS]
    return found + [path for path, stamp in below(f"{git}/{_REFS}") if stamp.kind == FILE]


def changes(before: Before, after: dict[str, Stamp | None], old: str) -> dict[str, tuple[Stamp | None, Stamp | None]]:
    """What the call changed: of each name what stood there before and after. Folders on the way are none."""
    found: dict[str, tuple[Stamp | None, Stamp | None]] = {}
    for path, now in after.items():
        if path not in before.was:
            if git_of(path) and not _in_new(path, before, after):
                continue  # a head of the repository that was not touched
            found[path] = (None, now)
            continue
        was = before.was[path]
        if was is None and now is None:
            continue
        if not is_same(was, now, as_it_was={}) or _was_moved(path, was, before):
            found[path] = (was, now)
        elif was is not None and was.kind == FILE and was.inode in before.copied and not _equal(path, was, old):
            found[path] = (was, now)  # within one step of the clock
    return found


def _was_moved(path: str, was: Stamp | None, before: Before) -> bool:
    return path in before.moved and was is not None


def _in_new(path: str, before: Before, after: dict[str, Stamp | None]) -> bool:
    above = path.rpartition("/")[0]
    while above:
        if above in before.was:
            was, now = before.was[above], after.get(above)
            return now is not None and now.kind == FOLDER and is_new(above, was, now, before)
        above = above.rpartition("/")[0]
    return False


def _equal(path: str, was: Stamp, old: str) -> bool:
    try:
        with reached(path), open_plain(path) as one, open(f"{old}/{copied(was.inode)}", "rb") as other:
            while True:
                ours, theirs = one.read(1 << 20), other.read(1 << 20)
                if ours != theirs:
                    return False
                if not ours:
                    return True
    except OSError:
        return False


def finish(store: Store, made: ChangeSet, *, may_come: bool = False) -> ChangeSet | None:
    """Writes down what a call left, once it has ended; None where it changed nothing, and nothing is kept of it.
    `may_come`: nobody knows that it has ended; without a change it is left as it is."""
    from gateway.sandbox.changes.store import KEPT, RUNNING

    if made.state == RUNNING and made.began:
        if is_empty(store.path(made.number, "draft")):
            store.remove(made.number)
            return None
        return leave_draft(store, made)
    before = store.before(made.number)
    after = left(before)
    changed = changes(before, after, store.path(made.number, "old"))
    if not changed and not before.missed:
        if may_come:
            return None
        store.remove(made.number)
        return None
    store.put_after(made.number, after)
    made = made.replace(
        state=KEPT, bytes=size_of(store.path(made.number, "old")), later=_unannounced(made, changed)[:_MOST_LATER]
    )
    with store.locked():
        store.put(made)
        store.grown(made.bytes)
    return made


def leave_draft(store: Store, made: ChangeSet) -> ChangeSet:
    """The call that wrote to layers has ended, and nobody has decided yet what becomes of them."""
    from gateway.sandbox.changes.store import DRAFT

    made = made.replace(state=DRAFT, bytes=size_of(store.path(made.number, "draft")))
    with store.locked():
        store.put(made)
        store.grown(made.bytes)
    return made


def _unannounced(made: ChangeSet, changed: dict[str, tuple[Stamp | None, Stamp | None]]) -> tuple[str, ...]:
    """What runs later of what a call changed without having said so beforehand: its code did."""
    inside = f"{made.project}/"
    found = []
    for path, (was, now) in changed.items():
        if now is None or now.kind == FOLDER or path in made.named or git_of(path) or not path.startswith(inside):
            continue
        name = path[len(inside) :]
        if runs_later(name, was.mode if was is not None and was.kind == FILE else 0):
            found.append(name)
    return tuple(sorted(found))
