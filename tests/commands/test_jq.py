"""jq's programs: which names may show the environment or load something."""

from __future__ import annotations

import pytest

from gateway.commands.special.jq import names


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (".env", []),
        (".a.env | keys", ["keys"]),
        ("env.HOME", ["env"]),
        ("$ENV", ["$ENV"]),
        ("$ ENV", ["ENV"]),
        ("$env", ["$env"]),
        ('"env"', []),
        ('"\\(env)"', ["env"]),
        ('"a\\("b" | env)"', ["a", "b", "env"]),
        ('# "\nenv # "', ["env"]),
        ('import "a" as a; 1', ["import", "as", "a", "1"]),
    ],
)
def test_names_are_found_wherever_they_may_be_a_program(program: str, found: list[str]) -> None:
    assert [name for name, _ in names(program)][-len(found) :] == found if found else names(program) == []
