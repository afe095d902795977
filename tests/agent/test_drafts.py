"""What commands of an agent change in layers is shown when it hands back to the person, once for each task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from agent.test_loop import says, script
from api.test_drafts import Project, lays

from gateway.agent.loop import Agent
from gateway.api.gateway import Gateway
from gateway.approval.base import Decided
from gateway.llm.scripted import said_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not lays(), reason="no layer is laid over a folder here")


def run(program: str) -> dict[str, object]:
    return {"Bash": {"command": f"python3 {program}.py"}}


def test_it_is_shown_at_the_end_of_each_task_and_the_model_hears_what_became_of_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (project.root / "one.py").write_text("open('src/a', 'w').write('two\\n')")
    (project.root / "two.py").write_text("print(open('src/a').read()); open('b', 'w').write('b')")
    before = project.gateway()
    answers = Decided(False, "me", note="leave src alone"), True
    gateway = Gateway(before.options, where=before.places, approver=project.person(*answers))
    model = script(
        says("", run("one")),
        says("", run("two")),
        says("Done.", expect=["two"]),
        says("", run("two"), expect=["leave src alone"]),
        says("Again.", expect=["one"]),
    )
    with gateway.session() as session:
        agent = Agent(gateway, model, session)
        assert agent.run("Do it.").text == "Done."
        assert [sorted(each.path for each in review.found.changes) for review in project.reviews] == [["b", "src/a"]]
        assert "what it changed was discarded: leave src alone" in said_in(agent.messages[-1])
        assert agent.run("Once more.").text == "Again."
    gateway.close()
    assert [change.path for change in project.reviews[1].found.changes] == ["b"]
    assert ((project.root / "src/a").read_text(), (project.root / "b").read_text()) == ("one\n", "b")
