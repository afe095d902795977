"""The language servers that run: one of each name for each session, started when it is first needed, again after it has
ended, and not again and again."""

from __future__ import annotations

import threading
from collections import deque
from time import monotonic

from gateway.calls.output import Failure
from gateway.core.errors import GatewayError
from gateway.lsp.edits import Edit
from gateway.lsp.file_types import server_for
from gateway.lsp.server import BrokenError, LanguageServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.calls.ports import Starts
    from gateway.calls.session import Session
    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel

SETTING = "language_servers"
# A server that has ended, or did not work, so many times within so many seconds is left alone until they are over.
MOST_ENDS, WITHIN_SECONDS = 4, 600.0
_LOOK_EVERY = 0.05


class _Place:
    """Where one server of one session is, if it runs. The lock is held while it is judged and started. `judged`: the
    circumstances that it was judged in."""

    __slots__ = ("ends", "judged", "lock", "server", "why")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: LanguageServer | None = None
        self.judged: tuple[str, ...] = ()
        self.ends: deque[float] = deque(maxlen=MOST_ENDS)
        self.why = ""


class Languages:
    """The language servers of one gateway. Safe to use from several threads."""

    def __init__(self, services: Starts) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._places: dict[Session, dict[str, _Place]] = {}

    def get(self, path: str, session: Session, cancel: Cancel) -> LanguageServer:
        """The server for a file of this name, started if it does not run, or runs in other circumstances than those of
        now: another mode, other rules. Raises Failure."""
        known = self._known()
        name = server_for(path, known)
        if not name:
            raise Failure(f"No language server serves `{_kind(path)}`.", _offered(known))
        place = self._place(session, name)
        while not place.lock.acquire(timeout=_LOOK_EVERY):
            if cancel.is_set:
                raise Failure(f"Language server `{name}` gave no answer: the call was cancelled.")
        try:
            return self._started(name, known[name], place, session, cancel)
        finally:
            place.lock.release()

    def _started(
        self, name: str, declared: Mapping[str, Any], place: _Place, session: Session, cancel: Cancel
    ) -> LanguageServer:
        judged = self._circumstances(session)
        if place.server is not None:
            if place.server.is_alive and place.judged == judged:
                return place.server
            if not place.server.is_alive and not place.server.was_closed:
                self._ended(place, place.server.why())
            place.server.close()
            place.server = None
        if len(place.ends) == MOST_ENDS and monotonic() - place.ends[0] < WITHIN_SECONDS:
            minutes = WITHIN_SECONDS / 60
            raise Failure(
                f"Language server `{name}` has ended {MOST_ENDS} times within {minutes:g} minutes, and is not started "
                f"again before they are over. The last time: {place.why.rstrip('.')}."
            )
        context = session.context
        made = LanguageServer(name, declared)
        try:
            made.start(self._services, session, cancel, context.replace(cwd=context.root or context.cwd))
        except BrokenError as error:
            if not cancel.is_set:
                self._ended(place, error.message)
            raise
        except GatewayError as error:
            made.close()
            if isinstance(error, Failure):
                raise
            raise Failure(f"{made.title} cannot be started: {error}.") from error
        except BaseException:
            made.close()
            raise
        place.server, place.judged = made, judged
        return made

    @staticmethod
    def _ended(place: _Place, why: str) -> None:
        place.ends.append(monotonic())
        place.why = why

    def _known(self) -> Mapping[str, Mapping[str, Any]]:
        setting = self._services.judge.loaded.settings.get(SETTING)
        return {} if setting is None else setting.value

    def _circumstances(self, session: Session) -> tuple[str, ...]:
        """What a command of the session is judged by, beside itself."""
        context, judge = session.context, self._services.planner.judge
        revision = judge.loaded_with(context.rules).policy.revision
        return context.mode, context.agent, str(context.depth), context.root, revision

    def _place(self, session: Session, name: str) -> _Place:
        with self._lock:
            if session not in self._places:
                session.ends_with_it(lambda: self._end(session))
                self._places[session] = {}
            return self._places[session].setdefault(name, _Place())

    def at_work(self, session: Session) -> tuple[LanguageServer, ...]:
        """The session's servers that can be asked now; nothing is started."""
        with self._lock:
            places = tuple(self._places.get(session, {}).values())
        found = [each.server for each in places]
        return tuple(each for each in found if each is not None and each.is_alive)

    def for_file(self, path: str, session: Session) -> LanguageServer | None:
        """The server for a file of this name if it runs already, judged in the circumstances of now."""
        name = server_for(path, self._known())
        with self._lock:
            place = self._places.get(session, {}).get(name)
        if place is None or place.server is None or not place.server.is_alive:
            return None
        return place.server if place.judged == self._circumstances(session) else None

    def edit(self, work: Work) -> Edit:
        """What goes along with a call that may change files, from before it changes any."""
        return Edit(self, work)

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


def _kind(path: str) -> str:
    name = path.rpartition("/")[2]
    _, dot, ending = name.rpartition(".")
    return f"*.{ending}" if dot and ending else name


def _offered(known: Mapping[str, Mapping[str, Any]]) -> str:
    if not known:
        return "None is configured: see the setting `language_servers`."
    said = ", ".join(f"{name} ({' '.join(each['extensions'])})" for name, each in known.items())
    return f"Configured are: {said}."
