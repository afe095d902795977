"""The descriptions of foreign agents' tools: what loads, what does not, and what an entry comes to."""

from __future__ import annotations

import pytest

from gateway.agents import AGENTS
from gateway.config.compiling import pack_foreign
from gateway.config.shipped import load_foreign, load_server_tools, load_tools
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.model.context import Context
from gateway.spec.foreign import compile_foreign
from gateway.tools.foreign import renamed, undescribed, unseen_place
from gateway.tools.tool import Tool

HEAD = "version: 1\nagent: claude\ntools:\n"
PROJECT = "/nonexistent/project"
EXAMPLE = "    examples: [{call: {}, effects: [session x]}]\n"


@pytest.fixture(scope="module")
def shipped():
    return load_tools(places())


def test_what_ships_loads_with_every_example(shipped) -> None:
    assert pack_foreign(shipped)


def test_every_agent_has_tools() -> None:
    foreign = load_foreign(places())
    for agent in AGENTS:
        assert foreign(agent, "no such tool") is None
    assert foreign("claude", "Bash") is foreign("claude", "Bash")


BROKEN = {
    "an unknown key": ("  X:\n    stand_for: Bash\n" + EXAMPLE, "must not have the key `stand_for`"),
    "a tool of ours that is none": ("  X:\n    stands_for: Bsh\n" + EXAMPLE, "did you mean `Bash`?"),
    "no effects": ("  X:\n" + EXAMPLE, "must say its effects, or what it stands for"),
    "no examples": ("  X:\n    effects: {session: x}\n", "must have `examples`"),
    "an example that fails": (
        "  X:\n    stands_for: Read\n    examples: [{call: {file_path: a}, effects: []}]\n",
        "must have the effects [] (got ['read /home/dev/project/a'])",
    ),
    "an example that says nothing": (
        "  X:\n    effects: {session: x}\n    examples: [{call: {}}]\n",
        "must give either effects or a complaint",
    ),
    "a field of ours that is none": (
        "  X:\n    stands_for: Read\n    fields: {path: file}\n    examples: [{call: {path: a}, effects: []}]\n",
        "field of ours must be a known one",
    ),
    "two names for one field": (
        (
            "  X:\n    stands_for: Read\n    fields: {a: file_path, b: file_path}\n"
            "    examples: [{call: {a: x}, effects: [read /home/dev/project/x]}]\n"
        ),
        "must have one name",
    ),
    "an effect of a field that is not there": (
        "  X:\n    effects: {patch: text}\n    examples: [{call: {}, effects: []}]\n",
        "field of `patch` must be a known one",
    ),
    "a shell that is none": ("  X:\n    effects: {session: x}\n    shell: tcl\n" + EXAMPLE, "shell must be"),
    "an example that complains of something else": (
        "  X:\n    stands_for: Read\n    examples: [{call: {}, complaint: [$.path]}]\n",
        "must complain about ['$.path'] (got ['$.file_path'])",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_told_with_its_place(shipped, name: str) -> None:
    text, message = BROKEN[name]
    with pytest.raises(ConfigError) as raised:
        compile_foreign(HEAD + text, "claude.yaml", shipped)
    assert message in str(raised.value)
    assert all(problem.file == "claude.yaml" and problem.line > 0 for problem in raised.value.problems)


@pytest.mark.parametrize("head", ["version: 2\nagent: claude\n", "version: 1\n", "version: 1\nagent: ''\n"])
def test_the_head_of_a_file_is_held_to_as_well(shipped, head: str) -> None:
    with pytest.raises(ConfigError):
        compile_foreign(f"{head}tools:\n  X:\n    effects: {{session: x}}\n{EXAMPLE}", "claude.yaml", shipped)


def test_a_tool_that_stands_for_ours_is_ours_with_an_open_schema(shipped) -> None:
    text = (
        HEAD + "  Put:\n    stands_for: Write\n    fields: {path: file_path, text: content}\n"
        "    examples: [{call: {path: a, text: x, more: 1}, effects: [write /home/dev/project/a]}]\n"
    )
    (entry,) = compile_foreign(text, "claude.yaml", shipped)
    ours = shipped["Write"].entry
    same = ("name", "level", "match", "effects", "private")
    assert {name: entry[name] for name in same} == {name: ours[name] for name in same}
    assert (entry["open"], entry["filters"], entry["agent"], entry["own"]) == (True, False, "claude", False)
    assert entry["input"]["additionalProperties"] is True


def test_a_field_in_the_way_keeps_its_value_under_another_name(shipped) -> None:
    text = (
        HEAD + "  Put:\n    stands_for: Write\n    fields: {path: file_path}\n"
        "    examples: [{call: {path: a, content: x}, effects: [write /home/dev/project/a]}]\n"
    )
    (entry,) = compile_foreign(text, "claude.yaml", shipped)
    tool = Tool(entry)
    assert renamed(tool, {"file_path": "harmless", "path": "real"}) == {
        "file_path (as sent)": "harmless", "file_path": "real",
    }  # fmt: skip
    assert renamed(tool, {"content": "x"}) == {"content": "x"}


UNSEEN = {
    "another spelling of the path": ("cursor", "Write", {"path": "a", "file_path": "b"}, "file_path"),
    "the same path in both spellings": ("cursor", "Write", {"path": "a", "file_path": f"{PROJECT}/./a"}, ""),
    "an older name of the path": ("gemini", "read_file", {"file_path": "a", "absolute_path": "/b"}, "absolute_path"),
    "a list of paths": ("gemini", "read_many_files", {"include": ["a"], "paths": ["b"]}, "paths"),
    "a path within the edits": ("claude", "MultiEdit", {"file_path": "a", "edits": [{"filePath": "b"}]}, "filePath"),
    "its own path within the edits": ("opencode", "multiedit", {"filePath": "a", "edits": [{"filePath": "a"}]}, ""),
    "edits without a path": ("claude", "MultiEdit", {"file_path": "a", "edits": [{"old_string": "/b"}]}, ""),
    "a folder for one that is left out": ("claude", "LS", {"directory": "/etc"}, "directory"),
    "the folder that holds if none is named": ("claude", "LS", {"directory": "."}, ""),
    "an older name of the working folder": (
        "gemini", "run_shell_command", {"command": "ls", "directory": "/b"}, "directory"
    ),
    "the working folder itself": ("gemini", "run_shell_command", {"command": "ls", "directory": PROJECT}, ""),
    "the declared working folder": ("gemini", "run_shell_command", {"command": "ls", "dir_path": PROJECT}, ""),
    "a file that a finding names": ("claude", "ReportFindings", {"findings": [{"file": "/b"}]}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("agent", "name", "given", "expected"), UNSEEN.values(), ids=UNSEEN)
def test_a_second_place_that_a_call_may_work_at_is_seen(agent: str, name: str, given: dict, expected: str) -> None:
    tool = load_foreign(places())(agent, name)
    context = Context(PROJECT, PROJECT, "/nonexistent")
    assert unseen_place(tool, renamed(tool, given), context) == expected


def test_a_servers_own_fields_are_not_an_agents_spellings(shipped) -> None:
    servers = shipped.with_servers({"git": ("", load_server_tools(places(), "git"))})
    given = {"repo_path": "/nonexistent/other", "files": ["a"]}
    tool = load_foreign(places()).of_server(servers, "mcp__git__git_add", given)
    assert unseen_place(tool, given, Context(PROJECT, PROJECT, "/nonexistent")) == ""


def test_of_what_nobody_described_every_place_is_seen_anyway() -> None:
    given = {"path": "a", "file_path": "b"}
    assert unseen_place(undescribed("claude:X", given), given, Context(PROJECT, PROJECT, "/nonexistent")) == ""


def test_of_a_tool_that_nobody_described_the_command_is_read() -> None:
    tool = undescribed("claude:X", {"Bash_Command": "rm x", "other": 1})
    assert (tool.match, tool.match_kind) == ("Bash_Command", "shell")
    assert undescribed("claude:X", {"command": ["rm", "x"]}).match == ""
    assert undescribed("claude:X", {"command": "a", "cmd": "b"}).match == ""
    assert [effect["do"] for effect in undescribed("claude:X", {}).entry["effects"]] == ["opaque", "guess"]
