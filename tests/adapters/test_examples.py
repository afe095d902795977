"""The examples of frameworks, replayed in the frameworks themselves: the same three calls, the same three answers."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[2] / "examples" / "frameworks"
FRAMEWORKS = {
    "langchain": "langchain.agents",
    "openai_agents": "agents.tool",
    "pydantic_ai": "pydantic_ai",
    "claude_agent": "claude_agent_sdk",
    "adk": "google.adk",
    "crewai": "crewai",
    "smolagents": "smolagents",
}
SAID = [
    ("asked: ", "rule `mail`", "mail leaves the house"),
    ("send_mail: ", "'See you on Tuesday.' is sent to ann@example.com"),
    ("Read: ", "The meeting is on Tuesday."),
    ("Bash: ", "was refused by rule `secret-files`", "Instead: ask the person"),
]


def test_there_is_one_for_each_adapter() -> None:
    adapters = {path.stem for path in (HERE.parents[1] / "gateway" / "adapters").glob("*.py")}
    assert {f"with_{name}.py" for name in FRAMEWORKS} == {path.name for path in HERE.glob("with_*.py")}
    assert adapters - {"__init__", "one_agent", "waiting"} == set(FRAMEWORKS)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_example_runs_without_an_account(ground: Any, name: str, capsys: Any, monkeypatch: Any) -> None:
    pytest.importorskip(FRAMEWORKS[name], reason=f"the framework {name} is not installed")
    shutil.copytree(HERE, ground.project, dirs_exist_ok=True)
    monkeypatch.chdir(ground.project)
    monkeypatch.syspath_prepend(str(ground.project))
    monkeypatch.delitem(sys.modules, "steps", raising=False)
    runpy.run_path(f"with_{name}.py", run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith(tuple(begins for begins, *_ in SAID))]
    assert len(said) == len(SAID), lines
    for line, (begins, *parts) in zip(said, SAID, strict=True):
        assert line.startswith(begins), lines
        assert all(part in line for part in parts), line
