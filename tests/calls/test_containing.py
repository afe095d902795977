"""Contained calls while they run: what they may do, and that nothing is kept unasked which cannot be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.calls import containing
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from pathlib import Path


def test_what_contained_calls_mean_is_told_once(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert [containing.is_first(state) for _ in range(3)] == [True, False, False]


def test_where_it_cannot_be_kept_it_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    assert containing.is_first(str(tmp_path / "state")) is False


@pytest.mark.parametrize(
    ("works", "said"),
    [
        ({"namespaces": True}, ""),
        ({"namespaces": False, "bubblewrap": True, "landlock": True}, "namespaces: refused"),
        ({"seatbelt": True, "none": True}, "this platform has no such sandbox"),
    ],
)
def test_only_mounts_contain(monkeypatch: pytest.MonkeyPatch, works: dict[str, bool], said: str) -> None:
    class Fake:
        def __init__(self, name: str, works: bool) -> None:
            self.name, self.works, self.reason = name, works, "refused"

        def probe(self) -> Fake:
            return self

    monkeypatch.setattr("gateway.sandbox.backends.choose.backends", lambda: [Fake(*each) for each in works.items()])
    assert containing.cannot_contain() == said


HELD = {"rules": [{"id": "held", "allow": {"effect": ["code", "opaque"], "contained": True}}]}


@pytest.fixture
def undoable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Why a plan's changes cannot be undone: changed by a test, "" to begin with."""
    why = [""]

    monkeypatch.setattr("gateway.calls.saving.cannot_undo", lambda *_given: why[0])
    return why


SCRIPT = "import os\nopen('made', 'w').close()\nopen('.git/config', 'a').close()\n"


@pytest.mark.usefixtures("undoable")
def test_a_script_that_nobody_knows_changes_the_workspace_and_no_protected_name(ground) -> None:
    ground.says(HELD)
    (ground.project / ".git" / "config").write_text("", encoding="utf-8")
    (ground.project / "x.py").write_text(SCRIPT, encoding="utf-8")
    done = ground.open().call(RawCall("Bash", {"command": "python3 -S x.py"}))
    assert (done.verdict.changes, done.plan.contained, done.plan.weaker, done.plan.network.mode) == (
        "keep",
        True,
        (),
        "off",
    )
    assert (ground.project / "made").exists()
    assert ("Error" in done.text, done.result.status) == (True, 1)  # of the second write
    assert containing.FIRST in done.reports
    decision = ground.records()[0]
    assert (decision["contained"], decision["changes"]) == (True, "keep")


def test_a_plan_whose_changes_cannot_be_taken_back_is_a_question(ground, undoable) -> None:
    (ground.project / "x.py").write_text("open('made', 'w').close()\n", encoding="utf-8")
    ground.says(HELD)
    undoable[0] = "the disk is full"
    done = ground.open().call(RawCall("Bash", {"command": "python3 -S x.py"}))
    assert (done.verdict.decision.word, done.verdict.contained, done.ran) == ("ask", False, False)
    assert not (ground.project / "made").exists()
    assert any("the disk is full" in each for each in done.output.notes)
