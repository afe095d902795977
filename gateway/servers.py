"""MCP servers that policy configures. Each is started when it is first needed, as a command that is judged, recorded
and confined like one of Bash, or asked where it is; and ends with what serves the calls.

The protocol is spoken by the official package `mcp`, which is loaded with the first server.
"""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as Late
from time import monotonic

from gateway.hiding import hidden_bytes, hidden_in
from gateway.outgoing import RequestError
from gateway.tools.handling import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from gateway.mcp.child import Child
    from gateway.sandbox.run import Cancel
    from gateway.serving import Services
    from gateway.session import Session

SETTING = "servers"
START_SECONDS = 60.0
_LOOK_EVERY = 0.1
_END_SECONDS = 10.0
_LAST_SECONDS = 1.0


class _Place:
    """Where one server of one session is, if it runs. The lock is held while it is judged and started."""

    __slots__ = ("lock", "server")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: Server | None = None


class Servers:
    """The running servers of one gateway. Safe to use from several threads.

    Each session has servers of its own, and for each mode that it is in: what one may do was judged for exactly that.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._places: dict[Session, dict[tuple[str, str], _Place]] = {}

    def get(self, name: str, session: Session, cancel: Cancel) -> Server:
        """The server, started if it does not run. Raises Failure."""
        setting = self._services.gateway.loaded.settings.get(SETTING)
        known = {} if setting is None else setting.value
        if name not in known:
            raise Failure(f"There is no MCP server `{name}`.", f"Configured are: {', '.join(known) or 'none'}.")
        place = self._place(session, session.context.mode, name)
        while not place.lock.acquire(timeout=_LOOK_EVERY):
            if cancel.is_set:
                raise Failure(f"MCP server `{name}` gave no answer: the call was cancelled.")
        try:
            if place.server is not None:
                if place.server.is_alive:
                    return place.server
                place.server.close()
                place.server = None
            made = Server(name, known[name])
            try:
                made.start(self._services, session, cancel)
            except BaseException:
                made.close()
                raise
            place.server = made
            return made
        finally:
            place.lock.release()

    def _place(self, session: Session, mode: str, name: str) -> _Place:
        with self._lock:
            if session not in self._places:
                session.ends_with_it(lambda: self._end(session))
                self._places[session] = {}
            return self._places[session].setdefault((mode, name), _Place())

    def _end(self, session: Session) -> None:
        with self._lock:
            places = self._places.pop(session, {})
        for place in places.values():
            if place.server is not None:
                place.server.close()

    def close(self) -> None:
        """Ends all of them. No call may be running."""
        with self._lock:
            sessions = tuple(self._places)
        for each in sessions:
            self._end(each)


async def _when_gone(stop: Any, group: Any) -> None:
    """Ends whatever still waits, once nobody answers any more."""
    await stop.wait()
    group.cancel_scope.cancel()


class Server:
    """One server at work."""

    def __init__(self, name: str, declared: Mapping[str, Any]) -> None:
        self.name = name
        self.seconds = float(declared["seconds"])
        self._declared = declared
        self._child: Child | None = None
        self._headers: dict[str, str] = {}
        self._loop: AbstractEventLoop | None = None
        self._client: Any = None
        self._stop: Any = None
        self._ready = threading.Event()
        self._problem = ""
        self._thread: threading.Thread | None = None
        # What it was given that nobody else has: it is never shown or recorded.
        self._secrets: tuple[str, ...] = ()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        talks = self._thread is not None and self._thread.is_alive()
        return talks and (self._child is None or self._child.is_alive) and not self._problem

    def start(self, services: Services, session: Session, cancel: Cancel) -> None:
        """Starts it as a command that is judged, confined and recorded, or connects to where it is: each call of its
        tools was judged as going there. Raises Failure."""
        from importlib.util import find_spec

        if find_spec("mcp") is None:
            raise Failure("No MCP server can be asked: the package `mcp` is missing.", "Install agent-gateway[mcp].")
        environment = services.gateway.environment
        if self._declared["url"]:
            from gateway.mcp.http import header_values

            try:
                self._headers, self._secrets = header_values(self._declared["headers"], environment)
            except RequestError as error:
                raise Failure(f"MCP server `{self.name}` cannot be asked: {error}.") from error
        else:
            from gateway.mcp.child import Child

            self._child = Child(self.name, self._declared)
            self._child.start(services, session, cancel)
            self._secrets = self._child.secrets
        self._thread = threading.Thread(target=self._talk, name=f"gateway-mcp-{self.name}", daemon=True)
        self._thread.start()
        end = monotonic() + START_SECONDS
        while not self._ready.wait(_LOOK_EVERY):
            if cancel.is_set or monotonic() > end or not self.is_alive:
                break
        if not self._ready.is_set() or self._problem:
            if self._problem and self._child is not None:  # most often because it has ended, which says more
                self._child.ended(_LAST_SECONDS)
            why = self._ended() or "it did not answer in time"
            self.close()
            raise Failure(f"MCP server `{self.name}` does not work: {why}.")

    def ask(self, does: Callable[[Any], Awaitable[Any]], cancel: Cancel) -> Any:
        """What the server answers. `does` gets the client session of the package `mcp`. Raises Failure."""
        import asyncio

        assert self._loop is not None

        async def asked() -> Any:
            return await does(self._client)

        asking = asked()
        try:
            work = asyncio.run_coroutine_threadsafe(asking, self._loop)
        except RuntimeError as error:  # its loop has ended meanwhile
            asking.close()
            raise Failure(f"MCP server `{self.name}` has ended: {self._ended() or 'nobody knows why'}.") from error
        end = monotonic() + self.seconds
        while True:
            try:
                return work.result(_LOOK_EVERY)
            except CancelledError as error:
                raise Failure(f"MCP server `{self.name}` ended: {self._ended() or 'nobody knows why'}.") from error
            except Late as late:
                if work.done():
                    raise Failure(f"MCP server `{self.name}` did not answer in time.") from late
                why = ""
                if cancel.is_set:
                    why = "the call was cancelled"
                elif not self.is_alive:
                    why = self._ended() or "it has ended"
                elif monotonic() > end:
                    why = f"it did not answer within {self.seconds:g} s"
                if why:
                    work.cancel()
                    raise Failure(f"MCP server `{self.name}` gave no answer: {why}.") from late
            except Failure:
                raise
            except Exception as error:
                why = self.hidden(str(error))
                raise Failure(f"MCP server `{self.name}` answered with an error: {why}.") from error

    def _ended(self) -> str:
        return (self._child.why() if self._child is not None else "") or self._problem

    def hidden(self, data: Any) -> Any:
        """What it says, as text or data, without the secrets that it was given."""
        return hidden_in(data, self._secrets)

    def says_secrets(self, data: bytes) -> bool:
        """Whether a secret that it was given lies in what it sends."""
        return hidden_bytes(data, self._secrets) != data

    def _talk(self) -> None:
        """Speaks the protocol until it is stopped or the server has gone."""
        try:
            import asyncio

            asyncio.run(self._speak())
        except BaseException as error:
            self._problem = self._problem or self.hidden(_first(error))
        finally:
            if self._client is None and not self._problem:
                self._problem = "it has ended"
            self._ready.set()

    async def _speak(self) -> None:
        import asyncio

        import anyio
        from mcp import ClientSession

        self._loop = asyncio.get_running_loop()
        self._stop = stop = asyncio.Event()
        async with (
            self._streams(stop) as (heard, said),
            anyio.create_task_group() as group,
            ClientSession(heard, said) as client,
        ):
            group.start_soon(_when_gone, stop, group)
            await client.initialize()
            self._client = client
            self._ready.set()
            await stop.wait()

    def _streams(self, stop: Any) -> Any:
        if self._child is None:
            from gateway.mcp.http import over_http

            return over_http(self._declared["url"], self._headers, self.seconds)
        from gateway.mcp.streams import over_pipes

        return over_pipes(self._child.into, self._child.out, stop)

    def close(self) -> None:
        """Ends the server with all its processes. It may be closed again."""
        if self._loop is not None and self._stop is not None:
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:
                self._stop = None  # the loop has ended already
        if self._child is not None:
            self._child.close()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)


def _first(error: BaseException) -> str:
    """What went wrong, of several things at once the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
