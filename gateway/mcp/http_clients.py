"""Clients over HTTP, in both eras, as the package `mcp` speaks the protocol."""

from __future__ import annotations

import json
from contextlib import suppress

from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageResult,
    ElicitRequest,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    RequestParams,
)

from gateway.mcp.endpoint import NAME, SERVER_INFO, TOOLS_CHANGED
from gateway.mcp.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from gateway.mcp.protocol_eras import is_stateless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.mcp.endpoint import Endpoint
    from gateway.mcp.json_rpc import Message

_REQUESTS: dict[str, tuple[Any, Any]] = {
    "elicitation/create": (ElicitRequest, ElicitResult),
    "sampling/createMessage": (CreateMessageRequest, CreateMessageResult),
    "roots/list": (ListRootsRequest, ListRootsResult),
}
_EVENTS: dict[str, Any] = {
    TOOLS_CHANGED: ToolsListChanged,
    "notifications/prompts/list_changed": PromptsListChanged,
    "notifications/resources/list_changed": ResourcesListChanged,
}


class Back:
    """The way back to the client that a request came from."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self.version: str = ctx.protocol_version
        declared = ctx.session.client_capabilities
        self.capabilities: dict[str, Any] = (
            declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared is not None else {}
        )

    async def ask(self, method: str, params: Message) -> Message:
        """What the client answers. Raises RpcError."""
        known = _REQUESTS.get(method)
        if known is None:
            raise RpcError(METHOD_NOT_FOUND, f"no client is asked for {method}")
        try:
            request = known[0].model_validate({"method": method, "params": params} if params else {"method": method})
            related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
            found = await self._ctx.session.send_request(request, known[1], metadata=related)
        except MCPError as error:
            raise RpcError(error.error.code, error.error.message, error.error.data) from error
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, "the answer cannot be read") from error
        plain: Message = found.model_dump(by_alias=True, mode="json", exclude_unset=True)
        return plain

    async def notify(self, method: str, params: Message | None) -> None:
        """Tells the client."""
        session, given = self._ctx.session, params or {}
        if method == TOOLS_CHANGED:
            await session.send_tool_list_changed()
        elif method == "notifications/prompts/list_changed":
            await session.send_prompt_list_changed()
        elif method == "notifications/resources/list_changed":
            await session.send_resource_list_changed()
        elif method == "notifications/resources/updated":
            await session.send_resource_updated(given.get("uri", ""))
        elif method == "notifications/message":
            made = LoggingMessageNotificationParams.model_validate(given)
            await session.send_notification(LoggingMessageNotification(params=made))

    async def progress(self, done: float, total: float | None, text: str | None) -> None:
        """Tells the client, if it wants to know."""
        with suppress(Exception):  # a client that has gone is told nothing
            await self._ctx.session.report_progress(done, total, text)


def server_for(endpoint: Endpoint) -> Server[Any]:
    """What the package `mcp` serves for an endpoint."""
    bus = InMemorySubscriptionBus()
    server: Server[Any] = Server(
        NAME, version=SERVER_INFO["version"], instructions=endpoint.instructions,
        on_subscriptions_listen=ListenHandler(bus), get_tool_input_schema=lambda _name: None,
    )  # fmt: skip
    ours = frozenset((*endpoint.methods, *endpoint.asking))

    async def never(_ctx: Any, _params: Any) -> Any:
        raise MCPError(METHOD_NOT_FOUND, "not reached")  # what stands before it answers

    async def answer(ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        if ctx.request_id is None or ctx.method not in ours:
            return await call_next(ctx)
        if not is_stateless(ctx.protocol_version) and ctx.session.client_params is None:
            raise MCPError(INVALID_PARAMS, "Invalid request parameters", "the connection is not initialized")
        key = client_key(ctx)
        try:
            client = await endpoint.client(key)
            if bus not in client.listening:
                client.listening[bus] = lambda method, params: _publish(bus, method, params)
            return await endpoint.handle(key, Back(ctx), ctx.method, dict(ctx.params or {}))
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from error

    for method in ours:
        params = PaginatedRequestParams if method.endswith("/list") else RequestParams
        server.add_request_handler(method, params, never)
    server.middleware.append(answer)
    return server


def _publish(bus: InMemorySubscriptionBus, method: str, params: Message) -> None:
    import asyncio

    uri = params.get("uri")
    event = _EVENTS[method]() if method in _EVENTS else ResourceUpdated(uri) if isinstance(uri, str) else None
    if event is not None:
        asyncio.ensure_future(bus.publish(event))  # noqa: RUF006 - it never waits


def client_key(ctx: Any) -> str:
    """Whose request it is: that of a session, or, without sessions, of all clients that use the same token and say the
    same of themselves. No two of these have one key."""
    request = ctx.request
    session = request.headers.get("mcp-session-id")
    if session is not None and not is_stateless(ctx.protocol_version):
        return f"session {session}"
    params = ctx.session.client_params
    info = params.client_info if params is not None else None
    user = request.scope.get("user")
    who = getattr(user, "username", "") or ""
    said = (info.name, info.version) if info is not None else ()
    return f"client {json.dumps([who, *said])}"
