"""Which calls a change of policy cannot touch: where two policies differ in some rules alone, and none of these speaks
of what a call does, what decides it stands.

What is known of a call is its signature: the kinds of its effects, and the names of the programs that it starts. It is
taken from the verdict under the one policy.
"""

from __future__ import annotations

from gateway.core.cache import digest
from gateway.core.value import Value
from gateway.model.effect import KINDS
from gateway.policy.candidates import names_of
from gateway.policy.predicates import PREDICATES
from gateway.policy.table import COLUMN, EXPIRES, FILE, LANE, LINE, SHOWN, SILENCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.config.load import Loaded
    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy
    from gateway.tools.tool import Tool

    Rule = tuple[str, str, str, int]

_ANYTHING = "*"  # of a call whose text could not be parsed: any rule may speak of it
_KIND, _NAME = "kind ", "name "
_NOBODY = -1  # whose rule one silences that silences none
_LANES = ("allow", "ask", "deny")
# Of a policy, beside its rules, what decides.
_BESIDE = ("levels", "review", "contained", "contains", "registries", "written", "asks_branch", "delegations")


def signature(verdict: Verdict, _tool: Tool) -> tuple[str, ...]:
    """What rules could speak of in a call."""
    analysis = verdict.analysis
    if analysis.tokens:
        return (_ANYTHING,)
    kinds = {_KIND + item.effect.kind for item in analysis.items}
    names = {_NAME + name for part in analysis.parts for name in names_of(part)}
    return tuple(sorted(kinds | names))


class Change(Value):
    """How one policy differs from another in rules alone. `spoken`: for each changed clause the kinds and the names,
    as signatures have them, of which it speaks; no names for one that speaks of every program. `places`: where a rule
    of the one stands in the other."""

    spoken: tuple[tuple[frozenset[str], frozenset[str]], ...]
    places: Mapping[Rule, Rule]

    def touches(self, signature: tuple[str, ...]) -> bool:
        """Whether a changed rule may speak of a call."""
        if signature == (_ANYTHING,):
            return bool(self.spoken)
        known = frozenset(signature)
        return any(kinds & known and (not names or names & known) for kinds, names in self.spoken)


def change(one: Loaded, other: Loaded) -> Change | None:
    """None where they differ in more than rules on effects, or a changed rule says more than that: which paths are
    protected, what must be confined, when it holds, whose rule it silences."""
    if any(getattr(one.policy, name) != getattr(other.policy, name) for name in _BESIDE) or one.policy.delegations:
        return None
    settings = [{name: each.value for name, each in loaded.settings.items()} for loaded in (one, other)]
    if settings[0] != settings[1] or any(
        getattr(one, name) != getattr(other, name) for name in ("mode", "modes", "modes_elsewhere", "project_trusted")
    ):
        return None
    its, theirs = (dict(_clauses(loaded.policy)) for loaded in (one, other))
    spoken = []
    for mine, others, policy in ((its, theirs, one.policy), (theirs, its, other.policy)):
        for key in mine.keys() - others.keys():
            said = _spoken(policy, mine[key])
            if said is None:
                return None
            spoken.append(said)
    rows: list[dict[str, Rule]] = [dict(_rows(loaded.policy)) for loaded in (one, other)]
    return Change(tuple(spoken), {place: rows[1][key] for key, place in rows[0].items() if key in rows[1]})


def _clauses(policy: Policy) -> Iterator[tuple[str, int]]:
    """Clauses by what they say, wherever they stand; the same said twice is told apart."""
    seen: dict[str, int] = {}
    contents = [_content(policy, number) for number in range(len(policy.rules))]
    for number in range(len(policy.clauses)):
        rule, tests, of_part = policy.clauses[number]
        key = repr((contents[rule], tests, of_part))
        seen[key] = seen.get(key, 0) + 1
        yield f"{seen[key]} {key}", number


def _rows(policy: Policy) -> Iterator[tuple[str, Rule]]:
    seen: dict[str, int] = {}
    for number in range(len(policy.rules)):
        rule = policy.rule(number)
        key = _content(policy, number)
        seen[key] = seen.get(key, 0) + 1
        yield f"{seen[key]} {key}", (rule.id, rule.source.layer, rule.source.file, rule.source.line)


def _content(policy: Policy, number: int) -> str:
    row = policy.rules[number]
    return digest([repr([each for column, each in enumerate(row[:SHOWN]) if column not in (FILE, LINE, COLUMN)])])


def _spoken(policy: Policy, number: int) -> tuple[frozenset[str], frozenset[str]] | None:
    rule, tests, of_part = policy.clauses[number]
    row = policy.rules[rule]
    names = {name for name, _argument in (*tests, *of_part)}
    if row[LANE] not in _LANES or row[EXPIRES] or row[SILENCES] != _NOBODY or "time" in names or "contained" in names:
        return None
    if row[LANE] != "allow" and ("path" in names or number in policy.paths[3]):
        return None  # what it protects is looked for below folders, too
    kinds = frozenset(KINDS)
    for name, argument in tests:
        if name == "effect":
            if not {*argument} <= {*KINDS}:
                return None
            kinds &= frozenset(argument)
        elif PREDICATES[name].kinds and not PREDICATES[name].negated:
            kinds &= frozenset(PREDICATES[name].kinds)
    programs = {name for name, entry in policy.commands.items() if any(number in each for each in entry.values())}
    by_name = of_part and programs and "" not in programs
    return frozenset(_KIND + each for each in kinds), frozenset(_NAME + each for each in programs if by_name)
