"""Control groups: where ours is found, what a leaf is given, and that one without controllers is not used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gateway.model.limits import Limits
from gateway.sandbox import cgroup
from gateway.sandbox.bound_record import breach
from gateway.sandbox.cgroup import Leaf, own

if TYPE_CHECKING:
    from pathlib import Path

MOUNTS = (
    "30 23 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:8 - cgroup2 cgroup2 rw\n"
)
OWN = {
    "below the top": (MOUNTS, "0::/user.slice/a\n", "/sys/fs/cgroup/user.slice/a"),
    "at the top": (MOUNTS, "1:memory:/x\n0::/\n", "/sys/fs/cgroup"),
    "only the old kind": (MOUNTS, "1:memory:/x\n", ""),
    "not mounted": ("1 0 0:1 / / rw - ext4 /dev/a rw\n", "0::/x\n", ""),
    "out of sight": (MOUNTS, "0::/../x\n", ""),
}


@pytest.mark.parametrize(("mounts", "membership", "wanted"), OWN.values(), ids=OWN)
def test_our_own_group(tmp_path: Path, mounts: str, membership: str, wanted: str) -> None:
    (tmp_path / "mounts").write_text(mounts)
    (tmp_path / "membership").write_text(membership)
    assert own(str(tmp_path / "mounts"), str(tmp_path / "membership")) == wanted


def test_no_proc_is_no_group(tmp_path: Path) -> None:
    assert own(str(tmp_path / "none"), str(tmp_path / "none")) == ""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """What the kernel shows of a group, as files."""
    for name in ("memory.max", "memory.oom.group", "pids.max", "cgroup.procs", "cgroup.kill"):
        (tmp_path / name).touch()
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    (tmp_path / "pids.events").write_text("max 0\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    return tmp_path


def test_a_leaf_is_given_its_bounds_and_tells_what_was_broken(files: Path) -> None:
    leaf = Leaf(str(files), Limits(memory=1 << 20, processes=9))
    assert leaf._bound()
    assert leaf.enter(77)
    assert leaf.kill()
    written = {
        name: (files / name).read_text()
        for name in ("memory.max", "memory.oom.group", "pids.max", "cgroup.procs", "cgroup.kill")
    }
    assert written == {
        "memory.max": "1048576",
        "memory.oom.group": "1",
        "pids.max": "10",
        "cgroup.procs": "77",
        "cgroup.kill": "1",
    }
    assert leaf.cpu_seconds() == 1.5
    assert leaf.violations() == (breach("memory", "1 MiB", "work on smaller pieces, or with fewer workers"),)


def test_a_group_without_the_controllers_is_not_used(files: Path) -> None:
    (files / "cgroup.controllers").write_text("cpu\n")
    assert not Leaf(str(files), Limits(memory=1))._bound()


def test_where_nothing_is_delegated_there_is_no_leaf_and_nothing_is_left(tmp_path: Path) -> None:
    assert Leaf.make(Limits(memory=1), str(tmp_path)) is None  # a plain folder has no controllers
    assert Leaf.make(Limits(memory=1), "") is None
    assert os.listdir(tmp_path) == []


def test_where_nothing_is_delegated_it_is_not_tried_for_every_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(cgroup, "_without", set())
    monkeypatch.setattr(cgroup, "_membership", lambda: "0::/here\n")

    def own() -> str:
        asked.append("own")
        return str(tmp_path)

    monkeypatch.setattr(cgroup, "own", own)
    found = [Leaf.make(Limits(memory=1)) for _ in range(2)]
    assert (found, asked) == ([None, None], ["own"])
    monkeypatch.setattr(cgroup, "_membership", lambda: "0::/there\n")
    assert (Leaf.make(Limits(memory=1)), asked) == (None, ["own", "own"])
