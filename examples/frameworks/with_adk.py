"""An agent of google-adk with the policy before its tools."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from steps import STEPS, agreed, told

from gateway import Gateway, Options
from gateway.adapters.adk import GatewayPlugin

CONFIRM = "adk_request_confirmation"


def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    return f"{text!r} is sent to {to}"


class WithoutAccount(BaseLlm):
    """Stands for your model: `"gemini-2.5-pro"` or any other."""

    made: int = 0

    async def generate_content_async(self, _request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        del stream
        part = types.Part(text="Done.")
        if self.made < len(STEPS):
            name, given = STEPS[self.made]
            part = types.Part(function_call=types.FunctionCall(id=f"c{self.made}", name=name, args=given))
            self.made += 1
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(gateway: Gateway) -> None:
    plugin = GatewayPlugin(gateway)
    agent = LlmAgent(name="helper", model=WithoutAccount(model="scripted"), tools=[*plugin.tools(), send_mail])
    runner = InMemoryRunner(agent=agent, app_name="app", plugins=[plugin])
    session = (await runner.session_service.create_session(app_name="app", user_id="u")).id
    said = types.Part(text="Tell Ann when the meeting is.")
    results = {}
    while said is not None:
        content, said = types.Content(role="user", parts=[said]), None
        async for event in runner.run_async(user_id="u", session_id=session, new_message=content):
            for part in event.content.parts if event.content and event.content.parts else ():
                call, response = part.function_call, part.function_response
                if call is not None and call.name == CONFIRM:
                    answer = {"confirmed": agreed(call.args["toolConfirmation"]["hint"])}
                    answered = types.FunctionResponse(id=call.id, name=CONFIRM, response=answer)
                    said = types.Part(function_response=answered)
                elif response is not None and response.name != CONFIRM:
                    results[response.id] = response.name, response.response
    for name, response in results.values():
        told(name, response.get("result", response.get("error")))


with Gateway(Options(cwd=".", binding=True)) as gateway:
    asyncio.run(main(gateway))
