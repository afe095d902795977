"""`gateway changes` and `gateway undo`: processes of their own, in a home of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "home" / "project"
    (top / ".git").mkdir(parents=True)
    (top / "a").write_text("one\n")
    (top / "Makefile").write_text("all:\n")
    return top


@pytest.fixture
def ask(gateway: Any, in_process: Any, project: Path) -> Any:
    def run(*words: str, **more: Any) -> Any:
        run = gateway if words[0] == "hook" else in_process  # a hook ends its process itself
        return run(*words, cwd=project, HOME=str(project.parent), **more)

    return run


def write(ask: Any, project: Path, name: str, content: str) -> None:
    """By a foreign agent: its hook, then the tool itself."""
    event = {
        "session_id": "s", "cwd": str(project), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_use_id": name, "permission_mode": "default",
        "tool_input": {"file_path": f"{project}/{name}", "content": content},
    }  # fmt: skip
    assert ask("hook", "claude", input=json.dumps(event).encode()).returncode == 0
    (project / name).write_text(content)
    event |= {"hook_event_name": "PostToolUse", "tool_response": {"success": True}}
    assert ask("hook", "claude", input=json.dumps(event).encode()).returncode == 0


def test_without_changes_there_is_nothing_to_show_or_undo(ask: Any) -> None:
    assert ask("changes").stdout == b"nothing that calls changed in this project is kept\n"
    for words in (("changes", "show", "1"), ("undo", "--yes"), ("undo", "7", "--yes"), ("changes", "nonsense")):
        done = ask(*words)
        assert (done.returncode, done.stdout) == (2, b"")


def test_what_a_foreign_agent_wrote_is_listed_shown_and_undone(ask: Any, project: Path) -> None:
    write(ask, project, "a", "two\n")
    write(ask, project, "Makefile", "all: \x1b[2J\n")
    write(ask, project, "a\n\x1b]b", "new")
    listed = ask("changes").stdout.decode()
    assert "~ a  4 bytes\n" in listed
    assert "~ Makefile  5 bytes -> 10 bytes  [builds and tests run it]\n" in listed
    assert "+ a\\n\\x1b]b  3 bytes\n" in listed
    shown = ask("changes", "show", "2").stdout.decode()
    assert "-all:\n+all: " in shown
    assert "\x1b" not in shown
    found = json.loads(ask("changes", "--json").stdout)["changes"]
    assert [(each["number"], each["tool"], each["session"]) for each in found] == [
        (1, "Write", "s"), (2, "Write", "s"), (3, "Write", "s"),
    ]  # fmt: skip
    plan = json.loads(ask("undo", "1", "--dry-run", "--json").stdout)
    assert plan == {"number": 1, "done": False, "restored": [f"{project}/a"], "removed": [], "left": {}}
    assert (project / "a").read_text() == "two\n"
    assert ask("undo", "--yes").returncode == 0
    assert ask("undo", "1", "--yes").returncode == 0
    assert (project / "a").read_text() == "one\n"
    assert sorted(path.name for path in project.iterdir()) == [".git", "Makefile", "a"]


def test_what_a_person_has_changed_since_is_named_and_stays(ask: Any, project: Path) -> None:
    write(ask, project, "a", "two\n")
    (project / "a").write_text("mine\n")
    done = ask("undo", "--yes")
    assert (done.returncode, b"left as it is  a: it has changed since" in done.stdout) == (1, True)
    assert (project / "a").read_text() == "mine\n"


def test_who_sits_at_no_terminal_has_to_say_yes(ask: Any, project: Path) -> None:
    write(ask, project, "a", "two\n")
    done = ask("undo")
    assert (done.returncode, b"--yes" in done.stderr) == (2, True)
    assert (project / "a").read_text() == "two\n"


@pytest.mark.parametrize(
    ("text", "decision"), [("gateway undo", "DENY"), ("gateway undo 3 --yes", "DENY"), ("gateway changes", "ALLOW")]
)
def test_agents_may_look_and_not_undo(text: str, decision: str, ask: Any) -> None:
    assert ask("check", f"Bash({text})").stdout.decode().startswith(decision)
