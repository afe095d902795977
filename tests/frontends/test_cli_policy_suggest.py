"""`gateway policy suggest`: what it prints, and that nothing is adopted unless a person agrees."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warmed import warm

from gateway.approval.saved_rules import SavedRules
from gateway.audit.log import Log
from gateway.config.load import Options
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.frontends import consent, console_work
from gateway.frontends.cli.grants import revoke
from gateway.frontends.cli.policy_suggest import suggest
from gateway.frontends.console.nodes import html
from gateway.frontends.console.pages.suggestions import suggested as shown
from gateway.judge.judge import Judge
from gateway.judge.pipeline import TEMP
from gateway.model.call import RawCall
from gateway.replay import suggesting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.verdict import Verdict

RULE = 'allow: {exec: curl, effect: connect, direction: fetch, host: "example.com", port: 443}'


def judged(root: Path, path: str) -> tuple[Judge, Verdict]:
    judge = Judge(Options(str(root)), confined=True)
    call = RawCall("Bash", {"command": f"curl https://example.com/{path}"})
    return judge, judge.check(call, judge.context.replace(temp=TEMP), contains=lambda *_asked: "no sandbox")


@pytest.fixture(scope="module", autouse=True)
def asked_once() -> Iterator[None]:
    """The record and its place are the same in every test here, and so is what is suggested, be it for one project or
    for all (`tests/replay/test_suggesting.py` asks anew each time)."""
    found: dict[bool, Any] = {}

    def suggested(*given: Any, everywhere: bool = False, **how: Any) -> Any:
        if everywhere not in found:
            found[everywhere] = asked(*given, everywhere=everywhere, **how)
        return found[everywhere]

    asked = suggesting.suggested
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(suggesting, "suggested", suggested)
        yield


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a record in which two questions were answered with yes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    warm(tmp_path / ".cache/gateway")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    log = Log(str(tmp_path / ".local/state/gateway/audit"))
    for path in "ab":
        judge, verdict = judged(root, path)
        grant = {"allow": True, "scope": "once", "by": "ann"}
        policy = judge.loaded.policy.revision
        log.decision(verdict, front="test", session=path, grant=grant, policy=policy, bundle=judge.bundle)
    log.close()
    return root


def test_rules_are_printed_with_what_speaks_for_them(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suggest(cwd=str(root), how="process") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"1 rule would have ended 2 of 2 answered questions\n\n{RULE}\n")
    assert "  would have ended 2 questions (2 sessions, 1 day)\n    Bash  curl https://example.com/a\n" in said
    assert suggest(cwd=str(root), how="process", json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ended"], [each["text"] for each in found["rules"]]) == (2, [RULE])


def test_the_console_finds_the_same_and_offers_each_to_be_looked_at(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"record": str(root.parent / ".local/state/gateway/audit"), "root": str(root), "since": ""}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(given) + "\n"))
    assert console_work.main("suggest") == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["result"]
    assert [each["text"] for each in found["rules"]] == [RULE]
    page = "".join(map(html, shown(found)))
    assert "1 rule would have ended 2 of 2" in page
    assert 'data-change="rule" data-text="allow: {exec: curl, ' in page


def test_nothing_is_saved_without_a_person_at_a_terminal(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="by a person at a terminal"):
        suggest(cwd=str(root), how="process", save=True)
    assert RULE in capsys.readouterr().out
    assert judged(root, "c")[1].decision.word == "ask"


@pytest.mark.parametrize(("answer", "status", "decision"), [("y\n", 0, "allow"), ("\n", 1, "ask")])
def test_what_a_person_agrees_to_holds_from_then_on(
    root: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, decision: str
) -> None:
    monkeypatch.setattr(consent, "is_terminal", lambda _stream: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: answer, raising=False)
    assert suggest(cwd=str(root), how="process", save=True) == status
    assert judged(root, "c")[1].decision.word == decision
    if status == 0:
        (rule,) = SavedRules(places(), str(root), {}).list()
        assert rule.because.startswith("suggested from 2 answers (2 sessions, 1 day); ")
        text = Path(SavedRules(places(), str(root), {}).path).read_text(encoding="utf-8")
        assert '    matches: ["curl https://example.com/a", "curl https://example.com/b"]\n' in text


def test_rules_for_all_projects_are_printed_as_they_would_stand_in_the_policy_of_a_person(
    root: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert suggest(cwd=str(root), how="process", everywhere=True) == 0
    said = capsys.readouterr().out
    head = f"under `rules:` in {tmp_path}/.config/gateway/policy.yaml they are\n\n"
    lines = said.partition(head)[2]
    (tmp_path / ".config/gateway").mkdir(parents=True)
    (tmp_path / ".config/gateway/policy.yaml").write_text(f"version: 1\nextends: [daily]\nrules:\n{lines}", "utf-8")
    assert judged(root, "c")[1].decision.word == "allow"


def test_what_a_person_agrees_to_for_all_projects_holds_in_all_and_can_be_taken_back(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(consent, "is_terminal", lambda _stream: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: "y\n", raising=False)
    assert suggest(cwd=str(root), how="process", everywhere=True, save=True) == 0
    own = tmp_path / ".config/gateway"
    assert capsys.readouterr().out.endswith(
        f"saved in {own}/policy.d/approved.yaml; `gateway grants list --everywhere` shows them\n"
    )
    assert (own / "policy.yaml").read_text() == "version: 1\nextends: [daily]\n"  # as without a policy of one's own
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert [judged(each, "c")[1].decision.word for each in (root, other)] == ["allow", "allow"]
    (rule,) = SavedRules(places(), str(other), {}, everywhere=True).list()
    assert revoke([rule.id], everywhere=True, cwd=str(other)) == 0
    assert SavedRules(places(), str(root), {}, everywhere=True).list() == []
    assert [judged(each, "c")[1].decision.word for each in (root, other)] == ["ask", "ask"]


@pytest.mark.parametrize("more", [{"json": True}, {"tighten": True}])
def test_what_is_saved_is_always_shown_first(root: Path, more: dict[str, bool]) -> None:
    with pytest.raises(ConfigError, match="--save must be given without"):
        suggest(cwd=str(root), save=True, **more)
