"""The adapter for google-adk, in the framework itself, with a model of ours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from adapters.cells import Cells, Played

pytest.importorskip("google.adk", reason="the framework google-adk is not installed")

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from gateway.adapters.adk import GatewayPlugin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.filterwarnings("default")  # the framework warns of its own experiments
CONFIRM = "adk_request_confirmation"


class Scripted(BaseLlm):
    """Makes one call after the other, and ends."""

    calls: list[Any]
    made: int = 0

    async def generate_content_async(self, _request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        del stream
        part = types.Part(text="done")
        if self.made < len(self.calls):
            name, given = self.calls[self.made]
            part = types.Part(function_call=types.FunctionCall(id=f"c{self.made}", name=name, args=given))
            self.made += 1
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class TestADK(Cells):
    def play(
        self, gateway: Any, own: Any, calls: Any, answers: Any, *, meanwhile: Any = None, judged_as: Any = None,
        agent: str = "",
    ) -> Played:  # fmt: skip
        def append(name: str) -> str:
            """Appends a name."""
            return own(name)

        plugin = GatewayPlugin(gateway, judged_as=judged_as, main="main")
        made = LlmAgent(
            name=agent or "main", model=Scripted(model="scripted", calls=calls), tools=[append, *plugin.tools()]
        )
        runner = InMemoryRunner(agent=made, app_name="app", plugins=[plugin])
        asked: list[str] = []
        results: dict[str, str] = {}

        async def turn(session: str, content: types.Content) -> types.FunctionCall | None:
            wanted = None
            async for event in runner.run_async(user_id="u", session_id=session, new_message=content):
                for part in event.content.parts if event.content and event.content.parts else ():
                    if part.function_call is not None and part.function_call.name == CONFIRM:
                        wanted = part.function_call
                    answer = part.function_response
                    if answer is not None and answer.name != CONFIRM:
                        results[answer.id] = str(answer.response.get("result", answer.response.get("error")))
            return wanted

        async def go() -> None:
            session = (await runner.session_service.create_session(app_name="app", user_id="u")).id
            wanted = await turn(session, types.Content(role="user", parts=[types.Part(text="go")]))
            while wanted is not None:
                asked.append(wanted.args["toolConfirmation"]["hint"] + wanted.args["originalFunctionCall"]["name"])
                if meanwhile is not None:
                    meanwhile()
                response = types.FunctionResponse(id=wanted.id, name=CONFIRM, response={"confirmed": answers.pop(0)})
                wanted = await turn(session, types.Content(role="user", parts=[types.Part(function_response=response)]))

        asyncio.run(go())
        return Played(list(results.values()), asked)
