"""Text globs against `fnmatch`, and the promises they make beyond it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policy import automaton, globs

alphabet = st.sampled_from("ab*?")
texts = st.text("ab", max_size=8)


@given(st.text(alphabet, max_size=8), texts)
def test_a_glob_matches_what_fnmatch_matches(pattern: str, text: str) -> None:
    assert globs.matches(globs.compile_glob(pattern), text) is fnmatchcase(text, pattern)


@given(st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "[a-b]"]), max_size=7).map("".join), texts)
def test_a_segment_glob_matches_what_fnmatch_matches(pattern: str, text: str) -> None:
    assert globs.matches(globs.compile_segment(pattern), text) is fnmatchcase(text, pattern)


@given(st.text(max_size=20), st.booleans())
def test_an_escaped_text_matches_itself_and_nothing_longer(text: str, fold: bool) -> None:
    glob = globs.compile_segment(globs.escape(text), fold=fold)
    assert globs.literal(glob) == (globs.fold_case(text) if fold and text.isascii() else globs.literal(glob))
    assert globs.matches(globs.compile_segment(globs.escape(text)), text)
    assert not globs.matches(globs.compile_segment(globs.escape(text)), text + "x")


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("mcp__github__get_*", "mcp__github__get_issue", True),
        ("a\\*b", "a*b", True),
        ("a\\*b", "axb", False),
        ("a\\?b", "a?b", True),
        ("a\\\\b", "a\\b", True),
        ("a\\nb", "a\\nb", True),
        ("a\\", "a\\", True),
        ("[ab]", "[ab]", True),
        ("wip/*", "wip/a/b", True),
        ("", "", True),
        ("*", "", True),
        ("a*a", "a", False),
        ("a**b", "ab", True),
        ("*\n*", "x\ny", True),
    ],
)
def test_a_glob_over_names(pattern: str, text: str, matched: bool) -> None:
    assert globs.matches(globs.compile_glob(pattern), text) is matched


def test_without_question_marks_only_the_star_is_special() -> None:
    glob = globs.compile_glob("a?*", question=False)
    assert (globs.matches(glob, "a?c"), globs.matches(glob, "abc")) == (True, False)


def test_a_literal_pattern_is_told_from_a_glob() -> None:
    assert [globs.is_literal(p) for p in ("npm", "n*", "n?", "n\\*")] == [True, False, False, False]


@pytest.mark.parametrize("pattern", ["*a" * 20 + "b", "*" + "?" * 30 + "b*c", "*[ab]?a" * 8 + "c"])
def test_no_glob_is_slow_on_any_text(pattern: str) -> None:
    assert not globs.matches(globs.compile_segment(pattern), "a" * 50_000)


atoms = st.lists(st.sampled_from(["a", "b", "|", None, False]), max_size=6)


@given(atoms, st.text("ab|", max_size=8))
def test_an_automaton_matches_what_the_expression_matches(pattern: list[str | bool | None], text: str) -> None:
    machine = automaton.build(pattern)
    expression = "".join(".*" if a is None else "[^|]*" if a is False else re.escape(str(a)) for a in pattern)
    assert automaton.accepts(machine, [(text, False)], "|") is (re.fullmatch(expression, text, re.DOTALL) is not None)


@given(atoms, st.text("ab|\0", max_size=6), st.text("ab|", max_size=3))
def test_an_unknown_part_is_possible_whenever_some_value_matches(
    pattern: list[str | bool | None], text: str, value: str
) -> None:
    machine = automaton.build(pattern)
    if automaton.accepts(machine, [(text.replace("\0", value), False)], "|"):
        assert automaton.accepts(machine, [(text, False)], "|", unknown=True)


@given(atoms, st.lists(st.tuples(st.text("ab|", max_size=3), st.booleans()), max_size=4))
def test_an_automaton_tries_a_text_with_and_without_what_is_optional(
    pattern: list[str | bool | None], pieces: list[tuple[str, bool]]
) -> None:
    machine = automaton.build(pattern)
    choices = [""]
    for text, optional in pieces:
        choices = [each + text for each in choices] + (choices if optional else [])
    alone = any(automaton.accepts(machine, [(text, False)], "|") for text in choices)
    assert automaton.accepts(machine, pieces, "|") is alone


@given(st.text("ab*", max_size=8), texts)
def test_an_automaton_of_a_glob_matches_what_the_glob_matches(pattern: str, text: str) -> None:
    glob = globs.compile_glob(pattern)
    assert automaton.accepts(automaton.from_glob(glob), [(text, False)], "|") is globs.matches(glob, text)
