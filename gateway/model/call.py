"""The one value that is judged, shown, run and recorded."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class RawCall(Value):
    """A call as a front end received it. `partial`: missing fields are unknown, not errors (`gateway check`).

    `server`: identity of the MCP server behind the tool ("" if none); `annotations`: what that server says of it.
    """

    tool: str
    input: Mapping[str, Any]
    partial: bool = False
    server: str = ""
    annotations: Mapping[str, Any] = {}


class Call(Value):
    """A call after canonicalisation: real tool name, coerced and defaulted input, absolute paths.

    `shown` is the text of the match field, which spans refer to ("" when the tool has none). `server`: the MCP server
    that is asked, as the tool's declaration or the call's own field says; else as in `RawCall`.
    """

    tool: str
    input: Mapping[str, Any]
    shown: str
    server: str = ""
    annotations: Mapping[str, Any] = {}
