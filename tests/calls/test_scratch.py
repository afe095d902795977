"""Folders for outputs: where they lie, that nobody else can look into them, and that none outlives its process."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.calls import scratch
from gateway.calls.output import Failure
from gateway.calls.scratch import PREFIX, Scratch, reserved, sweep


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    found = os.path.realpath(tmp_path)
    monkeypatch.setenv("TMPDIR", found)
    monkeypatch.setattr(scratch, "_swept", set())
    return found


def test_the_path_is_in_the_temporary_folder_and_no_two_are_alike(place: str) -> None:
    paths = {reserved(()) for _ in range(100)}
    assert len(paths) == 100
    assert all(re.fullmatch(re.escape(f"{place}/{PREFIX}") + "[0-9a-f]{24}", each) for each in paths)
    assert os.listdir(place) == []


def test_it_lies_in_no_tree_that_commands_may_write(place: str) -> None:
    assert os.path.dirname(reserved((place + "/elsewhere",))) == place
    other = os.path.dirname(reserved((place,)))
    assert other in [os.path.realpath(each) for each in ("/tmp", "/var/tmp")]
    assert os.path.dirname(reserved((other, place))) != place


@pytest.mark.parametrize("wanted", ["relative", "/no/such/folder", ""])
def test_a_temporary_folder_that_is_none_does_not_count(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv("TMPDIR", wanted)
    assert os.path.dirname(reserved(())) == os.path.realpath("/tmp")


def test_it_is_ones_own_and_goes_with_all_that_is_in_it(place: str) -> None:
    made = Scratch(reserved(()))
    assert stat.S_IMODE(os.stat(made.path).st_mode) == 0o700
    Path(made.path, "x").write_text("x", encoding="utf-8")
    assert os.listdir(place) == [os.path.basename(made.path)]
    made.remove()
    made.remove()
    assert os.listdir(place) == []


def test_where_none_can_be_made_the_reason_is_told_and_nothing_left(place: str) -> None:
    path = f"{place}/{PREFIX}x"
    Path(path).write_text("mine", encoding="utf-8")
    with pytest.raises(Failure, match=f"No folder for outputs can be made in {place}: Not a directory."):
        Scratch(path)
    assert os.listdir(place) == [f"{PREFIX}x"]
    with pytest.raises(Failure, match="No such file"):
        Scratch(f"{place}/no-such/{PREFIX}x")


PROGRAM = """
import os, sys
from gateway.calls.scratch import Scratch, reserved
made = Scratch(reserved(()))
open(made.path + "/output.txt", "w").close()
print(made.path, flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_has_is_not(place: str) -> None:
    def start() -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    (killed, left), (living, kept) = start(), start()
    with killed, living:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert os.path.isdir(left)
        sweep(place)
        assert (os.path.exists(left), os.listdir(kept)) == (False, ["output.txt"])
        living.kill()


def test_only_folders_of_ones_own_that_look_like_it_are_swept(place: str) -> None:
    digits = "0" * 24
    names = [f"{PREFIX}{digits}", f"{PREFIX}{digits[1:]}1", f"{PREFIX}{digits[2:]}22", f"{PREFIX}short", "other"]
    for name in names[:1] + names[3:]:
        os.mkdir(f"{place}/{name}", 0o700)
    os.mkdir(f"{place}/{names[1]}", 0o700)
    os.chmod(f"{place}/{names[1]}", 0o755)
    os.symlink(f"{place}/other", f"{place}/{names[2]}")
    sweep(place)
    assert sorted(os.listdir(place)) == sorted(names[1:])


def test_a_process_sweeps_a_folder_once(place: str) -> None:
    sweep(place)
    os.mkdir(f"{place}/{PREFIX}{'0' * 24}", 0o700)
    sweep(place)
    assert len(os.listdir(place)) == 1
