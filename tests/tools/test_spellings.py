"""Names and values of other agents: what their models send is taken, and what is not has a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import CallError, ConfigError
from gateway.model.call import RawCall
from gateway.spec.tools import compile_tools
from gateway.tools.spellings import respelled

SENT = yaml.safe_load((Path(__file__).parent / "sent_by_agents.yaml").read_text(encoding="utf-8"))
GIVEN: dict[str, Any] = {
    "string": "abc", "name": "s/1", "number": 1000, "integer": 1, "boolean": True, "array": ["a.example"],
    "object": {"url": "x"},
}  # fmt: skip
NAMED: dict[str, Any] = {
    "url": "https://a.example", "cron": "0 9 * * *", "operation": "hover", "line": 1, "character": 1, "pages": "1",
    "timeout_ms": 1000, "notebook_path": "a.ipynb", "isolation": "worktree", "id": "c1", "value": "x",
}  # fmt: skip


def rows() -> list[tuple[str, dict[str, Any], str]]:
    """Tool, input, and why it is refused."""
    found: list[tuple[str, dict[str, Any], str]] = []
    for tool, told in SENT.items():
        least = {name: NAMED.get(name, "abc") for name in told.get("required", ())}
        refused = told.get("refused", {})
        found.append((tool, least, ""))
        for name, kind in told.get("fields", {}).items():
            if isinstance(kind, list):
                found += [(tool, {**least, name: each}, refused.get(f"{name}={each}", "")) for each in kind]
            else:
                given = {**least, name: NAMED.get(name, GIVEN[kind])}
                if name in ("name", "team_name") and tool == "Agent":
                    given |= {"name": "ann", "team_name": "team"}
                if tool == "TaskStop" and name != "task_id":
                    given["task_id"] = "s/1"
                found.append((tool, given, refused.get(name, "")))
    return [row for row in found if row[:2] != ("TaskStop", {})]


@pytest.mark.parametrize(("tool", "given", "refused"), rows(), ids=lambda each: str(each)[:60])
def test_what_agents_send_is_taken_unless_there_is_a_reason(registry, context, tool, given, refused) -> None:
    try:
        registry.canonical_call(RawCall(tool, given), context)
        problems = []
    except CallError as error:
        problems = [str(each) for each in error.problems]
    assert bool(problems) is bool(refused), problems


@pytest.mark.parametrize(
    ("tool", "sent", "meant"),
    [
        ("Skill", {"skill": "x"}, {"name": "x"}),
        ("Read", {"file_path": "/a", "offset": 0}, {"file_path": "/a", "offset": 1}),
        ("Read", {"file_path": "/a", "offset": "0"}, {"file_path": "/a", "offset": 1}),
        ("LSP", {"operation": "goToDefinition", "filePath": "/a"}, {"operation": "definition", "file_path": "/a"}),
        ("CronCreate", {"cron": "@daily", "prompt": "p", "recurring": False}, {"once": True}),
        ("CronCreate", {"cron": "@daily", "prompt": "p", "recurring": True}, {"once": False}),
        ("ExitWorktree", {"action": "keep", "discard_changes": True}, {"remove": False}),
        ("TaskOutput", {"task_id": "s/1", "timeout": 5}, {"id": "s/1", "wait_up_to": 5}),
        ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}, {"dangerously_disable_sandbox": True}),
    ],
)
def test_a_call_is_judged_by_what_was_meant(registry, context, tool, sent, meant) -> None:
    call = registry.canonical_call(RawCall(tool, sent), context)
    assert {name: call.input[name] for name in meant} == meant
    assert not (set(sent) - set(meant)).intersection(
        {"skill", "filePath", "cron", "recurring", "action", "task_id"} & set(call.input)
    )


@pytest.mark.parametrize("ours", [True, False])
def test_of_two_that_say_the_same_thing_neither_is_chosen(registry, context, ours: bool) -> None:
    given = {"command": "ls", "dangerouslyDisableSandbox": not ours, "dangerously_disable_sandbox": ours}
    with pytest.raises(CallError, match="dangerouslyDisableSandbox: must be a known field"):
        registry.canonical_call(RawCall("Bash", given), context)


def test_models_are_not_shown_other_spellings(registry) -> None:
    for tool in registry:
        shown = str(registry[tool].input_schema())
        assert not [
            name
            for name in registry[tool].spellings
            if name not in registry[tool].entry["input"]["properties"] and f"'{name}'" in shown
        ]


@given(
    st.dictionaries(st.sampled_from(["a", "b", "theirs", "other"]), st.one_of(st.booleans(), st.integers(), st.text())),
)
def test_a_spelling_loses_nothing_and_overwrites_nothing(values: dict[str, Any]) -> None:
    spellings = {
        "theirs": {"field": "a", "values": {"true": "yes"}, "ignore": False},
        "other": {"field": "a", "values": {}, "ignore": False},
    }
    found = dict(values)
    respelled(found, spellings)
    assert len(found) == len(values)
    assert all(found[name] == values[name] for name in ("a", "b") if name in values)


TOOL = """
version: 1
tools:
  Mine:
    summary: s
    description: d
    handler: {python: session.config}
    input: {properties: {name: {type: string}}}
    spellings: %s
    examples: [{call: {}, effects: [opaque]}]
"""


@pytest.mark.parametrize(
    ("spellings", "complaint"),
    [
        ("{theirs: nothing}", "field must be one of the input (got `nothing`)"),
        ("{name: {ignore: true}}", "what is left out must be no field"),
        ("{theirs: {ignore: true, field: name}}", "what is left out must be no field"),
        ("{theirs: {}}", "field must be one of the input (got `theirs`)"),
        ("{name: {}}", "a spelling of `name` must say what it stands for"),
        ("{theirs: {fields: name}}", "did you mean"),
    ],
)
def test_a_spelling_that_can_mean_nothing_is_an_error_with_its_place(spellings: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_tools(TOOL % spellings, "tools.yaml")
    assert complaint in str(caught.value)
    assert "tools.yaml:9" in str(caught.value)
