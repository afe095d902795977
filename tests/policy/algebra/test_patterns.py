"""Languages hold exactly the texts that the matcher of the same pattern matches."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.effect import HOLE
from gateway.policy import commandpattern, globs, hosts, paths
from gateway.policy.algebra import dimensions, languages, patterns
from gateway.policy.algebra.languages import UndecidedError, shortest, union
from gateway.policy.algebra.pattern_inclusion import hosts_within, paths_within

if TYPE_CHECKING:
    from collections.abc import Iterator

segments = st.sampled_from(("a", "b", "*", "**", "a*", "*b", "?", "[ab]", "[!a]", "*a*b", "?*", "ab"))
path_patterns = st.lists(segments, min_size=0, max_size=4).map(lambda found: "/" + "/".join(found))
NAMES = ("a", "b", "ab", "ba", "aab", "c")


def _texts(parts: tuple[str, ...], most: int) -> Iterator[tuple[str, ...]]:
    for size in range(most + 1):
        yield from itertools.product(parts, repeat=size)


PATHS = ["".join(f"/{each}" for each in found) for found in _texts(NAMES, 3)]


@given(path_patterns, st.sampled_from(("", "/")))
def test_a_path_pattern(pattern: str, ending: str) -> None:
    index, language = paths.build([(pattern + ending, 1)]), patterns.path(pattern + ending)
    inside = patterns.path(pattern + ending, inside=True)
    assert [path for path in PATHS if language.accepts(path)] == [
        path for path in PATHS if paths.lookup(index, path or "/")
    ]
    assert all(inside.accepts(path) for path in PATHS if paths.lookup_tree(index, path or "/", itself=False))
    assert all(language.accepts(each) for each in language.examples)


@given(path_patterns, st.lists(path_patterns, min_size=1, max_size=3))
def test_a_shortest_path_is_in_the_one_and_in_none_of_the_others(narrow: str, wide: list[str]) -> None:
    index, others = paths.build([(narrow, 0)]), paths.build([(each, 1) for each in wide])
    found = shortest((patterns.all_paths(), patterns.path(narrow)), (union([patterns.path(each) for each in wide]),))
    left = [path for path in PATHS if paths.lookup(index, path or "/") and not paths.lookup(others, path or "/")]
    if found is None:
        assert left == []
    else:
        assert paths.lookup(index, found or "/")
        assert not paths.lookup(others, found or "/")
        assert all(len(found) <= len(each) for each in left)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["/a/**"], True), (["/a/*"], True), (["/"], True), (["/a/?*"], True), (["/**/*"], True),
        (["/a"], False), (["/a/b*"], False), (["/*/a"], False), (["/a", "/b/*"], True), ([], False),
    ],
)  # fmt: skip
def test_some_patterns_match_what_lies_in_a_folder_where_they_do_not_match_the_folder(
    written: list[str], expected: bool
) -> None:
    assert dimensions.tells_folders(written) is expected


HEADED = ("/a/b", "/a/b/**", "/a/bb/*", "/a", "/", "/b/a", "/a/*b", "/**/b")


@given(st.lists(st.sampled_from(HEADED), min_size=1, max_size=3), st.lists(st.sampled_from(HEADED), max_size=3))
def test_a_beginning_that_all_texts_share_changes_no_answer(inside: list[str], outside: list[str]) -> None:
    held = [patterns.path(each, inside=True) for each in inside]
    left_out = [patterns.path(each) for each in outside]
    found = shortest((patterns.all_paths(), *held), left_out)
    left = [
        path
        for path in [*PATHS, "/a/bb", *(f"/a/bb/{name}" for name in NAMES)]
        if all(each.accepts(path) for each in held) and not any(each.accepts(path) for each in left_out)
    ]
    assert (found is None) is (left == [])
    assert found is None or all(each.accepts(found) for each in held)
    assert found is None or not any(each.accepts(found) for each in left_out)
    assert found is None or len(found) == min(map(len, left))


@pytest.mark.parametrize(
    ("given", "head"),
    [
        (["/a/bc"], "/a/bc"),
        (["/a/b*"], "/a/b"),
        (["/a/bc", "/a/bd"], "/a/b"),
        (["/a", "/a/b"], "/a"),
        (["/a/x", "/**/y"], "/"),
        (["/"], ""),
        (["/[a]b"], "/ab"),
    ],
)
def test_what_all_texts_of_a_language_begin_with(given: list[str], head: str) -> None:
    language = union([patterns.path(each) for each in given])
    assert (language.head, bool(language.after(head))) == (head, True)
    assert [language.after(f"{head[:-1]}\0"), language.accepts(head[:-1])] == [0, False] or head == ""


def test_texts_behind_which_a_suffix_stands() -> None:
    language = patterns.path("/a/**").before("/b")
    assert [each for each in PATHS if language.accepts(each)] == [
        each for each in PATHS if patterns.path("/a/**").accepts(f"{each}/b")
    ]


@given(st.text("ab*?\\", max_size=6))
def test_a_glob_over_texts(pattern: str) -> None:
    glob = globs.compile_glob(pattern)
    language = patterns.text(glob)
    texts = ["".join(each) for each in _texts(("a", "b", "*", "?", "\\"), 4)]
    assert [text for text in texts if language.accepts(text)] == [text for text in texts if globs.matches(glob, text)]


HOST_NAMES = [".".join(each) for each in _texts(("a", "b", "ab", "x"), 3) if each]


@pytest.mark.parametrize("pattern", ["a.b", "*.b", "*.a.b", "a*.b", "*.a*.b", "a.*", "*", "x.*.b", "*b.a", "**.a"])
def test_a_pattern_of_hosts(pattern: str) -> None:
    index, language = hosts.build([(pattern, 1)]), patterns.host(pattern)
    matched = [name for name in HOST_NAMES if hosts.lookup(index, name)]
    assert [name for name in HOST_NAMES if language.accepts(name)] == matched


@pytest.mark.parametrize(
    "pattern",
    ["git *", "git push", "git * x", "* x", "a:*", "a 'b*' c", "a*b", "a '*' *", "*", "git\\* x", "a b* *", "'a b' *"],
)
def test_a_pattern_of_commands(pattern: str) -> None:
    compiled, language = commandpattern.compile_pattern(pattern), patterns.words(pattern)
    texts = [each for each in _texts(("a", "git", "push", "x", "b", "git*", "a b"), 3) if each]
    assert [each for each in texts if language.accepts(HOLE.join(each))] == [
        each for each in texts if commandpattern.matches_allow(compiled, each)
    ]


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ("/a", ["/a/**"], False),
        ("/a/**", ["/a"], True),
        ("/a/b/x", ["/**/x"], True),
        ("/a/**/c", ["/a/*/c"], False),
        ("/**/*yxz*", ["/**/*x*"], True),
        ("/**/.env.*", ["/**/.env*"], True),
        ("/a/*", ["/a/[a-m]*", "/a/[!a-m]*"], True),
        ("/a/*", ["/a/[a-m]*", "/a/[!a-n]*"], False),
        ("/a/**", ["/a/b/**", "/a/*"], True),
        ("/a/b", ["/a/[!-b]"], False),
        ("/a/c", ["/a/[!-b]"], True),
    ],
)
def test_inclusion_of_paths(narrow: str, wide: list[str], expected: bool) -> None:
    assert paths_within([narrow], wide) is expected


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ("example.com", ["*.example.com"], False),
        ("a.b.example.com", ["*.example.com"], True),
        ("*.api.example.com", ["*.example.com"], True),
        ("x-*.example.com", ["*.example.com"], True),
        ("10.0.0.0/8", ["10.0.0.0/9", "10.128.0.0/9"], True),
        ("10.0.0.0/8", ["10.0.0.0/9", "10.128.0.0/10"], False),
        ("metadata", ["link-local", "private"], False),
        ("localhost", ["loopback"], True),
    ],
)
def test_inclusion_of_hosts(narrow: str, wide: list[str], expected: bool) -> None:
    assert hosts_within([narrow], wide) is expected


def test_a_question_that_is_too_large_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "MOST_STATES", 3)
    with pytest.raises(UndecidedError):
        shortest((patterns.all_paths(), patterns.path("/*/b/c/**/d")))
    assert not paths_within(["/*/b/c/d"], ["/*/b/c/*"])
