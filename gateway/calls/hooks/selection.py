"""Which hooks are told of a call. What tells them is loaded where there are any."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.calls.hooks.run import Answers
    from gateway.calls.planner import Planner
    from gateway.calls.ports import InProgress
    from gateway.model.call import Call, RawCall


class Hooks(tuple["dict[str, Any]", ...]):
    """Those that are told of one event of a call, upper layers' first."""

    __slots__ = ()

    def ask_before(self, call: Call, life: InProgress, reread: Callable[[RawCall], Call]) -> Answers:
        """As `gateway.calls.hooks.run.ask_before`."""
        from gateway.calls.hooks.run import ask_before

        return ask_before(self, call, life, reread)

    def tell_after(self, event: str, life: InProgress) -> Answers:
        """As `gateway.calls.hooks.run.tell_after`."""
        from gateway.calls.hooks.run import tell_after

        return tell_after(self, event, life)


def hooks_of(planner: Planner, event: str, tool: str) -> Hooks:
    """Those that are told of this event of this tool's calls."""
    hooks = planner.judge.loaded.hooks
    if not hooks:
        return Hooks()
    from fnmatch import fnmatchcase

    return Hooks(
        hook
        for hook in hooks
        if event in hook["event"]
        and (not hook["tools"] or any(fnmatchcase(tool, pattern) for pattern in hook["tools"]))
    )
