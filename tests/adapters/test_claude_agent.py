"""The adapter for claude-agent-sdk, with the client that the package brings and a model of ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from realmodel import Model

pytest.importorskip("claude_agent_sdk", reason="the framework claude-agent-sdk is not installed")

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from gateway.adapters.claude_agent import guarded

RULES = [
    {"id": "says", "allow": "Bash(echo *)"},
    {"id": "edits", "allow": "Edit(./**)"},
    {"id": "asks", "ask": "Bash(sh *)", "because": "scripts are looked at"},
    {"id": "never", "deny": "Bash(touch *)", "because": "not this one"},
]


class Seat:
    """A session of the SDK in a project, with what was asked and what the model read."""

    def __init__(self, world: Any, answer: bool | None) -> None:
        self.world = world
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def plays(self, *steps: list[tuple[str, dict[str, Any]]]) -> list[str]:
        with Model(list(steps)) as model:
            options = ClaudeAgentOptions(
                cwd=str(self.world.project), setting_sources=[],
                env={
                    "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "HOME": str(self.world.home),
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
                    "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
                },
            )  # fmt: skip
            asyncio.run(self._go(guarded(options, self._ask if self.answer is not None else None)))
            return model.results()

    def _ask(self, tool: str, _given: Any, reason: str) -> bool:
        self.asked.append((tool, reason))
        return self.answer is True

    async def _go(self, options: Any) -> None:
        async with ClaudeSDKClient(options) as client:
            await client.query("go")
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    return


@pytest.fixture
def world(ground: Any) -> Any:
    ground.says({"rules": RULES})
    (ground.project / "x.sh").write_text("echo ran\n")
    return ground


def bash(command: str) -> list[tuple[str, dict[str, Any]]]:
    return [("Bash", {"command": command, "description": "d"})]


def test_what_may_run_runs(world: Any) -> None:
    (result,) = Seat(world, None).plays(bash("echo hello"))
    assert "hello" in result


def test_what_is_denied_does_not_run_and_the_model_reads_why(world: Any) -> None:
    (result,) = Seat(world, None).plays(bash("touch made"))
    assert "not this one" in result
    assert not (world.project / "made").exists()


@pytest.mark.parametrize("answer", [True, False, None], ids=["yes", "no", "nobody there"])
def test_what_policy_asks_about_is_asked_as_the_sdk_asks(world: Any, answer: bool | None) -> None:
    seat = Seat(world, answer)
    (result,) = seat.plays(bash("sh x.sh"))
    assert (result == '"ran"') is (answer is True)
    if answer is not None:
        ((tool, reason),) = seat.asked
        assert (tool, "scripts are looked at" in reason) == ("Bash", True)


def test_a_command_runs_in_the_sandbox_where_policy_guards(world: Any) -> None:
    world.says({"rules": RULES, "settings": {"guarded": True}})
    (result,) = Seat(world, None).plays(bash("echo hello"))
    assert "hello" in result
    records = [each for each in world.records() if "decision" in each]
    assert any(each.get("plan") for each in records), records


def test_what_was_decided_and_became_of_it_is_in_the_record(world: Any) -> None:
    Seat(world, None).plays(bash("echo hello"), bash("touch made"))
    told = [each["decision"] for each in world.records() if "decision" in each]
    assert told == ["allow", "deny"]


def test_a_failure_of_ours_lets_nothing_run(world: Any) -> None:
    world.says("rules: [")
    (result,) = Seat(world, None).plays(bash("echo x > made"))
    assert not (world.project / "made").exists()
    assert "gateway" in result
