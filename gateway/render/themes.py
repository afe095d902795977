"""Names for what is shown, and the colours that a theme gives them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.theme import Theme

DEFAULT = "dark"
_DARK = {
    "call": "bold", "tool": "bold cyan", "mark": "cyan", "progress": "dim", "error": "bold red", "refused": "bold red",
    "asked": "bold yellow", "note": "yellow", "report": "yellow", "done": "green", "faint": "dim", "folder": "dim",
    "name": "default", "number": "dim", "added": "green", "removed": "red", "place": "cyan", "head": "bold",
}  # fmt: skip
_LIGHT = _DARK | {
    "tool": "bold blue", "mark": "blue", "note": "magenta", "report": "magenta", "asked": "bold magenta",
    "place": "blue", "progress": "bright_black", "faint": "bright_black", "folder": "bright_black",
    "number": "bright_black",
}  # fmt: skip
_HIGH_CONTRAST = dict.fromkeys(_DARK, "default") | {
    "call": "bold", "tool": "bold", "error": "bold reverse", "refused": "bold reverse", "asked": "bold underline",
    "added": "bold", "removed": "strike", "head": "bold",
}  # fmt: skip
THEMES = {"dark": _DARK, "light": _LIGHT, "contrast": _HIGH_CONTRAST}


def theme(name: str) -> Theme:
    """The theme of that name."""
    from rich.theme import Theme

    return Theme({f"g.{key}": style for key, style in THEMES[name].items()}, inherit=True)
