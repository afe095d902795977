"""One request that is handed on to a server behind the proxy, once policy has let it: with what the server asks for on
the way, its progress, and its end when nobody wants it any more."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import CancelledError as GivenUp
from concurrent.futures import TimeoutError as Late
from time import monotonic

from gateway.calls.output import Failure, Output, Text
from gateway.mcp.elicitation import FORM, UnaskableError, elicited, mode_of
from gateway.mcp.json_rpc import CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from gateway.mcp.protocol_eras import ASKS, INPUT_REQUIRED
from gateway.mcp.sanitised import cleaned, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from gateway.calls.work import Work
    from gateway.mcp.asking import Exchange
    from gateway.mcp.json_rpc import Message
    from gateway.mcp.links import Link
    from gateway.mcp.sanitised import Rules
    from gateway.model.call import Call

_LOOK_EVERY = 0.1
MOST_ROUNDS = 10
MOST_REQUESTS = 10  # of one round
# Reports of progress that wait for a client to read them; of more the oldest are left out.
MOST_REPORTS = 100


class Relay:
    """`work` is the handler of the call; then there is a `result`, or an `error` of the server's."""

    def __init__(
        self,
        link: Link,
        exchange: Exchange,
        method: str,
        params: Mapping[str, Any],
        rules: Rules,
        *,
        may: Collection[str] = (),
        arguments: str = "arguments",
        said: Mapping[str, Any] | None = None,
        key: str = "content",
    ) -> None:
        """`params`: as the client sent them, with the server's own names. `may`: what the server may ask the client
        for. `arguments`: which parameter the judged input becomes, "" to leave them as they are: then the call must
        have been judged as `said`, or it is not handed on; `key`: what a result
        has its content under."""
        self.result: Message | None = None
        self.error: RpcError | None = None
        self._link = link
        self._exchange = exchange
        self._method = method
        self._params = dict(params)
        self._rules = rules
        self._may = may
        self._arguments = arguments
        self._said = said
        self._key = key
        self._heard = monotonic()
        self._count = 0.0
        self._reports: deque[tuple[float, float | None, str | None]] = deque(maxlen=MOST_REPORTS)
        self._reporting: asyncio.Future[None] | None = None

    def work(self, call: Call, work: Work) -> Output:
        """Hands the call on as it was judged, and waits. Called on a thread of its own."""
        sent = asyncio.run_coroutine_threadsafe(self.waited(call), self._exchange.loop)
        while True:
            try:
                return sent.result(_LOOK_EVERY)()
            except Late:
                if work.cancel.is_set:
                    sent.cancel()
                    raise Failure(self._no_answer("the call was cancelled")) from None
            except GivenUp:
                raise Failure(self._no_answer("the call was cancelled")) from None

    async def waited(self, call: Call) -> Callable[[], Output]:
        """Hands the call on as it was judged, and waits, on the loop. Gives what gives or raises what a handler would.
        When the task is cancelled, the server is told."""
        params, why = dict(self._params), ""
        if self._arguments:
            params[self._arguments] = plain(call.input)
        elif plain(call.input) != plain(self._said):
            why = "it was changed on the way, and such a request is handed on as it was made or not at all"
        if self._link.is_retired:  # while somebody was asked about the call, or hooks were told of it
            why = "what policy lets it do has changed since the call was made, which may be made again"
        if why:
            return lambda: self._raise(Failure(f"MCP server `{self._link.name}` was not asked: {why}."))
        with self._link.used():
            return await self._answered(params)

    async def _answered(self, params: Message) -> Callable[[], Output]:
        self._heard = monotonic()
        sent = asyncio.ensure_future(self._sent(params))
        seconds = self._link.upstream.seconds
        try:
            while not sent.done():
                left = seconds - (monotonic() - self._heard)
                if left <= 0 and not self._exchange.waits:
                    return lambda: self._raise(Failure(self._no_answer(f"it did not answer within {seconds:g} s")))
                await asyncio.wait((sent,), timeout=max(left, _LOOK_EVERY))
            error = None if sent.cancelled() else sent.exception()
            if isinstance(error, RpcError) and error.code == CLOSED:
                await self._link.upstream.settled()  # why it has ended is known once it has
        finally:
            sent.cancel()
        return lambda: self._taken(sent)

    def _taken(self, sent: asyncio.Future[Message]) -> Output:
        try:
            result = sent.result()
        except Failure:
            raise
        except RpcError as error:
            raise self._failed(error) from error
        except asyncio.CancelledError:
            raise Failure(self._no_answer("the call was cancelled")) from None
        except Exception as error:
            raise Failure(self._no_answer(type(error).__name__)) from error
        rules = self._rules.replace(secrets=self._link.upstream.secrets)
        self.result = found = cleaned(result, rules, self._key)
        blocks = found.get("content")
        blocks = blocks if isinstance(blocks, list) else []
        texts = [each["text"] for each in blocks if isinstance(each, dict) and isinstance(each.get("text"), str)]
        return Output(tuple(map(Text, texts)), is_error=found.get("isError") is True)

    def _raise(self, failure: Failure) -> Output:
        raise failure

    def _no_answer(self, why: str) -> str:
        return f"MCP server `{self._link.name}` gave no answer: {why.rstrip('.')}."

    def _failed(self, error: RpcError) -> Failure:
        link = self._link
        message = shown(link.upstream.hidden(error.message))[:2_000]
        if error.code == CLOSED:
            return Failure(self._no_answer(link.upstream.ended_because() or message))
        self.error = RpcError(error.code, message, link.upstream.hidden(error.data))
        return Failure(f"MCP server `{link.name}` answered with an error: {message}.")

    async def _sent(self, params: Message) -> Message:
        self._link.asking.add(self._exchange)
        try:
            for _ in range(MOST_ROUNDS):
                result = await self._link.upstream.request(self._method, params, self._progress)
                if result.get("resultType") != INPUT_REQUIRED:
                    return result
                try:
                    answers = await self._exchange.ask(self._requests(result.get("inputRequests")))
                except RpcError as error:
                    raise Failure(self._no_answer(error.message)) from error
                params = {**params, "inputResponses": dict(answers)}
                params.pop("requestState", None)
                if "requestState" in result:  # to the letter, whatever it is
                    params["requestState"] = result["requestState"]
            raise Failure(self._no_answer(f"it asked for more than {MOST_ROUNDS} times"))
        finally:
            self._link.asking.discard(self._exchange)

    def _requests(self, requests: Any) -> dict[str, Message]:
        """What the server asks for, if it may ask for all of it."""
        if not isinstance(requests, dict) or not requests:
            raise RpcError(METHOD_NOT_FOUND, "it asks for something and does not say what")
        if len(requests) > MOST_REQUESTS:
            raise RpcError(INVALID_PARAMS, f"it asks for more than {MOST_REQUESTS} things at once")
        found: dict[str, Message] = {}
        for key, each in requests.items():
            method = each.get("method") if isinstance(each, dict) else None
            params = each.get("params") if isinstance(each, dict) else None
            given = asked_for(self._link.name, method, params, self._may, self._exchange)
            found[key] = {"method": method} | ({} if params is None else {"params": given})
        return found

    def _progress(self, params: Message) -> None:
        """Hands progress on; a server that reports is one that works."""
        self._heard = monotonic()
        done, total, text = params.get("progress"), params.get("total"), params.get("message")
        if not isinstance(done, (int, float)) or isinstance(done, bool) or (done <= self._count and self._count):
            return
        self._count = done
        total = total if isinstance(total, (int, float)) and not isinstance(total, bool) else None
        said = shown(self._link.upstream.hidden(text))[:2_000] if isinstance(text, str) else None
        self._reports.append((done, total, said))
        if self._reporting is None or self._reporting.done():
            self._reporting = asyncio.ensure_future(self._report())

    async def _report(self) -> None:
        while self._reports:
            await self._exchange.back.progress(*self._reports.popleft())


def asked_for(server: str, method: Any, params: Any, may: Collection[str], exchange: Exchange) -> Message:
    """The parameters of what a server asks a client for, said to come from that server. Raises RpcError where it may
    not, or the client cannot."""
    kind = ASKS.get(method) if isinstance(method, str) else None
    if kind is None:
        raise RpcError(METHOD_NOT_FOUND, f"no server may ask for {str(method)[:80]}")
    if kind not in may:
        raise RpcError(METHOD_NOT_FOUND, f"policy lets no server ask a client for {kind}")
    if kind != "elicitation":
        _may_ask(exchange, kind)
        return dict(params) if isinstance(params, dict) else {}
    try:
        _may_ask(exchange, kind, mode_of(params))
        found = elicited(params)
    except UnaskableError as error:
        raise RpcError(INVALID_PARAMS, f"no client is asked for what the server wants to know: {error}") from error
    found["message"] = f"The MCP server `{server}` asks: {found['message']}"
    return found


def _may_ask(exchange: Exchange, kind: str, mode: str = FORM) -> None:
    if not exchange.may_ask(kind, mode):
        of = f" of the mode {mode}" if mode != FORM else ""
        raise RpcError(METHOD_NOT_FOUND, f"the client has no {kind}{of}")


def plain(value: Any) -> Any:
    """The input as ordinary lists and dicts."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value
