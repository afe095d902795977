"""What a model is offered: nothing that is denied for every input, and of many tools some by name only."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from catalogue import SERVERS, Listed, definitions

from gateway.calls.session import Session
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
    from gateway.calls import handlers

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


def test_questions_about_code_are_offered_where_a_language_server_is_configured(ground) -> None:
    assert "LSP" not in names(ground.open())
    ground.says({"settings": {"language_servers": {"a": {"command": ["x"], "languages": ["python"]}}}})
    assert "LSP" in names(ground.open())


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


LOADED = {
    "by name": "select:WordCount",
    "by words": "+count lines words",
    "beside one that it may call": "select:Monitor,WordCount",
}


@pytest.mark.parametrize("is_bounded", [True, False], ids=["bounded", "the twin, who may call it"])
@pytest.mark.parametrize("query", LOADED.values(), ids=LOADED)
def test_an_agent_loads_no_tool_that_it_may_not_call(ground, query: str, is_bounded: bool) -> None:
    ground.says({"settings": {"tools_in_full": 3}})
    gateway = ground.open()
    with gateway.session() as session:
        if is_bounded:
            session.may = lambda name: name in ("Read", "Monitor", "ToolSearch")
        done = gateway.call(RawCall("ToolSearch", {"query": query}), session=session)
        assert ("WordCount" in done.text.replace("no tool `WordCount`", ""), "WordCount" in session.searched) == (
            (not is_bounded), (not is_bounded),
        )  # fmt: skip
        said = json.dumps(gateway.tools(session=session))
        assert ("WordCount" in said) is not is_bounded


@pytest.mark.parametrize("agent", ["reviewer", "writer"])
def test_what_is_denied_to_an_agent_is_not_offered_to_it(ground, agent: str) -> None:
    rule = {"id": "no", "deny": {"tool": "WordCount", "agent": "reviewer", "depth": {"ge": 1}}}
    ground.says({"settings": {"tools_in_full": 3}, "rules": [rule]})
    gateway = ground.open()
    with Session(gateway.context.replace(agent=agent, depth=1)) as session:
        done = gateway.call(RawCall("ToolSearch", {"query": "select:WordCount"}), session=session)
        assert done.output.is_error is (agent == "reviewer")


def sent(gateway: Any, tools: int) -> tuple[int, str]:
    """Bytes of the tools in a first request with so many of servers, and what is said of those that wait."""
    with gateway.session() as session:
        session.joined = Listed(tools)
        found = gateway.tools("anthropic", session=session)
    (search,) = [each["description"] for each in found if each["name"] == "ToolSearch"]
    return len(json.dumps(found, ensure_ascii=False).encode()), search


def test_a_catalogue_of_500_tools_costs_little_of_the_first_prompt_and_names_them_all(ground) -> None:
    ground.says({"settings": {"tools_in_full": 1}})
    gateway = ground.open()
    alone, _ = sent(gateway, 0)
    with_them, said = sent(gateway, 500)
    assert with_them - alone < 12_500  # with 2.5 bytes to a token, which are few, these are 5,000
    for server, tools in definitions(500).items():
        (line,) = [each for each in said.split("\n") if each.startswith(f"- mcp__{server}__ followed by one of: ")]
        assert line.partition(": ")[2].split(", ") == [each["name"] for each in tools]
    ground.says({"settings": {"tools_in_full": 10_000}})
    assert sent(ground.open(), 50)[0] - alone > 50_000  # the twin of a tenth of them: in full


def test_of_still_more_tools_some_are_named_and_all_are_found(ground) -> None:
    ground.says({"settings": {"tools_in_full": 1}})
    gateway = ground.open()
    with_them, said = sent(gateway, 2_000)
    assert with_them - sent(gateway, 0)[0] < 12_500
    assert said.count("which ToolSearch finds by words") == len(SERVERS)
    with gateway.session() as session:
        session.joined = Listed(2_000)
        query = {"query": "+jira create transition v4", "max_results": 1}
        done = gateway.call(RawCall("ToolSearch", query), session=session)
        assert done.output.data == {"tools": ["mcp__jira__create_transition_v4"]}


def test_of_few_that_wait_each_has_a_hint(ground) -> None:
    ground.says({"settings": {"tools_in_full": 1}})
    assert "- mcp__github__create_issue: Create a issue in github." in sent(ground.open(), 20)[1]
