"""The `hooks:` section and the `servers:` setting: what is read, and each mistake with its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gateway.core.errors import ConfigError
from gateway.spec.policy import parse_policy


def hooks(text: str) -> list[dict[str, Any]]:
    return parse_policy(f"version: 1\nhooks:\n- {text}\n", "p.yaml", {})["hooks"]


READ = {
    "{id: a, event: before_call, command: [./x, -v]}": {
        "line": 3, "tools": [], "seconds": 5, "id": "a", "event": ["before_call"], "command": ["./x", "-v"],
        "guards": True,
    },
    "{id: a, event: [after_call, after_failure], tools: 'mcp__*', command: x, seconds: 60}": {
        "line": 3, "tools": ["mcp__*"], "seconds": 60, "id": "a", "event": ["after_call", "after_failure"],
        "command": ["x"], "guards": False,
    },
    "{id: a, event: before_call, python: 'house.rules:look', guards: false}": {
        "line": 3, "tools": [], "seconds": 5, "id": "a", "event": ["before_call"], "python": "house.rules:look",
        "guards": False,
    },
    "{id: a, event: before_call, http: {url: 'https://h.example/x', headers: {A: 'Bearer {env:T}'}}}": {
        "line": 3, "tools": [], "seconds": 5, "id": "a", "event": ["before_call"], "guards": True,
        "http": {"url": "https://h.example/x", "headers": {"A": [{"text": "Bearer "}, {"env": "T"}]}},
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ.items())
def test_a_hook_is_read(schema: Any, text: str, expected: dict[str, Any]) -> None:
    assert hooks(text) == [expected]
    schema.validate(yaml.safe_load(f"version: 1\nhooks:\n- {text}\n"))


REFUSED = {
    "{event: before_call, command: x}": "hook must have the key `id`",
    "{id: a, command: x}": "hook must have the key `event`",
    "{id: a, event: before_call}": "exactly one of command, http, python (got 0 of them)",
    "{id: a, event: before_call, command: x, python: 'a:b'}": "exactly one of command, http, python (got 2 of them)",
    "{id: a, event: before, command: x}": "`event` must be",
    "{id: A b, event: before_call, command: x}": "`id` must be",
    "{id: a, event: before_call, command: []}": "`command` must not be empty",
    "{id: a, event: before_call, command: x, seconds: 0}": "`seconds` must be an integer from 1 to 60",
    "{id: a, event: before_call, command: x, seconds: 61}": "`seconds` must be an integer from 1 to 60",
    "{id: a, event: after_call, command: x, guards: true}": "`guards` must be left out",
    "{id: a, event: before_call, python: os.system}": "`python` must be a function as `module:name`",
    "{id: a, event: before_call, http: {headers: {}}}": "`http` must have the key `url`",
    "{id: a, event: before_call, http: {url: 'file:///x'}}": "`url` must be a whole http or https address",
    "{id: a, event: before_call, http: {url: 'https://u@h/'}}": "`url` must be a whole http or https address",
    "{id: a, event: before_call, http: {url: 'https://h/', headers: {A: '{T}'}}}": "no other places than `{env:NAME}`",
    "{id: a, event: before_call, command: x, when: now}": "hook must not have the key `when`",
    "x": "hook must be a mapping",
}


@pytest.mark.parametrize(("text", "complaint"), REFUSED.items())
def test_a_mistake_in_a_hook_is_an_error_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        hooks(text)
    assert complaint in str(caught.value)
    assert {problem.line for problem in caught.value.problems} == {3}


def test_two_hooks_of_one_name_are_an_error() -> None:
    with pytest.raises(ConfigError, match="unique among hooks"):
        hooks("{id: a, event: before_call, command: x}\n- {id: a, event: after_call, command: y}")


def servers(text: str) -> dict[str, Any]:
    return parse_policy(f"version: 1\nsettings:\n  servers: {text}\n", "p.yaml", {})["settings"]["servers"]


def test_servers_are_read(schema: Any) -> None:
    text = (
        "{docs: {command: [docs-server, --stdio], env: {A: x, TOKEN: 'env:DOCS_TOKEN'}, seconds: 9}, b_c: {command: b}}"
    )
    usual = {"env": {}, "url": "", "headers": {}, "is": "", "seconds": 60, "always_load": []}
    docs = {"command": ["docs-server", "--stdio"], "env": {"A": "x", "TOKEN": "env:DOCS_TOKEN"}, "seconds": 9}
    assert servers(text) == {"docs": {**usual, **docs}, "b_c": {**usual, "command": ["b"]}}
    schema.validate(yaml.safe_load(f"version: 1\nsettings:\n  servers: {text}\n"))


def test_servers_elsewhere_are_read(schema: Any) -> None:
    text = "{w: {url: 'HTTPS://Example.com/a/../mcp', headers: {X-Key: 'k {env:TOKEN}!'}, is: github}}"
    assert servers(text)["w"] == {
        "command": [], "env": {}, "url": "https://example.com/mcp", "seconds": 60, "is": "github", "always_load": [],
        "headers": {"X-Key": [{"text": "k "}, {"env": "TOKEN"}, {"text": "!"}]},
    }  # fmt: skip
    schema.validate(yaml.safe_load(f"version: 1\nsettings:\n  servers: {text}\n"))


def test_what_mcp_may_do_is_read(schema: Any) -> None:
    text = "{elicited: all, servers_may: elicitation, hide_secrets: false, result_characters: 5000, pins: false}"
    found = parse_policy(f"version: 1\nsettings:\n  mcp: {text}\n", "p.yaml", {})["settings"]["mcp"]
    assert found == {
        "elicited": "all", "servers_may": ["elicitation"], "hide_secrets": False, "result_characters": 5000,
        "pins": False,
    }  # fmt: skip
    schema.validate(yaml.safe_load(f"version: 1\nsettings:\n  mcp: {text}\n"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{a: {}}", "must have the key `command`"),
        ("{a__b: {command: x}}", "a server's name must be"),
        ("{a: {command: x, url: 'https://y/'}}", "must have the key `command` or the key `url`"),
        ("{a: {url: 'ftp://y/'}}", "`url` must be"),
        ("{a: {url: 'https://u:p@y/'}}", "must not carry a user name"),
        ("{a: {url: 'https://y/', env: {A: b}}}", "`env` must not stand beside `url`"),
        ("{a: {command: x, headers: {A: b}}}", "`headers` must not stand beside `command`"),
        ("{a: {url: 'https://y/', headers: {Host: b}}}", "must not hold `Host`"),
        ("{a: {url: 'https://y/', headers: {X: 'a {env:B'}}}", "no other places"),
        ("{a: {command: x, is: '../x'}}", "must be the name of a description"),
        ("{a: {command: x, env: {HOME: y}}}", "must not hold `HOME`"),
        ("{a: {command: x, seconds: 0}}", "must be an integer from 1 to 3600"),
    ],
)
def test_a_mistake_in_a_server_is_an_error(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        servers(text)
