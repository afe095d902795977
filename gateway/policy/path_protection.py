"""What a policy makes of names on the disk while a confined call runs: hidden, unchangeable, or bound to stay.

The verdict judged what a call was predicted to do. This is about everything else that lies in its reach: the rules
that deny or ask become properties of names. Rules are read off a policy once; which of them count for a call depends
on its circumstances, and then any number of names can be asked about.

A rule with conditions (`exec`, `agent`, `time`, …) counts unless the call certainly does not meet them; code may do
anything, so it meets every condition on commands. A rule on commands must name paths to say anything of names, and so
must an ask. An exception counts only if it speaks of nothing but paths and circumstances. Allow rules lift nothing.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.call import Call
from gateway.model.decision import LAYERS
from gateway.model.effect import PATH_KINDS, Touch
from gateway.policy import paths
from gateway.policy.globs import fold_case
from gateway.policy.predicates import PREDICATES, TESTS
from gateway.policy.subject import NO, YES, Subject
from gateway.policy.table import EXCEPT, EXPIRES, ID, LANE, LAYER, LEVEL, LOCK, REST
from gateway.policy.trie import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.model.context import Context
    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy

HIDE_SETTING = "sandbox.hide"
_ON_PATHS = ("effect", "path", "path_not", "holds")
_NAMING = ("path", "path_not", "holds")
_NO_CALL = Call("", {}, "")
_USER = LAYERS.index("user")
_REMEMBERED = 32
_MAX_KNOWN = 20_000
# Stands for whatever lies in a folder: no file is called that.
_ANYTHING = "/\x01anything\x01"


class Standing(Value):
    """Ids of the rules that speak of a name, "" for none. `hidden`: it must not be read, nor changed; `fixed`: it may
    be read, not changed; `kept`: it must stay what and where it is, whether or not what is in it may change."""

    hidden: str = ""
    fixed: str = ""
    kept: str = ""


FREE = Standing()


def standing(policy: Policy, path: str, context: Context) -> tuple[str, str]:
    """The rule that hides a path from any confined call in these circumstances, and the one that keeps it from being
    changed, "" for none."""
    found = PathRules(policy).in_force(context).of(path)
    return found.hidden, found.fixed or found.kept


class PathRules:
    """The rules on paths of one policy. Nothing changes but what it remembers; safe to use from several threads."""

    def __init__(self, policy: Policy, hide: Any = None) -> None:
        """`hide`: an index of patterns (`paths.build`) that are hidden as well."""
        self._index = policy.paths
        indexed = set(policy.paths[3])
        found = [_clause(policy, number, number in indexed) for number in policy.forbidding]
        self._clauses = [each for each in found if each is not None]
        if hide is not None:
            self._clauses.append(_Clause(-1, HIDE_SETTING, ("read", "", ""), (0, 0, ""), place=hide))
        self._conditional = [each for each in self._clauses if each.is_conditional()]
        self._known: dict[Any, Protection] = {}

    def in_force(self, context: Context, verdict: Verdict | None = None) -> Protection:
        """What counts for a call; without a verdict, for any call in these circumstances. The same answer for calls
        in which the same rules count."""
        settled = {each.number: each.settled(context, verdict) for each in self._conditional}
        key = (repr(tuple(settled.values())), context.workspace, context.home)
        known = self._known.get(key)
        if known is None:
            active = [each for each in [settled.get(each.number, each) for each in self._clauses] if each is not None]
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[key] = Protection(self._index, active, context)
        return known


class _Clause(Value):
    """A clause on paths of a rule that forbids. `kinds`: the kind of effect it forbids for reading, writing and
    deleting, "" for none; `rank`: less is firmer; `place`: the index of its own patterns, None where the policy's
    answers for them, False where it names none. `of_part`: conditions on commands; `answered`: modes may answer it."""

    number: int
    rule: str
    kinds: tuple[str, str, str]
    rank: tuple[int, int, str]
    tests: tuple[Any, ...] = ()
    exceptions: tuple[Any, ...] = ()
    place: Any = None
    conditions: tuple[Any, ...] = ()
    of_part: tuple[Any, ...] = ()
    expires: float = 0.0
    answered: bool = False

    def is_conditional(self) -> bool:
        """Whether it depends on the call that it counts, or what is excepted from it."""
        circumstances = any(name not in _ON_PATHS for tests in self.exceptions for name, _ in tests)
        return bool(self.conditions or self.of_part or self.expires or self.answered or circumstances)

    def is_alike(self) -> bool:
        """Whether it holds for all of its kinds of effect if it does for one."""
        return not any(name == "effect" for tests in self.exceptions for name, _ in tests)

    def settled(self, context: Context, verdict: Verdict | None) -> _Clause | None:
        """The clause for one call, without conditions; None where it does not count."""
        if (0 < self.expires <= context.now) or (self.answered and context.mode == "bypass"):
            return None
        if not could_apply(self.conditions, self.of_part, context, verdict):
            return None
        subject = Subject(_NO_CALL if verdict is None else verdict.call, context)
        subject.allow = True
        left = []
        for tests in self.exceptions:
            others = [test for test in tests if test[0] not in _ON_PATHS]
            if verdict is not None and all(
                PREDICATES[name].scope == "call" and TESTS[name](argument, subject) is YES for name, argument in others
            ):
                left.append(tuple(test for test in tests if test[0] in _ON_PATHS))
            elif not others:
                left.append(tuple(tests))
        return self.replace(exceptions=tuple(left), conditions=(), of_part=(), expires=0.0, answered=False)


def could_apply(conditions: Any, of_part: Any, context: Context, verdict: Verdict | None) -> bool:
    """Whether a rule with these tests on the call and on its commands may hold for what the call does, be it unseen."""
    if verdict is None:
        return True
    subject = Subject(verdict.call, context)
    if any(name != "cwd" and TESTS[name](argument, subject) is NO for name, argument in conditions):
        return False
    of_command = [*[test for test in conditions if test[0] == "cwd"], *of_part]
    if not of_command or runs_unseen(verdict):
        return True
    for part in verdict.analysis.parts or (None,):
        subject.part = part
        if all(TESTS[name](argument, subject) is not NO for name, argument in of_command):
            return True
    return False


def runs_unseen(verdict: Verdict) -> bool:
    """Whether the call does more than was predicted: code, or what could not be analysed."""
    return bool(verdict.analysis.tokens) or any(
        item.effect.kind in ("code", "opaque") for item in verdict.analysis.items
    )


def _clause(policy: Policy, number: int, indexed: bool) -> _Clause | None:
    """What must be known of a clause, None where it forbids nothing on paths."""
    rule, tests, of_part = policy.clauses[number]
    row = policy.rules[rule]
    lane = row[LANE]
    if row[LEVEL]:
        return None
    tests = [test for test in tests if test[0] != "named" or test[1]]
    own = [test for test in tests if PREDICATES[test[0]].scope == "effect"]
    if any(name not in _ON_PATHS for name, _ in own) or not (own or indexed):
        return None
    named = {name for name, _ in own}
    if not indexed and ((of_part and "path" not in named) or (lane == "ask" and named.isdisjoint(_NAMING))):
        return None
    told = next((argument for name, argument in own if name == "effect"), PATH_KINDS)
    reads = "read" if "read" in told else "list" if "list" in told else ""
    kinds = (reads, "write" if "write" in told else "", "delete" if "delete" in told else "")
    if not any(kinds):
        return None
    place = None if indexed else next((argument for name, argument in own if name == "path"), False)
    locked = bool(row[REST] and row[REST][LOCK])
    return _Clause(
        number,
        row[ID],
        kinds=kinds,
        rank=(0 if lane == "deny" else 1, row[LAYER], row[ID]),
        tests=tuple(test for test in own if test[0] in ("path_not", "holds")),
        exceptions=tuple(row[EXCEPT]),
        place=place,
        conditions=tuple(test for test in tests if test not in own),
        of_part=tuple(of_part),
        expires=row[EXPIRES],
        answered=lane == "ask" and row[LAYER] >= _USER and not locked,
    )


class Protection:
    """The rules that count for some calls, ready to be asked about names."""

    def __init__(self, index: Any, clauses: list[_Clause], context: Context) -> None:
        self._index = index
        self._context = context
        self._targets = (*context.workspace, context.home)
        self._indexed = {each.number: each for each in clauses if each.place is None}
        self._others = [each for each in clauses if each.place is not None]
        self._alike = {each.number for each in clauses if each.is_alike()}
        self._pending: dict[tuple[int, bool], bool] = {}
        self._known: dict[str, Standing] = {}

    def of(self, path: str) -> Standing:
        """How a path stands by itself, and as something that lies in a folder that a rule speaks of."""
        known = self._known.get(path)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[path] = self._of(path)
        return known

    def _of(self, path: str) -> Standing:
        found = [each for number in paths.lookup(self._index, path) if (each := self._indexed.get(number)) is not None]
        found += [each for each in self._others if each.place is False or paths.lookup(each.place, path)]
        if not found:
            return FREE
        found.sort(key=_rank)
        firmest = ["", "", ""]  # that forbids reading, writing or deleting it
        for clause in found:
            left = [at for at, kind in enumerate(clause.kinds) if kind and not firmest[at]]
            if clause.number in self._alike:
                left = left if left and self._holds(clause, clause.kinds[left[0]], path) else []
            else:
                left = [at for at in left if self._holds(clause, clause.kinds[at], path)]
            for at in left:
                firmest[at] = clause.rule
        return Standing.make(tuple(firmest))

    def _holds(self, clause: _Clause, kind: str, path: str) -> bool:
        if not (clause.tests or clause.exceptions):
            return True
        subject = Subject(_NO_CALL, self._context)
        subject.effect = Touch(kind, path)
        if any(TESTS[name](argument, subject) is NO for name, argument in clause.tests):
            return False
        subject.allow = True
        return not any(
            all(TESTS[name](argument, subject) is YES for name, argument in tests) for tests in clause.exceptions
        )

    def below(self, folder: str) -> Standing:
        """How whatever lies in a folder stands, as far as it does not depend on the name."""
        return self.of(folder.rstrip("/") + _ANYTHING)

    def of_entry(self, path: str, *, folder: bool) -> Standing:
        """How a name on the disk is to be held. A folder stands for what is in it: it is fixed as a whole if a rule
        forbids to change or delete what lies in it, whatever that is called; else it is only kept in its place."""
        found = self.of(path)
        if not folder or found.hidden or not (found.fixed or found.kept):
            return found
        inside = self.below(path)
        if inside.fixed or inside.kept:
            return Standing("", inside.fixed or inside.kept, inside.kept or found.kept)
        return Standing("", "", found.kept or found.fixed)

    def of_link(self, path: str) -> Standing:
        """How a link is to be held. One whose name leads to protected names (`.vscode` for `.vscode/tasks.json`) is
        held itself: whoever follows it meets what rules speak of, under another name."""
        found = self.of(path)
        if found.hidden or found.fixed:
            return found
        numbers = paths.lookup_leading(self._index, path)
        led = [each for number in numbers if (each := self._indexed.get(number)) is not None]
        led += [each for each in self._others if each.place and paths.lookup_leading(each.place, path)]
        led = [each for each in led if each.kinds[1]]
        if not led:
            return found
        rule = min(led, key=_rank).rule
        return Standing("", rule, found.kept or rule)

    def names(self, folder: str, names: Iterable[str]) -> list[str]:
        """Those of a folder's names that some rule may speak of: all others stand free."""
        fold = bool(self._index[1])
        places = [self._index]
        for each in self._others:
            outside = next((argument for name, argument in each.tests if name == "path_not"), None)
            if outside is not None and paths.lookup_tree(outside, folder, itself=False):
                continue
            if any(name == "holds" for name, _ in each.tests):
                above = folder if folder == "/" else folder + "/"
                if not any(target.startswith(above) for target in self._targets):
                    continue
            if each.place is False:
                return list(names)
            places.append(each.place)
        scouts = [_Scout(place, folder, self._indexed if place is self._index else None) for place in places]
        if any(scout.alert for scout in scouts):
            return list(names)
        found = []
        for name in names:
            asked = fold_case(name) if fold else name
            for scout in scouts:
                if scout.speaks(asked):
                    found.append(name)
                    break
        return found

    def anchored(self, root: str) -> Iterator[tuple[Any, list[int]]]:
        """The nodes of the indexes that stand at a folder, each with its index's order: where the patterns that name
        something below this very folder begin."""
        for index in (self._index, *[each.place for each in self._others if each.place]):
            node = index[0]
            for segment in [each for each in (fold_case(root) if index[1] else root).split("/") if each]:
                node = node[0].get(segment)
                if node is None:
                    break
            else:
                yield node, index[2]

    def matters(self, node: Any, order: list[int], *, hiding: bool) -> bool:
        """Whether a node of an index leads to a rule that counts; `hiding`: to one that hides."""
        if order is not self._index[2]:
            return True
        key = (id(node), hiding)
        known = self._pending.get(key)
        if known is None:
            found = [self._indexed[number] for number in order[node[2] : node[3]] if number in self._indexed]
            known = self._pending[key] = any(each.kinds[0] or not hiding for each in found)
        return known


def _rank(clause: _Clause) -> tuple[int, int, str]:
    return clause.rank


class _Scout:
    """Looks at one index from one folder: which names below it could be spoken of."""

    __slots__ = ("_children", "_deeps", "alert")

    def __init__(self, index: Any, folder: str, counting: dict[int, _Clause] | None) -> None:
        segments = [each for each in (fold_case(folder) if index[1] else folder).split("/") if each]
        node = index[0]
        deeps: list[tuple[Any, int]] = []
        self.alert = False
        self._children: Any = {}
        for at, segment in enumerate([*segments, None]):
            if node is None:
                break
            rest = node[1]
            if rest is not None:
                inside, _ends, one, deep = rest
                if any(counting is None or number in counting for number in inside):
                    self.alert = True
                if one is not None and (segment is None or choose(one, segment)):
                    self.alert = True
                if deep is not None:
                    deeps.append((deep, at))
            if segment is None:
                self._children = node[0]
            else:
                node = node[0].get(segment)
        if not self.alert:
            self.alert = any(choose(deep, segment) for deep, at in deeps for segment in segments[at:])
        self._deeps = [deep for deep, _ in deeps]

    def speaks(self, name: str) -> bool:
        """Whether a pattern may begin, or end, with this name."""
        if name in self._children:
            return True
        for names, heads, tails, others, *_ in self._deeps:
            if name in names or (
                (name[:3] in heads or name[-3:] in tails or others is not None)
                and choose([names, heads, tails, others], name)
            ):
                return True
        return False
