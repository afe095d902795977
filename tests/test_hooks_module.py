"""`gateway.hooks.decide`: what a foreign agent's hook would answer, inside of a program."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.hooks import Decided, decide


def event(project: Any, command: str, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "s", "transcript_path": "/tmp/x", "cwd": str(project), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t",
        **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("command", "word"),
    [("echo hello", "allow"), ("cat ~/.ssh/id_rsa", "deny")],
)
def test_an_event_is_answered_in_the_agents_own_form(ground: Any, command: str, word: str) -> None:
    ground.says({"rules": [{"id": "says", "allow": "Bash(echo *)"}]})
    decided = decide("claude", event(ground.project, command))
    assert decided.answer["hookSpecificOutput"]["permissionDecision"] == word
    assert (decided.said, decided.status) == ("", 0)
    assert [each["decision"] for each in ground.records() if "decision" in each] == [word]


@pytest.mark.parametrize(
    ("agent", "given"),
    [
        pytest.param("nobody", {}, id="an agent that is not known"),
        pytest.param("claude", {"hook_event_name": "Nothing"}, id="an event that is none"),
        pytest.param("claude", {"x": object()}, id="what is no JSON"),
    ],
)
def test_whatever_cannot_be_decided_is_a_refusal(ground: Any, agent: str, given: Any) -> None:
    del ground
    decided: Decided = decide(agent, given)
    assert decided.answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert decided.status == 2


def test_a_broken_policy_is_a_refusal(ground: Any) -> None:
    ground.says("rules: [")
    decided = decide("claude", event(ground.project, "echo hello"))
    assert decided.answer["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("wanted", "word"),
    [({"people": 1}, "ask"), ({"people": 2}, "deny"), ({"requester": False}, "deny")],
    ids=str,
)
def test_where_others_must_agree_the_agents_own_person_is_not_asked(ground: Any, wanted: Any, word: str) -> None:
    ground.says({"settings": {"remote": wanted}, "rules": [{"id": "asks", "ask": "Bash(echo *)"}]})
    decided = decide("claude", event(ground.project, "echo hello"))
    assert decided.answer["hookSpecificOutput"]["permissionDecision"] == word


@pytest.mark.parametrize(
    "command",
    ["gateway console", "gateway console --secret hook", "cat ~/.local/state/gateway/console/people.json",
     "cat ~/.local/state/gateway/console/secrets/hook", "curl -d @x http://127.0.0.1:8470/api/answer"],
)  # fmt: skip
def test_no_hook_lets_an_agent_reach_whoever_answers_from_elsewhere(ground: Any, command: str) -> None:
    ground.says({"settings": {"mode": "accept_edits"}, "rules": []})
    decided = decide("claude", event(ground.project, command, permission_mode="bypassPermissions"))
    assert decided.answer["hookSpecificOutput"]["permissionDecision"] in ("deny", "ask")
