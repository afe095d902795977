"""Texts made from the descriptions: each installed program with a file's name in every place where a word may stand.

What a description says of a word is held against what the program does with it. A word that means nothing to it and is
opened all the same, a flag behind which stands a file that is written, a value that names an address: no line of the
corpora has to know them. Calls in which something is in doubt already are left out: a question is asked there anyway.
"""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING, Any

from shipped import by_name as shipped_by_name
from shipped import descriptions as shipped_descriptions

from gateway.commands.analyse import Start, analyse
from oracle.cage import SEARCH_PATH
from oracle.place import HOME, ROOT
from oracle.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

# So many of one program at most, evenly from all: some have thousands of subcommands that share their options.
MOST = 200
THERE, NEW = "notes.txt", "zq-new"
START = Start(ROOT, HOME)


def installed() -> dict[str, Any]:
    """The descriptions of the programs that are here, by name."""
    descriptions = [each for each in shipped_descriptions() if "builtin" not in each]
    named = {name: each for each in descriptions for name in each["names"] if "*" not in name}
    return {name: each for name, each in named.items() if shutil.which(name, path=SEARCH_PATH) is not None}


def described(programs: dict[str, Any] | None = None) -> list[Text]:
    """The texts, by program: with no option, with each option that a description lists, and with values for it."""
    by_name = shipped_by_name()
    found = []
    for name, description in (installed() if programs is None else programs).items():
        texts = list(_texts(shlex.quote(name), description))
        for number, text in enumerate(texts[:: len(texts) // MOST + 1]):
            if not _doubted(text, by_name):
                found.append(Text(f"described.{name}.{number}", text))
    return found


def _texts(call: str, spec: Any) -> Iterator[str]:
    operands = bool(spec["lead"] or spec["rest"] or spec["tail"])
    if operands:
        yield f"{call} {THERE}"
        yield f"{call} {THERE} {NEW}"
    for option in spec["table"]:
        spelling = shlex.quote(option["names"][0])
        arity = option.get("arity", 0)
        if "until" in option or arity > 1:
            continue
        for value in (THERE, NEW):
            yield f"{call} {spelling} {value}" + (f" {THERE}" if arity and operands else "")
    for spelling, index in spec.get("subcommands", {}).items():
        if "*" not in spelling:
            yield from _texts(f"{call} {shlex.quote(spelling)}", spec["nested"][index])


def _doubted(text: str, by_name: dict[str, Any]) -> bool:
    """Whether a question is asked anyway, or each name is an effect already."""
    found = analyse(text, START, by_name.get)
    kinds = [item.effect.kind for item in found.items]
    named = [item for item in found.items if text[item.start : item.end].endswith((THERE, NEW)) and item.start]
    asked = any(kind in ("code", "opaque", "system", "connect", "process") for kind in kinds)
    return asked or len({item.start for item in named}) + len(found.pending) >= text.count(THERE) + text.count(NEW)
