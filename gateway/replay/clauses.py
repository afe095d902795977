"""What recorded questions would need to be ended, and which of it ends most of them with few rules."""

from __future__ import annotations

import functools
import json
import re

from gateway.config.shipped import load_descriptions
from gateway.core.places import places
from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.policy.always import MAX_ALTERNATIVES, MAX_PATHS, covering, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gateway.model.verdict import Outcome, Verdict
    from gateway.replay.decisions import Distinct
    from gateway.replay.judging import Anew
    from gateway.tools.tool import Tool

MOST_RULES = 15
_NAME = re.compile(r"[A-Za-z0-9._+-]+")
MIN_SESSIONS = 2
MIN_SUPPORT = 2  # one yes says nothing of the next call


class Clause(Value):
    """What one rule of a trial allows. `key`: whose calls it speaks of and what it says, as JSON."""

    key: str

    @property
    def who(self) -> str:
        """Whose calls it speaks of: a program with its subcommand, or a tool."""
        return str(json.loads(self.key)[0])

    @property
    def says(self) -> dict[str, Any]:
        """As an alternative of a rule, in long form."""
        found: dict[str, Any] = json.loads(self.key)[1]
        return found


def needs(root: str, verdict: Verdict, _tool: Tool) -> tuple[str, ...]:
    """Whose project a question was asked in, and the clauses that it needs, as JSON; no clauses for what no rule should
    end. `root`: a project, all others of which need nothing; "": they speak of all projects."""
    asked = [outcome for outcome in verdict.outcomes if outcome.decision is Decision.ASK]
    where = verdict.context.root
    if (root and where != root) or verdict.decision is not Decision.ASK:
        return (where,)
    if any(outcome.reason.rule.lane != "mode" for outcome in asked):
        return (where,)
    found = [(_who(verdict, outcome), covering(verdict, outcome)) for outcome in asked]
    if not all(clauses for _who, clauses in found):
        return (where,)
    every = [(who, _by_any_name(each if root else _in_any_folder(each))) for who, clauses in found for each in clauses]
    return (where, *dict.fromkeys(json.dumps([who, each]) for who, each in every))


def _by_any_name(says: dict[str, Any]) -> dict[str, Any]:
    """What is said of a program, of all names that its description serves: `pip` and `pip3` are one."""
    if "exec" not in says:
        return says
    first, *words = [says["exec"]] if isinstance(says["exec"], str) else says["exec"]
    names = _names_of(first)
    return says if len(names) < 2 else says | {"exec": [list(names), *words]}


@functools.cache
def _names_of(program: str) -> tuple[str, ...]:
    described = load_descriptions(places())(program)
    names = () if described is None else described["names"]
    return tuple(names) if program in names and all(map(_NAME.fullmatch, names)) else (program,)


def _in_any_folder(says: dict[str, Any]) -> dict[str, Any]:
    """What is said of the code of a subcommand in one folder, of all folders of a project: how projects are laid out
    differs."""
    return says | {"cwd": [".", "./**"]} if "cwd" in says and "exec" in says else says


def _who(verdict: Verdict, outcome: Outcome) -> str:
    """Whose effect it is, in words: a program with its subcommand, or a tool."""
    item = verdict.analysis.items[outcome.reason.item]
    if item.part < 0:
        return verdict.call.tool
    part = verdict.analysis.parts[item.part]
    return " ".join((part.program or part.argv[0], *part.subcommands))


def used(verdict: Verdict, _tool: Tool | None = None) -> tuple[str, ...]:
    """The ids of the rules that let effects of a call happen."""
    return tuple(dict.fromkeys(each.reason.rule.id for each in verdict.outcomes if each.reason.rule.lane == "allow"))


def supported(yes: Iterable[Anew], projects: Mapping[str, str] | None = None) -> list[Clause]:
    """What more than one yes speaks for, the better supported first. `projects`: whose each recorded call is, by its
    place; then it has to be a habit: one of more than one project, or of more than one session."""
    support: dict[str, int] = {}
    spread: dict[str, tuple[set[str], set[str]]] = {}
    for each in yes:
        for key in each.new.noted:
            support[key] = support.get(key, 0) + each.distinct.agreed
            its, sessions = spread.setdefault(key, (set(), set()))
            its.add("" if projects is None else projects[place_of(each.distinct)])
            sessions.update(each.distinct.sessions)
    habits = {
        key for key, (its, sessions) in spread.items()
        if projects is None or len(its) >= MIN_SUPPORT or len(sessions) >= MIN_SESSIONS
    }  # fmt: skip
    kept = sorted((-count, key) for key, count in support.items() if count >= MIN_SUPPORT and key in habits)
    return [Clause(key) for _count, key in kept]


def place_of(each: Distinct) -> str:
    """Where one of its lines stands."""
    return f"{each.segment}:{each.start}"


def chosen(clauses: Sequence[Clause], yes: Sequence[Anew]) -> list[list[Clause]]:
    """Clauses by whose calls they speak of, those who end most questions for each rule first: at most `MOST_RULES`."""
    who = {each.key: each.who for each in clauses}
    wanted: dict[frozenset[str], int] = {}
    for each in yes:
        if each.new.noted and all(key in who for key in each.new.noted):
            names = frozenset(who[key] for key in each.new.noted)
            wanted[names] = wanted.get(names, 0) + each.distinct.agreed
    found: list[str] = []
    while wanted:
        taken = set(found)
        possible = [each for each in wanted if len(taken | each) <= MOST_RULES]
        if not possible:
            break
        best = min(possible, key=lambda names: (-_gain(names, taken, wanted), sorted(names)))
        found += sorted(best - taken)
        wanted = {names: count for names, count in wanted.items() if not names <= set(found)}
    return [[each for each in clauses if each.who == name] for name in found]


def _gain(names: frozenset[str], taken: set[str], wanted: Mapping[frozenset[str], int]) -> float:
    """How many more questions end for each rule that is added."""
    return sum(count for each, count in wanted.items() if each <= names | taken) / len(names - taken)


def alternatives_of(clauses: Iterable[Clause]) -> list[dict[str, Any]]:
    """Clauses as the alternatives of one rule, no more than one may have: the better supported ones."""
    groups: dict[str, dict[str, Any]] = {}
    for each in clauses:
        join(groups, each.says)
    return [
        {**each, "path": each["path"][:MAX_PATHS]} if "path" in each else each
        for each in list(groups.values())[:MAX_ALTERNATIVES]
    ]
