"""What is told of a verdict, to a model and to a person."""

from __future__ import annotations

from gateway.model.call import RawCall
from gateway.model.verdict_message import Said
from gateway.policy.explain import message


def test_a_verdict_says_why_to_a_model_and_where_it_stands_to_a_person(ground) -> None:
    path = ground.says(
        {
            "extends": ["daily"],
            "rules": [{"id": "no-x", "deny": "Bash(touch x)", "because": "x is taken", "instead": "touch y"}],
        }
    )
    gateway = ground.open()
    denied = gateway.check(RawCall("Bash", {"command": "touch x"}))
    assert denied.said.model == "`touch x` was refused by rule `no-x`: x is taken. Instead: touch y."
    assert denied.said.place == f"user policy, {path}:1"
    assert denied.said.person.startswith(f"DENY by rule `no-x` (user, {path}:1). It ")
    assert denied.said.person.endswith("; x is taken. Instead: touch y.")
    allowed = gateway.check(RawCall("Bash", {"command": "ls"}))
    assert allowed.said == Said(
        model=message(allowed), person="ALLOW: mode `default` allows all of it without a rule.", place=""
    )


def test_nothing_in_it_is_invisible(ground) -> None:
    verdict = ground.open().check(RawCall("Bash", {"command": "frob \x1b[2J\u202e"}))
    assert all(each.isprintable() for each in (verdict.said.model, verdict.said.person))
