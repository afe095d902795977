"""Which names a command looks for: what the tests and patterns of `find` say, and those of programs like it."""

from __future__ import annotations

from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.invocation import Invocation

_NAMED = ("-name", "-iname")
_ELSE = frozenset(("-o", "-or", ",", "(", ")"))
_FIND_NAMES = frozenset(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"))


def only_names(run: Invocation) -> str:
    """`Touch.skips` for what `find` finds by one plain pattern of names that every match must have, "" for others."""
    words = [word.text for word in run.words]
    found = [
        words[at + 1] for at, text in enumerate(words[:-1]) if text in _NAMED and words[at - 1] not in ("!", "-not")
    ]
    if run.name != "find" or len(found) != 1 or not _ELSE.isdisjoint(words) or "[" in found[0] or "\\" in found[0]:
        return ""
    return "" if HOLE in found[0] else f"only\0{found[0]}"


def looks_for_hidden(run: Invocation) -> bool:
    """Whether names that begin with a dot are what is looked for, which may be the very files that are protected."""
    words = [word.text for word in run.words]
    return any(
        test in _FIND_NAMES and words[at] not in ("!", "-not") and is_hidden(words[at + 2], regex="regex" in test)
        for at, test in enumerate(words[1:-1])
    )


def is_hidden(pattern: str, *, regex: bool = False) -> bool:
    """Whether a pattern for names speaks of names with a leading dot; of a path its last part counts."""
    name = pattern[pattern.rfind("/") + 1 :]
    return name[:2] in ("\\.", "[.") or (name[:1] == "." and name != "." and not regex)
