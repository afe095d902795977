"""Tools as callables, as definitions for models, and found by name."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from gateway.core.errors import CallError
from gateway.model.call import Call, RawCall
from gateway.model.context import Context
from gateway.tools.registry import is_mcp_name
from gateway.tools.tool import Tool

ROOT = Path(__file__).parents[2]


def test_a_tool_is_a_callable_that_gives_the_canonical_call(registry, context):
    read = registry["Read"]
    assert read(context, file_path="src/../a", limit="5") == Call(
        "Read", {"file_path": "/home/dev/project/a", "limit": 5}, "/home/dev/project/a"
    )
    with pytest.raises(CallError) as caught:
        read(context, limit="x", path="y")
    assert [problem.path for problem in caught.value.problems] == ["$.file_path", "$.limit", "$.path"]


def test_without_a_context_relative_paths_start_at_the_process_s_own_folder(registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    assert registry["Read"](file_path="a").shown == f"{tmp_path}/a"
    assert registry["Read"](file_path="~/a").shown == "/home/someone/a"


def test_a_field_may_be_called_as_a_parameter_of_python_is(declare, context):
    registry = declare("input: {properties: {self: {type: string}, context: {type: string}, entry: {}}}")
    assert registry["T"](context, self="a", context="b").input == {"self": "a", "context": "b"}


def test_the_signature_is_typed_and_complete(registry):
    assert str(inspect.signature(registry["Write"])) == (
        "(context: gateway.model.context.Context | None = None, /, *, file_path: str, content: str)"
        " -> gateway.model.call.Call"
    )
    parameters = inspect.signature(registry["Grep"]).parameters
    assert list(parameters) == [
        "context", "pattern", "path", "glob", "type", "output_mode", "multiline", "head_limit", "offset", "fields",
    ]  # fmt: skip
    assert parameters["output_mode"].annotation == Literal["files_with_matches", "content", "count"]
    assert parameters["output_mode"].default == "files_with_matches"
    assert parameters["multiline"].annotation is bool
    assert parameters["head_limit"].annotation is int
    assert parameters["head_limit"].default is None
    assert parameters["fields"].kind is inspect.Parameter.VAR_KEYWORD
    assert parameters["fields"].annotation is Any
    assert parameters["context"].annotation == Context | None


def test_unions_and_untyped_fields_have_annotations_too(declare):
    registry = declare("open: true\ninput: {properties: {a: {type: [integer, 'null']}, b: {}}, required: [b]}")
    parameters = inspect.signature(registry["T"]).parameters
    assert [(name, p.annotation) for name, p in parameters.items()] == [
        ("context", Context | None),
        ("b", Any),
        ("a", int | None),
        ("fields", Any),
    ]


@pytest.mark.parametrize("name", ["Read", "Edit", "Bash", "WordCount"])
def test_the_documentation_says_what_the_declaration_says(registry, name):
    tool = registry[name]
    text = inspect.getdoc(tool)
    assert text.startswith(tool.entry["summary"])
    assert tool.description() in text
    for field in tool.entry["input"]["properties"]:
        assert f"\n    {field}" in text
    assert tool.__name__ == name
    assert repr(tool) == f"Tool({name!r})"


def test_the_class_keeps_its_own_documentation():
    assert Tool.__doc__.startswith("A declared tool: callable")
    assert list(inspect.signature(Tool).parameters) == ["entry"]
    assert not hasattr(Tool, "__missing__")


def test_a_tool_has_no_attributes_that_it_does_not_have(registry):
    with pytest.raises(AttributeError, match="`Tool` has no attribute `run`"):
        registry["Read"].run  # noqa: B018


def test_definitions_are_what_model_apis_take(registry):
    definitions = {d["name"]: d for d in registry.definitions()}
    assert list(definitions) == list(registry)
    assert all(set(d) == {"name", "description", "input_schema"} for d in definitions.values())
    assert definitions["BashOutput"]["input_schema"] == {
        "type": "object",
        "properties": {
            "bash_id": {
                "type": "string",
                "minLength": 1,
                "description": "The id that the background command was given.",
            },
            "filter": {"type": "string", "description": "A regular expression; only matching lines are returned."},
            "block": {"type": "boolean", "default": False, "description": "Wait for new output."},
            "wait_up_to": {
                "type": "integer",
                "minimum": 1,
                "maximum": 600000,
                "default": 30000,
                "description": "How long to wait at most, in milliseconds.",
            },
        },
        "required": ["bash_id"],
        "additionalProperties": False,
    }
    assert not any({"oneOf", "anyOf"} & set(d["input_schema"]) for d in definitions.values())


def test_definitions_show_no_internal_fields(declare):
    registry = declare("internal: {trace: {type: string}}\ninput: {properties: {a: {}}}")
    (definition,) = registry.definitions()
    assert "trace" not in str(definition)


def test_a_description_depends_on_the_mode(registry):
    def write(mode):
        return next(d["description"] for d in registry.definitions(mode) if d["name"] == "Write")

    assert "a call is refused" in write("plan")
    assert "a call is refused" not in write("default")
    assert write("plan").startswith(write("default"))


def test_conditional_tools_are_offered_where_their_condition_holds(registry, declare):
    def names(available):
        return {d["name"] for d in registry.definitions(available=available)}

    assert "LSP" in names(None)
    assert "LSP" not in names(frozenset())
    assert "LSP" in names(frozenset({"needs:lsp"}))
    assert declare("enabled: false").definitions() == []


def test_a_registry_is_a_collection_of_names(registry):
    assert "Read" in registry
    assert "Task" not in registry
    assert len(registry) == len(list(registry)) == 43
    assert registry.canonical_name("Task") == "Agent"
    assert registry.canonical_name("Read") == "Read"
    assert registry.tool("Task") is registry["Agent"] is registry.tool("Agent")
    assert set(registry.names()) == {*registry, "MultiEdit", "KillBash", "Task", "ListMcpResourcesTool",
                                     "ReadMcpResourceTool", "TaskOutput", "AgentOutputTool"}  # fmt: skip
    with pytest.raises(KeyError):
        registry["Task"]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("mcp__github__get_issue", True),
        ("mcp__a__b__c", True),
        ("mcp__a.b-c__d", True),
        ("mcp__a__", False),
        ("mcp____a", False),
        ("mcp__a", False),
        ("mcp_a__b", False),
        ("MCP__a__b", False),
        ("mcp__a__b(", False),
        ("mcp__a__b c", False),
        ("mcp__a__" + "b" * 300, False),
    ],
)
def test_every_tool_of_an_mcp_server_is_known(registry, name, is_one):
    assert is_mcp_name(name) is is_one
    if is_one:
        tool = registry.tool(name)
        assert (tool.name, tool.level, tool.open, tool.match) == (name, "execute", True, "")
        assert registry.tool(name) is tool
        assert name not in registry


def test_undeclared_tools_do_not_fill_the_memory(registry, context):
    for number in range(3000):
        registry.canonical_call(RawCall(f"mcp__server__tool{number}", {}), context)
    assert len(registry._foreign) <= 1000


def test_a_declared_mcp_tool_has_its_declared_contract():
    from gateway.spec.tools import compile_tools
    from gateway.tools.registry import Registry

    text = """\
version: 1
tools:
  mcp__files__read:
    summary: Read.
    description: Read.
    open: true
    level: read
    input: {properties: {path: {type: string}}, required: [path]}
    match: {field: path, kind: path}
    effects: {read: path}
    handler: {mcp: {server: files, tool: read}}
    examples: [{call: {path: a, other: 1}, effects: [read /home/dev/project/a]}]
"""
    registry = Registry(compile_tools(text, "t.yaml"))
    assert registry.tool("mcp__files__read").level == "read"


def test_judging_a_call_loads_nothing_slow():
    code = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
from gateway.model.call import RawCall
from gateway.model.context import Context
from gateway.tools.effects import effects_of
from gateway.tools.registry import Registry, foreign_entry
from gateway.tools.text import parse_call_text
entry = foreign_entry("Look") | {"kinds": {"path": "path"}, "effects": [{"do": "read", "field": "path"}]}
registry = Registry({"tools": {"Look": entry}, "aliases": {}})
context = Context("/a", "/a", "/h")
for raw in (RawCall("Look", {"path": "x"}), parse_call_text(registry, "mcp__a__b")):
    call = registry.canonical_call(raw, context)
    effects_of(registry.tool(call.tool), call, context)
print(*sorted(m for m in set(sys.modules) - before if not m.startswith("gateway")))
"""
    ran = subprocess.run([sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    found = {name for name in ran.stdout.split() if not name.removeprefix("_").startswith("cython")}
    assert found <= {"__future__", "_collections"}
