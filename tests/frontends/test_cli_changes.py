"""`gateway changes` and `gateway undo`: processes of their own, in a home of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.config.layers import local_folder
from gateway.core.places import Places
from gateway.sandbox.changes.area import Area
from gateway.sandbox.changes.leaving import leave_draft
from gateway.sandbox.changes.store import Store


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


def draft(project: Path, name: str, text: str) -> int:
    """What a call has changed in a layer, as it is kept until somebody decides: its number."""
    home = str(project.parent)
    where = Places("/etc/gateway", f"{home}/.config/gateway", f"{home}/.local/state/gateway", "", home)
    store = Store(local_folder(where, str(project)))
    writing = store.begin("make", "Bash", "", str(project), Area([str(project)]))
    writing.journal.close()
    folder = Path(store.path(writing.made.number, "draft"))
    (folder / "0/upper").mkdir(parents=True)
    (folder / "0/upper" / name).write_text(text)
    (folder / "layers").write_text(json.dumps([[0, str(project), str(project)]]))
    leave_draft(store, writing.made.replace(began=(folder / "layers").stat().st_ctime_ns))
    return writing.made.number


def test_what_nobody_has_decided_about_is_listed_kept_and_discarded(ask: Any, project: Path) -> None:
    first, second = draft(project, "new", "kept\n"), draft(project, "other", "no\n")
    assert ", draft\n   + new  5 bytes\n" in ask("changes").stdout.decode()
    assert "+kept" in ask("changes", "show", str(first)).stdout.decode()
    assert ask("undo", str(first), "--yes").returncode == 2
    assert ask("keep", str(first)).returncode == 2  # nobody is at a terminal
    assert not (project / "new").exists()
    done = ask("keep", str(first), "--yes")
    assert (done.returncode, done.stdout) == (0, b"kept: 1 change\n")
    assert (project / "new").read_text() == "kept\n"
    assert ask("discard", str(second), "--yes").stdout == b"discarded\n"
    assert not (project / "other").exists()
    assert [ask(*words).returncode for words in (("keep", "9", "--yes"), ("discard", "9", "--yes"))] == [2, 2]
    assert ask("undo", str(first), "--yes").returncode == 0
    assert not (project / "new").exists()


def test_what_is_in_the_way_stays_unless_the_rest_is_wanted(ask: Any, project: Path) -> None:
    number = str(draft(project, "new", "theirs\n"))
    (project / "new").write_text("mine\n")
    done = ask("keep", number, "--yes")
    assert (done.returncode, b"changed by somebody else meanwhile" in done.stderr) == (2, True)
    done = ask("keep", number, "--rest", "--yes")
    assert (done.returncode, (project / "new").read_text()) == (1, "mine\n")
    assert b"left as it is  new: it was changed by somebody else meanwhile" in done.stdout
