"""How effects and texts of a call read to people and models: plain words, nothing hidden.

A text of a call may hold characters that move the cursor, reverse the direction of writing or show nothing at
all. `visible` writes them as escapes, so that what is shown is what would run.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, LEAVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.effect import Effect

UNKNOWN = "?"
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", HOLE: UNKNOWN}

# Printable by category, yet drawn as nothing or on top of their neighbours.
_BLANK = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
    | set(range(0x0488, 0x048A))
    | set(range(0x20DD, 0x20E5))
)


def visible_character(character: str) -> str:
    """The character itself, or its escape if it cannot be seen for what it is."""
    if character.isprintable():
        code = ord(character)
        if code < 0x034F or (code not in _BLANK and not 0xE0100 <= code <= 0xE01EF):
            return character
    short = _SHORT.get(character)
    if short is not None:
        return short
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text on one line with every character that cannot be seen escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(visible_character, text))


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters: the middle is left out, because both ends tell what a command is."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def quote(text: str, limit: int = 160) -> str:
    """The text between backticks, visible and bounded."""
    return f"`{visible(shortened(text, limit))}`"


def target(effect: Effect, limit: int = 4096) -> str:
    """What the effect is on, for JSON: unknown parts are `?`."""
    text = effect.target
    if HOLE in text:
        text = text.replace(HOLE, UNKNOWN)
    return text if len(text) <= limit else shortened(text, limit)


def _touch(effect: Any) -> str:
    if HOLE in effect.path:
        known = effect.path.strip("/" + HOLE)
        path = f"{quote(effect.path)}, which is" if known else "a path that is"
        path += " not known before the run"
    else:
        path = quote(effect.path)
    if effect.tree:
        path = f"{' and '.join(map(quote, effect.only)) or 'everything'} below {path}"
    verb = {"list": "lists", "read": "reads", "write": "writes", "delete": "deletes"}[effect.kind]
    return f"{verb} {path}" + (f", which leads to {quote(effect.real)}" if effect.real else "")


def _connect(effect: Any) -> str:
    where = "a host that is not known before the run" if HOLE in effect.host else quote(target(effect))
    verb = {"fetch": "fetches from ", "send": "sends to ", "listen": "listens on "}[effect.direction]
    return verb + where + _sent(effect)


def _sent(effect: Any) -> str:
    """Which files' content may leave with a connection."""
    if not effect.sends:
        return ""
    named = [quote(path) for path in effect.sends if HOLE not in path][:3]
    more = len(effect.sends) - len(named)
    others = ["something that is not known before the run" if not named else "more"] if more else []
    return ", with what may come from " + " and ".join([*named, *others])


def _env(effect: Any) -> str:
    return ("sets" if effect.access == "set" else "outputs") + f" the environment variable {quote(effect.name)}"


_PHRASES: dict[str, Any] = {
    "use": lambda e: f"calls {quote(e.tool)}",
    "exec": lambda e: f"runs {quote(e.target)}",
    "code": lambda e: f"runs code of {quote(e.program)} that cannot be seen from here ({visible(e.why)})",
    "opaque": lambda e: f"runs something that cannot be known before ({visible(e.why)})",
    "connect": _connect,
    "push": lambda e: (
        f"pushes to {quote(e.remote)}" + (f", ref {quote(e.ref)}" if e.ref else "") + (" by force" * e.force)
    ),
    "credential": lambda e: (
        f"lets {quote(e.program)} use{' and change' * e.changes} the login material {quote(e.path)}"
    ),
    "env": _env,
    "process": lambda e: f"affects other processes: {quote(e.target)}",
    "system": lambda e: "runs without the sandbox" if e.action == LEAVE else f"changes the system: {quote(e.target)}",
    "session": lambda e: f"changes the session: {quote(e.what)}",
}


def phrase(effect: Effect) -> str:
    """What the effect does, as the end of a sentence: "writes `/a/b`"."""
    return str(_PHRASES.get(effect.kind, _touch)(effect))
