"""JSON from a client, read so that every server would read the same in it. Pure."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class JsonError(ValueError):
    """A text that is no single object, or that servers would read in different ways; the message says why."""


def object_of(body: bytes) -> dict[str, Any]:
    """The one object that a text holds; no key stands twice in it, at any depth. Raises JsonError."""
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except JsonError:
        raise
    except (ValueError, RecursionError):
        raise JsonError("the body is no JSON") from None
    if found.__class__ is not dict:
        raise JsonError("the body must be one object of JSON")
    return dict(found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonError("a key stands twice in the JSON")
    return found


def _no_number(text: str) -> Any:
    raise JsonError(f"the JSON holds `{text}`, which is no number")
