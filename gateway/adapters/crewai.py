"""The policy before the tools of crewai.

    from crewai import Agent
    from gateway import Gateway, Options
    from gateway.adapters.crewai import Guarding, standing_still
    from gateway.approval.console import Console

    with Gateway(Options(cwd=".", binding=True), approver=standing_still(Console())) as gateway:
        guarding = Guarding(gateway)
        agent = Agent(…, tools=[*guarding.tools(), *guarding.guard([my_tool])])

A person is asked in crewai while the run stands still (`ToolCallHookContext.request_human_input` does the same): where
policy asks, the gateway's own approver is asked, and without one the call is refused. `standing_still` keeps crewai's
display quiet meanwhile. A refused call is a `ToolFailure`: the model reads it, and crewai does not try it again, while
it does for what raises. No result is taken from its cache: each call is judged, and recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewai.tools import BaseTool
from crewai.tools.tool_failure import ToolFailure
from crewai.utilities.pydantic_schema_utils import create_model_from_schema
from pydantic import PrivateAttr

from gateway.adapters.one_agent import OneAgent
from gateway.api.guarding import Asked, Guard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateway.api.guarding import Ran
    from gateway.approval.base import Answer, Approver, Question

__all__ = ["Guarding", "standing_still"]


class Guarding(OneAgent[BaseTool]):
    """The policy before the tools of one agent."""

    def _own(self, definition: dict[str, Any]) -> BaseTool:
        name = definition["name"]
        schema = create_model_from_schema(definition["input_schema"], model_name=name)
        return _Guarded.around(
            Front(self._guard, self._agent, name),
            name=name,
            description=definition["description"],
            args_schema=schema,
        )

    def _of(self, tool: BaseTool) -> BaseTool:
        return _Guarded.around(
            Front(self._guard, self._agent, tool.name, tool),
            name=tool.name,
            description=tool.description,
            args_schema=tool.args_schema,
            env_vars=tool.env_vars,
            result_as_answer=tool.result_as_answer,
            tool_failure_policy=tool.tool_failure_policy,
        )


class Front:
    """What becomes of the calls of one tool; `tool` is None for the gateway's own."""

    def __init__(self, guard: Guard, agent: str, name: str, tool: BaseTool | None = None) -> None:
        self._guard = guard
        self._agent = agent
        self._name = name
        self._tool = tool

    def run(self, given: dict[str, Any]) -> Any:
        """Leads one call through its life. Raises what the tool raises."""
        tool = self._tool
        does: Callable[[Any], Any] | None = None if tool is None else lambda judged: tool.run(**judged)
        return _content(self._guard.run(self._asked(given), does))

    async def run_async(self, given: dict[str, Any]) -> Any:
        """The same on crewai's loop."""
        tool = self._tool
        does: Callable[[Any], Awaitable[Any]] | None = None if tool is None else lambda judged: tool.arun(**judged)
        return _content(await self._guard.run_async(self._asked(given), does))

    def _asked(self, given: dict[str, Any]) -> Asked:
        if self._tool is None:  # crewai fills in None for what the model left out
            given = {key: value for key, value in given.items() if value is not None}
        return Asked(self._name, given, agent=self._agent, own=self._tool is None)


class _Guarded(BaseTool):  # type: ignore[misc]  # the package may be missing
    """A tool with the policy before it."""

    _front: Front = PrivateAttr()

    @classmethod
    def around(cls, front: Front, **fields: Any) -> _Guarded:
        made = cls(cache_function=_never, **fields)
        made._front = front
        return made

    def _run(self, **given: Any) -> Any:
        return self._front.run(given)

    async def _arun(self, **given: Any) -> Any:
        return await self._front.run_async(given)


def standing_still(approver: Approver) -> Approver:
    """An approver that asks while crewai's display, which draws over the terminal, stands still."""
    return _StandingStill(approver)


class _StandingStill:
    def __init__(self, approver: Approver) -> None:
        self._approver = approver
        self.name = approver.name

    def ask(self, question: Question) -> Answer | None:
        """The other's answer."""
        from crewai.events.event_listener import event_listener

        event_listener.formatter.pause_live_updates()
        try:
            return self._approver.ask(question)
        finally:
            event_listener.formatter.resume_live_updates()


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False


def _content(ran: Ran) -> Any:
    if ran.error is not None:
        raise ran.error
    if ran.is_error:
        return ToolFailure(message=ran.text)
    return ran.text if ran.content is None else ran.content
