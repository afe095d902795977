"""What runs unasked does what it does without a guard: days of work in real projects, lived both ways.

Some steps of one small world in every run, all of them in a thorough one; `benchmarks/worlds.py` prints the table.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
import workdays
from fuzzing import THOROUGH
from workdays import Lived, Outcome, Step, World

from gateway.calls.containing import cannot_contain

if TYPE_CHECKING:
    from pathlib import Path

SMALL = "shell-scripts"
LEAST = 0.97
# Of its day: looking, making, tests, what is not there, pipes, a question, and a server in the background.
STEPS = (0, 2, 3, 4, 8, 9, 12, 15, 16, 18)
FILES = {"README.md": "# A project\n"}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here")
@pytest.mark.parametrize("name", workdays.WORLDS if THOROUGH else [SMALL])
def test_what_runs_unasked_does_the_same(name: str) -> None:
    world = workdays.read(workdays.WORLDS[name])
    if not THOROUGH:
        world = world._replace(day=tuple(world.day[number] for number in STEPS))
    if missing := workdays.lacking(world):
        pytest.skip(f"{missing} is not installed")
    outcomes, _seconds = workdays.timed(world)
    counted = [each for each in outcomes if not (each.by_policy or each.step.until)]
    wrong = [each for each in counted if not each.free]
    told = "\n".join(f"{each.step.text}: {each.rule or each.differs}\n{each.details}" for each in wrong)
    assert len(wrong) <= (1 - LEAST) * len(counted), told
    assert [each.step.text for each in outcomes if each.step.refused and not each.by_policy] == []


def test_every_world_is_read() -> None:
    worlds = [workdays.read(path) for path in workdays.WORLDS.values()]
    assert len(worlds) >= 12
    assert [world.name for world in worlds if not (30 <= len(world.day) <= 60 and world.about)] == []


@pytest.mark.parametrize(
    "step", [{"run": "ls", "as": "root"}, {"write": "x"}, {"stop": "x", "text": "y"}, {}], ids=repr
)
def test_what_is_no_step_is_told(tmp_path: Path, step: dict[str, str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"about: x\nday: [{step}]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is no step"):
        workdays.read(path)


@needs_git
def test_a_difference_in_status_output_or_tree_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself: a guard that changes each of them is told from one that changes nothing."""

    class Bent(workdays.Plain):
        def run(self, text: str) -> Lived:
            bent = {"echo a": "echo b", "true": "false", "touch x": "touch y", "date +%N": "date +%N%N"}
            return super().run(bent.get(text, text))

    monkeypatch.setattr(workdays, "Guarded", Bent)
    day = tuple(Step(text) for text in ("echo a", "true", "touch x", "date +%N", "echo same; touch z; exit 3"))
    found = workdays.live(World("bent", "x", (), (), FILES, (), day), tmp_path)
    assert [each.differs for each in found] == [("output",), ("status",), ("tree",), (), ()]


@needs_git
def test_a_step_that_is_asked_about_is_done_plainly_for_those_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asking(workdays.Plain):
        def run(self, text: str) -> Lived:
            lived = super().run(text)
            return lived._replace(rule="rule") if text == "touch x" else lived

    monkeypatch.setattr(workdays, "Guarded", Asking)
    day = (Step("touch x", refused="rule"), Step("ls"), Step("touch x"), Step("ls", refused="other"))
    found = workdays.live(World("asking", "x", (), (), FILES, (), day), tmp_path)
    assert [(each.free, each.by_policy) for each in found] == [
        (False, True),
        (True, False),
        (False, False),
        (True, False),
    ]


@needs_git
def test_a_tree_tells_contents_modes_links_and_what_git_says(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    shell = workdays.Plain(tmp_path, workdays._environment(tmp_path))
    steps = {
        "echo a > a; mkdir d; ln -s a l": {"a", "d/", "l"},
        "chmod +x a": {"a"},
        "rm l; mv a d/a": {"a", "l", "d/a"},
        "git init -q": {".git"},
        "cat d/a": set(),
    }
    with shell:
        found = {text: shell.run(text) and set(shell.tree.changed()) for text in steps}
    assert found == steps


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 0.31s at 2024-01-02T03:04:05Z\n", "took 12.5 s at 2025-11-12 13:14:15\n"),
        ("commit 1a2b3c4d5e", "commit deadbeef12"),
        ("\x1b[31mred\x1b[0m", "red"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference(one: str, other: str) -> None:
    assert workdays.normal(one) == workdays.normal(other)


@pytest.mark.parametrize(("one", "other"), [("2 passed", "3 passed"), ("a\nb", "b\na"), ("x", "")])
def test_everything_else_is(one: str, other: str) -> None:
    assert workdays.normal(one) != workdays.normal(other)


def test_only_what_the_two_plain_days_agree_on_is_compared() -> None:
    def lived(changed: dict[str, str | None], output: str = "") -> Lived:
        return Lived(0, output, changed)

    one, two = lived({"a": "1", "t/x1": "1", "same": "1"}), lived({"a": "2", "t/x2": "1", "same": "1"})
    varies = workdays._varying([one], [two])
    assert varies == {"a", "t/"}
    guarded = lived({"a": "3", "t/x3": "1", "same": "1"})
    assert workdays._compared(Step("x"), one, two, guarded, varies) == Outcome(Step("x"), "", ())
    bent = lived({"a": "3", "t/x3": "1", "same": "2"})
    assert workdays._compared(Step("x"), one, two, bent, varies).differs == ("tree",)
    said = workdays._varying([one], [two], {"s*": "written in no order"})
    assert workdays._compared(Step("x"), one, two, bent, said) == Outcome(Step("x"), "", ())
