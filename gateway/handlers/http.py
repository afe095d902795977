"""`http:` tools: one request, filled with the call's fields, to the host that the call was judged for."""

from __future__ import annotations

import json

from gateway.calls.outgoing import RequestError, filled
from gateway.calls.outgoing import request as send
from gateway.calls.output import Failure, Output, Text
from gateway.core.secret_masking import hidden, hidden_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.calls.outgoing import Reply
    from gateway.calls.work import Work
    from gateway.model.call import Call

SECONDS = 30.0
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/javascript")


def request(call: Call, work: Work) -> Output:
    """Makes the request. A status of 400 and above is an error that shows what the server said; a redirect to another
    host is told, not followed."""
    handler = work.judge.registry.tool(call.tool).entry["handler"]
    url = _filled(handler["url"], call, in_url=True)
    by_field = len(handler["url"]) == 1 and "field" in handler["url"][0]
    headers, secrets = _headers(handler, call, work)
    body = _body(handler["body"], call)
    if body is not None and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = "application/json"
    try:
        reply = send(
            handler["method"], url, headers=headers, body=body, seconds=SECONDS,
            named=not by_field, cancelled=lambda: work.cancel.is_set,
        )  # fmt: skip
    except RequestError as error:
        raise Failure(f"The request failed: {hidden(str(error), secrets)}.") from error
    if reply.elsewhere:
        text = f"It redirects to another host, which was not followed: {hidden(reply.elsewhere, secrets)}"
        return Output((Text(text),), hidden_in(_data(reply, ""), secrets), is_error=True)
    text = hidden(_shown(reply), secrets)
    failed = reply.status >= 400
    if failed:
        text = f"The server answered with status {reply.status}.\n{text}".rstrip()
    return Output((Text(text),), _data(reply, text), is_error=failed)


def _headers(handler: dict[str, Any], call: Call, work: Work) -> tuple[dict[str, str], tuple[str, ...]]:
    found: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    for name, parts in handler["headers"].items():
        given = [{"text": _spelled(call.input.get(part["field"]))} if "field" in part else part for part in parts]
        try:
            found[name], more = filled(given, work.judge.environment)
        except RequestError as error:
            raise Failure(f"The header `{name}` cannot be sent: {error}.") from error
        secrets += more
    return found, secrets


def _filled(parts: list[dict[str, Any]], call: Call, *, in_url: bool) -> str:
    """The template with the call's fields. In a URL each is one piece of a path or query, unless it is the whole."""
    from urllib.parse import quote

    whole = len(parts) == 1
    write: Callable[[str], str] = (lambda text: quote(text, safe="")) if in_url and not whole else str
    return "".join(part["text"] if "text" in part else write(_spelled(call.input.get(part["field"]))) for part in parts)


def _body(parts: list[dict[str, Any]], call: Call) -> bytes | None:
    """The body: each field as JSON says it, so that no value can end the text it stands in; a body that is one field
    alone is that text itself."""
    if not parts:
        return None
    if len(parts) == 1 and "field" in parts[0]:
        value = call.input.get(parts[0]["field"])
        text = value if isinstance(value, str) else _json(value)
    else:
        text = "".join(part["text"] if "text" in part else _json(call.input.get(part["field"])) for part in parts)
    return text.encode("utf-8", "replace")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _shown(reply: Reply) -> str:
    kind = reply.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind and not kind.startswith(_TEXTS) and not kind.endswith(("+json", "+xml")):
        return f"({len(reply.body):,} bytes of {kind}, which are not shown.)"
    return reply.text + ("\n(The answer is longer; the rest was not read.)" if reply.cut else "")


def _data(reply: Reply, text: str) -> dict[str, Any]:
    return {"status": reply.status, "body": text} | ({"redirect": reply.elsewhere} if reply.elsewhere else {})
