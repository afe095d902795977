"""The policy in agents of langchain 1.x, and in langgraph.

    from langchain.agents import create_agent
    from gateway import Gateway, Options
    from gateway.adapters.langchain import GatewayMiddleware

    with Gateway(Options(cwd=".", binding=True)) as gateway:
        agent = create_agent(model, [my_tool], middleware=[GatewayMiddleware(gateway)], checkpointer=saver)

Every call of a tool is judged, recorded, and run if it may. Where policy asks, the graph is interrupted in the form of
langchain's own `HumanInTheLoopMiddleware`; `Command(resume={"decisions": [{"type": "approve"}]})` answers, as does
`True`. The gateway's own tools (Bash, Read, Edit, …), commands confined, come with it unless `own_tools=False`.

A `ToolNode` takes its `wrap_tool_call` and `awrap_tool_call`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import interrupt

from gateway.adapters.waiting import Waiting
from gateway.api.guarding import Asked, Guard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ToolCallRequest

    from gateway.api.gateway import Gateway
    from gateway.api.guarding import Answered, JudgedAs, Looked, Ran
    from gateway.calls.session import Session

__all__ = ["GatewayMiddleware", "tools"]

_OWN = "gateway"
_BY = "a person through langgraph"


def tools(guard: Guard) -> list[StructuredTool]:
    """The gateway's own tools. Behind the middleware they ask as the others do; without it, whom the gateway asks."""
    return [_tool(guard, each) for each in guard.own_tools()]


def _tool(guard: Guard, definition: dict[str, Any]) -> StructuredTool:
    name = definition["name"]

    def run(**given: Any) -> str:
        return guard.run(Asked(name, given, own=True)).text

    async def run_async(**given: Any) -> str:
        return (await guard.run_async(Asked(name, given, own=True))).text

    return StructuredTool(
        name=name,
        description=definition["description"],
        args_schema=definition["input_schema"],
        func=run,
        coroutine=run_async,
        metadata={_OWN: True},
    )


class GatewayMiddleware(AgentMiddleware[Any, Any, Any]):
    """The policy before every tool of an agent."""

    def __init__(
        self,
        gateway: Gateway,
        session: Session | None = None,
        *,
        judged_as: JudgedAs | None = None,
        own_tools: bool = True,
        agent: str = "",
    ) -> None:
        """`session`, `judged_as`: as `gateway.api.guarding.Guard` takes them; `agent`: the name of the agent that it is
        for, where another agent has started that one: rules may speak of it (`agent: NAME`)."""
        super().__init__()
        self.guard = Guard(gateway, session, judged_as=judged_as)
        self.tools = tools(self.guard) if own_tools else []
        self._agent = agent
        self._waiting = Waiting()

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Leads one call through its life."""
        asked = self._asked(request)
        answered = self._answer(asked, self.guard.look(asked))
        ran = self.guard.run(asked, lambda given: handler(_with(request, given)), answered=answered)
        return _message(request, ran)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """The same for asyncio."""
        asked = self._asked(request)
        answered = self._answer(asked, await self.guard.look_async(asked))
        ran = await self.guard.run_async(asked, lambda given: handler(_with(request, given)), answered=answered)
        return _message(request, ran)

    def _asked(self, request: ToolCallRequest) -> Asked:
        call = request.tool_call
        own = request.tool is not None and (request.tool.metadata or {}).get(_OWN) is True
        return Asked(call["name"], call["args"], id=call["id"] or "", agent=self._agent, own=own)

    def _answer(self, asked: Asked, looked: Looked) -> Answered | None:
        """What a person has answered, where policy asks. Interrupts the graph until there is an answer."""
        if not self._waiting.put(asked.id, looked):
            return None
        given = interrupt(
            {
                "action_requests": [{"name": asked.tool, "args": dict(asked.given), "description": looked.shown}],
                "review_configs": [{"action_name": asked.tool, "allowed_decisions": ["approve", "reject"]}],
            }
        )
        allow, note = _decision(given)
        return self._waiting.answered(asked.id, looked, allow=allow, by=_BY, note=note)


def _decision(given: Any) -> tuple[bool, str]:
    """Whether it is a clear yes, and what a person says of a no."""
    if given is True:
        return True, ""
    decisions = given.get("decisions") if isinstance(given, dict) else None
    if not isinstance(decisions, list) or len(decisions) != 1 or not isinstance(decisions[0], dict):
        return False, ""
    return decisions[0].get("type") == "approve", str(decisions[0].get("message") or "")


def _with(request: ToolCallRequest, given: Any) -> ToolCallRequest:
    """The request with the input that was judged."""
    return request.override(tool_call={**request.tool_call, "args": given})


def _message(request: ToolCallRequest, ran: Ran) -> Any:
    """What langgraph gets: what the tool gave, or what it raised, or what the gateway says of it."""
    if ran.error is not None:
        raise ran.error
    if ran.content is not None:
        return ran.content
    call = request.tool_call
    status = "error" if ran.is_error else "success"
    return ToolMessage(content=ran.text, name=call["name"], tool_call_id=call["id"], status=status)
