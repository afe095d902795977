"""What a refusal proposes: the narrowest rule that would have let the call run, and nothing where none would."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.approval.always_rule import bound_of, parsed
from gateway.approval.proposing import as_read, clauses_of_bound, opens_only, proposed
from gateway.approval.saved_rules import rule_text
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.always import narrowest

PROPOSED = {
    "touch build/x": (
        '{command: "touch build/x", effect: write, path: "build/x", path_not: "build/x/**"}',
        ("the command `touch build/x` may write `build/x`",),
    ),
    "rm -rf build": (
        '{command: "rm -rf build", effect: delete, path: "./build"}',
        ("the command `rm -rf build` may delete `./build`, with all below",),
    ),
    "python3 src/a.py": (
        '{command: "python3 src/a.py", effect: code, cwd: ".", confined: true}',
        ("the command `python3 src/a.py` may run its code in `.`, in the sandbox",),
    ),
}


def propose(asked: Any, **how: Any) -> Any:
    return proposed(asked.judge, asked.verdict, asked.judge.registry.tool(asked.verdict.call.tool), **how)


@pytest.mark.parametrize("mode", ["default", "dont_ask"])
@pytest.mark.parametrize("text", PROPOSED)
def test_a_call_that_nobody_is_asked_about_proposes_the_rule_of_its_very_words_and_targets(judged, text, mode) -> None:
    rule, opens = PROPOSED[text]
    found = propose(judged(text, mode=mode), calls=True)
    assert (found.rule, found.opens, found.calls) == (f"allow: {rule}", opens, (f"Bash({text})",))
    assert (
        judged(text, {"local": {"rules": [{"id": "x", **_read(rule)}]}}, mode=mode).verdict.decision is Decision.ALLOW
    )


@pytest.mark.parametrize(
    "call", [*PROPOSED, RawCall("mcp__git__log", {}), "mkdir a && rm -r b", "touch 'a b*'"], ids=str
)
def test_the_rule_that_is_tried_is_the_one_that_its_file_would_say(judged, call: Any) -> None:
    asked = judged(call)
    alternatives = narrowest(asked.verdict)
    text = rule_text(alternatives)
    (tried,), (read,) = as_read(alternatives, text), parsed(asked.judge, text)
    assert (tried["lane"], tried["when"], tried["except"]) == (read["lane"], read["when"], read["except"])


def _read(rule: str) -> dict[str, Any]:
    import yaml

    return {"allow": yaml.safe_load(rule)}


@pytest.mark.parametrize(
    ("text", "layers", "how"),
    [
        ("git status", None, {}),
        ("touch a", None, {"mode": "plan"}),
        ("touch a", None, {"mode": "read_only"}),
        ("touch a", {"project": [{"id": "no", "deny": "Edit(a)"}]}, {}),
        ("touch a", {"project": [{"id": "no", "ask": "Edit(a)"}]}, {}),
        ("touch a", {"project": [{"id": "no", "ask": "Edit(a)"}]}, {"mode": "dont_ask"}),
        ("touch $X", None, {}),
        ("gateway proposals accept x", None, {}),
        ("python3 -", None, {}),
        ("python3 src/a.py", None, {"confined": False}),
    ],
)
def test_nothing_is_proposed_where_no_rule_would_help_or_none_should(judged, text, layers, how) -> None:
    assert propose(judged(text, layers, **how)) is None


def test_a_rule_for_any_input_of_a_tool_says_so_and_is_shown_by_a_call(judged) -> None:
    found = propose(judged(RawCall("mcp__git__log", {"a": 1})), calls=True)
    assert found.opens == ("every call of `mcp__git__log`, whatever it is given",)
    assert found.calls[0].startswith("mcp__git__log")


def test_what_is_told_to_a_model_hides_nothing_and_names_who_may_accept(judged) -> None:
    found = propose(judged("touch 'a b'")).replace(rule="allow: Edit(\u202e\x1b[31m)")
    assert found.told.isprintable()
    assert f"`gateway proposals show {found.id}`" in found.told
    assert "Nobody else can" in found.told


WITHIN = [
    ('{command: "touch a", effect: write, path: "./a"}', "Edit(**)", True),
    ('{command: "touch a", effect: write, path: "./a"}', "Edit(a/**)", False),
    ('{command: "touch a", effect: write, path: "./build/a"}', "Edit(build/**)", True),
    ('{command: "touch a", effect: write, path: "//srv/a"}', "Edit(build/**)", False),
    ('{command: "make x", effect: code, cwd: ".", confined: true}', "{exec: make, effect: code, confined: true}", True),
    (
        '{command: "make x", effect: code, cwd: ".", confined: true}',
        "{exec: just, effect: code, confined: true}",
        False,
    ),
    ('{command: "make x", effect: code, cwd: "."}', "{exec: make, effect: code, confined: true}", False),
    ('{effect: connect, direction: fetch, host: "a.b", port: 443}', "{effect: connect, host: '*.b'}", True),
    ('{effect: connect, direction: fetch, host: "a.b", port: 443}', "{effect: connect, host: '*.b', port: 80}", False),
    ('{effect: connect, direction: send, host: "a.b"}', "{effect: connect, direction: fetch, host: a.b}", False),
    ("mcp__git__*", "mcp__git__log", False),
    ("mcp__git__log", "mcp__git__*", True),
    ("{tool: mcp__git__log, server: 'stdio:git'}", "mcp__git__*", True),
    ("mcp__git__log", "{tool: mcp__git__*, server: 'stdio:git'}", False),
    ("mcp__git__log", "mcp__gut__*", False),
    ("mcp__run__shell", "mcp__run__*", False),
    ("Bash", "Bash", False),
    ('[{effect: write, path: "./a"}, {effect: delete, path: "./a"}]', "[Edit(a), {effect: delete, path: ./a}]", True),
    ('[{effect: write, path: "./a"}, {effect: delete, path: "./a"}]', "Edit(a)", False),
]


@pytest.mark.parametrize(("rule", "bounds", "is_within"), WITHIN)
def test_what_opens_nothing_outside_of_bounds_is_told_exactly(judged, rule: str, bounds: str, is_within: bool) -> None:
    asked = judged("touch a")
    root, home = asked.verdict.context.root, asked.verdict.context.home
    narrow, wide = (
        clauses_of_bound(bound_of(parsed(asked.judge, f"allow: {each}"), root), home) for each in (rule, bounds)
    )
    assert narrow
    assert wide
    assert opens_only(narrow, wide, lambda name: name in ("Bash", "mcp__run__shell")) is is_within
