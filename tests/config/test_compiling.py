"""Policies that are compiled again: what a process compiled lately is known by all that it was compiled from."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.config import compiling
from gateway.config.compiling import compiled_once
from gateway.policy import commandpattern
from gateway.policy.compile import Bound

RULE = {"id": "a", "lane": "deny", "when": {"effect": ["delete"]}, "line": 1, "column": 1}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was compiled, each time that something was."""
    found: list[Any] = []

    def compile_(bound: tuple[Bound, ...], **how: Any) -> dict[str, Any]:
        found.append(bound)
        return {"rules": [[each.file] for each in bound], **how}

    monkeypatch.setattr(compiling, "compile_policy", compile_)
    monkeypatch.setattr(compiling, "_policies", [])
    return found


def one(file: str) -> tuple[Bound, ...]:
    return (Bound("user", file, [dict(RULE)], "/", "/"),)


def test_the_same_is_compiled_once_and_whatever_differs_anew(compiled: list[Any]) -> None:
    asked = [(one("a"), "/h", False, ()), (one("b"), "/h", False, ()), (one("a"), "/g", False, ()),
             (one("a"), "/h", True, ()), (one("a"), "/h", False, (("~/.x", "/x"),))]  # fmt: skip
    first, again = (
        [compiled_once(bound, home=home, fold=fold, moved=moved) for bound, home, fold, moved in asked]
        for _ in range(2)
    )
    assert (again, len(compiled)) == (first, len(asked))


def test_what_is_written_into_the_rows_of_one_is_not_in_those_of_another(compiled: list[Any]) -> None:
    compiled_once(one("a"), home="/h")["rules"][0].append("shown")
    assert (compiled_once(one("a"), home="/h")["rules"], len(compiled)) == ([["a"]], 1)


def test_only_the_last_few_are_kept(compiled: list[Any]) -> None:
    for number in range(compiling._MOST_POLICIES + 1):
        compiled_once(one("often"), home="/h")
        compiled_once(one(str(number)), home="/h")
    compiled_once(one("0"), home="/h")
    assert (len(compiled), len(compiling._policies)) == (compiling._MOST_POLICIES + 3, compiling._MOST_POLICIES)


def test_of_what_ships_no_pattern_is_compiled_again(guard, monkeypatch: pytest.MonkeyPatch) -> None:
    user = {"user": {"extends": ["ci", "daily", "enterprise", "guard", "node", "python", "remote-reading", "systems"]}}
    monkeypatch.setattr(commandpattern, "_kept", {})
    monkeypatch.setattr(compiling, "_policies", [])
    first = guard(user)
    assert len(commandpattern._kept) < commandpattern._MOST_KEPT / 2
    monkeypatch.setattr(commandpattern, "compile_pattern", pytest.fail)
    compiling._policies.clear()
    assert guard(user).loaded.policy.clauses == first.loaded.policy.clauses
