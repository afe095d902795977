"""Which servers are asked: none that policy refuses, through whatever tool and whether it is named or not."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.model.call import RawCall

TOOLS = """\
version: 1
tools:
  Drop:
    summary: Drop.
    description: Drops.
    input: {properties: {word: {type: string}}, required: [word]}
    handler: {mcp: {server: docs, tool: drop}}
    examples: [{call: {}, complaint: [$.word]}]
"""
SERVERS = {"docs": {"command": ["docs-server"]}, "wiki": {"command": ["wiki-server"]}}
DENY = {"id": "no-docs", "deny": {"server": "docs"}}
ASK = {"id": "ask-docs", "ask": {"server": "docs"}}


class Servers:
    """Answers for every server, and keeps whom it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @contextmanager
    def lent(self, name: str, *_any: Any) -> Any:
        self.asked.append(name)
        resource = {"uri": "x://a", "name": "a", "description": "the first"}
        content = [{"type": "text", "text": "content"}]
        found = {"contents": content, "content": content}
        yield SimpleNamespace(
            ask=lambda *_any: found, all_of=lambda *_any: [resource], hidden=lambda told: told,
            line=lambda said: said or "", is_prompt=lambda _tool: False, why_not=lambda *_any: "",
        )  # fmt: skip

    def close(self) -> None:
        """Holds nothing."""


@pytest.fixture
def opened(ground) -> Any:
    """Opens a gateway under these rules, whose servers only answer."""
    ground.says(TOOLS, name="tools.yaml")

    def open_(*rules: dict[str, Any]) -> tuple[Any, Servers]:
        allow = {"id": "tools", "allow": {"tool": ["Drop", "ReadMcpResource", "mcp__docs__*"]}}
        ground.says({"settings": {"servers": SERVERS}, "rules": [allow, *rules]})
        gateway, servers = ground.open(), Servers()
        gateway.calls.services._servers = servers
        return gateway, servers

    return open_


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("Drop", {"word": "x"}),
        ("ReadMcpResource", {"server": "docs", "uri": "x://a"}),
        ("ListMcpResources", {"server": "docs"}),
        ("mcp__docs__drop", {}),
    ],
)
@pytest.mark.parametrize("rule", [DENY, ASK], ids=["denied", "asked about with nobody there"])
def test_a_rule_on_a_server_holds_for_every_tool_that_reaches_it(
    opened, tool: str, fields: dict[str, Any], rule: dict[str, Any]
) -> None:
    gateway, servers = opened(rule)
    done = gateway.call(RawCall(tool, fields))
    assert (done.ran, done.verdict.reason.rule.id, servers.asked) == (False, rule["id"], [])
    gateway, servers = opened()
    assert gateway.call(RawCall(tool, fields)).ran
    assert servers.asked == ["docs"]


@pytest.mark.parametrize(
    ("rules", "asked", "line"),
    [
        ([], ["docs", "wiki"], "docs x://a: the first"),
        ([DENY], ["wiki"], "docs: It is not asked, by rule `no-docs`."),
        ([ASK], ["wiki"], "docs: It is not asked, by rule `ask-docs`."),
    ],
    ids=["free", "denied", "asked about"],
)
def test_a_list_of_all_resources_leaves_out_what_policy_refuses(
    opened, rules: list[Any], asked: list[str], line: str
) -> None:
    gateway, servers = opened(*rules)
    done = gateway.call(RawCall("ListMcpResources", {}))
    assert (done.text.split("\n"), servers.asked) == ([line, "wiki x://a: the first"], asked)


def test_a_rule_may_allow_a_server_however_it_is_reached(opened) -> None:
    call = RawCall("ListMcpResources", {"server": "docs"})
    gateway, _servers = opened({"id": "yes", "allow": {"server": "docs", "tool": "ListMcpResources"}})
    assert gateway.check(call).call.server == "docs"
    assert gateway.check(RawCall("Drop", {"word": "x"})).call.server == "docs"
