"""The adapter for crewai, in the framework itself, with a model of ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from adapters.cells import Cells, Played

pytest.importorskip("crewai", reason="the framework crewai is not installed")

from crewai import Agent
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool
from pydantic import PrivateAttr

from gateway.adapters.crewai import Guarding, standing_still
from gateway.approval.base import Answer, no
from gateway.approval.callback import Callback

pytestmark = pytest.mark.filterwarnings("default")  # theirs


class Scripted(BaseLLM):
    """Makes one call after the other, and ends."""

    _calls: list[Any] = PrivateAttr()
    _read: list[str] = PrivateAttr()

    def __init__(self, calls: list[Any], read: list[str]) -> None:
        super().__init__(model="scripted")
        self._calls = list(calls)
        self._read = read

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *_what: Any, **_how: Any) -> Any:
        self._read[:] = [each["content"] for each in messages if each["role"] == "tool"]
        if not self._calls:
            return "done"
        name, given = self._calls.pop(0)
        return [{"id": f"c{len(self._calls)}", "name": name.lower(), "input": given}]

    async def acall(self, messages: Any, *what: Any, **how: Any) -> Any:
        return self.call(messages, *what, **how)


class TestCrewAI(Cells):
    def told(self, world: Any, calls: Any, *answers: bool, **how: Any) -> Played:
        """There is no interrupt: the gateway's approver is asked."""
        asked: list[str] = []
        given = list(answers)

        def ask(question: Any) -> Answer:
            from gateway.policy.explain import message

            asked.append(message(question.verdict) + question.verdict.call.tool)
            yes = given.pop(0)
            return Answer(True, "once", "a person through crewai") if yes else no("a person")

        gateway = world.open(approver=standing_still(Callback(ask)))
        return self.play(gateway, self.own(world), calls, [], **how)._replace(asked=asked)

    def play(self, gateway: Any, own: Any, calls: Any, _answers: Any, **how: Any) -> Played:
        class Append(BaseTool):
            name: str = "append"
            description: str = "Appends a name."

            def _run(self, name: str) -> str:
                return own(name)

        guarding = Guarding(gateway, **how)
        read: list[str] = []
        tools = [*guarding.guard([Append()]), *guarding.tools()]
        agent = Agent(role="r", goal="g", backstory="b", llm=Scripted(list(calls), read), tools=tools)
        agent.kickoff("go")
        return Played([*read], [])

    def test_the_same_call_is_judged_and_run_each_time(self, world: Any) -> None:
        played = self.told(world, [("append", {"name": "may"}), ("append", {"name": "may"})])
        assert self.log(world) == ["may", "may"]
        assert played.results == ["appended may", "appended may"]

    def test_on_a_loop_a_tool_is_led_through_the_same_life(self, world: Any) -> None:
        class Append(BaseTool):
            name: str = "append"
            description: str = "Appends a name."

            def _run(self, name: str) -> str:
                raise AssertionError(name)

            async def _arun(self, name: str) -> str:
                return f"later {name}"

        (tool,) = Guarding(world.open()).guard([Append()])
        assert asyncio.run(tool.arun(name="may")) == "later may"
        assert "rule `never`" in asyncio.run(tool.arun(name="never")).message

    # The approver is asked in the middle of the call, not before it: `tests/approval` holds what a yes is bound to.
    test_a_yes_holds_for_what_was_shown_alone = None  # type: ignore[assignment]
