"""What rules leave of the network for a call, as the sandbox is told: pure, from compiled rules."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.command import Part
from gateway.model.context import Context
from gateway.model.effect import Code, Effect, Item, Touch, Use
from gateway.model.facts import NO_FACTS
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.hostrules import HostRules, within
from gateway.policy.modes import regions_of
from gateway.policy.resolve import resolve
from gateway.policy.table import Judged, Policy
from gateway.spec.policy import parse_policy
from gateway.spec.short import ToolName

ROOT, HOME = "/home/dev/project", "/home/dev"
NOW = 1_700_000_000.0  # 14 November 2023
CONTEXT = Context(ROOT, ROOT, HOME, (ROOT,), ("/tmp",), now=NOW)
TOOLS = {
    "Bash": ToolName("Bash", "shell", "command", ("command",)),
    "Read": ToolName("Read", "file", "path", ("path",)),
}
RUN = Part(("run", "x"), 0, 5, "run", ("x",), ("x",), frozenset(), True, True, True, True)
UNSEEN, SEEN = Code("run", ("run", "x"), "x"), Touch("read", f"{ROOT}/a")


def told(
    rules: str, *, effect: Effect = UNSEEN, context: Context = CONTEXT, level: str = "enforce", **asked: Any
) -> Any:
    """What the rules refuse, as host and port, and to which hosts alone they hold the call."""
    found = parse_policy(f"version: 1\nrules:\n{rules}\n", "user.yaml", TOOLS)["rules"]
    policy = Policy(**compile_policy([Bound("user", "user.yaml", found, ROOT, ROOT, level)], home=HOME), levels={})
    analysis = Analysis((RUN,), (Item(Use("Bash")), Item(effect, 0, 5, 0)))
    call = Call("Bash", {"command": "…"}, "…")
    verdict = resolve(policy, call, Judged("execute", True), analysis, context, NO_FACTS, regions_of(context))
    refused, held = HostRules(policy).in_force(verdict, **asked)
    return [(each.host, each.port, each.rule) for each in refused], [(each.hosts, each.rule) for each in held]


def refuses(*hosts: str | tuple[str, int]) -> Any:
    return [(*each, "no") if isinstance(each, tuple) else (each, 0, "no") for each in hosts], []


def only(*hosts: str) -> Any:
    return [], [(hosts, "no")]


NOTHING: Any = ([], [])
RULES: dict[str, tuple[str, Any]] = {
    "hosts that are denied": ("{id: no, deny: {host: [a.org, '*.b.org']}}", refuses("a.org", "*.b.org")),
    "hosts at ports": (
        "{id: no, deny: {effect: connect, host: a.org, port: [22, 25]}}", refuses(("a.org", 22), ("a.org", 25))),
    "ports of all hosts": ("{id: no, deny: {effect: connect, port: 22}}", refuses(("*", 22))),
    "every connection": ("{id: no, deny: {effect: connect}}", refuses("*")),
    "connections among other effects": ("{id: no, deny: {effect: [connect, push]}}", refuses("*")),
    "all but some": ("{id: no, deny: {effect: connect, host_not: [a.org]}}", only("a.org")),
    "all but exceptions": (
        "{id: no, deny: {effect: connect}, except: [{host: a.org}, {host: b.org}]}", only("a.org", "b.org")),
    "all of them by a star, but exceptions": (
        "{id: no, deny: {effect: connect, host: '*'}, except: [{host: a.org}]}", only("a.org")),
    "all but some and exceptions": (
        "{id: no, deny: {effect: connect, host_not: [a.org]}, except: [{host: b.org}]}", only("a.org", "b.org")),
    "an exception that speaks of more spares nothing here": (
        "{id: no, deny: {effect: connect}, except: [{host: a.org, port: 443}]}", refuses("*")),
    "nor does one of a host that is denied by its name": (
        "{id: no, deny: {effect: connect, host: a.org}, except: [{host: a.org}]}", refuses("a.org")),
    "all but some at a port": ("{id: no, deny: {effect: connect, host_not: [a.org], port: 22}}", refuses(("*", 22))),
    "all but some, whatever is done there": ("{id: no, deny: {host_not: [a.org]}}", only("a.org")),
    "hosts of a program, whatever is done there": ("{id: no, deny: {host: a.org, command: 'run *'}}", refuses("a.org")),
    "all of them by a star": ("{id: no, deny: {host: '*'}}", refuses("*")),
    "all but an exception that says of what": (
        "{id: no, deny: {effect: connect}, except: [{effect: connect, host: a.org}]}", only("a.org")),
    "what is sent cannot be told of a host": ("{id: no, deny: {effect: connect, sends: '**/x'}}", NOTHING),
    "nor the program that connects": ("{id: no, deny: {effect: connect, program: run}}", NOTHING),
    "a rule on a tool says nothing of hosts": ("{id: no, deny: {tool: Bash}}", NOTHING),
    "hosts of this tool": ("{id: no, deny: {effect: connect, host: a.org, tool: Bash}}", refuses("a.org")),
    "hosts in this mode": ("{id: no, deny: {effect: connect, host: a.org, mode: default}}", refuses("a.org")),
    "one direction": ("{id: no, deny: {effect: connect, host: a.org, direction: send}}", refuses("a.org")),
    "to listen is the call's own": ("{id: no, deny: {effect: connect, direction: listen}}", NOTHING),
    "to listen or send is not": ("{id: no, deny: {effect: connect, direction: [listen, send]}}", refuses("*")),
    "what a rule asks about is not refused": ("{id: no, ask: {effect: connect}}", NOTHING),
    "nor what it allows": ("{id: yes-it-may, allow: {effect: connect, host: a.org}}", NOTHING),
    "other effects say nothing of hosts": ("{id: no, deny: {effect: write, path: a}}", NOTHING),
    "hosts of a program that runs here": (
        "{id: no, deny: {effect: connect, host: a.org, command: 'run *'}}", refuses("a.org")),
    "the connections of a program say nothing of them": (
        "{id: no, deny: {effect: connect, command: 'run *'}}", NOTHING),
    "but for those that it may reach": (
        "{id: no, deny: {effect: connect, host_not: [a.org], command: 'run *'}}", only("a.org")),
    "a rule of another mode": ("{id: no, deny: {effect: connect, mode: plan}}", NOTHING),
    "a rule of another tool": ("{id: no, deny: {effect: connect, host: a.org, tool: Read}}", NOTHING),
}  # fmt: skip


@pytest.mark.parametrize("case", RULES)
def test_what_rules_on_hosts_leave_of_the_network(case: str) -> None:
    rule, expected = RULES[case]
    assert told(f"- {rule}") == expected


def test_a_rule_that_only_observes_refuses_no_host() -> None:
    assert told("- {id: no, deny: {effect: connect}}", level="observe") == NOTHING


def test_a_rule_on_hosts_holds_until_the_moment_it_expires() -> None:
    rule, day = "- {id: no, deny: {effect: connect}, expires: 2023-11-20}", 86_400
    midnight = NOW - NOW % day + 7 * day  # the end of the 20th
    found = [bool(told(rule, context=CONTEXT.replace(now=now))[0]) for now in (midnight - 1, midnight, midnight + 1)]
    assert found == [True, False, False]


def test_a_rule_that_does_not_count_hides_none_behind_it() -> None:
    rules = """- {id: over, deny: {effect: connect}, expires: 2023-11-10}
- {id: sends, deny: {effect: connect, host: a.org, direction: send}}
- {id: plans, deny: {effect: connect, host: b.org, mode: plan}}
- {id: no, deny: {effect: connect, host: c.org}}"""
    assert told(rules, effect=SEEN) == refuses("c.org")


@pytest.mark.parametrize(
    ("effect", "directed", "refused"),
    [(SEEN, False, False), (SEEN, True, True), (UNSEEN, False, True)],
)
def test_a_rule_on_one_direction_counts_where_connections_are_made_that_nobody_judged(
    effect: Effect, directed: bool, refused: bool
) -> None:
    rule = "- {id: no, deny: {effect: connect, host: a.org, direction: send}}"
    assert bool(told(rule, effect=effect, directed=directed)[0]) is refused
    assert told(rule.replace(", direction: send", ""), effect=effect, directed=directed)[0] == [("a.org", 0, "no")]


WITHIN = {
    ("a.org", "a.org"): True, ("b.org", "a.org"): False, ("x.a.org", "*.a.org"): True, ("a.org", "*.a.org"): False,
    ("*.x.a.org", "*.a.org"): True, ("*.a.org", "*.a.org"): True, ("*.a.org", "a.org"): False,
    ("*.org", "*.a.org"): False,
    ("*", "*.a.org"): False, ("anything", "*"): True, ("private", "*.a.org"): False, ("*x.a.org", "*.a.org"): False,
    ("*.b*.a.org", "*.a.org"): False, ("10.0.0.0/8", "10.0.0.0/8"): True, ("10.0.0.0/8", "10.0.0.1"): False,
    ("*.xa.org", "*.a.org"): False,
}  # fmt: skip


@pytest.mark.parametrize(("host", "pattern"), WITHIN)
def test_a_pattern_lies_within_another_only_where_that_is_certain(host: str, pattern: str) -> None:
    assert within(host, ("other.example", pattern)) is WITHIN[host, pattern]
    assert within(host, ("other.example",)) is (pattern == "other.example")
