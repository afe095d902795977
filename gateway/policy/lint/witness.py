"""A call that a region's point stands for, written out as people write it: so that the engine can be asked about it."""

from __future__ import annotations

import shlex

from gateway.core.value import Value
from gateway.model.effect import HOLE
from gateway.policy import globs
from gateway.policy.addresses import network, text_of
from gateway.policy.algebra.clauses import at_most
from gateway.policy.algebra.dimensions import BARE, WRITTEN, everything
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import sample
from gateway.policy.algebra.sets import LONE
from gateway.policy.commandpattern import words_of
from gateway.policy.commandreading import SEPARATOR
from gateway.policy.hosts import GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.policy.algebra.regions import Point
    from gateway.policy.lint.clauses import Clause

_PATH_CALLS = {
    "read": ("Read", "Bash(cat {})"),
    "write": ("Write", "Bash(touch {})"),
    "delete": ("", "Bash(rm {})"),
    "list": ("", "Bash(ls {})"),
}
_KINDS = ("read", "write", "delete", "list", "connect", "push", "env")  # those of which a call is known
_MONDAY = 1_736_121_600  # 6 January 2025, 00:00 UTC
# Dimensions that say when and for whom, by the field of a context.
_CIRCUMSTANCES = ("mode", "confined", "depth", "agent", "branch", "cwd")
_OF_ANY_CALL = {"tool", "redirect", "kind", "time", *_CIRCUMSTANCES}


class Shown(Value):
    """A call as `gateway check` takes it, and the circumstances in which it is made, by fields of a context."""

    text: str
    circumstances: tuple[tuple[str, Any], ...] = ()


NONE = Shown("")


def witness(clause: Clause) -> Shown:
    """A call that the clause should match, `NONE` if none can be told from its predicates."""
    try:
        for region in at_most(clause.when, clause.lane, clause.bound.layer):
            point = sample(region, everything)
            if point is not None:
                found = call_at(point, clause.kinds)
                if found != NONE:
                    return found
    except UndecidedError:
        pass
    return NONE


def call_at(point: Point, kinds: Sequence[str]) -> Shown:
    """The call of a point of a clause that speaks of some kinds of effects, `NONE` if it has none that is known."""
    text = _text(point, kinds)
    return Shown(text, _circumstances(point)) if text else NONE


def _text(point: Point, kinds: Sequence[str]) -> str:
    words = _words(point)
    path = point.given("path")
    if words:
        words += [dimension[7:] for dimension in point.region if dimension.startswith("option:")]
        if path is not None and "exec:0" in point.region and point.given("command") is None:
            words.append(path or "/")
        return f"Bash({shlex.join(words)})" if words[0] and all(map(str.isprintable, words)) else ""
    kind = next((each for each in _KINDS if each in kinds and _is_given(point, each)), "")
    tool = point.given("tool") or ""
    if path is not None:
        return _touching(kind, tool, path or "/")
    host = point.given("host")
    if host is not None:
        return _reaching(point, tool, host)
    if kind == "push" and len(kinds) == 1:
        forced = ["-f"] if point.given("force") else []
        return f"Bash({shlex.join(['git', 'push', *forced, *_remote(point)])})"
    if kind == "env" and len(kinds) == 1:
        name = point.given("name") or "X"
        if not name.isidentifier():
            return ""
        return f"Bash(export {name}=x)" if point.given("access") == "set" else f"Bash(echo ${name})"
    return tool if tool.isprintable() and set(point.region) <= _OF_ANY_CALL else ""


def _is_given(point: Point, kind: str) -> bool:
    return "kind" not in point.region or bool(point.region["kind"].holds(kind))


def _words(point: Point) -> list[str]:
    command = point.given("command")
    if command is not None:
        return list(command.split(HOLE))
    for view in (WRITTEN, BARE):
        text = point.given(view)
        if text and (view == WRITTEN or point.given("exec:0") is None):
            return list(text[1:-1].split(SEPARATOR + SEPARATOR))
    words: list[str] = []
    while (word := point.given(f"exec:{len(words)}")) is not None:
        words.append(word)
    return words


def _touching(kind: str, tool: str, path: str) -> str:
    named, command = _PATH_CALLS.get(kind, ("", ""))
    if tool not in ("", "Bash"):
        return f"{tool}({path})" if _is_plain(path) else ""
    if named and not tool and _is_plain(path):
        return f"{named}({path})"
    return command.format(shlex.quote(path)) if path.isprintable() and path.isascii() else ""


def _is_plain(path: str) -> bool:
    return all(char.isalnum() or char in "/._-" for char in path)


def _reaching(point: Point, tool: str, host: Any) -> str:
    if host == LONE:
        return ""
    name = host if isinstance(host, str) else text_of(*host)
    name = f"[{name}]" if ":" in name else name
    port = point.given("port")
    url = f"https://{name}{f':{port}' if isinstance(port, int) else ''}/"
    direction = point.given("direction") or "fetch"
    if direction == "fetch":
        return f"Bash(curl {url})" if tool == "Bash" else f"WebFetch({url})"
    return f"Bash(curl -d x {url})" if direction == "send" else ""


def _remote(point: Point) -> list[str]:
    return [point.given("remote") or "origin", point.given("ref") or "topic"]


def _circumstances(point: Point) -> tuple[tuple[str, Any], ...]:
    found = [(name, value) for name in _CIRCUMSTANCES if (value := point.given(name)) is not None]
    minute = point.given("time")
    return tuple(found) if minute is None else (*found, ("now", float(_MONDAY + 60 * minute)))


def example_words(pattern: str) -> list[str]:
    """The words of a command that a pattern matches."""
    words, _rest = words_of(pattern)
    return ["".join("x" if atom is None or atom is False else atom for atom in word) for word in words]


def example_host(pattern: str) -> str:
    """A host that a pattern matches."""
    first = GROUPS.get(pattern.lower(), (pattern,))[0]
    found = network(first)
    return first.replace("*", "x") if found is None else text_of(found[0], found[1])


def example_path(pattern: str) -> str:
    """A path that a normalised pattern matches: deep enough that a narrower pattern's would not do."""
    segments: list[Any] = []
    for segment in pattern.split("/"):
        if segment == "**":
            segments += ["x", "y"]
        elif segment:
            literal = globs.literal(globs.compile_segment(segment))
            segments.append(literal if literal is not None else segment.replace("*", "x").replace("?", "x"))
    return "/" + "/".join(segments)
