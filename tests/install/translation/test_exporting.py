"""A policy in agents' own rules: never more allowed than policy allows, strictness kept where order has meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.config.layers import PolicyFile
from gateway.install.translation.auditing import harm
from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.common_call import SHELL, Asked
from gateway.install.translation.comparing import is_beyond_rules, theirs_of
from gateway.install.translation.exporting import FORMS, Exported, exported
from gateway.install.translation.importing import ordered
from gateway.judge.policy_tests import read_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.translation.engine import Engine
    from gateway.install.translation.rules import Rule

POLICY = b"""\
version: 1
extends: [guard]
allow: [Bash(npm test *), Bash(git *), Bash(cargo build), mcp__github__get_issue]
ask: [Bash(git push *)]
deny: [Bash(rm -rf *), Read(customers/**), Read(~/private/**), WebFetch(domain:evil.example)]
"""


@pytest.fixture(scope="module")
def made(engine: Engine) -> dict[str, Exported]:
    from gateway.config.shipped import load_tools
    from gateway.core.places import places

    file = PolicyFile("user", "/home/dev/policy.yaml", POLICY, base="/home/dev/project", root="/home/dev")
    bound = read_layers([file], load_tools(places()), "/home/dev/project").bound
    rules = [rule for each in bound for rule in each.rules]
    policy = engine.policy_of(bound, "/home/dev")
    return {name: exported(rules, client, engine, policy) for name, client in CLIENTS.items()}


def _rules(agent: str, text: str, engine: Engine) -> Sequence[Rule]:
    return ordered(CLIENTS[agent], [(text, FORMS[agent].file, "user")], engine.where)[0]


@pytest.mark.parametrize("agent", CLIENTS)
def test_nothing_that_policy_refuses_is_let_run_by_what_was_exported(
    agent: str, made: dict[str, Exported], engine: Engine
) -> None:
    rules, client = _rules(agent, made[agent].text, engine), CLIENTS[agent]
    run = [
        each
        for each in harm()
        if theirs_of(rules, client.WAY, engine, each).lane == "allow"
        and not is_beyond_rules(each, rules, client, engine)
    ]
    assert run == []
    assert any("would allow more than policy does: git " in why for _rule, why in made[agent].left)


SAID = {
    "claude": ("allow", "allow", "ask", "deny"),
    "codex": ("allow", "", "ask", "deny"),
    "gemini": ("allow", "", "ask", "deny"),
    "opencode": ("allow", "allow", "ask", "deny"),
    "vscode": ("allow", "", "ask", "ask"),
    "cursor": ("", "", "", ""),
    "copilot": ("allow", "", "", "deny"),
}


@pytest.mark.parametrize("agent", CLIENTS)
def test_what_an_agent_can_say_it_says_as_policy_does(agent: str, made: dict[str, Exported], engine: Engine) -> None:
    rules, client = _rules(agent, made[agent].text, engine), CLIENTS[agent]
    calls = ("npm test -u", "cargo build", "git push origin", "rm -rf x")
    found = tuple(theirs_of(rules, client.WAY, engine, Asked(SHELL, call)).lane for call in calls)
    assert found == SAID[agent]
