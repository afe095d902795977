"""`~` at the start of words and values, and behind the colons of values."""

from __future__ import annotations

import re

from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.pieces import Host, Piece

_ASSIGNED_TILDE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*\+?=)~")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=(?(1)~)")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


def tilde_pieces(
    host: Host, pieces: list[Piece], *, assignment: bool = False, value: bool = False, bare: bool = False
) -> list[Piece]:
    """The pieces with `~` expanded at the start; in a `value`, also behind each colon. `assignment`: a declaration's
    argument, where the value behind the first `=` counts as one. `bare`: only at the start, whatever it looks like."""
    if not pieces or pieces[0][0] != "u":
        return _colon_tildes(host, pieces) if value else pieces
    first = pieces[0][1]
    if first[0] == "~":
        if not value and ":" in first.partition("/")[0]:
            return [("x", HOLE)]  # bash then leaves the rest of the word as it is, or not
        pieces = _tilde(host, pieces, "", value)
    elif not value and not bare and (found := _ASSIGNED_TILDE.match(first)):
        head = found[1]
        pieces = _tilde(host, [("u", first[len(head) :]), *pieces[1:]], head, True)
        value = assignment
    if not value and not assignment and (found := _ASSIGNMENT.match(first)):
        rest = [first[found.end() :], *(part for kind, part in pieces[1:] if kind == "u")]
        if found[1] or any(":~" in part or "=~" in part for part in rest):
            return [("x", HOLE)]  # whether bash takes it for an assignment depends on what follows
    return _colon_tildes(host, pieces) if value or (assignment and "=" in first) else pieces


def _tilde(host: Host, pieces: list[Piece], head: str, colon: bool) -> list[Piece]:
    first = pieces[0][1]
    stop = len(first)
    for mark in "/:" if colon else "/":
        at = first.find(mark)
        if 0 <= at < stop:
            stop = at
    name = first[1:stop]
    start: list[Piece] = [("u", head)] if head else []
    if (stop == len(first) and len(pieces) > 1) or not (name in ("", "+", "-") or name.isdigit() or _USER.match(name)):
        return [*start, *pieces]
    home = host.tilde(name)
    rest: list[Piece] = [("u", first[stop:])] if stop < len(first) else []
    if rest and home == "/" and rest[0][1].startswith("/"):
        home = ""
    return [*start, ("q", home), *rest, *pieces[1:]]


def _colon_tildes(host: Host, pieces: list[Piece]) -> list[Piece]:
    if not any(kind == "u" and ":~" in part for kind, part in pieces):
        return pieces
    result: list[Piece] = []
    for index, (kind, part) in enumerate(pieces):
        if kind != "u" or ":~" not in part:
            result.append((kind, part))
            continue
        head, *rest = part.split(":~")
        result.append(("u", head + ":"))
        for position, piece in enumerate(rest):
            last = position == len(rest) - 1
            result += _tilde(
                host, [("u", "~" + piece), *([("q", "")] if last and index + 1 < len(pieces) else [])], "", True
            )
            if not last:
                result.append(("u", ":"))
    return result
