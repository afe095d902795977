"""`gateway replay` and `gateway policy diff`: what they print in each form, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from warmed import warm

if TYPE_CHECKING:
    from pathlib import Path

WITH_RULE = "version: 1\nrules:\n  - id: no-list\n    deny: Bash(ls *)\n"
WITHOUT = "version: 1\nrules: []\n"


@pytest.fixture(scope="module")
def place(in_process, tmp_path_factory: pytest.TempPathFactory):
    """A home with a project whose policy has changed since the last revision, and a record of two calls."""
    home = tmp_path_factory.mktemp("replayed")
    project = home / "project"
    (project / ".gateway").mkdir(parents=True)
    warm(home / ".cache/gateway")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    policy = project / ".gateway/policy.yaml"
    policy.write_text(WITH_RULE, encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *words], cwd=project, check=True, capture_output=True)
    policy.write_text(WITHOUT, encoding="utf-8")

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        own = {"HOME": str(home), "XDG_CACHE_HOME": None, "XDG_STATE_HOME": None}
        found: subprocess.CompletedProcess[bytes] = in_process(*words, cwd=project, **own)
        return found

    for text in ("ls .", "pwd"):
        assert run("exec", "--", *text.split()).returncode == 0
    run.policy = policy  # type: ignore[attr-defined]
    return run


def text_of(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.stderr == b""
    return done.stdout.decode()


def test_a_replay_says_that_all_came_out_as_recorded(place) -> None:
    done = place("replay")
    assert (done.returncode, text_of(done)) == (0, "2 decisions judged anew: all came out as they were recorded\n")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("HEAD", "present"), 6),
        (("present", "HEAD"), 5),
        (("HEAD", "HEAD"), 0),
        (("HEAD", "present", "--fail-on", "never"), 0),
        (("present", "HEAD", "--fail-on", "wider"), 0),
        (("HEAD", "present", "--fail-on", "wider"), 6),
        (("nothing", "present"), 2),
        (("--end-of-options", "present"), 2),
        (("HEAD", "present", "--format", "pdf"), 2),
        (("HEAD", "present", "--since", "yesterday"), 2),
        (("HEAD", "present", "--folder", "/nonexistent"), 2),
        (("HEAD", "present", "--since", "2001-01-01", "--until", "2001-01-02"), 6),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else str(given),
)
def test_the_exit_status_says_whether_anything_becomes_wider(place, words: tuple[str, ...], status: int) -> None:
    assert place("policy", "diff", *words).returncode == status


def test_changes_are_told_with_the_rule_and_an_example(place) -> None:
    assert text_of(place("policy", "diff", "HEAD")).replace(f"{os.path.dirname(place.policy)}/", "") == (
        "between HEAD and present 1 of 2 recorded decisions change\n"
        "\n"
        f"wider     deny -> allow  1 decision, 1 agent, last {today(place)}\n"
        "  now by      `mode:default`\n"
        "  before by   `no-list` (project, policy.yaml:3)\n"
        "  Bash  ls .\n"
        "\n"
        "by their rules alone:\n"
        "wider     deny -> allow  exec  Bash(ls)\n"
        "  now by      `mode:default`\n"
        "  before by   `no-list` (project, policy.yaml:3)\n"
    )


def today(place) -> str:
    found: dict[str, Any] = json.loads(place("policy", "diff", "HEAD", "--json").stdout)
    return str(found["groups"][0]["last"])[:10]


def test_programs_read_what_changes(place) -> None:
    found = json.loads(text_of(place("policy", "diff", "present", "HEAD", "--json")))
    (group,) = found["groups"]
    assert {name: found[name] for name in ("outcome", "decisions", "judged", "equal", "untold")} == {
        "outcome": "narrower", "decisions": 2, "judged": 2, "equal": 1, "untold": []
    }  # fmt: skip
    assert (group["before"], group["after"], group["rule"][0]) == ("allow", "deny", "no-list")


def test_pipelines_read_what_changes(place, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = place("policy", "diff", "present", "HEAD", "--format", "junit", "--output", str(report))
    assert (done.returncode, done.stdout) == (5, b"")
    cases = ElementTree.parse(report).getroot().iter("testcase")
    assert [(case.get("name"), case.find("failure") is not None) for case in cases] == [
        ("no decision becomes wider", False),
        ("allow -> deny by no-list", True),
        ("allow -> deny by no-list", True),
    ]


def test_reviews_read_what_changes(place) -> None:
    def fingerprints() -> list[Any]:
        run = json.loads(text_of(place("policy", "diff", "HEAD", "present", "--format", "sarif")))["runs"][0]
        return [(each["ruleId"], each["level"], each["partialFingerprints"]) for each in run["results"]]

    before = fingerprints()
    place.policy.write_text(f"# moved\n\n{WITHOUT}", encoding="utf-8")
    after = fingerprints()
    place.policy.write_text(WITHOUT, encoding="utf-8")
    assert [each[:2] for each in before] == [("policy-wider", "error")] * 2  # on the record, and by its rules
    assert before == after


def test_a_request_is_told_in_markdown(place) -> None:
    text = text_of(place("policy", "diff", "HEAD", "--format", "markdown"))
    assert "| **wider** | deny → allow | 1 | 0 | 1 | `mode:default` | `Bash: ls .` |" in text
