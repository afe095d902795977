"""Which calls a change of policy cannot touch: where two policies differ in some rules alone, and none of these speaks
of what a call does, what decides it stands.

What is known of a call is its signature: everything by which the indexes of a policy find the clauses that may speak of
it (`gateway.policy.candidates`). It is taken from the verdict under the one policy.
"""

from __future__ import annotations

from gateway.core.cache import digest
from gateway.model.effect import HOLE, KINDS, PATH_KINDS
from gateway.policy import hosts, paths
from gateway.policy.candidates import ANY_NAME, names_of
from gateway.policy.predicates import PREDICATES
from gateway.policy.table import COLUMN, EXPIRES, FILE, LANE, LINE, SHOWN, SILENCES, judged_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.config.load import Loaded
    from gateway.model.effect import Effect
    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy
    from gateway.tools.tool import Tool

    Rule = tuple[str, str, str, int]

_ANYTHING = "*"  # of a call whose text could not be parsed: any rule may speak of it
# What stands in a signature, each with a blank and what it is of behind it.
_KIND, _TOOL, _NAME, _WORD, _PATH, _BELOW, _HOST = "kind", "tool", "name", "word", "path", "below", "host"
_LOOKED = "looked"  # below a tree, for what policy protects there
_MORE = "more"  # words, paths and hosts, too many to be kept
_LONGEST = 2048  # characters of these
_NOBODY = -1  # whose rule one silences that silences none
_LANES = ("allow", "ask", "deny")
# Of a policy, beside its rules, what decides.
_BESIDE = ("levels", "review", "contained", "contains", "registries", "written", "asks_branch", "delegations")


def signature(verdict: Verdict, tool: Tool) -> tuple[str, ...]:
    """By what rules are found that could speak of a call."""
    analysis = verdict.analysis
    if analysis.tokens:
        return (_ANYTHING,)
    found = {f"{_TOOL} {verdict.call.tool}"}
    found.update([f"{_KIND} {item.effect.kind}" for item in analysis.items])
    found.update([f"{_NAME} {name}" for part in analysis.parts for name in names_of(part)])
    more = {
        f"{_WORD} {word}" for part in analysis.parts for word in (*part.argv, *part.subcommands, *part.operands) if word
    }
    is_open = not (verdict.context.confined or judged_as(tool).filters)
    for item in analysis.items:
        more.update(_places(item.effect, is_open))
        effect = item.effect
        if is_open and effect.kind in PATH_KINDS and effect.tree and HOLE not in effect.path:  # type: ignore[attr-defined]
            found.add(_LOOKED)
    if sum(map(len, more)) > _LONGEST:
        more = {_MORE}
    return tuple(sorted(found | more))


def _places(effect: Effect, is_open: bool) -> Iterator[str]:
    """Where an effect is, in the words by which rules are looked up. `is_open`: nothing keeps from the call what policy
    protects below its trees."""
    if effect.kind == "connect":
        yield f"{_HOST} {effect.host}"  # type: ignore[attr-defined]
    if effect.kind not in PATH_KINDS:
        return
    written: str = effect.path  # type: ignore[attr-defined]
    is_tree: bool = effect.tree  # type: ignore[attr-defined]
    for path in {written, effect.real or written}:  # type: ignore[attr-defined]
        yield f"{_PATH} {effect.kind} {path}"
        if is_tree or effect.kind == "list":
            yield f"{_PATH} {effect.kind} {path.rstrip('/')}/{ANY_NAME}"
    if is_tree and is_open:
        yield f"{_BELOW} {effect.kind} {written}"


class _Call:
    """A signature, taken apart."""

    def __init__(self, signature: tuple[str, ...]) -> None:
        said: dict[str, list[str]] = {}
        for each in signature:
            what, _blank, of = each.partition(" ")
            said.setdefault(what, []).append(of)
        self.is_told = _MORE not in said
        self.kinds = said.get(_KIND, ())
        self.tools = said.get(_TOOL, ())
        self.names = frozenset(said.get(_NAME, ()))
        self.words = frozenset(said.get(_WORD, ()))
        self.are_words_known = self.is_told and not any(HOLE in word for word in self.words)
        self.paths, self.below = ([each.partition(" ") for each in said.get(what, ())] for what in (_PATH, _BELOW))
        self.hosts = said.get(_HOST, ())


class _Clauses:
    """The clauses of one policy that another one lacks, as its indexes find them; those of each are asked once."""

    def __init__(self, policy: Policy, kinds: Mapping[int, frozenset[str]]) -> None:
        """`kinds`: for each clause, of which kinds of effect it speaks."""
        self._policy = policy
        self._kinds = kinds
        self._programs: dict[int, list[tuple[str, str]]] = {}
        for name, entry in policy.commands.items():
            for second, clauses in entry.items():
                for clause in kinds.keys() & frozenset(clauses):
                    self._programs.setdefault(clause, []).append((name, second))
        for word, clauses in policy.words.items():
            for clause in kinds.keys() & frozenset(clauses):
                self._programs.setdefault(clause, []).append(("", word))
        self._tools: dict[int, list[str]] = {}
        for name, clauses in policy.tools.items():
            for clause in kinds.keys() & frozenset(clauses):
                self._tools.setdefault(clause, []).append(name)
        self._on_paths, self._on_hosts = frozenset(policy.paths[3]), frozenset(policy.hosts["every"])
        self._known: dict[tuple[str, str], frozenset[int]] = {}

    def speak_of(self, call: _Call) -> bool:
        """Whether one of them may speak of a call."""
        return any(
            not kinds.isdisjoint(call.kinds) and self._is_found(clause, kinds, call)
            for clause, kinds in self._kinds.items()
        )

    def _is_found(self, clause: int, kinds: frozenset[str], call: _Call) -> bool:
        if clause in self._programs:
            return any(
                (not name or name in call.names) and (not second or not call.are_words_known or second in call.words)
                for name, second in self._programs[clause]
            )
        if clause in self._tools:
            return any(name in call.tools for name in self._tools[clause])
        if clause in self._on_paths:
            return (
                not call.is_told
                or any(kind in kinds and clause in self._at(_PATH, path) for kind, _blank, path in call.paths)
                or any(kind in kinds and clause in self._at(_BELOW, path) for kind, _blank, path in call.below)
            )
        if clause in self._on_hosts:
            return not call.is_told or any(clause in self._at(_HOST, host) for host in call.hosts)
        return True

    def _at(self, what: str, place: str) -> frozenset[int]:
        """The clauses that an index has for a place."""
        found = self._known.get((what, place))
        if found is None:
            if what == _HOST:
                numbers = [each for some in hosts.lookup_possible(self._policy.hosts, place) for each in some]
            elif what == _BELOW:
                numbers = paths.lookup_below(self._policy.paths, place)
            else:
                numbers = [each for some in paths.lookup_possible(self._policy.paths, place) for each in some]
            found = self._known[what, place] = frozenset(numbers) & self._kinds.keys()
        return found


class Change:
    """How one policy differs from another in rules alone. `places`: where a rule of the one stands in the other."""

    def __init__(self, clauses: tuple[_Clauses, ...], places: Mapping[Rule, Rule]) -> None:
        self._clauses = clauses
        self.places = places

    def touches(self, signature: tuple[str, ...]) -> bool:
        """Whether a changed rule may speak of a call."""
        if signature == (_ANYTHING,):
            return bool(self._clauses)
        call = _Call(signature)
        return any(each.speak_of(call) for each in self._clauses)


def looked_below(signature: tuple[str, ...]) -> bool:
    """Whether it was looked for what policy protects below a tree of a call."""
    return _LOOKED in signature


def change(one: Loaded, other: Loaded) -> Change | None:
    """None where they differ in more than rules on effects, or a changed rule says more than that."""
    settings = [{name: each.value for name, each in loaded.settings.items()} for loaded in (one, other)]
    if settings[0] != settings[1] or any(
        getattr(one, name) != getattr(other, name) for name in ("mode", "modes", "modes_elsewhere", "project_trusted")
    ):
        return None
    return change_of_rules(one.policy, other.policy)


def change_of_rules(one: Policy, other: Policy) -> Change | None:
    """None where they differ in more than rules on effects, or a changed rule says more than that: what must be
    confined, when it holds, whose rule it silences."""
    if any(getattr(one, name) != getattr(other, name) for name in _BESIDE) or one.delegations:
        return None
    contents = [_contents(policy) for policy in (one, other)]
    alike = _alike(one, other, *contents)
    its, theirs = (dict(_clauses(policy, some, alike)) for policy, some in zip((one, other), contents, strict=True))
    clauses = []
    for mine, others, policy in ((its, theirs, one), (theirs, its, other)):
        kinds: dict[int, frozenset[str]] = {}
        for key in mine.keys() - others.keys():
            said = _spoken(policy, mine[key])
            if said is None:
                return None
            kinds[mine[key]] = said
        if kinds:
            clauses.append(_Clauses(policy, kinds))
    rows: list[dict[str, Rule]] = [
        dict(_rows(policy, some)) for policy, some in zip((one, other), contents, strict=True)
    ]
    return Change(tuple(clauses), {place: rows[1][key] for key, place in rows[0].items() if key in rows[1]})


def _alike(one: Policy, other: Policy, its: list[str], theirs: list[str]) -> int:
    """How many clauses both policies begin with: most, where the one has a rule more."""
    for number, (mine, yours) in enumerate(zip(one.clauses, other.clauses, strict=False)):
        if mine[1:] != yours[1:] or its[mine[0]] != theirs[yours[0]]:
            return number
    return min(len(one.clauses), len(other.clauses))


def _clauses(policy: Policy, contents: list[str], first: int) -> Iterator[tuple[str, int]]:
    """Clauses from a number on by what they say, wherever they stand; the same said twice is told apart. `contents`: of
    the rules."""
    seen: dict[str, int] = {}
    for number in range(first, len(policy.clauses)):
        rule, tests, of_part = policy.clauses[number]
        key = repr((contents[rule], tests, of_part))
        seen[key] = seen.get(key, 0) + 1
        yield f"{seen[key]} {key}", number


def _rows(policy: Policy, contents: list[str]) -> Iterator[tuple[str, Rule]]:
    seen: dict[str, int] = {}
    for number, key in enumerate(contents):
        rule = policy.rule(number)
        seen[key] = seen.get(key, 0) + 1
        yield f"{seen[key]} {key}", (rule.id, rule.source.layer, rule.source.file, rule.source.line)


def _contents(policy: Policy) -> list[str]:
    """What each rule says, wherever it stands."""
    return [_content(row) for row in policy.rules]


def _content(row: list[Any]) -> str:
    return digest([repr([each for column, each in enumerate(row[:SHOWN]) if column not in (FILE, LINE, COLUMN)])])


def _spoken(policy: Policy, number: int) -> frozenset[str] | None:
    """The kinds of effect of which a clause speaks, None where it says more than that."""
    rule, tests, of_part = policy.clauses[number]
    row = policy.rules[rule]
    names = {name for name, _argument in (*tests, *of_part)}
    if row[LANE] not in _LANES or row[EXPIRES] or row[SILENCES] != _NOBODY or "time" in names or "contained" in names:
        return None
    kinds = frozenset(KINDS)
    for name, argument in tests:
        if name == "effect":
            if not {*argument} <= {*KINDS}:
                return None
            kinds &= frozenset(argument)
        elif PREDICATES[name].kinds and not PREDICATES[name].negated:
            kinds &= frozenset(PREDICATES[name].kinds)
    return kinds
