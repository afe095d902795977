"""The servers behind the proxy, of each client its own: started when one is first needed, judged anew where the policy
has become another one, heard, and ended."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from functools import partial

from gateway.calls.output import Failure
from gateway.core.cancel import NEVER
from gateway.mcp.asking import Exchange, asked_through
from gateway.mcp.circumstances import circumstances
from gateway.mcp.endpoint import TOOLS_CHANGED, Endpoint
from gateway.mcp.json_rpc import INTERNAL, METHOD_NOT_FOUND, RpcError
from gateway.mcp.links import Link, described
from gateway.mcp.protocol_eras import ASKS, is_stateless
from gateway.mcp.relay import asked_for
from gateway.mcp.sanitised import CHARACTERS, shown
from gateway.mcp.upstream import Upstream
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.calls.runner import RunsCalls
    from gateway.judge.judge import Judge
    from gateway.mcp.asking import Back
    from gateway.mcp.child import Child
    from gateway.mcp.endpoint import Client
    from gateway.mcp.json_rpc import Message
    from gateway.mcp.pins import Pins

# What servers tell that waits for a client to read it; of more nothing is told.
MOST_TOLD = 100
# What people are told of servers: different texts, and characters of one.
_MOST_SAID, _LONGEST_TOLD = 1_000, 2_000
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Behind(Endpoint):
    """An endpoint with servers behind it."""

    def __init__(
        self,
        gateway: RunsCalls,
        servers: Mapping[str, Mapping[str, Any]],
        *,
        pins: Pins | None,
        says: Callable[[bytes], None] | None = None,
    ) -> None:
        """`says`: gets the servers' standard error."""
        self._servers = servers
        self._pins = pins
        self._says = says
        self._told: set[str] = set()
        self._telling: set[asyncio.Task[None]] = set()
        self._judge: Judge | None = None  # by whom the servers of all clients were judged last
        super().__init__(gateway)

    async def _link(self, client: Client, name: str, exchange: Exchange) -> Link:
        """A server of this client that runs, as policy lets it by now. Who waits for anything before they ask it has to
        look again whether it is retired, and once they ask it, it has to be `used`. Raises Failure, ConfigError."""
        while (link := await self._begun(client, name, exchange)).is_retired:
            pass
        return link

    async def _begun(self, client: Client, name: str, exchange: Exchange) -> Link:
        services = self.gateway.calls.services
        judge = services.planner.judge
        if judge is not self._judge:
            self._judge = judge
            for other in self._clients.values():
                self._start(self._look_over(other))
        now = circumstances(client.session, judge)
        await self._look_over(client)
        async with client.lock:
            link: Link | None = client.kept.get(name)
            if link is None:
                link = client.kept[name] = self._made(client, name, exchange)

        def starts(child: Child) -> None:
            with asked_through(exchange):
                child.start(services, client.session, NEVER)

        with link.used():
            if not link.upstream.is_alive and await link.upstream.start(services.judge.environment, starts):
                link.judged = now
                link.stale()
        return link

    async def _look_over(self, client: Client) -> None:
        """Has the servers of a client that would not be started any more as they run serve nobody else, and end: at
        once, or with what they are used for. Raises ConfigError."""
        services = self.gateway.calls.services
        now = circumstances(client.session, services.planner.judge)
        if all(each.judged == now for each in client.kept.values()):
            return

        def judge(child: Child) -> bool:
            return child.is_fit(services, client.session)

        async with client.lock:
            running: list[Link] = [each for each in client.kept.values() if each.upstream.is_alive]
            for link in [each for each in running if each.judged != now]:
                if await self.on_pool(partial(link.upstream.is_fit, judge)):
                    link.judged = now
                    continue
                del client.kept[link.name]
                client.leaving = [each for each in (*client.leaving, link) if not each.has_ended]
                link.retire()

    def opened(self, key: str, back: Back) -> None:
        """Servers that may start without a question do so at once: the client asks for their tools next."""
        for name, declared in self._servers.items():
            if declared["url"] or self._may(RawCall("Bash", {"command": quoted(declared["command"])}), Decision.ALLOW):
                self._start(self._started(key, name, back))

    async def _started(self, key: str, name: str, back: Back) -> None:
        with suppress(Failure):  # which is told when somebody asks
            await self._link(await self.client(key), name, Exchange(back, lists=True))

    def _made(self, client: Client, name: str, exchange: Exchange) -> Link:
        may = self._servers_may()
        offers = {kind: each for kind, each in exchange.back.capabilities.items() if kind in may}
        upstream = Upstream(
            name, self._servers[name], offers=offers, stateless_first=is_stateless(exchange.back.version),
            asked=lambda method, params: self._asked(link, method, params),
            told=lambda method, params: self._heard(client, link, method, params), says=self._says,
        )  # fmt: skip
        link = Link(upstream, self._pins if self.setting("pins", True) else None)
        return link

    def _servers_may(self) -> tuple[str, ...]:
        return tuple(self.setting("servers_may", ()))

    async def _asked(self, link: Link, method: str, params: Message) -> Message:
        """Answers a request that a server makes while it works for a client. Raises RpcError."""
        if method == "ping":
            return {}
        if method not in ASKS or len(link.asking) != 1:
            why = "nobody can tell which call it belongs to" if method in ASKS else "Method not found"
            raise RpcError(METHOD_NOT_FOUND, why)
        (exchange,) = link.asking
        given = asked_for(link.name, method, params, self._servers_may(), exchange)
        answers = await exchange.ask({"ask": {"method": method, "params": given}})
        found = answers.get("ask")
        if not isinstance(found, dict):
            raise RpcError(INTERNAL, "the answer was none")
        return found

    def _heard(self, client: Client, link: Link, method: str, params: Message) -> None:
        if method == TOOLS_CHANGED:
            link.stale()
        if len(self._telling) >= MOST_TOLD:
            return
        if method == TOOLS_CHANGED or method in (
            "notifications/resources/list_changed",
            "notifications/prompts/list_changed",
        ):
            self._start(self.tell(client, method))
        elif method == "notifications/resources/updated":
            uri = params.get("uri")
            if isinstance(uri, str) and self._may_read(link, uri):
                self._start(self.tell(client, method, {"uri": uri}))
        elif method == "notifications/message" and params.get("level") in _LEVELS and client.standing is not None:
            told = {"level": params["level"], "logger": link.name, "data": self._logged(link, params.get("data"))}
            self._start(client.standing.notify(method, told))

    def _logged(self, link: Link, data: Any) -> Any:
        """What a server logs, as far as a client may have it."""
        try:
            said = described({"data": data}, link.upstream)["data"]
            size = len(json.dumps(said, ensure_ascii=False))
        except (ValueError, RecursionError):
            return "(Left out by the gateway: it is nested too deeply.)"
        return said if size <= CHARACTERS else f"(Left out by the gateway: {size:,} characters.)"

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._telling.add(task)
        task.add_done_callback(self._is_told)

    def _is_told(self, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled():
            task.exception()  # a client that has gone is told nothing

    async def leave(self, client: Client) -> None:
        """Ends what was started for a client that goes."""
        for link in (*client.kept.values(), *client.leaving):
            await link.end()

    def _may_read(self, link: Link, uri: str) -> bool:
        return self._may(RawCall("ReadMcpResource", {"server": link.name, "uri": uri}, server=link.name))

    def _may(self, raw: RawCall, most: Decision = Decision.ASK) -> bool:
        """Whether policy is no stricter with a call than this."""
        try:
            return self.gateway.calls.services.planner.judge.check(raw).decision <= most
        except Exception:
            return False  # what cannot be judged is not shown

    def _tell(self, text: str) -> None:
        """Tells people once what a client does not see."""
        text = shown(text[:_LONGEST_TOLD])
        if text not in self._told and len(self._told) < _MOST_SAID:
            self._told.add(text)
            (self._says or sys.stderr.buffer.write)(f"gateway: {text}\n".encode("utf-8", "backslashreplace"))
