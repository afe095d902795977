"""What fetchers of packages have in common: what one is, what a call's installs are read into, how files are asked for.

Pure. A fetcher is added by a module beside this one and a line in `gateway.policy.fetching`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from gateway.model.command import Part
    from gateway.model.effect import Effect
    from gateway.policy.installs import Registry

    class Reads(Protocol):
        """The files of a project that say what to fetch."""

        def __call__(self, path: str, /) -> str | None:
            """The text of one, None where there is none. Raises OtherwiseError."""

        def folders(self, path: str, /) -> tuple[str, ...]:
            """The names of the folders in a folder, links left out, none where there is no such. Raises
            OtherwiseError."""

    # Files of the step, by their paths below its folder.
    Files = dict[str, str]
    Said = TypeVar("Said")

MOST_LINES = 1_000
MOST_LOOKS = 200
WORDS = re.compile(r"[A-Za-z0-9_./-]+", re.ASCII)
"""A path as calls may name one."""

# Of a pattern of members: whole names, `*` and `?`; never `**`.
_PART = re.compile(r"(?!.*\*\*)[A-Za-z0-9_.*?-]+", re.ASCII)


class OtherwiseError(ValueError):
    """What is asked for is not fetched so; the message says what, and where."""


class Project(Value):
    """A project's own package that is installed from its folder, with its extras. `linked`: its files stay there."""

    folder: str
    extras: tuple[str, ...] = ()
    linked: bool = False


class Fetch(Value):
    """What to fetch. `named`: requirements, each as its registry knows it; `files`: absolute paths of files that list
    more; `projects`: those whose own packages need more; `flags`: options that say what counts as needed; `targets`:
    programs that install it, as the call names them, each with the folder that it starts in, "" for the machine's own;
    `constraints`: absolute paths of files that say which versions may be taken."""

    fetcher: str
    named: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    projects: tuple[Project, ...] = ()
    flags: tuple[str, ...] = ()
    targets: tuple[tuple[str, str], ...] = ()
    constraints: tuple[str, ...] = ()


class Fetcher(Value):
    """`program`: of this machine, that fetches; `claims`: whether a command is one of those that install by it;
    `reads`: what such a command installs, told its only folder, None where nobody knows; `needs`: the files that the
    step works from, made of the project's. Raises OtherwiseError. `cache`: the folder below HOME in which the installer
    looks for what was fetched, "" where it is told by variables; `moved`: the variable that names another one."""

    name: str
    program: str
    registries: tuple[Registry, ...]
    claims: Callable[[Part], bool]
    reads: Callable[[Part, str], Fetch | None]
    needs: Callable[[Fetch, Reads], Files]
    cache: str = ""
    moved: str = ""

    def holds(self, effect: Effect) -> bool:
        """Whether an effect of such an install is one that the plan holds: its registry is read in a step of its own,
        and the system's packages cannot be changed by what runs contained."""
        if effect.kind == "system":
            return bool(effect.action == "install" and effect.what == "packages")  # type: ignore[attr-defined]
        if effect.kind != "connect":
            return False
        found = (effect.port, effect.direction)  # type: ignore[attr-defined]
        return found == (443, "fetch") and effect.host in [each.host for each in self.registries]  # type: ignore[attr-defined]


def said_in(path: str, reads: Reads, read: Callable[[str], Said]) -> Said:
    """What a file says that has to be there. Raises OtherwiseError, which names it."""
    text = reads(path)
    if text is None:
        raise OtherwiseError(f"there is no `{path}`")
    try:
        return read(text)
    except OtherwiseError as error:
        raise OtherwiseError(f"`{path}`: {error}") from None


def members(top: str, named: list[str], left_out: list[str], reads: Reads) -> list[str]:
    """The folders of a workspace's members, as paths below its top: those that its patterns (`packages/*`) mean, in the
    order of these. `left_out`: patterns of those that are none, with what lies below them. Raises OtherwiseError."""
    found: dict[str, None] = {}
    looks = 0
    for pattern in named:
        parts = [each for each in pattern.split("/") if each not in ("", ".")]
        if ".." in parts or pattern.startswith("/"):
            raise OtherwiseError("a member of its workspace lies outside of it")
        if not all(_PART.fullmatch(each) for each in parts):
            raise OtherwiseError("its workspace names members in a way that is not understood")
        at = [""]
        for part in parts:
            if "*" not in part and "?" not in part:
                at = [f"{each}/{part}" for each in at]
                continue
            below = []
            for each in at:
                looks += 1
                if looks > MOST_LOOKS:
                    raise OtherwiseError("its workspace has too many folders")
                below += [f"{each}/{name}" for name in reads.folders(top + each) if fnmatchcase(name, part)]
            at = below
        found.update((each.lstrip("/"), None) for each in at)
    return [each for each in found if not any(_is_below(each, pattern) for pattern in left_out)]


def _is_below(path: str, pattern: str) -> bool:
    parts, wanted = path.split("/"), [each for each in pattern.split("/") if each not in ("", ".")]
    return len(parts) >= len(wanted) and all(map(fnmatchcase, parts, wanted))


def below(folder: str, path: str) -> str:
    """A path as a call names it in a folder."""
    return path if path.startswith("/") else f"{folder}/{path}"
