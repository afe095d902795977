"""Calls as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import CallError
from gateway.model.call import RawCall
from gateway.tools.text import parse_call_text


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("Bash(rm -rf *)", RawCall("Bash", {"command": "rm -rf *"}, True)),
        ("Bash(echo ')' && (cd x))", RawCall("Bash", {"command": "echo ')' && (cd x)"}, True)),
        ("Bash( ls )", RawCall("Bash", {"command": " ls "}, True)),
        ("Bash(a\nb)", RawCall("Bash", {"command": "a\nb"}, True)),
        ("Bash({ ls; })", RawCall("Bash", {"command": "{ ls; }"}, True)),
        ("  Bash (ls)\n", RawCall("Bash", {"command": "ls"}, True)),
        ("Bash()", RawCall("Bash", {"command": ""}, True)),
        ("Bash", RawCall("Bash", {}, True)),
        ("Read(src/a (1).py)", RawCall("Read", {"file_path": "src/a (1).py"}, True)),
        ("Grep(src)", RawCall("Grep", {"path": "src"}, True)),
        ("Glob(**/*.py)", RawCall("Glob", {"pattern": "**/*.py"}, True)),
        ("Task(Explore)", RawCall("Agent", {"subagent_type": "Explore"}, True)),
        ("Skill(review)", RawCall("Skill", {"name": "review"}, True)),
        ("WebFetch(domain:example.com)", RawCall("WebFetch", {"url": "https://example.com/"}, True)),
        ("WebFetch(domain: example.com )", RawCall("WebFetch", {"url": "https://example.com/"}, True)),
        ("WebFetch(https://example.com/a(b))", RawCall("WebFetch", {"url": "https://example.com/a(b)"}, True)),
        ("mcp__github__get_issue", RawCall("mcp__github__get_issue", {}, True)),
        ("mcp__github__get_issue()", RawCall("mcp__github__get_issue", {}, True)),
        (
            'mcp__github__get_issue({"n": 7, "deep": {"x": [")"]}})',
            RawCall("mcp__github__get_issue", {"n": 7, "deep": {"x": [")"]}}, True),
        ),
    ],
)
def test_the_text_between_the_outer_parentheses_is_the_match_field(registry, text, call):
    assert parse_call_text(registry, text) == call


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "call must be `Tool(…)` (got ``)\n  help: such as `Bash(git status)`"),
        ("  ", "call must be `Tool(…)` (got `  `)\n  help: such as `Bash(git status)`"),
        ("(ls)", "call must be `Tool(…)` (got `(ls)`)\n  help: such as `Bash(git status)`"),
        ("Bash(ls", "call must end in `)` (got `Bash(ls`)"),
        ("Bash(ls) && x", "call must end in `)` (got `Bash(ls) && x`)"),
        ("Bahs(ls)", "tool must be a known name (got `Bahs`)\n  help: did you mean `Bash`?"),
        (
            "rm -rf /",
            "call must be `Tool(…)` (got `rm -rf /`)\n  help: a shell command is a call too: `Bash(rm -rf /)`",
        ),
        ("\0", "tool must be a known name (got `\\x00`)\n  help: see `gateway tools list`"),
        (
            "mcp__a__b(ls)",
            "`mcp__a__b` must be given its input as a JSON object (got `ls`)\n  help: mcp__a__b({…})",
        ),
        (
            'mcp__a__b({"x": 1, "x": 2})',
            'input must be a JSON object (got `{"x": 1, "x": 2}`)\n  help: a key is given twice',
        ),
        ('mcp__a__b({"x": NaN})', 'input must be a JSON object (got `{"x": NaN}`)\n  help: `NaN` is no JSON number'),
    ],
)
def test_a_text_that_is_no_call_is_refused(registry, text, said):
    with pytest.raises(CallError) as caught:
        parse_call_text(registry, text)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "text",
    [
        "mcp__a__b({" + '"a":{' * 100_000 + ")",
        "mcp__a__b({" + '"a":[' + "[" * 200_000 + ")",
        "(" * 1_000_000,
        "Bash" * 1_000_000 + "(",
        "Bash(" + "a" * 5_000_000 + ")",
    ],
    ids=["deep-object", "deep-list", "parentheses", "long-name", "too-long"],
)
def test_hostile_texts_are_refused_in_bounded_time(registry, text):
    with pytest.raises(CallError):
        parse_call_text(registry, text)


@given(st.text(max_size=60))
def test_any_text_is_a_call_or_one_clear_error(registry, context, text):
    for call in (text, f"Bash({text})", f"Read({text})", f"WebFetch({text})", f"mcp__a__b({text})", f"Glob({text})"):
        try:
            registry.canonical_call(parse_call_text(registry, call), context)
        except CallError as error:
            assert error.problems  # noqa: PT017 - that nothing else is raised is the point
