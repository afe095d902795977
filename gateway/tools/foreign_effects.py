"""Effects that only tools of foreign agents have: what a text or a list of theirs names."""

from __future__ import annotations

from gateway.model.effect import HOLE, Connect, Item, Opaque, Touch
from gateway.tools.paths import WILDCARDS, UnclearError, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.tools.declaration import Declaration

_MOST = 200
_DEEPEST = 20
_SAME = {"ws": "http", "wss": "https"}
_AROUND = "\"'`<>()[]{},;"


def found_in(do: str, tool: Declaration, call: Call, declared: dict[str, Any], context: Context) -> list[Item]:
    """The effects that a field's content tells. What it cannot tell is an effect without a known target."""
    field = declared["field"]
    value = call.input.get(field)
    if value is None and field not in tool.required:
        return []
    if do == "urls":
        return _urls(" ".join(_texts(value, 0)))
    texts = value if value.__class__ is tuple else (value,)
    if any(each.__class__ is not str for each in texts):
        return [Item(Opaque(f"`{field}` is not known"))]
    return _patch("\n".join(texts), context) if do == "patch" else [_pattern(each, context) for each in texts]


def _texts(value: Any, depth: int) -> list[str]:
    """All text in a value; what is nested too deep is no text that anybody reads as a URL."""
    if value.__class__ is str:
        return [value]
    inner = value.values() if isinstance(value, dict) else value if value.__class__ is tuple else ()
    return [text for each in inner for text in _texts(each, depth + 1)] if depth < _DEEPEST else []


def _path(path: str, context: Context) -> str:
    try:
        return absolute(path, context.cwd, context.home)
    except UnclearError:
        return HOLE


def _patch(text: str, context: Context) -> list[Item]:
    from gateway.tools.patch import touched

    told = touched(text)
    found = [Item(Touch(kind, _path(path, context))) for kind, path in told.files]
    return [*found, Item(Opaque(told.doubt))] if told.doubt else found


def _urls(text: str) -> list[Item]:
    """Every word with a scheme; a host that is not known where there is none, or one that cannot be read."""
    words = [word for word in text.translate(dict.fromkeys(map(ord, _AROUND), " ")).split() if "://" in word]
    if not words or len(words) > _MOST:
        return [Item(Connect(HOLE, 0, "fetch"))]
    return [_connection(word, "fetch") for word in dict.fromkeys(words)]


def _connection(url: str, direction: str) -> Item:
    from gateway.tools.urls import parse

    scheme, _, rest = url.rstrip(".!?").partition("://")
    try:
        found = parse(f"{_SAME.get(scheme.lower(), scheme)}://{rest}")
    except UnclearError:
        return Item(Connect(HOLE, 0, direction))
    return Item(Connect(found.host, found.port, direction))


def _pattern(pattern: str, context: Context) -> Item:
    """All that may lie below the folders before the first wildcard; without one, the path and what is below it."""
    wild = min((at for mark in WILDCARDS if (at := pattern.find(mark)) >= 0), default=len(pattern))
    rest = pattern[wild:]
    if ".." in rest or "{/" in rest or ",/" in rest:
        return Item(Touch("read", HOLE, True))
    folder = pattern if not rest else pattern[: pattern.rfind("/", 0, wild) + 1] or "."
    return Item(Touch("read", _path(folder, context), True))
