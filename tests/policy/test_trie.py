"""The index finds what each pattern finds by itself: all of them at once, against matching them one by one."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

import pytest

from gateway.policy import trie
from gateway.policy.globs import compile_segment, fold_case, matches
from gateway.policy.trie import BELOW, FOLDER, HERE

if TYPE_CHECKING:
    from collections.abc import Sequence

# So many that buckets are split, by text at the beginning, at the end, within, and by none.
TEXTS = ["a", "b", "ab", "abc", "abd", "bcd", "xyz", "abcd", "abce", "bcde", "wxyz", "abcdefgh", *(
    f"{first}{second}{third}" for first, second, third in itertools.product("mn", "op", "qrs")
)]  # fmt: skip
ONE_SEGMENT = [
    *TEXTS, *(form.format(text) for text in TEXTS for form in ("{}*", "*{}", "*{}*", "a*{}*d", "[am]{}", "{}?")),
    *(f"abc{text}*" for text in TEXTS), *(f"*{text}abc" for text in TEXTS), *(f"abcdefg{text}*" for text in TEXTS),
    "*", "?", "??", "[ab]", "[!a]", "*[ab]cd", "abc?*", "?*abc", "*[m]*", "[a]*d", "a*[dz]", "a*?", "?*d", "\\*",
    "AB*", "ab[B-D]", "*[AB]Cd",
]  # fmt: skip
NAMES = sorted({
    "", "*", "abcabc", "abcabcd", "xxabc", "xbcd", "aabcd", "abcdefgabc", "abxcd", "aad", "mmoq", "abcdx",
    "ABC", "aBcd",
    *TEXTS, *(form.format(text) for text in TEXTS for form in ("{}x", "x{}x", "a{}d")),
})  # fmt: skip
SEGMENTS = ("a", "ab", "a*", "?", "**")
MORE_SEGMENTS = [
    list(each)
    for size in range(4)
    for each in itertools.product(SEGMENTS, repeat=size)
    if each[-1:] != ("**",) and ("**", "**") not in itertools.pairwise(each)
]
TEXT_SEGMENTS = [list(each) for size in range(4) for each in itertools.product(("a", "ab", "c"), repeat=size)]


compiled = cache(compile_segment)


def fits(segment: str, text: str, *, fold: bool = False) -> bool:
    return matches(compiled(segment, fold=fold), text)


def ways(pattern: Sequence[str], segments: Sequence[str]) -> list[int]:
    """How many segments may be taken by the whole pattern, from the beginning."""
    if not pattern:
        return [0]
    if pattern[0] == "**":
        return [at + more for at in range(len(segments) + 1) for more in ways(pattern[1:], segments[at:])]
    if not segments or not fits(pattern[0], segments[0]):
        return []
    return [1 + more for more in ways(pattern[1:], segments[1:])]


def goes_below(pattern: Sequence[str], segments: Sequence[str]) -> bool:
    """Whether some text that goes on below the segments may be matched."""
    if not pattern or not segments or pattern[0] == "**":
        return True
    return fits(pattern[0], segments[0]) and goes_below(pattern[1:], segments[1:])


def goes_on(pattern: Sequence[str], end: int, segments: Sequence[str]) -> bool:
    """Whether the pattern names the last of the segments, and goes on."""
    for at in range(1, len(pattern) + 1):
        named = pattern[at - 1] != "**" and len(segments) in ways(pattern[:at], segments)
        if named and (at < len(pattern) or end != HERE):
            return True
    return not segments and (bool(pattern) or end != HERE)


@pytest.mark.parametrize(("before", "fold"), [([], False), (["**"], False), (["a", "**"], False), ([], True)])
def test_each_name_is_found_by_the_globs_that_match_it(before: list[str], fold: bool) -> None:
    index = trie.build([([*before, glob], HERE, at) for at, glob in enumerate(ONE_SEGMENT)], fold=fold)
    texts = sorted(set(map(fold_case, NAMES))) if fold else NAMES
    above = [each for each in before if each != "**"]
    found = {text: set(trie.find(index, [*above, text], 9, 9)) for text in texts}
    assert found == {text: {at for at, glob in enumerate(ONE_SEGMENT) if fits(glob, text, fold=fold)} for text in texts}


@pytest.mark.parametrize("end", [HERE, FOLDER, BELOW])
def test_paths_are_found_by_the_patterns_that_match_them_or_a_folder_above(end: int) -> None:
    index = trie.build([(pattern, end, at) for at, pattern in enumerate(MORE_SEGMENTS)])
    for segments, more in itertools.product(TEXT_SEGMENTS, (0, 1)):
        size = len(segments)
        limit = {HERE: size + 1, FOLDER: size + more, BELOW: size + more}[end]
        expected = {
            at for at, pattern in enumerate(MORE_SEGMENTS) if any(way < limit for way in ways(pattern, segments))
        }
        folder, below = (size + more, 0) if end == FOLDER else (0, size + more)
        assert set(trie.find(index, segments, folder, below)) == expected, segments


@pytest.mark.parametrize("end", [HERE, FOLDER, BELOW])
def test_what_may_lie_below_and_what_names_a_folder_is_found(end: int) -> None:
    index = trie.build([(pattern, end, at) for at, pattern in enumerate(MORE_SEGMENTS)])
    alone = [trie.build([(pattern, end, 0)]) for pattern in MORE_SEGMENTS]
    for segments in TEXT_SEGMENTS:
        reached: list[int] = []
        trie.reach(index[0], segments, index[2], reached)
        assert set(reached) == {at for at, each in enumerate(MORE_SEGMENTS) if goes_below(each, segments)}, segments
        leading = [at for at, each in enumerate(alone) if any(trie.leading(each[0], segments))]
        assert leading == [at for at, each in enumerate(MORE_SEGMENTS) if goes_on(each, end, segments)], segments


def test_an_ending_is_found_by_the_globs_that_whatever_ends_so_matches() -> None:
    index = trie.build([(["**", glob], HERE, at) for at, glob in enumerate(ONE_SEGMENT)])
    for tail in NAMES:
        nodes = trie.choose_by_ending(index[0][1][3], tail)
        assert {at for node in nodes for at in index[2][node[2] : node[3]]} == {
            at
            for at, glob in enumerate(ONE_SEGMENT)
            if glob[0] == "*" and not set(glob[1:]) & set("*?[") and tail.endswith(glob[1:])
        }, tail


def test_a_pattern_is_only_so_large() -> None:
    trie.check_size(["a"] * 100)
    trie.check_size(["a*"] * 24 + ["a"] * 76)
    for pattern in (["a"] * 101, ["a*"] * 25, ["a?"] * 25, ["[ab]"] * 25):
        with pytest.raises(ValueError, match="at most"):
            trie.build([(pattern, HERE, 0)])
