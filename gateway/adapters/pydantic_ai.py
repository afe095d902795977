"""The policy in agents of pydantic-ai.

    from pydantic_ai import Agent, DeferredToolRequests
    from gateway import Gateway, Options
    from gateway.adapters.pydantic_ai import GatewayToolset, GuardedToolset

    with Gateway(Options(cwd=".", binding=True)) as gateway:
        agent = Agent(model, toolsets=[GatewayToolset(gateway), GuardedToolset(mine, gateway)],
                      output_type=[str, DeferredToolRequests])

Where policy asks, the run ends with `DeferredToolRequests`, as for any tool that requires approval; the next one is
given `DeferredToolResults(approvals={id: True})` and goes on. `GatewayToolset` holds the gateway's own tools (Bash,
Read, Edit, …), commands confined; `GuardedToolset` puts the policy before the tools of another toolset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from gateway.adapters.waiting import Waiting
from gateway.api.guarding import Asked, Guard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic_ai import RunContext

    from gateway.api.gateway import Gateway
    from gateway.api.guarding import JudgedAs, Ran
    from gateway.calls.session import Session

__all__ = ["GatewayToolset", "GuardedToolset"]

_BY = "a person through pydantic-ai"
# The gateway holds calls to the schema itself, and says what is wrong with them.
_ANY = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class _Front:
    """What both toolsets do with a call."""

    def __init__(self, guard: Guard, agent: str) -> None:
        self.guard = guard
        self._agent = agent
        self._waiting = Waiting()

    async def call(
        self, name: str, given: dict[str, Any], ctx: RunContext[Any], does: Callable[[Any], Awaitable[Any]] | None
    ) -> Any:
        asked = Asked(name, given, id=ctx.tool_call_id or "", agent=self._agent, own=does is None)
        looked = await self.guard.look_async(asked)
        answered = None
        if ctx.tool_call_approved:
            answered = self._waiting.answered(asked.id, looked, allow=True, by=_BY)
        elif self._waiting.put(asked.id, looked):
            raise ApprovalRequired(metadata={"reason": looked.shown})
        return _content(await self.guard.run_async(asked, does, answered=answered))


class GuardedToolset(WrapperToolset[Any]):
    """A toolset with the policy before its tools."""

    def __init__(
        self,
        wrapped: AbstractToolset[Any],
        gateway: Gateway | None = None,
        session: Session | None = None,
        *,
        judged_as: JudgedAs | None = None,
        agent: str = "",
        front: Any = None,
    ) -> None:
        """`session`, `judged_as`: as `gateway.api.guarding.Guard` takes them; `agent`: the name of the agent that it is
        for, where another agent has started that one. `front` is for copies that pydantic-ai makes."""
        super().__init__(wrapped)
        if front is None:
            if gateway is None:
                raise TypeError("a guarded toolset needs a gateway")
            front = _Front(Guard(gateway, session, judged_as=judged_as), agent)
        self.front = front

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """The same for one run."""
        return self._around(await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """The same for one step of a run."""
        return self._around(await self.wrapped.for_run_step(ctx))

    def visit_and_replace(
        self, visitor: Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
    ) -> AbstractToolset[Any]:
        """As every wrapper does it."""
        return self._around(self.wrapped.visit_and_replace(visitor))

    def _around(self, wrapped: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return self if wrapped is self.wrapped else GuardedToolset(wrapped, front=self.front)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Leads one call through its life."""

        async def does(given: Any) -> Any:
            return await self.wrapped.call_tool(name, tool_args if given == tool_args else given, ctx, tool)

        return await self.front.call(name, tool_args, ctx, does)


class GatewayToolset(AbstractToolset[Any]):
    """The gateway's own tools."""

    def __init__(self, gateway: Gateway, session: Session | None = None, *, agent: str = "") -> None:
        """As `GuardedToolset` takes them."""
        self._front = _Front(Guard(gateway, session), agent)

    @property
    def id(self) -> str | None:
        """One of these to an agent."""
        return "gateway"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002 - theirs
        """The tools that policy leaves something of."""
        return {
            each["name"]: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=each["name"], description=each["description"], parameters_json_schema=each["input_schema"]
                ),
                max_retries=0,
                args_validator=_ANY,
            )
            for each in self._front.guard.own_tools()
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002 - theirs
    ) -> Any:
        """Leads one call through its life."""
        return await self._front.call(name, tool_args, ctx, None)


def _content(ran: Ran) -> Any:
    if ran.error is not None:
        raise ran.error
    return ran.text if ran.content is None else ran.content
