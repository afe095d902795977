"""What of the contract the fallback keeps, and what it refuses, puts back, or does not hold: the documented subset."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from gateway.model.plan import FIXED, HIDDEN
from gateway.sandbox.after.protect import Protected
from gateway.sandbox.after.quarantine import Quarantine
from gateway.sandbox.backends.landlock import Landlock
from gateway.sandbox.base import Names
from gateway.sandbox.contract import CHECKS, SECRET, Check, worked

_spec = importlib.util.spec_from_file_location("landlock_world", Path(__file__).parents[1] / "world.py")
assert _spec is not None
assert _spec.loader is not None
worlds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(worlds)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or Landlock().abi() < 6, reason="this kernel has no Landlock of version 6"
)

# What is hidden inside something writable: a plan that asks for it is refused.
REFUSED = ("hidden",)
# What is protected inside something writable: put back afterwards.
PUT_BACK = ("a hook", "a protected")
NOT_HELD = {"another process is seen"}
WITHOUT_SOCKETS = {
    "a server answers on its own loopback",
    "a socket in the workspace works",
    "semaphores shared by processes work",
}


@pytest.fixture(scope="module")
def backend() -> Landlock:
    return Landlock()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", SECRET)
    top = tmp_path / "a world"
    top.mkdir()
    with worlds.world(top) as made:
        yield made


def is_one_of(check: Check, words: tuple[str, ...]) -> bool:
    return not check.use and any(word in check.name for word in words)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_it_is_held_or_refused_or_put_back_or_named(check: Check, here, backend: Landlock) -> None:
    reason = worlds.lacking(check)
    if reason:
        pytest.skip(reason)
    plan = here.plan(check).replace(weaker=("landlock",))
    gaps = backend.missing(plan)
    hidden = [mount.path for mount in plan.mounts if mount.access == HIDDEN]
    assert all(any(path in gap for path in hidden) for gap in gaps)
    if is_one_of(check, REFUSED):
        assert gaps
        return
    named = [mount for mount in plan.mounts if any(gap.startswith(f"{mount.path} cannot be") for gap in gaps)]
    plan = plan.replace(mounts=tuple(mount for mount in plan.mounts if mount not in named))
    fixed = {mount.path: "a-rule" for mount in plan.mounts if mount.access == FIXED}
    plan = plan.replace(watched=())
    before = {path: _picture(Path(path)) for path in fixed}
    guard = Protected(plan, lambda path: fixed.get(path, ""), lambda _folder, _bounded: Names(fixed), held=False)
    guard.before()
    status, output = worlds.confined(backend, plan, check.text)
    done = worked(check, status, here.found(check.proof))
    swept = guard.after(Quarantine(str(here.top / "quarantine")))
    assert {path: _picture(Path(path)) for path in fixed} == before
    if is_one_of(check, PUT_BACK):
        assert done is bool(swept)
    elif check.name in NOT_HELD:
        assert done
    else:
        assert done is (check.use and check.name not in WITHOUT_SOCKETS), output
        assert swept == ()
    if not check.use and not named:
        assert SECRET.encode() not in output


def _picture(path: Path) -> dict[str, bytes]:
    """Names and contents of a file, or of all below a folder."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each): each.read_bytes() for each in files}
