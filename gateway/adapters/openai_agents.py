"""The policy in agents of openai-agents.

    from agents import Agent, Runner
    from gateway import Gateway, Options
    from gateway.adapters.openai_agents import Guarding

    with Gateway(Options(cwd=".", binding=True)) as gateway:
        guarding = Guarding(gateway)
        agent = Agent(name="helper", tools=[*guarding.tools(), *guarding.guard([my_tool])])
        result = await Runner.run(agent, "…")

Where policy asks, the run stops with `result.interruptions`, as for any tool that needs approval; `state.approve(item)`
or `state.reject(item)`, and `Runner.run(agent, state)` goes on. The gateway's own tools (Bash, Read, Edit, …) are
`tools()`, commands confined; `guard` puts the policy before function tools of others. Agents other than the first that
calls are judged as agents that it has started (`agent: NAME` in rules).
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from agents import FunctionTool

from gateway.adapters.waiting import Waiting
from gateway.api.guarding import Asked, Guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import RunContextWrapper
    from agents.tool_context import ToolContext

    from gateway.api.gateway import Gateway
    from gateway.api.guarding import JudgedAs, Ran
    from gateway.calls.session import Session

__all__ = ["Guarding"]

_BY = "a person through openai-agents"


class Guarding:
    """The policy before the tools of one conversation."""

    def __init__(
        self, gateway: Gateway, session: Session | None = None, *, judged_as: JudgedAs | None = None, main: str = ""
    ) -> None:
        """`session`, `judged_as`: as `gateway.api.guarding.Guard` takes them; `main`: the agent that a person speaks
        to, by default the first that calls."""
        self._guard = Guard(gateway, session, judged_as=judged_as)
        self._main = main
        self._waiting = Waiting()

    def tools(self) -> list[FunctionTool]:
        """The gateway's own tools."""
        return [
            self._tool(
                FunctionTool(
                    name=each["name"],
                    description=each["description"],
                    params_json_schema=each["input_schema"],
                    on_invoke_tool=_nothing,
                    strict_json_schema=False,
                ),
                own=True,
            )
            for each in self._guard.own_tools()
        ]

    def guard(self, tools: Sequence[FunctionTool]) -> list[FunctionTool]:
        """Function tools with the policy before them."""
        return [self._tool(each, own=False) for each in tools]

    def reason(self, call_id: str) -> str:
        """Why a person is asked about a call: for whoever shows an interruption (`item.raw_item.call_id`)."""
        return self._waiting.reason(call_id)

    def _tool(self, tool: FunctionTool, *, own: bool) -> FunctionTool:
        before = tool.needs_approval

        async def needs_approval(context: RunContextWrapper[Any], given: dict[str, Any], call_id: str) -> bool:
            asked = Asked(tool.name, given, id=call_id, agent=self._agent(context), own=own)
            is_asked = self._waiting.put(call_id, await self._guard.look_async(asked))
            if before is True or (callable(before) and await before(context, given, call_id)):
                return True
            return is_asked

        async def invoked(context: ToolContext[Any], text: str) -> Any:
            given = _input(text)
            if given is None:
                return "The call was refused: its arguments are no JSON object."
            asked = Asked(tool.name, given, id=context.tool_call_id, agent=self._agent(context), own=own)
            answered = None
            if context.is_tool_approved(tool.name, context.tool_call_id) is True:
                looked = await self._guard.look_async(asked)
                answered = self._waiting.answered(asked.id, looked, allow=True, by=_BY)

            async def does(judged: Any) -> Any:
                return await tool.on_invoke_tool(context, text if judged == given else json.dumps(judged))

            return _content(await self._guard.run_async(asked, does, answered=answered))

        return dataclasses.replace(tool, on_invoke_tool=invoked, needs_approval=needs_approval)

    def _agent(self, context: Any) -> str:
        """The name of the agent that calls, "" for the one that a person speaks to."""
        agent = getattr(context, "agent", None)
        name = getattr(agent, "name", "") or ""
        self._main = self._main or name
        return "" if name == self._main else name


async def _nothing(_context: Any, _text: str) -> str:
    return ""


def _input(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _content(ran: Ran) -> Any:
    if ran.error is not None:
        raise ran.error
    return ran.text if ran.content is None else ran.content
