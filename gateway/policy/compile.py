"""Normal-form rules of every layer compiled into one indexed policy.

The result is plain JSON-able data: it can be kept in a cache and used right after it is read, with no further
building. Rules are found by what they speak of (path, host, program, tool, kind of effect), never by scanning.

A rule becomes one *clause* for each of its alternatives: `[rule, tests, tests of the command]`, a test being
`[predicate, argument]`. The predicate that the index answers is not repeated in it.
"""

from __future__ import annotations

import functools

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.model.decision import LAYERS, MODES
from gateway.model.effect import KINDS, PATH_KINDS
from gateway.policy import commandpattern, globs, hosts, paths
from gateway.policy.anchors import Anchors
from gateway.policy.predicates import PREDICATES, kinds_of
from gateway.policy.table import DELEGATE, EXPIRES, ID, LANE, LAYER, LEVEL, LOCK, REST, SILENCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

LANES = ("deny", "ask", "allow", "require")
# Predicates are tested in the order of their table, but the kind of effect, which rules most out, before all others;
# some look at a simple command.
_PLACE = {name: place for place, name in enumerate(sorted(PREDICATES, key=lambda name: name != "effect"))}
_OF_PART = frozenset(name for name, each in PREDICATES.items() if each.scope == "part")


class Bound(Value):
    """A policy file's rules, bound to a layer: `level` is enforce, warn or observe; `without` leaves ids out."""

    layer: str
    file: str
    rules: Sequence[dict[str, Any]]
    base: str
    layer_root: str
    level: str = "enforce"
    without: frozenset[str] = frozenset()


if TYPE_CHECKING:
    # A predicate and which argument, with the argument, which so keeps its identity, and what it compiles to.
    _Known = dict[tuple[str, int], tuple[Any, Any]]


def compile_policy(
    bound: Iterable[Bound], *, home: str, fold: bool = False, moved: tuple[tuple[str, str], ...] = ()
) -> dict[str, Any]:
    """One policy over all layers. `fold`: paths match in either case, as the file system takes them. `moved`: as
    `Anchors.moved`.

    Raises ConfigError with every pattern, date or reference that is not valid, each with its place.
    """
    files = tuple(bound)
    builder = _begun(files[:-1], home, fold, moved)
    builder.add_files(files[-1:])
    builder.link_exceptions()
    if builder.problems:
        raise ConfigError(builder.problems)
    return builder.finish()


# What policies consisted of lately, but for their last file, with who has compiled it.
_lately: list[tuple[tuple[Any, ...], _Builder]] = []
_MOST_LATELY = 8


def _begun(files: tuple[Bound, ...], home: str, fold: bool, moved: tuple[tuple[str, str], ...]) -> _Builder:
    """Who goes on from these files. Policies that a process compiles one after another often differ in the last one
    alone."""
    given = (files, home, fold, moved)
    known = next((each for each in list(_lately) if each[0] == given), None)
    if known is None:
        begun = _Builder(home, fold, moved)
        begun.add_files(files)
        known = given, begun
    _lately[:] = [known, *(each for each in _lately if each is not known)][:_MOST_LATELY]
    return known[1].copy()


class _Builder:
    """Collects rules and index entries. It is finished once; a `copy` goes on from where it is."""

    def __init__(self, home: str, fold: bool, moved: tuple[tuple[str, str], ...]) -> None:
        self.home = home
        self.fold = fold
        self.moved = moved
        self.files: dict[str, int] = {}
        self.rules: list[list[Any]] = []
        self.clauses: list[list[Any]] = []
        self.paths: list[tuple[str, int]] = []
        self.hosts: list[tuple[str, int]] = []
        self.commands: dict[str, dict[str, list[int]]] = {}
        self.words: dict[str, list[int]] = {}
        self.tools: dict[str, list[int]] = {}
        self.tool_globs: list[int] = []
        self.kinds: dict[str, list[int]] = {}
        self.contained: dict[str, dict[str, list[int]]] = {mode: {} for mode in MODES}
        self.requires: list[int] = []
        self.asks_branch = False
        self.asks_time = False
        self.contains: dict[str, None] = {}
        self.excepting: list[tuple[int, str]] = []
        self.problems: list[Problem] = []

    def copy(self) -> _Builder:
        """Another one that goes on from here, with tables of its own and rows that both only read."""
        found = _Builder(self.home, self.fold, self.moved)
        for name, value in vars(self).items():
            setattr(found, name, _copied(value))
        found.rules = list(map(list, self.rules))  # but these, in which exceptions are linked
        return found

    def add_files(self, files: Iterable[Bound]) -> None:
        for each in files:
            for rule in each.rules:
                if rule["id"] not in each.without:
                    self.add(each, rule)

    def add(self, bound: Bound, rule: dict[str, Any]) -> None:
        anchors = anchors_of(bound, rule["lane"], self.home, fold=self.fold).replace(moved=self.moved)
        number = len(self.rules)
        try:
            rest = [
                rule["because"],
                rule["instead"],
                rule["lock"],
                _delegate(rule["delegate"], anchors_of(bound, "allow", self.home, fold=self.fold)),
                rule["require"],
                rule["changes"],
            ]
            row = [
                rule["id"],
                rule["lane"],
                LAYERS.index(bound.layer),
                self.files.setdefault(bound.file, len(self.files)),
                rule["line"],
                rule["column"],
                rule["text"],
                epoch(rule["expires"]),
                0 if bound.level == "enforce" else bound.level,
                [_prepare(when, anchors) for when in rule["except"]],
                -1,
                rest if any(rest) else 0,
            ]
            self.rules.append(row)
            if rule["excepts"]:
                self.excepting.append((number, rule["excepts"]))
            choices = _choices(rule["when"])
            bounds = (rule["delegate"] or {}).get("within") or {}
            if any("branch" in when for when in (*choices, *rule["except"], bounds)):
                self.asks_branch = True
            if rule["expires"] or (rule["delegate"] or {}).get("until"):
                self.asks_time = True
            if any("time" in when for when in (*choices, *rule["except"], bounds)):
                self.asks_time = True
            if any("contained" in each for each in (*choices, *rule["except"], bounds, rule["require"] or {})):
                self.contains.update(dict.fromkeys((rule["id"], *([rule["excepts"]] if rule["excepts"] else []))))
            known: _Known = {}
            for when in choices:
                index = self._index_commands if "command" in when else self._index
                index(number, rule["lane"], when, anchors, known)
        except ValueError as error:
            self.problems.append(
                Problem(f"rule `{rule['id']}`: {error}", file=bound.file, line=rule["line"], column=rule["column"])
            )

    def _index_commands(self, rule: int, lane: str, when: dict[str, Any], anchors: Anchors, known: _Known) -> None:
        """Files a clause for each pattern of `command`, which share their other tests: there may be thousands."""
        patterns = _filed(tuple(when["command"]), lane == "allow")
        rest = {name: value for name, value in when.items() if name != "command"}
        others, of_part = _apart(_prepare(rest, anchors, known))
        at = sum(_PLACE[name] < _PLACE["command"] for name, _argument in of_part)
        before, behind = of_part[:at], of_part[at:]
        for program, word, test in patterns:
            if lane == "require":
                self.requires.append(len(self.clauses))
            elif lane == "allow" and not program and word:
                self.words.setdefault(word, []).append(len(self.clauses))
            else:
                self._command(program, word, len(self.clauses))
            self.clauses.append([rule, others, [*before, test, *behind]])

    def _index(self, rule: int, lane: str, when: dict[str, Any], anchors: Anchors, known: _Known) -> None:
        """Files the clause under the most selective thing it speaks of."""
        clause = len(self.clauses)
        indexed = ""
        if lane == "require":
            self.requires.append(clause)
        elif "exec" in when:
            self._exec(when["exec"], clause)
        elif not _OF_PART.isdisjoint(when):  # what only speaks of options, by no program
            self._command(None, None, clause)
        elif "path" in when and not self._is_wide(when, anchors):
            indexed = "path"
            self.paths.extend((each, clause) for written in when["path"] for each in anchors.patterns(written))
            when = {"effect": list(PATH_KINDS), **when}
        elif "host" in when:
            indexed = "host"
            self.hosts.extend((pattern, clause) for pattern in when["host"])
        elif "tool" in when and all(globs.is_literal(name) for name in when["tool"]):
            for name in when["tool"]:
                self.tools.setdefault(name, []).append(clause)
        elif len(kinds := kinds_of(when)) < len(KINDS):
            indexes = [self.kinds]
            if lane == "allow" and when.get("contained") is True:
                indexes = [self.contained[mode] for mode in when.get("mode", MODES)]
            for index in indexes:
                for kind in kinds:
                    index.setdefault(kind, []).append(clause)
        else:
            self.tool_globs.append(clause)
        tests = _prepare({name: value for name, value in when.items() if name != indexed}, anchors, known)
        self.clauses.append([rule, *_apart(tests)])

    def _is_wide(self, when: dict[str, Any], anchors: Anchors) -> bool:
        """Whether path patterns hold for nearly everything and `path_not` takes most of it back (`//*` but not
        `//*/**`). Such a clause is found by the kind of effect, so that it does not slow every other look."""
        if "path_not" not in when or "effect" not in when:
            return False
        for written in when["path"]:
            pattern = anchors.pattern(written).rstrip("/")
            if pattern == "/*" or any(f"{each}/".startswith(pattern + "/") for each in (anchors.home, anchors.base)):
                return True
        return False

    def _command(self, program: str | None, second: str | None, clause: int) -> None:
        self.commands.setdefault(program or "", {}).setdefault(second or "", []).append(clause)

    def _exec(self, prefix: list[list[str]], clause: int) -> None:
        seconds = prefix[1] if len(prefix) > 1 and all(map(globs.is_literal, prefix[1])) else [None]
        for program in prefix[0]:
            for second in seconds:
                self._command(program.lower() if globs.is_literal(program) else None, second, clause)

    def link_exceptions(self) -> None:
        """Lets an allow rule silence the upper rule that it names, where that rule delegates to its layer."""
        for number, name in self.excepting:
            layer = self.rules[number][LAYER]
            for upper, row in enumerate(self.rules):
                delegate = row[REST][DELEGATE] if row[REST] else None
                may = delegate and LAYERS.index(delegate[0]) == layer and not row[REST][LOCK]
                if row[ID] == name and row[LAYER] < layer and may:
                    self.rules[number][SILENCES] = upper

    def finish(self) -> dict[str, Any]:
        return {
            "files": list(self.files),
            "rules": self.rules,
            "clauses": self.clauses,
            "forbidding": [number for number, clause in enumerate(self.clauses) if _forbids(self.rules[clause[0]])],
            "denying_commands": [
                number
                for number, (rule, tests, of_part) in enumerate(self.clauses)
                if not tests and len(of_part) == 1 and _denies_always(self.rules[rule])
            ],
            "paths": paths.build_once(tuple(self.paths), fold=self.fold),
            "hosts": hosts.build(self.hosts),
            "commands": self.commands,
            "words": self.words,
            "tools": self.tools,
            "tool_globs": self.tool_globs,
            "kinds": self.kinds,
            "kinds_contained": {mode: _joined(self.kinds, more) for mode, more in self.contained.items() if more},
            "requires": self.requires,
            "asks_branch": self.asks_branch,
            "asks_time": self.asks_time,
            "contains": list(self.contains),
            "delegations": any(row[SILENCES] >= 0 for row in self.rules),
        }


def _copied(value: Any) -> Any:
    """A table of a builder, as far down as one that goes on writes into it."""
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    return list(value) if isinstance(value, list) else value


def _joined(kinds: dict[str, list[int]], more: dict[str, list[int]]) -> dict[str, list[int]]:
    return {kind: kinds.get(kind, []) + more.get(kind, []) for kind in {**kinds, **more}}


def _forbids(row: list[Any]) -> bool:
    return row[LANE] in ("deny", "ask") and not row[LEVEL]


def _denies_always(row: list[Any]) -> bool:
    return row[LANE] == "deny" and not (row[LEVEL] or row[EXPIRES])


def anchors_of(bound: Bound, lane: str, home: str, *, fold: bool = False) -> Anchors:
    """Patterns at any depth (`.env`, `**/x`): a project's hold in the project. Those of the other layers hold
    everywhere where they forbid, and in the project where they allow."""
    widest = bound.layer == "builtin" or (bound.layer != "project" and lane != "allow")
    return Anchors(
        bound.base, "/" if widest else bound.base, layer=bound.layer_root, home=home, forbids=lane != "allow", fold=fold
    )


def alternatives(when: dict[str, Any]) -> list[dict[str, Any]]:
    """One flat set of predicates for each alternative of `any`, and for each pattern of `command`, so that a list of
    hundreds of commands is looked up by program like hundreds of rules."""
    return [
        {**choice, "command": [pattern]} if "command" in choice else choice
        for choice in _choices(when)
        for pattern in choice.get("command", (None,))
    ]


def _choices(when: dict[str, Any]) -> list[dict[str, Any]]:
    """One set of predicates for each alternative of `any`."""
    rest = {name: value for name, value in when.items() if name != "any"}
    return [{**rest, **choice} for choice in when["any"]] if "any" in when else [rest]


@functools.lru_cache(maxsize=128)
def _filed(patterns: tuple[str, ...], allow: bool) -> tuple[tuple[str | None, str | None, list[Any]], ...]:
    """Of each pattern the program that a command has and a word that it holds, None for none, by which it is found, and
    the test for it, all for reading only: the policies that a process compiles share most of their patterns. Raises
    ValueError for what is none."""
    found = []
    for pattern in patterns:
        compiled = commandpattern.compile_once(pattern)
        program, second = commandpattern.first_words(compiled)
        word = commandpattern.longest_word(compiled) if allow else second
        found.append((program, word, ["command", [pattern]]))
    return tuple(found)


def _apart(tests: list[list[Any]]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Tests of a call or an effect, and those of a command."""
    of_part = [test for test in tests if test[0] in _OF_PART]
    return [test for test in tests if test[0] not in _OF_PART], of_part


def _prepare(when: dict[str, Any], anchors: Anchors, known: _Known | None = None) -> list[list[Any]]:
    """Predicates in the order of `PREDICATES`, cheap ones first, with compiled arguments. `known`: those of the rule's
    other alternatives, which share most of them."""
    unknown = [name for name in when if name not in PREDICATES]
    if unknown:
        raise ValueError(f"`{unknown[0]}` is no predicate")
    known = {} if known is None else known
    found = []
    for name in sorted(when, key=_PLACE.__getitem__):
        argument = when[name]
        if (name, id(argument)) not in known:
            known[name, id(argument)] = argument, PREDICATES[name].prepare(argument, anchors)
        found.append([name, known[name, id(argument)][1]])
    return found


def _delegate(delegate: dict[str, Any] | None, anchors: Anchors) -> list[Any] | None:
    if not delegate:
        return None
    return [delegate["to"], epoch(delegate.get("until", "")), _prepare(delegate.get("within") or {}, anchors)]


def epoch(text: str) -> float:
    """Seconds since the epoch of an ISO date or time in UTC; a bare date holds until its end. 0: no limit."""
    if not text:
        return 0.0
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = moment.timestamp() + (86_400 if len(text) == 10 else 0)
    return max(seconds, 1.0)  # what was over before the epoch is over, too
