"""`${…}`: which variable it reads, what it may run, and its value where that is plain."""

from __future__ import annotations

import re

from gateway.model.effect import HOLE
from gateway.shell.arithmetic import evaluate, plain_subscript
from gateway.shell.folding import folded
from gateway.shell.simple import bracket_end
from gateway.shell.state import ASSIGNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.regions import Region
    from gateway.shell.walk_state import WalkState

_HEAD = re.compile(r"(#|!)?([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?$!@*#-])")
_PLAIN_PART = re.compile(r":[ ]*[0-9]+(?::[0-9]+)?\Z|: -[0-9]+\Z")
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


def parameter(walk: WalkState, region: Region) -> tuple[str, bool]:
    """The value (with `HOLE`) of `${…}`, and whether it may be several words in double quotes."""
    text = walk.text
    children = {child.start: child for child in region.children}
    start, end = region.inner, region.stop
    inside = text[start:end]
    if inside.isidentifier() and inside.isascii():
        return walk.variable(inside, region.start, region.end), False
    if inside == "#" or inside in ("?", "$", "!", "-", "*", "#?", "#$", "#!", "##", "#-", "#@", "#*"):
        return HOLE, False
    if inside == "@":
        return HOLE, True
    head = _HEAD.match(inside)
    if not head or inside[0] in " \t\n|":
        walk.unknown("an expansion that is not understood", region.start, region.end)
        _consume(walk, region)
        return HOLE, True
    prefix, name = head[1] or "", head[2]
    at = start + head.end()
    several = name == "@" or (prefix == "!" and inside[-1:] == "@")
    subscript = ""
    if at < end and text[at] == "[":
        close = bracket_end(text, at, end, children)
        if close < 0:
            walk.unknown("a subscript that is not understood", region.start, region.end)
            _consume(walk, region)
            return HOLE, True
        subscript = text[at + 1 : close]
        _subscript(walk, name, at + 1, close, region)
        several = several or subscript in ("@", "*")
        at = close + 1
    rest = text[at:end]
    if prefix == "#":
        walk.read_variable(name, region.start, region.end)
        if rest:
            walk.unknown("an expansion that is not understood", region.start, region.end)
            _consume(walk, region)
        return HOLE, False
    if prefix == "!":
        if rest in ("*", "@") and not subscript:
            return HOLE, rest == "@"
        if subscript in ("@", "*") and not rest:
            walk.read_variable(name, region.start, region.end)
            return HOLE, True
        walk.unknown("an indirect expansion", region.start, region.end)
        _consume(walk, region)
        return HOLE, True
    value = HOLE if subscript or not (name[0].isalpha() or name[0] == "_") else walk.variable(
        name, region.start, region.end
    )  # fmt: skip
    return _operator(walk, region, name, value, at, bool(subscript)), several


def _operator(walk: WalkState, region: Region, name: str, value: str, at: int, element: bool) -> str:
    text, end = walk.text, region.stop
    rest = text[at:end]
    if not rest:
        return value
    children = {child.start: child for child in region.children if child.start >= at}
    first = rest[0]
    if first == "@":
        if rest not in ("@Q", "@E", "@A", "@K", "@k", "@a", "@U", "@u", "@L"):
            walk.unknown("an expansion that evaluates its value", region.start, region.end)
        return HOLE
    if first == ":" and rest[1:2] not in ("-", "=", "?", "+"):
        if not _PLAIN_PART.match(rest):
            walk.may_fail()
        problem = evaluate(walk, at + 1, end, children)
        if problem:
            walk.unknown(problem, region.start, region.end)
        return _folded(rest, value, element)
    consumed_variables(walk, at, end, region)
    for child in children.values():
        walk.region(child)
    operator = rest[1] if first == ":" else first
    if operator not in "-=?+#%/^,~":
        walk.unknown("an expansion that is not understood", region.start, region.end)
        return HOLE
    if operator == "=":
        walk.set_variable(name, ASSIGNED, region.start, region.end)
    if operator in "-=?" and value and HOLE not in value and not element:
        return value
    return _folded(rest, value, element)


def _folded(rest: str, value: str, element: bool) -> str:
    result = None if element or HOLE in value else folded(rest, value)
    return HOLE if result is None else result


def _subscript(walk: WalkState, name: str, start: int, end: int, region: Region) -> None:
    children = {child.start: child for child in region.children if start <= child.start < end}
    if name in walk.associative:
        for child in children.values():
            walk.region(child)
        return
    problem = plain_subscript(walk, start, end, children)
    if problem:
        walk.unknown(problem, region.start, region.end)


def _consume(walk: WalkState, region: Region) -> None:
    for child in region.children:
        walk.region(child)


def consumed_variables(walk: WalkState, start: int, end: int, region: Region) -> None:
    """Note the plain `$NAME`s of an operand, where single quotes and nested regions may stand around them."""
    for found in _VARIABLE.finditer(walk.text, start, end):
        if not any(child.start <= found.start() < child.end for child in region.children):
            walk.read_variable(found[1], found.start(), found.end())
