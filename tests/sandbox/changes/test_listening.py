"""A program whose calls are told of goes on, whatever becomes of the saving."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sandbox.changes.worlds import World

from gateway.sandbox.changes.journal import Journal
from gateway.sandbox.changes.saver import Saver


def program() -> None:
    """Three calls that are told of."""
    Path("a").write_text("x")
    os.rename("a", "b")
    os.mkdir("c")


def test_it_is_saved(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run(program) is not None
    assert sorted(os.listdir(world.top)) == ["b", "c"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("a fault of ours")])
def test_when_saving_fails_it_goes_on_and_that_is_told(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr(Saver, "content", fails)
    world = World(tmp_path)
    with pytest.raises(AssertionError, match=r"saving has failed|not understood"):
        world.run(program)
    assert sorted(os.listdir(world.top)) == ["b", "c"]


def test_when_the_journal_cannot_be_written_it_goes_on_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_journal: Journal) -> None:
        raise OSError(28, "No space left on device")

    world = World(tmp_path)
    monkeypatch.setattr(Journal, "flush", fails)
    with pytest.raises(OSError, match="No space left"):
        world.run(program)
    assert sorted(os.listdir(world.top)) == ["b", "c"]
