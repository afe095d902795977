"""Patterns of paths as Glob takes them: `*`, `?`, `[…]` and `\\` within a folder, `**` across folders, braces.

Matching is linear in the path whatever the pattern: no part of it is ever tried twice.
"""

from __future__ import annotations

from itertools import pairwise

from gateway.policy import globs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_ALTERNATIVES = 256
MOST_LENGTH = 4096
_ANY = "**"


def matcher(pattern: str) -> Callable[[str], bool]:
    """Tells of relative paths whether they match. Raises ValueError for a pattern that cannot be read."""
    if len(pattern) > MOST_LENGTH:
        raise ValueError(f"it must have at most {MOST_LENGTH} characters (got {len(pattern)})")
    tests = [_Test(each) for each in dict.fromkeys(alternatives(pattern))]
    if len(tests) == 1:
        return tests[0].matches
    return lambda path: any(test.matches(path) for test in tests)


def alternatives(pattern: str) -> list[str]:
    """The patterns without braces that one with braces stands for. A backslash makes a brace or comma literal; braces
    without a comma are literal too, as in the shell. Raises ValueError for too many."""
    found: list[str] = []
    pending = [pattern]
    while pending:
        text = pending.pop()
        opened = _first_braces(text)
        if opened is None:
            found.append(text)
        else:
            start, end, cuts = opened
            edges = [start, *cuts, end]
            pieces = [text[a + 1 : b] for a, b in pairwise(edges)]
            pending += [text[:start] + piece + text[end + 1 :] for piece in reversed(pieces)]
        if len(found) + len(pending) > MOST_ALTERNATIVES:
            raise ValueError(f"the braces must stand for at most {MOST_ALTERNATIVES} patterns")
    return found


def _first_braces(text: str) -> tuple[int, int, list[int]] | None:
    """Where the first braces with a comma open and close, and their own commas."""
    stack: list[tuple[int, list[int]]] = []
    found: tuple[int, int, list[int]] | None = None
    for at, char in _unescaped(text):
        if char == "{":
            stack.append((at, []))
        elif char == "," and stack:
            stack[-1][1].append(at)
        elif char == "}" and stack:
            start, cuts = stack.pop()
            if cuts and (found is None or start < found[0]):
                found = (start, at, cuts)
    return found


def _unescaped(text: str) -> Iterator[tuple[int, str]]:
    """The characters that mean something, with their places: none behind a backslash, none in a class."""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "[":
            end = text.find("]", at + (3 if text[at + 1 : at + 2] in ("!", "^") else 2))
            if end > 0:
                at = end + 1
                continue
        yield at, char
        at += 1


class _Test:
    """One pattern without braces."""

    def __init__(self, pattern: str) -> None:
        segments = [each for each in pattern.split("/") if each not in ("", ".")]
        # A literal brace is left over from one without a comma; to `compile_segment` it is any other character.
        self._segments = [None if each == _ANY else globs.compile_segment(each) for each in segments]
        if segments and segments[-1] == _ANY:
            self._segments.append(globs.compile_segment("*"))
        last = self._segments[-1] if self._segments else None
        tail = last[-1] if last else ""
        self._tail = tail if isinstance(tail, str) else ""
        self._is_name = len(self._segments) == 2 and self._segments[0] is None

    def matches(self, path: str) -> bool:
        """Whether the whole relative path matches."""
        if not path.endswith(self._tail):
            return False
        segments = self._segments
        if self._is_name:
            return globs.matches(segments[1], path.rpartition("/")[2])  # type: ignore[arg-type]
        names = path.split("/")
        places = _closure({0}, segments)
        for name in names:
            reached = set()
            for place in places:
                if place == len(segments):
                    continue
                segment = segments[place]
                if segment is None:
                    reached.add(place)
                elif globs.matches(segment, name):
                    reached.add(place + 1)
            if not reached:
                return False
            places = _closure(reached, segments)
        return len(segments) in places


def _closure(places: set[int], segments: list[globs.Glob | None]) -> set[int]:
    """The places in a pattern that are reached when `**` may also stand for nothing."""
    found = set(places)
    for place in places:
        while place < len(segments) and segments[place] is None:
            place += 1
            found.add(place)
    return found
