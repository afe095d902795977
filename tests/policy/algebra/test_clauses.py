"""What an allow of some kinds of effects certainly covers."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.policy.algebra.clauses import at_least

CODE, OPAQUE = {"code"}, {"opaque"}
# What the rule says, and the kinds that it covers, each with whether that is in the sandbox alone.
COVERS: list[tuple[dict[str, Any], list[tuple[set[str], bool]]]] = [
    ({"effect": ["read"]}, [({"read"}, False)]),
    ({"effect": ["code"]}, [(CODE, True)]),
    ({"effect": ["opaque"]}, []),
    ({"effect": ["code", "opaque", "read"]}, [({"read"}, False), (CODE, True)]),
    ({"effect": ["code"], "exec": [["npm"]]}, [(CODE, False)]),
    ({"effect": ["code", "opaque"], "exec": [["npm"]]}, [(CODE, False)]),
    ({"effect": ["opaque"], "tool": ["mcp__a__b"]}, [(OPAQUE, True)]),
    ({"effect": ["code", "opaque"], "contained": True}, [(CODE | OPAQUE, False)]),
]


@pytest.mark.parametrize(("when", "expected"), COVERS, ids=str)
def test_code_is_covered_by_a_rule_that_names_its_program_or_in_the_sandbox(
    when: dict[str, Any], expected: list[tuple[set[str], bool]]
) -> None:
    found = at_least(when, "allow", "user")
    assert [(set(each["kind"].values), "confined" in each) for each in found] == expected
