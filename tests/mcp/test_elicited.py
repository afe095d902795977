"""What servers may have people asked: what the protocol has, and not more of it than anybody reads."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.mcp.elicitation import MOST_CHOICES, MOST_FIELDS, MOST_FORM, MOST_MESSAGE, UnaskableError, elicited
from gateway.mcp.json_rpc import RpcError
from gateway.mcp.relay import MOST_REQUESTS, Relay, asked_for


def form(**fields: Any) -> dict[str, Any]:
    return {"message": "Who?", "requestedSchema": {"type": "object", "properties": fields}}


FIELDS = {
    "a text": {"type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 9, "format": "email",
               "default": "a"},
    "a number": {"type": "number", "minimum": 0.5, "maximum": 2, "default": 1},
    "a whole number": {"type": "integer", "minimum": 0},
    "yes or no": {"type": "boolean", "default": False},
    "a choice": {"type": "string", "enum": ["a", "b"], "default": "b"},
    "a choice with names": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "a choice with titles": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
    "several": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["a", "b"]},
                "default": ["a"]},
    "several with titles": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_what_the_protocol_has_is_handed_on_as_it_is(field: dict[str, Any]) -> None:
    given = form(who=field)
    given["requestedSchema"]["required"] = ["who"]
    assert elicited(given) == given
    assert elicited({**given, "mode": "form"}) == {**given, "mode": "form"}


LEFT_OUT = {
    "beside the message": {"_meta": {"a": 1}, "task": {}, "html": "<b>"},
    "beside the fields": {"requestedSchema": {
        "$schema": "x", "title": "T", "$defs": {"a": {}}, "additionalProperties": False, "anyOf": [{}],
        "type": "object", "properties": {"a": {"type": "string"}},
    }},
    "in a field": {"requestedSchema": {"type": "object", "properties": {
        "a": {"type": "string", "pattern": "(a+)+", "properties": {"b": {}}, "$ref": "x", "format": "x", "title": 3},
    }}},
}  # fmt: skip


@pytest.mark.parametrize("more", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_it_does_not_have_is_left_out(more: dict[str, Any]) -> None:
    assert elicited({**form(a={"type": "string"}), **more}) == form(a={"type": "string"})


def test_what_cannot_be_seen_is_shown() -> None:
    given = {**form(a={"type": "string", "title": "a\u202eb"}), "message": "a\x1b[2Jb"}
    found = elicited(given)
    assert (found["message"], found["requestedSchema"]["properties"]["a"]["title"]) == ("a\\x1b[2Jb", "a\\u202eb")


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        found = {"type": "object", "properties": {"a": found}}
    return found


NO_FIELD = "a field of its form is neither a text, a number, yes or no, nor a choice"
REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": (None, "it has no message"),
    "no message": ({"requestedSchema": {}}, "it has no message"),
    "a blank one": ({**form(), "message": " "}, "it has no message"),
    "a long one": ({**form(), "message": "x" * (MOST_MESSAGE + 1)}, "its message has more than 4,000 characters"),
    "another mode": ({**form(), "mode": "popup"}, "it is neither a form nor an address"),
    "a mode that is none": ({**form(), "mode": []}, "it is neither a form nor an address"),
    "no form": ({"message": "m"}, "its form is no object with properties"),
    "a form that is a list": ({"message": "m", "requestedSchema": []}, "its form is no object with properties"),
    "a form of another type": (
        {"message": "m", "requestedSchema": {"type": "array", "properties": {}}},
        "its form is no object with properties",
    ),
    "many fields": (form(**{f"f{n}": {"type": "string"} for n in range(MOST_FIELDS + 1)}), "more than 50 fields"),
    "an object in a field": (form(a=nested(1)), NO_FIELD),
    "one without end": (form(a=nested(400)), NO_FIELD),
    "objects in a list": (form(a={"type": "array", "items": {"type": "object"}}), "a list in its form is no choice"),
    "a list of lists": (form(a={"type": "array", "items": {"type": "array"}}), "a list in its form is no choice"),
    "a list of anything": (form(a={"type": "array"}), "a list in its form is no choice"),
    "alternatives": (form(a={"anyOf": [{"type": "string"}, {"type": "null"}]}), NO_FIELD),
    "several types": (form(a={"type": ["string", "null"]}), NO_FIELD),
    "a field that is none": (form(a=3), NO_FIELD),
    "a name that hides": (form(**{"a\u202e": {"type": "string"}}), "a field in its form is no text"),
    "an answer that hides": (form(a={"type": "string", "enum": ["a\u200b"]}), "an answer in its form is no text"),
    "an answer that is no text": (form(a={"type": "string", "enum": [1]}), "an answer in its form is no text"),
    "many answers": (form(a={"type": "string", "enum": ["a"] * (MOST_CHOICES + 1)}), "more than 200 answers"),
    "a default of another type": (form(a={"type": "boolean", "default": "yes"}), "neither yes nor no"),
    "a number that is none": (form(a={"type": "number", "minimum": "0"}), "the minimum of a number in its form"),
    "a length that is none": (form(a={"type": "string", "maxLength": -1}), "a length in its form is no number"),
    "what is required and not there": (
        {"message": "m", "requestedSchema": {"type": "object", "properties": {}, "required": ["a"]}},
        "its form requires what is no field of it",
    ),
    "a long form": (form(a={"type": "string", "description": "x" * MOST_FORM}), "more than 20,000 characters"),
    "an address of a file": ({"mode": "url", "message": "m", "url": "file:///etc/passwd"}, "its address"),
    "an address that runs": ({"mode": "url", "message": "m", "url": "javascript:alert(1)"}, "its address"),
    "an address with a login": ({"mode": "url", "message": "m", "url": "https://a:b@c.example/"}, "its address"),
    "no address": ({"mode": "url", "message": "m"}, "its address is none"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "why"), REFUSED.values(), ids=REFUSED)
def test_what_nobody_is_asked_is_refused_with_the_reason(params: Any, why: str) -> None:
    with pytest.raises(UnaskableError) as refused:
        elicited(params)
    assert why in str(refused.value)
    with pytest.raises(RpcError) as told:
        asked_for("docs", "elicitation/create", params, ["elicitation"], exchange())
    assert told.value.message == f"no client is asked for what the server wants to know: {refused.value}"


def exchange(**has: Any) -> Any:
    def may_ask(kind: str = "elicitation", mode: str = "form") -> bool:
        return kind == "elicitation" and mode in (has or {"form": {}, "url": {}})

    return SimpleNamespace(may_ask=may_ask)


def test_who_asks_is_said() -> None:
    found = asked_for("docs", "elicitation/create", form(a={"type": "string"}), ["elicitation"], exchange())
    assert found == {**form(a={"type": "string"}), "message": "The MCP server `docs` asks: Who?"}


@pytest.mark.parametrize("has_it", [True, False])
def test_an_address_goes_to_clients_that_take_one(has_it: bool) -> None:
    given = {"mode": "url", "message": "Log in.", "url": "https://a.example/in?x=1", "elicitationId": "7", "more": 1}
    has = {"url": {}} if has_it else {"form": {}}

    def ask() -> Any:
        return asked_for("docs", "elicitation/create", given, ["elicitation"], exchange(**has))

    if has_it:
        assert ask() == {
            "mode": "url", "message": "The MCP server `docs` asks: Log in.", "url": "https://a.example/in?x=1",
            "elicitationId": "7",
        }  # fmt: skip
    else:
        with pytest.raises(RpcError, match="the client has no elicitation of the mode url"):
            ask()


def relay() -> Relay:
    async def made() -> Relay:
        link: Any = SimpleNamespace(name="docs", upstream=SimpleNamespace())
        rules: Any = None
        return Relay(link, exchange(), "tools/call", {}, rules, may=["elicitation"])

    return asyncio.run(made())


def test_of_a_request_without_handshake_nothing_else_goes_on() -> None:
    asked = {"method": "elicitation/create", "params": form(), "more": {"a": 1}}
    found = relay()._requests({"k": asked})
    assert found == {"k": {"method": "elicitation/create", "params": asked_for(
        "docs", "elicitation/create", form(), ["elicitation"], exchange()
    )}}  # fmt: skip


def test_a_server_asks_for_few_things_at_once() -> None:
    asked = {"method": "elicitation/create", "params": form()}
    assert len(relay()._requests({f"k{number}": asked for number in range(MOST_REQUESTS)})) == MOST_REQUESTS
    with pytest.raises(RpcError, match="it asks for more than 10 things at once"):
        relay()._requests({f"k{number}": asked for number in range(MOST_REQUESTS + 1)})
