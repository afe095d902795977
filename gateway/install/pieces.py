"""What is put into a settings file, piece by piece, and how exactly that is found and taken out again. Pure."""

from __future__ import annotations

import json

from gateway.core.value import Value
from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.own_hooks import is_own
from gateway.install.toml import TomlDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Document = JsonDocument | TomlDocument

JSON, TOML, TEXT = "json", "toml", "text"


class Entry(Value):
    """An item of the list at a path of keys. One of ours that stands there already in another form gives way to it."""

    at: tuple[str, ...]
    value: Any


class Member(Value):
    """A key of the object at a path of keys, with its value. `form`: the file's own form demands it, so it stays as
    long as anything else stands there."""

    at: tuple[str, ...]
    key: str
    value: Any
    form: bool = False


class Target(Value):
    """A file and what has to be in it. `form`: json, toml, or text, which is a file of our own with this `content`."""

    path: str
    form: str
    pieces: tuple[Entry | Member, ...] = ()
    content: str = ""


class Made(Value):
    """What was put into a file: pieces, for members what stood there before, and the containers that were made for
    them, outermost first."""

    pieces: tuple[Entry | Member, ...] = ()
    before: tuple[tuple[tuple[str, ...], str], ...] = ()
    containers: tuple[tuple[str, ...], ...] = ()


def put(target: Target, text: str, made: Made) -> tuple[str, Made]:
    """The file with every piece in it, and all that is ours in it now. `made`: what had been put in before: what of it
    is not wanted any more is taken out. Raises ConfigError."""
    stay: list[Entry | Member] = []
    go: list[Entry | Member] = []
    for each in made.pieces:
        (stay if each in target.pieces else go).append(each)
    kept, gone = made.replace(pieces=tuple(stay)), made.replace(pieces=tuple(go), containers=())
    # An entry in an older form is replaced where it stands; what is left of the older pieces goes.
    document = opened(target.form, text, target.path)
    pieces, before, containers = list(kept.pieces), list(kept.before), list(kept.containers)
    new: list[Entry] = []  # items of one list that come to its end, written together
    for piece in target.pieces:
        if new and (piece.at != new[0].at or isinstance(piece, Member) or is_own(piece.value)):
            _append(document, new)
        if isinstance(piece, Entry):
            containers += document.ensure(piece.at, [])
            items = [*document.get(piece.at), *(each.value for each in new)]
            ours = is_own(piece.value)
            own = [at for at, item in enumerate(items) if is_own(item)] if ours else []
            if piece.value in items:
                if ours:
                    own.remove(items.index(piece.value))
                    if piece not in pieces:
                        pieces.append(piece)
            elif own:
                document.replace(piece.at, own.pop(0), piece.value)
                pieces.append(piece)
            else:
                new.append(piece)
                pieces.append(piece)
            if own:
                _append(document, new)
                document.remove_items(piece.at, own)
        else:
            containers += document.ensure(piece.at, {})
            now = document.get((*piece.at, piece.key))
            if now == piece.value:
                continue
            place = (*piece.at, piece.key)
            known = [each for each in before if each[0] == place]
            if now is not MISSING and not known:
                before.append((place, json.dumps(now)))
            document.set(piece.at, piece.key, piece.value)
            pieces.append(piece)
    _append(document, new)
    if gone.pieces:
        _take(document, gone, skip=target.pieces)
    return document.text, Made(_distinct(pieces), tuple(before), _once(containers))


def _append(document: Document, new: list[Entry]) -> None:
    """Writes what waits for it."""
    if new:
        document.extend(new[0].at, [each.value for each in new])
        new.clear()


def take(form: str, text: str, path: str, made: Made) -> tuple[str, tuple[str, ...]]:
    """The file without what was put in, and what could not be taken out, in words. Raises ConfigError."""
    document = opened(form, text, path)
    left = _take(document, made)
    return document.text, left


def _take(document: Document, made: Made, skip: tuple[Entry | Member, ...] = ()) -> tuple[str, ...]:
    left = []
    before = dict(made.before)
    places = {(each.at, each.key) for each in skip if isinstance(each, Member)}
    lists: dict[tuple[str, ...], set[int]] = {}  # which items of which lists go
    for piece in made.pieces:
        found = document.get(piece.at)
        if isinstance(piece, Entry):
            if found.__class__ is list:
                going = lists.setdefault(piece.at, set())
                there = [(at, item) for at, item in enumerate(found) if at not in going]
                same = [at for at, item in there if item == piece.value]
                if not same and is_own(piece.value):
                    same = [at for at, item in there if is_own(item)]
                going.update(same[:1])
        elif piece.form:
            continue
        elif found.__class__ is dict and piece.key in found and (piece.at, piece.key) not in places:
            place = (*piece.at, piece.key)
            if found[piece.key] != piece.value:
                left.append(f"`{'.'.join(place)}` was changed since and stays")
            elif place in before:
                document.set(piece.at, piece.key, json.loads(before[place]))
            else:
                document.remove_key(piece.at, piece.key)
    for list_at, going in lists.items():
        if going and document.get(list_at).__class__ is list:
            document.remove_items(list_at, going)
    for place in reversed(made.containers):
        if document.get(place) in ([], {}):
            document.remove_key(place[:-1], place[-1])
    demanded = {each.key: each.value for each in made.pieces if isinstance(each, Member) and each.form}
    if demanded and document.get(()) == demanded and not skip:
        for key in demanded:
            document.remove_key((), key)
    return tuple(left)


def own_pieces(form: str, text: str, path: str, target: Target) -> Made:
    """What of ours stands in a file that nobody kept a receipt of: the wanted pieces that are there, and all hooks that
    start the gateway, in the lists that are wanted."""
    document = opened(form, text, path)
    pieces: list[Entry | Member] = []
    containers: list[tuple[str, ...]] = []
    for piece in target.pieces:
        found = document.get(piece.at)
        if isinstance(piece, Entry) and found.__class__ is list:
            pieces += [Entry(piece.at, item) for item in found if item == piece.value or is_own(item)]
        elif isinstance(piece, Member) and found.__class__ is dict and found.get(piece.key) == piece.value:
            pieces.append(piece)
        containers += [piece.at[: depth + 1] for depth in range(len(piece.at))]
    return Made(tuple(pieces), (), _once(containers))


def opened(form: str, text: str, path: str) -> Document:
    """A file that keeps what is not changed. Raises ConfigError."""
    return TomlDocument(text, path) if form == TOML else JsonDocument(text, path)


def _once(paths: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(dict.fromkeys(paths), key=len))


def _distinct(pieces: list[Entry | Member]) -> tuple[Entry | Member, ...]:
    """Each once; values that hold objects cannot be hashed."""
    found: list[Entry | Member] = []
    for each in pieces:
        if each not in found:
            found.append(each)
    return tuple(found)
