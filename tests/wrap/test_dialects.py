"""Each client's dialect: what it says, as the clients were recorded, and exactly what it is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hooking import before, lets_run

from gateway.agents import AGENTS, base, dialect_of, questions
from gateway.agents.base import (
    AFTER,
    ALLOW,
    ASK,
    CONFIG,
    DEFER,
    DENY,
    KINDS,
    NOTHING,
    SILENCE,
    Answer,
    Event,
    Misfit,
    Reply,
)
from gateway.agents.refusal import quote, refusal

if TYPE_CHECKING:
    from gateway.agents.base import Dialect

SAMPLES = Path(__file__).parent / "samples"
ANSWERS = {
    "allow": Answer(ALLOW),
    "ask": Answer(ASK, "why"),
    "deny": Answer(DENY, "why"),
    "defer": Answer(DEFER, "why"),
    "silence": Answer(SILENCE),
}


def dialect(agent: str) -> Dialect:
    found = dialect_of(agent)
    assert found is not None
    return found


def samples(agent: str) -> list[tuple[dict[str, Any], dict[str, str]]]:
    lines = (SAMPLES / f"{agent}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(each["given"], each["environment"]) for each in map(json.loads, lines)]


def shown(reply: Reply) -> str:
    parts = [f"status {reply.status}"]
    parts += [f"{name} {data.decode()!r}" for name, data in (("out", reply.stdout), ("err", reply.stderr)) if data]
    return ", ".join(parts)


def described(agent: str) -> str:
    """Every sample of an agent as it is understood, and the exact answers to each kind of event."""
    spoken = dialect(agent)
    lines: list[str] = []
    seen: set[str] = set()
    for given, environment in samples(agent):
        event = spoken.read(given, environment)
        fields = {name: value for name, value in event.as_dict().items() if value not in ("", (), None, False)}
        lines.append(f"{event.name} {event.tool}".rstrip())
        lines += [f"    {name}: {value!r}" for name, value in fields.items() if name not in ("agent", "name", "tool")]
        if event.name in seen:
            continue
        seen.add(event.name)
        changed = {**event.input, "command": "changed"}
        for name, answer in ANSWERS.items():
            lines.append(f"    {name} -> {shown(spoken.render(event, answer))}")
        lines.append(f"    change -> {shown(spoken.render(event, Answer(ALLOW, '', changed)))}")
        lines.append(f"    failure -> {shown(spoken.refuse(event.name, 'why'))}")
        for what in questions.ABOUT:
            wishes = {wish or "nothing": questions.asking(event, wish, what) for wish in ("", ASK, DENY, DEFER)}
            lines.append(f"    where policy asks, {what} -> {wishes}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("agent", AGENTS)
def test_what_an_agent_says_and_is_answered(agent: str, golden: Any) -> None:
    golden(f"hook-{agent}.txt", described(agent))


@pytest.mark.parametrize("agent", AGENTS)
def test_every_event_of_a_dialect_is_of_a_known_kind(agent: str) -> None:
    assert [kind for kind in dialect(agent).EVENTS.values() if kind not in KINDS] == []
    assert agent == dialect(agent).NAME


@pytest.mark.parametrize("agent", AGENTS)
def test_a_refusal_without_a_reason_still_has_one(agent: str) -> None:
    spoken = dialect(agent)
    event = spoken.read(before(agent, "/home/dev/project"), {})
    for empty in ("", " \n"):
        reply = spoken.render(event, Answer(DENY, empty))
        assert not lets_run(agent, reply.stdout, reply.stderr, reply.status)
        assert b"gateway refused this call" in reply.stdout


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", ["\udc80\ud800", "a" * 100_000, "\0\x1b[31m\x7f", "\U0001f600 é ‮"], ids=ascii)
def test_a_reason_of_any_characters_is_said_whole(agent: str, text: str) -> None:
    spoken = dialect(agent)
    event = spoken.read(before(agent, "/home/dev/project"), {})
    reply = spoken.render(event, Answer(DENY, text))
    assert reply.stdout.isascii()
    assert not lets_run(agent, reply.stdout, reply.stderr, reply.status)
    assert len(reply.stdout) < 60_000


def test_codex_is_told_nothing_that_it_does_not_know() -> None:
    """An unknown key or value counts as a hook that failed, and the call runs."""
    spoken = dialect("codex")
    event = spoken.read(before("codex", "/home/dev/project"), {})
    for decision in (ASK, DENY, DEFER):
        said = json.loads(spoken.render(event, Answer(decision, "why")).stdout)
        assert said == {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why",
            }
        }  # fmt: skip
    assert spoken.render(event, Answer(ALLOW)) == NOTHING
    changed = Answer(ALLOW, "", {"command": "echo", "description": "x"})
    assert json.loads(spoken.render(event, changed).stdout)["hookSpecificOutput"]["updatedInput"] == {"command": "echo"}


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_is_said_to_a_call_that_has_run(agent: str) -> None:
    spoken = dialect(agent)
    for given, environment in samples(agent):
        event = spoken.read(given, environment)
        if event.kind == AFTER:
            assert {spoken.render(event, answer) for answer in ANSWERS.values()} == {NOTHING}
            assert spoken.refuse(event.name, "why") == Reply(b"", b"why\n", 0)


@pytest.mark.parametrize(
    ("mark", "servers", "names"),
    [
        ("gw-echo", (), ("mcp__gw__echo",)),
        ("my-server-get-it", (), ("mcp__my__server-get-it", "mcp__my-server__get-it", "mcp__my-server-get__it")),
        ("my-server-get-it", ("my-server",), ("mcp__my-server__get-it",)),
        ("my-server-get-it", ("my", "my-server"), ("mcp__my__server-get-it", "mcp__my-server__get-it")),
        (
            "my-server-get-it",
            ("other",),
            ("mcp__my__server-get-it", "mcp__my-server__get-it", "mcp__my-server-get__it"),
        ),
        ("view", (), ()),
        ("-x", (), ()),
        ("x-", (), ()),
    ],
)
def test_a_joined_name_is_parted_in_every_way(mark: str, servers: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert base.joined(mark, "-", servers) == names


@pytest.mark.parametrize("text", ["", "a", 'quote " and \\', "\n\t\0", "é€😀", "\ud800"], ids=ascii)
def test_the_refusal_of_last_resort_is_json_and_says_why(text: str) -> None:
    out, err, status = refusal(text)
    why = text if text.strip() else "gateway refused this call"
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}
    assert json.loads(out) == {"hookSpecificOutput": said, "decision": "block", "reason": why}
    assert status == 2
    assert err.strip()
    assert json.loads(quote(text)) == text
    assert {agent: lets_run(agent, out, err, status) for agent in AGENTS} == dict.fromkeys(AGENTS, False)


CHANGED = [
    ("claude", {"cursor_version": "1"}),
    ("claude", {"turn_id": "x"}),
    ("claude", {"tool_input": []}),
    ("claude", {"mcp_server": "gw"}),
    ("claude", {"cwd": None}),
    ("codex", {"turn_id": None}),
    ("codex", {"permission_mode": None}),
    ("gemini", {"mcp_context": {"server_name": "", "tool_name": "x"}}),
    ("gemini", {"tool_use_id": "x"}),
    ("copilot", {"toolArgs": "{}"}),
    ("cursor", {"workspace_roots": "x"}),
    ("cursor", {"conversation_id": None}),
    ("opencode", {"servers": [7]}),
    ("opencode", {"callID": ""}),
]


@pytest.mark.parametrize(("agent", "change"), CHANGED, ids=str)
def test_what_a_client_does_not_say_so_is_no_event_of_it(agent: str, change: dict[str, Any]) -> None:
    given = before(agent, "/home/dev/project")
    assert isinstance(dialect(agent).read(given, {}), Event)
    with pytest.raises(Misfit):
        dialect(agent).read({**given, **change}, {})


def test_a_change_of_settings_is_refused_by_status() -> None:
    spoken = dialect("claude")
    given = {
        "session_id": "s", "transcript_path": "t", "cwd": "/p", "hook_event_name": "ConfigChange",
        "source": "local_settings", "file_path": "/p/.claude/settings.local.json",
    }  # fmt: skip
    event = spoken.read(given, {})
    assert (event.kind, event.path) == (CONFIG, "/p/.claude/settings.local.json")
    assert spoken.render(event, Answer(DENY, "no")) == Reply(b"", b"no\n", 2)
