"""A server behind the proxy, for one client: started or connected to when it is first needed, spoken to in its own era,
and ended with the client. Lives on one event loop."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from time import monotonic

from gateway.calls.outgoing import RequestError
from gateway.calls.output import Failure
from gateway.core.async_threads import alone, lasting
from gateway.core.secret_masking import hidden_bytes, hidden_in
from gateway.mcp.child import Child
from gateway.mcp.http_servers import header_values, over_http
from gateway.mcp.json_rpc import CLOSED, RpcError, Wire
from gateway.mcp.lines import Lines, reading, writing
from gateway.mcp.protocol_eras import HANDSHAKE, LOG_KEY, STATELESS, TARGETS, is_stateless, stamped, without_envelope
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any

    from gateway.mcp.json_rpc import Message

INFO = {"name": "agent-gateway", "version": "1"}
_LAST_SECONDS = 1.0


class Upstream:
    """`name`: by which policy knows it. `version`: of the protocol, once it runs."""

    def __init__(
        self,
        name: str,
        declared: Mapping[str, Any],
        *,
        offers: Mapping[str, Any],
        stateless_first: bool,
        asked: Callable[[str, Message], Coroutine[Any, Any, Message]],
        told: Callable[[str, Message], None],
        says: Callable[[bytes], None] | None = None,
    ) -> None:
        """`offers`: the capabilities that it is told of. `stateless_first`: in which era it is spoken to first.
        `asked` and `told`: as `Wire` takes them; `says`: gets its standard error."""
        self.name = name
        self.declared = declared
        self.version = ""
        self.capabilities: dict[str, Any] = {}
        self.seconds = float(declared["seconds"])
        self._offers = dict(offers)
        self._stateless_first = stateless_first
        self._asked, self._told, self._says = asked, told, says
        self._child: Child | None = None
        self._wire: Wire | None = None
        self._stack = AsyncExitStack()
        self._headers: dict[str, str] = {}
        self._given: tuple[str, ...] = ()  # what it was given elsewhere, or before it ended
        self._lock = asyncio.Lock()
        self._left = self.seconds  # of the time in which it must have started
        # By tool, the parameters that requests over HTTP also say in headers.
        self.param_headers: dict[str, Any] = {}

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._wire is not None and not self._wire.ended and bool(self.version)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What it was given that must not be said back, not by its last answer either, which may be read when it has
        ended."""
        child = self._child
        return self._given if child is None else tuple(dict.fromkeys((*self._given, *child.secrets)))

    def is_fit(self, judge: Callable[[Child], bool]) -> bool:
        """Whether a process of it is as `judge` says that it must be; there may be none. Blocks as `judge` does, on any
        thread."""
        child = self._child
        return child is None or judge(child)

    async def start(self, environment: Mapping[str, str], starts: Callable[[Child], None]) -> bool:
        """Starts it if it does not run; whether it did not. `starts`: judges a process and starts it, on a thread, for
        as long as somebody who is asked takes. Raises Failure."""
        async with self._lock:
            if self.is_alive:
                return False
            await self.close()
            try:
                await self._start(environment, starts)
            except (RpcError, TimeoutError, OSError, RequestError, Failure) as error:
                why = await self._why(error)
                await self.close()
                if isinstance(error, Failure):
                    raise
                raise Failure(f"MCP server `{self.name}` does not work: {why}.") from error
            except BaseException:
                await self.close()
                raise
            return True

    async def _start(self, environment: Mapping[str, str], starts: Callable[[Child], None]) -> None:
        modern = self._stateless_first
        self._left = self.seconds
        await self._connect(environment, starts)
        try:
            await self._in_time(self._discover() if modern else self._initialize())
        except RpcError as error:
            if error.code == CLOSED and self._child is None:
                raise
            if self._wire is None or self._wire.ended:  # it cannot even hear of the other era
                if not modern:
                    raise
                await self.close()
                await self._connect(environment, starts)
            await self._in_time(self._initialize() if modern else self._discover())

    async def _in_time(self, work: Coroutine[Any, Any, None]) -> None:
        """One time for all that the server does until it runs, in whichever era; a person who is asked in between has
        another."""
        began = monotonic()
        try:
            async with asyncio.timeout(max(self._left, 0.0)):
                await work
        finally:
            self._left -= monotonic() - began

    async def _connect(self, environment: Mapping[str, str], starts: Callable[[Child], None]) -> None:
        if self.declared["url"]:
            self._headers, self._given = header_values(self.declared["headers"], environment)
            await self._in_time(self._connect_http())
            return
        child = self._child = Child(self.name, self.declared, says=self._says)
        pipes: list[int] = []
        try:
            try:
                await lasting(alone(lambda: starts(child), f"gateway-start-{self.name}"))
            finally:  # it may have started for somebody who does not wait any more
                pipes += [each for each in (child.into, child.out) if each >= 0]
            writer = await writing(pipes.pop())
            self._stack.callback(writer.close)
            wire = self._wire = Wire(
                lambda message, _headers: writer.write(message), asked=self._asked, told=self._told
            )
            transport = await reading(
                pipes.pop(), Lines(wire.take, wire.end, garbage=self._garbage, ends_when_deep=True)
            )
            self._stack.callback(transport.close)
            wire.closes = transport.close
        except BaseException:
            for each in pipes:
                os.close(each)
            raise

    async def _connect_http(self) -> None:
        from mcp.shared.message import ClientMessageMetadata, SessionMessage
        from mcp_types import jsonrpc_message_adapter

        from gateway.mcp.streams import plain

        ready: asyncio.Future[tuple[Any, Any]] = asyncio.get_running_loop().create_future()
        over = asyncio.Event()
        failed: list[str] = []

        def ended() -> str:
            return "the connection has ended" + (f": {visible(shortened(failed[0], 200))}" if failed else "")

        async def hold() -> None:
            """Keeps the connection in the one task that may open and close it."""
            try:
                async with over_http(self.declared["url"], self._headers, self.seconds, failed) as streams:
                    ready.set_result(streams)
                    await over.wait()
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error if isinstance(error, Exception) else RpcError(CLOSED, "it was ended"))
                elif isinstance(error, asyncio.CancelledError):
                    raise

        async def listen(wire: Wire, heard: Any) -> None:
            try:
                async for each in heard:
                    if not isinstance(each, Exception):
                        wire.take(plain(each.message))
            finally:
                wire.end(ended())

        async def send(message: Message, headers: Mapping[str, str]) -> None:
            import anyio

            try:
                made = jsonrpc_message_adapter.validate_python(message, by_name=False)
                await said.send(
                    SessionMessage(made, metadata=ClientMessageMetadata(headers=dict(headers)) if headers else None)
                )
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise RpcError(CLOSED, ended()) from error

        holding = asyncio.ensure_future(hold())
        heard, said = await ready
        wire = self._wire = Wire(send, asked=self._asked, told=self._told)
        wire.closes = over.set
        listening = asyncio.ensure_future(listen(wire, heard))

        async def end() -> None:
            over.set()
            listening.cancel()
            _done, late = await asyncio.wait([holding, listening], timeout=_LAST_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(holding, listening, return_exceptions=True)

        self._stack.push_async_callback(end)

    async def _initialize(self) -> None:
        assert self._wire is not None
        self.version = ""
        params = {"protocolVersion": HANDSHAKE[-1], "capabilities": self._offers, "clientInfo": INFO}
        result = await self._wire.request("initialize", params, cancels=False)
        version = result.get("protocolVersion")
        if version not in HANDSHAKE:
            raise RpcError(CLOSED, f"it speaks version {str(version)[:40]!r} of the protocol, which nobody here does")
        self.version = version
        self._take_capabilities(result)
        await self._wire.notify("notifications/initialized")

    async def _discover(self) -> None:
        assert self._wire is not None
        self.version = ""
        params = stamped({}, STATELESS[-1], INFO, self._offers)
        headers = self._stamps(STATELESS[-1], "server/discover", params)
        result = await self._wire.request("server/discover", params, headers=headers, cancels=False)
        versions = result.get("supportedVersions")
        if not isinstance(versions, list) or STATELESS[-1] not in versions:
            raise RpcError(CLOSED, "it does not speak a version of the protocol that is spoken here")
        self.version = STATELESS[-1]
        self._take_capabilities(result)

    def _take_capabilities(self, result: Message) -> None:
        found = result.get("capabilities")
        self.capabilities = found if isinstance(found, dict) else {}

    def _stamps(self, version: str, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """The headers of a request over HTTP."""
        if self._child is not None:
            return {}
        from mcp.shared.inbound import encode_header_value, mcp_param_headers

        found = {"mcp-protocol-version": version}
        if not is_stateless(version):
            return found
        found["mcp-method"] = method
        target = params.get(TARGETS.get(method, ""))
        if isinstance(target, str):
            found["mcp-name"] = encode_header_value(target)
        places = self.param_headers.get(target) if method == "tools/call" and isinstance(target, str) else None
        if places:
            found |= mcp_param_headers(places, params.get("arguments") or {})
        return found

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, progress: Callable[[Message], None] | None = None
    ) -> Message:
        """What the server answers. The envelope is ours: nothing that says who the client is goes on. Raises
        RpcError."""
        wire = self._wire
        if wire is None or not self.version:
            raise RpcError(CLOSED, "the server does not run")
        given = dict(params or {})
        meta = without_envelope(given.pop("_meta", None))
        if not is_stateless(self.version):
            meta.pop(LOG_KEY, None)
        if meta:
            given["_meta"] = meta
        if is_stateless(self.version):
            given = stamped(given, self.version, INFO, self._offers)
        headers = self._stamps(self.version, method, given)
        return await wire.request(method, given, headers=headers, progress=progress)

    async def notify(self, method: str, params: Message | None = None) -> None:
        """Tells the server."""
        if self._wire is not None:
            await self._wire.notify(method, params)

    def ended_because(self) -> str:
        """Why it has ended, as far as that is known; "" while it runs, and for one elsewhere."""
        return self._child.why() if self._child is not None else ""

    async def settled(self) -> None:
        """Waits a little for the end of a process that says no more."""
        if self._child is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._child.ended, _LAST_SECONDS)

    def _garbage(self, line: bytes) -> None:
        if self._says is not None:
            self._says(hidden_bytes(line, self.secrets)[:1_000] + b"\n")

    async def _why(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError):
            return "it did not answer in time"
        child = self._child
        if child is not None:
            await asyncio.get_running_loop().run_in_executor(None, child.ended, _LAST_SECONDS)
            said = child.why()
            if said:
                return said.rstrip(".")
        return str(self.hidden(str(error))).rstrip(".")

    def hidden(self, data: Any) -> Any:
        """What it says, without the secrets that it was given."""
        return hidden_in(data, self.secrets)

    async def end(self) -> None:
        """As `close`, once whoever starts it has done so or has given up."""
        async with self._lock:
            await self.close()

    async def close(self) -> None:
        """Ends it with all its processes. It may be closed, and started, again."""
        wire, self._wire = self._wire, None
        self._given = self.secrets
        child, self._child = self._child, None
        self.version = ""
        if wire is not None:
            wire.end("the server was ended")
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()
        if child is not None:
            await asyncio.get_running_loop().run_in_executor(None, child.close)
