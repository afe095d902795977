"""The adapter for smolagents, in the framework itself, with a model of ours."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.cells import Cells, Played

pytest.importorskip("smolagents", reason="the framework smolagents is not installed")

from smolagents import ActionStep, ChatMessage, Model, Tool, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from gateway.adapters.smolagents import Guarding
from gateway.approval.base import Answer, no
from gateway.approval.callback import Callback


class Scripted(Model):
    """Makes one call after the other, and ends."""

    def __init__(self, calls: list[Any]) -> None:
        super().__init__(model_id="scripted")
        self._calls = [*calls, ("final_answer", {"answer": "done"})]

    def generate(self, *_what: Any, **_how: Any) -> ChatMessage:
        name, given = self._calls.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=given)
        call = ChatMessageToolCall(id=f"c{len(self._calls)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


class TestSmolagents(Cells):
    def told(self, world: Any, calls: Any, *answers: bool, **how: Any) -> Played:
        """There is no interrupt: the gateway's approver is asked."""
        asked: list[str] = []
        given = list(answers)

        def ask(question: Any) -> Answer:
            from gateway.policy.explain import message

            asked.append(message(question.verdict) + question.verdict.call.tool)
            yes = given.pop(0)
            return Answer(True, "once", "a person through smolagents") if yes else no("a person")

        played = self.play(world.open(approver=Callback(ask)), self.own(world), calls, [], **how)
        return played._replace(asked=asked)

    def play(self, gateway: Any, own: Any, calls: Any, _answers: Any, **how: Any) -> Played:
        class Append(Tool):
            name = "append"
            description = "Appends a name."
            inputs = {"name": {"type": "string", "description": "the name"}}  # noqa: RUF012 - theirs
            output_type = "string"

            def forward(self, name: str) -> str:
                return own(name)

        guarding = Guarding(gateway, **how)
        tools = [*guarding.guard([Append()]), *guarding.tools()]
        agent = ToolCallingAgent(tools=tools, model=Scripted(list(calls)), verbosity_level=0)
        agent.run("go")
        steps = [each for each in agent.memory.steps if isinstance(each, ActionStep)][: len(calls)]
        return Played([each.observations or str(each.error) for each in steps], [])

    # The approver is asked in the middle of the call, not before it: `tests/approval` holds what a yes is bound to.
    test_a_yes_holds_for_what_was_shown_alone = None  # type: ignore[assignment]
