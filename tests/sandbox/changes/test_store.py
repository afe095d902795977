"""What is kept, how long, and what goes to make room."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from gateway.core.errors import StoreError
from gateway.sandbox.changes import store as stores
from gateway.sandbox.changes.area import Area
from gateway.sandbox.changes.saver import Saver
from gateway.sandbox.changes.store import KEPT, Store

if TYPE_CHECKING:
    from pathlib import Path

DAY = 24 * 3600.0
NOBODY = (0, 0)


def kept(store: Store, top: Path, *, age: float, size: int = 0, owner: tuple[int, int] = NOBODY) -> int:
    """A set of some age that claims so many bytes."""
    writing = store.begin("call", "Bash", "", str(top), Area([str(top)]))
    writing.journal.close()
    made = writing.made
    store.put(made.replace(state=KEPT, time=time.time() - age, bytes=size, owner=owner))
    return made.number


def look_for_room(store: Store, top: Path) -> None:
    (top / "state" / "changes" / "room").unlink(missing_ok=True)
    kept(store, top, age=0)


@pytest.mark.parametrize(
    ("age", "size", "owner", "stays"),
    [
        (8 * DAY, 0, NOBODY, False),
        (8 * DAY, 0, None, True),
        (2 * DAY, 3 << 30, NOBODY, False),
        (2 * DAY, 3 << 30, None, True),
        (0.5 * DAY, 3 << 30, NOBODY, True),
        (2 * DAY, 1 << 30, NOBODY, True),
    ],
    ids=["too old", "too old of a gateway that lives", "large", "large of one that lives", "large and young", "small"],
)
def test_what_goes_to_make_room(
    age: float, size: int, owner: tuple[int, int] | None, stays: bool, tmp_path: Path
) -> None:
    store = Store(str(tmp_path / "state"))
    ours = store.begin("call", "Bash", "", str(tmp_path), Area([str(tmp_path)])).made.owner
    number = kept(store, tmp_path, age=age, size=size, owner=ours if owner is None else owner)
    before = store.get(number)
    look_for_room(store, tmp_path)
    assert (before in store.sets()) is stays


def test_it_is_private(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "state"))
    kept(store, tmp_path, age=0)
    for folder, _folders, files in os.walk(tmp_path / "state" / "changes"):
        assert os.stat(folder).st_mode & 0o077 == 0
        for name in files:
            assert os.stat(os.path.join(folder, name)).st_mode & 0o022 == 0


def test_numbers_are_not_given_twice_at_a_time(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "state"))
    found = [kept(store, tmp_path, age=0) for _ in range(3)]
    store.remove(found[0])
    assert kept(store, tmp_path, age=0) == found[2] + 1


def test_a_file_that_is_too_large_to_be_copied_is_named_and_not_copied(tmp_path: Path) -> None:
    store, top = Store(str(tmp_path / "state")), tmp_path / "workspace"
    top.mkdir()
    (top / "large").write_bytes(b"x" * 100)
    area = Area([str(top)])
    writing = store.begin("call", "Bash", "", str(top), area)
    saver = Saver(area, writing.old, writing.journal.note, room=99)
    saver.content(str(top / "large"))
    assert list(saver.missed) == [str(top / "large")]
    assert os.listdir(writing.old) == []


def test_a_journal_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "state"))
    writing = store.begin("call", "Bash", "", str(tmp_path), Area([str(tmp_path)]))
    writing.journal.note(["was", "/a", None])
    os.write(writing.journal._descriptor, b'["was","/b",')
    writing.journal.close()
    assert store.before(writing.made.number).was == {"/a": None}


def test_a_journal_that_is_no_journal_stops_the_undoing(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "state"))
    writing = store.begin("call", "Bash", "", str(tmp_path), Area([str(tmp_path)]))
    os.write(writing.journal._descriptor, b"{}\n")
    writing.journal.close()
    with pytest.raises(StoreError, match="cannot be read"):
        store.before(writing.made.number)


def test_who_waits_too_long_for_the_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "state"))
    kept(store, tmp_path, age=0)
    monkeypatch.setattr(stores, "_PATIENCE", 0.0)
    with store.locked(), pytest.raises(StoreError, match="somebody else"), store.locked():
        raise AssertionError("two have it")
