"""What a prompt pulls in before any tool is called: files, and commands of slash commands and skills."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hooking import SESSION, World

from gateway.agents.prompts import mentions, pulled_in, shell_texts, started

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

POLICY = "rules:\n  - deny: Bash(touch made)\n    because: it is only a test\n  - allow: Bash(git status)\n"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("nothing", ()),
        ("see @a.txt", ("a.txt",)),
        ("see @a.txt.", ("a.txt.", "a.txt")),
        ("(@src/x.py#L10-20)", ("src/x.py#L10-20)", "src/x.py")),
        ('@"my file.txt" and @~/.ssh/id_rsa', ("my file.txt", "~/.ssh/id_rsa")),
        ("a\n@.env\n@/etc/shadow", (".env", "/etc/shadow")),
        ("@my\\ file.txt", ("my\\ file.txt", "my file.txt")),
    ],
)
def test_the_files_that_a_text_names(text: str, paths: tuple[str, ...]) -> None:
    assert mentions(text) == paths


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at /usr/bin", ()),
        ("/x", (("x", ""),)),
        ("/x a b\nmore", (("x", "a b"),)),
        ("  /team:x a", (("team:x", "a"),)),
        ("please /x", (("x", ""),)),
        ("a/b and http://x/y", ()),
    ],
)
def test_the_slash_commands_that_a_prompt_starts(text: str, names: tuple[tuple[str, str], ...]) -> None:
    assert started(text) == names


@pytest.mark.parametrize(
    ("text", "arguments", "commands"),
    [
        ("no command: `ls`", "", ()),
        ("a !`git status` b !`ls`", "", ("git status", "ls")),
        ("!`echo $ARGUMENTS`", "a; rm x", ("echo $ARGUMENTS", "echo a; rm x")),
        ("!`echo $1 $ARGUMENTS[0]`", "a b", ("echo $1 $ARGUMENTS[0]", "echo b a")),
        ("```!\nls\npwd\n```", "", ("ls\npwd",)),
    ],
)
def test_the_commands_in_a_text(text: str, arguments: str, commands: tuple[str, ...]) -> None:
    assert shell_texts(text, arguments) == commands


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path, POLICY)
    (found.project / ".env").write_text("KEY=hunter2\n")
    (found.project / "a.txt").write_text("a\n")
    return found


def prompted(world: World, prompt: str) -> tuple[str, str]:
    """What becomes of a prompt, and why."""
    said = {
        "session_id": SESSION, "transcript_path": "/dev/null", "cwd": str(world.project), "prompt_id": SESSION,
        "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": prompt,
    }  # fmt: skip
    out, err, status = world.run("claude", said)
    assert (err, status) == (b"", 0)
    answer = json.loads(out) if out else {"decision": "silence", "reason": ""}
    return answer["decision"], answer["reason"]


def command(world: World, place: str, text: str) -> None:
    path = world.home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("prompt", ["do it", "see @a.txt", "see @sub/", "write to me@example.com", "/x", "", "1/2"])
def test_a_prompt_that_pulls_in_nothing_denied_is_left_alone(world: World, prompt: str) -> None:
    command(world, "project/.claude/commands/x.md", "!`git status` and @a.txt\n")
    assert prompted(world, prompt) == ("silence", "")


@pytest.mark.parametrize("prompt", ["see @.env", "see @./.env.", 'see @".env"', "@~/.ssh/id_rsa", "@sub/../.env#L1"])
def test_a_prompt_that_names_a_secret_file_is_blocked(world: World, prompt: str) -> None:
    decision, why = prompted(world, prompt)
    assert decision == "block"
    assert "secret" in why


PLACES: dict[str, Callable[[str], tuple[str, str]]] = {
    "a command of the project": lambda text: ("project/.claude/commands/x.md", text),
    "a command in a folder": lambda text: ("project/.claude/commands/team/x.md", text),
    "a skill of the project": lambda text: ("project/.claude/skills/x/SKILL.md", text),
    "a skill by another name": lambda text: ("project/.claude/skills/y/SKILL.md", f"---\nname: x\n---\n{text}"),
    "a command of the person": lambda text: (".claude/commands/x.md", text),
    "a skill of the person": lambda text: (".claude/skills/x/SKILL.md", text),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("!`touch made`", "it is only a test"), ("```!\ntouch made\n```", "it is only a test"),
        ("!`git status` !`touch made`", "it is only a test"), ("!`touch $1`", "touch"),
    ],
)  # fmt: skip
def test_a_slash_command_that_runs_what_is_denied_is_blocked(world: World, place: str, text: str, reason: str) -> None:
    command(world, *PLACES[place](f"---\nallowed-tools: Bash(touch *)\n---\nR: {text}\n"))
    decision, why = prompted(world, "/x - made")
    assert decision == "block"
    assert reason in why


def test_what_policy_asks_about_is_blocked_in_a_projects_command_and_left_to_the_person_in_their_own(
    world: World,
) -> None:
    command(world, "project/.claude/commands/x.md", "!`curl https://example.com/`\n")
    command(world, ".claude/commands/y.md", "!`curl https://example.com/`\n")
    assert [prompted(world, each)[0] for each in ("/x", "/y")] == ["block", "silence"]


def test_a_plugins_command_is_looked_for(world: World) -> None:
    command(world, ".claude/plugins/cache/p/commands/x.md", "!`touch made`\n")
    assert [prompted(world, each)[0] for each in ("/p:x", "/x")] == ["block", "silence"]


def test_a_command_that_cannot_be_judged_is_blocked(world: World) -> None:
    command(world, "project/.claude/commands/x.md", "a" * 300_000)
    decision, why = prompted(world, "/x")
    assert decision == "block"
    assert "longer than" in why


def test_a_refused_prompt_is_recorded(world: World) -> None:
    prompted(world, "see @.env")
    said = "".join(path.read_text() for path in (world.state / "audit").rglob("*.jsonl"))
    assert ('"deny"' in said, ".env" in said) == (True, True)


READ = "\n--- Content from referenced files ---"


@pytest.mark.parametrize(
    ("prompt", "paths"),
    [
        ("nothing", ()),
        ("see @a.txt now", ("a.txt",)),
        (f"see @a.txt{READ}\nContent from @a.txt:\nmail me@b.example\n--- End of content ---", ("a.txt",)),
        (f"see @conf/{READ}\nContent from @conf/key.txt:\nx\n", ("conf/", "conf/key.txt")),
        (f"pasted{READ} and @a.txt{READ}\nContent from @a.txt:\nx\n", ("a.txt",)),
    ],
)
def test_the_files_that_gemini_says_it_has_read(prompt: str, paths: tuple[str, ...]) -> None:
    assert pulled_in(prompt) == paths


# What each agent says of a prompt that pulls in a file of its project.
NAMING: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "claude": lambda cwd, name: {
        "session_id": SESSION, "transcript_path": "/dev/null", "cwd": cwd, "prompt_id": SESSION,
        "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": f"see @{name}",
    },
    "gemini": lambda cwd, name: {
        "session_id": SESSION, "transcript_path": "/dev/null", "cwd": cwd, "hook_event_name": "BeforeAgent",
        "timestamp": "2026-11-25T22:28:54.963Z", "prompt": f"see @*{READ}\nContent from @{name}:\nx\n",
    },
    "copilot": lambda cwd, name: {"sessionId": SESSION, "timestamp": 1, "cwd": cwd, "prompt": f"see @{name}"},
    "cursor": lambda cwd, name: {
        "conversation_id": SESSION, "generation_id": "g", "model": "m", "cursor_version": "3", "workspace_roots": [cwd],
        "hook_event_name": "beforeSubmitPrompt", "prompt": "see",
        "attachments": [{"type": "file", "filePath": f"{cwd}/{name}"}],
    },
    "opencode": lambda cwd, name: {
        "event": "chat.message", "sessionID": SESSION, "files": [f"{cwd}/{name}"], "directory": cwd, "worktree": cwd,
    },
}  # fmt: skip


@pytest.mark.parametrize("agent", NAMING)
def test_a_prompt_that_pulls_in_a_secret_is_refused_in_the_form_of_each_agent(world: World, agent: str) -> None:
    refused, taken = (json.loads(world.run(agent, NAMING[agent](str(world.project), each))[0] or "{}")
                      for each in (".env", "a.txt"))  # fmt: skip
    said = str(refused.get("reason", refused.get("user_message")))
    assert "secret" in said
    form = {
        "gemini": {"decision": "deny", "reason": said}, "opencode": {"decision": "deny", "reason": said},
        "cursor": {"continue": False, "user_message": said},
    }.get(agent, {"decision": "block", "reason": said})  # fmt: skip
    assert (refused, taken) == (form, {"cursor": {"continue": True}, "opencode": {"decision": "allow"}}.get(agent, {}))


def begun(world: World, template: str) -> dict[str, Any]:
    """What the plugin of opencode is told of a slash command as it starts."""
    cwd = str(world.project)
    said = {"event": "config.command", "command": "x", "template": template, "directory": cwd, "worktree": cwd}
    return dict(json.loads(world.run("opencode", said)[0]))


@pytest.mark.parametrize("place", ["project/.opencode/command/x.md", ".config/opencode/command/x.md", "nowhere"])
def test_a_slash_command_of_opencodes_is_judged_as_it_starts(world: World, place: str) -> None:
    asked, denied = "R: !`curl https://example.com/`", "R: !`git status` !`touch made` /x"
    command(world, place, f"---\ndescription: x\n---\n{asked}\n{denied}\n")
    is_own = place.startswith(".config")
    assert begun(world, asked)["decision"] == ("allow" if is_own else "deny")
    assert "it is only a test" in begun(world, denied)["reason"]
    assert begun(world, "R: !`git status` !` and /x") == {"decision": "allow"}
