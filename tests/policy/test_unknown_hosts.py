"""Hosts that are not known before the run are said to be unknown, and asked about as such."""

from __future__ import annotations

import pytest

from gateway.model.call import RawCall

TEXT = "git fetch"  # of a repository that names no remote
METADATA = {"id": "metadata", "deny": {"effect": "connect", "host": ["metadata"]}}
PRIVATE = {"id": "private", "ask": {"effect": "connect", "host": ["private", "link-local"]}}
FREE = {"id": "free", "allow": {"command": ["git fetch", "curl *"]}}


@pytest.fixture
def said(guard):
    """Decision and rule on a text under some rules."""

    def judge(rules, text: str = TEXT, **more) -> tuple[str, str]:
        verdict = guard({"user": rules}, **more).check(RawCall("Bash", {"command": text}))
        return verdict.decision.word, verdict.reason.rule.id

    return judge


@pytest.mark.parametrize("rules", [[METADATA], [PRIVATE], [METADATA, PRIVATE]])
def test_an_unknown_host_is_the_modes_and_not_that_of_a_rule_on_addresses(said, rules) -> None:
    assert said(rules) == ("ask", "mode:default")
    assert said([*rules, FREE]) == ("allow", "free")


@pytest.mark.parametrize("rules", [[METADATA], [PRIVATE]])
def test_where_the_agent_runs_it_itself_nothing_holds_such_a_rule(said, rules) -> None:
    decision, rule = said([*rules, FREE], confined=False)
    assert (decision, rule in ("metadata-addresses", rules[0]["id"])) == ("ask", True)


@pytest.mark.parametrize(
    "rule",
    [
        {"id": "named", "ask": {"effect": "connect", "host": "*.prod.example"}},
        {"id": "named", "ask": {"effect": "connect", "host": ["private", "x.example"]}},
        {"id": "named", "deny": {"effect": "connect", "host": "metadata", "port": 80}},
        {"id": "named", "deny": {"effect": "connect", "host": "x.example"}, "except": [{"command": "git fetch x"}]},
        {"id": "named", "deny": {"effect": "connect", "host": "x.example"}, "lock": True},
    ],
)
def test_a_rule_that_the_proxy_does_not_hold_as_it_stands_asks_still(said, rule) -> None:
    assert said([rule, FREE]) == ("ask", "named")


@pytest.mark.parametrize("text", ["curl http://169.254.169.254/", "curl http://metadata.azure.internal/"])
def test_a_known_host_is_held_to_its_rule(said, text: str) -> None:
    assert said([METADATA, FREE], text) == ("deny", "metadata-addresses")  # the builtin one says the same


def test_a_host_that_only_may_be_known_in_part_is_judged_by_that_part(said) -> None:
    assert said([PRIVATE, FREE], "curl http://10.0.0.1/$X") == ("ask", "private")
