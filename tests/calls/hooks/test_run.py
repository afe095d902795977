"""What the record keeps of hooks: who refused and why, who changed a call, and what had come."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from gateway.calls.output import Output, Text
from gateway.model.call import RawCall

READ = RawCall("Read", {"file_path": "a.txt"})


@pytest.fixture
def house(ground, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of Python hooks, and a tool that always works."""
    ground.stands_for("files.read", lambda _call, _work: Output((Text("read"),)))
    made = ModuleType("house_rules")
    monkeypatch.setitem(sys.modules, "house_rules", made)
    return made


def hooked(ground: Any, *names: str) -> str:
    """Says the hooks of the user, and gives the file."""
    hooks = [{"id": name, "event": "before_call", "python": f"house_rules:{name}"} for name in names]
    return str(ground.says({"hooks": hooks}))


def to(name: str) -> Any:
    """A hook that changes one file to another."""
    return lambda told: {"input": {"file_path": told["shown"].replace("a.txt", name)}}


def broken(_told: Any) -> None:
    raise ValueError("a mistake")


def restless(told: Any) -> Any:
    return {"input": {"file_path": told["shown"] + "x"}}


REFUSALS = {
    "refuses": (lambda _told: {"refuse": "not today"}, "not today"),
    "fails": (broken, "hook `look` failed (ValueError: a mistake)."),
    "answers nonsense": (lambda _told: [], "hook `look` answered with what is no object."),
    "never rests": (restless, "its hooks change it each time they see it."),
}  # fmt: skip


@pytest.mark.parametrize(("does", "why"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_recorded_with_the_hook_its_file_and_its_reason(ground, house: Any, does: Any, why: str) -> None:
    house.look = does
    file = hooked(ground, "look")
    done = ground.open().call(READ)
    (record,) = ground.records()
    assert (record["decision"], record["rule"], record["because"]) == ("deny", ["hook:look", "user", file, 1], why)
    assert done.verdict.reason.rule.because == why
    house.look = lambda _told: None
    assert ground.open().call(READ).ran
    assert "because" not in ground.records()[1]


def test_a_changed_call_is_recorded_with_who_changed_it_and_the_digest_of_what_had_come(ground, house: Any) -> None:
    house.first, house.second = to("b.txt"), lambda _told: None
    hooked(ground, "first", "second")
    assert ground.open().call(READ).ran
    hooked(ground)
    assert ground.open().call(READ).ran
    changed, _outcome, as_it_came, _outcome = ground.records()
    assert (changed["hooks"], changed["original"]) == (["first"], as_it_came["call"])
    assert changed["call"] != changed["original"]
    assert {"hooks", "original"}.isdisjoint(as_it_came)


def test_a_call_that_one_hook_changed_and_another_refused_is_recorded_with_both(ground, house: Any) -> None:
    house.first = to("b.txt")
    house.second = lambda told: {"refuse": "no b"} if told["shown"].endswith("b.txt") else None
    hooked(ground, "first", "second")
    assert not ground.open().call(READ).ran
    (record,) = ground.records()
    assert (record["rule"][0], record["hooks"], len(record["original"])) == ("hook:second", ["first"], 32)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_hook_does_not_bring_what_json_has_no_number_for_into_a_call(ground, house: Any, number: str) -> None:
    house.look = lambda told: {"input": {**told["input"], "offset": float(number)}}
    hooked(ground, "look")
    done = ground.open().call(READ)
    assert "changed it to a call that is none: $: input must hold nothing but JSON values" in done.text
    (record,) = ground.records()
    assert (record["rule"][0], record["input"]["offset"]) == ("hook:look", number)
    house.look = lambda told: {"input": {**told["input"], "offset": 1.0}}
    assert ground.open().call(READ).ran
