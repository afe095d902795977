"""One MCP server at work, for callers that block: it is spoken to on the one thread that speaks to all of them."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from time import monotonic

from gateway.audit.secrets import redact_forms
from gateway.calls.output import Failure
from gateway.core.errors import ConfigError
from gateway.core.secret_masking import hidden_bytes
from gateway.mcp.circumstances import circumstances, may_ask
from gateway.mcp.endpoint import TOOLS_CHANGED
from gateway.mcp.json_rpc import CLOSED, METHOD_NOT_FOUND, RpcError
from gateway.mcp.links import PROMPT, Link
from gateway.mcp.protocol_eras import INPUT_REQUIRED
from gateway.mcp.sanitised import shown
from gateway.mcp.upstream import Upstream
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future
    from typing import Any

    from gateway.calls.ports import Starts
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.mcp.child import Child
    from gateway.mcp.json_rpc import Message
    from gateway.mcp.pins import Pins
    from gateway.mcp.server_tools import Prompt

PROMPTS_CHANGED = "notifications/prompts/list_changed"
_LOOK_EVERY = 0.1
_END_SECONDS = 15.0
_MOST_SAID = 2_000


class Talking:
    """The one thread on which all servers are spoken to; it starts with the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_over = False

    def begin(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Future[Any]:
        """Has it done there. Raises Failure where no server is spoken to any more."""
        import asyncio

        with self._lock:
            if self._is_over:
                raise Failure("No MCP server is asked any more: what serves the calls has ended.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="gateway-mcp", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def close(self) -> None:
        """Ends it."""
        with self._lock:
            self._is_over = True
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


class Server:
    """One server at work. Its methods block; they may be called from several threads."""

    def __init__(
        self, name: str, declared: Mapping[str, Any], thread: Talking, pins: Pins | None, *, hides_forms: bool
    ) -> None:
        """`hides_forms`: whether what has the form of a secret is taken out of what it says."""
        self.name = name
        self.declared = declared
        self._hides_forms = hides_forms
        self.was_let = False  # policy, or whoever was asked, let it start
        self._prompts: tuple[int, list[Prompt]] = -1, []
        self._prompts_changed = 0
        self._thread = thread
        self._upstream = Upstream(name, declared, offers={}, stateless_first=False, asked=_asked, told=self._told)
        self.link = Link(self._upstream, pins)
        self._began = 0.0
        self._lost = ""
        self.was_given_up = False
        self._judged: tuple[object, ...] = ()  # the circumstances in which it is known to be fit
        self._counting = threading.Lock()
        self._users = 0  # how many have it, or wait for an answer of it
        self._is_retired = False
        self.was_closed = False

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._upstream.is_alive and not self._lost

    @property
    def is_used(self) -> bool:
        """Whether anybody has it, or waits for an answer of it."""
        return self._users > 0

    def lend(self) -> bool:
        """Whether it may be used from now on: then it does not end before it is given back, however often it is asked
        until then."""
        with self._counting:
            if not self._is_retired:
                self._users += 1
            return not self._is_retired

    def give_back(self) -> None:
        """Who had it has no use for it any more."""
        with self._counting:
            self._users -= 1
        self._end_retired()

    def why(self) -> str:
        """Why it ended, as far as that is known."""
        return self._lost or self.hidden(self._upstream.ended_because())

    def seconds_of_work(self) -> float:
        """How long it has been running."""
        return monotonic() - self._began if self._began else 0.0

    def start(self, services: Starts, session: Session, cancel: Cancel) -> None:
        """Starts it as a command that is judged, confined and recorded, or connects to where it is: each call of its
        tools is judged as going there. Raises Failure."""
        self._judged = circumstances(session, services.planner.judge)
        if self.declared["url"]:
            self.was_let = True

        def starts(child: Child) -> None:
            child.start(services, session, cancel)
            self.was_let = True

        self._waited(lambda: self._upstream.start(services.judge.environment, starts), cancel)
        self._began = monotonic()

    def is_fit(self, services: Starts, session: Session, mode: str) -> bool:
        """Whether it may go on as it runs, by the policy and the rules of the session as they are now, in a mode: it
        would be started in the same way, or policy does not deny to ask it where it is. Raises ConfigError where the
        policy is broken."""
        judge = services.planner.judge
        now = circumstances(session, judge, mode)
        if now == self._judged:
            return True
        if self.declared["url"]:
            is_fit = may_ask(judge, self.name, session.context.replace(mode=mode)) < Decision.DENY
        else:
            is_fit = self._upstream.is_fit(lambda child: child.is_fit(services, session, mode))
        if is_fit:
            self._judged = now
        return is_fit

    def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        cancel: Cancel,
        progress: Callable[[str], None] | None = None,
    ) -> Message:
        """What the server answers. `progress` is told what it says meanwhile; who reports, works. Raises Failure."""
        heard = [monotonic()]

        def told(message: Message) -> None:
            heard[0] = monotonic()
            text = message.get("message")
            if progress is not None and isinstance(text, str):
                progress(shown(self.hidden(text))[:_MOST_SAID])

        def late() -> bool:
            return monotonic() - heard[0] > self._upstream.seconds

        found: Message = self._waited(lambda: self._upstream.request(method, params, told), cancel, late)
        if found.get("resultType") == INPUT_REQUIRED:
            raise Failure(f"MCP server `{self.name}` asks for more before it answers, which nobody can give here.")
        return found

    def prompts_seen(self) -> int:
        """Changes whenever its prompts may be others."""
        return self._prompts_changed

    def prompts(self, cancel: Cancel) -> list[Prompt]:
        """Its prompts that can be called by a name, none where it says that it has none. Raises Failure."""
        if "prompts" not in self._upstream.capabilities:
            return []
        changed = self._prompts_changed
        if self._prompts[0] != changed:
            from gateway.mcp.server_tools import prompt_of

            found = [prompt_of(self.name, each) for each in self.hidden(self.all_of("prompts/list", "prompts", cancel))]
            self._prompts = changed, [each for each in found if each is not None]
        return self._prompts[1]

    def give_up(self, why: str) -> None:
        """It does not do what it should: whoever needs it next has it started again."""
        self._lost = self._lost or why
        self.was_given_up = True

    def all_of(self, method: str, key: str, cancel: Cancel) -> list[dict[str, Any]]:
        """Everything that a listing has, nothing where the server knows no such listing. Raises Failure."""
        end = monotonic() + self._upstream.seconds
        found: list[dict[str, Any]] = self._waited(
            lambda: self.link.some_of(method, key), cancel, lambda: monotonic() > end
        )
        return found

    def look_at_tools(self, cancel: Cancel) -> None:
        """Has it list its tools, if what is known of them holds no longer. Raises Failure."""
        end = monotonic() + self._upstream.seconds
        self._waited(lambda: self.link.tools(again=False), cancel, lambda: monotonic() > end)

    def why_not(self, tool: str, is_declared: bool, cancel: Cancel) -> str:
        """Why a tool of it must not be called whatever policy says, "" if it may be. `is_declared`: a layer says
        what it does, so that the server need not. Raises Failure."""
        self.look_at_tools(cancel)
        return self.link.why_hidden(tool, is_declared=is_declared)

    def _waited(
        self, work: Callable[[], Coroutine[Any, Any, Any]], cancel: Cancel, late: Callable[[], bool] = lambda: False
    ) -> Any:
        """What it gives. Raises Failure with what went wrong, and where nobody waits any longer."""
        with self._counting:
            self._users += 1
        try:
            return self._answer(self._thread.begin(work), cancel, late)
        finally:
            self.give_back()

    def _answer(self, doing: Future[Any], cancel: Cancel, late: Callable[[], bool]) -> Any:
        while not wait((doing,), _LOOK_EVERY).done:
            why = ""
            if cancel.is_set:
                why = "the call was cancelled"
            elif late():
                why = f"it did not answer within {self._upstream.seconds:g} s"
            if why:
                doing.cancel()
                raise self._no_answer(why)
        try:
            return doing.result()
        except CancelledError:
            raise self._no_answer(self.why() or "it has ended") from None
        except TimeoutError:
            raise self._no_answer("it did not answer in time") from None
        except Failure:
            raise
        except RpcError as error:
            raise self._failed(error) from error
        except ConfigError as error:  # of the pins
            raise Failure(f"MCP server `{self.name}` cannot be used: {error}.") from error
        except Exception as error:
            why = self.hidden(str(error)) or type(error).__name__
            raise Failure(f"MCP server `{self.name}` answered with an error: {why}.") from error

    def _failed(self, error: RpcError) -> Failure:
        message = shown(self.hidden(error.message))[:_MOST_SAID]
        if error.code != CLOSED or self._upstream.is_alive:  # others give this number to errors of their own
            return Failure(f"MCP server `{self.name}` answered with an error: {message}.")
        self._quietly(self._upstream.settled)  # why it has ended is known once it has
        self._lost = self.hidden(self._upstream.ended_because()) or message or "it has ended"
        return self._no_answer(self._lost)

    def _quietly(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Has it done. That it fails, or takes too long, keeps nobody from going on: what is left of the server is
        ended by whoever ends last."""
        with suppress(Exception):
            self._thread.begin(work).result(_END_SECONDS)

    def _no_answer(self, why: str) -> Failure:
        return Failure(f"MCP server `{self.name}` gave no answer: {why.rstrip('.')}.")

    def _told(self, method: str, _params: Message) -> None:
        if method == TOOLS_CHANGED:
            self.link.stale()
        elif method == PROMPTS_CHANGED:
            self._prompts_changed += 1

    def hidden(self, data: Any) -> Any:
        """What it says, as text or data, without the secrets that it was given, and without what has the form of one
        where policy wants that."""
        found = self._upstream.hidden(data)
        return _without_forms(found) if self._hides_forms else found

    def line(self, said: Any) -> str:
        """Text of a listing, with every character as what it is; "" for what is no text."""
        return shown(self.hidden(said)) if isinstance(said, str) else ""

    @staticmethod
    def is_prompt(tool: str) -> bool:
        """Whether this stands for getting a prompt: no tool has this name."""
        return tool == PROMPT

    def says_secrets(self, data: bytes) -> bool:
        """Whether a secret that it was given lies in what it sends."""
        return hidden_bytes(data, self._upstream.secrets) != data

    def close(self) -> None:
        """Ends the server with all its processes. It may be closed again."""
        self._lost = self._lost or "it was ended"
        self.was_closed = True
        self._quietly(self._upstream.end)

    def retire(self) -> None:
        """Ends it as soon as nobody uses it any more: at once where nobody does, or no answer can come."""
        with self._counting:
            self._is_retired = True
        self._end_retired()

    def _end_retired(self) -> None:
        with self._counting:
            is_over = self._is_retired and not (self._users and self.is_alive)
        if is_over and not self.was_closed:
            self.close()


def _without_forms(data: Any) -> Any:
    if isinstance(data, str):
        return redact_forms(data)[0]
    if isinstance(data, dict):
        return {_without_forms(name): _without_forms(each) for name, each in data.items()}
    return [_without_forms(each) for each in data] if isinstance(data, list) else data


async def _asked(method: str, _params: Message) -> Message:
    """What servers may ask for while they work for a session: nothing but whether anybody is there."""
    if method != "ping":
        raise RpcError(METHOD_NOT_FOUND, "Method not found")
    return {}
