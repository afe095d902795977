"""Policies judged on paper: the examples of rules, and tables of tests.

All of it runs in one frozen world (`gateway.host.frozen.EXAMPLE`): a project root, branch `main`, no links, confined,
in the mode `default`, on a Wednesday at noon. A rule's example is judged with that rule alone, so that it says what
the rule means and not what else is in force: circumstances that a call's text cannot give (agent, depth, mode,
time, confinement, an MCP server) are taken to be what the rule asks for. A table's row has its layer and those above.
"""

from __future__ import annotations

import os

from gateway.config.binding import Layered, bind
from gateway.config.descriptions import compile_files, entries
from gateway.config.layers import PolicyFile as File
from gateway.config.layers import read_file
from gateway.config.load import tool_names
from gateway.config.shipped import described, load_descriptions
from gateway.core.errors import CallError, Problem
from gateway.core.places import PACKAGE, Places, packaged
from gateway.core.value import Value
from gateway.host.frozen import EXAMPLE, world
from gateway.judge.pipeline import Pipeline, Understood, context_of
from gateway.policy.compile import alternatives, compile_policy
from gateway.policy.contain import decide
from gateway.policy.modes import regions_of
from gateway.policy.predicates import PREDICATES
from gateway.policy.table import Policy, judged_as
from gateway.tools.registry import is_mcp_name
from gateway.tools.text import parse_call_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gateway.config.descriptions import Entry
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.rule import Rule
    from gateway.model.verdict import Verdict
    from gateway.policy.compile import Bound
    from gateway.tools.registry import Registry

LAYER_NAMES = ("builtin", "enterprise", "user", "project", "local")
_UNSAYABLE = frozenset(name for name, each in PREDICATES.items() if each.untold)
_NOW = 1_735_732_800.0  # the clock of the example world: Wednesday, 1 January 2025, 12:00 UTC
_EMPTY = Policy(**compile_policy((), home="/"), levels={})


class Case(Value):
    """One thing that was tried. `kind`: matches, not_matches or test. `problem`: "" if it came out as it must."""

    kind: str
    file: str
    line: int
    rule: str
    call: str
    problem: str


class Trials:
    """Judges calls in the example world; each text is analysed once for every circumstance. `commands`: what layers
    say of programs."""

    def __init__(self, registry: Registry, places: Places, commands: tuple[Entry, ...] = ()) -> None:
        self.world = world(EXAMPLE)
        self.registry = registry
        self._pipeline = Pipeline(described(load_descriptions(places), commands), self.world.host, "/usr/bin")
        self._seen: dict[tuple[str, Context], Understood] = {}

    def context(self, *, confined: bool = True, mode: str = "default", cwd: str = "") -> Context:
        """The example world's circumstances, with some changed. `cwd` may be relative to the project root."""
        root = self.world.root
        folder = os.path.normpath(os.path.join(root, cwd))
        found = context_of(folder, root, self.world.home, self.world.host, mode=mode, confined=confined)
        return found.replace(now=_NOW)

    def verdict(self, call: str, policy: Policy, context: Context | None = None) -> Verdict:
        """The verdict on a call as people write it. Raises CallError for one that cannot be judged."""
        context = context or self.context()
        key = call, context.replace(mode="")  # what a call does is the same in every mode
        found = self._seen.get(key)
        if found is None:
            raw = parse_call_text(self.registry, as_call(call, self.registry))
            found = self._seen[key] = self.understood(raw, context)
        return self.under(found, policy, context)

    def verdict_on(self, tool: str, given: dict[str, Any], policy: Policy, context: Context) -> Verdict:
        """Of a call that is given by its whole input."""
        from gateway.model.call import RawCall

        return self.under(self.understood(RawCall(tool, given), context), policy, context)

    def understood(self, raw: RawCall, context: Context) -> Understood:
        """What a call does in the example world. Raises CallError for one that cannot be judged."""
        tool = self.registry.tool(raw.tool)
        found = self._pipeline.understand(tool, raw, context)
        if found.context.confined or tool.entry["filters"]:
            return found
        # What lies below trees is what a policy without rules protects there: nothing.
        trees = self._pipeline.look_below(_EMPTY, found.call, found.analysis, found.context)
        return found.replace(facts=found.facts.replace(trees=trees))

    def under(self, seen: Understood, policy: Policy, context: Context) -> Verdict:
        """The verdict of a policy on a call that is understood."""
        tool = self.registry.tool(seen.call.tool)
        judged = judged_as(tool)
        regions = regions_of(context)
        return decide(policy, seen.call, judged, seen.analysis, context, seen.facts, regions, _holds, _holds)

    def rebased(self, bound: Bound, home: str) -> Bound:
        """A file's rules as if its project and HOME were those of the example world."""
        layer_root = bound.layer_root
        if layer_root == bound.base and layer_root != "/":
            layer_root = self.world.root
        elif home != "/" and (layer_root + "/").startswith(home + "/"):
            layer_root = self.world.home + layer_root[len(home) :]
        return bound.replace(base=self.world.root, layer_root=layer_root)


def as_call(text: str, registry: Registry) -> str:
    """A call as `gateway check` takes it: a text without a tool's name in front is one for Bash."""
    head, parenthesis, _rest = text.strip().partition("(")
    head = head.rstrip()
    known = head in registry.names() or is_mcp_name(head)
    return text if known and (not parenthesis or text.rstrip().endswith(")")) else f"Bash({text})"


def is_packaged(path: str) -> bool:
    """Whether a file is one of ours, whose examples and tests the package's own tests run."""
    return path.startswith((PACKAGE + "/", packaged("policies") + "/"))


def check_examples(
    bound: Iterable[Bound], registry: Registry, places: Places, commands: tuple[Entry, ...] = ()
) -> list[Problem]:
    """What is wrong with the examples of rules, each with its place; nothing is looked at if there are none."""
    problems = []
    trials: Trials | None = None
    for each in bound:
        for rule in each.rules:
            if not (rule["matches"] or rule["not_matches"]) or rule["id"] in each.without or is_packaged(each.file):
                continue
            trials = trials or Trials(registry, places, commands)
            for case, _hit in examples_of(trials, trials.rebased(each, places.home), rule):
                if case.problem:
                    problems.append(
                        Problem(
                            case.problem,
                            file=each.file,
                            line=rule["line"],
                            column=rule["column"],
                            remedy="correct the rule or the example: `gateway policy test` runs them one by one",
                        )
                    )
    return problems


def examples_of(trials: Trials, bound: Bound, rule: dict[str, Any]) -> Iterator[tuple[Case, bool]]:
    """Each example of one rule, and whether the rule hit it. `bound` stands in the example world."""
    policy = Policy(**compile_policy([_alone(bound, rule)], home=trials.world.home), levels={})
    for kind, wanted in (("matches", True), ("not_matches", False)):
        for call in rule[kind]:
            try:
                hit = _hits(trials.verdict(call, policy))
                problem = "" if hit is wanted else _wrong(rule["id"], kind, call)
            except CallError as error:
                hit, problem = False, f"example of rule `{rule['id']}` must be a call that can be judged (got `{call}`)"
                problem += ": " + "; ".join(each.message for each in error.problems)
            yield Case(kind, bound.file, line=rule["line"], rule=rule["id"], call=call, problem=problem), hit


def _wrong(rule: str, kind: str, call: str) -> str:
    negation = "" if kind == "matches" else "not "
    return f"example in `{kind}` must {negation}be matched by rule `{rule}` (got `{call}`)"


def _alone(bound: Bound, rule: dict[str, Any]) -> Bound:
    """One rule without what a call's text cannot say, always enforced and never over."""
    when = [{name: each[name] for name in each if name not in _UNSAYABLE} for each in alternatives(rule["when"])]
    only = {
        **rule,
        "when": when[0] if len(when) == 1 else {"any": when},
        "except": [each for each in rule["except"] if not _UNSAYABLE & set(each)],
        "expires": "",
        "excepts": "",
        "delegate": None,
    }
    return bound.replace(rules=[only], level="enforce", without=frozenset())


def needs_circumstances(rule: dict[str, Any]) -> bool:
    """Whether each alternative of a rule tests what a call's text cannot say, other than whether it is confined."""
    return all((_UNSAYABLE - {"confined"}) & set(each) for each in alternatives(rule["when"]))


def _hits(verdict: Verdict) -> bool:
    return bool(verdict.demands) or next(rules_of(verdict), None) is not None


def rules_of(verdict: Verdict) -> Iterator[Rule]:
    """Every rule of a policy that spoke of the call, whether it decided or not."""
    for outcome in verdict.outcomes:
        if outcome.reason.rule.lane != "mode":
            yield outcome.reason.rule
    for reason in (*verdict.lost, *verdict.noted):
        if reason.rule.lane != "mode":
            yield reason.rule


def read_layers(files: Sequence[File], registry: Registry, root: str) -> Layered:
    """Policy files parsed and bound, every project in them trusted. Raises ConfigError."""
    from gateway.config.compiling import reader

    parse = reader(lambda: tool_names(registry))
    return bind(files, parse, root=root, trusted=lambda _digest: True, all_trusted=True)


def stack_for(paths: Sequence[str], root: str) -> list[File]:
    """`builtin` and the given files. A file named after a layer stands for it, any other one for the user's."""
    builtin = packaged("policies/builtin.yaml")
    files = [File("builtin", builtin, content=read_file(builtin), base=root, root="/")]
    for path in paths:
        if os.path.realpath(path) != os.path.realpath(builtin):
            name = os.path.basename(path).split(".", 1)[0]
            layer = name if name in LAYER_NAMES[1:] else "user"
            files.append(File(layer, path, content=read_file(path), base=root, root=root))
    return sorted(files, key=lambda file: LAYER_NAMES.index(file.layer))


def described_by(files: Sequence[File], layered: Layered, places: Places) -> tuple[Entry, ...]:
    """What layers say of programs by their description files. Raises ConfigError."""
    compiled = compile_files(files, load_descriptions(places))
    return tuple(entries(compiled, trusted=True, locked_by=layered.commands_locked_by))


def _holds(_asked: object) -> str:
    """The example world holds calls, what they change can be taken back there, and what they install fetched."""
    return ""
