"""Writers that are killed at any byte, one after the other, those that mend among them: the record stays whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit import chain, store
from gateway.audit import recovery as mend
from gateway.audit.store import Store
from gateway.audit.verify import verify

BODY = '{{"kind":"test","said":{}}}'
THEN = "2026-01-01T00:00:00.000000Z"


class Killed(BaseException):
    """What ends a writer in the middle of what it does; nothing of it runs any more."""


class Ending:
    """`os` for a writer that is killed after so many bytes: the last write gets as far as they last."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, file: int, data: bytes) -> int:
        done = os.write(file, data[: self.left]) if self.left > 0 else 0
        self.left -= len(data)
        if self.left < 0:
            raise Killed
        return done

    def pwrite(self, file: int, data: bytes, at: int) -> int:
        """The seal lies in one page: all of it is written, or nothing."""
        self.left -= 1
        if self.left < 0:
            raise Killed
        return os.pwrite(file, data, at)

    def ftruncate(self, _file: int, _size: int) -> None:
        """It is not there any more to take anything back."""
        assert self.left < 0


def killed(folder: Path, said: int, after: int, most: int) -> bool:
    """Whether a writer is killed, after so many bytes, before it has told its record."""
    writer = Store(str(folder), most_bytes=most, keep=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "os", Ending(after))
        try:
            writer.append(BODY.format(said))
        except Killed:
            return True
        finally:
            writer.close()
    return False


@given(st.lists(st.integers(0, 700), min_size=1, max_size=8), st.sampled_from((600, 1 << 20)))
def test_whatever_writers_leave_the_next_one_goes_on(ends: list[int], most: int) -> None:
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, "a", "b", "c", "d")
        folder.mkdir(parents=True, mode=0o700)
        acknowledged = []
        for number, after in enumerate([10_000, *ends, 10_000]):
            if not killed(folder, number, after, most):
                acknowledged.append(number)
            found = verify(str(folder))
            assert found.broken is None, found
        assert acknowledged[-1] == len(ends) + 1
        assert all("torn record" in note for note in found.notes)
        said = [
            record["said"]
            for path in sorted(folder.glob("*.jsonl"))
            for line in path.read_bytes().splitlines()
            if (record := chain.read(line + b"\n")) is not None and "said" in record
        ]
        assert [each for each in said if each in acknowledged] == acknowledged
        assert said == sorted(set(said))


def line(number: int, head: str) -> bytes:
    return chain.link(number, head, BODY.format(number))


SEAL = chain.Seal(1, 0, 3, "a" * 64)
NEXT = line(4, SEAL.head)
TORN = NEXT[:90]


def mended(found: bytes) -> tuple[bytes, mend.Standing]:
    standing = mend.taken_over(SEAL, found, THEN)
    return found + standing.left, standing


@pytest.mark.parametrize("cut", [1, 2, 60, 100, -1, None], ids=lambda cut: f"after {cut} of its bytes")
def test_a_mark_of_a_writer_that_was_killed_in_its_turn(cut: int | None) -> None:
    whole, standing = mended(TORN)
    (first,) = chain.link(4, SEAL.head, "{}").split(b",", 1)[:1]
    assert standing.left[:1] == b"\n"
    assert standing.left[1:].startswith(first)
    again = mend.taken_over(SEAL, whole[: len(TORN) + (cut if cut is not None else len(standing.left))], THEN)
    found = whole[: len(TORN) + (cut if cut is not None else len(standing.left))] + again.left
    assert (again.seal.count, mend.taken_over(SEAL, found, THEN).left) == (4, b"")


@pytest.mark.parametrize(
    "foreign",
    [b"x\n", b"x", TORN + b"\nx\n", TORN + b"\nx", b'{"n":4}\n', line(5, SEAL.head), TORN + b"\n" + line(4, "b" * 64)],
    ids=["a line", "a text", "a line behind a torn one", "a text behind a torn one", "a record without a link",
         "a record that comes later", "a record of another chain behind a torn one"],
)  # fmt: skip
def test_what_no_writer_left_is_marked_as_foreign(foreign: bytes) -> None:
    assert b'"mark":"foreign"' in mend.taken_over(SEAL, foreign, THEN).left
