"""A GraphQL request that only queries, serialized again from its parsed form. Pure.

The grammar is that of the GraphQL specification (September 2025), sections 2.1 and 2.2: what is neither a query nor a
fragment is refused, comments are dropped; of the JSON around it only the query, its name and its variables are sent.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gateway.sandbox.egress.strict_json import object_of

_TOKEN = re.compile(
    r'(?P<skip>[\ufeff\t\n\r ,]+|#[^\n\r]*)|(?P<mark>\.\.\.|[!$&():=@\[\]{|}])|(?P<name>[A-Za-z_][A-Za-z0-9_]*)'
    r'|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])'
    r'|(?P<block>"""(?:\\"""|[^\x00-\x08\x0b\x0c\x0e-\x1f])*?""")|(?P<text>"(?!"")(?:\\["\\/bfnrtu]|[^"\\\x00-\x1f])*")'
)  # fmt: skip
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_KEYS = frozenset(("query", "variables", "operationName"))


class GraphqlError(ValueError):
    """A request that may do more than ask; the message says why."""


def rewritten(body: bytes) -> bytes:
    """What a body in JSON may send instead of it. Raises ValueError."""
    found = object_of(body)
    if not found.keys() <= _KEYS:
        raise GraphqlError("a request of GraphQL may only have a query, its name and its variables")
    query, name, variables = found.get("query"), found.get("operationName"), found.get("variables")
    if query.__class__ is not str:
        raise GraphqlError("a request of GraphQL must have one query in words")
    if name is not None and not (name.__class__ is str and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)):
        raise GraphqlError("the name of a query must be a name")
    if variables is not None and variables.__class__ is not dict:
        raise GraphqlError("the variables of a query must be an object")
    made: dict[str, Any] = {"query": asked(str(query))}
    if name is not None:
        made["operationName"] = name
    if variables:
        made["variables"] = variables
    return json.dumps(made, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def asked(text: str) -> str:
    """The document, token by token, where all it holds are queries and fragments. Raises GraphqlError."""
    tokens = _tokens(text)
    open_: list[str] = []
    kind = ""  # of the definition that is being read
    queries = 0
    for token in tokens:
        if not open_ and not kind:
            if token not in ("{", "query", "fragment"):
                raise GraphqlError("only queries may be sent to this host" if token in _OTHERS else "it is no query")
            kind = token
            queries += token != "fragment"
        if token in _CLOSES:
            open_.append(_CLOSES[token])
        elif token in (")", "]", "}"):
            if not open_ or open_.pop() != token:
                raise GraphqlError("the brackets of the query do not match")
            if not open_ and token == "}":
                kind = ""  # a definition of a query ends with the braces of what it asks for, and nowhere else
    if open_ or kind or not queries:
        raise GraphqlError("the query is not whole")
    return " ".join(tokens)


_OTHERS = frozenset(("mutation", "subscription", "schema", "type", "extend", "scalar", "interface", "union", "enum",
                     "input", "directive"))  # fmt: skip


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise GraphqlError("the query holds characters that are no part of GraphQL")
        at = match.end()
        if match.lastgroup != "skip":
            found.append(match[0])
    return found
