"""What a process that lives long decides, from whatever folder it stands in, is what a process of its own would decide
in the folder where the call begins: every case of the corpus, on real files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from oracle.place import plant
from running import Ground
from test_corpus import CASES

from gateway.core.errors import CallError
from gateway.judge.judge import Judge
from gateway.model.call import RawCall
from gateway.tools.text import parse_call_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.model.verdict import Verdict

SEARCH_PATHS = ("/usr/local/bin:/usr/bin:/bin", "bin::../home/bin:/usr/bin:/bin")
PARTS = 2


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("warm")
    plant(str(folder / "planted"))
    with pytest.MonkeyPatch.context() as patch:
        ground = Ground(folder, patch)
        ground.project = folder / "planted" / "home" / "project"
        ground.home = folder / "planted" / "home"
        patch.setenv("HOME", str(ground.home))
        (ground.project / "bin").mkdir(exist_ok=True)
        for name in ("ls", "tool"):
            (ground.project / "bin" / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (ground.project / "bin" / name).chmod(0o755)
        ground.says({"extends": ["daily"]})
        yield ground
        ground.close()


def calls(judge: Judge) -> Iterator[tuple[str, RawCall]]:
    for case in CASES:
        if "repeat" in case or "/proc/*" in str(case):  # processes come and go between two looks
            continue
        try:
            call = parse_call_text(judge.registry, case["call"]) if "call" in case else None
        except CallError:
            continue
        yield case.get("cwd", ""), call or RawCall(case["tool"], case.get("input", {}))


def told(judge: Judge, call: RawCall) -> Any:
    try:
        verdict: Verdict = judge.check(call)
    except CallError as error:
        return str(error)
    return verdict.decision.name, verdict.reason.rule.id, verdict.analysis.items, verdict.facts


@pytest.mark.parametrize("share", range(PARTS))
@pytest.mark.parametrize("search_path", SEARCH_PATHS, ids=["absolute", "relative"])
def test_where_the_judging_process_stands_and_how_long_it_lives_changes_no_verdict(
    planted: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, search_path: str, share: int
) -> None:
    environment = {"PATH": search_path}
    kept = planted.open(confined=False, mode="accept_edits", environment=environment)
    different = []
    cold: dict[str, Judge] = {}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cat").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "bin" / "cat").chmod(0o755)
    for folder, call in list(calls(kept))[share::PARTS]:
        cwd = os.path.normpath(os.path.join(planted.project, folder))
        if not os.path.isdir(cwd):
            cwd = str(planted.project)
        monkeypatch.chdir(cwd)
        if cwd not in cold:
            options = kept.options.replace(cwd=cwd)
            cold[cwd] = Judge(options, where=kept.places, confined=False, environment=environment)
        own = told(cold[cwd], call)
        monkeypatch.chdir(tmp_path)
        if told(kept.afresh(cwd, environment), call) != own:
            different.append(call.input)
    assert different == []
