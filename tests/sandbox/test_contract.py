"""Every backend that works here holds what the contract says; the same without a backend does not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from fuzzing import share

from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.landlock import Landlock
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.base import SandboxError
from gateway.sandbox.contract import CHECKS, SECRET, Check, worked

_spec = importlib.util.spec_from_file_location("sandbox_world", Path(__file__).with_name("world.py"))
assert _spec is not None
assert _spec.loader is not None
worlds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(worlds)

# What the fallback does not hold during a call, or does not allow: it says so itself, and what is protected is looked
# after when the call has ended.
LANDLOCK_DIFFERS = {
    "a hook is planted",
    "a protected file is written",
    "a protected file is replaced",
    "a protected file is removed",
    "a protected folder is exchanged with its parent",
    "a protected folder is moved",
    "another process is seen",
    "a server answers on its own loopback",
    "a socket in the workspace works",
    "semaphores shared by processes work",
}


# Each check meets namespaces in every run, and bubblewrap a third of them.
WHOLES = [(Spaces, check) for check in CHECKS] + [(Bubblewrap, check) for check in share(CHECKS, 3, "bubblewrap")]


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest) -> Spaces | Bubblewrap:
    backend = request.param()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"{backend.name} does not hold here: {probe.reason}")
    return backend


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", SECRET)
    top = tmp_path / "a world"
    top.mkdir()
    with worlds.world(top) as made:
        yield made


@pytest.mark.parametrize("check", share(CHECKS, 3, "twins"), ids=lambda check: check.name)
def test_it_works_without_a_backend(check: Check, here) -> None:
    reason = worlds.lacking(check)
    if reason:
        pytest.skip(reason)
    status = worlds.unconfined(check, here)
    assert worked(check, status, here.found(check.proof)), f"status {status}"


@pytest.mark.parametrize(("whole", "check"), WHOLES, indirect=["whole"], ids=lambda each: each.name)
def test_a_whole_sandbox_holds_it(check: Check, here, whole: Spaces | Bubblewrap) -> None:
    reason = worlds.lacking(check)
    if reason:
        pytest.skip(reason)
    status, output = worlds.confined(whole, here.plan(check), check.text)
    assert worked(check, status, here.found(check.proof)) is check.use, output
    if not check.use:
        assert SECRET.encode() not in output


@pytest.fixture(scope="module")
def landlock():
    backend = Landlock()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"Landlock does not hold here: {probe.reason}")
    if probe.degraded and len(probe.degraded) > 3:
        pytest.skip("this kernel's Landlock holds less than what the table says")
    return backend


# Each meets Landlock in every run in backends/test_landlock_contract.py, with what is looked after when it has ended.
@pytest.mark.parametrize("check", share(CHECKS, 3, "landlock"), ids=lambda check: check.name)
def test_landlock_holds_it_or_says_that_it_cannot(check: Check, here, landlock: Landlock) -> None:
    reason = worlds.lacking(check)
    if reason:
        pytest.skip(reason)
    plan = here.plan(check, least=True).replace(weaker=("landlock",))
    if landlock.missing(plan):
        assert check.theme == "hidden"
        with pytest.raises(SandboxError, match="cannot enforce this plan"):
            worlds.confined(landlock, plan, check.text)
        return
    status, output = worlds.confined(landlock, plan, check.text)
    wanted = check.use is not (check.name in LANDLOCK_DIFFERS)
    assert worked(check, status, here.found(check.proof)) is wanted, output


def test_what_the_fallback_lacks_is_in_the_table_of_checks() -> None:
    assert {check.name for check in CHECKS} >= LANDLOCK_DIFFERS
