"""An agent of pydantic-ai with the policy before its tools."""

import asyncio
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, FunctionToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from steps import STEPS, agreed, told

from gateway import Gateway, Options
from gateway.adapters.pydantic_ai import GatewayToolset, GuardedToolset


def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    return f"{text!r} is sent to {to}"


def without_account(messages: list[Any], _info: Any) -> ModelResponse:
    """Stands for your model: `"anthropic:claude-sonnet-4-5"` or any other."""
    place = sum(isinstance(each, ModelResponse) for each in messages)
    if place < len(STEPS):
        name, given = STEPS[place]
        return ModelResponse([ToolCallPart(name, given, tool_call_id=f"c{place}")])
    return ModelResponse([TextPart("Done.")])


async def main(gateway: Gateway) -> None:
    toolsets = [GatewayToolset(gateway), GuardedToolset(FunctionToolset([send_mail]), gateway)]
    agent = Agent(FunctionModel(without_account), toolsets=toolsets, output_type=[str, DeferredToolRequests])
    result = await agent.run("Tell Ann when the meeting is.")
    while isinstance(result.output, DeferredToolRequests):
        why = result.output.metadata
        answers = {each.tool_call_id: agreed(why[each.tool_call_id]["reason"]) for each in result.output.approvals}
        results = DeferredToolResults(approvals=answers)
        result = await agent.run(message_history=result.all_messages(), deferred_tool_results=results)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                told(part.tool_name, part.content)


with Gateway(Options(cwd=".", binding=True)) as gateway:
    asyncio.run(main(gateway))
