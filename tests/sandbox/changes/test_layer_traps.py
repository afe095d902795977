"""What layers do otherwise than folders, and what is kept all the same."""

from __future__ import annotations

import mmap
import os
import resource
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from fuzzing import THOROUGH
from sandbox.changes.drafts import Drafts, in_child

from gateway.core.errors import StoreError
from gateway.sandbox.changes.drafted import drafted
from gateway.sandbox.changes.keeping import discard, keep
from gateway.sandbox.changes.store import DRAFT, RUNNING
from gateway.sandbox.changes.undo import undo
from gateway.sandbox.changes.unfinished import finish_begun, finish_orphans

pytestmark = pytest.mark.usefixtures("layers")

MANY = 40_000 if THOROUGH else 400


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    found = Drafts(tmp_path)
    (found.top / "a").write_text("old")
    return found


def test_what_was_written_is_kept_however_old_what_a_program_still_saw_of_it_was(drafts: Drafts) -> None:
    def program() -> None:
        with open("a", "rb") as before, mmap.mmap(before.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            Path("a").write_text("new")
            Path("seen").write_bytes(mapped[:] + b" " + os.pread(before.fileno(), 3, 0))

    drafts.run(program)
    assert keep(drafts.store, 1).stays == {}
    assert (drafts.top / "a").read_text() == "new"
    assert (drafts.top / "seen").read_text() in ("old new", "old old", "new new")  # as the kernel has it
    assert undo(drafts.store, 1).stays == {}
    assert drafts.tree() == {"a": drafts.tree()["a"]}


def test_many_deletions_are_kept_and_undone(drafts: Drafts) -> None:
    for number in range(MANY):
        place = drafts.top / f"d{number // 1000}" / str(number)
        place.parent.mkdir(exist_ok=True)
        place.write_text(str(number)) if number % 100 == 0 else place.touch()
    before = drafts.tree()
    drafts.run(lambda: [shutil.rmtree(each) for each in Path().glob("d*")])
    assert drafts.tree() == before
    assert keep(drafts.store, 1).stays == {}
    assert list(drafts.tree()) == ["a"]
    assert undo(drafts.store, 1).stays == {}
    assert drafts.tree() == before


def test_a_path_that_is_longer_than_one_may_be_named_is_told_and_nothing_is_kept(drafts: Drafts) -> None:
    def program() -> None:
        Path("a").write_text("new")
        for _ in range(24):
            os.mkdir("n" * 250)
            os.chdir("n" * 250)
        Path("deep").write_text("deep")

    before = drafts.tree()
    drafts.run(program)
    with pytest.raises(StoreError, match="File name too long"):
        keep(drafts.store, 1, rest=True)
    assert drafts.tree() == before
    discard(drafts.store, 1)
    assert sorted(os.listdir(drafts.store.folder)) == ["lock", "room"]


NAMES = ("a", "b", "c", "d/e", "n")


@pytest.mark.parametrize("room", [0, 64, 400, 4096] if not THOROUGH else [*range(0, 1200, 60), 4096])
def test_a_disk_that_is_full_while_it_is_kept_leaves_each_name_old_or_new_and_all_of_it_can_be_had(
    drafts: Drafts, room: int
) -> None:
    (drafts.top / "d").mkdir()
    for name in NAMES[:-1]:
        (drafts.top / name).write_text("old")
    before = drafts.tree()
    drafts.run(lambda: [Path(name).write_text("new") for name in NAMES])

    def kept() -> None:  # no file may become larger than this, as where a disk is full
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        with suppress(StoreError, OSError):
            keep(drafts.store, 1)

    in_child(kept)
    assert {(drafts.top / name).read_text() for name in NAMES[:-1]} <= {"old", "new"}
    finish_begun(drafts.store)
    (made,) = drafts.store.sets()
    if made.state == DRAFT:  # nothing of it was done
        assert drafts.tree() == before
        assert keep(drafts.store, 1).stays == {}
    assert {(drafts.top / name).read_text() for name in NAMES} == {"new"}
    assert undo(drafts.store, 1).stays == {}
    assert drafts.tree() == before


def test_of_a_call_that_was_killed_and_had_changed_nothing_nobody_has_to_decide(drafts: Drafts) -> None:
    drafts.run(lambda: None)
    made = drafts.store.checked(1)
    drafts.store.put(made.replace(state=RUNNING, owner=(0, 0)))
    finish_orphans(drafts.store)
    assert drafts.store.sets() == []


def test_what_a_killed_call_had_changed_is_there_to_be_decided_about(drafts: Drafts) -> None:
    drafts.run(lambda: Path("a").write_text("new"))
    drafts.store.put(drafts.store.checked(1).replace(state=RUNNING, owner=(0, 0)))
    finish_orphans(drafts.store)
    assert [each.path for each in drafted(drafts.store, 1).all()] == [str(drafts.top / "a")]
