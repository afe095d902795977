"""The adapter for langchain, in the framework itself, with a model of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from adapters.cells import Cells, Played

pytest.importorskip("langchain.agents", reason="the framework langchain is not installed")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from gateway.adapters.langchain import GatewayMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.api.gateway import Gateway


class Scripted(BaseChatModel):
    """Makes one call after the other."""

    calls: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, _tools: Any, **_how: Any) -> Any:
        return self

    def _generate(self, messages: list[Any], *_what: Any, **_how: Any) -> ChatResult:
        place = sum(isinstance(each, AIMessage) for each in messages)
        message = AIMessage("done")
        if place < len(self.calls):
            name, args = self.calls[place]
            message = AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{place}"}])
        return ChatResult(generations=[ChatGeneration(message=message)])


def _play(
    gateway: Gateway,
    own: Callable[[str], str],
    calls: list[Any],
    **how: Any,
) -> tuple[Any, Any, dict[str, Any]]:
    @tool
    def append(name: str) -> str:
        """Appends a name."""
        return own(name)

    middleware = GatewayMiddleware(gateway, **how)
    agent = create_agent(Scripted(calls=calls), [append], middleware=[middleware], checkpointer=InMemorySaver())
    return agent, {"messages": [("user", "go")]}, {"configurable": {"thread_id": "1"}}


def _played(state: dict[str, Any], asked: list[str]) -> Played:
    return Played([each.content for each in state["messages"] if isinstance(each, ToolMessage)], asked)


def _resume(allow: bool) -> Command[Any]:
    return Command(resume={"decisions": [{"type": "approve"} if allow else {"type": "reject", "message": "not now"}]})


class TestSync(Cells):
    def play(self, gateway: Any, own: Any, calls: Any, answers: Any, *, meanwhile: Any = None, **how: Any) -> Played:
        agent, given, config = _play(gateway, own, calls, **how)
        asked: list[str] = []
        state = agent.invoke(given, config)
        while "__interrupt__" in state:
            request = state["__interrupt__"][0].value["action_requests"][0]
            asked.append(request["description"] + request["name"])
            if meanwhile is not None:
                meanwhile()
            state = agent.invoke(_resume(answers.pop(0)), config)
        return _played(state, asked)


class TestAsync(Cells):
    def play(self, gateway: Any, own: Any, calls: Any, answers: Any, *, meanwhile: Any = None, **how: Any) -> Played:
        import asyncio

        agent, given, config = _play(gateway, own, calls, **how)
        asked: list[str] = []

        async def go() -> Any:
            state = await agent.ainvoke(given, config)
            while "__interrupt__" in state:
                request = state["__interrupt__"][0].value["action_requests"][0]
                asked.append(request["description"] + request["name"])
                if meanwhile is not None:
                    meanwhile()
                state = await agent.ainvoke(_resume(answers.pop(0)), config)
            return state

        return _played(asyncio.run(go()), asked)
