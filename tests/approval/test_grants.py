"""Grants hold for what was shown and for nothing else, as often and as long as they say."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gateway.approval.digests import identity
from gateway.approval.grants import Grants
from gateway.model.call import RawCall
from gateway.model.grant import Grant

ASKED = Grant("call", "effects", "revision", (("mode:default", "", 0),), False, False, "once", "")
GIVEN = ASKED.replace(allow=True, scope="session", by="ann")


@pytest.mark.parametrize(
    ("grant", "asked", "holds"),
    [
        pytest.param({}, {}, True, id="the same question"),
        pytest.param({}, {"call": "other"}, True, id="another call with the same effects, where the mode asks"),
        pytest.param({}, {"call": "other", "exact": True}, False, id="another call, where a rule asks"),
        pytest.param({"exact": True}, {"call": "other"}, False, id="another call, where a rule asked"),
        pytest.param({"exact": True}, {"exact": True}, True, id="the same call, where a rule asks"),
        pytest.param({}, {"effects": "other"}, False, id="other effects"),
        pytest.param({}, {"revision": "other"}, False, id="another policy"),
        pytest.param({}, {"rules": (("no-rm", "user.yaml", 3),)}, False, id="another rule asks"),
        pytest.param({"until": 11.0}, {}, True, id="just before its end"),
        pytest.param({"until": 10.0}, {}, False, id="at its end"),
        pytest.param({"uses": 1}, {}, True, id="a use is left"),
        pytest.param({"uses": 0}, {}, False, id="no use is left"),
    ],
)
def test_a_grant_holds_for_what_was_shown(grant: dict[str, Any], asked: dict[str, Any], holds: bool) -> None:
    assert GIVEN.replace(**grant).holds(ASKED.replace(**asked), 10.0) is holds


def test_a_grant_for_three_uses_is_used_three_times_by_any_number_of_threads() -> None:
    grants = Grants()
    grants.add(GIVEN.replace(uses=3))
    found: list[Grant | None] = []
    threads = [threading.Thread(target=lambda: found.append(grants.use(ASKED, 0.0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each is not None for each in found].count(True) == 3


def test_a_later_answer_to_the_same_question_takes_the_place_of_the_first() -> None:
    grants = Grants()
    refused = GIVEN.replace(allow=False)
    grants.add(GIVEN)
    grants.add(refused)
    assert (grants.use(ASKED, 0.0), len(grants)) == (refused, 1)


@pytest.mark.parametrize("scope", ["once", "always"])
def test_only_answers_for_the_session_are_remembered(scope: str) -> None:
    grants = Grants()
    with pytest.raises(ValueError, match="for the session"):
        grants.add(GIVEN.replace(scope=scope))
    assert grants.use(ASKED, 0.0) is None


WRITE = {"file_path": "src/new.py", "content": "a"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(RawCall("Write", WRITE), RawCall("Write", {**WRITE, "content": "b"}), True, id="another content"),
        pytest.param(RawCall("Write", WRITE), RawCall("Write", {**WRITE, "file_path": "x"}), False, id="another file"),
        pytest.param(
            RawCall("Bash", {"command": "make a"}), RawCall("Bash", {"command": "make a <<< x"}), False, id="its input"
        ),
        pytest.param(
            RawCall("Bash", {"command": "A=1 make a"}),
            RawCall("Bash", {"command": "A=2 make a"}),
            False,
            id="a variable",
        ),
        pytest.param(
            RawCall("Bash", {"command": "make a"}), RawCall("Bash", {"command": "make a"}), True, id="the same command"
        ),
        pytest.param(
            RawCall("mcp__git__make", {"a": 1}), RawCall("mcp__git__make", {"a": 2}), False, id="what a server is sent"
        ),
        pytest.param(
            RawCall("mcp__git__make", {"a": 1, "b": 2}),
            RawCall("mcp__git__make", {"b": 2, "a": 1}),
            True,
            id="the order",
        ),
    ],
)
def test_effects_are_the_same_where_the_calls_do_the_same(judged, one: RawCall, other: RawCall, same: bool) -> None:
    digests = [identity(judged(call).verdict, "").effects for call in (one, other)]
    assert (digests[0] == digests[1]) is same


@pytest.mark.parametrize(
    "change",
    [{"cwd": "/home/dev/project/src"}, {"mode": "accept_edits"}, {"confined": False}, {"agent": "x"}, {"depth": 1}],
    ids=str,
)
def test_the_same_command_elsewhere_or_otherwise_is_another_call(judged, change: dict[str, Any]) -> None:
    verdict = judged("make a").verdict
    other = verdict.replace(context=verdict.context.replace(**change))
    same = verdict.replace(context=verdict.context.replace(now=verdict.context.now + 60))
    found = [identity(each, "") for each in (verdict, other, same)]
    assert (found[0] == found[1], found[0] == found[2]) == (False, True)
