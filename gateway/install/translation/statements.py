"""Rules of an agent's as rules of ours: none of the allow rules says more, none of the others says less. Pure.

Where an agent takes the strongest rule that holds, whatever it says, a weaker rule that is stricter gets the stronger
ones as its exceptions: ours are combined by strictness alone.
"""

from __future__ import annotations

import json
import re

from gateway.core.value import Value
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE
from gateway.install.translation.deciding import FIRST
from gateway.install.translation.matching import Command, Everything
from gateway.install.translation.matching_expressions import Expression
from gateway.install.translation.matching_targets import Path
from gateway.install.translation.rules import ALLOW, ASK, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.install.translation.matching import Clause, Test
    from gateway.install.translation.rules import Rule

_STRICT = {ALLOW: 0, ASK: 1, DENY: 2}
_MOST_EXCEPTIONS = 64
# The effects of each kind of call; with exceptions a rule must speak of these alone, as an exception speaks of no more.
_PARTS: dict[str, tuple[Clause, ...]] = {
    SHELL: ({"command": ["**"]},),  # every command, where `Bash` would be the call as well
    READ: ({"tool": ["Read", "Glob", "Grep"], "effect": ["list", "read"]},),
    WRITE: ({"tool": ["Write", "Edit"], "effect": ["write"]},),
    FETCH: ({"tool": ["WebFetch"], "effect": ["connect"]},),
    MCP: ({"tool": ["mcp__*"]},),
}
_GIT: Clause = {"exec": ["git"]}
_BEYOND_PATHS = ("code", "connect", "push", "credential", "env", "process", "system")

# What an allow rule is not written for.
DROPPED = "dropped"
# How much more than it seems to need a deny or ask rule says: its text wherever it stands, or every call of its kind.
TEXT, KIND = "text", "kind"


class Statement(Value):
    """One rule of ours. `rule`: the one that it stands for. `locked`: asked anew each time, whatever the mode."""

    id: str
    lane: str
    when: tuple[Clause, ...]
    without: tuple[Clause, ...]
    rule: Rule
    locked: bool = False


class Unsaid(Value):
    """A rule that no rule of ours stands for, and why."""

    rule: Rule
    why: str


def statements(
    rules: Sequence[Rule],
    way: str,
    path_programs: frozenset[str],
    changes: Mapping[int, str],
    *,
    ask_instead: bool = False,
) -> tuple[list[Statement], list[Unsaid]]:
    """`changes`: by the place of a rule, what trying showed it to need. `ask_instead`: a deny that would have to forbid
    every call of its kind asks about all of them instead; only where a person wants that."""
    made: list[Statement] = []
    unsaid: list[Unsaid] = []
    for place, rule in enumerate(rules):
        change = changes.get(place, "")
        name = f"{rule.agent}-{place + 1}"
        if rule.idle:
            unsaid.append(Unsaid(rule, f"its agent never asks about it: {rule.idle}"))
            continue
        stronger = rules[:place] if way == FIRST else ()
        tests = tuple(test for test in rule.tests if not _taken(test, stronger))
        if rule.tests and not tests:
            unsaid.append(Unsaid(rule, "it is never reached: a stronger rule takes every call of this kind"))
        elif rule.lane == ALLOW:
            when, why = _allowed(rule, tests, path_programs, change)
            if when:
                made.append(Statement(name, ALLOW, when, without=(), rule=rule))
            else:
                unsaid.append(Unsaid(rule, why))
        else:
            spans = any(isinstance(test, Expression) and test.spans() for test in tests)
            without = () if change or spans else _exceptions(rule, tests, stronger)
            if any(isinstance(test, Path) and test.kind == WRITE and _is_gits(test) for test in tests):
                without = (*without, _GIT)  # which writes there with every command, and no tool of an agent's is git
            when = tuple(clause for test in tests for clause in _widely(test, bool(without), change))
            locked = change == KIND and ask_instead and rule.lane == DENY
            if when:
                made.append(
                    Statement(name, ASK if locked else rule.lane, when, without=without, rule=rule, locked=locked)
                )
            else:
                unsaid.append(Unsaid(rule, f"no call of ours is {rule.partly or 'meant'}"))
    return made, unsaid


def _is_gits(test: Path) -> bool:
    return any(".git" in pattern.split("/") for pattern in test.denies)


def _taken(test: Test, stronger: Sequence[Rule]) -> bool:
    """Whether a stronger rule speaks of every call of the kind."""
    return any(Everything(test.kind) in rule.tests and not rule.partly for rule in stronger)


def _allowed(
    rule: Rule, tests: tuple[Test, ...], path_programs: frozenset[str], change: str
) -> tuple[tuple[Clause, ...], str]:
    if change == DROPPED:
        return (), "what ours could say of it would allow more"
    if rule.partly:
        return (), f"ours cannot say {rule.partly}"
    found: list[Clause] = []
    for test in tests:
        for clause in test.narrow():
            found += _inside(clause, path_programs)
    if not found:
        return (), "no rule of ours says so much and no more"
    return tuple(found), ""


def _inside(clause: Clause, path_programs: frozenset[str]) -> tuple[Clause, ...]:
    """The clause, held to the project where its agent would ask about what lies beyond it."""
    if not path_programs or ("command" not in clause and clause != {"tool": ["Bash"]}):
        return (clause,)
    programs = {pattern.split(" ", 1)[0] for pattern in clause.get("command", ["*"])}
    inside = {**clause, "effect": ["list", "read", "write", "delete"], "path": ["./"]}
    if any("*" in program for program in programs):
        return inside, {**clause, "effect": list(_BEYOND_PATHS)}
    return (inside,) if programs & path_programs else (clause,)


def _exceptions(rule: Rule, tests: tuple[Test, ...], stronger: Sequence[Rule]) -> tuple[Clause, ...]:
    kinds = {test.kind for test in tests}
    found: list[Clause] = []
    for other in stronger:
        if other.partly or other.idle or _STRICT[other.lane] >= _STRICT[rule.lane]:
            continue
        for test in other.tests:
            if test.kind in kinds and any(_may_meet(test, each) for each in tests):
                found += [clause for clause in test.narrow() if clause not in found]
    return tuple(found[:_MOST_EXCEPTIONS])


def _may_meet(one: Test, other: Test) -> bool:
    """Whether two tests may hold for one call, as far as their first words tell."""
    if isinstance(one, Command) and isinstance(other, Command):
        first, second = one.pieces[0].split(" ")[0], other.pieces[0].split(" ")[0]
        whole = [" " in each.pieces[0] or len(each.pieces) == 1 for each in (one, other)]
        return not all(whole) or "*" in (first, second) or first == second
    return one.kind == other.kind


def _widely(test: Test, excepted: bool, change: str) -> tuple[Clause, ...]:
    if change == KIND:
        return Everything(test.kind).wide()
    if excepted and isinstance(test, Everything):
        return _PARTS[test.kind]
    found = test.wide()
    if excepted and {"tool": ["Bash"]} in found:
        found = (*(clause for clause in found if clause != {"tool": ["Bash"]}), *_PARTS[SHELL])
    if change == TEXT and isinstance(test, (Command, Expression)):
        words = [piece for piece in getattr(test, "pieces", ()) if piece != "*" and piece.strip()]
        longest = max(words, key=len, default="").strip()
        if longest:
            return (*found, {"tool": ["Bash"], "args": {"command": {"regex": re.escape(longest).replace("\\ ", " ")}}})
        return Everything(test.kind).wide()
    return found


def layer(
    statements: Sequence[Statement], titles: Mapping[str, str], *, head: str = "", extends: str = "", short: str = ""
) -> str:
    """The policy file. `head`: comments at its beginning; `extends`: a preset that holds besides; `short`: what a
    path begins with that is shown as `~`."""
    lines = [
        head,
        "version: 1",
        *([f"extends: [{extends}]"] if extends else []),
        "rules:" if statements else "rules: []",
    ]
    for each in statements:
        file = each.rule.file
        file = "~" + file[len(short) :] if short and file.startswith(short + "/") else file
        lines.append(f"  # {_comment(file)}:{each.rule.line}: {_comment(each.rule.text)}")
        lines.append(f"  - id: {each.id}")
        lines.append(f"    {each.lane}: {_flow(each.when)}")
        if each.without:
            lines.append(f"    except: {_flow(each.without)}")
        if each.locked:
            lines.append("    lock: true")
        because = each.rule.because or f"{titles[each.rule.agent]} has the rule {each.rule.text}"
        lines.append(f"    because: {json.dumps(_comment(because)[:300], ensure_ascii=False)}")
    return "\n".join(line for line in lines if line) + "\n"


def _flow(clauses: tuple[Clause, ...]) -> str:
    made = [json.dumps(each, ensure_ascii=False) for each in clauses]
    return made[0] if len(made) == 1 else f"[{', '.join(made)}]"


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
