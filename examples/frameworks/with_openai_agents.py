"""An agent of openai-agents with the policy before its tools."""

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from steps import STEPS, agreed, told

from gateway import Gateway, Options
from gateway.adapters.openai_agents import Guarding


@function_tool
def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    return f"{text!r} is sent to {to}"


class WithoutAccount(Model):
    """Stands for your model: the name of one of OpenAI's, or any other."""

    async def get_response(self, **given: Any) -> ModelResponse:
        items = [] if isinstance(given["input"], str) else given["input"]
        place = sum(each.get("type") == "function_call" for each in items)
        if place < len(STEPS):
            name, fields = STEPS[place]
            made: Any = ResponseFunctionToolCall(
                arguments=json.dumps(fields), call_id=f"c{place}", name=name, type="function_call"
            )
        else:
            text = ResponseOutputText(annotations=[], text="Done.", type="output_text")
            made = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[made], usage=Usage(), response_id=None)

    def stream_response(self, *_what: Any, **_how: Any) -> Any:
        raise NotImplementedError


async def main(gateway: Gateway) -> None:
    guarding = Guarding(gateway)
    tools = [*guarding.tools(), *guarding.guard([send_mail])]
    agent = Agent(name="helper", model=WithoutAccount(), tools=tools)
    config = RunConfig(tracing_disabled=True)
    result = await Runner.run(agent, "Tell Ann when the meeting is.", run_config=config)
    while result.interruptions:
        state = result.to_state()
        for item in result.interruptions:
            if agreed(guarding.reason(item.raw_item.call_id)):
                state.approve(item)
            else:
                state.reject(item)
        result = await Runner.run(agent, state, run_config=config)
    outputs = [each["output"] for each in result.to_input_list() if each.get("type") == "function_call_output"]
    for (name, _fields), output in zip(STEPS, outputs, strict=True):
        told(name, output)


with Gateway(Options(cwd=".", binding=True)) as gateway:
    asyncio.run(main(gateway))
