"""What a server may have a person asked through a client: a short message with a flat form, or an address, and nothing
else of what it sends. Pure."""

from __future__ import annotations

import json

from gateway.mcp.sanitised import shown
from gateway.tools.paths import UnclearError
from gateway.tools.urls import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.mcp.json_rpc import Message

    Reader = Callable[[Mapping[str, Any]], dict[str, Any]]

FORM, URL = "form", "url"
MOST_MESSAGE = 4_000
MOST_FIELDS = 50
MOST_CHOICES = 200
# Characters of the whole form, as it is handed on.
MOST_FORM = 20_000
MOST_ADDRESS = 2_000
_MOST_NAME = 200
_FORMATS = ("email", "uri", "date", "date-time")


class UnaskableError(ValueError):
    """The server asks for what no client is asked; the text goes on after a colon."""


def mode_of(params: Any) -> str:
    """Whether it asks for a form or for a visit to an address. Raises UnaskableError."""
    mode = params.get("mode", FORM) if isinstance(params, dict) else FORM
    if mode not in (FORM, URL):
        raise UnaskableError("it is neither a form nor an address")
    return str(mode)


def elicited(params: Any) -> Message:
    """The parameters of an elicitation as a client may have them: what the protocol has, rebuilt. Raises
    UnaskableError."""
    given = params if isinstance(params, dict) else {}
    message = given.get("message")
    if not isinstance(message, str) or not message.strip():
        raise UnaskableError("it has no message")
    if len(message) > MOST_MESSAGE:
        raise UnaskableError(f"its message has more than {MOST_MESSAGE:,} characters")
    found: Message = {"message": shown(message)}
    if mode_of(given) == URL:
        return {"mode": URL, **found, **_address(given)}
    if "mode" in given:
        found["mode"] = FORM
    return {**found, "requestedSchema": _form(given.get("requestedSchema"))}


def _address(given: Mapping[str, Any]) -> Message:
    url, number = given.get("url"), given.get("elicitationId")
    try:
        if not isinstance(url, str) or len(url) > MOST_ADDRESS or shown(url) != url:
            raise UnaskableError("its address is none, or too long")
        address = parse(url).text
    except UnclearError as error:
        raise UnaskableError(f"its address {error.must}") from error
    if not address.startswith(("http://", "https://")) or "@" in address.split("/")[2]:
        raise UnaskableError("its address is none of http or https without a login")
    if number is None:
        return {"url": url}
    return {"url": url, "elicitationId": _exact(number, "its elicitationId")}


def _form(schema: Any) -> Message:
    fields = schema.get("properties") if isinstance(schema, dict) and schema.get("type") == "object" else None
    if not isinstance(fields, dict):
        raise UnaskableError("its form is no object with properties")
    if len(fields) > MOST_FIELDS:
        raise UnaskableError(f"its form has more than {MOST_FIELDS} fields")
    read = {_exact(name, "a field"): _field(field) for name, field in fields.items()}
    found: Message = {"type": "object", "properties": read}
    required = schema.get("required")
    if required is not None:
        if not isinstance(required, list) or not all(isinstance(each, str) and each in fields for each in required):
            raise UnaskableError("its form requires what is no field of it")
        found["required"] = list(dict.fromkeys(required))
    if len(json.dumps(found, ensure_ascii=False)) > MOST_FORM:
        raise UnaskableError(f"its form has more than {MOST_FORM:,} characters")
    return found


def _field(field: Any) -> Message:
    kind = field.get("type") if isinstance(field, dict) else None
    read = _KINDS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise UnaskableError("a field of its form is neither a text, a number, yes or no, nor a choice")
    found: Message = {"type": kind}
    for key in ("title", "description"):
        if isinstance(field.get(key), str):
            found[key] = shown(field[key])
    return found | read(field)


def _text(field: Mapping[str, Any]) -> Message:
    found = _counts(field, "minLength", "maxLength")
    if field.get("format") in _FORMATS:
        found["format"] = field["format"]
    if "oneOf" in field:
        found["oneOf"] = _titled(field["oneOf"])
    if "enum" in field:
        found["enum"] = _choices(field["enum"])
        names = field.get("enumNames")
        names = [shown(each) for each in names if isinstance(each, str)] if isinstance(names, list) else []
        if len(names) == len(found["enum"]):
            found["enumNames"] = names
    if field.get("default") is not None:
        found["default"] = _exact(field["default"], "a default", MOST_FORM)
    return found


def _number(field: Mapping[str, Any]) -> Message:
    found: Message = {}
    for key in ("minimum", "maximum", "default"):
        if field.get(key) is not None:
            if not isinstance(field[key], (int, float)) or isinstance(field[key], bool):
                raise UnaskableError(f"the {key} of a number in its form is none")
            found[key] = field[key]
    return found


def _yes_or_no(field: Mapping[str, Any]) -> Message:
    default = field.get("default")
    if default is None:
        return {}
    if not isinstance(default, bool):
        raise UnaskableError("a default in its form is neither yes nor no")
    return {"default": default}


def _several(field: Mapping[str, Any]) -> Message:
    items = field.get("items")
    if not isinstance(items, dict):
        raise UnaskableError("a list in its form is no choice")
    found = _counts(field, "minItems", "maxItems")
    if "anyOf" in items:
        found["items"] = {"anyOf": _titled(items["anyOf"])}
    elif items.get("type") == "string" and "enum" in items:
        found["items"] = {"type": "string", "enum": _choices(items["enum"])}
    else:
        raise UnaskableError("a list in its form is no choice")
    if field.get("default") is not None:
        found["default"] = _choices(field["default"])
    return found


def _counts(field: Mapping[str, Any], *keys: str) -> Message:
    found = {key: field[key] for key in keys if field.get(key) is not None}
    if not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in found.values()):
        raise UnaskableError("a length in its form is no number")
    return found


def _titled(choices: Any) -> list[Message]:
    if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
        raise UnaskableError(f"a choice in its form has more than {MOST_CHOICES} answers, or none")
    found = []
    for each in choices:
        if not isinstance(each, dict) or not isinstance(each.get("title"), str):
            raise UnaskableError("an answer in its form has no title")
        found.append({"const": _exact(each.get("const"), "an answer"), "title": shown(each["title"])})
    return found


def _choices(choices: Any) -> list[str]:
    if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
        raise UnaskableError(f"a choice in its form has more than {MOST_CHOICES} answers, or none")
    return [_exact(each, "an answer") for each in choices]


def _exact(text: Any, what: str, most: int = _MOST_NAME) -> str:
    """A text that comes back to the server as it is: it is shown to the letter or not at all."""
    if not isinstance(text, str) or len(text) > most or shown(text) != text:
        raise UnaskableError(f"{what} in its form is no text of at most {most:,} characters that can all be seen")
    return text


_KINDS: dict[str, Reader] = {
    "string": _text,
    "number": _number,
    "integer": _number,
    "boolean": _yes_or_no,
    "array": _several,
}
