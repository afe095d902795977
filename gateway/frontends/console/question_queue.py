"""The questions that wait for a person: who asks comes over a Unix socket, who answers by a page.

A question stands here as it was sent, with the digest of all of it. An answer counts once, for that digest, from a page
that has shown the question for a moment; whoever asked says whether it came first. Nothing here answers by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
from time import monotonic

from gateway.approval.page_wire import ELSEWHERE, MOST_BYTES, PAGE, REAL, digest_of, is_private, line_of, message_of
from gateway.core.errors import ConfigError, Problem
from gateway.core.peers import peer_of
from gateway.core.places import DESK
from gateway.core.value import Value
from gateway.model.grant import ALWAYS, ONCE, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_WAITING = 32
# What pops up under a pointer is not answered by a click that was meant for something else.
SHOWN_SECONDS = 0.5
_TAKING_SECONDS = 5.0
LONGEST_NOTE = 2_000
# What a page may answer: whether it allows, and the scope.
CHOICES = {
    "once": (True, ONCE),
    "session": (True, SESSION),
    "always": (True, ALWAYS),
    "real": (True, REAL),
    "no": (False, ONCE),
    "no-session": (False, SESSION),
}


class Waiting(Value):
    """A question: what is shown of it, its digest, the process that asks, and when it came and ends (by a clock that
    never goes back)."""

    id: str
    digest: str
    shown: dict[str, Any]
    pid: int
    came: float
    until: float

    def at(self, where: str) -> bool:
        """Whether it may be answered there."""
        return where in self.shown["at"]

    def choices(self) -> tuple[str, ...]:
        """What may be answered, in the terminal's order."""
        may = self.shown["may"]
        if "answers" in self.shown:  # not whether a call runs: only what it says may be answered
            return tuple(
                name
                for name, (_allow, scope) in CHOICES.items()
                if name in self.shown["answers"] and (name == "no" or scope in may)
            )
        return tuple(name for name, (allow, scope) in CHOICES.items() if scope in may or (not allow and scope == ONCE))


class Told(Value):
    """What became of an answer: a status of HTTP, and words for the person."""

    status: int
    text: str


class Desk:
    """The questions of one console. All of it runs in one event loop."""

    def __init__(
        self,
        folder: str,
        *,
        pages: Callable[[], int],
        changed: Callable[[], None],
        elsewhere: Callable[[], bool] = lambda: False,
        came: Callable[[Waiting], None] = lambda _waiting: None,
    ) -> None:
        """`folder`: where the socket lies, made if it is missing. `pages`: how many pages that may answer are open;
        `elsewhere`: whether somebody elsewhere can be told. `changed` is called when a question came or went, `came`
        with one that may be answered elsewhere."""
        self._folder = folder
        self._pages = pages
        self._elsewhere = elsewhere
        self._changed = changed
        self._came = came
        self._agreed: dict[str, list[str]] = {}
        self._waiting: dict[str, Waiting] = {}
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._taken: dict[str, asyncio.Future[bool]] = {}
        self._seen: dict[tuple[str, str], float] = {}
        self._lock = -1
        self._server: asyncio.Server | None = None

    def claim(self) -> None:
        """Takes the folder for this console, one at a time. Raises ConfigError where another has it, or others can
        write it."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigError(Problem(f"cannot be made: {error.strerror}", file=self._folder)) from error
        if not is_private(self._folder):
            remedy = "it must be a folder of yours that nobody else can open: `chmod 700`"
            raise ConfigError(Problem("is not private", file=self._folder, remedy=remedy))
        self._lock = os.open(f"{self._folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            remedy = "press Enter in the terminal where it runs to open it once more, or end it there with Ctrl-C"
            raise ConfigError(Problem("a console runs already", remedy=remedy)) from error

    async def start(self) -> None:
        """Begins to listen."""
        held = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            base = f"/proc/self/fd/{held}" if os.path.isdir("/proc/self/fd") else self._folder
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{base}/{DESK}")  # of a console that was killed: the lock is ours
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listening.bind(f"{base}/{DESK}")
            os.chmod(f"{base}/{DESK}", 0o600)
        finally:
            os.close(held)
        self._server = await asyncio.start_unix_server(self._asked, sock=listening, limit=MOST_BYTES)

    async def close(self) -> None:
        """Ends: every question is withdrawn unanswered."""
        for future in self._answers.values():
            future.cancel()
        if self._server is not None:
            self._server.close()
        if self._lock >= 0:
            with contextlib.suppress(OSError):
                os.unlink(f"{self._folder}/{DESK}")
            os.close(self._lock)
            self._lock = -1

    def waiting(self) -> list[Waiting]:
        """What waits, the oldest first."""
        return sorted(self._waiting.values(), key=lambda each: each.came)

    def find(self, name: str) -> Waiting | None:
        """The one of this name, while it waits."""
        return self._waiting.get(name)

    def agreed(self, name: str) -> tuple[str, ...]:
        """Who has said yes so far, where more than one must."""
        return tuple(self._agreed.get(name, ()))

    def withdraw(self, person: str) -> None:
        """Takes back what somebody has agreed to who may answer no longer."""
        for agreed in self._agreed.values():
            if person in agreed:
                agreed.remove(person)
        self._changed()

    def show(self, page: str, where: str = PAGE) -> list[Waiting]:
        """What may be answered there, as it is now shown on a page."""
        found = [each for each in self.waiting() if each.at(where) or where == PAGE]
        for each in found:
            self._seen.setdefault((each.id, page), monotonic())
        return found

    def refusal(self, page: str, given: dict[str, Any], where: str = PAGE) -> Told | None:
        """Why something is no answer to a question that waits, from a page there; None for one that is."""
        name, note = given.get("id"), given.get("note", "")
        waiting = self._waiting.get(name) if isinstance(name, str) else None
        if waiting is None or (where != PAGE and not waiting.at(where)):
            return Told(404, "Nothing waits under that name any more: it was answered, withdrawn, or its time is over.")
        if not waiting.at(where):
            return Told(409, "Policy wants this to be answered from elsewhere, by others.")
        if given.get("digest") != waiting.digest:
            return Told(409, "That was an answer to another question than the one that waits.")
        choice = given.get("answer")
        if choice not in waiting.choices() or not isinstance(note, str) or len(note) > LONGEST_NOTE:
            return Told(400, "That is none of the answers to this question.")
        shown = self._seen.get((waiting.id, page))
        if shown is None or monotonic() - shown < SHOWN_SECONDS:
            return Told(425, "That came too soon after the question was shown: nothing was answered.")
        if self._answers[waiting.id].done() or monotonic() >= waiting.until:
            return Told(409, "It was answered already.")
        return None

    async def answer(self, page: str, given: dict[str, Any], person: str = "") -> Told:
        """An answer from a page: `id`, `digest`, `answer` (one of `CHOICES`) and, of a no, `note`. `person`: who gives
        it from elsewhere, "" for this account's own at a page here."""
        refused = self.refusal(page, given, ELSEWHERE if person else PAGE)
        if refused is not None:
            return refused
        waiting = self._waiting[given["id"]]
        allow, scope = CHOICES[given["answer"]]
        people = [person] if person else []
        if person and allow:
            refused = self._agrees(waiting, person)
            if refused is not None:
                return refused
            people = self._agreed[waiting.id]
        taken = self._taken[waiting.id] = asyncio.get_running_loop().create_future()
        note = "" if allow else given.get("note", "")
        said = {"id": waiting.id, "digest": waiting.digest, "allow": allow, "scope": scope, "note": note}
        self._answers[waiting.id].set_result({**said, "people": people})
        try:
            came_first = await asyncio.wait_for(taken, _TAKING_SECONDS)
        except (TimeoutError, asyncio.CancelledError):
            return Told(409, "Whoever asked is gone.")
        return Told(200, "Answered.") if came_first else Told(409, "It was answered elsewhere first.")

    def _agrees(self, waiting: Waiting, person: str) -> Told | None:
        """Counts somebody's yes; what to say where that is none, or not the last one that is needed."""
        if person == waiting.shown["not_by"]:
            return Told(403, "Policy wants others than the one whose account asks to agree.")
        agreed = self._agreed.setdefault(waiting.id, [])
        if person in agreed:
            return Told(409, "You have agreed already: somebody else must, too.")
        agreed.append(person)
        missing = waiting.shown["people"] - len(agreed)
        if missing <= 0:
            return None
        self._changed()
        return Told(202, f"Your yes counts. {missing} more must agree.")

    async def _asked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting = None
        try:
            waiting = await self._come(reader, writer)
            if waiting is not None:
                await self._until_answered(waiting, reader, writer)
        except (OSError, ValueError, asyncio.CancelledError):
            pass  # whoever asked is gone, or said what is none
        finally:
            if waiting is not None:
                self._forget(waiting.id)
            writer.close()

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Waiting | None:
        """A question that is to be shown; None for one that cannot be."""
        uid, pid = peer_of(writer.get_extra_info("socket"))
        message = message_of(await asyncio.wait_for(reader.readline(), _TAKING_SECONDS))
        shown: Any = message.get("question") if message is not None else None
        where = message.get("there") if message is not None else None
        if isinstance(where, list):  # no question yet
            writer.write(line_of({"shown": uid == os.geteuid() and self._is_shown(where)}))
            await writer.drain()
            return None
        can = (
            uid == os.geteuid()
            and len(self._waiting) < MOST_WAITING
            and _is_question(shown)
            and shown["id"] not in self._waiting
            and self._is_shown(shown["at"])
        )
        writer.write(line_of({"shown": can}))
        await writer.drain()
        if not can:
            return None
        now = monotonic()
        waiting = Waiting(
            shown["id"], digest_of(shown), shown=shown, pid=pid, came=now, until=now + float(shown["seconds"])
        )
        self._waiting[waiting.id] = waiting
        self._answers[waiting.id] = asyncio.get_running_loop().create_future()
        self._changed()
        if waiting.at(ELSEWHERE):
            self._came(waiting)
        return waiting

    def _is_shown(self, at: list[str]) -> bool:
        return (PAGE in at and self._pages() > 0) or (ELSEWHERE in at and self._elsewhere())

    async def _until_answered(
        self, waiting: Waiting, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Until there is an answer that was handed on, or whoever asked is gone."""
        answer = self._answers[waiting.id]
        line = asyncio.ensure_future(reader.readline())
        try:
            await asyncio.wait((line, answer), timeout=waiting.until - monotonic(), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() or answer.cancelled() or line.done():
                return
            writer.write(line_of({"answer": answer.result()}))
            await writer.drain()
            said = message_of(await asyncio.wait_for(asyncio.shield(line), _TAKING_SECONDS))
            taken = self._taken[waiting.id]
            if not taken.done():
                taken.set_result(said is not None and said.get("taken") is True)
        finally:
            line.cancel()

    def _forget(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._agreed.pop(name, None)
        answer = self._answers.pop(name, None)
        if answer is not None:
            answer.cancel()
        taken = self._taken.pop(name, None)
        if taken is not None and not taken.done():
            taken.set_result(False)
        self._seen = {key: at for key, at in self._seen.items() if key[0] != name}
        self._changed()


def _is_question(shown: Any) -> bool:
    """Whether all that is shown has the form that pages expect."""
    if not isinstance(shown, dict):
        return False
    texts = ("id", "tool", "call", "text", "cwd", "always", "file", "later", "head", "brief", "not_by")
    may, seconds, at = shown.get("may"), shown.get("seconds"), shown.get("at")
    return (
        all(isinstance(shown.get(name), str) for name in texts)
        and 0 < len(shown["id"]) <= 64
        and isinstance(may, list)
        and all(isinstance(each, str) for each in may)
        and isinstance(at, list)
        and isinstance(shown.get("answers", {}), dict)
        and at in ([PAGE], [ELSEWHERE], [PAGE, ELSEWHERE])
        and type(shown.get("people")) is int
        and 1 <= shown["people"] <= 9
        and isinstance(seconds, (int, float))
        and 0 < seconds <= 3600
        and all(isinstance(shown.get(name), list) for name in ("marks", "asked", "plan"))
    )
