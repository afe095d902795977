"""A server behind the proxy as one client sees it: started when first needed, its tools listed, held against what is
pinned, and filtered as policy would judge their calls."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager

from gateway.mcp.json_rpc import INTERNAL, METHOD_NOT_FOUND, RpcError
from gateway.mcp.pins import CHANGED, ELSEWHERE, NEW, definition_of, identity_of
from gateway.mcp.sanitised import hides, shown, stricter, tool_for_client
from gateway.model.call import Call
from gateway.policy.denied_tools import denied_for_every_input
from gateway.tools.registry import is_mcp_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.judge.judge import Judge
    from gateway.mcp.json_rpc import Message
    from gateway.mcp.pins import Pins
    from gateway.mcp.upstream import Upstream

MOST_PAGES = 100
MOST_LISTED = 2_000
MOST_LISTED_CHARACTERS = 16 << 20
# What is judged under a name of its own, which no tool may have.
PROMPT, COMPLETION = "prompts.get", "completion.complete"
_RESERVED = (PROMPT, COMPLETION)
_WHY = {
    NEW: "it was not there when its server was first seen",
    CHANGED: "what its server says of it is not what it said when it was accepted",
    ELSEWHERE: "another program or address had this server's name before",
}


class Link:
    """One server for one client. Lives on the event loop."""

    def __init__(self, upstream: Upstream, pins: Pins | None) -> None:
        self.upstream = upstream
        self.name = upstream.name
        self.asking: set[Any] = set()  # the exchanges whose calls are with the server
        self.judged: tuple[object, ...] = ()  # the circumstances in which it is known to be fit
        self.is_retired = False  # it is for nobody who does not use it already
        self._users = 0
        self._ending: asyncio.Task[None] | None = None
        self._pins = pins
        self._identity = identity_of(upstream.declared)
        self._tools: dict[str, dict[str, Any]] = {}
        self._hidden: dict[str, str] = {}
        self._is_stale = True
        self.seen = 0  # how often its tools were listed
        self._lock = asyncio.Lock()
        self.resources: dict[str, str] = {}

    def stale(self) -> None:
        """What is known of its tools holds no longer."""
        self._is_stale = True

    @contextmanager
    def used(self) -> Iterator[None]:
        """Meanwhile the server does not end where it is retired, but afterwards."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._end_retired()

    def retire(self) -> None:
        """Ends the server as soon as nobody uses it any more."""
        self.is_retired = True
        self._end_retired()

    @property
    def has_ended(self) -> bool:
        """Whether it was retired and nothing of it is left."""
        return self._ending is not None and self._ending.done()

    def _end_retired(self) -> None:
        if self.is_retired and not self._users and self._ending is None:
            self._ending = asyncio.ensure_future(self.upstream.end())

    async def end(self) -> None:
        """Ends the server."""
        if self._ending is not None:
            await self._ending
        await self.upstream.close()

    async def tools(self, *, again: bool) -> None:
        """Has its tools listed and held against what is pinned. Raises RpcError, ConfigError."""
        async with self._lock:
            if not (again or self._is_stale):
                return
            self._is_stale = False
            try:
                await self._list()
            except BaseException:
                self._is_stale = True
                raise

    async def _list(self) -> None:
        found: dict[str, dict[str, Any]] = {}
        hidden: dict[str, str] = {}
        for tool in await self.some_of("tools/list", "tools"):
            name = tool.get("name")
            if not isinstance(name, str):
                continue
            if name in found:
                hidden[name] = "its server has several tools of this name"
            elif not is_mcp_name(self.judged_as(name)) or name.startswith("mcp__") or name in _RESERVED:
                hidden[name] = "its name is none that a tool may have here"
            found[name] = definition_of(tool)
        if self._pins is not None:
            pins = self._pins
            looked = await asyncio.get_running_loop().run_in_executor(
                None, pins.look, self.name, self._identity, {n: d for n, d in found.items() if n not in hidden}
            )
            for name, state in looked.items():
                hidden[name] = f"{_WHY[state]}; a person has to accept it: `gateway mcp pins accept {self.name}`"
        if self.upstream.declared["url"]:
            self._note_headers(found)
        self._tools, self._hidden = found, hidden
        self.seen += 1

    def _note_headers(self, tools: Mapping[str, Mapping[str, Any]]) -> None:
        from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

        self.upstream.param_headers = {
            name: x_mcp_header_map(each.get("inputSchema"))
            for name, each in tools.items()
            if find_invalid_x_mcp_header(each.get("inputSchema")) is None
        }

    async def all_of(self, method: str, key: str) -> list[dict[str, Any]]:
        """Everything that a listing has, over all its pages. Raises RpcError."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        left = MOST_LISTED_CHARACTERS
        for _ in range(MOST_PAGES):
            result = await self.upstream.request(method, {"cursor": cursor} if cursor else {})
            page = result.get(key)
            left -= len(json.dumps(page, ensure_ascii=False))
            if left < 0:
                raise RpcError(
                    INTERNAL, f"what it lists has more than {MOST_LISTED_CHARACTERS >> 20} million characters"
                )
            found += [each for each in page if isinstance(each, dict)] if isinstance(page, list) else []
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) >= MOST_LISTED:
                break
        return found[:MOST_LISTED]

    async def some_of(self, method: str, key: str) -> list[dict[str, Any]]:
        """The same, of a server that need not have any."""
        try:
            return await self.all_of(method, key)
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND:
                return []
            raise

    def judged_as(self, tool: str) -> str:
        """The name by which policy knows a tool of this server."""
        return f"mcp__{self.name}__{tool}"

    def why_hidden(self, tool: str, *, is_declared: bool = False) -> str:
        """Why a tool must not be called, "" where nothing but policy speaks. `is_declared`: a layer says what it is, so
        that the server need not."""
        if tool not in self._tools and not is_declared:
            return "the server has no tool of this name"
        return self._hidden.get(tool, "")

    def annotations(self, judge: Judge, tool: str) -> dict[str, bool]:
        """What is said of a tool: what its description knows, and never better than the server says itself."""
        entry = judge.registry.tool(self.judged_as(tool)).entry
        ours: dict[str, bool] | None = None
        if entry["effects"] and not any(effect["do"] in ("opaque", "guess") for effect in entry["effects"]):
            read_only = entry["read_only"] is True
            ours = {"readOnlyHint": read_only, "destructiveHint": not read_only}
            ours["openWorldHint"] = any(effect["do"] == "connect" for effect in entry["effects"])
        return stricter(ours, self._tools.get(tool, {}).get("annotations"))

    def offered(self, judge: Judge, mode: str, prefix: str) -> tuple[list[dict[str, Any]], list[str]]:
        """The tools that a client is shown, and what people should know of those that it is not."""
        context = judge.context.replace(mode=mode, now=time.time())
        found, told = [], []
        for name, definition in self._tools.items():
            why = self._hidden.get(name, "")
            if not why:
                annotations = self.annotations(judge, name)
                judged = self.judged_as(name)
                served = Call(judged, {}, shown="", server=self.name, annotations=annotations)
                if denied_for_every_input(judge.loaded.policy, judged, context, served):
                    continue
                try:
                    made = tool_for_client(definition, prefix + name, annotations)
                except ValueError as error:
                    why = str(error)
                else:
                    found.append(made)
                    if hides(definition):
                        told.append(
                            f"{shown(name)} of {self.name}: it holds characters that cannot be seen, shown as escapes"
                        )
                    continue
            told.append(f"{shown(name)} of {self.name} is hidden: {why}")
        return found, told


def described(data: Message, upstream: Upstream) -> Message:
    """An entry of a listing without hidden characters and secrets."""
    from gateway.mcp.sanitised import shown_in

    found: Message = upstream.hidden(
        shown_in({key: each for key, each in data.items() if key not in ("_meta", "icons")})
    )
    return found
