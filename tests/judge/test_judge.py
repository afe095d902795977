"""One call through all stages: what the engine itself must get right between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall


@pytest.fixture
def here(tmp_path: Path) -> Places:
    (tmp_path / "home/project/.git").mkdir(parents=True)
    (tmp_path / "home/project/.git/HEAD").write_text("ref: refs/heads/topic\n", encoding="utf-8")
    (tmp_path / "home/project/a").write_text("", encoding="utf-8")
    (tmp_path / "config").mkdir()
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")))


def user(places: Places, text: str) -> None:
    Path(places.config, "policy.yaml").write_text(f"version: 1\n{text}\n", encoding="utf-8")


@pytest.mark.parametrize(("asked", "expected"), [(False, "allow"), (True, "ask")])
def test_a_call_that_asks_to_leave_the_sandbox_has_no_temporary_folders_of_its_own(
    guard, asked: bool, expected: str
) -> None:
    call = RawCall("Bash", {"command": "cat /tmp/x", "dangerously_disable_sandbox": asked})
    assert guard({}).check(call).decision.word == expected


def test_a_call_that_asks_to_leave_the_sandbox_leaves_the_next_one_in_it(guard) -> None:
    gateway = guard({})
    asked = [
        gateway.check(RawCall("Bash", {"command": "cat /tmp/x", "dangerously_disable_sandbox": each}))
        for each in (True, False)
    ]
    assert [verdict.decision.word for verdict in asked] == ["ask", "allow"]


def test_the_branch_is_the_one_at_the_time_of_the_call(here: Places) -> None:
    user(here, "rules: [{id: not-on-main, deny: {branch: main, effect: read}}]")
    gateway = Gateway(Options(f"{here.home}/project"), where=here)
    call = RawCall("Bash", {"command": "cat a"})
    before = gateway.check(call).decision.word
    Path(here.home, "project/.git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert (before, gateway.check(call).decision.word) == ("allow", "deny")


def test_a_project_root_given_through_a_link_is_resolved(here: Places, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(f"{here.home}/project")
    user(here, "deny: ['Read(./a)']")
    gateway = Gateway(Options(str(tmp_path / "link"), root=str(tmp_path / "link")), where=here)
    assert gateway.check(RawCall("Read", {"file_path": "a"})).decision.word == "deny"
