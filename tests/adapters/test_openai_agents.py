"""The adapter for openai-agents, in the framework itself, with a model of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from adapters.cells import Cells, Played

pytest.importorskip("agents.tool", reason="the framework openai-agents is not installed")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from gateway.adapters.openai_agents import Guarding


class Scripted(Model):
    """Makes one call after the other."""

    def __init__(self, calls: list[Any]) -> None:
        self._calls = calls

    async def get_response(self, **given: Any) -> ModelResponse:  # type: ignore[override]
        items = [] if isinstance(given["input"], str) else given["input"]
        place = sum(isinstance(each, dict) and each.get("type") == "function_call" for each in items)
        if place < len(self._calls):
            name, arguments = self._calls[place]
            call = ResponseFunctionToolCall(
                arguments=json.dumps(arguments), call_id=f"c{place}", name=name, type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text="done", type="output_text")
        message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_what: Any, **_how: Any) -> Any:
        raise NotImplementedError


class TestOpenAIAgents(Cells):
    def play(
        self, gateway: Any, own: Any, calls: Any, answers: Any, *, meanwhile: Any = None, judged_as: Any = None,
        agent: str = "",
    ) -> Played:  # fmt: skip
        @function_tool
        def append(name: str) -> str:
            """Appends a name."""
            return own(name)

        guarding = Guarding(gateway, judged_as=judged_as, main="main")
        tools = [*guarding.guard([append]), *guarding.tools()]
        made = Agent(name=agent or "main", model=Scripted(calls), tools=tools)
        config = RunConfig(tracing_disabled=True)
        asked: list[str] = []

        async def go() -> Any:
            result = await Runner.run(made, "go", run_config=config)
            while result.interruptions:
                state = result.to_state()
                (item,) = result.interruptions
                asked.append(guarding.reason(item.raw_item.call_id) + item.name)
                if meanwhile is not None:
                    meanwhile()
                if answers.pop(0):
                    state.approve(item)
                else:
                    state.reject(item, rejection_message="not now")
                result = await Runner.run(made, state, run_config=config)
            return result

        items = asyncio.run(go()).to_input_list()
        return Played([each["output"] for each in items if each.get("type") == "function_call_output"], asked)
