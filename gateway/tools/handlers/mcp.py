"""`mcp:` tools, tools of servers that nobody declared, and the resources of servers."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as NotBase64

from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.tools.handling import Failure, Image, Output, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.call import Call
    from gateway.servers import Server
    from gateway.tools.handling import Work

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def call(call: Call, work: Work) -> Output:
    """Calls the tool of the server. What the server says of an error is an error."""
    declared = work.gateway.registry.tool(call.tool).entry.get("handler")
    if declared is None:
        server, _, tool = call.tool[len("mcp__") :].partition("__")
    else:
        server, tool = declared["server"], declared["tool"]
    given = _plain(call.input)
    there = _server(work, server)
    found = there.ask(lambda client: client.call_tool(tool, given), work.cancel)
    if not hasattr(found, "content"):
        raise Failure(f"MCP server `{server}` asks for more before it answers, which nobody can give here.")
    data = getattr(found, "structured_content", None)
    blocks = tuple(_shown(_block(each), there) for each in found.content)
    return Output(blocks, there.hidden(data), is_error=bool(found.is_error))


def list_resources(call: Call, work: Work) -> Output:
    """The resources of one server, or of all that are configured and that policy lets be asked; one that does not work
    is named."""
    named = call.input.get("server")
    lines, data = [], []
    for name in (named,) if named else _names(work):
        why = "" if named else _refused(work, call, name)
        if why:
            lines.append(f"{name}: {why}")
            continue
        try:
            there = _server(work, name)
            found = there.ask(lambda client: client.list_resources(), work.cancel)
        except Failure as failure:
            if named:
                raise
            lines.append(f"{name}: {failure.message}")
            continue
        for each in found.resources:
            about = each.description or each.name
            line = f"{name} {each.uri}" + (f" ({each.mime_type})" if each.mime_type else "") + f": {about}"
            lines.append(there.hidden(line))
            said = {"uri": str(each.uri), "name": each.name, "mime_type": each.mime_type or ""}
            data.append({"server": name} | {key: there.hidden(text) for key, text in said.items()})
    return Output((Text("\n".join(lines) or "There are no resources."),), {"resources": data})


def read_resource(call: Call, work: Work) -> Output:
    """The content of one resource."""
    name, uri = call.input["server"], call.input["uri"]
    there = _server(work, name)
    found = there.ask(lambda client: client.read_resource(uri), work.cancel)
    if not hasattr(found, "contents"):
        raise Failure(f"MCP server `{name}` asks for more before it answers, which nobody can give here.")
    return Output(tuple(_shown(_content(each), there) for each in found.contents))


def _server(work: Work, name: str) -> Server:
    if work.server is None:
        raise Failure("No MCP server can be reached from here.")
    found: Server = work.server(name)
    return found


def _refused(work: Work, call: Call, name: str) -> str:
    """Why a server is not asked that the call did not name, "" if it is: policy judges it as if it had been named."""
    found = work.gateway.check(RawCall(call.tool, {"server": name}), work.context)
    rule = found.reason.rule.id
    agreed = found.decision is Decision.ASK and rule == work.verdict.reason.rule.id
    if found.decision is Decision.ALLOW or agreed:
        return ""
    return f"It is not asked, by rule `{rule}`."


def _names(work: Work) -> tuple[str, ...]:
    setting = work.gateway.loaded.settings.get("servers")
    return () if setting is None else tuple(setting.value)


def _shown(block: Text | Image, server: Server) -> Text | Image:
    """The block without the secrets of the server; a picture that holds one is not shown."""
    if isinstance(block, Text):
        return Text(server.hidden(block.text))
    if server.says_secrets(block.data):
        return Text(f"(A picture of type {block.media_type}, which is not shown because a secret lies in it.)")
    return block


def _block(each: Any) -> Text | Image:
    kind = getattr(each, "type", "")
    if kind == "text":
        return Text(each.text)
    if kind == "image":
        return _image(each.mime_type, each.data)
    if kind == "resource":
        return _content(each.resource)
    return Text(each.model_dump_json(by_alias=True, exclude_none=True))


def _content(each: Any) -> Text | Image:
    text = getattr(each, "text", None)
    if text is not None:
        return Text(text)
    kind = each.mime_type or "application/octet-stream"
    return _image(kind, each.blob) if kind in IMAGES else Text(f"({len(each.blob) * 3 // 4:,} bytes of {kind}.)")


def _image(kind: str, data: str) -> Text | Image:
    try:
        found = b64decode(data, validate=True)
    except (NotBase64, ValueError):
        return Text(f"(A picture of type {kind} that cannot be read.)")
    return Image(kind, found) if kind in IMAGES else Text(f"({len(found):,} bytes of {kind}.)")


def _plain(value: Any) -> Any:
    """The input as ordinary lists and dicts."""
    return json.loads(json.dumps(value))
