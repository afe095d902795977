"""One conversation in JSON-RPC with a server, over whatever carries its messages: requests get their own answers,
whatever order they come in, and what nobody asked for changes nothing."""

from __future__ import annotations

import asyncio

from gateway.core.errors import GatewayError, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from typing import Any

    Message = dict[str, Any]
    Send = Callable[[Message, Mapping[str, str]], Awaitable[None]]

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL, CLOSED = -32601, -32602, -32603, -32000
# Requests of a server that are worked on at a time; more are refused.
MOST_ASKED = 32
# Answers to a server that it does not read; one that asks for more all the same is listened to no longer.
MOST_UNREAD = 1_000
_VERSION = "2.0"


class RpcError(GatewayError):
    """The other side answered with an error, or the conversation has ended (`CLOSED`)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Wire:
    """Lives on one event loop. What it is told of runs there as well."""

    def __init__(
        self,
        send: Send,
        *,
        asked: Callable[[str, Message], Coroutine[Any, Any, Message]],
        told: Callable[[str, Message], None],
    ) -> None:
        """`send`: takes a message to the server, with headers for a carrier that has them. `asked`: answers a request
        of the server's, or raises `RpcError`. `told`: hears its notifications, but for progress, which goes to the
        request that it belongs to."""
        self._send = send
        self._asked = asked
        self._told = told
        self._next = 0
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._progress: dict[int, Callable[[Message], None]] = {}
        self._working: set[asyncio.Task[None]] = set()
        self.ended = ""
        # Ends what carries the messages, where somebody has to.
        self.closes: Callable[[], None] | None = None

    async def request(
        self,
        method: str,
        params: Message | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        progress: Callable[[Message], None] | None = None,
        cancels: bool = True,
    ) -> Message:
        """The result. Raises `RpcError`. When the task is cancelled the server is told, unless `cancels` is False."""
        if self.ended:
            raise RpcError(CLOSED, self.ended)
        self._next += 1
        number = self._next
        message: Message = {"jsonrpc": _VERSION, "id": number, "method": method}
        if progress is not None:
            params = {**(params or {})}
            params["_meta"] = {**(params.get("_meta") or {}), "progressToken": number}
            self._progress[number] = progress
        if params is not None:
            message["params"] = params
        waits: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waits
        sent = False
        try:
            sent = True
            await self._send(message, headers or {})
            return await waits
        except asyncio.CancelledError:
            if sent and cancels and not self.ended:
                self._start(self.notify("notifications/cancelled", {"requestId": number, "reason": "cancelled"}))
            raise
        finally:
            self._waiting.pop(number, None)
            self._progress.pop(number, None)

    async def notify(self, method: str, params: Message | None = None) -> None:
        """Tells the server; a conversation that has ended hears nothing any more."""
        if self.ended:
            return
        message: Message = {"jsonrpc": _VERSION, "method": method}
        if params is not None:
            message["params"] = params
        await self._send(message, {})

    def take(self, message: Any) -> None:
        """Takes a message of the server's. What is none is left lying."""
        if self.ended or not isinstance(message, dict) or message.get("jsonrpc") != _VERSION:
            return
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            if "id" not in message:
                self._hear(method, params)
            elif isinstance(number, (int, str)) and not isinstance(number, bool):
                if len(self._working) >= MOST_UNREAD:
                    self.end("it asks for more than it listens to")
                else:
                    self._start(self._answer(number, method, params))
            return
        if isinstance(number, bool) or not isinstance(number, int):
            return
        waits = self._waiting.get(number)
        if waits is None or waits.done():
            return
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict) and error is None:
            waits.set_result(result)
        elif isinstance(error, dict):
            code = error.get("code")
            code = code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL
            waits.set_exception(RpcError(code, str(error.get("message", "")), error.get("data")))
        else:
            waits.set_exception(RpcError(INTERNAL, "the server's answer is neither a result nor an error"))

    def end(self, why: str) -> None:
        """Ends the conversation: whatever still waits hears why."""
        if self.ended:
            return
        self.ended = why or "the server has ended"
        for waits in self._waiting.values():
            if not waits.done():
                waits.set_exception(RpcError(CLOSED, self.ended))
        for task in self._working:
            task.cancel()
        if self.closes is not None:
            self.closes()

    def _hear(self, method: str, params: Message) -> None:
        if method == "notifications/progress":
            token = params.get("progressToken")
            heard = self._progress.get(token) if isinstance(token, int) and not isinstance(token, bool) else None
            if heard is not None:
                heard(params)
            return
        try:
            self._told(method, params)
        except Exception:
            return  # one that cannot be taken is left lying, and nothing that comes behind it

    async def _answer(self, number: int | str, method: str, params: Message) -> None:
        message: Message = {"jsonrpc": _VERSION, "id": number}
        try:
            if len(self._working) > MOST_ASKED:
                raise RpcError(INTERNAL, "too many requests at a time")
            message["result"] = await self._asked(method, params)
        except RpcError as error:
            message["error"] = {"code": error.code, "message": error.message}
            if error.data is not None:
                message["error"]["data"] = error.data
        except Exception as error:
            message["error"] = {"code": INTERNAL, "message": fault(error)}
        if not self.ended:
            await self._send(message, {})

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._is_done)

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        if not task.cancelled():
            task.exception()  # a message that could not be sent: the conversation ends by itself
