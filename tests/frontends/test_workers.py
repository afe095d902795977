"""A long batch is judged by several processes, and says what one would have said."""

from __future__ import annotations

import io
import json
import os
import signal
from itertools import product
from typing import TYPE_CHECKING

import pytest
from fuzzing import share

from gateway.frontends import workers
from gateway.frontends.batch import lines_of
from gateway.frontends.workers import CHUNK, Workers, chunks, workers_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def numbered(count: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(count))


def opened(text: bytes) -> Iterator[list[bytes | None]]:
    return chunks(lines_of(io.BytesIO(text)))


def told(chunk: list[bytes | None]) -> tuple[str, int, int]:
    return b"".join(line or b"" for line in chunk).decode(), len(chunk), 3


# Each of the sizes, and each number of workers; all pairs in a thorough run.
@pytest.mark.parametrize(("size", "count"), share(product([0, 1, CHUNK, CHUNK + 1, 9 * CHUNK - 1], [1, 2, 3, 7]), 3))
def test_the_answers_come_in_the_order_of_the_lines(count: int, size: int) -> None:
    text = numbered(size)
    many = Workers(count, lambda: opened(text), told)
    try:
        found = [many.answer(index) for index, _ in enumerate(opened(text))]
    finally:
        many.close()
    assert found == [told(chunk) for chunk in opened(text)]


def test_a_worker_that_dies_answers_nothing_more_and_the_others_go_on() -> None:
    def deadly(chunk: list[bytes | None]) -> tuple[str, int, int]:
        if chunk[0] == b"%d\n" % (2 * CHUNK):  # the second chunk of the first worker
            os.kill(os.getpid(), signal.SIGKILL)
        return told(chunk)

    text = numbered(6 * CHUNK)
    many = Workers(2, lambda: opened(text), deadly)
    try:
        found = [many.answer(index) for index in range(6)]
    finally:
        many.close()
    expected = [told(chunk) for chunk in opened(text)]
    assert found == [expected[0], expected[1], None, expected[3], None, expected[5]]


def test_a_fault_in_a_worker_is_left_to_who_asked() -> None:
    def faulty(_chunk: list[bytes | None]) -> tuple[str, int, int]:
        raise RuntimeError("a fault")

    many = Workers(2, lambda: opened(numbered(3)), faulty)
    try:
        assert many.answer(0) is None
    finally:
        many.close()


def test_a_small_file_needs_nobody_else() -> None:
    assert workers_for(workers.LEAST_SIZE - 1) == 1


def test_a_long_file_is_judged_on_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(3)), raising=False)
    assert workers_for(workers.LEAST_SIZE) == 3


def test_a_long_batch_says_what_a_stream_of_the_same_lines_says(gateway, tmp_path: Path) -> None:
    calls = ["Bash(git status)", "Read(/etc/shadow)", "Bash(rm -rf build)", "Nothing(x)", "Bash(ls | wc -l)"]
    text = "".join(
        json.dumps({"id": at, "call": calls[at % 5], "pad": " " * (workers.LEAST_SIZE // 40)}) + "\n"
        for at in range(40)
    )
    text += "".join(json.dumps({"id": at, "call": calls[at % 5]}) + "\n" for at in range(40, 400))
    assert len(text) > workers.LEAST_SIZE
    (tmp_path / "calls").write_text(text)
    done = [
        gateway("check", "--batch", str(tmp_path / "calls")),
        gateway("check", "--batch", "-", input=text.encode()),
    ]
    answers = [[json.loads(line) for line in each.stdout.splitlines()] for each in done]
    for answer in (*answers[0], *answers[1]):
        answer.pop("elapsed_us", None)
    assert answers[0] == answers[1]
    assert [each.returncode for each in done] == [2, 2]
