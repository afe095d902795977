"""The person at a page of the console is asked, beside the terminal where there is one: the first answer counts."""

from __future__ import annotations

import copy
import math
import os
import secrets
import socket
import threading
from time import monotonic

from gateway.approval.base import Answer, Decided, Question, no
from gateway.approval.digests import call_digest, effects_digest
from gateway.approval.page_wire import (
    ELSEWHERE,
    MOST_BYTES,
    PAGE,
    REAL,
    digest_of,
    is_console,
    is_private,
    line_of,
    message_of,
)
from gateway.approval.terminal import SECONDS, user
from gateway.core.cache import digest
from gateway.core.peers import peer_of
from gateway.core.places import DESK
from gateway.model.grant import ALWAYS, ONCE, SCOPES, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.approval.base import Approver, Dialled, Review

DIAL_SECONDS = 60.0  # that a call stands still for the question whether it may connect
_LOOK_EVERY = 0.2
_PATIENCE = 5.0  # for a console to say whether a page is there


class First:
    """The first answer of several who are asked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.answer: Answer | None = None

    def take(self, answer: Answer) -> bool:
        """Whether this one is the first."""
        with self._lock:
            if self.answer is not None:
                return False
            self.answer = answer
            return True


class Page:
    """A page of the console of this user, if one is open. `at`: where it may be answered, there or elsewhere."""

    name = "console"
    at: tuple[str, ...] = (PAGE,)

    def __init__(
        self,
        show: Callable[[Question], dict[str, Any]],
        folder: str,
        *,
        seconds: float = SECONDS,
        knows: Callable[[int], bool] = is_console,
        dialled: Callable[[Dialled], dict[str, Any]] | None = None,
        review: Callable[[Review], dict[str, Any]] | None = None,
        until: float = math.inf,
        silence_is_no: bool = True,
    ) -> None:
        """`show` makes what the page shows of a question. `folder`: where the console listens. `knows`: whether a
        process is the console; nobody else's answer counts. `dialled` and `review` make what the page shows of a
        connection, and of what a call has changed; without them nobody is asked about those there. `until`: by the
        monotonic clock, when no question stands any longer, however long it would. `silence_is_no`: else who says
        nothing leaves it to whoever is asked next."""
        self._until = until
        self._silence_is_no = silence_is_no
        self._shows_review = review
        self._shows_dialled = dialled
        self._show = show
        self._folder = folder
        self._seconds = seconds
        self._knows = knows

    def ask(self, question: Question) -> Answer | None:
        """The person's answer; None where no page is open."""
        asked = self.begin(question)
        if asked is None:
            return None
        first = First()
        asked.wait(first, question.cancelled, silence=self._silence_is_no)
        return first.answer

    @property
    def dials(self) -> bool:
        """Whether a page is there that can be asked while a call runs."""
        return self._shows_dialled is not None and self.is_there()

    def dialled(self, question: Dialled) -> Answer | None:
        """Whether a call that runs, and stands still meanwhile, may connect; None where no page is open."""
        if self._shows_dialled is None or question.cancelled():
            return None
        asked = self._begin(Question(question.verdict, None), self._shows_dialled(question), DIAL_SECONDS)
        if asked is None:
            return None
        first = First()
        with question.still():
            asked.wait(first, question.cancelled)
        return first.answer

    @property
    def reviews(self) -> bool:
        """Whether a page is there that can be asked what becomes of what a call has changed."""
        return self._shows_review is not None and self.is_there()

    def review(self, review: Review) -> Decided | None:
        """What becomes of what a call has changed; None where no page is open, and for silence: then it stays a
        draft."""
        if self._shows_review is None or review.cancelled():
            return None
        conflict = bool(review.found.missed)
        may = (ONCE, SESSION) if review.session and not conflict else (ONCE,)
        may = (*(may if review.found.changes else ()), *((REAL,) if review.real else ()))
        question = Question(review.verdict, None, may)
        asked = self._begin(question, self._shows_review(review), self._seconds)
        if asked is None:
            return None
        first = First()
        asked.wait(first, review.cancelled, silence=False)
        found = first.answer
        if found is None:
            return None
        if found.allow and found.scope == REAL:
            return Decided(False, found.by, real=True)
        again = found.allow and found.scope == SESSION
        return Decided(found.allow, found.by, rest=found.allow and conflict, session=again, note=found.note)

    def is_there(self) -> bool:
        """Whether somebody is there who could be asked now."""
        connection = self._connected() if is_private(self._folder) else None
        if connection is None:
            return False
        asked = Asked(connection, None, {"id": ""}, _PATIENCE)
        try:
            return asked.begin(line_of({"there": list(self.at)}))
        finally:
            asked.close()

    def begin(self, question: Question) -> Asked | None:
        """Shows the question; None where no page is there to show it."""
        seconds = min(question.seconds or self._seconds, self._until - monotonic())
        return self._begin(question, self._show(question), seconds) if seconds > 0 else None

    def _begin(self, question: Question, shows: Mapping[str, Any], seconds: float) -> Asked | None:
        shown = {
            **shows,
            "id": secrets.token_hex(16),
            "may": list(question.may),
            "always": question.always,
            "bound": [
                call_digest(question.verdict),
                effects_digest(question.verdict),
                digest([repr(question.plan)]),
            ],
            "seconds": seconds,
            "at": list(self.at),
            "people": question.people,
            "not_by": question.not_by,
        }
        message = line_of({"question": shown})
        if len(message) > MOST_BYTES or not is_private(self._folder):
            return None
        connection = self._connected()
        if connection is None:
            return None
        asked = Asked(connection, question, shown, seconds)
        if asked.begin(message):
            return asked
        asked.close()
        return None

    def also_at(self, where: str) -> Page:
        """The same, to be answered there as well."""
        found = copy.copy(self)
        found.at = (*self.at, where)
        return found

    def _connected(self) -> socket.socket | None:
        """A connection to the console, None where there is none, or something else listens in its place."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_PATIENCE)
        held = -1
        try:
            # By the folder that was opened: names of sockets are short.
            held = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
            base = f"/proc/self/fd/{held}" if os.path.isdir("/proc/self/fd") else self._folder
            connection.connect(f"{base}/{DESK}")
            uid, pid = peer_of(connection)
            if uid == os.geteuid() and self._knows(pid):
                return connection
        except OSError:
            pass
        finally:
            if held >= 0:
                os.close(held)
        connection.close()
        return None


class Asked:
    """A question that stands on the page, until it is answered or withdrawn."""

    def __init__(
        self, connection: socket.socket, question: Question | None, shown: dict[str, Any], seconds: float
    ) -> None:
        self._connection = connection
        self._question = question
        self._id = shown["id"]
        self._digest = digest_of(shown)
        self._end = monotonic() + seconds
        self._rest = b""

    def begin(self, message: bytes) -> bool:
        """Whether a page shows it."""
        try:
            self._connection.sendall(message)
            said = self._next(lambda: False, monotonic() + _PATIENCE)
        except OSError:
            return False
        return said is not None and said.get("shown") is True

    def wait(self, first: First, ended: Callable[[], bool], *, silence: bool = True) -> None:
        """Waits for the page's answer and takes it if it is the first. `silence`: whether none is no. Never raises."""
        try:
            said = self._next(lambda: ended() or first.answer is not None, self._end)
            if said is not None:
                answer = self._understood(said.get("answer"))
                self._connection.sendall(line_of({"taken": answer is not None and first.take(answer)}))
            elif silence and monotonic() >= self._end:
                first.take(no(self._by(), "no answer came"))
        except OSError:
            pass  # the console is gone: whoever else is asked may still answer
        finally:
            self.close()

    def close(self) -> None:
        """Withdraws the question."""
        self._connection.close()

    def _next(self, ended: Callable[[], bool], until: float) -> dict[str, Any] | None:
        """The next message; None for anything that is none, at the end of the connection or of the time."""
        while b"\n" not in self._rest:
            left = until - monotonic()
            if left <= 0 or ended() or len(self._rest) > MOST_BYTES:
                return None
            self._connection.settimeout(min(left, _LOOK_EVERY))
            try:
                data = self._connection.recv(1 << 16)
            except TimeoutError:
                continue
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return message_of(line + b"\n")

    def _understood(self, said: Any) -> Answer | None:
        """The answer, if it is one to this very question as it was shown."""
        question = self._question
        if question is None or not isinstance(said, dict):
            return None
        if said.get("id") != self._id or said.get("digest") != self._digest:
            return None
        allow, scope, note = said.get("allow"), said.get("scope"), said.get("note", "")
        people = said.get("people", [])
        known = (*SCOPES, *(each for each in question.may if each == REAL))
        if not isinstance(allow, bool) or scope not in known or not isinstance(note, str):
            return None
        if not isinstance(people, list) or not all(isinstance(each, str) and each for each in people):
            return None
        by = self._by(people)
        if not allow:
            return no(by, note, scope=scope)
        if question.needs_others and not self._are_enough(question, people):
            return None
        return Answer(True, scope, by, question.always if scope == ALWAYS else "")

    @staticmethod
    def _are_enough(question: Question, people: list[str]) -> bool:
        """Whether as many different people agreed as policy wants, and none who may not."""
        return len(set(people)) >= question.people and question.not_by not in people

    def _by(self, people: Sequence[str] = ()) -> str:
        return f"{' and '.join(people)}, from elsewhere" if people else f"{user()} at the console's page"


class Remote(Page):
    """People who answer from elsewhere, through the console of this user, if it is set up for that
    (`gateway.frontends.console.remote`)."""

    name = "remote"
    at = (ELSEWHERE,)
    counts_people = True

    def beside(self, here: Approver) -> Approver:
        """The same question here and there at once."""
        if isinstance(here, Beside):
            return here.also_at(ELSEWHERE)
        if isinstance(here, Page):
            return here.also_at(ELSEWHERE)
        return Beside(here, self)


class Beside:
    """The same question at the terminal and on the page. Whoever answers first has answered; the other is told."""

    name = "console"

    def __init__(
        self, terminal: Approver, page: Page, *, said: Callable[[Answer], None] = lambda _answer: None
    ) -> None:
        """`said` tells the terminal of an answer that came from the page."""
        self._terminal = terminal
        self._page = page
        self._said = said

    def also_at(self, where: str) -> Beside:
        """The same, to be answered there as well."""
        return Beside(self._terminal, self._page.also_at(where), said=self._said)

    @property
    def reviews(self) -> bool:
        """Whether the terminal, or a page, can be asked when a call has ended."""
        return bool(getattr(self._terminal, "reviews", False)) or self._page.reviews

    @property
    def dials(self) -> bool:
        """Whether the terminal, or a page, can be asked while a call runs."""
        return bool(getattr(self._terminal, "dials", False)) or self._page.dials

    def dialled(self, question: Dialled) -> Answer | None:
        """What the person at the terminal says of a connection of a call that runs; where none is there, at a page."""
        terminal: Any = self._terminal
        found: Answer | None = terminal.dialled(question) if getattr(terminal, "dials", False) else None
        return self._page.dialled(question) if found is None else found

    def review(self, review: Review) -> Decided | None:
        """What the person at the terminal decides about what a call has changed; where none is there, at a page."""
        terminal: Any = self._terminal
        if getattr(terminal, "reviews", False):
            found: Decided | None = terminal.review(review)
            return found
        return self._page.review(review)

    def ask(self, question: Question) -> Answer | None:
        """The first answer; None where neither is there."""
        asked = self._page.begin(question)
        if asked is None:
            return self._terminal.ask(question)
        first = First()
        waiting = threading.Thread(target=asked.wait, args=(first, question.cancelled), daemon=True)
        waiting.start()
        both = question.replace(cancelled=lambda: question.cancelled() or first.answer is not None)
        try:
            found = self._terminal.ask(both)
        except BaseException:
            first.take(no(user(), "the terminal is gone"))
            waiting.join()
            raise
        is_the_terminals = found is not None and first.take(found)
        waiting.join()  # at once, when the terminal has answered; else the page is all there is
        if first.answer is not None and not is_the_terminals:
            self._said(first.answer)
        return first.answer
