"""The reference of policy files: it speaks of every word there is, and its examples do what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.config.load import load_tools, tool_names
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.judge.policy_tests import Trials, check_examples
from gateway.policy.compile import Bound
from gateway.policy.lint.inclusion import INCLUDES
from gateway.policy.predicates import PREDICATES
from gateway.spec.policy import parse_policy
from gateway.spec.predicates import FORMS
from gateway.spec.reference.entry import Entry, Example
from gateway.spec.reference.predicates import DESCRIBED
from gateway.spec.schema import policy_schema

HERE = places()
REGISTRY = load_tools(HERE, ())
TOOLS = tool_names(REGISTRY)
WORLD = Trials(REGISTRY, HERE).world


def problems(example: Example) -> list[str]:
    """What the example says that is not so, in the world that rules' examples are judged in."""
    lines = ["version: 1", "rules:", "- " + "\n  ".join(example.rule.splitlines())]
    lines.append(f"  matches: {json.dumps(example.holds)}")
    if example.not_for:
        lines.append(f"  not_matches: {json.dumps(example.not_for)}")
    try:
        parsed = parse_policy("\n".join(lines) + "\n", "p.yaml", TOOLS)
    except ConfigError as error:
        return [str(error)]
    bound = Bound("user", "/etc/p.yaml", parsed["rules"], WORLD.root, WORLD.root)
    return [each.message for each in check_examples([bound], REGISTRY, HERE)]


def wrong(entries: dict[str, Entry]) -> list[Any]:
    return [
        (name, each, found) for name, entry in entries.items() for each in entry.examples if (found := problems(each))
    ]


def test_both_halves_of_every_predicate_are_there() -> None:
    assert list(DESCRIBED) == list(PREDICATES)
    assert list(policy_schema()["$defs"]["predicates"]["properties"]) == list(PREDICATES)


def test_every_form_of_argument_is_read_described_and_compared() -> None:
    forms = {each.form.name for each in PREDICATES.values()}
    assert (set(FORMS) | {"choices"}, set(INCLUDES)) == (forms, forms)
    assert [name for name, each in PREDICATES.items() if each.form.name == "choices" and not each.choices] == []


def test_the_examples_of_predicates_hold() -> None:
    assert wrong(DESCRIBED) == []


def test_every_predicate_has_two_examples_of_its_own() -> None:
    assert [name for name, each in DESCRIBED.items() if len(each.arguments(name)) < 2] == []


@pytest.mark.parametrize(
    "example",
    [
        Example("deny: {effect: push}", "git status"),
        Example("deny: {effect: push}", "git push", "git push origin main"),
        Example("deny: {effekt: push}", "git push"),
    ],
)
def test_a_wrong_example_is_noticed(example: Example) -> None:
    assert problems(example) != []
