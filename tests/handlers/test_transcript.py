"""What a command prints: the whole in a file within a bound, the latest part at hand, each reader from where he was."""

from __future__ import annotations

import os
import stat
import threading
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from gateway.calls.command_output import SPILL, Since, Transcript
from gateway.core.cancel import Cancel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAR = monotonic() + 1_000_000  # longer than any run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def transcript(file: Path) -> Iterator[Transcript]:
    made = Transcript(str(file), at_once=True)
    yield made
    made.end()


def test_the_file_holds_everything_and_is_for_its_owner_alone(transcript: Transcript, file: Path) -> None:
    transcript.add(b"a\n")
    transcript.add(b"\xff\0b")
    assert file.read_bytes() == b"a\n\xff\0b"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (transcript.total, transcript.on_disk, transcript.problem) == (5, True, "")


def test_a_short_output_costs_no_file_and_a_long_one_is_whole(file: Path) -> None:
    transcript = Transcript(str(file), at_once=False)
    transcript.add(b"x" * SPILL)
    assert (file.exists(), transcript.on_disk) == (False, False)
    transcript.add(b"y")
    assert file.read_bytes() == b"x" * SPILL + b"y"
    transcript.add(b"z")
    transcript.end()
    assert file.read_bytes() == b"x" * SPILL + b"yz"


def test_nothing_that_is_there_is_written_over(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    file.symlink_to(other)
    transcript = Transcript(str(file), at_once=True)
    transcript.add(b"x")
    assert other.read_text() == "mine"
    assert (transcript.problem, transcript.since(0).data) == (f"{file}: File exists", b"x")


def test_the_whole_is_read_from_the_file_and_never_through_a_link(file: Path, tmp_path: Path) -> None:
    transcript = Transcript(str(file), at_once=True, kept=1)
    for _ in range(10):
        transcript.add(b"xyz")
    transcript.end()
    assert transcript.whole() == b"xyz" * 10
    file.rename(tmp_path / "other")
    file.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        transcript.whole()


def test_the_file_is_bounded_and_what_is_at_hand_goes_on(file: Path) -> None:
    transcript = Transcript(str(file), at_once=True, on_disk=10)
    transcript.add(b"12345678")
    transcript.add(b"90abc")
    assert file.read_bytes() == b"1234567890"
    assert (transcript.problem, transcript.total) == ("there is more than a file may hold", 13)
    transcript.end()


def test_a_full_disk_does_not_stop_the_command() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    transcript = Transcript("/nowhere/at/all", at_once=True)
    transcript._file = os.open("/dev/full", os.O_WRONLY)
    transcript.problem = ""
    transcript.add(b"x")
    transcript.add(b"y")
    assert (transcript.problem, transcript.since(0).data) == ("/nowhere/at/all: No space left on device", b"xy")
    transcript.end()


def test_each_reader_goes_on_from_where_he_was(transcript: Transcript) -> None:
    transcript.add(b"one")
    assert transcript.since(0) == Since(b"one", 3, 0, False)
    assert transcript.since(3) == Since(b"", 3, 0, False)
    transcript.add(b"two")
    assert (transcript.since(3), transcript.since(0).data) == (Since(b"two", 6, 0, False), b"onetwo")
    transcript.end()
    assert transcript.since(6) == Since(b"", 6, 0, True)


def test_who_looks_too_late_is_told_how_much_he_missed(file: Path) -> None:
    transcript = Transcript(str(file), at_once=True, kept=10)
    for number in range(10):
        transcript.add(b"%03d." % number)
    since = transcript.since(0)
    assert since.missed + len(since.data) == transcript.total == 40
    assert since.data.endswith(b"008.009.")
    assert len(since.data) <= 20
    assert len(file.read_bytes()) == 40
    transcript.end()


def test_waiting_ends_with_something_new_with_the_end_and_with_a_cancel(transcript: Transcript) -> None:
    transcript.add(b"x")
    assert transcript.wait(0, FAR)
    cancel = Cancel()
    for act, expected in (
        (lambda: transcript.add(b"y"), True),
        (cancel.set, False),
        (transcript.end, True),
    ):
        position = transcript.total
        other = threading.Timer(0.02, act)
        other.start()
        assert transcript.wait(position, FAR, cancel) is expected
        other.join()
        if act == cancel.set:
            cancel.close()
            cancel = Cancel()
    cancel.close()


def test_waiting_ends_with_its_time(transcript: Transcript) -> None:
    assert not transcript.wait(0, monotonic() + 0.01)
    assert not transcript.wait(0, monotonic() - 1)
    assert transcript._bells == set()
