"""Where MCP clients arrive, in either era of the protocol: one gateway session for each client, and no exception that
ends more than its own request.

What is asked for is answered by `Serving` (the gateway's own tools) or by `Proxying` (servers behind the policy). Over
pipes `pipes` speaks the protocol, over HTTP the package `mcp` does.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from gateway.core.async_threads import ended
from gateway.core.errors import fault
from gateway.mcp.asking import Exchange, Held, Seal, bound_to
from gateway.mcp.json_rpc import INTERNAL, METHOD_NOT_FOUND, RpcError
from gateway.mcp.protocol_eras import SERVER_KEY, is_stateless, translated
from gateway.mcp.turns import Turn, Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.calls.runner import RunsCalls
    from gateway.calls.session import Session
    from gateway.mcp.asking import Back
    from gateway.mcp.json_rpc import Message

NAME = "gateway"
SERVER_INFO = {"name": NAME, "version": "1"}
IDLE_SECONDS = 1_800.0
MOST_CLIENTS = 256
# Calls of all clients that are on a thread at a time, and what is done for them in between.
MOST_CALLS, _MOST_SHORT = 1_000, 16
LOOK_AGAIN_SECONDS = 1.0
TOOLS_CHANGED = "notifications/tools/list_changed"


class Client:
    """What is kept for one client between its requests."""

    def __init__(self, key: str, session: Session, seal: Seal) -> None:
        self.key = key
        self.session = session
        self.turns = Turns()
        self.held = Held(seal)
        self.used = time.monotonic()
        self.busy = 0
        self.calls: set[asyncio.Task[Message]] = set()
        self.standing: Any = None  # the way to a client with a handshake, for what is told without being asked
        # The ways to clients without, and what each of them wants to be told.
        self.listening: dict[object, Callable[[str, Message], None]] = {}
        self.kept: dict[str, Any] = {}  # what the endpoint keeps for it
        self.leaving: list[Any] = []  # of that, what only finishes what it was asked
        self.lock = asyncio.Lock()


class Endpoint:
    """Subclasses answer what is listed (`answer`) and what is called (`call`). Lives on one event loop."""

    instructions = ""
    methods: tuple[str, ...] = ("tools/list",)
    asking: tuple[str, ...] = ("tools/call",)  # which may ask on their way

    def __init__(self, gateway: RunsCalls) -> None:
        """The gateway is not closed with it."""
        from concurrent.futures import ThreadPoolExecutor

        self.gateway = gateway
        # Calls may wait for a person; what does not has threads of its own, so that it never waits for them.
        self.pool = ThreadPoolExecutor(MOST_CALLS, "gateway-mcp")
        self._short = ThreadPoolExecutor(_MOST_SHORT, "gateway-mcp-short")
        self._seal = Seal()
        self._clients: dict[str, Client] = {}
        self._looked = 0.0

    # ------------------------------------------------------------------------------------------------ what there is

    async def answer(self, client: Client, back: Back, method: str, params: Message) -> Message:  # noqa: ARG002
        """The result of a request that nobody is asked about. Raises RpcError."""
        raise RpcError(METHOD_NOT_FOUND, "Method not found", method)

    async def call(self, client: Client, exchange: Exchange, method: str, params: Message) -> Message:  # noqa: ARG002
        """The result of a call, or of what else may ask on its way. Raises RpcError."""
        raise RpcError(METHOD_NOT_FOUND, "Method not found", method)

    async def leave(self, client: Client) -> None:
        """Ends what was kept for a client."""

    def opened(self, key: str, back: Back) -> None:
        """A client has opened a connection with a handshake."""

    def capabilities(self) -> Message:
        """What a client is told that there is."""
        found: Message = {"tools": {"listChanged": True}}
        if "resources/read" in self.asking:
            found["resources"] = {"subscribe": True, "listChanged": True}
            found |= {"prompts": {"listChanged": True}, "completions": {}, "logging": {}}
        return found

    # ------------------------------------------------------------------------------------------------- the protocol

    async def handle(self, key: str, back: Back, method: str, params: Message) -> Message:
        """The result of a request of a client, in the words of its era. `key`: whose it is. Raises RpcError."""
        if method not in self.methods and method not in self.asking:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        client = await self.client(key)
        if not is_stateless(back.version):
            client.standing = back
        client.busy += 1
        try:
            self._look_again()
            if method in self.asking:
                result = await self._exchanged(client, back, method, params)
            else:
                result = await self.answer(client, back, method, params)
        except RpcError:
            raise
        except Exception as error:
            raise RpcError(INTERNAL, fault(error)) from error
        finally:
            client.busy -= 1
            client.used = time.monotonic()
        return enveloped(result, method, back.version)

    async def _exchanged(self, client: Client, back: Back, method: str, params: Message) -> Message:
        """A request that may ask on its way, sent for the first time or again."""
        params = dict(params)
        state, answers = params.pop("requestState", None), params.pop("inputResponses", None)
        bound = bound_to(client.key, method, params) if state is not None or is_stateless(back.version) else ""
        if state is not None:
            exchange = client.held.resume(state, bound)
            exchange.take(back, answers)
        else:  # answers that nobody asked for are dropped
            exchange = Exchange(back, Turn(client.turns))
            exchange.task = asyncio.ensure_future(self._called(client, exchange, method, params))
            client.calls.add(exchange.task)
            exchange.task.add_done_callback(client.calls.discard)
        asked = await exchange.until()
        return exchange.result() if asked is None else client.held.hold(exchange, asked, bound)

    async def _called(self, client: Client, exchange: Exchange, method: str, params: Message) -> Message:
        client.busy += 1
        try:
            return await self.call(client, exchange, method, params)
        finally:
            client.busy -= 1
            client.used = time.monotonic()

    def _look_again(self) -> None:
        """The policy files are looked at again, now and then, for what they say by now."""
        now = time.monotonic()
        if now - self._looked > LOOK_AGAIN_SECONDS:
            self._looked = now
            self.gateway.calls.services.look_again()

    # -------------------------------------------------------------------------------------------------- its clients

    async def client(self, key: str) -> Client:
        """What is kept for a client. Raises RpcError where there are too many."""
        found = self._clients.get(key)
        if found is None:
            await self._sweep()
            if len(self._clients) >= MOST_CLIENTS:
                raise RpcError(INTERNAL, "too many clients")
            found = self._clients.get(key)
        if found is None:
            found = self._clients[key] = Client(key, self.gateway.calls.session(), self._seal)
        return found

    async def _sweep(self) -> None:
        """Ends what is kept for clients that have not been heard of for long."""
        now = time.monotonic()
        for key, client in list(self._clients.items()):
            if not client.busy and now - client.used > IDLE_SECONDS:
                await self.forget(key)

    async def forget(self, key: str) -> None:
        """Ends what is kept for a client, and its calls first."""
        client = self._clients.pop(key, None)
        if client is None:
            return
        for call in list(client.calls):
            await ended(call)
        await self.leave(client)
        await asyncio.get_running_loop().run_in_executor(self._short, client.session.close)

    async def tell(self, client: Client, method: str, params: Message | None = None) -> None:
        """Tells a client what it did not ask for."""
        if client.standing is not None:
            with suppress(Exception):  # one that has gone is told nothing
                await client.standing.notify(method, params)
        for listener in list(client.listening.values()):
            listener(method, params or {})

    async def close(self) -> None:
        """Ends everything that is kept, and every call."""
        for key in list(self._clients):
            await self.forget(key)
        self.pool.shutdown(wait=False)
        self._short.shutdown(wait=False)

    async def on_pool(self, does: Callable[[], Any]) -> Any:
        """What a blocking function gives that asks nobody."""
        return await asyncio.get_running_loop().run_in_executor(self._short, does)

    def setting(self, key: str, usual: Any) -> Any:
        """A key of the setting `mcp`, as the policy has it now."""
        found = self.gateway.calls.services.planner.judge.loaded.settings.get("mcp")
        return found.value.get(key, usual) if found is not None else usual


def enveloped(result: Message, method: str, version: str) -> Message:
    """The result as the client's era has it."""
    found = translated(result, version)
    if is_stateless(version):
        if method.endswith("/list"):
            found = {"ttlMs": 0, "cacheScope": "private", **found}
        meta = found.get("_meta")
        stamp = {SERVER_KEY: SERVER_INFO}
        found["_meta"] = {**stamp, **meta} if isinstance(meta, dict) else stamp
    return found


def refusal(text: str, meta: Mapping[str, Any] | None = None) -> Message:
    """The result of a call that did not run, or did not work."""
    found: Message = {"content": [{"type": "text", "text": text}], "isError": True}
    return found | ({"_meta": dict(meta)} if meta else {})
