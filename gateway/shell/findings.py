"""What a reading has found so far: emitted in the order of the walk, handed on in the order of the text."""

from __future__ import annotations

from bisect import bisect_right

from gateway.model.command import Simple
from gateway.shell.guards import MAX_COMMANDS, Refused
from gateway.shell.script import Assignment, Flow, Function, Redirect, Script, Unknown
from gateway.shell.tokens import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

NOTHING: frozenset[str] = frozenset()


class Found:
    """The findings of one reading. Indexes into `commands` stay valid until `script`, which sorts."""

    def __init__(self) -> None:
        self.commands: list[Simple] = []
        self.redirects: list[Redirect] = []
        self.assignments: list[Assignment] = []
        self.unknowns: list[Unknown] = []
        self.functions_found: list[Function] = []
        self.env: list[tuple[str, int, int]] = []
        self.flows: list[Flow] = []
        self.bombs: list[Unknown] = []
        self.shadowed: set[str] = set()
        self.unordered = False
        self.activations = 0  # how often a script was sourced that only sets variables

    def add(self, command: Simple) -> None:
        """Raises Refused for more commands than a reading may hold."""
        if len(self.commands) >= MAX_COMMANDS:
            raise Refused(f"more than {MAX_COMMANDS:,} commands", command.start, command.end)
        self.commands.append(command)

    def marks(self) -> tuple[int, ...]:
        """How much of each kind there is by now, for `cut` and `shift`."""
        return (len(self.commands), len(self.redirects), len(self.assignments), len(self.unknowns), len(self.env),
                len(self.functions_found), len(self.flows), len(self.bombs))  # fmt: skip

    def _lists(self) -> tuple[list[Any], ...]:
        return (
            self.commands,
            self.redirects,
            self.assignments,
            self.unknowns,
            self.env,
            self.functions_found,
            self.flows,
            self.bombs,
        )

    def cut(self, marks: tuple[int, ...]) -> None:
        """Forget what was found since, to read it again."""
        for found, mark in zip(self._lists(), marks, strict=True):
            del found[mark:]

    def shift(self, marks: tuple[int, ...], place: Callable[[int, bool], int]) -> None:
        """Move the spans of what was found since into the text around."""
        for found, mark in zip(self._lists(), marks, strict=True):
            found[mark:] = [_placed(each, place) for each in found[mark:]]

    def script(self, text: str, final: tuple[str, ...]) -> Script:
        """What was found, in the order of the text and each finding once. `final`: the folders in which the text may
        end."""
        commands, redirects, assignments = _in_order(self.commands, self.redirects, self.assignments)
        unknowns = (
            tuple(sorted(set(self.unknowns), key=lambda each: (each.start, each.end, each.why)))
            if self.unknowns
            else ()
        )
        reads_env: tuple[tuple[str, int, int], ...] = ()
        expansions: tuple[tuple[int, int], ...] = ()
        if self.env:
            reads_env = tuple(sorted({each for each in self.env if each[0]}, key=lambda each: each[1:]))
            expansions = tuple(sorted({each[1:] for each in self.env}))
        return Script.make((
            commands, redirects, assignments, unknowns, frozenset(self.shadowed) if self.shadowed else NOTHING,
            reads_env, tokens(text) if unknowns else (), final, tuple(self.functions_found), expansions,
            tuple(self.flows), tuple(dict.fromkeys(self.bombs)), self.unordered,
        ))  # fmt: skip


def unfolded(removed: Sequence[int]) -> Callable[[int, bool], int]:
    """From positions behind folding to positions before it."""

    def place(at: int, is_end: bool) -> int:
        if is_end and at:
            return at - 1 + 2 * bisect_right(removed, at - 1) + 1
        return at + 2 * bisect_right(removed, at)

    return place


def _placed(each: Any, place: Callable[[int, bool], int]) -> Any:
    if type(each) is tuple:
        return (each[0], place(each[1], False), place(each[2], True))
    changes: dict[str, Any] = {"start": place(each.start, False), "end": place(each.end, True)}
    if isinstance(each, Simple):
        changes["words"] = tuple(_placed(word, place) for word in each.words)
        if each.feeder is not None:
            changes["feeder"] = (place(each.feeder[0], False), place(each.feeder[1], True))
    elif isinstance(each, Flow):
        if each.source is not None:
            changes["source"] = (place(each.source[0], False), place(each.source[1], True))
    elif isinstance(each, Redirect):
        changes["word"] = _placed(each.word, place)
    elif isinstance(each, Assignment):
        changes["value"] = _placed(each.value, place)
    return each.replace(**changes)


def _in_order(
    commands: list[Simple], redirects: list[Redirect], assignments: list[Assignment]
) -> tuple[tuple[Simple, ...], tuple[Redirect, ...], tuple[Assignment, ...]]:
    """Everything by its start; the outer command before those in its words."""
    order = sorted(range(len(commands)), key=lambda at: (commands[at].start, -commands[at].end))
    if order != list(range(len(order))):
        new = {old: at for at, old in enumerate(order)}
        commands = [commands[old] for old in order]
        redirects = [r.replace(part=new[r.part]) if r.part >= 0 else r for r in redirects]
        assignments = [a.replace(part=new[a.part]) if a.part >= 0 else a for a in assignments]
    return tuple(commands), tuple(_by_start(redirects)), tuple(_by_start(assignments))


def _by_start(found: list[Any]) -> Iterable[Any]:
    return sorted(found, key=lambda each: (each.start, each.end)) if len(found) > 1 else found
