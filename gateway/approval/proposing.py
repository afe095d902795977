"""The narrowest rule that would have let a refused call run: what a refusal proposes, and what it would open.

The rule speaks of the very words, files and hosts of the call (`gateway.policy.always.narrowest`), and is tried: what
it does not let run is not proposed. Nothing here accepts one.
"""

from __future__ import annotations

from gateway.approval.always_rule import bound_of, is_enough, trial_of
from gateway.approval.saved_rules import PREFIX, rule_id, rule_text
from gateway.core.errors import GatewayError
from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.policy.always import narrowest
from gateway.policy.change import normal_form
from gateway.policy.globs import compile_glob, literal
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gateway.judge.judge import Judge
    from gateway.model.call import Call
    from gateway.model.verdict import Verdict
    from gateway.policy.compile import Bound
    from gateway.policy.lint.clauses import Clause
    from gateway.tools.tool import Tool

_VERBS = {"list": "list", "read": "read", "write": "write", "delete": "delete"}
_DIRECTIONS = {"fetch": "fetch from", "send": "send to"}
_TOLD = 200  # characters of a rule in a sentence for a model
_MOST_CALLS = 3


class Proposal(Value):
    """A rule that would let a call run. `id`: the same for the same rule; `rule`: on one line; `opens`: all that it
    lets happen, one sentence for each of its alternatives; `calls`: some that it lets run and nothing else does, where
    they were looked for."""

    id: str
    rule: str
    opens: tuple[str, ...]
    calls: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """For a model: that there is a rule, who can accept it, and under what name."""
        rule = visible(shortened(self.rule, _TOLD))
        return (
            f"What would let it run is the rule `{rule}`: a person may look at it with `gateway proposals show "
            f"{self.id}` and accept it. Nobody else can."
        )

    @property
    def as_json(self) -> dict[str, Any]:
        """The `propose` of a verdict: the rule, as it would stand in a file, and what it opens."""
        return {
            "id": self.id,
            "rule": self.rule,
            "yaml": yaml_of(self.rule),
            "opens": list(self.opens),
            "calls": list(self.calls),
        }


def proposed(judge: Judge, verdict: Verdict, tool: Tool, *, calls: bool = False) -> Proposal | None:
    """What would let a call run that is refused, or asked about; None where no rule would, or none should: a rule
    stands in the way, the mode refuses whatever is allowed, or words and targets do not tell what it does. `calls`:
    those that show what it opens are looked for."""
    if judge.options.policies:  # then the local layer, in which it would be saved, does not count
        return None
    alternatives = narrowest(verdict)
    if not alternatives:
        return None
    text = rule_text(alternatives)
    rules = as_read(alternatives, text)
    if not is_enough(judge, verdict, tool, rules):
        return None
    found = Proposal(id_of(text), text, tuple(map(_sentence, alternatives)))
    return found.replace(calls=witnesses(judge, verdict, rules)) if calls else found


def id_of(text: str) -> str:
    """The id of the proposal of a rule: that of the rule once it is saved, without what such ids begin with."""
    return rule_id(text).removeprefix(PREFIX)


def yaml_of(text: str) -> str:
    """A policy file that holds the rule."""
    return f"version: 1\nrules:\n  - id: {rule_id(text)}\n    {text}\n"


def as_read(alternatives: Sequence[Mapping[str, Any]], text: str) -> list[dict[str, Any]]:
    """A rule in normal form, as it would be read from its file, without the reader of files: a process that answers one
    question has no time for it."""
    normal = [
        {name: value if isinstance(value, (bool, list)) else [value] for name, value in each.items()}
        for each in alternatives
    ]
    return [normal_form(normal[0] if len(normal) == 1 else {"any": normal}, text)]


def witnesses(judge: Judge, verdict: Verdict, rules: list[dict[str, Any]]) -> tuple[str, ...]:
    """Calls that rules let run and that do not run without it, as the engine says: this one, and of each
    alternative one that its predicates spell."""
    from gateway.policy.lint.witness import witness
    from gateway.tools.text import parse_call_text

    found = {_shown(verdict.call): None}
    for clause in clauses_of_bound(bound_of(rules, verdict.context.root), verdict.context.home):
        shown = witness(clause)
        if not shown.text or len(found) >= _MOST_CALLS:
            continue
        try:
            raw = parse_call_text(judge.registry, shown.text)
            other = judge.check(raw, verdict.context.replace(**dict(shown.circumstances)))
            now = trial_of(judge, other, judge.registry.tool(raw.tool)).under(rules)
        except GatewayError:
            continue
        if other.decision is not Decision.ALLOW and now is Decision.ALLOW:
            found.setdefault(_shown(other.call))
    return tuple(found)


def clauses_of_bound(bound: Bound, home: str) -> list[Clause]:
    """The alternatives of rules, with absolute path patterns."""
    from gateway.policy.lint.clauses import clauses_of

    return clauses_of([bound], home, [])


def opens_only(narrow: Sequence[Clause], wide: Sequence[Clause], is_shell: Callable[[str], bool]) -> bool:
    """Whether all that allow rules may hold for is held by others, wherever that is decidable; else no. `is_shell`: of
    a tool's name; what a rule lets a shell do besides, it lets no other tool do."""
    from gateway.policy.algebra.clauses import at_least, at_most
    from gateway.policy.algebra.dimensions import everything
    from gateway.policy.algebra.languages import UndecidedError
    from gateway.policy.algebra.regions import uncovered

    try:
        for one in narrow:
            shells = not all(_is_name(each) and not is_shell(each) for each in one.when.get("tool", ["*"]))
            bounds = [
                region for each in wide for region in at_least(each.when, each.lane, each.bound.layer, shells=shells)
            ]

            def holding(point: Any, bounds: Sequence[Any] = bounds) -> Iterator[Any]:
                return (region for region in bounds if point.lies_in(region))

            if any(
                uncovered(region, holding, everything) is not None
                for region in at_most(one.when, one.lane, one.bound.layer)
            ):
                return False
        return bool(narrow)
    except (UndecidedError, ValueError):
        return False


def _is_name(text: str) -> bool:
    return literal(compile_glob(text)) is not None


def _sentence(alternative: Mapping[str, Any]) -> str:
    """All that one alternative allows, in words."""
    if "tool" in alternative:
        server = f" of server `{visible(alternative['server'])}`" if "server" in alternative else ""
        return f"every call of `{visible(alternative['tool'])}`{server}, whatever it is given"
    words = alternative.get("command")
    who = f"the command `{visible(shortened(words, _TOLD))}`" if words else "any call that asks for it"
    kind = alternative["effect"]
    if kind == "code":
        where = ", ".join(f"`{visible(each)}`" for each in alternative["cwd"])
        return f"{who} may run its code in {where}, in the sandbox"
    if kind == "connect":
        port = f", port {alternative['port']}" if "port" in alternative else ""
        doing = _DIRECTIONS.get(alternative["direction"], alternative["direction"])
        return f"{who} may {doing} `{visible(alternative['host'])}`{port}"
    paths = ", ".join(f"`{visible(each)}`" for each in alternative["path"])
    below = "" if "path_not" in alternative else ", with all below"
    return f"{who} may {_VERBS[kind]} {paths}{below}"


def _shown(call: Call) -> str:
    return visible(shortened(f"{call.tool}({call.shown})" if call.shown else call.tool, 300))
