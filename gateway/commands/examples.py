"""The examples in descriptions: each says what one command does, and must be right.

Examples run in one fixed place: the folder `/home/dev/project`, home `/home/dev`. An effect is written as

    read src tree · write out.txt · list *.py · connect example.com:443 fetch · push origin main force
    credential ~/.ssh · env PATH set · process signal 12 · system install x · code · opaque

with `?` for what is not known before the run, paths relative to the folder, `~/` for home, and `if there` behind what
is done only where the path is there. `exec` is left out: that the program starts goes without saying.
"""

from __future__ import annotations

from gateway.commands.analyse import Start, analyse
from gateway.commands.questions import if_there
from gateway.model.effect import HOLE, PATH_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.description import Description
    from gateway.model.effect import Effect


CWD = "/home/dev/project"
HOME = "/home/dev"


def shown(effect: Effect) -> str:
    """An effect as examples write it."""
    kind = effect.kind
    if kind in ("code", "opaque"):
        return kind
    if kind in PATH_KINDS:
        return f"{kind} {_path(effect.path)}{' tree' if effect.tree else ''}"  # type: ignore[attr-defined]
    if kind == "credential":
        return f"credential {_path(effect.path)}{' changed' * effect.changes}".rstrip()  # type: ignore[attr-defined]
    target = effect.target.replace(HOLE, "?").removesuffix("(force)").rstrip()
    if kind == "connect":
        target = f"{target} {effect.direction}"  # type: ignore[attr-defined]
    elif kind == "env":
        target = f"{target} {effect.access}"  # type: ignore[attr-defined]
    elif kind == "push" and effect.force:  # type: ignore[attr-defined]
        target += " force"
    return f"{kind} {target}".rstrip()


def _path(path: str) -> str:
    path = path.replace(HOLE, "?")
    if path == CWD:
        return "."
    if path.startswith(CWD + "/"):
        return path[len(CWD) + 1 :]
    if path == HOME:
        return "~"
    if path.startswith(HOME + "/"):
        return "~/" + path[len(HOME) + 1 :]
    return path


def effects(call: str, lookup: Callable[[str], Description | None]) -> list[str]:
    """What a command does, as examples write it, each effect once, in order."""
    analysis = analyse(call, Start(CWD, HOME), lookup)
    found = [shown(item.effect) for item in analysis.items if item.effect.kind != "exec"]
    found += [f"{shown(if_there(each))} if there" for each in analysis.pending if each.kind[:5] == "there"]
    return list(dict.fromkeys(found))


def failures(description: Description, lookup: Callable[[str], Description | None]) -> list[str]:
    """What is wrong with a description's examples, one text for each; empty if all hold."""
    return [f"line {line}: {message}" for _file, line, _column, message in failing(description, lookup)]


def failing(description: Description, lookup: Callable[[str], Description | None]) -> list[tuple[str, int, int, str]]:
    """The same with file, line and column of each."""
    found = []
    for call, expected in description["examples"].items():
        actual = effects(call, lookup)
        if sorted(actual) != sorted(expected):
            says = f"`{call}` says [{', '.join(expected)}], does [{', '.join(actual)}]"
            line, column, file = description["lines"][call]
            found.append((file, line, column, f"example must do what it says ({says})"))
    return found
