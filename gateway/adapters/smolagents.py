"""The policy before the tools of smolagents.

    from smolagents import ToolCallingAgent
    from gateway import Gateway, Options
    from gateway.adapters.smolagents import Guarding

    with Gateway(Options(cwd=".", binding=True), approver=Callback(my_dialog)) as gateway:
        guarding = Guarding(gateway)
        agent = ToolCallingAgent(tools=[*guarding.tools(), *guarding.guard([my_tool])], model=model)

smolagents has no way to stop a run for a person's answer: where policy asks, the gateway's own approver is asked
(`gateway.approval.callback.Callback`), and without one the call is refused. A refused call is an error of the tool's,
which the model reads. The code that a `CodeAgent` writes runs in the program itself: the policy is before the tools
that it calls, not before the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smolagents import Tool

from gateway.adapters.one_agent import OneAgent
from gateway.api.guarding import Asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.api.guarding import Ran

__all__ = ["Guarding", "Refused"]

_TYPES = frozenset(("string", "boolean", "integer", "number", "array", "object"))


class Refused(Exception):
    """A call did not run, or did not work: the model reads why."""


class Guarding(OneAgent[Tool]):
    """The policy before the tools of one agent."""

    def _own(self, definition: dict[str, Any]) -> Tool:
        name = definition["name"]

        def does(given: dict[str, Any]) -> Any:
            given = {key: value for key, value in given.items() if value is not None}
            return _content(self._guard.run(Asked(name, given, agent=self._agent, own=True)))

        return _Guarded(
            name, definition["description"], inputs=_inputs(definition["input_schema"]), kind="string", does=does
        )

    def _of(self, tool: Tool) -> Tool:
        def does(given: dict[str, Any]) -> Any:
            asked = Asked(tool.name, given, agent=self._agent)
            return _content(self._guard.run(asked, lambda judged: tool(**judged, sanitize_inputs_outputs=True)))

        return _Guarded(tool.name, tool.description, inputs=tool.inputs, kind=tool.output_type, does=does)


class _Guarded(Tool):  # type: ignore[misc]  # the package may be missing
    """A tool with the policy before it."""

    skip_forward_signature_validation = True

    def __init__(
        self, name: str, description: str, *, inputs: dict[str, Any], kind: str, does: Callable[[dict[str, Any]], Any]
    ) -> None:
        self.name = name
        self.description = description
        self.inputs = inputs
        self.output_type = kind
        self._does = does
        super().__init__()

    def forward(self, *values: Any, **given: Any) -> Any:
        """Leads one call through its life. Raises Refused, or what the tool raises."""
        return self._does(dict(zip(self.inputs, values, strict=False)) | given)


def _inputs(schema: dict[str, Any]) -> dict[str, Any]:
    """The fields of a JSON Schema as smolagents has them."""
    needed = schema.get("required", ())
    found = {}
    for name, each in schema.get("properties", {}).items():
        kind = each.get("type")
        field = {"type": kind if kind in _TYPES else "any", "description": each.get("description") or name}
        found[name] = field if name in needed else field | {"nullable": True}
    return found


def _content(ran: Ran) -> Any:
    if ran.error is not None:
        raise ran.error
    if ran.is_error:
        raise Refused(ran.text)
    return ran.text if ran.content is None else ran.content
