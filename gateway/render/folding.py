"""Long lists in texts of rules and values of settings, folded to their beginning and the number of the rest."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 6  # a list of so many stays whole
_SHOWN = 4  # of a longer one


def folded(text: str) -> str:
    """The text of a rule with each long list of words folded: `[a, b, c, d, … 23 more]`. Lists of mappings stay, with
    what is in them folded; a text whose brackets do not match is left as it is."""
    try:
        found, at = _folded(text, 0, "")
    except ValueError:
        return text
    return found if at == len(text) else text


def _folded(text: str, at: int, closing: str) -> tuple[str, int]:
    """The text up to the bracket that closes, folded, and where that bracket stands. Raises ValueError without one."""
    items: list[str] = []
    item = ""
    while at < len(text):
        character = text[at]
        if closing and character == closing:
            return _joined([*items, item] if item else items, closing), at
        if character in "[{":
            end = "]" if character == "[" else "}"
            inner, at = _folded(text, at + 1, end)
            item += character + inner + end
        elif character in "]}":
            raise ValueError(text)
        elif closing and text.startswith(", ", at):
            items.append(item)
            item = ""
            at += 1
        else:
            item += character
        at += 1
    if closing:
        raise ValueError(text)
    return item, at


def _joined(items: list[str], closing: str) -> str:
    if closing == "]" and len(items) > MOST and not any(item.startswith(("{", "[")) for item in items):
        return _with_rest(items)
    return ", ".join(items)


def _with_rest(items: list[str]) -> str:
    return ", ".join([*items[:_SHOWN], f"… {len(items) - _SHOWN} more"])


def folded_value(value: Any) -> str:
    """The value of a setting as JSON, a text as it is; a long list is folded, also one in a mapping."""
    if isinstance(value, str):
        return value
    return _spelled(value)


def _spelled(value: Any) -> str:
    import json  # lazy: a plain verdict has no settings to show

    if isinstance(value, (list, tuple)):
        items = [_spelled(each) for each in value]
        return f"[{_with_rest(items) if len(items) > MOST else ', '.join(items)}]"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {_spelled(each)}" for name, each in value.items())
            + "}"
        )
    return json.dumps(value, ensure_ascii=False)
