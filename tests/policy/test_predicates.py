"""What a rule may test, from rule to verdict: each predicate where it is easily read too widely or too narrowly."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.call import Call, RawCall
from gateway.model.context import Context
from gateway.model.effect import HOLE, Touch
from gateway.policy.anchors import Anchors
from gateway.policy.predicates import PREDICATES
from gateway.policy.subject import MAYBE, NO, YES, Subject
from gateway.tools.text import parse_call_text

ANCHORS = Anchors("/p", "/p", "/p", "/home/dev", False)


def answer(name: str, argument: Any, *, allow: bool, call: Call | None = None, effect: Any = None, **more: Any) -> int:
    """What one predicate says of one effect of one call."""
    context = Context("/p", "/p", "/home/dev", ("/p",)).replace(**more)
    subject = Subject(call or Call("mcp__git__log", {}, ""), context)
    subject.effect, subject.allow = effect, allow
    return PREDICATES[name].test(PREDICATES[name].prepare(argument, ANCHORS), subject)


def test_what_says_when_and_for_whom_is_told_from_what_says_what() -> None:
    every = {
        "cannot stand alone in an allow rule": {name for name, each in PREDICATES.items() if each.circumstance},
        "says what nobody told": {name for name, each in PREDICATES.items() if each.untold},
        "holds of all others": {name for name, each in PREDICATES.items() if each.negated},
    }
    assert every == {
        "cannot stand alone in an allow rule": {
            "args", "agent", "depth", "mode", "branch", "cwd", "confined", "contained", "alone", "time", "option_not",
            "path_not", "host_not",
        },
        "says what nobody told": {
            "server", "annotations", "agent", "depth", "mode", "confined", "contained", "time",
        },
        "holds of all others": {"option_not", "path_not", "host_not"},
    }  # fmt: skip


# rules of the user layer, call, decision
TABLE: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "path_not: an allow covers a tree only if nothing in it is left out": (
        [{"allow": {"effect": ["read", "list"], "path_not": "//home/dev/other/secret/**"}}],
        "grep -r x /home/dev/other",
        "ask",
    ),
    "path_not: an allow covers a tree beside it": (
        [{"allow": {"effect": ["read", "list"], "path_not": "//home/dev/more/**"}}],
        "grep -r x /home/dev/other",
        "allow",
    ),
    "path_not: an allow needs both ends of a link": (
        [{"allow": {"effect": "write", "path_not": "src/a.py"}}],
        "echo x > src/gen/to-a",
        "ask",
    ),
    "alone: an allow covers what no code stands beside": (
        [{"allow": {"effect": "connect", "alone": True}}],
        "curl -sS https://example.com/ | head -5",
        "allow",
    ),
    "alone: not beside code that another rule allows": (
        [{"allow": {"effect": "connect", "alone": True}}, {"allow": "Bash(./run.sh)"}],
        "./run.sh; curl -sS https://example.com/",
        "ask",
    ),
    "alone: not with a variable that a program is given": (
        [{"allow": {"effect": ["connect", "env"], "alone": True}}],
        "CURL_HOME=. curl -sS https://example.com/",
        "ask",
    ),
    "alone: a deny holds beside code": (
        [{"deny": {"effect": "connect", "alone": False}}, {"allow": "Bash(./run.sh)"}, {"allow": "Bash(curl *)"}],
        "./run.sh; curl -sS https://example.com/",
        "deny",
    ),
    "alone: and not where there is none": (
        [{"deny": {"effect": "connect", "alone": False}}, {"allow": "Bash(curl *)"}],
        "curl -sS https://example.com/",
        "allow",
    ),
    "option: an allow is for a command that is written directly": (
        [{"allow": {"option": "-r"}}],
        "bash -c 'rm -r src'",
        "ask",
    ),
    "option: an abbreviation counts for a deny where no description tells": (
        [{"deny": {"exec": "mytool", "option": "--force"}}, {"allow": "Bash(mytool *)"}],
        "mytool --forc x",
        "deny",
    ),
    "option_not: an allow is not for what may be an abbreviation": (
        [{"allow": {"exec": "mytool", "option_not": "--force"}}],
        "mytool --forc x",
        "ask",
    ),
    "option_not: an allow is for other options": (
        [{"allow": {"exec": "mytool", "option_not": "--force"}}],
        "mytool --dry-run x",
        "allow",
    ),
    "option_not: and where no long option stands that may be one": (
        [{"allow": {"exec": "mytool", "option_not": ["--force", "-force"]}}],
        "mytool -f -- x",
        "allow",
    ),
    "program: an allow is for that program": ([{"allow": {"program": "npm"}}], "npm test", "allow"),
    "program: an allow is not for a file of that name": ([{"allow": {"program": "npm"}}], "./npm test", "ask"),
    "program: an allow is not for what a shell is handed": (
        [{"allow": {"program": "npm"}}],
        "bash -c 'npm test'",
        "ask",
    ),
    "program: a deny is for it wherever it hides": (
        [{"deny": {"effect": "code", "program": "npm"}}],
        "bash -c 'npm test'",
        "deny",
    ),
    "server: any server is no shell": ([{"allow": {"server": "*"}}], "rm -r src", "ask"),
    "holds: an exception needs both ends of a link": (
        [{"deny": {"effect": "write"}, "except": [{"holds": "workspace"}]}],
        "echo x > to-src",
        "deny",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_an_allow_reads_narrowly_and_a_deny_widely(guard, name: str) -> None:
    rules, command, expected = TABLE[name]
    confined = "program" not in name
    verdict = guard({"user": rules}, confined=confined).check(RawCall("Bash", {"command": command}))
    assert verdict.decision.word == expected


WEDNESDAY, DAY = 1_735_689_600, 86_400  # 1 January 2025, 00:00 UTC


@pytest.mark.parametrize(
    ("window", "hours", "allow", "deny"),
    [
        ({"from": "09:00", "to": "17:00"}, 9, YES, YES),
        ({"from": "09:00", "to": "17:00"}, 17, NO, NO),
        ({"from": "22:00", "to": "06:00"}, 23, YES, YES),
        ({"from": "22:00", "to": "06:00"}, 5, YES, YES),
        ({"from": "22:00", "to": "06:00"}, 6, NO, NO),
        ({"days": ["wed"]}, 12, YES, YES),
        ({"days": ["wed"]}, 36, NO, NO),
        ({"days": ["wed"], "from": "22:00", "to": "06:00"}, 23, YES, YES),
        ({"days": ["wed"], "from": "22:00", "to": "06:00"}, 2, NO, YES),  # began on Tuesday
        ({"days": ["wed"], "from": "22:00", "to": "06:00"}, 26, NO, YES),  # began on Wednesday
        ({"days": ["wed", "thu"], "from": "22:00", "to": "06:00"}, 26, YES, YES),
        ({"from": "09:00"}, 23, YES, YES),
        ({"to": "24:00"}, 23, YES, YES),
    ],
)
def test_a_window_over_midnight_belongs_to_both_days_for_a_deny(
    window: dict[str, Any], hours: int, allow: int, deny: int
) -> None:
    now = float(WEDNESDAY + hours * 3600)
    assert (answer("time", window, allow=True, now=now), answer("time", window, allow=False, now=now)) == (allow, deny)


@pytest.mark.parametrize(
    ("wanted", "given", "allow", "deny"),
    [
        ({"readOnlyHint": True}, {"readOnlyHint": True}, YES, YES),
        ({"readOnlyHint": True}, {}, NO, NO),
        ({"readOnlyHint": True}, {"readOnlyHint": 1}, NO, YES),
        ({"readOnlyHint": False}, {}, NO, YES),
        ({"destructiveHint": True}, {}, NO, YES),
        ({"destructiveHint": False}, {}, NO, NO),
        ({"destructiveHint": False}, {"destructiveHint": False}, YES, YES),
        ({"title": "x"}, {}, NO, NO),
        ({"readOnlyHint": True, "destructiveHint": True}, {"readOnlyHint": True}, NO, YES),
    ],
)
def test_what_a_server_does_not_say_of_its_tool_is_taken_for_the_worst(
    wanted: dict[str, Any], given: dict[str, Any], allow: int, deny: int
) -> None:
    call = Call("mcp__git__log", {}, "", "git", given)
    assert (
        answer("annotations", wanted, allow=True, call=call),
        answer("annotations", wanted, allow=False, call=call),
    ) == (allow, deny)


def test_a_tool_of_no_server_is_never_destructive_by_default() -> None:
    assert answer("annotations", {"destructiveHint": True}, allow=False, call=Call("Read", {}, "")) == NO


@pytest.mark.parametrize(
    ("tool", "server", "allow", "deny"),
    [
        ("mcp__git__log", "git", YES, YES),
        ("mcp__git__log", "", NO, YES),
        ("mcp__git__log", "other", NO, NO),
        ("mcp__other__log", "git", YES, YES),
        ("mcp__other__log", "", NO, NO),
        ("Bash", "", NO, NO),
    ],
)
def test_the_name_of_a_tool_says_who_serves_it_only_where_nobody_told(
    tool: str, server: str, allow: int, deny: int
) -> None:
    call = Call(tool, {}, "", server)
    assert (answer("server", ["git"], allow=True, call=call), answer("server", ["git"], allow=False, call=call)) == (
        allow,
        deny,
    )


@pytest.mark.parametrize("name", ["path", "path_not", "holds"])
def test_a_path_that_leads_nobody_knows_where_is_nothing_that_an_allow_may_count_on(name: str) -> None:
    argument = ["workspace"] if name == "holds" else ["/x/**"]
    effect = Touch("read", "/p/x/a" if name == "path" else "/p", real=HOLE)
    assert answer(name, argument, allow=True, effect=effect) in (NO, MAYBE)


@pytest.mark.parametrize(("text", "expected"), [("a" * 3 + "b", YES), ("a" * 9_000, MAYBE), ("a" * 100, NO)])
def test_a_text_too_long_to_be_searched_may_hold_what_is_searched_for(text: str, expected: int) -> None:
    call = Call("mcp__a__b", {"x": text}, "")
    assert answer("args", {"x": {"regex": "a*a*b"}}, allow=False, call=call) == expected


@pytest.mark.parametrize(
    ("call", "decision"),
    [
        ("Bash(echo x > AGENTS.md)", "deny"),
        ("Write(AGENTS.md)", "deny"),
        ("Bash(rm AGENTS.md)", "deny"),
        ("Bash(chmod -R 700 .)", "ask"),
        ("Bash(echo x > README.md)", "ask"),
    ],
)
def test_a_rule_on_names_says_nothing_of_what_lies_below_a_folder(guard: Any, call: str, decision: str) -> None:
    rule = {"id": "r", "deny": {"effect": ["write", "delete"], "path": "AGENTS.md", "named": True}}
    opened = guard({"user": [rule]}, confined=False)
    verdict = opened.check(parse_call_text(opened.registry, call))
    assert verdict.decision.name.lower() == decision
    assert (verdict.reason.rule.id == "r") is (decision == "deny")


def test_alone_is_no_and_yes_at_once_where_nobody_has_said_what_else_there_is() -> None:
    assert (answer("alone", True, allow=True), answer("alone", False, allow=True)) == (NO, NO)
    assert (answer("alone", True, allow=False), answer("alone", False, allow=False)) == (YES, YES)
