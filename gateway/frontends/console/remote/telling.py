"""People elsewhere are told of a question that waits, by everything that the setting names; each way by itself, so that
none waits for another, and tried again while the question waits."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from gateway.audit.redact import Redactor
from gateway.calls.outgoing import RequestError
from gateway.core.cache import replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.frontends.console.remote import notices, push, secrets
from gateway.frontends.console.remote.private_files import read_private
from gateway.frontends.console.remote.sending import send

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.frontends.console.question_queue import Waiting
    from gateway.frontends.console.remote.notices import Notice, Sent
    from gateway.frontends.console.remote.people import People

    Make = Callable[[int], Sent]

PAUSES = (0.0, 1.0, 5.0, 20.0)  # before each try, in seconds
KEY = "push-key"
_GONE = (404, 410)


class Way(Value):
    """One way to tell. `entry`: as the setting has it; `name`: as people read it."""

    name: str
    entry: Mapping[str, Any]
    secret: str = ""


class Telling:
    """Tells. All of it runs in one event loop, requests beside it."""

    def __init__(
        self,
        folder: str,
        setting: Mapping[str, Any],
        people: People,
        *,
        waits: Callable[[str], bool],
        failed: Callable[[str], None],
    ) -> None:
        """`folder`: where secrets lie. `waits`: whether a question of a name still does; `failed`: told, in words, of
        what could not be told. Raises ConfigError for a secret that is missing or none."""
        self._origin = setting["origin"]
        self._people = people
        self._waits = waits
        self._failed = failed
        self._redactor = Redactor()
        self._ways = [_way(folder, entry) for entry in setting.get("notify", ())]
        self._pem = _push_key(folder) if any(each.entry["kind"] == "push" for each in self._ways) else ""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def push_key(self) -> str:
        """The key that browsers ask to be told with, "" where none are."""
        return push.public_key(self._pem) if self._pem else ""

    def tell(self, waiting: Waiting) -> None:
        """Begins to tell of a question."""
        for way in self._ways:
            notice = self._notice(waiting, way)
            if way.entry["kind"] == "push":
                for browser in [each for person in self._people.all() for each in person.browsers]:
                    told = {"id": notice.id}  # the page says the rest, to whoever is signed in
                    make = partial(push.message, self._pem, browser, told, self._origin)
                    self._begin(waiting, "a browser", make, "push", browser.endpoint)
            else:
                self._begin(waiting, way.name, partial(_made, way, notice), way.entry["kind"], "")

    async def close(self) -> None:
        """Ends: nobody is told any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _notice(self, waiting: Waiting, way: Way) -> Notice:
        until = int(time.time() + waiting.until - time.monotonic())
        says = way.entry["says"] == "call"
        shown = {**waiting.shown, "call": waiting.shown["brief"]}
        return notices.notice_of(shown, self._origin, until, self._clean, says_call=says)

    def _clean(self, text: str) -> str:
        return self._redactor.text(text)[0]

    def _begin(self, waiting: Waiting, name: str, make: Make, kind: str, endpoint: str) -> None:
        task = asyncio.ensure_future(self._until_told(waiting.id, name, make, kind, endpoint))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _until_told(self, question: str, name: str, make: Make, kind: str, endpoint: str) -> None:
        problem = ""
        for pause in PAUSES:
            await asyncio.sleep(pause)
            if not self._waits(question):
                return
            try:
                reply = await asyncio.to_thread(send, make(int(time.time())), lambda: not self._waits(question))
            except (RequestError, ValueError) as error:
                problem = str(error)
                continue
            if kind == "push" and reply.status in _GONE:
                self._people.drop_browser(endpoint)
                return
            problem = notices.failure(kind, reply.status, reply.body)
            if not problem:
                return
        self._failed(f"{name} could not be told of a question: {problem}")


def _way(folder: str, entry: Mapping[str, Any]) -> Way:
    secret = secrets.read(folder, entry["secret"]) if entry["secret"] else ""
    if entry["kind"] == "webhook":
        try:
            notices.signature("", 0, b"", secret)
        except ValueError as error:
            raise ConfigError(Problem(f"the secret `{entry['secret']}`: {error}")) from error
    host = entry["url"].split("/")[2] if entry["url"] else ""
    return Way(f"{entry['kind']} at {host}" if host else entry["kind"], entry, secret)


def _made(way: Way, notice: Notice, now: int) -> Sent:
    kind = way.entry["kind"]
    if kind == "webhook":
        return notices.webhook(way.entry, notice, way.secret, now)
    clock = time.strftime("%H:%M", time.localtime(notice.until))
    made = notices.ntfy if kind == "ntfy" else notices.slack
    return made(way.entry, notice, way.secret, clock)


def _push_key(folder: str) -> str:
    """This console's pair, made when it is first needed: browsers that asked to be told know it."""
    name = os.path.join(folder, KEY)
    try:
        found = read_private(name, 4096).decode("ascii")
        push.public_key(found)
    except (OSError, ValueError):
        found = push.new_key()
        replace_whole(name, found.encode("ascii"))
    return found
