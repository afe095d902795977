"""Denials that no rule of a file stands behind."""

from __future__ import annotations

import pytest

from gateway.model.rule import Rule, Source
from gateway.policy.unjudged import INTERNAL, INVALID, built_in, by_hook, is_own_reason


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (built_in(INVALID, "no command"), True),
        (built_in(INTERNAL, "an error of ours"), True),
        (by_hook({"id": "check", "layer": "user", "file": "user.yaml", "line": 3}, "not today"), True),
        (built_in("interactive-program", "there is no terminal"), False),
        (Rule("r", "deny", Source("user", "user.yaml", 3), "deny Bash"), False),
    ],
)
def test_the_record_says_why_where_no_file_does(rule: Rule, expected: bool) -> None:
    assert is_own_reason(rule) is expected
