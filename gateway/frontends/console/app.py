"""Which address answers what. Everything behind the frame needs a token; what changes something needs a page's own."""

from __future__ import annotations

import asyncio
import json
from time import monotonic
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from gateway.core.errors import GatewayError
from gateway.core.places import places
from gateway.frontends.console.files import FILES, assets
from gateway.frontends.console.live import Listener, Live
from gateway.frontends.console.looks import Looks
from gateway.frontends.console.nodes import at_home, data
from gateway.frontends.console.pages import live as live_page
from gateway.frontends.console.pages.frame import document
from gateway.frontends.console.pages.parts import Page, empty, page_head
from gateway.frontends.console.pages.pending import pending
from gateway.frontends.console.tokens import PAGE, Tokens
from gateway.model.record import DECISION, OUTCOME
from gateway.policy.wording import visible

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.types import Receive

    from gateway.frontends.console.question_queue import Desk
    from gateway.frontends.console.sources import Sources

MOST_STREAMS = 5  # a browser opens six connections to one address
_BEAT = 15.0  # seconds of silence, after which a stream says that it lives


class Console:
    """What one console answers."""

    def __init__(self, sources: Sources, tokens: Tokens, desk: Desk, live: Live) -> None:
        self._tokens = tokens
        self._desk = desk
        self._live = live
        self._looks = Looks(sources)
        self._opened: Callable[[], None] = lambda: None

    def when_opened(self, does: Callable[[], None]) -> None:
        """`does` is called when a page has taken its token."""
        self._opened = does

    def app(self) -> Starlette:
        """The application, to stand behind the guard."""
        routes = [Route(path, self._file, methods=["GET"]) for path in FILES]
        routes += [
            Route("/api/session", self._session, methods=["POST"]),
            Route("/api/events", self._events, methods=["GET"]),
            Route("/api/answer", self._answer, methods=["POST"]),
            Route("/api/undo", self._undo, methods=["POST"]),
            Route("/api/try", self._try, methods=["POST"]),
            Route("/api/lint", self._lint, methods=["POST"]),
            Route("/api/preview", self._preview, methods=["POST"]),
            Route("/api/save", self._save, methods=["POST"]),
            Route("/api/reject", self._reject, methods=["POST"]),
            Route("/api/work/{name}", self._worked, methods=["GET"]),
            Route("/api/{rest:path}", self._nothing, methods=["GET", "POST"]),
            Route("/{rest:path}", self._page, methods=["GET"]),
        ]
        return Starlette(routes=routes)

    async def _file(self, request: Request) -> Response:
        content, kind = FILES[request.url.path]
        return Response(content, media_type=kind)

    async def _nothing(self, _request: Request) -> Response:
        return _refused(404, "there is nothing here")

    # ------------------------------------------------------------------------------------------------------- pages

    async def _page(self, request: Request) -> Response:
        path = request.url.path
        if "authorization" not in request.headers:
            return HTMLResponse(document(assets(), None, _current(path)))
        kind, token = self._known(request)
        if not kind:
            return _refused(401, "this token opens nothing: start `gateway console` anew")
        try:
            page = await self._made(path, dict(request.query_params), token, kind)
        except GatewayError as error:
            page = _problem(str(error))
        except Exception as error:  # a fault of ours: the console goes on, and this page says so
            page = _problem(f"The gateway met an error of its own: {type(error).__name__}.")
        if "application/json" in request.headers.get("accept", ""):
            told = {
                "title": page.title,
                "current": _current(path),
                "main": [data(each) for each in page.main],
                "waiting": len(self._desk.waiting()),
            }
            return JSONResponse(told, page.status)
        return HTMLResponse(document(assets(), page, _current(path)), page.status)

    async def _made(self, path: str, query: dict[str, str], token: str, kind: str) -> Page:
        if path in ("/", "/pending"):
            waiting = self._desk.show(token) if kind == PAGE else self._desk.waiting()
            page = pending(waiting, monotonic(), may_answer=kind == PAGE)
        else:
            page = await asyncio.to_thread(self._looks.page, path, query)
        home = places().home
        return page.replace(main=tuple([at_home(each, home) for each in page.main]))

    # --------------------------------------------------------------------------------------------------- what is done

    async def _session(self, request: Request) -> Response:
        token = self._tokens.exchange(_bearer(request))
        if token is None:
            return _refused(401, "this link was used, or is too old: press Enter where `gateway console` runs")
        self._opened()
        return JSONResponse({"token": token})

    async def _answer(self, request: Request) -> Response:
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        told = await self._desk.answer(_bearer(request), given)
        return JSONResponse({"text": told.text}, told.status)

    async def _undo(self, request: Request) -> Response:
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        try:
            status, said = await asyncio.to_thread(self._looks.undo, given.get("number"), given.get("plan"))
        except GatewayError as error:
            status, said = 409, visible(str(error).split("\n", 1)[0])
        return JSONResponse({"text": said}, status)

    async def _try(self, request: Request) -> Response:
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        text, policy = given.get("call"), given.get("policy", "")
        if not isinstance(text, str) or not isinstance(policy, str):
            return _refused(400, "a call is a text")
        found = await asyncio.to_thread(self._looks.tried, text, policy, given.get("confined") is not False)
        return JSONResponse({"main": [data(each) for each in found]})

    async def _lint(self, request: Request) -> Response:
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        policy = given.get("policy")
        if not isinstance(policy, str):
            return _refused(400, "a policy is a text")
        found = await asyncio.to_thread(self._looks.linted, policy)
        return JSONResponse({"main": [data(each) for each in found]})

    async def _preview(self, request: Request) -> Response:
        """What a change of a policy would do: what is wrong with it at once, the rest when it is worked out."""
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        try:
            found, work = await asyncio.to_thread(self._looks.preview, given.get("kind"), given.get("text"))
        except GatewayError as error:
            return _refused(409, visible(str(error)))
        return JSONResponse({"main": [data(each) for each in found], "work": work})

    async def _save(self, request: Request) -> Response:
        """Makes a change that was looked at."""
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        try:
            said = await asyncio.to_thread(self._looks.save, given.get("work"))
        except GatewayError as error:
            return JSONResponse({"text": visible(str(error).split("\n", 1)[0])}, 409)
        self._live.tell("policy")
        return JSONResponse({"text": visible(said)})

    async def _reject(self, request: Request) -> Response:
        """Takes a proposal away for good."""
        given, refusal = await self._given(request)
        if refusal is not None:
            return refusal
        try:
            said = await asyncio.to_thread(self._looks.reject, given.get("id"))
        except GatewayError as error:
            return JSONResponse({"text": visible(str(error).split("\n", 1)[0])}, 409)
        return JSONResponse({"text": said})

    async def _worked(self, request: Request) -> Response:
        if not self._known(request)[0]:
            return _refused(401, "this token opens nothing: start `gateway console` anew")
        told = await asyncio.to_thread(self._looks.worked, request.path_params["name"])
        return _refused(404, "nobody works on that any more") if told is None else JSONResponse(told)

    def close(self) -> None:
        """Ends what is being worked out."""
        self._looks.close()

    async def _given(self, request: Request) -> tuple[dict[str, Any], Response | None]:
        """What a page sends, or why it is not taken: a token that only reads changes nothing."""
        if self._known(request)[0] != PAGE:
            return {}, _refused(401, "only an open page may do this")
        try:
            given = json.loads(await request.body())
        except (ValueError, RecursionError):
            given = None
        return (given, None) if isinstance(given, dict) else ({}, _refused(400, "this is no JSON object"))

    def _known(self, request: Request) -> tuple[str, str]:
        token = _bearer(request)
        return self._tokens.kind(token), token

    # -------------------------------------------------------------------------------------------------------- stream

    async def _events(self, request: Request) -> Response:
        kind, _token = self._known(request)
        if not kind:
            return _refused(401, "this token opens nothing: start `gateway console` anew")
        if self._live.count() >= MOST_STREAMS:
            return _refused(429, f"{MOST_STREAMS} pages are open: close one of them")
        return StreamingResponse(
            self._told(Listener(answers=kind == PAGE), request.receive),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},
        )

    async def _told(self, listener: Listener, receive: Receive) -> AsyncIterator[bytes]:
        """Until the page is closed, which counts at once: a page that is gone is nobody who could be asked."""
        self._live.add(listener)
        gone = asyncio.ensure_future(_gone(receive))
        try:
            yield _event("waiting", len(self._desk.waiting()))
            while True:
                coming = asyncio.ensure_future(listener.next(_BEAT))
                await asyncio.wait((gone, coming), return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    coming.cancel()
                    return
                event = coming.result()
                if event is None:
                    yield b": \n\n"
                elif event[0] == "records":
                    yield _event("records", _rows(event[1]))
                else:
                    yield _event(*event)
        finally:
            gone.cancel()
            self._live.remove(listener)

    def waiting_changed(self) -> None:
        """Tells every page that a question came or went."""
        self._live.tell("waiting", len(self._desk.waiting()))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _rows(told: dict[str, Any]) -> dict[str, Any]:
    """Records as the page of live calls shows them: new rows, the newest first, and what became of others."""
    records = told["of"]
    rows = [
        [decision.get("id"), data(live_page.row(decision, outcome))] for decision, outcome in live_page.joined(records)
    ]
    known = {each.get("id") for each in records if each.get("kind") == DECISION}
    ends = [
        [each.get("id"), live_page.end_of({}, each)]
        for each in records
        if each.get("kind") == OUTCOME and each.get("id") not in known
    ]
    return {"missed": told["missed"], "rows": rows, "ends": ends}


def _event(name: str, told: Any = None) -> bytes:
    return f"event: {name}\ndata: {json.dumps(told, ensure_ascii=True)}\n\n".encode("ascii")


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind == "Bearer" and len(token) <= 100 else ""


def _current(path: str) -> str:
    """The entry of the menu that a page belongs to."""
    first = "/" + path.split("/")[1]
    return {"/": "/pending", "/why": "/live"}.get(first, first)


def _refused(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)


def _problem(text: str) -> Page:
    said, _, remedy = text.partition("\n  help: ")
    return Page("Cannot be shown", (page_head("Cannot be shown"), empty(visible(said), visible(remedy) or None)), 500)
