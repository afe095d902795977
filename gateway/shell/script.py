"""What reading a shell text yields."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.model.command import Simple, Word


class Redirect(Value):
    """A redirection, or what else the shell itself opens. `kind`: read, write, dup (a descriptor is copied or
    closed), text (here-document or -string), net (`/dev/tcp`, `/dev/udp`) or list (a pattern that no command's words
    hold). `part`: the index in `Script.commands` of the command it feeds, -1 when it belongs to a compound command or
    to none."""

    kind: str
    word: Word
    start: int
    end: int
    cwds: tuple[str, ...] = ()
    part: int = -1


class Assignment(Value):
    """A variable is set. `part` -1: in the shell; else for that command alone. `name` is `HOLE` when unknown."""

    name: str
    value: Word
    start: int
    end: int
    part: int = -1
    exported: bool = False


class Unknown(Value):
    """What was not understood, and where."""

    why: str
    start: int
    end: int


class Flow(Value):
    """A part of a word that is not known before the run. `source`: the span of the commands whose output it is, None
    if it is anything else. `how`: "all" of the output, or one "word" or "line" of it."""

    start: int
    end: int
    source: tuple[int, int] | None = None
    how: str = "all"


class Function(Value):
    """A function is defined."""

    name: str
    start: int
    end: int


NO_SCRIPTS: Mapping[str, tuple[str, ...]] = {}
"""Of no script is known what sourcing it sets."""


class Script(Value):
    """Everything that one text runs, opens and sets.

    `commands`, `redirects` and `assignments` come from any depth (substitutions, function bodies, both branches of an
    `if`), in the order of their start. `shadowed`: names that this text makes functions or aliases. `reads_env`:
    variables expanded that the text did not set itself; `expansions`: where any variable is. `tokens`: the
    fallback tokens when there are `unknowns`, else (). `final_cwds`: the folders the shell may be in at the end, ()
    when unknown. `flows`: the unknown parts of words. `bombs`: what starts processes without end, each with the kind of
    `gateway.shell.bombs` as its reason. `unordered`: what stands later may run before what stands earlier, or beside
    it.
    """

    commands: tuple[Simple, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    shadowed: frozenset[str] = frozenset()
    reads_env: tuple[tuple[str, int, int], ...] = ()
    tokens: tuple[str, ...] = ()
    final_cwds: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()
    expansions: tuple[tuple[int, int], ...] = ()
    flows: tuple[Flow, ...] = ()
    bombs: tuple[Unknown, ...] = ()
    unordered: bool = False
