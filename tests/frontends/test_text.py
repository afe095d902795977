"""What people see, whole. `pytest --update-golden` writes the files under tests/golden anew."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import CallError
from gateway.frontends.cli.explain import tree_text
from gateway.frontends.session import change, enforced
from gateway.policy.explain import explain
from gateway.render.short import short_text
from gateway.render.style import Style, columns_of, excerpt, wrapped
from gateway.render.text import verdict_text
from gateway.render.tree import tree_of

TESTS = Path(__file__).parents[1]
SEEN = {
    "allow-by-analysis": ("Bash(cat src/main.py | head -5)", {}),
    "allow-by-rule": ("Bash(npm test)", {}),
    "ask-by-mode": ("Bash(mkdir -p build/x && touch build/x/y)", {}),
    "ask-by-locked-rule": ("Bash(docker run -it --rm alpine sh)", {}),
    "ask-edit-by-rule": ("Edit(docs/index.md)", {}),
    "ask-unknown-target": ("Bash(cat $FILE)", {}),
    "ask-hidden-command": ("Bash(git status && $(./setup))", {}),
    "deny-by-rule": ("Bash(cd sub && git push -f origin main)", {}),
    "deny-secret-file": ("Read(.env)", {}),
    "deny-behind-wrapper": ("Bash(sudo timeout 5 /usr/bin/c'ur'l -sS https://example.org)", {}),
    "deny-by-ceiling": ("Write(src/new.py)", {"mode": "plan"}),
    "deny-nobody-to-ask": ("Bash(rm -rf build)", {"mode": "dont_ask"}),
    "unconfined-code": ("Bash(npm test)", {"confined": False}),
    "tricky-characters": ("Bash(echo '\u202e\x1b[31m\u200b' > notes.txt)", {}),
    "fetch": ("WebFetch(https://docs.python.org/3/)", {}),
    "tool-without-declaration": ("mcp__github__create_issue", {}),
}


@pytest.mark.parametrize("name", SEEN)
def test_a_verdict_reads_like_this(judge, golden, name: str) -> None:
    call, options = SEEN[name]
    guard, verdict = judge(call, **options)
    found = explain(verdict, enforced=enforced(guard), change=change(guard, verdict))
    golden(f"check-{name}.txt", f"$ gateway check {call!r}\n{verdict_text(verdict, found, Style())}")


def test_a_change_that_is_longer_than_a_glance_is_named_and_never_cut(judge) -> None:
    guard, verdict = judge(f"Bash(rm {' '.join(f'file-{n}' for n in range(500))})")
    found = explain(verdict, enforced=enforced(guard), change=change(guard, verdict))
    assert "rm file-0 file-1 " in found["change"]
    last = verdict_text(verdict, found, Style()).splitlines()[-1]
    assert last == f"  change      one of {len(found['change']):,} characters would do, see --full"


def test_in_full_neither_a_rule_nor_a_list_nor_a_change_is_cut(judge) -> None:
    guard, verdict = judge(f"Bash(rm {' '.join(f'file-{n}' for n in range(500))})")
    found = explain(verdict, enforced=enforced(guard), change=change(guard, verdict))
    text = verdict_text(verdict, found, Style(), full=True)
    assert (text.count("delete     /home/dev/project/file-"), "see --" in text) == (500, False)
    assert "".join(found["change"].split()) in "".join(text.split())


def test_three_lines_say_what_becomes_of_a_call_why_and_what_to_do(judge, golden) -> None:
    lines = []
    for call, options in SEEN.values():
        guard, verdict = judge(call, **options)
        found = explain(verdict, change=change(guard, verdict))
        text = short_text(verdict, found, Style(), cut=False)
        assert 1 <= text.count("\n") <= 3
        lines.append(f"$ gateway check --short {call!r}\n{text}")
    golden("check-short.txt", "\n".join(lines))


def test_in_a_narrow_terminal_each_of_the_three_lines_is_one(judge) -> None:
    guard, verdict = judge(
        "Bash(git -C sub push --force origin " + " ".join(f"refs/heads/b{n}" for n in range(20)) + ")"
    )
    found = explain(verdict, change=change(guard, verdict))
    plain, colour = (short_text(verdict, found, Style(44, colour), cut=True) for colour in (False, True))
    assert [columns_of(line) <= 44 for line in plain.splitlines()] == [True] * 3
    assert re.sub(r"\x1b\[[0-9;]*m", "", colour) == plain != colour


def test_a_narrow_terminal_with_colour_shows_all_of_it_too(judge, golden) -> None:
    guard, verdict = judge(
        "Bash(git -C sub push --force origin " + " ".join(f"refs/heads/b{n}" for n in range(20)) + ")"
    )
    found = explain(verdict, enforced=enforced(guard), change=change(guard, verdict))
    text = verdict_text(verdict, found, Style(60, True))
    plain = verdict_text(verdict, found, Style(60, False))
    assert max(columns_of(line) for line in plain.split("\n")) <= 60
    golden("check-narrow-colour.txt", text.replace("\x1b", "<esc>"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pipeline", "cd src && git log --oneline | tee -a log"),
        ("nested", "sudo bash -c 'rm -rf build; ls' > out; echo $(cat $X)"),
        ("unparsable", "if then rm -rf / ((("),
    ],
)
def test_a_tree_reads_like_this(judge, golden, name: str, text: str) -> None:
    _, verdict = judge(f"Bash({text})")
    golden(f"explain-{name}.txt", f"$ gateway explain {text!r}\n{tree_text(tree_of(verdict), Style())}")


CALLS = [
    case["call"]
    for path in sorted((TESTS / "corpus").glob("*.jsonl"))
    for case in map(json.loads, filter(str.strip, path.read_text(encoding="utf-8").splitlines()))
    if "call" in case
]


@pytest.mark.parametrize("width", [40, 100])
def test_whatever_the_corpus_holds_fits_and_shows(judge, width: int) -> None:
    problems = []
    for call in share(CALLS, 28, width):
        try:
            guard, verdict = judge(call)
        except CallError:
            continue  # a line of the corpus may be about a call that nobody can judge
        found = explain(verdict, enforced=enforced(guard), change=change(guard, verdict))
        assert json.loads(json.dumps(found))["decision"] == verdict.decision.word
        text = verdict_text(verdict, found, Style(width)) + tree_text(tree_of(verdict), Style(100))
        shown = verdict_text(verdict, found, Style(width)).split("\n")
        if max(map(columns_of, shown)) > width or not text.replace("\n", "").isprintable():
            problems.append(call)
    assert (problems, len(CALLS) > 1000) == ([], True)


spans = st.text(max_size=300).flatmap(
    lambda text: st.tuples(st.just(text), st.integers(0, len(text)), st.integers(0, len(text)), st.integers(20, 120))
)


@given(spans)
def test_an_excerpt_fits_and_marks_its_span(given_: tuple[str, int, int, int]) -> None:
    text, one, other, width = given_
    start, end = min(one, other), max(one, other)
    found = excerpt(text, (start, end), width)
    assert columns_of(found.line) <= width
    assert found.line.isprintable()
    assert found.before + found.marked <= columns_of(found.line)
    assert (found.marked > 0) == (start < end) or columns_of(text[start:end]) == 0


@given(st.text(max_size=60))
def test_a_short_excerpt_is_the_whole_text(text: str) -> None:
    assert "…" in text or "…" not in excerpt(text, None, 1000).line


@given(st.text(alphabet="ab é日", max_size=200), st.integers(10, 60))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    found = wrapped(text, width)
    assert max(map(columns_of, found)) <= width
    assert "".join(found).replace(" ", "") == text.replace(" ", "")
