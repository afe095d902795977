"""MCP servers that policy configures. Each is started when it is first needed, as a command that is judged, recorded
and confined like one of Bash, or asked where it is; and ends with what serves the calls.

They are spoken to as those behind the proxy are (`gateway.mcp`): in their own era, with what they said of their tools
pinned. What a session's model gets of them is `gateway.joined`.
"""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from time import monotonic

from gateway.audit.secrets import redact_forms
from gateway.errors import ConfigError
from gateway.hiding import hidden_bytes
from gateway.mcp.cleaned import shown
from gateway.mcp.endpoint import TOOLS_CHANGED
from gateway.mcp.eras import INPUT_REQUIRED
from gateway.mcp.links import PROMPT, Link
from gateway.mcp.pins import Pins
from gateway.mcp.upstream import Upstream
from gateway.mcp.wire import CLOSED, METHOD_NOT_FOUND, RpcError
from gateway.tools.handling import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future
    from typing import Any

    from gateway.joined import Joined
    from gateway.mcp.child import Child
    from gateway.mcp.wire import Message
    from gateway.sandbox.run import Cancel
    from gateway.serving import Services
    from gateway.session import Session
    from gateway.theirs import Prompt

SETTING = "servers"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
# A server that ends is started again at once, then after 1 s, 2 s, 4 s …; one that has worked this long is new again.
LONGEST_PAUSE = 300.0
STEADY_SECONDS = 60.0
_LOOK_EVERY = 0.1
_END_SECONDS = 15.0
_MOST_SAID = 2_000


class _Place:
    """Where one server of one session is, if it runs. The lock is held while it is judged and started."""

    __slots__ = ("failures", "is_over", "lock", "not_before", "server", "why")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: Server | None = None
        self.failures = 0  # in a row
        self.not_before = 0.0
        self.why = ""
        self.is_over = False  # its session has ended

    def ended(self, why: str, seconds: float) -> None:
        """It does not work, after so many seconds."""
        self.failures = 1 if seconds >= STEADY_SECONDS else self.failures + 1
        pause = min(2.0 ** (self.failures - 2), LONGEST_PAUSE) if self.failures > 1 else 0.0
        self.not_before = monotonic() + pause
        self.why = why.rstrip(".")


class Servers:
    """The running servers of one gateway. Safe to use from several threads.

    Each session has servers of its own, and for each mode that it is in: what one may do was judged for exactly that.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._places: dict[Session, dict[tuple[str, str], _Place]] = {}
        self._thread = _Talking()

    def declared(self) -> Mapping[str, Mapping[str, Any]]:
        """What policy says of them by name, as it stands for the next call. Raises ConfigError."""
        setting = self._services.guard.gateway.loaded.settings.get(SETTING)
        found: Mapping[str, Mapping[str, Any]] = {} if setting is None else setting.value
        return found

    def join(self, session: Session) -> Joined:
        """What a session's model gets of them from now on."""
        if session.joined is None:
            from gateway.joined import Joined

            session.joined = Joined(self, self._services, session)
        found: Joined = session.joined
        return found

    def running(self, name: str, session: Session, declared: Mapping[str, Any] | None = None) -> Server | None:
        """The server, if it runs for this session in its mode, as it is `declared`."""
        server = self._place(session, session.context.mode, name).server
        if server is None or not server.is_alive or (declared is not None and server.declared != declared):
            return None
        return server

    def pause(self, name: str, session: Session) -> float:
        """Seconds until it may be started again, 0 if it may be now."""
        return max(0.0, self._place(session, session.context.mode, name).not_before - monotonic())

    def get(self, name: str, session: Session, cancel: Cancel) -> Server:
        """The server, started if it does not run. Raises Failure."""
        known = self.declared()
        if name not in known:
            raise Failure(f"There is no MCP server `{name}`.", f"Configured are: {', '.join(known) or 'none'}.")
        place = self._place(session, session.context.mode, name)
        while not place.lock.acquire(timeout=_LOOK_EVERY):
            if cancel.is_set:
                raise Failure(f"MCP server `{name}` gave no answer: the call was cancelled.")
        try:
            return self._running(place, self._made(name, known[name]), session, cancel)
        finally:
            place.lock.release()

    def _running(self, place: _Place, made: Server, session: Session, cancel: Cancel) -> Server:
        """The server of a place, or this one, started. Called with the place's lock held."""
        before = place.server
        if before is not None:
            if before.is_alive and before.declared == made.declared:
                return before
            if not before.is_alive:
                why = f"MCP server `{made.name}` has ended: {before.why() or 'nobody knows why'}"
                place.ended(why, 0.0 if before.was_given_up else before.seconds_of_work())
            before.close()
            place.server = None
        left = place.not_before - monotonic()
        if left > 0:
            again = f"It has failed {place.failures} times; it may be started again in {left:.1f} s."
            raise Failure(f"{place.why}.", again)
        if place.is_over:
            raise Failure(f"MCP server `{made.name}` does not start: the session has ended.")
        try:
            made.start(self._services, session, cancel)
        except BaseException as error:
            made.close()
            if made.was_let:  # what policy or a person refuses is no failure of the server's
                place.ended(str(error), 0.0)
            raise
        place.server = made
        return made

    def leave(self, name: str, session: Session) -> None:
        """Ends the server of a session that policy names no longer."""
        place = self._place(session, session.context.mode, name)
        with place.lock:
            server, place.server = place.server, None
        if server is not None:
            server.close()

    def _made(self, name: str, declared: Mapping[str, Any]) -> Server:
        gateway = self._services.guard.gateway
        setting = gateway.loaded.settings.get("mcp")
        said = {} if setting is None else setting.value
        pins = Pins(gateway.places.state) if said.get("pins", True) else None
        return Server(name, declared, self._thread, pins, hides_forms=said.get("hide_secrets", True))

    def _place(self, session: Session, mode: str, name: str) -> _Place:
        with self._lock:
            if session not in self._places:
                session.ends_with_it(lambda: self._end(session))
                self._places[session] = {}
            return self._places[session].setdefault((mode, name), _Place())

    def _end(self, session: Session) -> None:
        if session.joined is not None:  # it holds the place of what it starts
            session.joined.stop()
        with self._lock:
            places = self._places.pop(session, {})
        for place in places.values():
            with place.lock:
                place.is_over = True
                server, place.server = place.server, None
            if server is not None:
                server.close()

    def close(self) -> None:
        """Ends all of them. No call may be running."""
        with self._lock:
            sessions = tuple(self._places)
        for each in sessions:
            self._end(each)
        self._thread.close()


class _Talking:
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
        self, name: str, declared: Mapping[str, Any], thread: _Talking, pins: Pins | None, *, hides_forms: bool
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

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._upstream.is_alive and not self._lost

    def why(self) -> str:
        """Why it ended, as far as that is known."""
        return self._lost or self.hidden(self._upstream.ended_because())

    def seconds_of_work(self) -> float:
        """How long it has been running."""
        return monotonic() - self._began if self._began else 0.0

    def start(self, services: Services, session: Session, cancel: Cancel) -> None:
        """Starts it as a command that is judged, confined and recorded, or connects to where it is: each call of its
        tools is judged as going there. Raises Failure."""
        if self.declared["url"]:
            from importlib.util import find_spec

            if find_spec("mcp") is None:
                why = f"MCP server `{self.name}` cannot be asked: the package `mcp` is missing."
                raise Failure(why, "Install agent-gateway[mcp].")
            self.was_let = True

        def starts(child: Child) -> None:
            child.start(services, session, cancel)
            self.was_let = True

        self._waited(lambda: self._upstream.start(services.gateway.environment, starts), cancel)
        self._began = monotonic()

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
            from gateway.theirs import prompt_of

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
        doing = self._thread.begin(work)
        while True:
            try:
                return doing.result(_LOOK_EVERY)
            except Late:
                if doing.done():
                    raise self._no_answer("it did not answer in time") from None
                why = ""
                if cancel.is_set:
                    why = "the call was cancelled"
                elif late():
                    why = f"it did not answer within {self._upstream.seconds:g} s"
                if why:
                    doing.cancel()
                    raise self._no_answer(why) from None
            except CancelledError:
                raise self._no_answer(self.why() or "it has ended") from None
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
        with suppress(Late, CancelledError):  # why it has ended is known once it has
            self._thread.begin(self._upstream.settled).result(_END_SECONDS)
        self._lost = self.hidden(self._upstream.ended_because()) or message or "it has ended"
        return self._no_answer(self._lost)

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
        with suppress(Late, CancelledError, Failure):  # its processes are ended by whoever ends last
            self._thread.begin(self._upstream.end).result(_END_SECONDS)


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
