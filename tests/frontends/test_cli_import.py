"""`gateway import`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from inprocess import called
from warmed import warm

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

RULES = {"permissions": {"allow": ["Bash(npm run test:*)"], "deny": ["Bash(rm -rf:*)", "Write(x)"]}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps(RULES))
    (tmp_path / "project/.git").mkdir(parents=True)
    warm(tmp_path / ".cache/gateway")
    return tmp_path


def _run(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return called(["import", *words], home / "project", {"HOME": str(home), "PATH": "/usr/bin:/bin"})


def test_what_was_imported_is_a_policy_that_says_the_same(home: Path) -> None:
    done = _run(home, "claude", "--output", str(home / "out.yaml"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"1 exact, 1 wider, 1 dropped" in done.stdout
    assert b"/usr/bin/rm -rf build: theirs no rule, ours deny" in done.stdout
    assert (home / "out.yaml").read_text().splitlines()[2:6] == [
        "version: 1",
        "extends: [daily]",
        "rules:",
        "  # ~/.claude/settings.json:1: Bash(npm run test:*)",
    ]
    linted = called(["policy", "lint", str(home / "out.yaml")], home, {"HOME": str(home), "PATH": "/usr/bin"})
    assert linted.returncode == 0


def test_audit_names_each_rule_that_does_not_do_what_it_says_and_writes_nothing(home: Path) -> None:
    done = _run(home, "--audit", "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 1
    assert (found["rules"], [(each["kind"], each["text"]) for each in found["wrong"]]) == (
        3,
        [("walked-around", "Bash(rm -rf:*)"), ("never-asked", "Write(x)")],
    )
    assert not (home / ".config").exists()


def test_a_file_that_cannot_be_read_stops_the_import_and_is_named(home: Path) -> None:
    (home / ".codex/rules").mkdir(parents=True)
    (home / ".codex/rules/x.rules").write_text("prefix_rule(\n")
    done = _run(home, "all", "--output", str(home / "out.yaml"))
    assert done.returncode == 2
    assert b"rules must be Starlark" in done.stderr
    assert b"nothing was imported" in done.stderr
    assert not (home / "out.yaml").exists()


def test_what_a_project_says_holds_in_that_project_alone(home: Path) -> None:
    """Whoever clones a repository and imports adopts none of its rules for all other projects."""
    theirs = home / "project/.claude/settings.json"
    theirs.parent.mkdir()
    theirs.write_text(json.dumps({"permissions": {"allow": ["Bash(./deploy.sh:*)"], "ask": ["Bash(make:*)"]}}))

    def written(*words: str) -> tuple[int, bool, bool]:
        out = home / "out.yaml"
        out.unlink(missing_ok=True)
        done = _run(home, "claude", "--output", str(out), *words)
        text = out.read_text() if out.exists() else ""
        return done.returncode, "npm run test" in text, "deploy.sh" in text or "Bash(make" in text

    assert written() == (0, True, False)
    assert written("--layer", "project") == (0, False, True)
    assert b"holds in this project alone: `--layer project` takes it" in _run(home, "claude", "--json").stdout
    assert written("--file", str(theirs)) == (2, False, False)
    assert b"add `--layer project`" in _run(home, "claude", "--file", str(theirs), "--json").stdout
    assert written("--file", str(theirs), "--layer", "project") == (0, False, True)
    assert json.loads(_run(home, "--audit", "--json").stdout)["rules"] == 5


def test_without_a_terminal_a_layer_is_not_written(home: Path) -> None:
    done = _run(home, "claude")
    assert done.returncode == 2
    assert b"must be given by a person at a terminal" in done.stderr
    assert not (home / ".config/gateway").exists()


def test_only_what_was_imported_is_replaced(home: Path) -> None:
    out = home / "out.yaml"
    out.write_text("version: 1\n")
    assert b"holds something that was not imported" in _run(home, "claude", "--output", str(out), "--replace").stderr
    out.unlink()
    assert _run(home, "claude", "--output", str(out)).returncode == 0
    assert b"was imported before" in _run(home, "claude", "--output", str(out)).stderr
    assert _run(home, "claude", "--output", str(out), "--replace").returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nobody"], b"AGENT must be one of"),
        (["--file", "x"], b"--file must be given with the one agent"),
        (["--audit", "--replace"], b"--audit writes nothing"),
        (["--layer", "builtin"], b"--layer must be one of"),
        (["claude", "--file", "missing.json"], b"must be a file that is there"),
        (["claude", "--output", "missing/x.yaml"], b"cannot be written"),
    ],
)
def test_wrong_usage_is_told_with_its_remedy(home: Path, words: list[str], says: bytes) -> None:
    done = _run(home, *words)
    assert done.returncode == 2
    assert says in done.stderr
