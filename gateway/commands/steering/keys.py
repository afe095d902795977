"""Lists of keys that start nothing, and of what their values may be.

A list is a text of words. `line-length`: this key, whatever its value; `lint.**`: it and all below it; `a.*.b`: the
same with any key between; `fix=no`: only where the check of this name agrees with each value, or where the value is
one of several words (`extends=default|relaxed`). Upper and lower case, `-` and `_` are the same: no program that is
known here has two settings that differ in nothing else.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.commands.steering.entries import Entry

    Rules = tuple[dict[str, str], tuple[tuple[tuple[str, ...], str], ...]]

_NO = frozenset(("false", "no", "off", "0"))
_ON_OR_OFF = frozenset(("", "true", "yes", "on", "1"))
_VERSION = re.compile(r"[A-Za-z0-9][\w.+-]*")
_NPM = ("https://registry.npmjs.org/", "https://registry.npmjs.org")
_read: dict[str, Rules] = {}


def unlisted(found: Iterable[Entry], within: tuple[str, ...], keys: str) -> str:
    """The first key below the tables `within` that is not on the list, or has another value than it may have; "" if
    there is none."""
    plain, patterns = _rules(keys)
    for path, value in found:
        if path[: len(within)] != within:
            continue
        steps = tuple([folded(step) for step in path[len(within) :]])
        check = plain.get(".".join(steps)) if all("." not in step for step in steps) else None
        if check is None:
            check = next((check for pattern, check in patterns if _fits(steps, pattern)), None)
        if check is None or not agrees(check, value):
            return ".".join(path[len(within) :]) or "what it holds"
    return ""


def folded(key: str) -> str:
    """A key as programs compare them that take `_` for `-` and letters in either case."""
    return key.lower().replace("_", "-")


def _rules(keys: str) -> Rules:
    found = _read.get(keys)
    if found is None:
        plain: dict[str, str] = {}
        patterns = []
        for word in keys.split():
            name, _, check = word.partition("=")
            if "*" in name:
                patterns.append((tuple(name.split(".")), check))
            else:
                plain[name] = check
        found = _read[keys] = (plain, tuple(patterns))
    return found


def _fits(steps: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if pattern[-1] == "**":
        pattern = pattern[:-1]
        steps = steps[: len(pattern)] if len(steps) >= len(pattern) else ()
    return len(steps) == len(pattern) and all(
        each == "*" or step == each or (len(each) > 1 and each[-1] == "*" and step.startswith(each[:-1]))
        for step, each in zip(steps, pattern, strict=True)
    )


def agrees(check: str, value: object) -> bool:
    """Whether a value is one that a check lets through. "" is the check that lets everything through."""
    if not check:
        return True
    known = CHECKS.get(check)
    return known(value) if known is not None else _text(value) in check.split("|")


def _text(value: object) -> str:
    return "true" if value is True else "false" if value is False else "" if value is None else str(value)


def is_inside(value: object) -> bool:
    """Whether a path leads below the folder that it is seen from, as it is written."""
    text = _text(value)
    return (
        bool(text) and ".." not in text.split("/") and text[0] not in "/~" and not any(each in text for each in "$%:\\")
    )


def _is_above(value: object) -> bool:
    """Whether a path names settings of ruff in a folder further up, which are looked at anyway."""
    *steps, name = _text(value).split("/")
    return name in ("ruff.toml", ".ruff.toml", "pyproject.toml") and all(step == ".." for step in steps)


def _is_cache(value: object) -> bool:
    return is_inside(value) and "cache" in _text(value).lower()


CHECKS: dict[str, Callable[[object], bool]] = {
    "never": lambda value: value is False,
    "no": lambda value: _text(value).lower() in _NO,
    # Of options that are made into a command line, where a value may be taken for another option.
    "switch": lambda value: _text(value).lower() in _ON_OR_OFF or value is False,
    "word": lambda value: _text(value)[:1] not in ("-", "%"),
    "inside": is_inside,
    "each-inside": lambda value: all(is_inside(each.strip()) for each in _text(value).split(",")),
    "above": _is_above,
    "cache": _is_cache,
    "version": lambda value: _VERSION.fullmatch(_text(value)) is not None,
    "npm": lambda value: value in _NPM,
}
