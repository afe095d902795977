"""Questions to whoever sits behind an MCP client, in the way of its era, and the approver that asks them.

With a handshake a question is a request to the client while its call waits. Without one the call is answered by what is
asked for, and the client sends the same call again with the answer: the call itself waits here meanwhile, under a state
that is sealed, good for exactly this call of this client, and good once.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import threading
from concurrent.futures import CancelledError as GivenUp
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager

from gateway.approval.base import Answer, no
from gateway.core.async_threads import ended
from gateway.mcp.json_rpc import INVALID_PARAMS, RpcError
from gateway.mcp.protocol_eras import INPUT_REQUIRED, is_stateless
from gateway.mcp.turns import Turn, Turns
from gateway.model.decision import Decision
from gateway.model.grant import ONCE, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Protocol

    from gateway.approval.base import Question
    from gateway.mcp.json_rpc import Message

    class Back(Protocol):
        """The way back to the client that a request came from."""

        @property
        def version(self) -> str: ...

        @property
        def capabilities(self) -> Mapping[str, Any]: ...

        async def ask(self, method: str, params: Message) -> Message: ...

        async def notify(self, method: str, params: Message | None) -> None: ...

        async def progress(self, done: float, total: float | None, text: str | None) -> None: ...


SECONDS = 300.0  # for a person to answer
YES, FOR_SESSION, NO = "yes, once", "yes, for this session", "no"
_SCOPES = {YES: ONCE, FOR_SESSION: SESSION}
MOST_QUESTION = 20_000
MOST_HELD = 64
_LOOK_EVERY = 0.1
_PREFIX = "gw1."


class Seal:
    """Makes states that a client hands back, and knows its own again. One for each process."""

    def __init__(self) -> None:
        self._key = os.urandom(32)

    def make(self, bound: str) -> tuple[str, str]:
        """A new state for what it is bound to, and the number in it."""
        number = os.urandom(24).hex()
        return f"{_PREFIX}{number}.{self._mark(number, bound)}", number

    def number(self, state: Any, bound: str) -> str:
        """The number in a state that was made for exactly this, "" for any other."""
        if not isinstance(state, str) or not state.startswith(_PREFIX) or len(state) > 200 or not state.isascii():
            return ""
        number, _, mark = state[len(_PREFIX) :].partition(".")
        return number if hmac.compare_digest(mark, self._mark(number, bound)) else ""

    def _mark(self, number: str, bound: str) -> str:
        return hmac.new(self._key, f"{number}\0{bound}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def bound_to(client: str, method: str, params: Mapping[str, Any]) -> str:
    """What a state is good for: this request of this client, with these arguments."""
    said = {
        "client": client,
        "method": method,
        "params": {key: params.get(key) for key in ("name", "uri", "arguments")},
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class Exchange:
    """One request of a client, from the first time it is sent to its result. Lives on the event loop."""

    def __init__(self, back: Back, turn: Turn | None = None, *, lists: bool = False) -> None:
        """`turn`: the place of the call among those of its session; it is given up while a question waits. `lists`: the
        request is none that may be answered by a question in the era without handshake."""
        self.back = back
        self._lists = lists
        self.task: asyncio.Task[Message] | None = None
        self.loop = asyncio.get_running_loop()
        self.turn = turn or Turn(Turns())
        self._asked: asyncio.Queue[Mapping[str, Message]] = asyncio.Queue()
        self._answer: asyncio.Future[Mapping[str, Any]] | None = None
        self._one_at_a_time = asyncio.Lock()

    def may_ask(self, kind: str = "elicitation", mode: str = "form") -> bool:
        """Whether the client has what answers such a question. `mode`: of an elicitation."""
        if self._lists and is_stateless(self.back.version):
            return False
        has = self.back.capabilities.get(kind)
        if not isinstance(has, dict):
            return False
        return kind != "elicitation" or mode in has or (mode == "form" and "url" not in has)

    async def ask(self, requests: Mapping[str, Message]) -> Mapping[str, Any]:
        """What the client answers to requests of the form `{"method", "params"}`, by their keys. Who asks meanwhile
        waits for that. Raises RpcError."""
        async with self._one_at_a_time:
            self.turn.pause()
            try:
                async with asyncio.timeout(SECONDS):
                    if not is_stateless(self.back.version):
                        return {
                            key: await self.back.ask(each["method"], each.get("params") or {})
                            for key, each in requests.items()
                        }
                    self._answer = self.loop.create_future()
                    self._asked.put_nowait(requests)
                    return await self._answer
            except TimeoutError as error:
                raise RpcError(INVALID_PARAMS, "nobody answered in time") from error
            finally:
                self._answer = None
                await self.turn.again()

    @property
    def question(self) -> object:
        """What waits for the request to be sent again; None where nothing does."""
        return self._answer if self._answer is not None and not self._answer.done() else None

    @property
    def waits(self) -> bool:
        """Whether a question waits for the request to be sent again."""
        return self.question is not None

    def take(self, back: Back, answers: Any) -> None:
        """Takes the answers that came with the request when it was sent again."""
        self.back = back
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answers if isinstance(answers, dict) else {})

    async def until(self) -> Message | None:
        """The requests that the client has to answer, or None once there is a result. When whoever waits is cancelled,
        so is the call, with everything that it has started."""
        assert self.task is not None
        asked = asyncio.ensure_future(self._asked.get())
        try:
            await asyncio.wait({self.task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await ended(self.task)
            raise
        finally:
            if not asked.done():
                asked.cancel()
        return dict(asked.result()) if asked.done() and not asked.cancelled() and not self.task.done() else None

    def result(self) -> Message:
        """What came of it."""
        assert self.task is not None
        return self.task.result()


class Held:
    """The calls of one client that wait for an answer."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self._waiting: dict[str, tuple[Exchange, object]] = {}  # and the question that is answered with it

    def hold(self, exchange: Exchange, requests: Message, bound: str) -> Message:
        """The result that asks for the answers. Raises RpcError where too many wait already."""
        self._waiting = {
            number: (each, question)
            for number, (each, question) in self._waiting.items()
            if question is not None and each.question is question
        }
        if len(self._waiting) >= MOST_HELD:
            assert exchange.task is not None
            exchange.task.cancel()
            raise RpcError(INVALID_PARAMS, "too many calls wait for an answer already")
        state, number = self._seal.make(bound)
        self._waiting[number] = exchange, exchange.question
        return {"resultType": INPUT_REQUIRED, "inputRequests": requests, "requestState": state}

    def resume(self, state: Any, bound: str) -> Exchange:
        """The call that a state was made for, once, as long as what it asked waits for its answer. Raises RpcError for
        any other state."""
        exchange, question = self._waiting.pop(self._seal.number(state, bound), (None, None))
        if exchange is None or question is None or exchange.question is not question:
            raise RpcError(INVALID_PARAMS, "Invalid or expired requestState", {"reason": "invalid_request_state"})
        return exchange


_here = threading.local()


@contextmanager
def asked_through(exchange: Exchange) -> Iterator[None]:
    """Has questions of the call that this thread runs asked through the client of this request."""
    _here.exchange = exchange
    try:
        yield
    finally:
        _here.exchange = None


class Elicitation:
    """Asks the client whose call it is. Any answer but a clear yes to exactly this question is a no."""

    name = "mcp"

    def __init__(self, describe: Callable[[Question], str], elicited: Callable[[], str]) -> None:
        """`describe`: all that a person needs to answer; `elicited`: the setting, all, unlocked or none."""
        self._describe = describe
        self._elicited = elicited

    def ask(self, question: Question) -> Answer | None:
        """As `Approver.ask`: None where no call of a client runs in this thread."""
        exchange: Exchange | None = getattr(_here, "exchange", None)
        if exchange is None:
            return None
        elicited = self._elicited()
        if elicited == "none":
            return no("policy", "policy takes no answer that comes through an MCP client")
        if elicited != "all" and _is_locked(question):
            return no("policy", "its rule is locked, and policy takes no answer to such a question from an MCP client")
        if not exchange.may_ask():
            return no("nobody", "this MCP client cannot ask anybody (it has no elicitation)")
        try:
            message = self._describe(question)
        except Exception as error:
            return no("nobody", f"the question cannot be put into words ({type(error).__name__})")
        if len(message) > MOST_QUESTION:
            return no("nobody", "the question is too long to be asked through an MCP client")
        answers = [YES, *([FOR_SESSION] if SESSION in question.may else []), NO]
        found = self._found(exchange, {"ask": _form(message, answers)}, question)
        if isinstance(found, str):
            return no("mcp", found)
        given = found.get("ask")
        if not isinstance(given, dict) or given.get("action") != "accept":
            action = given.get("action") if isinstance(given, dict) else None
            return no(
                "mcp",
                {"decline": "it was declined", "cancel": "the question was dismissed"}.get(
                    str(action), "the answer was none"
                ),
            )
        content = given.get("content")
        answer = content.get("answer") if isinstance(content, dict) else None
        if not isinstance(answer, str) or answer not in answers or answer == NO:
            return no("mcp", "" if answer == NO else "the answer was none")
        return Answer(True, _SCOPES[answer], "mcp client")

    def _found(
        self, exchange: Exchange, requests: Mapping[str, Message], question: Question
    ) -> Mapping[str, Any] | str:
        """The client's answers, or why there are none."""
        work = asyncio.run_coroutine_threadsafe(exchange.ask(requests), exchange.loop)
        while True:
            try:
                return work.result(_LOOK_EVERY)
            except Late:
                if work.done():
                    return "nobody answered in time"
                if question.cancelled():
                    work.cancel()
                    return "the call was cancelled"
            except GivenUp:
                return "the call was cancelled"
            except Exception as error:
                return f"asking failed: {error}"


def _is_locked(question: Question) -> bool:
    asking = [each.reason.rule for each in question.verdict.outcomes if each.decision is Decision.ASK]
    return any(rule.lock for rule in asking)


def _form(message: str, answers: list[str]) -> Message:
    answer = {"type": "string", "title": "May it run?", "enum": answers}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}
