"""What is put into the settings of each agent, whole, and where."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from gateway.agents import AGENTS, dialect_of
from gateway.install.agents import agent_named
from gateway.install.base import LEVELS, MANAGED, PROJECT, USER, Site
from gateway.install.exported_files import native
from gateway.install.exported_rules import Prefix, Second, second_net
from gateway.install.hook_lines import held
from gateway.install.opencode import content, line_of
from gateway.install.pieces import TEXT, Made, put

GOLDEN = Path(__file__).parents[1] / "golden" / "install"
LINE = ["/usr/bin/python3", "-I", "-S", "/opt/gateway/frontends/service/client.py", "hook"]
SERVER = ["/usr/bin/python3", "-I", "-m", "gateway", "mcp", "serve"]


def site(level: str, **environment: str) -> Site:
    return Site(level, "/home/dev", "/home/dev/project", environment)


def line_for(agent: str) -> Any:
    def line(event: str) -> list[str]:
        return held(agent, event, [*LINE, agent, "--event", event, "--in-shell"]) if event else [*LINE, agent]

    return line


def written(targets: Any) -> str:
    """The files that would be made, one after the other."""
    found = []
    for each in targets:
        text = each.content if each.form == TEXT else put(each, "", Made())[0]
        found.append(f"### {each.path}\n{text}")
    return "".join(found)


EVERY = [(name, level) for name in AGENTS for level in LEVELS if level in agent_named(name).LEVELS]  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "level"), EVERY, ids=[f"{name}-{level}" for name, level in EVERY])
def test_what_is_put_in(name: str, level: str, golden) -> None:
    agent = agent_named(name)
    assert agent is not None
    here = site(level)
    golden(f"install/{name}-{level}.txt", written([*agent.hooks(here, line_for(name)), agent.server(here, SERVER)]))


@pytest.mark.parametrize("name", AGENTS)
def test_every_event_that_can_refuse_a_call_is_taken(name: str) -> None:
    agent, dialect = agent_named(name), dialect_of(name)
    assert agent is not None
    assert dialect is not None
    text = written(agent.hooks(site(USER), line_for(name)))
    before = {event for event, kind in dialect.EVENTS.items() if kind in ("before", "permission", "config")}
    missing = {event for event in before if f'"{event}"' not in text}
    # Copilot's events have two spellings, of which one is used.
    assert missing == ({"PreToolUse", "PermissionRequest"} if name == "copilot" else set())


@pytest.mark.parametrize(
    ("name", "variable", "value", "path"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "/cfg", "/cfg/settings.json"),
        ("codex", "CODEX_HOME", "/cfg", "/cfg/hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", "/cfg", "/cfg/settings.json"),
        ("copilot", "COPILOT_HOME", "/cfg", "/cfg/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "/cfg", "/cfg/opencode/plugin/gateway.js"),
        ("opencode", "OPENCODE_CONFIG_DIR", "/cfg", "/cfg/plugin/gateway.js"),
        ("claude", "CLAUDE_CONFIG_DIR", "cfg", "/home/dev/cfg/settings.json"),
    ],
)
def test_settings_that_a_variable_moves_are_found_there(name: str, variable: str, value: str, path: str) -> None:
    agent = agent_named(name)
    assert agent is not None
    assert agent.hooks(site(USER, **{variable: value}), line_for(name))[0].path == path


@pytest.mark.parametrize("words", [["/a b/python", "it's", '"$x"', "\n", "ü\\"], ["x"]])
def test_the_plugins_command_line_is_read_back(words: list[str]) -> None:
    assert line_of(content(words)) == tuple(words)


@pytest.mark.parametrize("text", ["", "const LINE = ", "const LINE = {}", "other"])
def test_what_is_no_plugin_of_ours_has_no_command_line(text: str) -> None:
    assert line_of(text) == ()


# ---------------------------------------------------------------------------------------------------- the second net


def rule(name: str, when: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": name, "lane": "deny", "when": when, "except": [], "because": f"why {name}", **more}


RULES = [
    rule("privilege", {"exec": [["sudo", "doas"]]}),
    rule("reboot", {"any": [{"exec": [["systemctl"], ["reboot", "halt"]]}, {"command": ["apt purge *"]}]}),
    rule("secrets", {"effect": ["read", "write", "delete"], "path": ["**/.env*", "~/.ssh", "//etc/shadow*", "./x"]},
         **{"except": [{"path": ["**/.env.example"]}]}),
    rule("wiring", {"effect": ["write", "delete"], "path": ["**/.claude/settings.json"]}),
    rule("hosts", {"effect": ["connect"], "host": ["evil.example", "metadata"]}),
    rule("tools", {"tool": ["mcp__github__delete_repo", "mcp__db__*", "Agent"]}),
    rule("pushes", {"effect": ["push"], "force": True}),
    rule("with-option", {"exec": [["rm"]], "option": ["-r"]}),
    rule("with-exception", {"exec": [["mount"]]}, **{"except": [{"command": ["mount -l"]}]}),
    rule("patterns", {"exec": [["chmod"], ["*777"]]}),
    rule("whole-trees", {"effect": ["delete"], "path": ["//*"]}),
    {**rule("question", {"exec": [["curl"]]}), "lane": "ask"},
]  # fmt: skip


def test_what_can_be_said_exactly_enough_is_said_and_the_rest_is_named() -> None:
    net = second_net(RULES)
    assert [each.words for each in net.prefixes] == [
        ("sudo",), ("doas",), ("systemctl", "reboot"), ("systemctl", "halt"), ("apt", "purge"),
    ]  # fmt: skip
    assert net.reads == ("**/.env", "~/.ssh", "//etc/shadow*")
    assert net.writes == ("**/.env", "~/.ssh", "//etc/shadow*", "**/.claude/settings.json")
    assert (net.hosts, net.tools) == (("evil.example",), (("github", "delete_repo"), ("db", "*")))
    assert dict(net.left) == {
        "secrets": "has paths that need their exceptions",
        "hosts": "names kinds of addresses",
        "tools": "names tools that agents call otherwise",
        "pushes": "tests effect, force",
        "with-option": "tests option",
        "with-exception": "has exceptions",
        "patterns": "has patterns in its words",
        "whole-trees": "is about deleting alone",
    }


@pytest.mark.parametrize(("name", "level"), EVERY, ids=[f"{name}-{level}" for name, level in EVERY])
def test_the_second_net_in_the_words_of_each_agent(name: str, level: str, golden) -> None:
    agent = agent_named(name)
    assert agent is not None
    targets, left = native(agent, site(level), second_net(RULES))
    golden(f"install/native-{name}-{level}.txt", written(targets) + "".join(f"left: {each}\n" for each in left))


def test_words_of_a_rule_break_no_file_and_no_line_of_a_shell() -> None:
    words = ("x'; touch pwned #", 'y"\\', "\x7f\U0001f600\u2028")
    net = Second((Prefix(words, "r", 'why "\x7f\U0001f600'),), tools=(("a'b", "*"), ("c", "d'e")))
    gemini = native(agent_named("gemini"), site(USER), net)[0][0].content  # type: ignore[arg-type]
    rules = tomlkit.parse(gemini).unwrap()["rule"]
    assert [each.get("commandPrefix", each.get("mcpName")) for each in rules] == [" ".join(words), "a'b", "c"]
    codex = native(agent_named("codex"), site(USER), net)[0][0].content  # type: ignore[arg-type]
    assert "\\ud8" not in codex
    _targets, left = native(agent_named("copilot"), site(USER), net)  # type: ignore[arg-type]
    (line,) = [each.partition(": copilot ")[2] for each in left if ": copilot " in each]
    assert shlex.split(line) == [
        f"--deny-tool=shell({' '.join(words)}:*)", "--deny-tool=a'b", "--deny-tool=c(d'e)",
    ]  # fmt: skip


def test_nothing_of_a_policy_gives_nothing() -> None:
    for name, level in EVERY:
        agent = agent_named(name)
        assert agent is not None
        targets, _left = native(agent, site(level), second_net([]))
        assert [each.pieces for each in targets if each.form != TEXT] in ([], [()]), name


def test_the_levels_of_an_agent_are_known() -> None:
    assert {name: agent_named(name).LEVELS for name in AGENTS} == {  # type: ignore[union-attr]
        "claude": (USER, PROJECT, MANAGED), "codex": (USER, PROJECT, MANAGED), "gemini": (USER, PROJECT, MANAGED),
        "copilot": (USER, PROJECT), "cursor": (USER, PROJECT, MANAGED), "opencode": (USER, PROJECT, MANAGED),
    }  # fmt: skip
    assert agent_named("nobody") is None
