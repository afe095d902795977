"""The law of imports, on rules and calls drawn at random, and what is told of single rules."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH
from rulesets import call, text_of

from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.common_call import SHELL, Asked
from gateway.install.translation.comparing import EXACT, LOST, NARROWER, WIDER, differences, translated
from gateway.install.translation.importing import ordered
from gateway.install.translation.statements import layer

if TYPE_CHECKING:
    from gateway.install.translation.engine import Engine

SETS, CALLS = (2500, 40) if THOROUGH else (4, 20)


@pytest.mark.parametrize("agent", CLIENTS)
def test_an_imported_allow_is_never_wider_and_an_imported_deny_never_narrower(agent: str, engine: Engine) -> None:
    """Of calls that the import itself has not tried."""
    client = CLIENTS[agent]
    for seed in range(SETS):
        pick = random.Random(f"{agent} {seed}")
        text, file = text_of(agent, pick)
        level = "project" if "/project/" in file else "user"
        rules, _remarks = ordered(client, [(text, file, level)], engine.where)
        written = layer(translated(rules, client, engine, layer_name=level).statements, {agent: client.TITLE})
        policy = engine.policy(written, level)
        found = differences(rules, client.WAY, engine, policy, [call(pick) for _ in range(CALLS)])
        assert found == [], f"{text}\n{written}"


# A rule of Claude Code's: its lane, and what becomes of it with a call that shows it.
LOSSES = [
    ("allow", "Bash(npm run test:*)", EXACT, ""),
    ("allow", "Bash(git * main)", EXACT, ""),
    ("allow", "Bash(cat:*)", EXACT, ""),
    ("allow", "Bash", NARROWER, "some-program x"),
    ("allow", 'Bash(git commit -m "fix *")', EXACT, ""),
    ("allow", "Bash(echo $HOME *)", LOST, ""),
    ("allow", "Read(~/notes/**)", EXACT, ""),
    ("allow", "Write(src/**)", LOST, ""),
    ("allow", "mcp__github__get_issue", EXACT, ""),
    ("ask", "Bash(git push:*)", EXACT, ""),
    ("deny", "Bash(rm -rf:*)", WIDER, "/usr/bin/rm -rf build"),
    ("deny", "Read(./.env)", WIDER, "cat .env"),
    ("deny", "WebFetch(domain:x.org)", WIDER, "curl https://x.org/"),
]


@pytest.mark.parametrize(("lane", "text", "grade", "witness"), LOSSES)
def test_the_report_says_what_becomes_of_a_rule_and_shows_it(
    lane: str, text: str, grade: str, witness: str, engine: Engine
) -> None:
    file = json.dumps({"permissions": {lane: [text]}})
    client = CLIENTS["claude"]
    rules, _remarks = ordered(client, [(file, "/home/dev/.claude/settings.json", "user")], engine.where)
    (loss,) = translated(rules, client, engine).losses
    assert (loss.grade, loss.witness or witness) == (grade, witness or loss.witness)


@pytest.mark.parametrize(
    ("call", "decision"), [("git add README.md", "ask"), ("tee .git/config", "deny"), ("rm .git/config", "deny")]
)
def test_a_deny_of_what_git_keeps_is_none_of_git(call: str, decision: str, engine: Engine) -> None:
    client = CLIENTS["claude"]
    text = json.dumps({"permissions": {"deny": ["Edit(.git/**)"]}})
    rules, _remarks = ordered(client, [(text, "/home/dev/.claude/settings.json", "user")], engine.where)
    policy = engine.policy(layer(translated(rules, client, engine).statements, {"claude": "x"}))
    assert engine.decision(policy, Asked(SHELL, call)) == decision


def test_order_that_has_meaning_becomes_exceptions(engine: Engine) -> None:
    client = CLIENTS["opencode"]
    text = json.dumps({"permission": {"bash": {"*": "ask", "git *": "allow", "git push *": "deny"}}})
    rules, _remarks = ordered(client, [(text, "/home/dev/opencode.json", "user")], engine.where)
    made = [(each.lane, each.when, each.without) for each in translated(rules, client, engine).statements]
    assert made == [
        ("deny", ({"command": ["git push *"]},), ()),
        ("allow", ({"command": ["git *"]},), ()),
        ("ask", ({"command": ["**"]},), ({"command": ["git *"]},)),
    ]


def test_an_expression_over_the_whole_text_keeps_no_exception_for_one_command_of_it(engine: Engine) -> None:
    client = CLIENTS["gemini"]
    text = (
        '[[rule]]\ntoolName = "run_shell_command"\ncommandRegex = ".*--force"\ndecision = "deny"\npriority = 550\n'
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "rm"\ndecision = "allow"\npriority = 950\n'
    )
    rules, _remarks = ordered(client, [(text, "/home/dev/.gemini/policies/x.toml", "user")], engine.where)
    policy = engine.policy(layer(translated(rules, client, engine).statements, {"gemini": "x"}))
    assert engine.decision(policy, Asked(SHELL, "! rm test --force")) == "deny"
