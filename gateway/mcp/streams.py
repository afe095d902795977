"""Messages of the package `mcp` as plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def plain(message: Any) -> dict[str, Any]:
    """A message of the package `mcp` as JSON has it, with nothing that was not said."""
    found: dict[str, Any] = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    return found
