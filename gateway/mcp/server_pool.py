"""MCP servers that policy configures. Each is started when it is first needed, as a command that is judged, recorded
and confined like one of Bash, or asked where it is; and ends with what serves the calls.

They are spoken to as those behind the proxy are (`gateway.mcp.blocking`): in their own era, with what they said of
their tools pinned. What a session's model gets of them is `gateway.mcp.tool_catalogue`.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from time import monotonic

from gateway.calls.output import Failure
from gateway.core.errors import ConfigError
from gateway.mcp.blocking import Server, Talking
from gateway.mcp.pins import Pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.calls.ports import Serves
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel

SETTING = "servers"
# A server that ends is started again at once, then after 1 s, 2 s, 4 s …; one that has worked this long is new again.
LONGEST_PAUSE = 300.0
STEADY_SECONDS = 60.0
_LOOK_EVERY = 0.1


class _Place:
    """Where one server of one session is, if it runs. The lock is held while it is judged and started."""

    __slots__ = ("failures", "is_over", "leaving", "lock", "not_before", "server", "why")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: Server | None = None
        self.leaving: list[Server] = []  # those that only finish what they are used for
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

    def retire(self) -> None:
        """Its server serves nobody any more. Called with the lock held."""
        server, self.server = self.server, None
        if server is not None:
            self.leaving = [each for each in (*self.leaving, server) if not each.was_closed]
            server.retire()


class Servers:
    """The running servers of one gateway. Safe to use from several threads.

    Each session has servers of its own, and for each mode that it is in. What one may do was judged for exactly that,
    with the session's rules, agent and depth; where these or the policy have become others it is judged anew, and if it
    would not be started as it was, it serves nobody any more.
    """

    def __init__(self, services: Serves) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._places: dict[Session, dict[tuple[str, str], _Place]] = {}
        self._thread = Talking()
        self._judging = threading.Lock()  # held by who looks them over, so that who does so next finds it done
        self._looking: threading.Thread | None = None

    def declared(self) -> Mapping[str, Mapping[str, Any]]:
        """What policy says of them by name, as it stands for the next call. Raises ConfigError."""
        setting = self._services.planner.judge.loaded.settings.get(SETTING)
        found: Mapping[str, Mapping[str, Any]] = {} if setting is None else setting.value
        return found

    def running(self, name: str, session: Session, declared: Mapping[str, Any] | None = None) -> Server | None:
        """The server, if it runs for this session in its mode, as it is `declared`, and is fit to."""
        mode = session.context.mode
        server = self._place(session, mode, name).server
        if server is None or not server.is_alive or (declared is not None and server.declared != declared):
            return None
        with suppress(ConfigError):  # while the policy is broken nothing is called, and nothing ends
            if not server.is_fit(self._services, session, mode):
                return None
        return server

    def look_over(self, session: Session) -> None:
        """Has the servers of a session that are not fit to run any more serve nobody else, and end: at once, or with
        what they are used for."""
        with self._lock:
            places = dict(self._places.get(session, {}))
        with self._judging:
            self._look_over(session, places)

    def _look_over(self, session: Session, places: Mapping[tuple[str, str], _Place]) -> None:
        for (mode, _), place in places.items():
            if not place.lock.acquire(blocking=False):
                continue  # it is being judged for whoever starts it
            try:
                server = place.server
                if server is not None and server.is_alive and not server.is_fit(self._services, session, mode):
                    place.retire()
            except ConfigError:
                return  # while the policy is broken nothing is called, and nothing ends
            finally:
                place.lock.release()

    def look_over_all(self) -> None:
        """Does so for all sessions, beside whatever else is done: the policy has become another one."""
        with self._lock:
            before, sessions = self._looking, tuple(self._places)

            def look() -> None:
                if before is not None:
                    before.join()
                for each in sessions:
                    self.look_over(each)

            self._looking = threading.Thread(target=look, name="gateway-servers", daemon=True)
            self._looking.start()

    def pause(self, name: str, session: Session) -> float:
        """Seconds until it may be started again, 0 if it may be now."""
        return max(0.0, self._place(session, session.context.mode, name).not_before - monotonic())

    @contextmanager
    def lent(self, name: str, session: Session, cancel: Cancel) -> Iterator[Server]:
        """The server, started if it does not run, for as long as it is used: what the policy becomes meanwhile ends it
        afterwards. Raises Failure."""
        server = self._lent(name, session, cancel)
        try:
            yield server
        finally:
            server.give_back()

    def _lent(self, name: str, session: Session, cancel: Cancel) -> Server:
        known = self.declared()
        if name not in known:
            raise Failure(f"There is no MCP server `{name}`.", f"Configured are: {', '.join(known) or 'none'}.")
        mode = session.context.mode
        place = self._place(session, mode, name)
        while not place.lock.acquire(timeout=_LOOK_EVERY):
            if cancel.is_set:
                raise Failure(f"MCP server `{name}` gave no answer: the call was cancelled.")
        try:
            server = self._running(place, self._made(name, known[name]), session, mode, cancel)
            server.lend()  # whoever retires it holds this lock
            return server
        finally:
            place.lock.release()

    def _running(self, place: _Place, made: Server, session: Session, mode: str, cancel: Cancel) -> Server:
        """The server of a place, or this one, started. Called with the place's lock held."""
        before = place.server
        if before is not None:
            if not before.is_alive:
                why = f"MCP server `{made.name}` has ended: {before.why() or 'nobody knows why'}"
                place.ended(why, 0.0 if before.was_given_up else before.seconds_of_work())
            elif before.declared == made.declared and before.is_fit(self._services, session, mode):
                return before
            place.retire()
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
            place.retire()

    def _made(self, name: str, declared: Mapping[str, Any]) -> Server:
        judge = self._services.planner.judge
        setting = judge.loaded.settings.get("mcp")
        said = {} if setting is None else setting.value
        pins = Pins(judge.places.state) if said.get("pins", True) else None
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
                place.retire()
                leaving, place.leaving = place.leaving, []
            for server in leaving:
                server.close()

    def close(self) -> None:
        """Ends all of them. No call may be running."""
        while (looking := self._looking) is not None and looking.is_alive():
            looking.join()
        with self._lock:
            sessions = tuple(self._places)
        for each in sessions:
            self._end(each)
        self._thread.close()
