"""What a model is offered: nothing that is denied for every input, and of many tools some by name only."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gateway.model.call import RawCall


def names(gateway: Any, form: str = "anthropic", **how: Any) -> set[str]:
    return {each.get("name") or each["title"] for each in gateway.tools(form, **how)}


DENIED = {
    "by name": ({"deny": "WebFetch"}, False),
    "by a glob": ({"deny": {"tool": "Web*"}}, False),
    "with other tools": ({"deny": {"tool": ["WebFetch", "Bash"]}}, False),
    "in this mode": ({"deny": {"tool": "Read", "mode": "default"}}, False),
    "in another mode": ({"deny": {"tool": "Read", "mode": "plan"}}, True),
    "for some inputs": ({"deny": "Read(src/**)"}, True),
    "for some arguments": ({"deny": {"tool": "Read", "args": {"limit": {"absent": True}}}}, True),
    "for an effect": ({"deny": {"tool": "Read", "effect": "read"}}, True),
    "with an exception": ({"deny": "Read", "except": [{"args": {"offset": 1}}]}, True),
    "as a question": ({"ask": "Read"}, True),
    "by a rule that has run out": ({"deny": "Read", "expires": "2020-01-01"}, True),
}


@pytest.mark.parametrize(("rule", "is_offered"), DENIED.values(), ids=DENIED)
def test_a_tool_is_left_out_only_when_every_call_of_it_is_denied(
    ground, rule: dict[str, Any], is_offered: bool
) -> None:
    name = "Read" if "Read" in str(rule) else "Bash" if "Bash" in str(rule) else "WebFetch"
    ground.stands_for("web.fetch", lambda _call, _work: None)
    assert name in names(ground.open())
    ground.says({"rules": [{"id": "rule", **rule}]})
    assert (name in names(ground.open())) is is_offered


def test_a_tool_that_nothing_stands_behind_is_not_offered(ground, monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.tools import handlers

    assert "Read" in names(ground.open())
    monkeypatch.delitem(handlers.HANDLERS, "files.read")
    assert "Read" not in names(ground.open())


def test_a_description_depends_on_the_mode(ground) -> None:
    def write(mode: str) -> str:
        (found,) = [each for each in ground.open().tools(mode=mode) if each["name"] == "Write"]
        return found["description"]

    assert "In this mode no file is written" in write("plan")
    assert "In this mode no file is written" not in write("default")
    gateway = ground.open()
    with gateway.session() as session:
        session.enter("plan")
        (found,) = [each for each in gateway.tools(session=session) if each["name"] == "Write"]
        assert "In this mode no file is written" in found["description"]


def test_each_form_is_what_its_readers_take(ground) -> None:
    gateway = ground.open()
    for form, keys in (
        ("anthropic", {"name", "description", "input_schema"}),
        ("mcp", {"name", "title", "description", "inputSchema", "annotations"}),
    ):
        for each in gateway.tools(form):
            assert set(each) - {"outputSchema"} == keys
            schema = each.get("input_schema") or each["inputSchema"]
            jsonschema.Draft202012Validator.check_schema(schema)
            assert not {"oneOf", "anyOf", "allOf"} & set(schema)
    for each in gateway.tools("schema"):
        jsonschema.Draft202012Validator.check_schema(each)
    hints = {each["name"]: each["annotations"] for each in gateway.tools("mcp")}
    assert hints["Read"] == {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
    assert hints["Write"] == {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
    with pytest.raises(ValueError, match="the form must be one of"):
        gateway.tools("openai")


def test_of_many_tools_those_that_may_wait_are_shown_by_name(ground) -> None:
    everything = names(ground.open())
    ground.says({"settings": {"tools_in_full": 3}})
    gateway = ground.open()
    with gateway.session() as session:
        shown = names(gateway, session=session)
        waiting = everything - shown
        assert {"WordCount", "Monitor"} <= waiting
        assert {"Read", "Bash", "ToolSearch"} <= shown
        (search,) = [each for each in gateway.tools(session=session) if each["name"] == "ToolSearch"]
        assert "- WordCount: wc count lines words length" in search["description"]
        done = gateway.call(RawCall("ToolSearch", {"query": "select:WordCount"}), session=session)
        assert '"name": "WordCount"' in done.text
        assert "input_schema" in done.text
        assert names(gateway, session=session) == shown | {"WordCount"}
    assert names(gateway, "mcp") == everything  # such clients cannot search


def test_nothing_waits_where_nobody_could_search(ground) -> None:
    ground.says({"settings": {"tools_in_full": 3}, "rules": [{"id": "no", "deny": "ToolSearch"}]})
    assert "WordCount" in names(ground.open())


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("count lines", "WordCount"),
        ("jupyter", "NotebookEdit"),
        ("+watch log", "Monitor"),
        ("select:Monitor", "Monitor"),
        ("select: KillBash , Read", "KillShell"),
    ],
)
def test_tools_are_found_by_words_and_by_name(ground, query: str, first: str) -> None:
    done = ground.open().call(RawCall("ToolSearch", {"query": query}))
    assert done.output.data is not None
    assert done.output.data["tools"][0] == first


@pytest.mark.parametrize("query", ["zzzz qqqq", "select:Nope", "select:", "select:Read,Nope", "+zzzz read"])
def test_what_is_not_found_is_an_error_and_loads_nothing(ground, query: str) -> None:
    gateway = ground.open()
    with gateway.session() as session:
        done = gateway.call(RawCall("ToolSearch", {"query": query}), session=session)
        assert done.output.is_error
        assert session.searched == frozenset()


def test_what_is_denied_is_not_found_either(ground) -> None:
    ground.says({"rules": [{"id": "no", "deny": "WordCount"}]})
    done = ground.open().call(RawCall("ToolSearch", {"query": "select:WordCount"}))
    assert (done.output.is_error, done.text[:33]) == (True, "There is no tool `WordCount` here")
