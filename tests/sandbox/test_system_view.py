"""What only the superuser may read of the system is no part of what his calls see."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gateway.host.machine import Machine
from gateway.sandbox import system_view
from gateway.sandbox.marks import Mark
from gateway.sandbox.system_view import PRIVATE_TO_ROOT, SystemView

if TYPE_CHECKING:
    from pathlib import Path


class Superuser(Machine):
    def __init__(self, superuser: bool = True) -> None:
        super().__init__()
        self._superuser = superuser

    def is_superuser(self) -> bool:
        return self._superuser


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "etc"
    for name, mode in (
        ("keys/private", 0o700), ("keys/by-name", 0o711), ("plain", 0o755), ("nobody", 0o000),
    ):  # fmt: skip
        (top / name).mkdir(parents=True)
        (top / name / "file").write_text("x")
        (top / name / "file").chmod(0o644)
        (top / name).chmod(mode)
    for name, mode in (
        ("shadow", 0o600), ("group", 0o640), ("open", 0o644), ("write-only", 0o200), ("keys/by-name/key", 0o600),
    ):  # fmt: skip
        (top / name).write_text("x")
        (top / name).chmod(mode)
    (top / "link").symlink_to("shadow")
    monkeypatch.setattr(system_view, "SYSTEM_VIEW", (str(top),))
    monkeypatch.setattr(system_view, "DEPTHS", ((str(top), 10),))
    return top


def marks(*found: tuple[Path, str]) -> set[Mark]:
    return {Mark(str(path), kind, PRIVATE_TO_ROOT) for path, kind in found}


def test_names_that_others_may_not_read_are_found(system: Path) -> None:
    closed = () if os.geteuid() == 0 else ((system / "nobody", "dir"),)  # into which only root can look
    found = SystemView(Superuser()).private()
    assert set(found) == marks(
        (system / "shadow", "file"), (system / "group", "file"), (system / "keys" / "private", "dir"),
        (system / "keys" / "by-name" / "key", "file"), *closed,
    )  # fmt: skip
    (system / "nobody").chmod(0o700)


def test_for_an_ordinary_user_the_kernel_says_it_already(system: Path) -> None:
    assert SystemView(Superuser(False)).private() == ()
    (system / "nobody").chmod(0o700)


def test_what_no_call_sees_is_not_looked_at(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_view, "SYSTEM_VIEW", (str(system.parent / "usr"),))
    assert SystemView(Superuser()).private() == ()
    (system / "nobody").chmod(0o700)


def test_what_is_new_is_found(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_view, "_FRESH", -1.0)
    names = SystemView(Superuser())
    before = set(names.private())
    (system / "plain" / "new").write_text("x")
    (system / "plain" / "new").chmod(0o600)
    assert set(names.private()) - before == marks((system / "plain" / "new", "file"))
    (system / "nobody").chmod(0o700)


def test_what_there_is_too_much_of_to_look_at_is_not_shown(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_view, "MOST_ENTRIES", 1)
    found = SystemView(Superuser()).private()
    assert {each.path for each in found} >= {str(system / "plain"), str(system / "keys"), str(system / "shadow")}
    (system / "nobody").chmod(0o700)


@pytest.mark.parametrize(("mode", "private"), [(0o600, True), (0o640, True), (0o604, False), (0o000, False)], ids=oct)
def test_a_machine_says_who_may_read(tmp_path: Path, mode: int, private: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(mode)
    assert (Machine().is_private(str(tmp_path / "file")), Machine().is_private(str(tmp_path / "none"))) == (
        private,
        True,
    )
