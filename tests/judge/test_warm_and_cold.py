"""What was judged before, and where the judging process stands, says nothing of a call: each text of the corpus through
a gateway that has judged all others, in a folder of the project, and through a new one that stands elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import test_corpus as corpus
import yaml
from fuzzing import share

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.errors import CallError
from gateway.host.machine import Machine

# Programs that lie where a relative entry of PATH leads from some of the folders.
PLANTED = ("src/ls", "src/git", "sub/cat", "bin/make")
ONE_OF = 40


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The world of the corpus on a real disk, as far as it lies in the project."""
    world = yaml.safe_load((corpus.HERE / "worlds" / "project.yaml").read_text(encoding="utf-8"))
    root = Path(os.path.realpath(tmp_path_factory.mktemp("disk"))) / "project"
    for name in (*world["files"], *PLANTED):
        if not name.startswith("/"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (root / name).chmod(0o755)
    for name, target in world["links"].items():
        (root / name).symlink_to(target)
    return root


def judging(project: Path, case: dict[str, object]) -> Gateway:
    stack, mode = corpus.stack_of(case), str(case.get("mode", ""))
    home = str(project.parent)
    environment = {"PATH": ".:src:../bin:/usr/local/bin:/usr/bin:/bin", "HOME": home}
    return Gateway(
        Options(str(project), mode=mode, root=str(project)),
        where=corpus.places_for(home),
        confined=False,
        host=Machine(environment),
        environment=environment,
        loaded=corpus.policy(stack, home, str(project), mode),
    )


def said(guard: Gateway, case: dict[str, object]) -> tuple[str, str, str]:
    try:
        verdict = guard.check(corpus.call_of(case, guard))
    except CallError as error:
        return "invalid", str(error), ""
    return verdict.decision.word, verdict.reason.rule.id, str(verdict.outcomes)


def test_neither_what_was_judged_before_nor_ones_own_folder_matters(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [case for case in corpus.CASES if "repeat" not in case and case.get("world", "project") == "project"]
    # Processes come and go between two looks.
    cases = [case for case in cases if "/proc/" not in str(case.get("call", case.get("input", "")))]
    cases = share([case for case in cases if not any(layer in case for layer in corpus.LAYERS_OF_A_CASE)], ONE_OF)
    kept: dict[tuple[str, str], Gateway] = {}
    for folder in ("src", "sub"):
        monkeypatch.chdir(project / folder)
        warm = []
        for case in cases:
            key = corpus.stack_of(case), str(case.get("mode", ""))
            if key not in kept:
                kept[key] = judging(project, case)
            warm.append((case["id"], said(kept[key], case)))
        if folder == "src":
            first = warm
    monkeypatch.chdir("/")
    cold = [(case["id"], said(judging(project, case), case)) for case in cases]
    assert (len(cases) > 40, warm, first) == (True, cold, cold)
