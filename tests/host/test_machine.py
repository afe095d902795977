"""What the machine tells of paths: nothing that depends on the process which asks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from gateway.host.machine import Machine
from gateway.model.facts import PathFact

if TYPE_CHECKING:
    from pathlib import Path


def relative_looks(machine: Machine) -> dict[str, Any]:
    def raised(look: Any) -> Any:
        try:
            return list(look())
        except OSError:
            return OSError

    return {
        "path": machine.path("file"),
        "glob": machine.glob("fil*"),
        "program": (machine.program("tool", "."), machine.program("tool", ""), machine.program("tool", "bin")),
        "read": machine.read("file"),
        "data": machine.data("file"),
        "is_empty": machine.is_empty("empty"),
        "is_folder": machine.is_folder("bin"),
        "is_missing": machine.is_missing("nothing"),
        "is_link": machine.is_link("file"),
        "stamp": raised(lambda: machine.stamp("file")),
        "entries": raised(lambda: machine.entries("bin")),
        "below": raised(lambda: machine.below("bin")),
    }


def test_relative_paths_are_told_alike_wherever_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("file", "bin/tool", "tool"):
        (tmp_path / name).write_text("x", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "empty").touch()
    monkeypatch.chdir(tmp_path)
    here = relative_looks(Machine())
    monkeypatch.chdir("/")
    assert here == relative_looks(Machine())


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/cwd/x", "/proc/self/fd/1", "/proc/thread-self/cwd", "/proc/self/task/1/cwd/x", "/proc/self/exe",
        "/proc/self/root/etc/passwd", "/proc/PID/cwd/x", "/proc/self/../self/cwd/x", "/dev/fd/0",
    ],
)  # fmt: skip
@pytest.mark.parametrize("linked", [False, True])
def test_where_the_files_of_a_process_lead_is_not_told(tmp_path: Path, path: str, linked: bool) -> None:
    path = path.replace("PID", str(os.getpid()))
    if linked:
        (tmp_path / "link").symlink_to(path)
    assert Machine().path(str(tmp_path / "link") if linked else path) is None


def test_what_a_process_says_of_itself_stays_under_the_name_that_every_process_has() -> None:
    machine = Machine()
    assert [machine.path("/proc/self/status"), machine.path("/proc/mounts"), machine.path("/proc/self")] == [
        PathFact("/proc/self/status", "file"), PathFact("/proc/self/mounts", "file"), PathFact("/proc/self", "dir"),
    ]  # fmt: skip


def test_links_that_lead_through_no_process_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to("../b")
    (tmp_path / "b").mkdir()
    real = tmp_path.resolve()
    found = Machine().path(str(tmp_path / "a" / "link" / "new"))
    assert found == PathFact(str(real / "b" / "new"), "missing")
