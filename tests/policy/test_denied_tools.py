"""A tool that a rule denies whatever it is given is not offered; one that some input may still call is."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.policy.denied_tools import denied_for_every_input

ANY = {"tool": "Bash"}
RULES: dict[str, tuple[dict[str, Any], bool]] = {
    "a tool": ({"deny": ANY}, True),
    "tools of a pattern": ({"deny": {"tool": "B*"}}, True),
    "every tool": ({"deny": {"tool": "*"}}, True),
    "another tool": ({"deny": {"tool": "Read"}}, False),
    "a tool in this mode": ({"deny": {**ANY, "mode": "default"}}, True),
    "a tool in another mode": ({"deny": {**ANY, "mode": "plan"}}, False),
    "a tool for this agent": ({"deny": {**ANY, "agent": "Explore"}}, True),
    "a tool for another agent": ({"deny": {**ANY, "agent": "reviewer"}}, False),
    "a tool at this depth": ({"deny": {**ANY, "depth": 1}}, True),
    "a tool deeper down": ({"deny": {**ANY, "depth": 2}}, False),
    "a tool on this branch": ({"deny": {**ANY, "branch": "main"}}, True),
    "a tool on another branch": ({"deny": {**ANY, "branch": "release"}}, False),
    "a tool in this folder": ({"deny": {**ANY, "cwd": "."}}, True),
    "a tool in another folder": ({"deny": {**ANY, "cwd": "//srv/**"}}, False),
    "a tool with some input": ({"deny": {**ANY, "command": "rm *"}}, False),
    "a tool that asks": ({"ask": ANY}, False),
    "a tool with exceptions": ({"deny": ANY, "except": {"command": "ls"}}, False),
    "a tool until a day that has passed": ({"deny": ANY, "expires": "2001-01-01"}, False),
    "a tool until that very moment": ({"deny": ANY, "expires": "2001-09-09T01:46:40Z"}, False),
    "a tool until a day to come": ({"deny": ANY, "expires": "2999-01-01"}, True),
}


@pytest.mark.parametrize("name", RULES)
def test_a_tool_is_denied_for_every_input_where_nothing_of_the_input_counts(guard, name: str) -> None:
    rule, expected = RULES[name]
    opened = guard({"user": [{"id": "r", **rule}]})
    context = opened.context.replace(agent="Explore", depth=1, now=1e9)
    assert denied_for_every_input(opened.loaded.policy, "Bash", context) == expected
