"""Every example of `tools.yaml` holds, and an example that does not is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.core.errors import ConfigError
from gateway.model.call import RawCall
from gateway.spec.tools import compile_tools
from gateway.tools.examples import WORLD, check_example, require_examples
from gateway.tools.registry import Registry

TOOLS = Path(__file__).parents[2] / "tools.yaml"
SHIPPED = Registry(compile_tools(TOOLS.read_bytes(), "tools.yaml"))
EXAMPLES = [(name, example) for name in SHIPPED for example in SHIPPED[name].entry["examples"]]


@pytest.mark.parametrize(
    ("name", "example"), EXAMPLES, ids=[f"{name}-line-{example['line']}" for name, example in EXAMPLES]
)
def test_an_example_of_a_shipped_tool_holds(name, example):
    assert check_example(SHIPPED, name, example) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_tool_has_examples_both_ways(name):
    examples = SHIPPED[name].entry["examples"]
    assert any("effects" in example for example in examples)
    takes_anything = SHIPPED[name].entry["open"] and not SHIPPED[name].entry["input"]["properties"]
    assert takes_anything or any("complaint" in example for example in examples)


HEAD = """\
version: 1
tools:
  T:
    summary: A tool.
    description: A tool.
    input:
      properties:
        file: {type: string, minLength: 2, default: ab}
        count: {type: integer, maximum: 3, default: 2}
    effects: {read: file}
    handler: {python: a.b}
    examples:
"""


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (
            "{call: {file: xy}, effects: [write /home/dev/project/xy]}",
            (
                "t.yaml:13:9: example of T must have the effects ['write /home/dev/project/xy']"
                " (got ['read /home/dev/project/xy'])"
            ),
        ),
        (
            "{call: {file: x}, effects: [read x]}",
            "t.yaml:13:9: example of T must be a valid call (got: $.file: must be at least 2 characters long (got 1))",
        ),
        (
            "{call: {file: xy}, complaint: [$.file]}",
            "t.yaml:13:9: example of T must complain about ['$.file'] (got a valid call)",
        ),
        (
            "{call: {file: x, count: 4}, complaint: [$.file]}",
            "t.yaml:13:9: example of T must complain about ['$.file'] (got ['$.count', '$.file'])",
        ),
    ],
)
def test_an_example_that_does_not_hold_is_a_load_error(example, said):
    with pytest.raises(ConfigError) as caught:
        compile_tools(f"{HEAD}      - {example}\n", "t.yaml")
    assert str(caught.value) == said


def test_a_default_that_its_own_field_refuses_is_a_load_error():
    text = HEAD.replace("default: ab", "default: a").replace("default: 2", "default: 9")
    with pytest.raises(ConfigError) as caught:
        compile_tools(f"{text}      - {{call: {{file: xy}}, verdict: ask}}\n", "t.yaml")
    assert list(map(str, caught.value.problems)) == [
        "t.yaml:3: $.file: default of T must be a value that its field takes (got `a`)",
        "t.yaml:3: $.count: default of T must be a value that its field takes (got `9`)",
    ]


def test_a_verdict_is_looked_at_where_a_policy_can_give_one():
    registry = Registry(compile_tools(f"{HEAD}      - {{call: {{file: xy}}, verdict: ask}}\n", "t.yaml"))
    asked = []

    def verdict(raw, context):
        asked.append((raw, context))
        return "allow"

    with pytest.raises(ConfigError) as caught:
        require_examples(registry, "t.yaml", verdict)
    assert str(caught.value) == "t.yaml:13:9: example of T must give the verdict `ask` (got `allow`)"
    assert asked == [(RawCall("T", {"file": "xy"}), WORLD)]
