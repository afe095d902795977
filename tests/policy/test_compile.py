"""From normal form to the compiled policy: dates."""

from __future__ import annotations

import pytest

from gateway.config import compiling
from gateway.model.call import RawCall
from gateway.policy import compile as compile_
from gateway.policy import paths
from gateway.policy.compile import epoch

DAY = {"from": "09:00", "to": "17:00"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0.0),
        ("1970-01-02", 172_800.0),
        ("1970-01-02T00:00Z", 86_400.0),
        ("1970-01-02T02:00+02:00", 86_400.0),
        ("1969-12-31", 1.0),
        ("1969-01-01T00:00Z", 1.0),
        ("0001-01-01", 1.0),
        ("0001-01-01T00:00+14:00", 1.0),
        ("9999-12-31", 253_402_300_800.0),
    ],
)
def test_a_date_holds_until_its_end_and_one_of_long_ago_is_over(text: str, expected: float) -> None:
    assert epoch(text) == expected


@pytest.mark.parametrize(
    ("expires", "expected"),
    [("1969-12-31", "ask"), ("0001-01-01", "ask"), ("2020-01-01T00:00Z", "ask"), ("9999-12-31", "allow")],
)
def test_a_rule_that_is_over_allows_nothing(guard, expires: str, expected: str) -> None:
    rules = [{"allow": "Bash(npm test)", "expires": expires}]
    assert guard({"user": rules}).check(RawCall("Bash", {"command": "npm test"})).decision.word == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"ask": "Bash(make)"}, False),
        ({"ask": "Bash(make)", "expires": "9999-12-31"}, True),
        ({"ask": {"exec": "make", "time": DAY}}, True),
        ({"ask": {"exec": "make"}, "except": {"time": DAY}}, True),
        ({"ask": "Bash(make)", "delegate": {"to": "project"}}, False),
        ({"ask": "Bash(make)", "delegate": {"to": "project", "until": "9999-12-31"}}, True),
        ({"ask": "Bash(make)", "delegate": {"to": "project", "within": {"time": DAY}}}, True),
    ],
)
def test_a_policy_whose_answers_depend_on_the_time_says_so(guard, rule: dict, expected: bool) -> None:
    assert guard({"user": [{"id": "own", **rule}]}).loaded.policy.asks_time is expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"deny": "Bash(nc *)"}, True),
        ({"deny": {"exec": "nc"}, "except": {"option": "-z"}}, True),
        ({"deny": {"exec": "nc", "mode": "plan"}}, False),
        ({"deny": {"exec": "nc", "option": "-l"}}, False),
        ({"deny": {"exec": "nc"}, "expires": "9999-12-31"}, False),
        ({"ask": "Bash(nc *)"}, False),
        ({"allow": "Bash(nc *)"}, False),
    ],
)
def test_a_rule_that_denies_a_command_by_its_words_alone_is_listed(guard, rule: dict, expected: bool) -> None:
    policy = guard({"user": [{"id": "own", **rule}]}).loaded.policy
    assert ("own" in {policy.rule(policy.clauses[each][0]).id for each in policy.denying_commands}) is expected


def test_policies_that_share_rules_are_compiled_to_what_each_is_by_itself(guard) -> None:
    """What several have in common is compiled once, and changed by none of them."""
    upper = {"id": "upper", "deny": "Bash(git push *)", "delegate": {"to": "project"}}
    layers = (
        [{"deny": "Edit(a/**)"}, {"ask": "Read(//b/*.key)"}, {"allow": "Bash(git log *)", "excepts": "upper"}],
        [{"deny": "Edit(a/**)"}, {"allow": "Edit(b/**)", "expires": "9999-12-31"}, {"ask": {"exec": "git"}}],
        [],
    )
    made = [guard({"enterprise": [upper], "project": each}).loaded.policy for each in (*layers, *layers)]
    for cleared in (compiling._policies, compile_._lately, paths._built):
        cleared.clear()
    alone = []
    for each in layers:
        alone.append(guard({"enterprise": [upper], "project": each}).loaded.policy)
        compile_._lately.clear()
    assert made == [*alone, *alone]
