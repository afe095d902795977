"""Path patterns against git itself, against pathspec, and against what the anchors promise."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from gateway.model.effect import HOLE
from gateway.policy import paths

if TYPE_CHECKING:
    from pathlib import Path

BASE = "/base"
ANCHORS = {"base": "/home/dev/project", "layer_root": "/etc/layer", "home": "/home/dev"}


def matched(pattern: str, path: str, *, folder: bool = False) -> bool:
    """Whether one pattern of a file in /base matches a path relative to it."""
    normal = paths.normalise(pattern, base=BASE, layer_root=BASE, home="/home/dev")
    return bool(paths.lookup(paths.build([(normal, 7)]), f"{BASE}/{path}", folder=folder))


# Files that the temporary repository holds; every pattern is tried against every path of its row.
GIT_TABLE: dict[str, tuple[str, ...]] = {
    "*.pem": ("a.pem", "sub/b.pem", "a.pem.txt", "sub.pem/x"),
    ".env": (".env", "sub/.env", ".env.local", "sub/.env/x"),
    ".env*": (".env", ".env.local", "x/.envrc", "x.env"),
    "**/.env*": (".env", "a/b/.env.local", "a/xenv"),
    "/a.txt": ("a.txt", "sub/a.txt"),
    "src/": ("src/a.py", "x/src/b.py", "src"),
    "src": ("src/a.py", "x/src", "srcs/a"),
    "src/*": ("src/a.py", "src/deep/b.py", "x/src/a.py"),
    "src/**": ("src/a.py", "src/deep/b.py", "x/src/a.py"),
    "src/**/": ("src/a.py", "src/deep/b.py"),
    "src/*.py": ("src/a.py", "src/deep/b.py", "src/x.py/y"),
    "src/**/*.py": ("src/a.py", "src/deep/b.py", "src/deep/er/c.py", "a.py"),
    "**/src/*.py": ("src/a.py", "x/src/a.py", "x/y/src/a.py", "src/x/a.py"),
    "a/**/b": ("a/b", "a/x/b", "a/x/y/b", "a/x/y/c", "b/a"),
    "a/**/b/**/c": ("a/b/c", "a/x/b/y/c", "a/c/b", "a/b/b/c/d"),
    "**": ("x", "x/y", ".z"),
    "*": ("x", "x/y", ".z"),
    "**/": ("x", "x/y"),
    "*/": ("x", "x/y"),
    "/**": ("x", "x/y"),
    "/*": ("x", "x/y"),
    "/*/x": ("a/x", "x", "a/b/x"),
    "*/*/x": ("a/b/x", "a/x", "a/b/c/x"),
    "a*b": ("ab", "axb", "a/b", "xx/ayyb"),
    "a**b": ("ab", "axxb", "a/b"),
    "a?c": ("abc", "ac", "abbc", "a/c"),
    "?": ("a", "ab", "x/y"),
    "[abc].txt": ("a.txt", "d.txt", "x/b.txt"),
    "[!abc].txt": ("a.txt", "d.txt"),
    "[^abc].txt": ("a.txt", "d.txt"),
    "[a-c]x": ("bx", "dx"),
    "[]-]x": ("]x", "-x", "ax"),
    "[a-]x": ("-x", "ax", "bx"),
    "[[:digit:]]x": ("1x", "ax"),
    "[[:alpha:][:digit:]]x": ("1x", "ax", "_x"),
    "[\\]]x": ("]x", "ax"),
    "\\*.txt": ("*.txt", "a.txt"),
    "\\!x": ("!x", "x"),
    "\\#x": ("#x", "x"),
    "a\\b": ("ab",),
    "a\\?b": ("a?b", "axb"),
    "foo*bar*baz": ("foobarbaz", "foo-bar-baz", "foobazbar", "foobarba"),
    "*foo*": ("foo", "xfoox", "fo"),
    "lib/*/test": ("lib/a/test", "lib/a/b/test", "lib/test"),
    "lib/**/test/": ("lib/test/x", "lib/a/b/test/y", "lib/a/test"),
    "x.y/z": ("x.y/z", "a/x.y/z"),
    "ab/c*/d?": ("ab/cc/de", "ab/c/d", "ab/ccc/dd/e"),
    ".*": (".git0", "a/.b", "a.b"),
    "node_modules/": ("node_modules/x/y", "a/node_modules/z", "node_modules"),
    "**/x/**/y": ("x/y", "a/x/b/y", "a/x/y/z", "y/x"),
    "a/b/../c": (),
    "Sub/x": ("sub/x", "Sub/x"),
}


def test_the_table_of_patterns_is_large_enough() -> None:
    assert sum(map(len, GIT_TABLE.values())) >= 120


@pytest.mark.skipif(shutil.which("git") is None, reason="the oracle is git")
def test_every_pattern_matches_what_git_ignores(tmp_path: Path) -> None:
    """One `check-ignore` for each pattern, over all of its paths. Every path is a file, as none exists."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    differing = []
    for pattern, names in GIT_TABLE.items():
        if not names:
            continue
        (tmp_path / ".git" / "info").mkdir(exist_ok=True)
        (tmp_path / ".git" / "info" / "exclude").write_text(pattern + "\n")
        asked = subprocess.run(
            ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
            input="\0".join(names),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        ignored = set(asked.stdout.split("\0"))
        differing += [(pattern, name) for name in names if matched(pattern, name) is not (name in ignored)]
    assert differing == []


# Where pathspec differs from git, and we follow git.
PATHSPEC_DIFFERS = {
    "src/**/": "pathspec lets a file directly in `src` match; for git `**/` at the end wants a folder",
    "[\\]]x": "pathspec does not read an escaped bracket in a class",
    "[[:digit:]]x": "pathspec does not know named classes",
    "[[:alpha:][:digit:]]x": "pathspec does not know named classes",
}


@pytest.mark.parametrize("pattern", [p for p, names in GIT_TABLE.items() if names and p not in PATHSPEC_DIFFERS])
def test_every_pattern_matches_what_pathspec_matches(pattern: str) -> None:
    spec = GitIgnoreSpec.from_lines([pattern])
    names = sorted({name for row in GIT_TABLE.values() for name in row})
    assert [n for n in names if matched(pattern, n)] == [n for n in names if spec.match_file(n)]


segment = st.sampled_from(
    ["a", "b", "ab", "a.b", ".b", "*", "a*", "*b", "*.b", "a*b", "?", "a?", "[ab]", "[!a]b", "**"]
)
names = st.lists(st.sampled_from(["a", "b", "ab", "abb", "a.b", ".b", "ba", "aab", "x"]), min_size=1, max_size=5)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    inner = "/".join(draw(st.lists(segment, min_size=1, max_size=4)))
    return draw(st.sampled_from(["", "/"])) + inner + draw(st.sampled_from(["", "", "/"]))


@given(patterns(), names)
def test_random_patterns_match_what_pathspec_matches(pattern: str, parts: list[str]) -> None:
    path = "/".join(parts)
    assume(not pattern.endswith("**/"))  # see PATHSPEC_DIFFERS
    assert matched(pattern, path) is GitIgnoreSpec.from_lines([pattern]).match_file(path)


@given(st.lists(patterns(), max_size=30), names, st.booleans())
def test_an_index_finds_exactly_the_patterns_that_match_alone(many: list[str], parts: list[str], folder: bool) -> None:
    path = "/".join(parts)
    index = json.loads(json.dumps(paths.build(_numbered(many))))
    alone = [i for i, pattern in enumerate(many) if matched(pattern, path, folder=folder)]
    assert paths.lookup(index, f"{BASE}/{path}", folder=folder) == alone


@given(st.lists(patterns(), max_size=12), names, names)
def test_what_may_lie_below_a_tree_is_never_missed(many: list[str], parts: list[str], deeper: list[str]) -> None:
    index = paths.build(_numbered(many))
    tree = f"{BASE}/{'/'.join(parts)}"
    below = set(paths.lookup(index, f"{tree}/{'/'.join(deeper)}"))
    assert below <= set(paths.lookup_below(index, tree))


@given(st.lists(patterns(), max_size=12), names, names)
def test_what_covers_a_tree_matches_it_and_everything_in_it(
    many: list[str], parts: list[str], deeper: list[str]
) -> None:
    index = paths.build(_numbered(many))
    tree = f"{BASE}/{'/'.join(parts)}"
    below = set(paths.lookup(index, f"{tree}/{'/'.join(deeper)}", folder=False))
    assert set(paths.lookup_tree(index, tree)) <= set(paths.lookup(index, tree)) & below
    assert set(paths.lookup_tree(index, tree, itself=False)) <= below


@given(
    st.lists(st.tuples(patterns(), st.booleans()), max_size=12),
    names,
    st.sampled_from(["", "a", ".b", "x/", "/"]),
    names,
    st.sampled_from(["", "a", "b", "a/b", "../a", "/a/../../b", "../../..", "x/a.b", "/"]),
)
def test_what_is_certain_of_an_unknown_path_holds_for_every_value(
    many: list[tuple[str, bool]], before: list[str], glue: str, after: list[str], value: str
) -> None:
    from posixpath import normpath

    written = [
        (paths.normalise(p, base="/" if everywhere else BASE, layer_root=BASE, home="/h"), i)
        for i, (p, everywhere) in enumerate(many)
    ]
    index = paths.build(written)
    unknown = f"{BASE}/{'/'.join(before)}/{HOLE}{glue}{'/'.join(after)}"
    certain, possible = paths.lookup_possible(index, unknown)
    real = set(paths.lookup(index, normpath(unknown.replace(HOLE, value)).replace("//", "/")))
    assert set(certain) <= real <= {*certain, *possible}
    assert not set(certain) & set(possible)


def _numbered(many: list[str]) -> list[tuple[str, int]]:
    return [(paths.normalise(p, base=BASE, layer_root=BASE, home="/h"), i) for i, p in enumerate(many)]


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("//etc/passwd", "/etc/passwd"),
        ("//", "/"),
        ("//**/.env", "/**/.env"),
        ("~", "/home/dev"),
        ("~/", "/home/dev"),
        ("~/.ssh/**", "/home/dev/.ssh/**"),
        ("~backup", "/home/dev/project/**/~backup"),
        ("/docs/*.md", "/etc/layer/docs/*.md"),
        ("/", "/etc/layer"),
        ("./.env", "/home/dev/project/.env"),
        (".", "/home/dev/project"),
        ("./", "/home/dev/project"),
        ("src/**", "/home/dev/project/src/**"),
        ("src/../lib/x", "/home/dev/project/lib/x"),
        ("src//a/./b", "/home/dev/project/src/a/b"),
        (".env", "/home/dev/project/**/.env"),
        ("build/", "/home/dev/project/**/build/"),
        ("**/**/x", "/home/dev/project/**/x"),
        ("x ", "/home/dev/project/**/x "),
        ("#x", "/home/dev/project/**/#x"),
    ],
)
def test_anchors_say_what_a_pattern_is_based_on(written: str, normal: str) -> None:
    assert paths.normalise(written, **ANCHORS) == normal


def test_a_folder_whose_name_looks_like_a_glob_is_taken_literally() -> None:
    normal = paths.normalise("x", base="/a[1]/b*", layer_root="/", home="/h")
    index = paths.build([(normal, 1)])
    assert (paths.lookup(index, "/a[1]/b*/x"), paths.lookup(index, "/a1/bb/x")) == ([1], [])


def test_a_folder_pattern_of_one_segment_holds_at_any_depth_where_asked() -> None:
    assert paths.normalise("secrets/**", any_depth=True, **ANCHORS) == "/home/dev/project/**/secrets/**"
    assert paths.normalise("a/secrets/**", any_depth=True, **ANCHORS) == "/home/dev/project/a/secrets/**"
    assert paths.normalise("./secrets/**", any_depth=True, **ANCHORS) == "/home/dev/project/secrets/**"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "must not be empty"),
        ("a\0b", "NUL"),
        ("!x", "must not start with `!`"),
        ("../x", "must not leave"),
        ("a/../../x", "must not leave"),
        ("/..", "must not leave"),
        ("~/../x", "must not leave"),
        ("*/../x", "must not follow a wildcard"),
        ("**/../x", "must not follow a wildcard"),
        ("x\\", "backslash"),
        ("a\\/b", "backslash"),
        ("[ab", "must be closed"),
        ("[a/b]", "must be closed"),
        ("[z-a]", "upwards"),
        ("[[:word:]]", "must be one of"),
        ("\\.\\.", "must not name"),
        ("~root/x", "another user's home"),
        ("a/" * 101 + "b", "at most 100 segments"),
        ("*/" * 25 + "b", "at most 24 segments"),
        ("x" * 5000, "at most 4096 characters"),
    ],
)
def test_what_is_no_pattern_is_refused(written: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        paths.normalise(written, **ANCHORS)


def test_a_relative_pattern_needs_a_folder() -> None:
    with pytest.raises(ValueError, match="must have a folder"):
        paths.normalise("x", base="", layer_root="/", home="/h")


def test_a_trailing_slash_means_a_folder() -> None:
    index = paths.build([("/base/**/build/", 1)])
    found = [
        paths.lookup(index, p, folder=f)
        for p, f in [("/base/build", True), ("/base/build", False), ("/base/build/x", False)]
    ]
    assert found == [[1], [], [1]]


def test_letters_match_in_either_case_where_asked() -> None:
    index = paths.build([("/**/.ENV*", 1), ("/Etc/[A-C]x", 2), ("/straße/[[:upper:]]", 3), ("/**/*.PEM", 4)], fold=True)
    looked = ["/x/.env.Local", "/etc/bX", "/STRASSE/q", "/a/k.pem", "/etc/dx"]
    assert [paths.lookup(index, p) for p in looked] == [[1], [2], [3], [4], []]


def test_without_folding_letters_match_in_their_own_case_only() -> None:
    assert paths.lookup(paths.build([("/**/.ENV", 1)]), "/.env") == []
    index = paths.build([("/Src/x", 1), ("/Src/**", 2)])
    finds = (paths.lookup_below, paths.lookup_leading, functools.partial(paths.lookup_tree, itself=False))
    assert [(find(index, "/Src"), find(index, "/src")) for find in finds] == [([1, 2], []), ([1, 2], []), ([2], [])]


@pytest.mark.parametrize(
    ("unknown", "certain"),
    [
        (f"{HOLE}/.env", [1]),
        (f"{HOLE}/.env/x", [1]),
        (f"/home/dev/.ssh/{HOLE}", []),
        (f"/home/dev/{HOLE}/id", []),
        (f"{HOLE}.pem", [2]),
        (f"{HOLE}/x.pem", [2]),
        (f"{HOLE}.pem/../x", []),
        (f"{HOLE}/.env/../x", []),
        (f"{HOLE}/../.env", [1]),
        (f"{HOLE}/a/.ssh/b", [4]),
        (f"{HOLE}env", []),
        (HOLE, []),
    ],
)
def test_only_what_follows_the_unknown_part_is_certain(unknown: str, certain: list[int]) -> None:
    index = paths.build([("/**/.env*", 1), ("/**/*.pem", 2), ("/home/dev/.ssh/**", 3), ("/**/.ssh/**", 4)])
    assert paths.lookup_possible(index, unknown) == (certain, [n for n in (1, 2, 3, 4) if n not in certain])
    assert paths.lookup(index, unknown) == certain


def test_trees_are_covered_by_what_matches_all_of_them() -> None:
    index = paths.build(
        [("/p/src", 1), ("/p/src/**", 2), ("/p/src/*.py", 3), ("/p/**/*.py", 4), ("/", 5), ("/p/s*/", 6)]
    )
    assert (paths.lookup_tree(index, "/p/src"), paths.lookup_tree(index, "/p/src", itself=False)) == (
        [1, 5, 6],
        [1, 2, 5, 6],
    )
    assert paths.lookup_below(index, "/p/src") == [1, 2, 3, 4, 5, 6]
    assert paths.lookup_below(index, "/p/doc") == [4, 5]


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*a*b", "**/a/**/a/**/a/**/a/**/b", "**/*/*/*/*/b", "*[ab]?[ab]*c"])
def test_a_hostile_path_is_judged_in_bounded_time(pattern: str) -> None:
    index = paths.build([(paths.normalise(pattern, base="/", layer_root="/", home="/h"), 1)])
    assert paths.lookup(index, "/" + "a/" * 20_000 + "a" * 20_000) == []


def test_many_globs_that_begin_alike_are_told_apart() -> None:
    many = [(f"/**/generated-{i}-*", i) for i in range(300)] + [(f"/**/*middle{i}x*", 1000 + i) for i in range(300)]
    many += [(f"/**/x*-{i}-end", 2000 + i) for i in range(300)] + [("/**/g*", 5000), ("/**/*d", 5001)]
    index = json.loads(json.dumps(paths.build(many)))
    assert paths.lookup(index, "/a/generated-17-x/b") == [17, 5000]
    assert paths.lookup(index, "/a/qmiddle29xq/b") == [1029]
    assert paths.lookup(index, "/a/xq-123-end") == [2123, 5001]
