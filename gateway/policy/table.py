"""The compiled policy as the resolver reads it: tables of rules and clauses, and the indexes that point into them."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.changes import KEEP
from gateway.model.decision import LAYERS
from gateway.model.rule import Rule, Source
from gateway.policy import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    class Declaration(Protocol):
        """A tool as it was declared (`gateway.tools.declaration`)."""

        entry: dict[str, Any]
        foreign: str
        level: str
        match_kind: str


# Columns of the table of rules. What few rules have stands in `REST`, which is 0 where there is nothing of it:
# `[because, instead, lock, delegate, demands, changes]`. `LEVEL` is 0 for enforce.
ID, LANE, LAYER, FILE, LINE, COLUMN, TEXT, EXPIRES, LEVEL, EXCEPT, SILENCES, REST = range(12)
SHOWN = 12  # the rule as a value, once somebody asked for it
BECAUSE, INSTEAD, LOCK, DELEGATE, DEMANDS, CHANGES = range(6)
NOTHING = ("", "", False, None, None, "")
LAYERED = frozenset(("files.edit", "files.read", "files.write", "notebooks.edit", "search.glob", "search.grep"))
"""Handlers that reach files by the folders that they are handed (`gateway.files.opening`), and by nothing else."""
MAX_SEEN = 8192
REVIEW = "review:"  # and what is reviewed, which no rule of a file can have


class Judged(Value):
    """What the resolver must know of the tool besides its name. `filters`: it leaves out what policy hides; `layered`:
    its own work on files can be done in a layer over them."""

    level: str = "execute"
    shell: bool = False
    filters: bool = False
    layered: bool = False


def judged_as(tool: Declaration) -> Judged:
    """What it must know of a declared tool."""
    handler = tool.entry.get("handler") or {}
    layered = not tool.foreign and handler.get("kind") == "python" and handler.get("name") in LAYERED
    return Judged(tool.level, tool.match_kind == "shell", bool(tool.entry["filters"]), layered)


class Policy(Value):
    """A compiled policy with the settings that decide.

    `rules`: rows as above. `clauses`: `[rule, tests, tests of the command]`, one for each alternative of a rule; a
    test is `[predicate, argument]`. `forbidding`: the clauses of rules that deny or ask, and are enforced; the
    others need not be unpacked to know what is kept from a call; `denying_commands`: those of rules that deny, without
    an end, whatever one test of a command alone holds for. Everything else maps what a call shows (path,
    host, program and another word, word as written of any program, tool, kind of effect) to clauses,
    `kinds_contained` the kinds of what contained calls show, by mode, where allow rules speak of those alone.
    `delegations`, `asks_branch`, `asks_time`: whether any rule silences another, tests the branch, or holds at some
    times alone. `levels`: verdicts by level that a policy sets. `revision`: digest of everything it was compiled from.
    `seen`: what the paths index said of paths, kept by a process that judges many calls; None keeps nothing.
    `review`: what a reviewer is to see (`gateway.model.decision.REVIEWS`), "" where no policy says. `contains`: ids of
    the rules for which it counts whether a call is contained; `registries`: names of installers that may read from
    theirs (`gateway.policy.installs`); `written`: what the sandbox lets calls write, as its setting has it;
    `contained`: the mildest that becomes of their changes (`gateway.model.changes.BOUNDS`).
    """

    files: list[str]
    rules: list[list[Any]]
    clauses: list[list[Any]]
    forbidding: list[int]
    denying_commands: list[int]
    paths: Any
    hosts: Any
    commands: dict[str, dict[str, list[int]]]
    words: dict[str, list[int]]
    tools: dict[str, list[int]]
    tool_globs: list[int]
    kinds: dict[str, list[int]]
    kinds_contained: dict[str, dict[str, list[int]]]
    requires: list[int]
    delegations: bool
    asks_branch: bool
    asks_time: bool
    levels: dict[str, str]
    revision: str = ""
    seen: dict[str, list[int]] | None = None
    review: str = ""
    contains: Sequence[str] = ()
    contained: str = KEEP
    registries: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def on_path(self, path: str) -> list[int]:
        """The clauses whose patterns match a path; asked again and again for the same folders and files of a session.
        Nobody changes the list."""
        seen = self.seen
        if seen is None:
            return paths.lookup(self.paths, path)
        found = seen.get(path)
        if found is None:
            found = paths.lookup(self.paths, path)
            if len(seen) >= MAX_SEEN:
                seen.clear()
            seen[path] = found
        return found

    def rule(self, number: int) -> Rule:
        """The rule with this number, as verdicts show it."""
        row = self.rules[number]
        if len(row) == SHOWN:
            source = Source(LAYERS[row[LAYER]], self.files[row[FILE]], row[LINE], row[COLUMN])
            because, instead, lock, *_others = row[REST] or NOTHING
            level = row[LEVEL] or "enforce"
            row.append(
                Rule(
                    row[ID],
                    row[LANE],
                    source=source,
                    text=row[TEXT],
                    because=because,
                    instead=instead,
                    lock=lock,
                    level=level,
                )
            )
        shown: Rule = row[SHOWN]
        return shown


def mode_rule(mode: str) -> Rule:
    """The rule that stands for what the mode says."""
    found = _BUILT_IN.get(mode)
    if found is None:
        text = f"what no rule speaks of, mode `{mode}` decides"
        found = _BUILT_IN[mode] = Rule(f"mode:{mode}", "mode", Source("builtin", ""), text)
    return found


def level_rule(level: str) -> Rule:
    """The rule that stands for what a tool's level says of a call without effects."""
    key = f"level:{level}"
    found = _BUILT_IN.get(key)
    if found is None:
        text = f"a call without effects follows its level, `{level}`"
        found = _BUILT_IN[key] = Rule(key, "mode", Source("builtin", ""), text)
    return found


def review_rule(reviewed: str) -> Rule:
    """The rule that stands for the wish to have looked at what policy allows."""
    key = f"{REVIEW}{reviewed}"
    found = _BUILT_IN.get(key)
    if found is None:
        what = "whatever changes something" if reviewed == "changes" else "everything"
        because = f"in mode `auto` {what} is to be agreed to, by the reviewer or a person"
        found = _BUILT_IN[key] = Rule(
            key, "ask", source=Source("builtin", ""), text=f"review: {reviewed}", because=because
        )
    return found


def changes_rule(changes: str) -> Rule:
    """The rule that stands for the wish of a session to decide about what calls change."""
    key = f"changes:{changes}"
    found = _BUILT_IN.get(key)
    if found is None:
        because = (
            "whoever opened the session wants to decide about what calls change, which cannot be done afterwards here"
        )
        found = _BUILT_IN[key] = Rule(key, "ask", Source("builtin", ""), text=f"changes: {changes}", because=because)
    return found


_BUILT_IN: dict[str, Rule] = {}
