"""What holds for every stack of layers: no rule of any layer loosens what another one forbids, and order is nothing.

The stacks are random, over a vocabulary small enough for its rules to meet. They are compiled and resolved as in
every call; only the analysis of the call is written by hand.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from fuzzing import SEARCH
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.binding import bind
from gateway.config.layers import PolicyFile
from gateway.core.errors import ConfigError, Problem
from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.command import Part
from gateway.model.context import Context
from gateway.model.decision import LAYERS, MODES, Decision
from gateway.model.effect import HOLE, Code, Connect, Item, Opaque, Push, Touch, Use
from gateway.model.facts import NO_FACTS
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.modes import CLASSES, is_ceiling, mode_decision, regions_of
from gateway.policy.resolve import resolve
from gateway.policy.table import Judged, Policy

if TYPE_CHECKING:
    from gateway.model.verdict import Verdict

ROOT, HOME = "/home/dev/project", "/home/dev"

PATHS = (
    f"{ROOT}/a.py",
    f"{ROOT}/src/b.py",
    f"{ROOT}/.env",
    f"{HOME}/.ssh/id_rsa",
    "/etc/passwd",
    "/tmp/x",
    f"{ROOT}/{HOLE}",
    f"/{HOLE}",
)
PATTERNS = ("./**", "src/**", "*.py", "**/.env*", ".env", "~/.ssh/**", "~/**", "//etc/**", "//**", "/src", "a.py")
HOSTS = ("example.com", "api.example.com", "evil.test", "127.0.0.1", HOLE)
HOST_PATTERNS = ("example.com", "*.example.com", "*", "evil.test", "loopback")
COMMANDS = (
    ("git", "push", "-f", "origin", "main"),
    ("git", "status"),
    ("npm", "test"),
    ("rm", "-rf", "a.py"),
    ("curl", "https://example.com/"),
    ("git", "push", HOLE),
)
COMMAND_PATTERNS = ("git *", "git push *", "git status", "npm *", "rm -rf *", "curl *", "* main")
MODES_TRIED = ("default", "accept_edits", "plan", "dont_ask", "bypass")


def part(words: tuple[str, ...]) -> Part:
    options = frozenset(word for word in words[1:] if word.startswith("-"))
    others = tuple(word for word in words[1:] if not word.startswith("-"))
    literal = not any(HOLE in word for word in words)
    return Part(words, 0, 9, words[0], others[:1], others[1:], options, True, literal, True, True)


effects = st.one_of(
    st.builds(
        Touch, st.sampled_from(("list", "read", "write", "delete")), st.sampled_from(PATHS), st.booleans(),
        real=st.sampled_from(("", f"{HOME}/.ssh/id_rsa", f"{ROOT}/src/b.py")),
    ),
    st.builds(Connect, st.sampled_from(HOSTS), st.sampled_from((0, 443)), st.sampled_from(("fetch", "send"))),
    st.builds(Push, st.sampled_from(("origin", HOLE)), st.sampled_from(("main", "wip/x", HOLE)), st.booleans()),
    st.just(Code("npm", ("npm", "test"), "it runs scripts")),
    st.just(Opaque("an unknown program")),
)  # fmt: skip


@st.composite
def analyses(draw: st.DrawFn) -> Analysis:
    """A shell call of up to two commands with up to four effects, some of them no command's own."""
    commands = draw(st.lists(st.sampled_from(COMMANDS), max_size=2))
    items = [Item(Use("Bash"))]
    found = draw(st.lists(st.tuples(effects, st.integers(-1, len(commands) - 1)), max_size=4))
    items += [Item(effect, 0, 9, place) for effect, place in found]
    return Analysis(tuple(map(part, commands)), tuple(items))


def some(name: str, values: tuple[Any, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """A predicate that lists up to two of the values."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True).map(lambda found: {name: found})


predicates = st.one_of(
    some("path", PATTERNS),
    some("path_not", PATTERNS),
    some("host", HOST_PATTERNS),
    some("host_not", HOST_PATTERNS),
    some("command", COMMAND_PATTERNS),
    some("effect", ("read", "write", "delete", "connect", "push", "code", "opaque", "use")),
    some("tool", ("Bash", "*", "Read")),
    some("option", ("-f", "-rf")),
    some("option_not", ("-f", "-x")),
    some("ref", ("main", "wip/*")),
    some("mode", MODES_TRIED),
    st.sampled_from(([["git"]], [["git"], ["push"]], [["npm", "rm"]])).map(lambda prefix: {"exec": prefix}),
    st.booleans().map(lambda value: {"force": value}),
    st.booleans().map(lambda value: {"confined": value}),
    some("branch", ("main", "wip/*")),
)
conjunctions = st.lists(predicates, min_size=1, max_size=2).map(
    lambda found: {k: v for each in found for k, v in each.items()}
)
whens = st.one_of(conjunctions, st.lists(conjunctions, min_size=2, max_size=2).map(lambda found: {"any": found}))


def rule(lane: str, when: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A rule in normal form; its id follows from its content, as in files."""
    found = {
        "lane": lane, "derived": True, "line": 1, "column": 1, "text": lane, "because": "", "instead": "",
        "lock": False, "expires": "", "when": when, "except": [], "delegate": None, "excepts": "", "require": None,
        "changes": "",
        "matches": [], "not_matches": [],
    }  # fmt: skip
    found.update(more)
    if "id" in found:
        return found
    return {"id": f"{lane}-{crc32(json.dumps(found, sort_keys=True).encode()):08x}", **found}


@st.composite
def rules(draw: st.DrawFn, lanes: tuple[str, ...] = ("deny", "ask", "allow", "require")) -> dict[str, Any]:
    lane = draw(st.sampled_from(lanes))
    when = draw(whens)
    if lane == "require":
        return rule(lane, when, require=draw(st.sampled_from(({"confined": True}, {"network": "off"}))))
    if lane == "allow":
        return rule(lane, when, expires=draw(st.sampled_from(("", "", "1969-01-01"))))
    return rule(
        lane,
        when,
        **{"except": draw(st.lists(conjunctions, max_size=1)), "lock": draw(st.booleans())},
    )


@st.composite
def stacks(draw: st.DrawFn, layers: tuple[str, ...] = LAYERS) -> list[Bound]:
    """Files of some layers with up to three rules each."""
    found = []
    for number in range(draw(st.integers(0, 3))):
        layer = draw(st.sampled_from(layers))
        level = draw(st.sampled_from(("enforce", "enforce", "enforce", "warn", "observe")))
        content = draw(st.lists(rules(), max_size=3, unique_by=lambda each: each["id"]))
        found.append(Bound(layer, f"{layer}-{number}.yaml", content, ROOT, ROOT, level))
    return found


@st.composite
def contexts(draw: st.DrawFn) -> Context:
    confined = draw(st.booleans())
    return Context(
        ROOT, ROOT, HOME, (ROOT,), ("/tmp",) if confined else (), draw(st.sampled_from(MODES_TRIED)), confined,
        branch=draw(st.sampled_from(("main", "wip/y", ""))), now=1_700_000_000.0,
    )  # fmt: skip


def judge(stack: list[Bound], analysis: Analysis, context: Context) -> Verdict:
    policy = Policy(**compile_policy(stack, home=HOME), levels={})
    call = Call("Bash", {"command": "…"}, "…")
    return resolve(policy, call, Judged("execute", True), analysis, context, NO_FACTS, regions_of(context))


def floor(verdict: Verdict) -> dict[int, Decision]:
    """For each effect the strictest answer that some rule, and not the mode, gave."""
    found: dict[int, Decision] = {}
    for outcome in verdict.outcomes:
        reason = outcome.reason
        if reason.rule.lane in ("deny", "ask", "require"):
            found[reason.item] = max(outcome.decision, found.get(reason.item, Decision.ALLOW))
    return found


def answers(verdict: Verdict) -> dict[int, Decision]:
    found: dict[int, Decision] = {}
    for outcome in verdict.outcomes:
        item = outcome.reason.item
        found[item] = max(outcome.decision, found.get(item, Decision.ALLOW))
    return found


@SEARCH
@given(stacks(("builtin", "enterprise")), stacks(("user", "project", "local", "session")), analyses(), contexts())
def test_no_lower_layer_weakens_what_upper_layers_say_of_an_effect(
    upper: list[Bound], lower: list[Bound], analysis: Analysis, context: Context
) -> None:
    demanded = floor(judge(upper, analysis, context))
    together = answers(judge([*upper, *lower], analysis, context))
    weakened = {
        item: (said, together.get(item)) for item, said in demanded.items() if together.get(item, Decision.ALLOW) < said
    }
    assert weakened == {}


@SEARCH
@given(stacks(), stacks(), analyses(), contexts())
def test_adding_files_never_loses_the_protection_of_others(
    present: list[Bound], added: list[Bound], analysis: Analysis, context: Context
) -> None:
    demanded = floor(judge(present, analysis, context))
    together = answers(judge([*present, *added], analysis, context))
    assert {item for item, said in demanded.items() if together.get(item, Decision.ALLOW) < said} == set()


@SEARCH
@given(stacks(), analyses(), contexts(), st.randoms(use_true_random=False))
def test_the_order_of_rules_and_of_files_never_matters(
    stack: list[Bound], analysis: Analysis, context: Context, random: Any
) -> None:
    shuffled = []
    for bound in stack:
        content = list(bound.rules)
        random.shuffle(content)
        shuffled.append(bound.replace(rules=content))
    random.shuffle(shuffled)

    def told(verdict: Verdict) -> Any:
        outcomes = sorted(
            (o.reason.item, o.decision, o.reason.rule.id, str(o.reason.rule.source)) for o in verdict.outcomes
        )
        return verdict.decision, verdict.reason.rule, outcomes, verdict.demands

    assert told(judge(shuffled, analysis, context)) == told(judge(stack, analysis, context))


@SEARCH
@given(stacks(), analyses(), contexts())
def test_what_is_named_is_among_the_strictest_and_a_rule_that_holds_before_the_mode(
    stack: list[Bound], analysis: Analysis, context: Context
) -> None:
    verdict = judge(stack, analysis, context)
    strictest = max(outcome.decision for outcome in verdict.outcomes)
    equals = [outcome.reason for outcome in verdict.outcomes if outcome.decision is strictest]
    surely = [reason for reason in equals if reason.certain and reason.rule.lane != "mode"]
    assert (verdict.decision, verdict.reason in (surely or equals)) == (strictest, True)


@SEARCH
@given(stacks(), stacks(), st.sampled_from(("observe", "warn")), analyses(), contexts())
def test_rules_that_only_observe_never_decide(
    stack: list[Bound], watching: list[Bound], level: str, analysis: Analysis, context: Context
) -> None:
    alone = judge(stack, analysis, context)
    watched = judge([*stack, *(bound.replace(level=level) for bound in watching)], analysis, context)
    assert (watched.decision, watched.outcomes, watched.demands) == (alone.decision, alone.outcomes, alone.demands)


@SEARCH
@given(stacks(), analyses(), contexts())
def test_every_effect_that_is_no_carrier_gets_an_answer(
    stack: list[Bound], analysis: Analysis, context: Context
) -> None:
    found = answers(judge(stack, analysis, context))
    judged = {n for n, item in enumerate(analysis.items) if item.effect.kind != "use"}
    assert (judged - set(found), bool(found)) == (set(), True)


@SEARCH
@given(stacks(("builtin", "enterprise", "user", "local")), stacks(("project",)), analyses(), contexts())
def test_a_project_that_is_not_trusted_only_makes_stricter(
    stack: list[Bound], project: list[Bound], analysis: Analysis, context: Context
) -> None:
    with_it = layered([*stack, *project], trusted=False)
    assert (
        judge(list(with_it.bound), analysis, context).decision
        >= judge(list(layered(stack).bound), analysis, context).decision
    )


@SEARCH
@given(stacks(), st.integers(0, 3), st.sampled_from(LAYERS[1:5]), st.booleans())
def test_a_broken_file_is_an_error_wherever_it_lies(stack: list[Bound], place: int, layer: str, trusted: bool) -> None:
    files = [as_file(bound) for bound in stack]
    files.insert(min(place, len(files)), PolicyFile(layer, "broken.yaml", b"broken", ROOT, ROOT))
    with pytest.raises(ConfigError, match=r"broken\.yaml:1: it is broken"):
        bind(files, parse, root=ROOT, trusted=lambda _digest: trusted)


@SEARCH
@given(st.sampled_from(MODES), st.sampled_from(MODES))
def test_the_mode_that_an_untrusted_project_brings_about_is_nowhere_looser(users: str, projects: str) -> None:
    files = [
        as_file(Bound("user", "user.yaml", (), ROOT, ROOT), mode=users),
        as_file(Bound("project", "p.yaml", (), ROOT, ROOT), mode=projects),
    ]
    mode = bind(files, parse, root=ROOT, trusted=lambda _digest: False).settings["mode"].value
    looser = [row for row in CLASSES if mode_decision(mode, row) < mode_decision(users, row)]
    lifted = [row for row in CLASSES if is_ceiling(users, row) and not is_ceiling(mode, row)]
    assert (looser, lifted) == ([], [])


def as_file(bound: Bound, **given: Any) -> PolicyFile:
    """A file that `parse` below turns into these rules again."""
    content = json.dumps({"rules": list(bound.rules), "settings": given})
    return PolicyFile(bound.layer, bound.file, content.encode(), ROOT, ROOT)


def parse(content: bytes, path: str) -> dict[str, Any]:
    if content == b"broken":
        raise ConfigError(Problem("it is broken", file=path, line=1))
    return {"version": 1, "extends": [], "tests": [], **json.loads(content)}


def layered(stack: list[Bound], trusted: bool = True) -> Any:
    found = bind([as_file(bound) for bound in stack], parse, root=ROOT, trusted=lambda _digest: trusted)
    levels = {bound.file: bound.level for bound in stack}
    return found.replace(bound=tuple(bound.replace(level=levels[bound.file]) for bound in found.bound))


PUSH = {"effect": ["push"], "force": True}


@pytest.mark.parametrize(
    ("upper", "lower", "layer", "expected"),
    [
        ({"delegate": {"to": "project"}}, {}, "project", "allow"),
        ({"delegate": {"to": "project"}}, {}, "local", "deny"),
        ({"delegate": {"to": "project"}}, {"excepts": "another"}, "project", "deny"),
        ({"delegate": {"to": "project"}}, {"excepts": ""}, "project", "deny"),
        ({"delegate": {"to": "project"}}, {"expires": "2001-01-01"}, "project", "deny"),
        ({"delegate": {"to": "project"}, "lock": True}, {}, "project", "deny"),
        ({"delegate": {"to": "project", "until": "2023-11-13"}}, {}, "project", "deny"),
        ({"delegate": {"to": "project", "until": "2023-11-14"}}, {}, "project", "allow"),
        ({"delegate": {"to": "project", "within": {"ref": ["wip/*"]}}}, {}, "project", "allow"),
        ({"delegate": {"to": "project", "within": {"ref": ["release/*"]}}}, {}, "project", "deny"),
        ({"delegate": {"to": "project"}}, {"when": {"effect": ["push"], "ref": ["main"]}}, "project", "deny"),
        ({}, {}, "project", "deny"),
    ],
)
def test_an_exception_silences_an_upper_rule_only_within_its_delegation(
    upper: dict[str, Any], lower: dict[str, Any], layer: str, expected: str
) -> None:
    delegate = {"to": "", "until": "", "within": {}, **upper["delegate"]} if "delegate" in upper else None
    denied = rule("deny", PUSH, **{**upper, "delegate": delegate, "id": "no-force"})
    allowed = rule("allow", **{"when": PUSH, "excepts": "no-force", "id": "but", **lower})
    stack = [Bound("enterprise", "e.yaml", [denied], ROOT, ROOT), Bound(layer, "l.yaml", [allowed], ROOT, ROOT)]
    context = Context(ROOT, ROOT, HOME, (ROOT,), now=1_700_000_000.0)  # 14 November 2023
    analysis = Analysis((part(("git", "push")),), (Item(Use("Bash")), Item(Push("origin", "wip/x", True), 0, 8, 0)))
    assert judge(stack, analysis, context).decision.word == expected
    another = [Bound("user", "u.yaml", [rule("deny", PUSH)], ROOT, ROOT)]
    assert judge([*stack, *another], analysis, context).decision.word == "deny"
