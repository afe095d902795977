"""What a call took of a disk: files as they are allocated, each once, and none that were there before."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from gateway.sandbox import allocated as module
from gateway.sandbox.allocated import allocated

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MIB = 1 << 20


def test_files_changed_since_are_counted_by_what_they_take(tmp_path: Path) -> None:
    (tmp_path / "before").write_bytes(bytes(4 * MIB))
    os.utime(tmp_path / "before")
    since = os.stat(tmp_path / "before").st_ctime + 0.001
    while time.time() < since + 0.02:  # the clock of a file system goes in steps
        os.stat(tmp_path)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    with open(tmp_path / "deep" / "down" / "full", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2 * MIB)
    os.link(tmp_path / "deep" / "down" / "full", tmp_path / "again")
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(64 * MIB)
    os.symlink("/usr", tmp_path / "link")
    found = allocated((str(tmp_path),), [], since, 1 << 40)
    assert 2 * MIB <= found < 3 * MIB


def test_a_file_without_a_name_counts_while_it_is_open(tmp_path: Path) -> None:
    with open(tmp_path / "gone", "wb") as file:
        file.write(bytes(2 * MIB))
        file.flush()
        os.unlink(tmp_path / "gone")
        assert allocated((str(tmp_path),), [], 0.0, 1 << 40) == 0
        assert allocated((str(tmp_path),), [os.getpid()], 0.0, 2 * MIB) == 2 * MIB


def test_it_stops_at_enough_also_where_there_is_too_much_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    assert allocated((str(tmp_path),), [], 0.0, 7) == 0
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    assert allocated((str(tmp_path),), [], 0.0, 7) == 7
