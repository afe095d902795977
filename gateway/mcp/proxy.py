"""Servers behind the policy: what they offer is filtered as their calls would be judged, every call is judged, asked
about and recorded like one of the gateway's own tools, and what they say is cleaned."""

from __future__ import annotations

import asyncio
from time import monotonic

from gateway.calls.lifecycle import Life
from gateway.calls.output import Failure, Output
from gateway.core.async_threads import on_thread
from gateway.core.errors import ConfigError
from gateway.mcp.asking import Exchange, asked_through
from gateway.mcp.client_servers import Behind
from gateway.mcp.endpoint import refusal
from gateway.mcp.json_rpc import CLOSED, INTERNAL, INVALID_PARAMS, RpcError
from gateway.mcp.links import COMPLETION, PROMPT, described
from gateway.mcp.protocol_eras import is_stateless
from gateway.mcp.relay import Relay
from gateway.mcp.sanitised import CHARACTERS, Rules
from gateway.model.call import Call, RawCall
from gateway.model.decision import Decision
from gateway.model.result import Result
from gateway.policy.explain import message
from gateway.policy.unjudged import built_in, unjudged
from gateway.sandbox.run import NOT_RUN
from gateway.tools.frozen import freeze

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.calls.output import Done
    from gateway.calls.runner import RunsCalls
    from gateway.core.cancel import Cancel
    from gateway.mcp.asking import Back
    from gateway.mcp.endpoint import Client
    from gateway.mcp.json_rpc import Message
    from gateway.mcp.links import Link
    from gateway.mcp.pins import Pins

HIDDEN = "mcp:pins"
_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


class Proxying(Behind):
    """Answers with the tools, resources and prompts of servers."""

    instructions = "Every call is judged by the user's policy. A refusal says why, and what to do instead."
    methods = ("tools/list", *_LISTS, "logging/setLevel")
    asking = (
        "tools/call",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/get",
        "completion/complete",
    )

    def __init__(
        self,
        gateway: RunsCalls,
        servers: Mapping[str, Mapping[str, Any]],
        *,
        namespaced: bool,
        pins: Pins | None,
        says: Callable[[bytes], None] | None = None,
    ) -> None:
        """`namespaced`: tools and prompts are shown as `SERVER__NAME`. `says`: gets the servers' standard error."""
        self._namespaced = namespaced
        super().__init__(gateway, servers, pins=pins, says=says)

    # ---------------------------------------------------------------------------------------------------- listings

    async def answer(self, client: Client, back: Back, method: str, params: Message) -> Message:
        """What all servers list, in one answer; the level of the log is set for all. A server that fails is told of
        and left out; raises RpcError if all do."""
        exchange = Exchange(back, lists=True)
        if method == "logging/setLevel":
            return await self._log_level(client, exchange, params)
        found: list[dict[str, Any]] = []
        problems = []
        for name in self._servers:
            try:
                link = await self._link(client, name, exchange)
                with link.used():
                    found += await (self._tools(client, link) if method == "tools/list" else self._listed(link, method))
            except (Failure, RpcError, ConfigError) as error:
                problems.append(f"{name}: {error}")
        for each in problems:
            self._tell(each)
        if problems and len(problems) == len(self._servers):
            raise RpcError(INTERNAL, "; ".join(problems)[:4_000])
        return {"tools" if method == "tools/list" else _LISTS[method]: found}

    async def _tools(self, client: Client, link: Link) -> list[dict[str, Any]]:
        await link.tools(again=True)
        prefix = f"{link.name}__" if self._namespaced else ""
        judge = self.gateway.calls.services.planner.judge
        offered, told = await self.on_pool(lambda: link.offered(judge, client.session.context.mode, prefix))
        for each in told:
            self._tell(each)
        secretless: list[dict[str, Any]] = link.upstream.hidden(offered)
        return secretless

    async def _listed(self, link: Link, method: str) -> list[dict[str, Any]]:
        entries = await link.some_of(method, _LISTS[method])
        link.resources = {uri: of for uri, of in link.resources.items() if of != method}

        def seen() -> list[dict[str, Any]]:
            found = []
            for entry in entries:
                try:
                    found += self._seen(link, method, entry)
                except ValueError as error:
                    self._tell(f"an entry of {link.name} is hidden: {error}")
            return found

        listed: list[dict[str, Any]] = await self.on_pool(seen)
        return listed

    def _seen(self, link: Link, method: str, entry: dict[str, Any]) -> list[dict[str, Any]]:
        """The entry as a client may see it, if policy lets anything be done with it. Raises ValueError where it is
        nested too deeply."""
        if method == "prompts/list":
            name = entry.get("name")
            raw = RawCall(link.judged_as(PROMPT), {"name": name}, server=link.name)
            if not isinstance(name, str) or not self._may(raw):
                return []
            made = described(entry, link.upstream)
            return [{**made, "name": f"{link.name}__{made['name']}" if self._namespaced else made["name"]}]
        uri = entry.get("uri" if method == "resources/list" else "uriTemplate")
        if not isinstance(uri, str) or (method == "resources/list" and not self._may_read(link, uri)):
            return []
        link.resources[uri] = method
        return [described(entry, link.upstream)]

    async def _log_level(self, client: Client, exchange: Exchange, params: Message) -> Message:
        problems: list[RpcError] = []
        for name in self._servers:
            try:
                link = await self._link(client, name, exchange)
                if not is_stateless(link.upstream.version) and "logging" in link.upstream.capabilities:
                    with link.used():
                        await link.upstream.request("logging/setLevel", {"level": params.get("level")})
            except RpcError as error:
                problems.append(RpcError(error.code, f"{name}: {error.message}"[:4_000]))
            except Failure as error:
                problems.append(RpcError(INTERNAL, f"{name}: {error}"[:4_000]))
        if problems and len(problems) == len(self._servers):
            raise problems[0]
        for each in problems:
            self._tell(each.message)
        return {}

    # ------------------------------------------------------------------------------------------------------- calls

    async def call(self, client: Client, exchange: Exchange, method: str, params: Message) -> Message:
        """Hands a call on to the server that it is for, once policy has allowed it. Raises RpcError."""
        if method == "tools/call":
            return await self._call_tool(client, exchange, params)
        try:
            return await self._other(client, exchange, method, params)
        except Failure as failure:
            raise RpcError(INTERNAL, str(failure)) from failure

    async def _call_tool(self, client: Client, exchange: Exchange, params: Message) -> Message:
        given = params.get("arguments")
        server, tool = self._target(params.get("name"))
        if not (given is None or isinstance(given, dict)):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        try:
            link = await self._known(client, server, exchange)
        except Failure as failure:
            return refusal(str(failure))
        judge = self.gateway.calls.services.planner.judge
        judged = link.judged_as(tool)
        why = link.why_hidden(tool)
        if why:
            text = f"`{tool}` of the MCP server `{server}` must not be called: {why}."
            refused: Message = await self.on_pool(lambda: self._refused(client, judged, given or {}, server, text))
            return refused
        raw = RawCall(judged, given or {}, server=server, annotations=link.annotations(judge, tool))
        relay = Relay(
            link,
            exchange,
            method="tools/call",
            params={**params, "name": tool},
            rules=self._rules(),
            may=self._servers_may(),
        )
        done = await self._lived(client, exchange, raw, relay)
        if relay.error is not None:
            raise relay.error
        meta = {"gateway/decision": done.verdict.decision.name.lower(), "gateway/record": done.record}
        if relay.result is None:
            return refusal(done.refusal, meta)
        found = relay.result
        if done.output.notes and isinstance(found.get("content"), list):
            found = {
                **found,
                "content": [*found["content"], *({"type": "text", "text": note} for note in done.output.notes)],
            }
        return found

    async def _known(self, client: Client, name: str, exchange: Exchange) -> Link:
        """As `_link`, with its tools listed."""
        while True:
            link = await self._link(client, name, exchange)
            with link.used():
                await link.tools(again=False)
            if not link.is_retired:
                return link

    async def _lived(self, client: Client, exchange: Exchange, raw: RawCall, relay: Relay) -> Done:
        """The whole life of a call. One that nobody is asked about and no hook is told of needs no thread for it."""
        services = self.gateway.calls.services
        if self._is_quick(client, raw):
            life = Life(services, raw, client.session, work=relay.work)
            work = life.begin()
            if work is None or life.verdict is None:
                return life.end(None, None)
            began = monotonic()
            try:
                outcome = await relay.waited(life.verdict.call)
            except asyncio.CancelledError:
                life.end(_cancelled, work, began)
                raise
            return life.end(lambda _call, _work: outcome(), work, began)

        def run(cancel: Cancel) -> Done:
            with asked_through(exchange):
                return Life(services, raw, client.session, cancel=cancel, work=relay.work).live()

        done: Done = await on_thread(run, self.pool)
        return done

    def _is_quick(self, client: Client, raw: RawCall) -> bool:
        judge = self.gateway.calls.services.planner.judge
        audit = judge.loaded.settings.get("audit")
        if judge.loaded.hooks or (audit is not None and audit.value.get("sync")):
            return False
        try:
            return judge.check(raw, client.session.context).decision is Decision.ALLOW
        except Exception:
            return False  # its life says what is wrong with it

    def _refused(self, client: Client, name: str, given: Message, server: str, why: str) -> Message:
        """Records a call that is refused before policy is asked."""
        services = self.gateway.calls.services
        call = Call(name[:256], freeze(given), "", server)
        verdict = unjudged(call, client.session.context, built_in(HIDDEN, why))
        recorded = services.recorded(services.planner, client.session.name, verdict, None, None)
        services.ended(recorded, verdict, Result("refused", NOT_RUN, reason=why))
        return refusal(why, {"gateway/decision": "deny", "gateway/record": recorded.id})

    def _rules(self) -> Rules:
        return Rules(self.setting("result_characters", CHARACTERS), (), self.setting("hide_secrets", True))

    def _target(self, name: Any) -> tuple[str, str]:
        """The server and its own name of what a client calls."""
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        if not self._namespaced:
            return next(iter(self._servers)), name
        server, _, own = name.partition("__")
        if server not in self._servers or not own:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name[:200]}")
        return server, own

    async def _other(self, client: Client, exchange: Exchange, method: str, params: Message) -> Message:
        """Resources, prompts and completions, each judged under a name of its own."""
        given = dict(params)
        if method.startswith("resources/"):
            uri = params.get("uri")
            if not isinstance(uri, str):
                raise RpcError(INVALID_PARAMS, "Invalid request parameters")
            link = await self._link(client, self._server_of(client, uri), exchange)
            raw = RawCall("ReadMcpResource", {"server": link.name, "uri": uri}, server=link.name)
            key = "contents"
        elif method == "prompts/get":
            server, name = self._target(params.get("name"))
            link = await self._link(client, server, exchange)
            given["name"] = name
            raw = RawCall(
                link.judged_as(PROMPT), {"name": name, "arguments": params.get("arguments") or {}}, server=server
            )
            key = "messages"
        else:
            link, given["ref"] = await self._completed(client, exchange, params.get("ref"))
            said = {"ref": given["ref"], "argument": params.get("argument") or {}}
            if "context" in params:
                said["context"] = params["context"]
            raw = RawCall(link.judged_as(COMPLETION), said, server=link.name)
            key = "completion"
        relay = Relay(
            link, exchange, method, given, self._rules(), may=self._servers_may(), arguments="", said=raw.input, key=key
        )
        done = await self._lived(client, exchange, raw, relay)
        if relay.error is not None:
            raise relay.error
        if relay.result is None:
            text = done.text or done.result.reason or message(done.verdict)
            raise RpcError(CLOSED if done.ran else INVALID_PARAMS, text)
        return relay.result

    async def _completed(self, client: Client, exchange: Exchange, ref: Any) -> tuple[Link, Message]:
        if not isinstance(ref, dict):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        if ref.get("type") == "ref/prompt":
            server, name = self._target(ref.get("name"))
            return await self._link(client, server, exchange), {**ref, "name": name}
        uri = ref.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "Invalid request parameters")
        return await self._link(client, self._server_of(client, uri), exchange), ref

    def _server_of(self, client: Client, uri: str) -> str:
        """The server that has a resource: the only one, or the one that listed it, or a form of such addresses."""
        if len(self._servers) == 1:
            return next(iter(self._servers))
        links: list[Link] = list(client.kept.values())
        has = [link.name for link in links if uri in link.resources]
        if not has:
            has = [
                link.name
                for link in links
                if any(start and uri.startswith(start) for start in (each.partition("{")[0] for each in link.resources))
            ]
        if len(has) != 1:
            raise RpcError(INVALID_PARAMS, "no single server has listed this resource: list the resources first")
        return has[0]


def _cancelled(_call: Call, _work: Any) -> Output:
    raise Failure("The call was cancelled.")
