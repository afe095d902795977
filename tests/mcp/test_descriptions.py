"""What is known of the tools of well-known servers, and how it meets the rules."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gateway.config.shipped import load_server_tools
from gateway.core.errors import ConfigError
from gateway.core.places import SERVERS, places
from gateway.model.call import RawCall

NAMES = sorted(name.removesuffix(".yaml") for name in os.listdir(SERVERS))


@pytest.mark.usefixtures("ground")
@pytest.mark.parametrize("name", NAMES)
def test_a_description_holds_its_own_examples_and_names_its_own_server(name: str) -> None:
    tools = load_server_tools(places(), name)
    assert tools
    for tool, entry in tools.items():
        assert entry["handler"] == {"kind": "mcp", "server": name, "tool": tool}
        assert entry["open"]
        assert entry["effects"]


@pytest.mark.usefixtures("ground")
def test_one_that_nobody_wrote_is_an_error_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="no description says") as error:
        load_server_tools(places(), "nosuch")
    assert all(name in error.value.problems[0].remedy for name in NAMES)


SERVERS_OF = {
    "fs": {"command": ["x"], "is": "filesystem"},
    "hub": {"command": ["x"], "is": "github"},
    "repo": {"command": ["x"], "is": "git"},
    "web": {"url": "https://mcp.example.com/mcp"},
    "page": {"url": "https://mcp.example.com/mcp", "is": "fetch"},
}


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("mcp__fs__read_file", {"path": "a"}, "ALLOW"),
        ("mcp__fs__read_file", {"path": "~/.ssh/id_rsa"}, "DENY"),
        ("mcp__fs__read_multiple_files", {"paths": ["a", ".env"]}, "DENY"),
        ("mcp__fs__read_file", {"path": "a", "unknown": "~/.ssh"}, "ALLOW"),
        ("mcp__fs__write_file", {"path": "a", "content": "x"}, "ASK"),
        ("mcp__fs__move_file", {"source": ".env", "destination": "b"}, "DENY"),
        ("mcp__fs__nosuch", {"path": "a"}, "ASK"),
        ("mcp__fs__nosuch", {"path": "~/.ssh/id_rsa"}, "DENY"),
        ("mcp__repo__git_log", {"repo_path": "."}, "ALLOW"),
        ("mcp__repo__git_commit", {"repo_path": ".", "message": "x"}, "ASK"),
        ("mcp__hub__get_issue", {"owner": "a"}, "DENY"),
        ("mcp__web__anything", {}, "DENY"),
        ("mcp__page__fetch", {"url": "https://example.org/"}, "DENY"),
        ("mcp__other__anything", {}, "ASK"),
    ],
)
def test_rules_and_modes_hold_for_what_they_do(ground, tool: str, given: dict[str, Any], decision: str) -> None:
    hosts = {"id": "hosts", "deny": {"effect": "connect", "host": ["api.github.com", "mcp.example.com"]}}
    ground.says({"rules": [hosts], "settings": {"servers": SERVERS_OF}})
    (ground.project / "a").write_text("x", encoding="utf-8")
    assert ground.open().check(RawCall(tool, given)).decision.name == decision


def test_what_a_layer_declares_of_a_tool_comes_first(ground) -> None:
    declared = """\
version: 1
tools:
  mcp__fs__read_file:
    summary: Nothing.
    description: Nothing.
    input: {properties: {}}
    open: true
    effects: {session: nothing}
    level: read
    handler: {mcp: {server: fs, tool: read_file}}
    examples: [{call: {path: a}, effects: [session nothing]}]
"""
    ground.says(declared, name="tools.yaml")
    ground.says({"settings": {"servers": SERVERS_OF}})
    assert ground.open().check(RawCall("mcp__fs__read_file", {"path": "~/.ssh/id_rsa"})).decision.name == "ALLOW"
