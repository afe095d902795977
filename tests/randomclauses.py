"""Random clauses over small worlds, and what the resolver itself makes of everything that there is in such a world: so
that what is proved of clauses can be held against trying it all."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from gateway.config.shipped import load_tools
from gateway.core.places import places
from gateway.judge.policy_tests import Trials
from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.context import Context
from gateway.model.effect import Code, Connect, Item, Push, Touch, Use
from gateway.model.facts import Facts
from gateway.policy.algebra.clauses import at_least, at_most
from gateway.policy.algebra.dimensions import everything
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import Point, uncovered
from gateway.policy.candidates import BOTH, TARGET, WRITTEN
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.modes import regions_of
from gateway.policy.resolve import Resolution
from gateway.policy.subject import NO, YES
from gateway.policy.table import LANE, Judged, Policy

if TYPE_CHECKING:
    import random

LANES = ("allow", "ask", "deny")
ROOT = "/p"
CONTEXT = Context(ROOT, ROOT, "/h", (ROOT,))
SHELL, OTHER = Judged("execute", shell=True), Judged("execute")


class Clause(NamedTuple):
    lane: str
    when: dict[str, Any]


class Subject(NamedTuple):
    call: Call
    analysis: Analysis
    context: Context
    shell: bool


class World(NamedTuple):
    """`clause`: makes a random one; `subjects`: everything there is."""

    clause: Any
    subjects: tuple[Subject, ...]


class Trial(NamedTuple):
    narrow: Clause
    wide: tuple[Clause, ...]


class Outcome(NamedTuple):
    """`claimed`: that the wide ones hold for all of the narrow one; `wrong`: a subject of which that is not so."""

    claimed: bool
    wrong: Subject | None = None


def trial(world: World, chance: random.Random) -> Trial:
    """One clause and up to three that may hold for all of it."""
    narrow = Clause(chance.choice(LANES), world.clause(chance))
    lanes = LANES[LANES.index(narrow.lane) :]
    wide = tuple(Clause(chance.choice(lanes), world.clause(chance)) for _ in range(chance.randint(1, 3)))
    return Trial(narrow, wide)


def outcome(world: World, given: Trial) -> Outcome:
    """What is claimed, and whether the resolver bears it out for everything."""
    regions = []
    try:
        for lane, when in given.wide:
            regions += at_least(when, lane, "user")
        covered = all(
            uncovered(region, lambda point: _holding(regions, point), everything) is None
            for region in at_most(given.narrow.when, given.narrow.lane, "user")
        )
    except UndecidedError:
        covered = False
    if not covered:
        return Outcome(False)
    policy = _policy(given)
    return Outcome(True, next((each for each in world.subjects if not _is_borne_out(policy, each)), None))


def _holding(regions: list[Any], point: Point) -> list[Any]:
    return [region for region in regions if point.lies_in(region)]


def _policy(given: Trial) -> Policy:
    rules = [_rule(number, *clause) for number, clause in enumerate((given.narrow, *given.wide))]
    bound = Bound("user", "random.yaml", rules=rules, base=ROOT, layer_root=ROOT)
    return Policy(**compile_policy([bound], home="/h"), levels={})


def _rule(number: int, lane: str, when: dict[str, Any]) -> dict[str, Any]:
    written = {
        name: [f"/{each}" for each in value] if name in ("path", "path_not", "cwd") else value
        for name, value in when.items()
    }
    return {
        "lane": lane, "id": str(number), "derived": False, "line": number, "column": 1, "text": "", "because": "",
        "instead": "", "lock": False, "expires": "", "when": written, "except": [], "delegate": None, "excepts": "",
        "require": None, "changes": "", "matches": [], "not_matches": [],
    }  # fmt: skip


def _is_borne_out(policy: Policy, subject: Subject) -> bool:
    """Whether, if the first rule holds for an effect, one of the others holds as firmly."""
    judged = SHELL if subject.shell else OTHER
    found = Resolution(
        policy, subject.call, judged, subject.analysis, subject.context, Facts(), regions_of(subject.context)
    )
    for item in subject.analysis.items:
        found.look_at(item)
        narrow, ends, best = NO, 0, NO
        for clause, forbids, covers in found.candidates(item):
            rule, tests, of_part = policy.clauses[clause]
            if policy.rules[rule][LANE] == "allow":
                held = found._may_cover(item, tests, of_part, 2) and found.answer(tests, True) is YES
                answer, end = (YES, covers) if held and covers else (NO, 0)
            else:
                answer = min(forbids, found.answer(tests, False))
                end = BOTH if answer else 0
            if rule == 0:
                narrow = max(narrow, answer if end == BOTH else NO)
            else:
                ends |= end
                best = max(best, answer)
        if narrow and (best < narrow or ends != WRITTEN | TARGET):
            return False
    return True


def _some(chance: random.Random, values: Any, most: int = 2) -> list[Any]:
    return chance.sample(list(values), chance.randint(1, most))


_SEGMENTS = ("a", "b", "*", "**", "a*", "*b", "?", "[ab]", "*a*", "ab", "[!a]*", "?*")


def _path(chance: random.Random) -> str:
    found = "/" + "/".join(chance.choice(_SEGMENTS) for _ in range(chance.randint(1, 3)))
    return found + chance.choice(("", "", "", "/", "/**"))


def _paths_clause(chance: random.Random) -> dict[str, Any]:
    when: dict[str, Any] = {}
    if chance.random() < 0.6:
        when["effect"] = _some(chance, ("read", "write", "list", "delete"), 3)
    if chance.random() < 0.9 or "effect" not in when:
        when["path"] = [_path(chance) for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.3:
        when["path_not"] = [_path(chance) for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.2:
        when["tool"] = _some(chance, ("Read", "B*", "*", "Bash"))
    if chance.random() < 0.2:
        when["mode"] = _some(chance, ("default", "plan"))
    return when


@functools.cache
def paths_world() -> World:
    """Files and folders of two letters, links among them, trees."""
    names = ("a", "b", "ab", "ba")
    known = ["/", *(f"/{one}" for one in names), *(f"/{one}/{two}" for one in names for two in names)]
    known += ["/a/a/a", "/a/b/a", "/b/a/b", "/ab/a/b/a"]
    ends = [(each, "") for each in known] + [(one, two) for one in known[::3] for two in known[::4] if one != two]
    ends += [(each, "") for each in ("\0", "/a/\0", "\0/a", "/b/\0/ab", "/\0a/b", "\0/../a")]
    subjects = []
    for number, (path, real) in enumerate(ends):
        for kind, tree in itertools.product(("read", "write", "list", "delete"), (False, True)):
            tool, shell = (("Read", False), ("Bash", True))[number % 2]
            item = Item(Touch(kind, path, tree=tree, real=real))
            subjects.append(_subject(tool, item, shell=shell, mode=("default", "plan")[(number // 2) % 2]))
    return World(_paths_clause, tuple(subjects))


def _subject(tool: str, item: Item, *, shell: bool, parts: tuple[Any, ...] = (), **context: Any) -> Subject:
    return Subject(Call(tool, {}, ""), Analysis(parts, (item,)), CONTEXT.replace(**context), shell)


_HOSTS = (
    "a.b", "*.a.b", "*.b", "x*.b", "a.*", "*", "b", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "private", "loopback",
    "*.x*.b", "metadata", "link-local",
)  # fmt: skip


def _hosts_clause(chance: random.Random) -> dict[str, Any]:
    when: dict[str, Any] = {"host": _some(chance, _HOSTS, 3)} if chance.random() < 0.9 else {"effect": ["connect"]}
    if chance.random() < 0.3:
        when["host_not"] = _some(chance, _HOSTS, 2)
    if chance.random() < 0.3:
        when["direction"] = _some(chance, ("fetch", "send"))
    if chance.random() < 0.3:
        when["port"] = _some(chance, (80, 443))
    return when


@functools.cache
def hosts_world() -> World:
    """Names, addresses, and what programs could read as either."""
    hosts = (
        "a.b", "x.a.b", "y.x.a.b", "b", "xy.b", "a.c", "10.1.2.3", "10.9.9.9", "11.1.1.1", "127.0.0.1", "localhost",
        "0177.0.0.1", "169.254.169.254", "::1", "fd00::1", "2001:db8::1", "x.internal", "A.B.", "metadata", "x.xa.b",
        "\0", "x.\0", "\0.a.b",
    )  # fmt: skip
    subjects = [
        _subject("WebFetch", Item(Connect(host, port, direction)), shell=False)
        for host in hosts
        for port in (0, 80, 443)
        for direction in ("fetch", "send")
    ]
    return World(_hosts_clause, tuple(subjects))


_COMMANDS = (
    "git *", "git push *", "git push", "git push -f *", "git * origin *", "git push origin x", "* origin *", "git p* *",
    "foo *", "foo a *", "foo -n *", "foo a b", "foo -n a *", "f* *", "foo * b", "*", "git push '*' x", "foo:*",
)  # fmt: skip


def _commands_clause(chance: random.Random) -> dict[str, Any]:
    when: dict[str, Any] = {}
    if chance.random() < 0.7:
        when["command"] = [chance.choice(_COMMANDS)]
    elif chance.random() < 0.9:
        when["exec"] = [_some(chance, ("git", "foo", "f*", "*")), *(
            [_some(chance, ("push", "a", "*"))] if chance.random() < 0.5 else []
        )]  # fmt: skip
    if chance.random() < 0.2 or not when:
        when["option"] = _some(chance, ("-f", "-n", "--force"))
    if chance.random() < 0.2:
        when["option_not"] = _some(chance, ("-f", "-n"))
    if chance.random() < 0.2:
        when["effect"] = _some(chance, ("code", "push", "read"))
    if chance.random() < 0.2:
        when["confined"] = chance.random() < 0.5
    return when


@functools.cache
def commands_world() -> World:
    """Commands of a described program and of one that nobody described, as the analysis reads them."""
    trials = Trials(load_tools(places()), places())
    texts = [
        " ".join(("git", *words))
        for size in range(4)
        for words in itertools.product(("push", "-f", "origin", "x"), repeat=size)
    ]
    texts += [
        " ".join(("foo", *words)) for size in range(4) for words in itertools.product(("a", "-n", "b"), repeat=size)
    ]
    texts += ["/usr/bin/git push origin x", "git --no-pager push origin", "git push $x", "xargs git push", "FOO a b"]
    policy = Policy(**compile_policy((), home="/h"), levels={})
    effects = (Push("origin", "x", False), Touch("read", "/p/x"))
    subjects = [
        _subject("Bash", Item(effect, part=place), shell=True, parts=(part,), confined=number % 2 == 0)
        for number, text in enumerate(texts)
        for part in trials.verdict(f"Bash({text})", policy).analysis.parts
        for effect in (Code(part.program, part.argv, ""), *effects)
        for place in ((0, -1) if number % 9 == 0 else (0,))
    ]
    return World(_commands_clause, tuple(subjects))


_TESTS = (
    {"glob": "a*"}, {"glob": "*"}, {"glob": "ab"}, {"equals": 5}, {"gt": 3}, {"ge": 5, "lt": 9},
    {"in": ["ab", "ac", 5]},
    {"absent": True}, {"absent": False}, {"not": {"glob": "a*"}}, {"type": "string"}, {"type": "integer"},
    {"type": "number"}, {"equals": True}, {"not": {"gt": 3}}, {"equals": None}, {"type": "boolean"},
)  # fmt: skip
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _calls_clause(chance: random.Random) -> dict[str, Any]:
    when: dict[str, Any] = {"tool": _some(chance, ("T", "T*", "*", "U"))}
    if chance.random() < 0.7:
        when["args"] = {name: chance.choice(_TESTS) for name in _some(chance, ("x", "y"))}
    if chance.random() < 0.3:
        when["depth"] = chance.choice(({"ge": 1}, {"gt": 1}, {"lt": 2}, {"equals": 1}, {"le": 1, "ge": 1}))
    if chance.random() < 0.3:
        when["time"] = {
            **({"days": _some(chance, _DAYS, 4)} if chance.random() < 0.7 else {}),
            **(chance.choice(({"from": "09:00", "to": "17:00"}, {"from": "22:00", "to": "06:00"}, {"from": "08:00"}))),
        }
    if chance.random() < 0.3:
        when["agent"] = _some(chance, ("a*", "ab", "*"))
    return when


@functools.cache
def calls_world() -> World:
    """Calls of tools with arguments, at several times and depths, by several agents."""
    values: tuple[Any, ...] = ("a", "ab", "ac", "b", 5, 5.0, 4, 9, True, False, None, [1], {"y": 1}, "missing")
    subjects = []
    for number, (x, y) in enumerate(itertools.product(values, values[::3])):
        given = {name: value for name, value in (("x", x), ("y", y)) if value != "missing"}
        hour = 3600.0 * (number * 7 % 168)
        call = Call(("T", "U", "TU")[number % 3], given, "")
        context = CONTEXT.replace(depth=number % 4, now=hour, agent=("a", "ab", "", "b")[number % 4])
        subjects.append(Subject(call, Analysis((), (Item(Use(call.tool)),)), context, False))
    return World(_calls_clause, tuple(subjects))


WORLDS = {"paths": paths_world, "hosts": hosts_world, "commands": commands_world, "calls": calls_world}
