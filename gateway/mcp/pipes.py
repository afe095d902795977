"""A client over two pipes, in the era that it opens with. Its messages are lines of JSON; whatever it sends, the next
line is listened to."""

from __future__ import annotations

import asyncio

from gateway.core.errors import fault
from gateway.mcp.endpoint import SERVER_INFO, TOOLS_CHANGED
from gateway.mcp.json_rpc import CLOSED, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from gateway.mcp.lines import Lines, reading, writing
from gateway.mcp.protocol_eras import CAPABILITIES_KEY, HANDSHAKE, SERVER_KEY, STATELESS, VERSION_KEY, is_stateless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from gateway.mcp.endpoint import Endpoint
    from gateway.mcp.json_rpc import Message
    from gateway.mcp.lines import Writer

KEY = "pipe"
INVALID_REQUEST, PARSE_ERROR, UNSUPPORTED = -32600, -32700, -32022
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
# Requests of one client that are worked on at a time; more are refused.
MOST_AT_A_TIME = 1_000
_WANTED = {
    TOOLS_CHANGED: "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}


class Piped:
    """One connection; one use."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._writer: Writer | None = None
        self._version = ""  # once it is known
        self._is_stateless = False
        self._capabilities: Message = {}
        self._working: dict[int | str, asyncio.Task[None]] = {}
        self._asked: dict[str, asyncio.Future[Message]] = {}
        self._number = 0
        self._rest: set[asyncio.Task[Any]] = set()
        self._over = asyncio.Event()

    async def serve(self, into: int, out: int, stop: asyncio.Event) -> None:
        """Answers until the client has closed its end, or `stop` is set. The descriptors are owned from now on."""
        self._writer = await writing(out)
        transport = await reading(into, Lines(self._take, lambda _why: self._over.set(), garbage=self._garbage))
        ends = [asyncio.ensure_future(each.wait()) for each in (self._over, stop)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            transport.close()
            for waiting in self._asked.values():
                if not waiting.done():
                    waiting.set_exception(RpcError(CLOSED, "the client has gone"))
            tasks = [*ends, *self._working.values(), *self._rest]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._writer.close()
            await asyncio.sleep(0)

    # ------------------------------------------------------------------------------------------------- what comes in

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._say({"id": None, "error": {"code": INVALID_REQUEST, "message": "one request or notification a line"}})
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        if not isinstance(method, str):
            if method is None:
                self._answered(message)
            else:
                told = number if isinstance(number, (int, str)) and not isinstance(number, bool) else None
                self._say({"id": told, "error": {"code": INVALID_REQUEST, "message": "its method must be a text"}})
            return
        if "id" not in message:
            self._told(method, params if isinstance(params, dict) else {})
            return
        if isinstance(number, bool) or not isinstance(number, (int, str)) or number in self._working:
            self._say({"id": None, "error": {"code": INVALID_REQUEST, "message": "the id is none, or is in use"}})
            return
        if not (params is None or isinstance(params, dict)) or len(self._working) >= MOST_AT_A_TIME:
            why = (
                "too many requests at a time" if len(self._working) >= MOST_AT_A_TIME else "Invalid request parameters"
            )
            self._say({"id": number, "error": {"code": INVALID_PARAMS, "message": why}})
            return
        task = asyncio.ensure_future(self._work(number, method, params or {}))
        self._working[number] = task
        task.add_done_callback(lambda _task: self._working.pop(number, None))

    def _told(self, method: str, params: Message) -> None:
        if method == "notifications/cancelled":
            number = params.get("requestId")
            task = (
                self._working.get(number) if isinstance(number, (int, str)) and not isinstance(number, bool) else None
            )
            if task is not None:
                task.cancel()

    def _answered(self, message: Message) -> None:
        waiting = self._asked.get(message["id"]) if isinstance(message.get("id"), str) else None
        if waiting is None or waiting.done():
            return
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict):
            waiting.set_result(result)
        else:
            said = error.get("message") if isinstance(error, dict) else None
            code = error.get("code") if isinstance(error, dict) else None
            code = code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL
            waiting.set_exception(RpcError(code, str(said or "the answer was none")[:500]))

    def _garbage(self, _line: bytes) -> None:
        self._say({"id": None, "error": {"code": PARSE_ERROR, "message": "Parse error"}})

    # ------------------------------------------------------------------------------------------------ what is answered

    async def _work(self, number: int | str, method: str, params: Message) -> None:
        try:
            answer: Message = {"id": number, "result": await self._result(number, method, params)}
        except RpcError as error:
            problem: Message = {"code": error.code, "message": error.message}
            answer = {"id": number, "error": problem | ({} if error.data is None else {"data": error.data})}
        except Exception as error:
            answer = {
                "id": number,
                "error": {"code": INTERNAL, "message": fault(error)},
            }
        await self._send(answer)

    async def _result(self, number: int | str, method: str, params: Message) -> Message:
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        if not self._version:
            self._is_stateless = method != "initialize" and VERSION_KEY in meta
        if method == "initialize":
            return self._initialized(params)
        if self._is_stateless:
            back = self._stateless(number, meta)
            if method == "server/discover":
                found = {"supportedVersions": list(STATELESS), "capabilities": self._endpoint.capabilities()}
                return {
                    "cacheScope": "private", "ttlMs": 0, "resultType": "complete", **found,
                    "instructions": self._endpoint.instructions, "_meta": {SERVER_KEY: SERVER_INFO},
                }  # fmt: skip
            if method == "subscriptions/listen":
                return await self._listen(number, params)
        else:
            if method == "ping":
                return {}
            if method == "server/discover":
                raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
            if not self._version:
                raise RpcError(INVALID_PARAMS, "Invalid request parameters", "the connection is not initialized")
            if VERSION_KEY in meta:
                raise RpcError(INVALID_REQUEST, "this connection was opened with a handshake")
            back = Way(self, number, self._version, self._capabilities, meta)
        return await self._endpoint.handle(KEY, back, method, params)

    def _initialized(self, params: Message) -> Message:
        asked = params.get("protocolVersion")
        if self._version and self._is_stateless:
            data = {"supported": list(STATELESS)} | ({"requested": asked} if isinstance(asked, str) else {})
            raise RpcError(UNSUPPORTED, "this connection was opened without a handshake", data)
        given, info = params.get("capabilities"), params.get("clientInfo")
        if not (isinstance(asked, str) and isinstance(given, dict) and isinstance(info, dict)):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        self._version = asked if asked in HANDSHAKE else HANDSHAKE[-1]
        self._capabilities = given
        self._endpoint.opened(KEY, Way(self, "", self._version, given, {}))
        return {
            "protocolVersion": self._version, "capabilities": self._endpoint.capabilities(),
            "serverInfo": SERVER_INFO, "instructions": self._endpoint.instructions,
        }  # fmt: skip

    def _stateless(self, number: int | str, meta: Message) -> Way:
        version, capabilities = meta.get(VERSION_KEY), meta.get(CAPABILITIES_KEY)
        if not isinstance(version, str) or not isinstance(capabilities, dict):
            raise RpcError(INVALID_PARAMS, f"params._meta must hold {VERSION_KEY} and {CAPABILITIES_KEY}")
        if version not in STATELESS:
            data = {"supported": list(STATELESS), "requested": version}
            raise RpcError(UNSUPPORTED, "Unsupported protocol version", data)
        self._version = version
        return Way(self, number, version, capabilities, meta)

    async def _listen(self, number: int | str, params: Message) -> Message:
        """Tells what happens until the request is cancelled."""
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        honoured = {key: True for key in _WANTED.values() if wanted.get(key) is True}
        meta = {SUBSCRIPTION_KEY: number}
        client = await self._endpoint.client(KEY)

        def hear(method: str, told: Message) -> None:
            if honoured.get(_WANTED.get(method, "")):
                self.start(self.notify(method, {**told, "_meta": meta}))

        await self.notify("notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": meta})
        client.listening[hear] = hear
        try:
            await asyncio.Event().wait()
        finally:
            client.listening.pop(hear, None)
        return {"_meta": meta}

    # ---------------------------------------------------------------------------------------------------- what goes out

    async def ask(self, method: str, params: Message) -> Message:
        """What the client answers. Raises RpcError."""
        self._number += 1
        number = f"gateway-{self._number}"
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await waiting
        finally:
            self._asked.pop(number, None)

    async def notify(self, method: str, params: Message | None) -> None:
        """Tells the client."""
        await self._send({"method": method} | ({"params": params} if params is not None else {}))

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Does it meanwhile."""
        task = asyncio.ensure_future(work)
        self._rest.add(task)
        task.add_done_callback(self._rest.discard)

    def _say(self, message: Message) -> None:
        self.start(self._send(message))

    async def _send(self, message: Message) -> None:
        assert self._writer is not None
        try:
            await self._writer.write({"jsonrpc": "2.0", **message})
        except ConnectionError:
            self._over.set()


class Way:
    """The way back to the client that a request came from."""

    def __init__(self, pipe: Piped, number: int | str, version: str, capabilities: Message, meta: Message) -> None:
        self._pipe = pipe
        self.number = number
        self.version = version
        self.capabilities = capabilities
        token = meta.get("progressToken")
        self._token = token if isinstance(token, (int, str)) and not isinstance(token, bool) else None

    async def ask(self, method: str, params: Message) -> Message:
        """What the client answers. Raises RpcError."""
        if is_stateless(self.version):
            raise RpcError(METHOD_NOT_FOUND, "a client without a handshake is not asked this way")
        return await self._pipe.ask(method, params)

    async def notify(self, method: str, params: Message | None) -> None:
        """Tells the client."""
        await self._pipe.notify(method, params)

    async def progress(self, done: float, total: float | None, text: str | None) -> None:
        """Tells the client, if it wants to know."""
        if self._token is None:
            return
        params: Message = {"progressToken": self._token, "progress": done}
        params |= ({} if total is None else {"total": total}) | ({} if text is None else {"message": text})
        await self._pipe.notify("notifications/progress", params)
