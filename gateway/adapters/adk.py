"""The policy in agents of google-adk.

    from google.adk.runners import Runner
    from gateway import Gateway, Options
    from gateway.adapters.adk import GatewayPlugin

    with Gateway(Options(cwd=".", binding=True)) as gateway:
        plugin = GatewayPlugin(gateway)
        agent = LlmAgent(name="helper", model=model, tools=[*plugin.tools(), my_tool])
        runner = Runner(app_name="app", agent=agent, plugins=[plugin], session_service=sessions)

Every call of a tool, whichever agent of the runner makes it, is judged, recorded, and run if it may. Where policy asks,
the call requests a confirmation as ADK's own tools do (`adk_request_confirmation`), whose hint says why. The gateway's
own tools (Bash, Read, Edit, …) are `tools()`, commands confined. Agents other than the first that calls are judged as
agents that it has started (`agent: NAME` in rules). It has to be the last plugin that looks at calls before they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from gateway.adapters.waiting import Waiting
from gateway.api.guarding import Asked, Guard

if TYPE_CHECKING:
    from google.adk.tools.tool_context import ToolContext

    from gateway.api.gateway import Gateway
    from gateway.api.guarding import Answered, JudgedAs, Looked, Ran
    from gateway.calls.session import Session

__all__ = ["GatewayPlugin"]

_BY = "a person through google-adk"
_WAITS = {"error": "This call waits for a person's confirmation."}


class GatewayPlugin(BasePlugin):
    """The policy before every tool of a runner."""

    def __init__(
        self, gateway: Gateway, session: Session | None = None, *, judged_as: JudgedAs | None = None, main: str = ""
    ) -> None:
        """`session`, `judged_as`: as `gateway.api.guarding.Guard` takes them; `main`: the agent that a person speaks
        to, by default the first that calls."""
        super().__init__(name="gateway")
        self._guard = Guard(gateway, session, judged_as=judged_as)
        self._main = main
        self._waiting = Waiting()

    def tools(self) -> list[BaseTool]:
        """The gateway's own tools."""
        return [_Own(self._guard, each) for each in self._guard.own_tools()]

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any]:
        """Leads one call through its life: what it gives stands for the tool's own result."""
        name = tool_context.agent_name
        self._main = self._main or name
        agent = "" if name == self._main else name
        call_id = tool_context.function_call_id or ""
        asked = Asked(tool.name, tool_args, id=call_id, agent=agent, own=isinstance(tool, _Own))
        looked = await self._guard.look_async(asked)
        answered = self._answered(call_id, looked, tool_context)
        if answered is None and self._waiting.put(call_id, looked):
            tool_context.request_confirmation(hint=looked.shown)
            tool_context.actions.skip_summarization = True
            return dict(_WAITS)
        ran = await self._guard.run_async(
            asked, lambda given: tool.run_async(args=given, tool_context=tool_context), answered=answered
        )
        return _result(ran)

    def _answered(self, call_id: str, looked: Looked, context: ToolContext) -> Answered | None:
        """What a person has answered, None where nobody has yet."""
        confirmation = context.tool_confirmation
        if confirmation is None:
            return None
        return self._waiting.answered(call_id, looked, allow=confirmation.confirmed is True, by=_BY)


class _Own(BaseTool):
    """One of the gateway's own tools."""

    def __init__(self, guard: Guard, definition: dict[str, Any]) -> None:
        super().__init__(name=definition["name"], description=definition["description"])
        self._guard = guard
        self._schema = definition["input_schema"]

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:  # noqa: ARG002 - theirs
        """Without the plugin: whom the gateway asks is asked."""
        return _result(await self._guard.run_async(Asked(self.name, args, own=True)))


def _result(ran: Ran) -> dict[str, Any]:
    if ran.error is not None:
        raise ran.error
    if ran.content is not None:
        return ran.content if isinstance(ran.content, dict) else {"result": ran.content}
    return {"error" if ran.is_error else "result": ran.text}
