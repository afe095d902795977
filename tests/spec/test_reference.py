"""The reference of policy files: it speaks of every word there is, and its examples do what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gateway.config.load import tool_names
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.judge.policy_tables import run_tests
from gateway.judge.policy_tests import Trials, check_examples, stack_for
from gateway.model.decision import LAYERS
from gateway.model.effect import KINDS
from gateway.model.limits import LIMITS
from gateway.policy.algebra.dimensions import FORMS as COMPARED
from gateway.policy.compile import Bound
from gateway.policy.predicates import PREDICATES
from gateway.spec.argtests import TESTS
from gateway.spec.policy import KEYS, parse_policy
from gateway.spec.predicates import FORMS
from gateway.spec.reference import settings, words
from gateway.spec.reference.entry import Entry, Example, plain
from gateway.spec.reference.page import Group, groups, lookup, near, page, with_limits
from gateway.spec.reference.predicates import DESCRIBED
from gateway.spec.rules import FIELDS
from gateway.spec.sandbox import SANDBOX
from gateway.spec.schema import policy_schema
from gateway.spec.settings import AUDIT, SETTINGS

DOCS = Path(__file__).parents[2] / "docs"
PAGE, SANDBOX_PAGE = DOCS / "rules.md", DOCS / "sandbox.md"
AGAIN = "run `python tests/spec/test_reference.py` and look at the change"
HERE = places()
REGISTRY = load_tools(HERE, ())
TOOLS = tool_names(REGISTRY)
WORLD = Trials(REGISTRY, HERE).world
SCHEMA = jsonschema.Draft202012Validator(policy_schema())


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


def problems_of_file(piece: str, folder: Path) -> list[str]:
    """What is wrong with a piece of a policy file: it does not load, an example or a test of its own does not hold, or
    a rule that has examples is not exercised."""
    (folder / "team.yaml").write_text("version: 1\ndeny: [Bash(terraform *)]\n", encoding="utf-8")
    path = folder / "user.yaml"
    path.write_text(piece if piece.startswith("version") else f"version: 1\n{piece}\n", encoding="utf-8")
    SCHEMA.validate(plain(path.read_text(encoding="utf-8")))
    try:
        report = run_tests(stack_for([str(path)], str(folder)), [str(path)], REGISTRY, HERE, str(folder), ())
    except ConfigError as error:
        return [str(error)]
    lazy = [each.rule for each in report.unexercised] if "matches" in piece or "tests:" in piece else []
    return [each.problem for each in report.failures] + lazy


def test_both_halves_of_every_predicate_are_there() -> None:
    assert list(DESCRIBED) == list(PREDICATES)
    assert list(policy_schema()["$defs"]["predicates"]["properties"]) == list(PREDICATES)


def test_every_form_of_argument_is_read_described_and_compared() -> None:
    forms = {each.form.name for each in PREDICATES.values()}
    assert (set(FORMS) | {"choices"}, set(COMPARED)) == (forms, forms)
    assert [name for name, each in PREDICATES.items() if each.form.name == "choices" and not each.choices] == []


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.title)
def test_the_examples_hold(group: Group, tmp_path: Path) -> None:
    assert wrong(group.entries) == []
    pieces = [piece for each in group.entries.values() for piece in each.files]
    assert [(piece, found) for piece in pieces if (found := problems_of_file(piece, tmp_path))] == []


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.title)
def test_every_word_has_two_examples(group: Group) -> None:
    if group.title == "Layers":
        return
    assert [name for name, each in group.entries.items() if len((*each.examples, *each.files)) < 2] == []


def test_the_reference_speaks_of_every_word() -> None:
    assert set(KINDS) == set(words.EFFECTS)
    assert set(TESTS) == set(words.VALUES)
    assert set(LAYERS) == set(words.LAYERS)
    assert set(SETTINGS) == set(settings.SETTING)
    assert [each for each in (*KEYS, *FIELDS, *SANDBOX, *LIMITS, *AUDIT, *PREDICATES) if not lookup(each)] == []


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), AGAIN


def test_the_page_of_the_sandbox_has_the_limits_as_they_are() -> None:
    text = SANDBOX_PAGE.read_text(encoding="utf-8")
    assert text == with_limits(text), AGAIN


def test_an_unknown_word_has_near_misses() -> None:
    assert (lookup("pathh"), near("pathh")) == ("", ("path",))
    assert "path_not" in near("path_")
    assert near("qqqqqqqqq") == ()


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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SANDBOX_PAGE.write_text(with_limits(SANDBOX_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
