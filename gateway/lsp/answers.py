"""Answers to requests of language servers: their own configuration and the workspace. Edits that they ask for are
refused. Pure."""

from __future__ import annotations

from gateway.core.errors import GatewayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

METHOD_NOT_FOUND = -32601
_MOST_SECTIONS = 1_000
# Asked for, noted, and nothing that we do depends on it.
_NOTED = frozenset(
    [
        "client/registerCapability",
        "client/unregisterCapability",
        "window/workDoneProgress/create",
        "window/showMessageRequest",
        "workspace/codeLens/refresh",
        "workspace/diagnostic/refresh",
        "workspace/foldingRange/refresh",
        "workspace/inlayHint/refresh",
        "workspace/inlineValue/refresh",
        "workspace/semanticTokens/refresh",
    ]
)


class UnansweredError(GatewayError):
    """Nobody answers such a request."""


def answer(
    method: str, params: Mapping[str, Any], configuration: Mapping[str, Any], folders: Sequence[Mapping[str, str]]
) -> Any:
    """The result of a request of the server's. Raises UnansweredError."""
    if method == "workspace/configuration":
        items = params.get("items")
        if isinstance(items, list) and len(items) > _MOST_SECTIONS:
            raise UnansweredError(f"no more than {_MOST_SECTIONS:,} sections are told at once")
        return [_section(configuration, each) for each in items] if isinstance(items, list) else []
    if method == "workspace/workspaceFolders":
        return list(folders)
    if method == "workspace/applyEdit":
        return {"applied": False, "failureReason": "language servers change nothing here"}
    if method == "window/showDocument":
        return {"success": False}
    if method in _NOTED:
        return None
    raise UnansweredError(f"`{method[:80]}` is not answered here")


def _section(configuration: Mapping[str, Any], item: Any) -> Any:
    """A section of the configuration by its dotted name, None where there is none."""
    name = item.get("section") if isinstance(item, dict) else None
    if not isinstance(name, str) or not name:
        return configuration
    found: Any = configuration
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return found
