"""Settings in TOML."""

from __future__ import annotations

from gateway.commands.steering.entries import NotRead, flat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.entries import Entry


def entries(text: str) -> list[Entry]:
    """Raises NotRead for what is not TOML."""
    import tomllib  # lazy: few calls start a program that has such settings

    try:
        return flat(tomllib.loads(text))
    except (ValueError, RecursionError):
        raise NotRead("no TOML") from None
