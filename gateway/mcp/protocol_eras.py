"""The two eras of the protocol: with a handshake and a session, and without. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_KEY = "io.modelcontextprotocol/logLevel"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
ENVELOPE = (VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY)
INPUT_REQUIRED = "input_required"
# What a server may ask of a client, and which of a client's capabilities it takes.
ASKS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
# Parameters that the name of a request's target stands in, which HTTP requests also say in a header.
TARGETS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def is_stateless(version: str) -> bool:
    """Whether a version has neither handshake nor session."""
    return version not in HANDSHAKE


def without_envelope(meta: Any) -> dict[str, Any]:
    """A request's `_meta` without what says who sends it: that is not the client's to say to a server behind us."""
    if not isinstance(meta, dict):
        return {}
    return {key: value for key, value in meta.items() if key not in ENVELOPE and key != "progressToken"}


def stamped(params: Mapping[str, Any] | None, version: str, info: Any, capabilities: Any) -> dict[str, Any]:
    """The parameters of a request of the stateless era, with who sends it."""
    found = dict(params or {})
    meta = {**(found.get("_meta") or {}), VERSION_KEY: version, CLIENT_KEY: info, CAPABILITIES_KEY: capabilities}
    return {**found, "_meta": meta}


def translated(result: Mapping[str, Any], version: str) -> dict[str, Any]:
    """A server's result in the words of the client's era: what it means stays, to the letter."""
    found = dict(result)
    if is_stateless(version):
        found.setdefault("resultType", "complete")
    elif found.get("resultType") == "complete":
        del found["resultType"]
    return found
