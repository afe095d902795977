"""Secrets that were handed out, taken out of what is said back: as they are, and in the spellings that programs give
them (JSON, percent signs, HTML, base64, a `repr`)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

HIDDEN = "[secret]"
# Shorter values would be found where they are no secret.
LEAST = 4
_LEAST_LINE = 8  # of one line of a secret that has several


def hidden(text: str, secrets: Collection[str]) -> str:
    """The text without the secrets."""
    return _without(text, _spellings(secrets))


def hidden_bytes(data: bytes, secrets: Collection[str]) -> bytes:
    """The same of bytes, whether they are text or not."""
    return hidden(data.decode("utf-8", "surrogateescape"), secrets).encode("utf-8", "surrogateescape")


def hidden_in(data: Any, secrets: Collection[str]) -> Any:
    """The same of data as JSON has it, names of fields and numbers included."""
    return _within(data, _spellings(secrets))


def _without(text: str, spellings: list[str]) -> str:
    for each in spellings:
        text = text.replace(each, HIDDEN)
    return text


def _within(data: Any, spellings: list[str]) -> Any:
    if not spellings:
        return data
    if isinstance(data, str):
        return _without(data, spellings)
    if isinstance(data, dict):
        return {_without(name, spellings): _within(each, spellings) for name, each in data.items()}
    if isinstance(data, (list, tuple)):
        return [_within(each, spellings) for each in data]
    if isinstance(data, (int, float)) and not isinstance(data, bool) and str(data) in spellings:
        return HIDDEN
    return data


def _spellings(secrets: Collection[str]) -> list[str]:
    """Every spelling that is looked for, the longest first, so that none is cut by another."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) < LEAST:
            continue
        found |= _written(secret)
        lines = secret.splitlines()
        if len(lines) > 1:  # which are said one by one
            for line in lines:
                if len(line.strip()) >= _LEAST_LINE:
                    found |= _written(line.strip())
    return sorted(found, key=len, reverse=True)


def _written(secret: str) -> set[str]:
    import json
    from base64 import b64encode
    from html import escape
    from urllib.parse import quote, quote_plus

    data = secret.encode("utf-8", "surrogateescape")
    found = {secret, repr(secret)[1:-1], repr(data)[2:-1], escape(secret), escape(secret, quote=False)}
    for in_ascii in (True, False):
        once = json.dumps(secret, ensure_ascii=in_ascii)[1:-1]
        twice = json.dumps(once, ensure_ascii=in_ascii)[1:-1]
        found |= {once, twice, once.replace("/", "\\/")}
    for percent in (quote(data), quote(data, safe=""), quote_plus(data)):
        found |= {percent, _small(percent)}
    for before in range(3):  # base64 spells three bytes at a time: it depends on how many stand before the secret
        length = before + len(data)
        spelled = b64encode(b"\0" * before + data)[(before * 8 + 5) // 6 : length * 8 // 6].decode("ascii")
        found |= {spelled, spelled.replace("+", "-").replace("/", "_")}
    return {each for each in found if len(each) >= LEAST}


def _small(percent: str) -> str:
    """Percent signs with small letters behind them."""
    first, *rest = percent.split("%")
    return first + "".join(f"%{each[:2].lower()}{each[2:]}" for each in rest)
