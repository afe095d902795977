"""The gateway's own tools for any MCP client: each call judged, asked about, confined and recorded like any other."""

from __future__ import annotations

import asyncio
import time

from gateway.calls.results import mcp_result
from gateway.core.async_threads import on_thread
from gateway.mcp.asking import asked_through
from gateway.mcp.endpoint import Endpoint, refusal
from gateway.mcp.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from gateway.mcp.offered_tools import definitions
from gateway.model.call import RawCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.calls.output import Done, Progress
    from gateway.core.cancel import Cancel
    from gateway.mcp.asking import Back, Exchange
    from gateway.mcp.endpoint import Client
    from gateway.mcp.json_rpc import Message

_TOLD_EVERY = 0.1
_MOST_TOLD = 4_000


class Serving(Endpoint):
    """Answers with the gateway's tools."""

    instructions = (
        "Every call is judged by the user's policy and runs in a sandbox. A refusal says why, and what to do instead."
    )

    async def answer(self, client: Client, back: Back, method: str, params: Message) -> Message:  # noqa: ARG002
        """The tools that policy leaves this client. Raises RpcError for another method."""
        if method != "tools/list":
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)

        def listed() -> list[dict[str, Any]]:
            judge = self.gateway.calls.services.planner.judge
            return definitions(judge, "mcp", client.session.context.mode, client.session)

        return {"tools": await self.on_pool(listed)}

    async def call(self, client: Client, exchange: Exchange, method: str, params: Message) -> Message:  # noqa: ARG002
        """Runs a tool's call as the library does, and returns its result as the protocol has it; a refusal is a result
        (`isError`). Raises RpcError for parameters that are none."""
        name, given = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not (given is None or isinstance(given, dict)):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        raw = RawCall(name, given or {})
        calls = self.gateway.calls
        turn = exchange.turn
        alone = not await self.on_pool(lambda: calls.is_safe(raw, client.session))
        await turn.enter(alone)
        try:

            def run(cancel: Cancel) -> Done:
                with asked_through(exchange):
                    return self.gateway.calls.call(raw, client.session, cancel, telling(exchange))

            done: Done = await on_thread(run, self.pool)
        finally:
            turn.leave()
        return result_of(done, self._declares_output(name))

    def _declares_output(self, name: str) -> bool:
        registry = self.gateway.calls.services.planner.judge.registry
        name = registry.canonical_name(name)
        return name in registry and registry[name].entry["output"] is not None


def telling(exchange: Exchange) -> Callable[[Progress], None]:
    """Hands progress on to the client: a little at a time, never more often than anybody reads."""
    told: list[str] = []
    number, last = 0, 0.0

    def tell(progress: Progress) -> None:
        nonlocal number, last
        told.append(progress.text)
        now = time.monotonic()
        if now - last < _TOLD_EVERY:
            return
        last = now
        number += 1
        text = "".join(told)[-_MOST_TOLD:]
        told.clear()
        asyncio.run_coroutine_threadsafe(exchange.back.progress(number, None, text.strip() or None), exchange.loop)

    return tell


def result_of(done: Done, has_output: bool) -> Message:
    """What the client gets of a call. `has_output`: its tool declares what its data are. Data of others are left out:
    where there are any, some clients show a model nothing else."""
    decision = done.verdict.decision.name.lower()
    meta = {"gateway/decision": decision, "gateway/record": done.record}
    if not done.ran:
        return refusal(done.refusal, meta)
    found = mcp_result(done.output)
    if not has_output:
        found.pop("structuredContent", None)
    found["_meta"] = meta
    return found
