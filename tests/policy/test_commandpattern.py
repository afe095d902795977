"""Command patterns in both lanes: the conformance table, what can fool neither lane, and what is unknown."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.effect import HOLE
from gateway.policy import commandpattern as patterns

_spec = spec_from_file_location("conformance_table", Path(__file__).with_name("conformance_table.py"))
assert _spec is not None
assert _spec.loader is not None
table = module_from_spec(_spec)
_spec.loader.exec_module(table)
NO, ROWS, YES, part_of, render = table.NO, table.ROWS, table.YES, table.part_of, table.render


def compiled(text: str) -> patterns.Pattern:
    """A pattern as the cache gives it back."""
    return json.loads(json.dumps(patterns.compile_pattern(text)))


def denied(pattern: str, *argv: str) -> int:
    return patterns.matches_deny(compiled(pattern), part_of(argv))


def allowed(pattern: str, *argv: str) -> bool:
    return patterns.matches_allow(compiled(pattern), argv)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.lane} {row.rule} / {row.text}")
def test_a_rule_answers_as_the_table_says(row: table.Row) -> None:
    pattern = compiled(row.rule)
    if row.lane == "allow":
        matched = all(direct and patterns.matches_allow(pattern, argv) for argv, direct in row.commands)
    else:
        matched = any(patterns.matches_deny(pattern, part_of(argv)) == 2 for argv, _direct in row.commands)
    assert (YES if matched else NO) == row.ours


def test_every_difference_in_the_table_says_why() -> None:
    assert [row for row in ROWS if row.ours != row.theirs and not row.why] == []


def test_an_allow_rule_is_wider_than_known_only_in_quotes_and_blanks() -> None:
    wider = [row for row in ROWS if row.lane == "allow" and row.theirs == NO and row.ours == YES]
    assert [row.why for row in wider] == ["words are compared after quote removal"]


def test_the_page_of_documentation_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "short-form.md"
    assert page.read_text() == render(), "run: python tests/policy/conformance_table.py > docs/short-form.md"


words = st.lists(st.text("ab-'\" *\\\n", max_size=4), min_size=1, max_size=5)
plain = st.lists(st.text("abc-/.:", min_size=1, max_size=4).filter(lambda w: w != ":"), min_size=1, max_size=4)


def quoted(word: str) -> str:
    """The word as a pattern that is exactly it."""
    return "".join("\\" + char if char != "\n" else "'\n'" for char in word) or "''"


@given(words, words)
def test_a_pattern_without_a_star_matches_exactly_one_command(one: list[str], other: list[str]) -> None:
    pattern = compiled(" ".join(map(quoted, one)))
    assert patterns.matches_allow(pattern, one)
    assert patterns.matches_allow(pattern, other) is (one == other)


@given(plain, words)
def test_a_last_star_allows_the_command_with_any_further_words_and_nothing_else(
    base: list[str], more: list[str]
) -> None:
    for written in (" ".join(base) + " *", " ".join(base) + ":*"):
        pattern = compiled(written)
        assert patterns.matches_allow(pattern, base)
        assert patterns.matches_allow(pattern, [*base, *more])
        assert not patterns.matches_allow(pattern, [*base[:-1], base[-1] + "x", *more])
        assert not patterns.matches_allow(pattern, base[:-1])


@given(plain, words, st.integers(0, 8))
def test_nothing_unknown_is_ever_allowed(base: list[str], more: list[str], at: int) -> None:
    argv = [*base, *more]
    at %= len(argv)
    argv[at] += HOLE
    for pattern in ("*", " ".join(base) + " *", "* " + base[-1], base[0] + "*"):
        assert not patterns.matches_allow(compiled(pattern), argv)


pattern_texts = st.lists(
    st.sampled_from(["git", "push", "-f", "--force", "main", "*", "ma*", "-rf", "x=y"]), min_size=1, max_size=4
)
commands = st.lists(
    st.sampled_from(["git", "push", "-f", "--force", "main", "master", "-r", "--", "x=y", "-C"]), min_size=1, max_size=5
)


@given(pattern_texts, commands)
def test_what_an_allow_rule_matches_the_same_deny_rule_matches(pattern: list[str], argv: list[str]) -> None:
    one = compiled(" ".join(pattern))
    if patterns.matches_allow(one, argv):
        assert patterns.matches_deny(one, part_of(tuple(argv))) == 2
        assert patterns.matches_tokens(one, argv)


@given(pattern_texts, commands, st.integers(0, 5), st.sampled_from(["git", "push", "-f", "main", "x", "", "--force"]))
def test_a_deny_rule_that_matches_some_value_is_possible_for_the_unknown_one(
    pattern: list[str], argv: list[str], at: int, value: str
) -> None:
    """Whatever one word turns out to be: if the pattern matches then, it may match now."""
    one = compiled(" ".join(pattern))
    at %= len(argv)
    if "C" in argv[at] or (at and argv[at - 1] == "-C"):
        return  # the value of an option that takes one stays that
    filled = tuple(value if i == at else word for i, word in enumerate(argv))
    unknown = tuple(HOLE if i == at else word for i, word in enumerate(argv))
    if "-C" in filled or not filled[0]:
        return
    if patterns.matches_deny(one, part_of(filled)) == 2:
        assert patterns.matches_deny(one, part_of(unknown)) >= 1


@given(pattern_texts, commands)
def test_the_index_never_loses_a_pattern_that_matches(pattern: list[str], argv: list[str]) -> None:
    one = compiled(" ".join(pattern))
    part = part_of(tuple(argv))
    if patterns.matches_deny(one, part):
        program, second = patterns.first_words(one)
        assert program in (None, part.program.lower())
        assert second is None or second in (*argv[1:], *part.subcommands, *part.operands)


@pytest.mark.parametrize(
    ("pattern", "argv", "matched"),
    [
        ("git commit -m 'a b'", ("git", "commit", "-m", "a b"), True),
        ("git commit -m 'a b'", ("git", "commit", "-m", "a", "b"), False),
        ("git commit -m a b", ("git", "commit", "-m", "a b"), False),
        ('git commit -m "*"', ("git", "commit", "-m", "any words here"), True),
        ('git commit -m "*"', ("git", "commit", "-m", "x", "--no-verify"), False),
        ('git commit -m "fix: *" *', ("git", "commit", "-m", "fix: it", "-a"), True),
        ('git commit -m "fix: *" *', ("git", "commit", "-m", "fix:", "-a"), False),
        ("echo \\*", ("echo", "*"), True),
        ("echo \\*", ("echo", "x"), False),
        ("echo '\\*'", ("echo", "*"), True),
        ("echo don't *", ("echo", "don't", "x"), True),
        ("find . -exec grep x {} \\;", ("find", ".", "-exec", "grep", "x", "{}", ";"), True),
        ("grep '\\d' *", ("grep", "\\d", "f"), True),
        ("ls\t *", ("ls", "x"), True),
        ("echo *", ("echo", "a\nb"), True),
        ("npm run *:prod", ("npm", "run", "build:prod"), True),
        ("npm run *:prod", ("npm", "run", "build"), False),
        ("*", ("anything", "at all"), True),
        (":*", ("anything",), True),
        ("ls", (), False),
        ("ls *", ("LS", "x"), False),
        ("rm *", ("rm\0-rf",), False),
    ],
)
def test_the_allow_lane_reads_words(pattern: str, argv: tuple[str, ...], matched: bool) -> None:
    assert allowed(pattern, *argv) is matched


@pytest.mark.parametrize(
    ("pattern", "argv", "answer"),
    [
        ("rm *", ("RM", "x"), 2),
        ("RM *", ("rm", "x"), 2),
        ("/bin/rm *", ("rm", "x"), 2),
        ("*/rm *", ("/usr/bin/rm", "x"), 2),
        ("./scripts/*", ("scripts/deploy", "x"), 2),
        ("./scripts/*", ("ls", "x"), 0),
        ("./deploy.sh *", ("/srv/deploy.sh",), 2),
        ("tool push *", ("tool", "-C", "x", "push"), 2),
        ("tool push *", ("tool", "--dir=x", "-v", "push", "y"), 2),
        ("tool push *", ("tool", "x", "push"), 0),
        ("tool push *", ("tool", "-a", "b", "-c", "d", "-e", "f", "push", "y"), 2),
        ("tool push *", ("tool", "-a", "b", "-c", "d", "-e", "f", "y", "push"), 0),
        ("tool push x", ("tool", "push", "-o", "y", "x"), 2),
        ("tool --force *", ("tool", "--forc", "x"), 2),
        ("tool --force *", ("tool", "--for-all", "x"), 0),
        ("tool -xv *", ("tool", "-v", "a", "-x"), 2),
        ("tool -n1 *", ("tool", "-n", "1"), 2),
        ("tool --depth=1 *", ("tool", "--depth", "1"), 2),
        ("tool --depth=1 *", ("tool", "--depth=1"), 2),
        ("tool --depth=1 *", ("tool", "--depth=2"), 0),
        ("docker run -v /:/host *", ("docker", "run", "--rm", "-v", "/:/host", "img"), 2),
        ("docker run -v /:/host *", ("docker", "run", "--rm", "-v/:/host", "img"), 2),
        ("docker run -v /:/host *", ("docker", "run", "-v", "/tmp:/host", "img"), 0),
        ("docker run --privileged *", ("docker", "run", "-it", "--privileged", "img"), 2),
        ("git push --force*", ("git", "push", "origin", "--force-with-lease"), 2),
        ("git push * --force", ("git", "push", "--force"), 2),
        ("git push -*", ("git", "push", "-u", "origin"), 2),
        ("git push -*", ("git", "push", "origin"), 0),
        ("git checkout -- *", ("git", "checkout", "--", "x"), 2),
        ("git checkout -- *", ("git", "checkout", "x"), 0),
        ("rm -rf /*", ("rm", "-r", "-f", "/etc"), 2),
        ("rm -rf /*", ("rm", "-r", "-f", "etc"), 0),
        ("python* -c *", ("python3.12", "-Bc", "x"), 2),
        ("sudo *", ("sudo",), 2),
        ("git push", ("git", "push", "origin"), 0),
        ("a\\*b", ("a*b",), 2),
        # a word that holds the separator of our own texts is not two words
        ("git push *", ("git", "x\x01\x01push"), 0),
    ],
)
def test_the_deny_lane_reads_every_spelling(pattern: str, argv: tuple[str, ...], answer: int) -> None:
    assert denied(pattern, *argv) == answer


@pytest.mark.parametrize(
    ("pattern", "argv", "answer"),
    [
        ("rm *", ("rm", HOLE), 2),
        ("rm -rf *", ("rm", HOLE, "x"), 1),
        ("rm *", (HOLE, "x"), 1),
        ("rm *", ("/usr/" + HOLE, "x"), 1),
        ("rm *", (HOLE + "/rm", "x"), 2),
        ("rm *", ("ls", HOLE), 0),
        ("git push *", ("git", HOLE), 1),
        ("git push *", ("git", HOLE, "push"), 1),
        ("git push *", ("git", "pu" + HOLE), 1),
        ("git push *", ("git", "co" + HOLE), 0),
        ("git push *", ("git", "-C", HOLE, "push"), 2),
        ("git push --force *", ("git", "-C", HOLE, "push"), 0),
        ("git push --force *", ("git", "push", "--fo" + HOLE), 1),
        ("git push --force *", ("git", "push", "--x" + HOLE), 0),
        ("git commit *", ("git", "-C", HOLE, "push"), 0),
        ("tool --depth=1 *", ("tool", "--depth=" + HOLE), 1),
        ("tool --depth=1 *", ("tool", "--depth", HOLE), 1),
        ("docker run -v /:/host *", ("docker", "run", "-v", HOLE, "img"), 1),
        ("* install", (HOLE, "install"), 2),
    ],
)
def test_an_unknown_word_could_be_anything(pattern: str, argv: tuple[str, ...], answer: int) -> None:
    assert denied(pattern, *argv) == answer


@pytest.mark.parametrize(
    ("pattern", "tokens", "matched"),
    [
        ("rm *", ("echo", "$(rm", "-rf", "x)"), True),
        ("rm *", ("'r'\"m\"", "x"), True),
        ("rm *", ("/bin/RM", "x"), True),
        ("rm *", ("a;rm${IFS}-rf",), True),
        ("rm -rf *", ("rm", "-r", "x", "-f"), True),
        ("rm -rf *", ("rm", "x"), False),
        ("git push *", ("git", "-C", "x", "push"), True),
        ("git push *", ("push", "git"), False),
        ("git push --force *", ("git", "push", "a", "--force"), True),
        ("rm *", ("rmdir", "x"), False),
        ("* install", ("npm", "install"), True),
        ("rm *", (HOLE, "x"), True),
        ("rm *", (), False),
        ("rm -r *", ("rm", "-fr", "x"), True),
        ("rm -f *", ("rm", "f", "x"), False),
        ("git push -f *", ("git", "push", "--follow-tags"), False),
    ],
)
def test_the_words_of_an_unparsed_text_are_still_tried(pattern: str, tokens: tuple[str, ...], matched: bool) -> None:
    assert [patterns.matches_tokens(compiled(pattern), tokens) for _ in range(2)] == [matched, matched]


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("git push *", ("git", "push")),
        ("/usr/bin/Git -C x push", ("git", None)),
        ("git * main", ("git", None)),
        ("git pu*", ("git", None)),
        ("ls*", (None, None)),
        ("*", (None, None)),
        ("npm run test:*", ("npm", "run")),
        ("ls", ("ls", None)),
    ],
)
def test_the_index_files_a_pattern_under_its_first_words(pattern: str, first: tuple[str | None, str | None]) -> None:
    assert patterns.first_words(compiled(pattern)) == first


@pytest.mark.parametrize("pattern", ["", "  ", "a\0b", "a\x01b", "ls \\"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="must"):
        patterns.compile_pattern(pattern)


def test_long_commands_are_judged_in_bounded_time() -> None:
    long = ("tool", *("-x", "a" * 20) * 2_000, "end")
    for pattern in ("tool *a*a*a*a*b", "tool " + "* a " * 20 + "b", 'tool "*" "*" b'):
        assert denied(pattern, *long) == 0
        assert not allowed(pattern, *long)
        assert denied(pattern, *long, HOLE) in (0, 1)


def test_the_words_of_a_long_unparsed_text_are_tried_in_bounded_time() -> None:
    tokens = ("git", "-x") * 50_000
    assert [patterns.matches_tokens(compiled(p), tokens) for p in ("git push --force *", "git * -y", "git *")] == [
        False,
        False,
        True,
    ]
