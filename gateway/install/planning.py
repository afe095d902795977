"""What would change on the disk, for putting in and for taking out. Looks at files and writes none."""

from __future__ import annotations

import hashlib
import os

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.install import files
from gateway.install.pieces import TEXT, Made, Target, opened, own_pieces, put, take
from gateway.install.receipts import Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OWN_MARK = ("// Written by `gateway init", "# Written by `gateway init")


class Plan(Value):
    """Changes of files, the receipt that stands for them afterwards, what a person should know, and folders that were
    made once and may go."""

    changes: tuple[files.Change, ...] = ()
    receipt: Mapping[str, Kept] = {}
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def to_put(targets: Sequence[Target], receipt: Mapping[str, Kept], stay: Sequence[str] = ()) -> Plan:
    """Everything that is wanted put in, and what was put in before and is not wanted any more taken out, but for the
    files of ours that `stay` as they are. Raises ConfigError; then nothing may be written."""
    changes: list[files.Change] = []
    kept = dict(receipt)
    notes: list[str] = []
    folders: list[str] = []
    wanted = _joined(targets)
    for target in wanted:
        real, before = files.read(target.path)
        old = kept.get(target.path) or Kept(target.form, created=before is None)
        if target.form == TEXT:
            if before is not None and not before.startswith(OWN_MARK) and before != target.content:
                problem = Problem("must not be anybody else's file", file=target.path, remedy="move it away")
                raise ConfigError(problem)
            after, now = target.content, old.replace(content=digest(target.content))
        else:
            after, made = put(target, before or "", old.made)
            now = old.replace(made=made)
        if after != (before or ""):
            changes.append(files.Change(target.path, real, before, after))
        folders = old.folders or _missing(os.path.dirname(real))  # type: ignore[assignment]
        if made_something(now):
            kept[target.path] = now.replace(folders=tuple(folders))
    for path in [path for path in receipt if path not in {*stay, *(each.path for each in wanted)}]:
        gone, more = _taken(path, kept.pop(path))
        changes += gone
        notes += more
    return Plan(tuple(changes), kept, tuple(notes))


def made_something(kept: Kept) -> bool:
    """Whether there is anything to be taken out again."""
    return bool(kept.content or kept.made.pieces)


def to_take(targets: Sequence[Target], receipt: Mapping[str, Kept]) -> Plan:
    """Everything that was put in taken out: by the receipt, and where there is none by what is recognised."""
    found = dict(receipt)
    for target in _joined(targets):
        if target.path not in found:
            known = _recognised(target)
            if known is not None:
                found[target.path] = known
    changes: list[files.Change] = []
    notes: list[str] = []
    folders: list[str] = []
    for path, kept in found.items():
        gone, more = _taken(path, kept)
        changes += gone
        notes += more
        folders += kept.folders
    return Plan(tuple(changes), {}, tuple(notes), tuple(folders))


def _joined(targets: Sequence[Target]) -> tuple[Target, ...]:
    """One target for each file."""
    found: dict[str, Target] = {}
    for each in targets:
        known = found.get(each.path)
        found[each.path] = each if known is None else known.replace(pieces=(*known.pieces, *each.pieces))
    return tuple(found.values())


def _recognised(target: Target) -> Kept | None:
    """What of ours stands in a file of which there is no receipt."""
    _real, text = files.read(target.path)
    if text is None:
        return None
    if target.form == TEXT:
        return Kept(TEXT, created=True, content=digest(text)) if text.startswith(OWN_MARK) else None
    made = own_pieces(target.form, text, target.path, target)
    return Kept(target.form, made) if made.pieces else None


def _taken(path: str, kept: Kept) -> tuple[list[files.Change], tuple[str, ...]]:
    """The changes that take out what was put into a file, and what stays. What others have written is kept."""
    real, text = files.read(path)
    if text is None:
        return [], ()
    if kept.form == TEXT:
        if digest(text) == kept.content:
            return [files.Change(path, real, text, None)], ()
        if not text.startswith(OWN_MARK):
            return [], (f"{path} was replaced by somebody and stays",)
        copy = f"{path}.edited"
        place, known = files.read(copy)
        if place != os.path.join(os.path.dirname(real), os.path.basename(copy)):
            problem = Problem("must not be a link", file=copy, remedy=f"move it away: {path} is to be kept there")
            raise ConfigError(problem)
        saved = files.Change(copy, place, known, text)
        return [saved, files.Change(path, real, text, None)], (f"{path} was changed since: it is kept as {copy}",)
    after, left = take(kept.form, text, path, kept.made)
    notes = tuple(f"{path}: {each}" for each in left)
    if kept.created and _is_empty(kept.form, after, path):
        return [files.Change(path, real, text, None)], notes
    return ([files.Change(path, real, text, after)] if after != text else []), notes


def _is_empty(form: str, text: str, path: str) -> bool:
    """Whether nothing stands in a file but what its form demands."""
    without = text.strip()
    return opened(form, text, path).get(()) == {} and (
        "//" not in without and "/*" not in without and "#" not in without
    )


def digest(text: str) -> str:
    """What a file that is wholly ours is known by."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _missing(folder: str) -> list[str]:
    found = []
    while folder != "/" and not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found[::-1]


__all__ = ["Made", "Plan", "to_put", "to_take"]
