"""What becomes of policy's question, for every client, mode and kind of call; `test_questions_real_clients.py` holds
the same table against the clients themselves."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hooking import SHELLS, before, lets_run

from gateway.agents import AGENTS, dialect_of, questions
from gateway.agents.base import ASK, BEFORE, DEFER, DENY, PERMISSION, SILENCE, WISHES, Answer, Event
from gateway.agents.questions import ABOUT, GUARDED, ORDINARY, PUT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "/home/dev/project"
WISHED = ("", *WISHES)
UNKNOWN = ("", "tomorrow", "BYPASSPERMISSIONS", "default ", "manual", "*")
MODES = {
    "claude": ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"),
    "codex": ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"),
}
ATTENDED = (None, False, True)


def event(agent: str, mode: str = "", attended: bool | None = None, **more: Any) -> Event:
    given = {"kind": BEFORE, "cwd": ROOT, "tool": SHELLS[agent], "input": {"command": "touch made"}} | more
    return Event(agent, "x", own_mode=mode, attended=attended, **given)


def cells() -> Iterator[tuple[str, str, str, bool | None, str]]:
    for agent in AGENTS:
        yield from product((agent,), (*MODES.get(agent, ()), *UNKNOWN), ABOUT, ATTENDED, WISHED)


# All that is ever asked, each with the wishes under which it is: everything else is a refusal, or put off.
QUESTIONS = {
    **{("claude", mode, what): ("", ASK, DEFER) for mode in ("default", "acceptEdits") for what in ABOUT},
    **{("claude", mode, ORDINARY): ("", ASK, DEFER) for mode in ("plan", "auto", "dontAsk", "bypassPermissions")},
    **{("gemini", mode, ORDINARY): (ASK,) for mode in UNKNOWN},
    **{("copilot", mode, what): ("", ASK, DEFER) for mode in UNKNOWN for what in ABOUT},
}


def test_every_cell_of_the_table_says_exactly_what_the_client_is_known_to_do() -> None:
    for agent, mode, what, attended, wish in cells():
        wishes = QUESTIONS.get((agent, mode, what), ())
        expected = (
            ASK
            if wish in wishes or (wish == DENY and attended is True and ASK in wishes and wishes != (ASK,))
            else DENY
        )
        if agent == "claude" and wish == DEFER and attended is False:
            expected = DEFER
        found = questions.asking(event(agent, mode, attended), wish, what)
        assert found == expected, (agent, mode, what, attended, wish)


def test_the_table_is_of_the_clients_and_modes_that_are_tried() -> None:
    assert tuple(PUT) == AGENTS
    assert {agent: tuple(modes) for agent, modes in PUT.items() if agent == "claude"} == {"claude": MODES["claude"]}
    assert {what for modes in PUT.values() for put in modes.values() for what in put} <= set(ABOUT)


def test_a_mode_that_nobody_knows_is_never_asked_in() -> None:
    for mode, what, attended, wish in product(UNKNOWN, ABOUT, ATTENDED, WISHED):
        assert questions.asking(event("claude", mode, attended), wish, what) in (DENY, DEFER)


def test_a_question_of_the_client_itself_is_left_to_it() -> None:
    for agent, mode, what, attended, wish in cells():
        assert questions.asking(event(agent, mode, attended, kind=PERMISSION), wish, what) == SILENCE


def test_what_is_answered_lets_nothing_run() -> None:
    """In the form of each client: a refusal, or a question that it was seen to put."""
    for agent, mode, what, attended, wish in cells():
        spoken = dialect_of(agent)
        assert spoken is not None
        found = spoken.read(before(agent, ROOT), {}).replace(own_mode=mode, attended=attended)
        word = questions.asking(found, wish, what)
        if agent == "gemini" and word == ASK:
            continue  # it runs in the model of the worst that a client may do
        reply = spoken.render(found, Answer(word, "why"))
        assert not lets_run(agent, reply.stdout, reply.stderr, reply.status), (agent, mode, what, wish)


def test_a_refusal_says_why_and_what_the_person_can_do() -> None:
    for agent, mode, what, attended, wish in cells():
        asked = event(agent, mode, attended)
        if questions.asking(asked, wish, what) != DENY:
            continue
        reason = questions.refusal_instead(asked, wish, what)
        assert reason.startswith("Nobody can be asked about it here, so it does not run")
        assert wish == DENY or "The person can" in reason or "`--unattended ask`" in reason, reason


def test_a_refusal_names_the_mode_and_those_that_ask() -> None:
    reason = questions.refusal_instead(event("claude", "bypassPermissions"), "", GUARDED)
    assert reason == (
        "Nobody can be asked about it here, so it does not run: in its mode `bypassPermissions` Claude Code may run it "
        "without asking. It asks in `default`, `acceptEdits`. The person can let a rule of the policy allow it, or do "
        "it without the agent."
    )


def test_modes_are_named_whose_questions_become_refusals() -> None:
    found = {(agent, mode): questions.refused_in(agent, mode) for agent in AGENTS for mode in ("default", "plan", "x")}
    assert found == {
        ("claude", "default"): (),
        ("claude", "plan"): (GUARDED,),
        ("claude", "x"): ABOUT,
        **{(agent, mode): ABOUT for agent in ("codex", "cursor", "opencode") for mode in ("default", "plan", "x")},
        **{("gemini", mode): (GUARDED,) for mode in ("default", "plan", "x")},
        **{("copilot", mode): () for mode in ("default", "plan", "x")},
    }


PLAIN = [
    "touch made", "git push origin main", "npm install left-pad@1.2.3", "echo 'it is done' > sub/made",
    "mkdir -p sub && cp a.txt sub/b.txt 2>&1 | tail -n 3", "make 2>/dev/null", f"touch {ROOT}/made",
    "curl https://example.com/x", "python3 ./tools/x.py --level=3",
]  # fmt: skip
HIDDEN = [
    ".git/hooks/pre-commit", f"{ROOT}/.git/config", "sub/../.git/x", "../x", ".vscode/tasks.json", ".claude/x",
    ".mcp.json",
    ".GIT/hooks/x", "/home/dev/.bashrc", "/home/dev/x", "/etc/claude-code/x", "~/.bashrc", "~", "sub/.git", "x.",
    "PROGRA~1", "a.con", "a\\.git", "//host/share", "\u2024git/x", "", "x\0y",
]  # fmt: skip
COMMANDS = [
    *[f"touch {path}" for path in HIDDEN if path],
    *[f"echo x > {path}" for path in HIDDEN if path],
    "touch ''.git/x", 'touch "."git/x', "touch .g''it/x", "touch .g\\it/x", "touch $X", "touch `x`",
    "touch $'\\x2egit/x'",
    "touch {.git,x}/y", "touch ?git/x", "touch [.]git/x", "touch *", "sleep 1 & touch made", "sort -o.git/x",
    "git -C.git x",
    "git --git-dir=.git x", "X=.git; touch made", "cd .git && touch x", "tee sub/x>.git/x", "tee<a>.git/x",
    "touch made # .git", "(touch made)", "touch made\t", "touch made\r", "dd of=.git/x", "rsync a h:.git/x",
]  # fmt: skip


@pytest.mark.parametrize("command", PLAIN)
def test_a_plain_command_is_ordinary(command: str) -> None:
    given = {"command": command, "description": "~ .git $X", "timeout": 7}
    assert questions.about(event("claude", input=given), ROOT, ()) == ORDINARY


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_could_name_what_is_guarded_is_not_ordinary(command: str) -> None:
    assert questions.about(event("claude", input={"command": command}), ROOT, ()) == GUARDED


@pytest.mark.parametrize("path", HIDDEN)
@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_a_path_that_could_be_guarded_is_not_ordinary(tool: str, path: str) -> None:
    assert questions.about(event("claude", tool=tool, input={"file_path": path}), ROOT, ()) == GUARDED
    assert questions.about(event("claude", tool=tool, input={"file_path": "sub/x.py"}), ROOT, ()) == ORDINARY


@pytest.mark.parametrize(
    "change",
    [
        {"cwd": f"{ROOT}/.git"}, {"cwd": "/home/dev"}, {"cwd": ""}, {"tool": "PowerShell"}, {"tool": "WebFetch"},
        {"tool": "Tomorrow"},
        {"input": {"command": "ls", "dangerouslyDisableSandbox": True}}, {"input": {"command": 7}},
        {"tool": "Write", "input": {"file_path": "x", "tomorrow": 1}}, {"tool": "Write", "input": {"file_path": None}},
    ],
    ids=str,
)  # fmt: skip
def test_what_was_never_seen_is_not_ordinary(change: dict[str, Any]) -> None:
    assert questions.about(event("claude", **change), ROOT, ()) == GUARDED


@pytest.mark.parametrize("leads", [f"{ROOT}/.git/hooks", f"{ROOT}/\0/x", "/home/dev/.bashrc", "/home/dev/x", "\0"])
def test_a_path_that_leads_elsewhere_is_ordinary_only_within_the_project(leads: str) -> None:
    assert questions.about(event("claude"), ROOT, (leads,)) == GUARDED
    assert questions.about(event("claude"), ROOT, (f"{ROOT}/sub/x",)) == ORDINARY


def test_without_a_project_or_in_a_hidden_one_nothing_is_ordinary() -> None:
    for root in ("", "/home/dev/.claude/worktrees/x"):
        asked = event("claude", cwd=root or "/home/dev", input={"command": "touch made"})
        assert questions.about(asked, root, ()) == GUARDED


def test_tools_of_servers_are_ordinary_where_the_client_asks_about_them() -> None:
    tools = {agent: questions.about(event(agent, tool="mcp__gw__x", input={"x": ".git"}), ROOT, ()) for agent in AGENTS}
    assert tools == {**dict.fromkeys(AGENTS, GUARDED), "claude": ORDINARY}
