"""What rules that forbid speak of, asked of one path after another before anybody decides."""

from __future__ import annotations

import pytest

from gateway.model.call import Call
from gateway.policy.protected import protecting

KINDS = frozenset(("delete", "write"))
BUT_X = {"deny": {"effect": "delete", "path": "a/**", "path_not": "a/x/**"}}
ONLY_X = {"deny": {"effect": "delete", "path": "a/x/f"}}
OF_EDIT = {"deny": {"effect": "delete", "path": "a/**", "tool": "Edit"}}
WIDE = {"deny": {"effect": "delete", "path": "//**", "path_not": ["//**/a/**", "//**/b/**"]}}


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ([BUT_X], "a/x/f", False),
        ([BUT_X], "a/y", True),
        ([BUT_X, ONLY_X], "a/x/f", True),
        ([ONLY_X, BUT_X], "a/x/f", True),
        ([WIDE, BUT_X, ONLY_X], "a/x/f", True),
        ([{**ONLY_X, "except": [{"path": "a/x/f"}]}, BUT_X], "a/x/f", False),
        ([OF_EDIT], "a/x/f", False),
        ([OF_EDIT, ONLY_X], "a/x/f", True),
        ([ONLY_X, OF_EDIT], "a/x/f", True),
        ([{"deny": {"effect": "read", "path": "a/x/f"}}], "a/x/f", False),
        ([{"allow": {"effect": "delete", "path": "a/x/f"}}], "a/x/f", False),
    ],
)
def test_a_path_is_protected_where_one_of_all_rules_speaks_of_it(guard, rules, path: str, expected: bool) -> None:
    found = guard({"user": [{"id": f"r{number}", **rule} for number, rule in enumerate(rules)]})
    context = found.context
    assert protecting(found.loaded.policy, KINDS, context, Call("Bash", {}, ""))(f"{context.root}/{path}") is expected
