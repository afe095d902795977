"""The adapter for pydantic-ai, in the framework itself, with a model of ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from adapters.cells import Cells, Played

pytest.importorskip("pydantic_ai", reason="the framework pydantic-ai is not installed")

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, FunctionToolset, ToolDenied
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from gateway.adapters.pydantic_ai import GatewayToolset, GuardedToolset


class TestPydanticAI(Cells):
    def play(
        self, gateway: Any, own: Any, calls: Any, answers: Any, *, meanwhile: Any = None, judged_as: Any = None,
        agent: str = "",
    ) -> Played:  # fmt: skip
        def append(name: str) -> str:
            """Appends a name."""
            return own(name)

        def model(messages: list[Any], _info: Any) -> ModelResponse:
            place = sum(isinstance(each, ModelResponse) for each in messages)
            if place < len(calls):
                return ModelResponse([ToolCallPart(calls[place][0], calls[place][1], tool_call_id=f"c{place}")])
            return ModelResponse([TextPart("done")])

        mine = GuardedToolset(FunctionToolset([append]), gateway, judged_as=judged_as, agent=agent)
        toolsets = [mine, GatewayToolset(gateway, agent=agent)]
        made = Agent(FunctionModel(model), toolsets=toolsets, output_type=[str, DeferredToolRequests])
        asked: list[str] = []

        async def go() -> Any:
            result = await made.run("go")
            while isinstance(result.output, DeferredToolRequests):
                (call,) = result.output.approvals
                asked.append(result.output.metadata[call.tool_call_id]["reason"] + call.tool_name)
                if meanwhile is not None:
                    meanwhile()
                answer = True if answers.pop(0) else ToolDenied("not now")
                results = DeferredToolResults(approvals={call.tool_call_id: answer})
                result = await made.run(message_history=result.all_messages(), deferred_tool_results=results)
            return result

        parts = [part for message in asyncio.run(go()).all_messages() for part in message.parts]
        return Played([str(each.content) for each in parts if isinstance(each, ToolReturnPart)], asked)
