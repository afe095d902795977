"""JSON from a client, read so that every server would read the same in it. Pure."""

from __future__ import annotations

from gateway.core.plainjson import AmbiguousError, unambiguous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class JsonError(ValueError):
    """A text that is no single object, or that servers would read in different ways; the message says why."""


def object_of(body: bytes) -> dict[str, Any]:
    """The one object that a text holds; no key stands twice in it, at any depth. Raises JsonError."""
    try:
        found = unambiguous(body)
    except AmbiguousError as error:
        raise JsonError(f"the body is JSON that servers may read in different ways: {error}") from None
    except (ValueError, RecursionError):
        raise JsonError("the body is no JSON") from None
    if found.__class__ is not dict:
        raise JsonError("the body must be one object of JSON")
    return dict(found)
