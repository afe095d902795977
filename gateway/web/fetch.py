"""One page fetched: redirects followed on the same host, each step judged, everything within bounds.

Nothing that identifies anybody is sent: no cookie, no login, no header of the environment, and none is kept.
"""

from __future__ import annotations

from time import monotonic

from gateway.calls.outgoing import RequestError, Watched, once
from gateway.core.value import Value
from gateway.tools.paths import UnclearError
from gateway.tools.urls import parse
from gateway.web.reach import places
from gateway.web.unpack import ENCODINGS, Body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.tools.urls import Url
    from gateway.web.reach import Reach

REDIRECTS = 10
FOLLOWED = (301, 302, 303, 307, 308)
HEADERS = {
    "User-Agent": "agent-gateway (a reader for one person; no crawler)",
    "Accept": "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/*;q=0.8, */*;q=0.5",
    "Accept-Language": "en, *;q=0.5",
}
_TELL_EVERY = 256 << 10


class Limits(Value):
    """Bounds of one fetch: seconds for all of it and without any byte, bytes as they come and unpacked."""

    seconds: float = 60.0
    pause: float = 15.0
    most: int = 10 << 20
    most_unpacked: int = 20 << 20


LIMITS = Limits()


class Step(Value):
    """A request that was made: to which URL, and the addresses that its host led to."""

    url: str
    addresses: tuple[str, ...]


class Fetched(Value):
    """What came back from the last of `steps`. `packed`: the bytes that came; `cut`: there was more. `elsewhere`: where
    it redirects to, which was not followed; then there is no body. `passing`: the server asks that nothing keeps it."""

    steps: tuple[Step, ...]
    status: int
    content_type: str
    body: bytes
    packed: int
    cut: bool = False
    elsewhere: str = ""
    passing: bool = False


def fetch(
    asked: Url, reach: Reach, *, limits: Limits = LIMITS, cancelled: Callable[[], bool], told: Callable[[str], None]
) -> Fetched:
    """The page at a URL that policy has judged. `told`: what happens, for whoever watches; `cancelled`: asked again and
    again, ends it at any time. Raises RequestError."""
    watched = Watched(monotonic() + limits.seconds)
    return watched.run(lambda: _Fetch(asked, reach, limits, told, watched).follow(), asked.host, cancelled)


class _Fetch:
    def __init__(self, asked: Url, reach: Reach, limits: Limits, told: Callable[[str], None], watched: Watched) -> None:
        self._asked, self._reach, self._limits, self._told, self._watched = asked, reach, limits, told, watched
        self._addresses: tuple[str, ...] = ()
        self._steps: list[Step] = []

    def follow(self) -> Fetched:
        where = started(self._asked, self._reach)
        seen = set()
        for _ in range(REDIRECTS + 1):
            if where.text in seen:
                raise RequestError("it redirects in a circle")
            seen.add(where.text)
            found = self._step(where)
            if found.status not in FOLLOWED or not found.elsewhere:
                return found.replace(elsewhere="")
            there = self._parsed(where, found.elsewhere)
            if not _is_same_place(where, there):
                return found.replace(elsewhere=there.text)
            where = self._upgraded(there)
        raise RequestError(f"it redirects more than {REDIRECTS} times")

    def _step(self, where: Url) -> Fetched:
        if where != self._asked:
            why = self._reach.judge(where)
            if why:
                raise RequestError(why)
        self._watched.check()
        self._told(f"fetching {where.host}")
        if self._addresses:
            self._reach.check(where, self._addresses)  # the port may be another one
        else:
            self._addresses = self._reach.resolved(where)
        self._steps.append(Step(where.text, self._addresses))
        return once(
            "GET", where, HEADERS, None, at=places(self._addresses, where.port), watched=self._watched,
            take=self._take, pause=self._limits.pause, encodings=ENCODINGS,
        )  # fmt: skip

    def _take(self, answer: Any) -> Fetched:
        headers = answer.headers
        status: int = answer.status_code
        steps, kind = tuple(self._steps), headers.get("content-type", "")
        target = headers.get("location", "")
        if status in FOLLOWED and target:
            return Fetched(steps, status, content_type=kind, body=b"", packed=0, elsewhere=target)
        body = Body(headers.get("content-encoding", ""), self._limits.most, self._limits.most_unpacked)
        told = _TELL_EVERY
        for chunk in answer.iter_raw():
            self._watched.check()
            if not body.add(chunk):
                break
            if body.packed >= told:
                told += _TELL_EVERY
                self._told(f"{body.packed >> 10:,} kB came")
        passing = "no-store" in headers.get("cache-control", "").lower()
        return Fetched(
            steps, status, content_type=kind, body=body.end(), packed=body.packed, cut=body.cut, passing=passing
        )

    def _parsed(self, base: Url, target: str) -> Url:
        from urllib.parse import urljoin

        try:
            return parse(urljoin(base.text, target))
        except UnclearError as error:
            raise RequestError(f"it redirects to an address that {error.must}") from error
        except ValueError as error:
            raise RequestError("it redirects to what is no address") from error

    def _upgraded(self, where: Url) -> Url:
        """Where a redirect leads: never back from https to http, except on hosts that are asked so."""
        if where.text.startswith("https:") or self._reach.plain.names(where.host, where.port):
            return where
        return parse(where.text, upgrade=True)


def started(asked: Url, reach: Reach) -> Url:
    """What is asked first: the URL itself, or over http on a host that policy says is asked so."""
    plain = parse("http" + asked.text.removeprefix("https"))
    return plain if reach.plain.names(plain.host, plain.port) else asked


def _is_same_place(one: Url, other: Url) -> bool:
    """The same host at the same port; the usual ports of http and https count as one."""
    return one.host == other.host and (one.port == other.port or {one.port, other.port} == {80, 443})
