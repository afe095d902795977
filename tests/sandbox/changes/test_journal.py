"""Lines of a journal are on the disk before what they speak of happens, each whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gateway.sandbox.changes import journal as journals
from gateway.sandbox.changes.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_held_is_written_with_the_next_line_or_the_end(tmp_path: Path) -> None:
    path = tmp_path / "before"
    journal = Journal(str(path))
    journal.hold(["was", "/a", None])
    assert path.read_text() == ""
    journal.note(["was", "/b", None])
    assert path.read_text() == '["was","/a",null]\n["was","/b",null]\n'
    journal.hold(["moved", "/c"])
    journal.close()
    journal.close()
    assert (path.read_text().splitlines()[2:], journal.is_closed) == (['["moved","/c"]'], True)


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "before"
    journal = Journal(str(path))
    journal.note(["was", "/a", None])
    write = os.write
    monkeypatch.setattr(journals.os, "write", lambda to, data: write(to, data[:5]))
    journal.hold(["was", "/b", None])
    with pytest.raises(OSError, match="No space left"):
        journal.flush()
    monkeypatch.undo()
    journal.note(["was", "/c", None])
    assert path.read_text() == '["was","/a",null]\n["was","/c",null]\n'
