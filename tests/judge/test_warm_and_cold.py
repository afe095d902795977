"""What a process that lives long decides, from whatever folder it stands in, is what a process of its own would decide
in the folder where the call begins: a quarter of the corpus, all of it in a thorough run, on real files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import share
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
PARTS = 4
PLACES = share([(part, path) for part in range(PARTS) for path in SEARCH_PATHS], 5)


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


@pytest.mark.parametrize(("part", "search_path"), PLACES, ids=str)
def test_where_the_judging_process_stands_and_how_long_it_lives_changes_no_verdict(
    planted: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: int, search_path: str
) -> None:
    environment = {"PATH": search_path}
    kept = planted.open(confined=False, mode="accept_edits", environment=environment)
    different = []
    cold: dict[str, Judge] = {}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cat").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "bin" / "cat").chmod(0o755)
    for folder, call in list(calls(kept))[part::PARTS]:
        cwd = os.path.normpath(os.path.join(planted.project, folder))
        if not os.path.isdir(cwd):
            cwd = str(planted.project)
        if cwd not in cold:
            options = kept.options.replace(cwd=cwd)
            cold[cwd] = Judge(options, where=kept.places, confined=False, environment=environment)
        for _ in range(3):  # what other programs do to the machine between two looks is no difference
            monkeypatch.chdir(cwd)
            own = told(cold[cwd], call)
            monkeypatch.chdir(tmp_path)
            if told(kept.afresh(cwd, environment), call) == own:
                break
        else:
            different.append(call.input)
    assert different == []
