"""The worlds in `examples/`, replayed: each call gets the answer that stands beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.tools.text import parse_call_text

if TYPE_CHECKING:
    from gateway.model.verdict import Verdict

EXAMPLES = Path(__file__).parents[1] / "examples"
WORLDS = sorted(path.parent for path in EXAMPLES.glob("*/calls.jsonl"))


def place_of(verdict: Verdict) -> str:
    source = verdict.reason.rule.source
    return f"{os.path.basename(source.file)}:{source.line}" if source.line else verdict.reason.rule.id


@pytest.mark.parametrize("world", WORLDS, ids=lambda path: path.name)
def test_an_example_gets_the_answers_it_promises(world: Path, tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path)) / "project"
    shutil.copytree(world, root)
    subprocess.run(["git", "init", "-q", "-b", "topic", str(root)], check=True)
    subprocess.run(["git", "remote", "add", "origin", "https://git.example.com/a/b.git"], cwd=root, check=True)
    folder = str(tmp_path / "nowhere")
    guard = Gateway(
        Options(str(root), policies=str(root / "policies"), root=str(root)),
        where=Places(folder, folder, folder, warm(tmp_path / "cache"), str(tmp_path / "home")),
    )
    answers = {}
    for line in (world / "calls.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        raw = parse_call_text(guard.registry, case["call"]) if "call" in case else RawCall(case["tool"], case["input"])
        verdict = guard.check(raw)
        answers[case["id"]] = [verdict.decision.word, place_of(verdict)]
    expected = json.loads((world / "expected.json").read_text(encoding="utf-8"))
    for name, (_decision, place) in expected.items():
        if not place:  # any rule of the presets may be the one that asks
            answers[name][1] = ""
    assert answers == expected


def test_there_is_an_example() -> None:
    assert WORLDS != []
