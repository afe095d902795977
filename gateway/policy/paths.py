"""Path patterns: gitignore semantics with anchors, and an index over any number of them.

A pattern that matches a folder matches everything below it. Patterns are first made absolute by `normalise`, then
compiled by `build` to plain data that a JSON cache can hold; every other function reads that. Paths are absolute
and lexically normal, and may hold `HOLE` where a part is unknown.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import trie
from gateway.policy.globs import compile_segment, escape, fold_case, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Index = list[Any]

_LONGEST = 4096


def normalise(pattern: str, *, base: str, layer_root: str, home: str, any_depth: bool = False) -> str:
    """The absolute form of a pattern, which is itself a pattern: `//x` of the file system, `~/x` of `home`, `/x` of
    `layer_root`, `./x` and `a/x` of `base`; a single segment (`.env`, `build/`) at any depth below `base`.

    A `/` at the end stays: such a pattern matches folders and what is below them. `any_depth`: `dir/**` holds at
    any depth too (what deny and ask rules of the short form mean by it). Raises ValueError, without the place, for
    what is no pattern or would leave its folder.
    """
    if not pattern:
        raise ValueError("a path pattern must not be empty")
    if HOLE in pattern:
        raise ValueError("a path pattern must not hold a NUL character")
    if len(pattern) > _LONGEST:
        raise ValueError(f"a path pattern must have at most {_LONGEST} characters (got {len(pattern)})")
    if pattern.startswith("!"):
        raise ValueError(
            f"a path pattern must not start with `!`; use `except`, or `\\!` for the character (got `{pattern}`)"
        )
    folder, rest = _anchor(pattern, base, layer_root, home)
    written = [segment for segment in rest.split("/") if segment not in ("", ".")]
    relative = rest is pattern and pattern != "." and not pattern.startswith("./")
    floating = relative and (len(written) == 1 or (any_depth and len(written) == 2 and written[1] == "**"))
    segments = _resolve(written, pattern)
    if not folder.startswith("/"):
        raise ValueError(
            f"a path pattern must have a folder that it is based on, and here there is none (got `{pattern}`)"
        )
    known = [escape(segment) for segment in folder.split("/") if segment]
    if floating:
        segments = ["**", *segments]
    trie.check_size([*known, *segments])
    ending = "/" if segments and rest.endswith("/") else ""
    return "/" + "/".join([*known, *segments]) + ending


def build(patterns: Iterable[tuple[str, int]], *, fold: bool = False) -> Index:
    """The index over `(normalised pattern, id)`. `fold`: letters match in either case, as some file systems have it
    (for rules that forbid)."""
    return trie.build(((*parsed(pattern), number) for pattern, number in patterns), fold=fold)


_built: dict[tuple[tuple[tuple[str, int], ...], bool], Index] = {}
_MOST_BUILT = 1024


def build_once(patterns: tuple[tuple[str, int], ...], *, fold: bool = False) -> Index:
    """The same, for reading only. What was asked for lately is not built again: policies share most of their rules."""
    found = _built.get((patterns, fold))
    if found is None:
        if len(_built) >= _MOST_BUILT:
            _built.clear()
        found = _built[patterns, fold] = build(patterns, fold=fold)
    return found


def lookup(index: Index, path: str, *, folder: bool = True) -> list[int]:
    """The ids of all patterns that match, each once. `folder`: the path may be a folder, so that `build/` matches
    it; without, only what lies below does (allow rules, unless it is known to be one).

    Of a path with unknown parts: those that match whatever the parts are.
    """
    if HOLE in path:
        return lookup_possible(index, path, folder=folder)[0]
    segments = (fold_case(path) if index[1] else path).split("/")
    del segments[0]
    size = len(segments)
    if size and not segments[-1]:
        del segments[-1]
        size -= 1
    found = trie.find(index, segments, size + 1 if folder else size, size)
    return found if len(found) < 2 else sorted(set(found))


def lookup_possible(index: Index, path: str, *, folder: bool = True) -> tuple[list[int], list[int]]:
    """The ids of patterns that match whatever the unknown parts are, and of the others that might match.

    An unknown part may hold `/` and `..`, so nothing before the last one says anything: only what comes after it,
    matched by patterns that hold at any depth of the whole file system, is certain. And since patterns match what
    lies below too, and an unknown part may lead anywhere, every other pattern might match.
    """
    if HOLE not in path:
        return lookup(index, path, folder=folder), []
    root, fold, _order, every = index
    after = path[path.rfind(HOLE) + 1 :]
    partial, *segments = (fold_case(after) if fold else after).split("/")
    known = True
    while ".." in segments:
        del segments[: segments.index("..") + 1]
        known = False
    segments = [segment for segment in segments if segment not in ("", ".")]
    certain: list[int] = []
    rest = root[1]
    if rest is not None:
        size = len(segments)
        limit = size + 1 if folder else size
        trie.ending(rest, 0, 0, min(size, 1), certain)
        deep = rest[3]
        if deep is not None:
            trie.scan(deep, segments, 0, limit, size, certain, {})
            if known and partial:
                for child in trie.choose_by_ending(deep, partial):
                    trie.walk(child, segments, 0, limit, size, certain, {})
    if not certain:
        return certain, every
    sure = set(certain)
    return sorted(sure), [number for number in every if number not in sure]


def lookup_below(index: Index, path: str) -> list[int]:
    """The ids of patterns that could match something strictly below the path: for effects on trees."""
    if HOLE in path:
        return list(index[3])
    found: list[int] = []
    trie.reach(index[0], _segments(index, path), index[2], found)
    return sorted(set(found))


def lookup_tree(index: Index, path: str, *, itself: bool = True) -> list[int]:
    """The ids of patterns that match the path and everything below it: for allow rules on trees. Without `itself`,
    everything below is enough (`src/**` for a tree `src` that is read)."""
    if HOLE in path:
        return []
    segments = _segments(index, path)
    size = len(segments)
    return sorted(set(trie.find(index, segments, size + 1, size if itself else size + 1)))


def lookup_leading(index: Index, path: str) -> list[int]:
    """The ids of patterns that name the last segment of a path, and more after it: those that would speak of names in
    whatever a link of this name leads to."""
    order = index[2]
    found: set[int] = set()
    for node in trie.leading(index[0], _segments(index, path)):
        found.update(order[node[2] : node[3]])
    return sorted(found)


def _segments(index: Index, path: str) -> list[str]:
    return [segment for segment in (fold_case(path) if index[1] else path).split("/") if segment]


def _anchor(pattern: str, base: str, layer_root: str, home: str) -> tuple[str, str]:
    """The folder that a pattern is based on, and the rest of it."""
    if pattern.startswith("//"):
        return "/", pattern[2:]
    if pattern == "~" or pattern.startswith("~/"):
        return home, pattern[2:]
    if pattern.startswith("/"):
        return layer_root, pattern[1:]
    if pattern.startswith("~") and "/" in pattern and pattern[1].isalpha():
        raise ValueError(
            f"a path pattern must name another user's home by its path, as `//home/name/x`, or be `./~name/x` "
            f"for a file of that name (got `{pattern}`)"
        )
    return base, pattern


def _resolve(written: list[str], pattern: str) -> list[str]:
    """The segments with `..` followed and repeated `**` made one. Checks every glob."""
    segments: list[str] = []
    for segment in written:
        if segment == "..":
            if not segments:
                raise ValueError(f"a path pattern must not leave the folder it is based on (got `{pattern}`)")
            if segments[-1] == "**" or literal(compile_segment(segments[-1])) is None:
                raise ValueError(f"`..` must not follow a wildcard in a path pattern (got `{pattern}`)")
            segments.pop()
        elif segment != "**" or segments[-1:] != ["**"]:
            # Of no other glob can it be wrong, or stand for one name alone that is not the one as it is written.
            if ("[" in segment or "\\" in segment) and literal(compile_segment(segment)) in (".", ".."):
                raise ValueError(f"a path pattern must not name `.` or `..` as a file (got `{pattern}`)")
            segments.append(segment)
    return segments


def parsed(pattern: str) -> tuple[list[str], int]:
    """The segments of a normalised pattern, and how it ends."""
    segments = [segment for segment in pattern.split("/") if segment]
    while len(segments) > 1 and segments[-2:] == ["**", "**"]:
        segments.pop()
    if pattern.endswith("/") and segments:
        return [*segments, "*"] if segments[-1] == "**" else segments, trie.FOLDER
    if segments and segments[-1] in ("**", "*"):
        segments.pop()
        while segments and segments[-1] == "**":
            segments.pop()
        return segments, trie.BELOW
    return segments, trie.HERE
