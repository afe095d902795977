"""Gateways that are kept: each decides as a new process would, whatever has changed meanwhile."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.errors import ConfigError
from gateway.frontends.service import keeper as keeping
from gateway.frontends.service import stamps
from gateway.frontends.service.keeper import Keeper
from gateway.frontends.service.stamps import is_settled, policy_stamp
from gateway.model.call import RawCall
from gateway.model.decision import Decision

if TYPE_CHECKING:
    from pathlib import Path

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture(params=["young files", "settled files"])
def kept(request: pytest.FixtureRequest, ground: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A keeper in a project. What is as young as its last reading is read again each time; what is settled only when
    its stamp is another."""
    if request.param == "settled files":
        monkeypatch.setattr(keeping, "is_settled", lambda _stamp, _began: True)
    return Kept(ground)


class Kept:
    def __init__(self, ground: Any) -> None:
        self.ground = ground
        self.keeper = Keeper()

    def gateway(self, environment: dict[str, str] | None = None, *, cwd: Path | None = None, **options: Any) -> Gateway:
        root = str(self.ground.project)
        found = Options(str(cwd or root), root=root, binding=True, **options)
        return self.keeper.gateway(
            found, {"PATH": "/usr/bin:/bin"} if environment is None else environment, confined=False
        )

    def says(self, text: str, **how: Any) -> Decision:
        return self.gateway(**how).check(RawCall("Bash", {"command": text})).decision


def test_a_changed_policy_decides_the_next_call(kept: Kept) -> None:
    found = [kept.says("some thing")]
    for word in ("deny", "allow", "deny", "ask"):
        kept.ground.says({word: ["Bash(some *)"]})
        found.append(kept.says("some thing"))
    assert found == [ASK, DENY, ALLOW, DENY, ASK]


def test_a_policy_of_the_same_length_decides_too(kept: Kept) -> None:
    found = []
    for word in ("some", "othr") * 3:
        kept.ground.says({"deny": [f"Bash({word} *)"]})
        found.append(kept.says("some thing"))
    assert found == [DENY, ASK] * 3


@pytest.mark.parametrize("place", ["policy.yaml", "policy.d/10.yaml", "policy.d/sub.yaml"])
@pytest.mark.parametrize("layer", ["user", "project"])
def test_whatever_file_of_a_layer_is_new_counts(kept: Kept, layer: str, place: str) -> None:
    (kept.ground.config / "policy.d").mkdir(parents=True)
    (kept.ground.of_project / "policy.d").mkdir(parents=True)
    before = kept.says("some thing")
    path = kept.ground.says({"deny": ["Bash(some *)"]}, layer=layer, name=place)
    after = kept.says("some thing")
    path.unlink()
    assert (before, after, kept.says("some thing")) == (ASK, DENY, ASK)


def test_a_file_that_is_extended_counts(kept: Kept) -> None:
    kept.ground.config.mkdir(parents=True)
    extended = kept.ground.top / "extended.yaml"
    extended.write_text("version: 1\ndeny: ['Bash(some *)']\n")
    kept.ground.says({"extends": [{"file": str(extended)}]})
    before = kept.says("some thing")
    extended.write_text("version: 1\ndeny: ['Bash(other *)']\n")
    assert (before, kept.says("some thing")) == (DENY, ASK)


def test_descriptions_of_programs_count(kept: Kept) -> None:
    commands = kept.ground.config / "commands"
    commands.mkdir(parents=True)
    before = kept.says("mytool x")
    (commands / "mytool.yaml").write_text("names: [mytool]\noperands: [{kind: text, rest: true}]\n")
    assert (before, kept.says("mytool x")) == (ASK, ALLOW)


def test_trust_counts(kept: Kept) -> None:
    from gateway.config.trust import TrustStore

    kept.ground.says({"allow": ["Bash(some *)"]}, layer="project")
    kept.ground.says({"settings": {"mode": "default"}})
    gateway = kept.gateway()
    before = kept.says("some thing")
    store = TrustStore(gateway.places.state)
    store.accept(str(kept.ground.project), gateway.loaded.project_digest, "now")
    trusted = kept.says("some thing")
    store.revoke(str(kept.ground.project))
    assert (before, trusted, kept.says("some thing")) == (ASK, ALLOW, ASK)


def test_a_broken_policy_decides_nothing_until_it_is_whole_again(kept: Kept) -> None:
    assert kept.says("some thing") is ASK
    kept.ground.says("version: 1\nrules: [{")
    for _ in range(2):
        with pytest.raises(ConfigError):
            kept.gateway()
    kept.ground.says({"deny": ["Bash(some *)"]})
    assert kept.says("some thing") is DENY


def test_a_project_that_appears_below_counts_at_once(kept: Kept) -> None:
    below = kept.ground.project / "vendor"
    below.mkdir()
    before = kept.says("some thing", cwd=below)
    (below / ".gateway").mkdir()
    (below / ".gateway" / "policy.yaml").write_text("version: 1\ndeny: ['Bash(some *)']\n")
    there = kept.says("some thing", cwd=below)
    (below / ".gateway" / "policy.yaml").write_text("version: 1\ndeny: ['Bash(othr *)']\n")
    assert (before, there, kept.says("some thing", cwd=below)) == (ASK, DENY, ASK)


def test_each_call_has_its_own_environment_folder_and_options(kept: Kept) -> None:
    (kept.ground.project / "src").mkdir()
    one, other = (
        kept.gateway({"PATH": "/one", "A": "1"}),
        kept.gateway({"PATH": "/other"}, cwd=kept.ground.project / "src"),
    )
    assert [(each.search_path, each.environment, each.context.cwd) for each in (one, other)] == [
        ("/one", {"PATH": "/one", "A": "1"}, str(kept.ground.project)),
        ("/other", {"PATH": "/other"}, str(kept.ground.project / "src")),
    ]
    assert kept.gateway(mode="plan").context.mode == "plan"
    assert kept.gateway().context.mode == "default"


def test_a_branch_that_was_changed_is_seen(kept: Kept) -> None:
    before = kept.gateway().context.branch
    (kept.ground.project / ".git" / "HEAD").write_text("ref: refs/heads/else\n")
    assert (before, kept.gateway().context.branch) == ("main", "else")


def test_no_more_than_some_are_kept(ground: Any) -> None:
    keeper = Keeper(most=3)
    for number in range(6):
        folder = ground.top / f"p{number}"
        folder.mkdir()
        keeper.gateway(Options(str(folder), root=str(folder)), {}, confined=True)
    assert len(keeper) == 3


def test_what_is_settled_and_unchanged_is_not_read_again(ground: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(ground)
    ground.says({"deny": ["Bash(some *)"]})
    monkeypatch.setattr(keeping, "is_settled", lambda _stamp, _began: True)
    kept.gateway()
    monkeypatch.setattr(Gateway, "renewed", lambda _self: pytest.fail("it was read again"))
    assert kept.says("some thing") is DENY


def test_what_is_young_and_says_the_same_is_compared_and_not_compiled_or_unpacked_again(
    ground: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(ground)
    extended = ground.top / "extended.yaml"
    extended.write_text("version: 1\ndeny: ['Bash(some *)']\n")
    ground.says({"extends": [{"file": str(extended)}]})
    before = kept.gateway()
    monkeypatch.setattr("gateway.config.load._kept", lambda *_: pytest.fail("it was unpacked again"))
    again = kept.gateway()
    assert (again.loaded is before.loaded, kept.says("some thing")) == (True, DENY)


def test_what_is_young_is_not_settled(ground: Any) -> None:
    ground.says({"deny": ["Bash(some *)"]})
    stamp = policy_stamp(ground.open())
    assert stamp is not None
    now = time.time_ns()
    assert [is_settled(stamp, at) for at in (0, now, now + 2 * stamps.SETTLED_NS)] == [False, False, True]


def test_more_files_than_can_be_looked_at_each_time_are_read_each_time(
    ground: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "_MOST", 3)
    (ground.config / "policy.d").mkdir(parents=True)
    for number in range(5):
        ground.says({"deny": [f"Bash(some{number} *)"]}, name=f"policy.d/{number}.yaml")
    assert policy_stamp(ground.open()) is None
    kept = Kept(ground)
    assert kept.says("some0 x") is DENY
    os.unlink(ground.config / "policy.d" / "0.yaml")
    assert kept.says("some0 x") is ASK
