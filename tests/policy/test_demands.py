"""What `require` rules ask of a call's plan: who meets them, who is refused, and what is handed on to the plan."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.effect import Code, Connect, Effect, Exec, Push, Touch
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.table import EXPIRES, Policy
from gateway.spec.policy import parse_policy

from .test_resolve import CONTEXT, HOME, LOOSE, NOW, ROOT, TOOLS, compiled, judged

READ, CODE, FETCH = Touch("read", f"{ROOT}/a"), Code("run", ("run", "x"), "x"), Connect("a.org", 443, "fetch")
ALL = "- {id: all, allow: {effect: [read, code, connect, push]}}"
OFF = "- {id: off, require: {network: off}, for: {effect: code}}"


def told(verdict: Any) -> tuple[str, str, str, dict[str, object]]:
    return verdict.decision.word, verdict.reason.rule.id, verdict.reason.note, dict(verdict.demands)


UNENFORCED = "required: network off, which nobody enforces outside the sandbox"
DEMANDS: dict[str, tuple[str, tuple[Effect, ...], Any, Any]] = {
    "a demand that is met is the plan's": (OFF, (CODE,), CONTEXT, ("allow", "all", "", {"network": "off"})),
    "one of other effects is not": (OFF, (READ,), CONTEXT, ("allow", "all", "", {})),
    "nobody who reaches hosts meets a lack of network": (
        OFF, (CODE, FETCH), CONTEXT, ("deny", "off", "required: network off", {})),
    "nor who pushes": (
        OFF, (CODE, Push("origin", "main", False)), CONTEXT, ("deny", "off", "required: network off", {})),
    "nor whom no sandbox holds": (OFF, (CODE,), LOOSE, ("deny", "off", UNENFORCED, {})),
    "to be confined": (
        "- {id: held, require: {confined: true}, for: {tool: Bash}}", (READ,), LOOSE,
        ("deny", "held", "required: confined true", {})),
    "who is confined meets that": (
        "- {id: held, require: {confined: true}, for: {tool: Bash}}", (READ,), CONTEXT,
        ("allow", "all", "", {"confined": True})),
    "to be contained": (
        "- {id: held, require: {contained: true}, for: {effect: code}}", (CODE,), CONTEXT,
        ("deny", "held", "required: contained true", {})),
    "who is contained meets that": (
        "- {id: held, require: {contained: true}, for: {effect: code}}", (CODE,), CONTEXT.replace(contained=True),
        ("allow", "all", "", {"contained": True})),
    "changes are asked about of who is contained alone": (
        "- {id: held, require: {changes: ask}, for: {effect: code}}", (CODE,), CONTEXT,
        ("allow", "all", "", {"changes": "ask"})),
    "that hides no other demand": (
        "- {id: held, require: {changes: ask, network: off}, for: {effect: code}}", (CODE, FETCH), CONTEXT,
        ("deny", "held", "required: network off", {})),
    "of a command": (
        "- {id: held, require: {network: off}, for: 'Bash(run *)'}", (CODE, FETCH), CONTEXT,
        ("deny", "held", "required: network off", {})),
    "of another one": (
        "- {id: held, require: {network: off}, for: 'Bash(walk *)'}", (CODE, FETCH), CONTEXT, ("allow", "all", "", {})),
    "an exception is spared": (
        f"{OFF[:-1]}, except: ['Bash(run *)']}}", (CODE, FETCH), CONTEXT, ("allow", "all", "", {})),
    "another exception is not": (
        f"{OFF[:-1]}, except: ['Bash(walk *)']}}", (CODE, FETCH), CONTEXT,
        ("deny", "off", "required: network off", {})),
    "what a demand does not speak of hides none behind it": (
        f"- {{id: one, require: {{confined: true}}, for: {{effect: delete}}}}\n{OFF}", (CODE, FETCH), CONTEXT,
        ("deny", "off", "required: network off", {})),
    "nor an exception": (
        f"- {{id: one, require: {{network: off}}, for: {{effect: code}}, except: ['Bash(run *)']}}\n{OFF}",
        (CODE, FETCH), CONTEXT, ("deny", "off", "required: network off", {})),
    "a path that nobody knows may be the one": (
        "- {id: held, require: {network: off}, for: {effect: read, path: 'src/**'}}",
        (Touch("read", "\0"), FETCH), CONTEXT.replace(mode="bypass"), ("deny", "held", "required: network off", {})),
}  # fmt: skip


@pytest.mark.parametrize("case", DEMANDS)
def test_a_call_meets_what_is_required_of_it_or_is_refused(case: str) -> None:
    rules, effects, context, expected = DEMANDS[case]
    assert told(judged(compiled(user=f"{ALL}\n{rules}"), *effects, context=context)) == expected


def test_a_demand_is_told_of_the_first_effect_that_it_speaks_of_and_once() -> None:
    found = judged(compiled(user=f"{ALL}\n{OFF}"), READ, CODE, CODE, FETCH)
    refusing = [each.reason for each in found.outcomes if each.decision.word == "deny"]
    assert [(each.rule.id, each.item) for each in refusing] == [("off", 2)]


def test_a_demand_holds_until_the_moment_it_expires_and_those_behind_it_hold_on() -> None:
    policy = compiled(user=f"{ALL}\n{OFF[:-1]}, expires: 2023-11-20}}\n{OFF.replace('off,', 'later,')}")
    alone = compiled(user=f"{ALL}\n{OFF[:-1]}, expires: 2023-11-20}}")
    end = max(row[EXPIRES] for row in policy.rules)
    moments = [CONTEXT.replace(now=now) for now in (NOW, end - 1, end, end + 1)]
    assert [judged(alone, CODE, FETCH, context=each).decision.word for each in moments] == [
        "deny", "deny", "allow", "allow",
    ]  # fmt: skip
    assert [judged(policy, CODE, FETCH, context=each).decision.word for each in moments] == ["deny"] * 4


def test_a_demand_that_only_observes_is_noted_and_refuses_nothing() -> None:
    allowing, asking = (
        parse_policy(f"version: 1\nrules:\n{rule}\n", name, TOOLS)["rules"] for rule, name in ((ALL, "a"), (OFF, "b"))
    )
    stack = [Bound("user", "a", allowing, ROOT, ROOT), Bound("enterprise", "b", asking, ROOT, ROOT, "observe")]
    policy = Policy(**compile_policy(stack, home=HOME), levels={})
    found = judged(policy, CODE, FETCH)
    assert (found.decision.word, dict(found.demands)) == ("allow", {})
    assert [(each.rule.id, each.note, each.decision.word) for each in found.noted] == [
        ("off", "required: network off", "deny")
    ]
    met = judged(policy, CODE)
    assert [(each.rule.id, each.note, each.decision.word) for each in met.noted] == [("off", "", "allow")]


def test_a_demand_on_the_calling_of_a_tool_holds_for_all_that_it_does() -> None:
    policy = compiled(user=f"{ALL}\n- {{id: off, require: {{network: off}}, for: {{tool: Bash}}}}")
    assert told(judged(policy, Exec("run", ("run", "x")), READ))[3] == {"network": "off"}
    assert told(judged(policy, FETCH))[:2] == ("deny", "off")
