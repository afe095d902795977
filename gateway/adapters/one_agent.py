"""The policy before the tools of one agent: what adapters share whose frameworks take tools, and have no interrupts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gateway.api.guarding import Guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.api.gateway import Gateway
    from gateway.api.guarding import JudgedAs
    from gateway.calls.session import Session

AnyTool = TypeVar("AnyTool")


class OneAgent(Generic[AnyTool]):
    """An adapter says how its framework's tools are made, in `_own` and `_of`."""

    def __init__(
        self, gateway: Gateway, session: Session | None = None, *, judged_as: JudgedAs | None = None, agent: str = ""
    ) -> None:
        """`session`, `judged_as`: as `gateway.api.guarding.Guard` takes them; `agent`: the name of the agent that it is
        for, where another agent has started that one."""
        self._guard = Guard(gateway, session, judged_as=judged_as)
        self._agent = agent

    def tools(self) -> list[AnyTool]:
        """The gateway's own tools, commands confined."""
        return [self._own(each) for each in self._guard.own_tools()]

    def guard(self, tools: Sequence[AnyTool]) -> list[AnyTool]:
        """Tools with the policy before them."""
        return [self._of(each) for each in tools]

    def _own(self, definition: dict[str, Any]) -> AnyTool:
        """One of the gateway's tools, by its name, description and input_schema."""
        raise NotImplementedError

    def _of(self, tool: AnyTool) -> AnyTool:
        """A tool with the policy before it."""
        raise NotImplementedError
