"""What the help text of a program tells of its options. It is read as text; the program never runs.

Help is written for people: what is found here is a list for somebody who decides what each option does, never a
description by itself.
"""

from __future__ import annotations

import re

from gateway.core.value import Value

MAX_OPTIONS = 2000

_OPTION = re.compile(r"(--?(?:\[no-\])?[A-Za-z0-9?#@][A-Za-z0-9_.+-]*)(.*)", re.DOTALL)
_BETWEEN = re.compile(r"\s*(?:,|\||/|\sor\s)\s*(?=-)|\s+(?=--?[A-Za-z\[])")
# Between two spellings of an option there may be more than one space.
_COLUMN = re.compile(r"\s{2,}(?!--?[A-Za-z])|\t|\s+#\s")
_METAVARIABLE = re.compile(
    r"=\S.*|\s(?:<[^>]*>|\{[^}]*\}|\[[^\]]*\]|[A-Z][A-Z0-9_:|=.\[\]-]*|[a-z]+)(?:\.\.\.|…)?|\s?<[^>]*>.*"
)
_OPTIONAL = re.compile(r"\[=?[^\]]+\]|=\[[^\]]+\]")
# What yargs writes behind the text on an option that takes a value.
_TYPED = re.compile(r".*\[(?:string|number|array)\](?:\s*\[[^\]]*\])*", re.DOTALL)
# Types that help texts name in lower case (`--name string`); other words there begin a sentence.
_TYPES = frozenset(
    ("string", "strings", "int", "ints", "uint", "int32", "int64", "float", "float32", "float64", "duration", "file",
     "path", "dir", "name", "value", "number", "num", "list", "text", "url", "bool", "stringArray", "n", "size", "key")
)  # fmt: skip
_ORDER = ("flags", "optionals", "values")


class HelpOptions(Value):
    """Options by what follows them, each with its spellings joined by `|`: nothing, a value only if it is glued, a
    value. `unclear`: options of which the text does not tell."""

    flags: tuple[str, ...]
    optionals: tuple[str, ...]
    values: tuple[str, ...]
    unclear: tuple[str, ...]


def read_help(text: str) -> HelpOptions:
    """The options that stand at the start of lines, each once."""
    found: dict[str, list[str]] = {"flags": [], "optionals": [], "values": [], "unclear": []}
    seen: set[str] = set()
    for line in text.splitlines():
        if not line.lstrip().startswith("-") or len(seen) >= MAX_OPTIONS:
            continue
        names, group = _entry(line.strip())
        names = [name for name in dict.fromkeys(names) if name not in seen]
        seen.update(names)
        if names:
            found[group].append("|".join(names))
    return HelpOptions(**{group: tuple(entries) for group, entries in found.items()})


def _entry(line: str) -> tuple[list[str], str]:
    """The spellings of the option that a line explains, and the group it belongs to."""
    head, *explained = _COLUMN.split(line, maxsplit=1)
    names: list[str] = []
    group = 0
    clear = True
    for piece in _BETWEEN.split(head):
        match = _OPTION.fullmatch(piece.strip())
        if match is None:
            clear = clear and bool(names)
            continue
        name, rest = match.groups()
        names.append(name)
        if not rest:
            continue
        if _OPTIONAL.fullmatch(rest):
            group = max(group, 1)
        elif _METAVARIABLE.fullmatch(rest) and (
            explained or rest[0] == "=" or rest.strip() in _TYPES or not rest.strip().islower()
        ):
            group = 2
        else:
            clear = False
    if group == 0 and explained and _TYPED.fullmatch(explained[0].rstrip()):
        group = 2
    return names, _ORDER[group] if clear else "unclear"
