"""The tools that the model of one agent is offered, computed again only when an input has changed."""

from __future__ import annotations

from time import monotonic

from gateway.mcp.offered_tools import definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.calls.runner import RunsCalls
    from gateway.calls.session import Session

STARTS = "Agent"  # the tool that starts other agents
_SECONDS = 60


class Offer:
    """Not for use by several threads at once. What is called is judged in any case."""

    def __init__(self, gateway: RunsCalls, session: Session, may: Callable[[str], bool]) -> None:
        """`may`: whether the agent may call the tool of a name."""
        self._gateway = gateway
        self._session = session
        self._may = may
        self._key: object = None
        self._tools: tuple[Mapping[str, Any], ...] = ()

    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """The definitions. They are looked at again after a while, since rules may speak of the time. A new one stands
        behind those that were there: providers keep what they have read up to the first difference."""
        context, judge = self._session.context, self._gateway.calls.judge
        revision = judge.loaded_with(context.rules).policy.revision
        there = self._session.joined.version
        key = (revision, context.mode, self._session.searched, there, monotonic() // _SECONDS)
        if self._key != key:
            found = [
                each if each["name"] != STARTS else each | {"description": each["description"] + self._kinds()}
                for each in definitions(judge, "anthropic", "", self._session)
                if self._may(each["name"])
            ]
            before = {each["name"]: place for place, each in enumerate(self._tools)}
            found.sort(key=lambda each: before.get(each["name"], len(before)))
            self._key = key
            if self._tools != tuple(found):
                self._tools = tuple(found)
        return self._tools

    def _kinds(self) -> str:
        """The types of agents that may be started, for the description of the tool that starts them."""
        if self._session.agents is None:
            return ""
        lines = [f"- {each.name}: {each.description}" for each in self._session.agents.types().values()]
        return "\n\nTypes:\n" + "\n".join(lines)
