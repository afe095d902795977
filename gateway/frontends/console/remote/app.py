"""What people elsewhere reach: a page that holds nothing, and, for those who are signed in, the questions that may be
answered from there. Nothing of the record, of policies or of files stands here."""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gateway.approval.page_wire import ELSEWHERE
from gateway.frontends.console.files import AFAR_FILES, WORKER, afar_assets
from gateway.frontends.console.nodes import data
from gateway.frontends.console.pages.frame import afar_document
from gateway.frontends.console.pages.pending import elsewhere
from gateway.frontends.console.question_queue import CHOICES
from gateway.frontends.console.remote.passkeys import SIGN_IN, Passkeys
from gateway.frontends.console.remote.people import Browser
from gateway.frontends.console.remote.push import is_key, is_service
from gateway.frontends.console.remote.sign_in import COOKIE, IDLE_SECONDS, PASSKEY, SignIns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from gateway.frontends.console.question_queue import Desk
    from gateway.frontends.console.remote.people import People, Person
    from gateway.frontends.console.remote.sign_in import Session
    from gateway.frontends.console.remote.telling import Telling

    Answering = Callable[[Session, Person, dict[str, Any]], Awaitable[Response]]

ANSWER = "answer"


class Afar:
    """What is answered there."""

    def __init__(
        self, setting: Mapping[str, Any], people: People, signs: SignIns, *, desk: Desk, telling: Telling
    ) -> None:
        self._people = people
        self._signs = signs
        self._desk = desk
        self._telling = telling
        self._keys = Passkeys(setting["origin"], people, monotonic)
        self._needs_passkey = setting.get("sign_in", "code") == PASSKEY

    def app(self) -> Starlette:
        """The application, to stand behind a guard of its own."""
        routes = [Route(path, self._file, methods=["GET"]) for path in AFAR_FILES]
        routes += [
            Route("/api/begin", self._begin, methods=["POST"]),
            Route("/api/enter", self._enter, methods=["POST"]),
            Route("/api/leave", self._leave, methods=["POST"]),
            Route("/api/passkey/begin", self._for_people(self._passkey_begin), methods=["POST"]),
            Route("/api/passkey", self._for_people(self._passkey), methods=["POST"]),
            Route("/api/questions", self._questions, methods=["GET"]),
            Route("/api/answer/begin", self._for_people(self._answer_begin), methods=["POST"]),
            Route("/api/answer", self._for_people(self._answer), methods=["POST"]),
            Route("/api/push", self._for_people(self._push), methods=["POST"]),
            Route("/", self._frame, methods=["GET"]),
            Route("/q/{name}", self._frame, methods=["GET"]),
        ]
        return Starlette(routes=routes, exception_handlers={404: _nothing, 405: _nothing})

    async def _file(self, request: Request) -> Response:
        content, kind = AFAR_FILES[request.url.path]
        return Response(content, media_type=kind)

    async def _frame(self, _request: Request) -> Response:
        return HTMLResponse(afar_document(afar_assets(), WORKER))

    # ------------------------------------------------------------------------------------------------------- sign in

    async def _begin(self, request: Request) -> Response:
        _given, refused = await _json(request)
        return refused or JSONResponse(self._keys.asking(SIGN_IN))

    async def _enter(self, request: Request) -> Response:
        """By `code`, or by what a passkey signed (`ticket`, `response`)."""
        given, refused = await _json(request)
        if refused is not None:
            return refused
        if "code" in given:
            name = self._signs.by_code(given["code"]) if isinstance(given["code"], str) else None
            by = "code"
            if name is None:
                return _said(401, "That code opens nothing: it was used, is too old, or was never shown.")
        else:
            person = self._keys.used(given.get("ticket"), given.get("response"), SIGN_IN)
            if person is None:
                return _said(401, "That passkey is not known here.")
            name, by = person.name, PASSKEY
        answer = JSONResponse({"name": name})
        answer.set_cookie(
            COOKIE, self._signs.open(name, by), max_age=int(IDLE_SECONDS), path="/", secure=True, httponly=True,
            samesite="strict",
        )  # fmt: skip
        return answer

    async def _leave(self, request: Request) -> Response:
        _given, refused = await _json(request)
        if refused is not None:
            return refused
        self._signs.close(request.cookies.get(COOKIE, ""))
        return JSONResponse({})

    async def _passkey_begin(self, session: Session, person: Person, _given: dict[str, Any]) -> Response:
        if not self._signs.may_add(session):
            return _said(403, "A passkey is added soon after a code: type `code` where `gateway console` runs.")
        return JSONResponse(self._keys.making(person))

    async def _passkey(self, session: Session, person: Person, given: dict[str, Any]) -> Response:
        if not self._signs.may_add(session) or not self._keys.made(given.get("ticket"), given.get("response"), person):
            return _said(403, "This passkey was not added.")
        return JSONResponse({"text": "From now on this passkey opens the page, and each yes takes it."})

    # --------------------------------------------------------------------------------------------------- questions

    async def _questions(self, request: Request) -> Response:
        session = self._signs.session(request.cookies.get(COOKIE, ""))
        person = self._people.find(session.name) if session is not None else None
        if session is None or person is None:
            return JSONResponse({"name": ""})  # no 401: browsers would say on their console that something is wrong
        waiting = self._desk.show(session.id, ELSEWHERE)
        page = elsewhere(waiting, monotonic(), person.name, {each.id: self._desk.agreed(each.id) for each in waiting})
        return JSONResponse({
            "main": [data(each) for each in page.main],
            "title": page.title,
            "name": person.name,
            "version": [[each.id, len(self._desk.agreed(each.id))] for each in waiting],
            "signs": bool(person.passkeys) or self._needs_passkey,
            "has_passkey": bool(person.passkeys),
            "may_add": self._signs.may_add(session),
            "push": self._telling.push_key,
        })  # fmt: skip

    async def _answer_begin(self, session: Session, person: Person, given: dict[str, Any]) -> Response:
        """What a yes to this very question signs."""
        told = self._desk.refusal(session.id, given, ELSEWHERE)
        if told is not None:
            return _said(told.status, told.text)
        if not person.passkeys:
            return _said(403, "You have no passkey here: policy wants one for a yes.")
        return JSONResponse(self._keys.asking(*_bound(session, given), person=person))

    async def _answer(self, session: Session, person: Person, given: dict[str, Any]) -> Response:
        told = self._desk.refusal(session.id, given, ELSEWHERE)
        if told is not None:
            return _said(told.status, told.text)
        is_yes = CHOICES[given["answer"]][0]
        if is_yes and (person.passkeys or self._needs_passkey):
            used = self._keys.used(given.get("ticket"), given.get("response"), *_bound(session, given), person=person)
            if used is None:
                return _said(403, "A yes takes your passkey, for this very question: nothing was answered.")
        told = await self._desk.answer(session.id, given, person.name)
        return _said(told.status, told.text)

    async def _push(self, _session: Session, person: Person, given: dict[str, Any]) -> Response:
        """This browser wants to be told."""
        found = [given.get("endpoint"), given.get("key"), given.get("secret")]
        if not self._telling.push_key or not all(isinstance(each, str) and len(each) < 2000 for each in found):
            return _said(400, "That is no browser that can be told.")
        endpoint, key, secret = map(str, found)
        if not is_service(endpoint) or not is_key(key, secret):
            return _said(400, "That is at no push service that is known here.")
        self._people.add_browser(person.name, Browser(endpoint, key, secret))
        return _said(200, "This browser is told when something waits.")

    def _for_people(self, answers: Answering) -> Callable[[Request], Awaitable[Response]]:
        """Only for who is signed in, with what they send."""

        async def answer(request: Request) -> Response:
            session = self._signs.session(request.cookies.get(COOKIE, ""))
            person = self._people.find(session.name) if session is not None else None
            if session is None or person is None:
                return _said(401, "Sign in first.")
            given, refused = await _json(request)
            return refused or await answers(session, person, given)

        return answer


def _bound(session: Session, given: Mapping[str, Any]) -> tuple[str, ...]:
    """What a yes is for: whoever signs this signs nothing else."""
    return (ANSWER, session.id, *(str(given.get(name, "")) for name in ("id", "digest", "answer")))


async def _json(request: Request) -> tuple[dict[str, Any], Response | None]:
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        given = None
    return (given, None) if isinstance(given, dict) else ({}, _said(400, "this is no JSON object"))


def _said(status: int, text: str) -> Response:
    return JSONResponse({"text": text}, status)


async def _nothing(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("there is nothing here\n", 404)
