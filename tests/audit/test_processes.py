"""Eight processes that write at once and are killed at random: what was acknowledged is there, and nothing is torn."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from fuzzing import share

from gateway.audit.verify import verify

WRITER = """
import os, random, sys
from gateway.audit.store import Store
folder, who = sys.argv[1:]
chance = random.Random(who)
store = Store(folder, most_bytes=chance.choice((100_000, 200_000, 800_000)), keep=0)
count = 0
while True:
    count += 1
    more = "x" * chance.choice((0, 10, 200, 5000, 20000))
    store.append('{"kind":"test","said":["%s",%d],"more":"%s"}' % (who, count, more))
    os.write(1, b"%d\\n" % count)
"""


@pytest.mark.parametrize("seed", share(range(3), 3))
def test_eight_processes_killed_at_random_lose_and_tear_nothing(place, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged: dict[str, int] = {}
    for turn in range(2):
        writers = {
            f"{turn}.{number}": subprocess.Popen(
                [sys.executable, "-c", WRITER, place.path, f"{turn}.{number}"], stdout=subprocess.PIPE
            )
            for number in range(8)
        }
        try:
            for who, writer in writers.items():
                assert writer.stdout is not None
                for _ in range(chance.randrange(1, 40)):
                    writer.stdout.readline()
                writer.kill()
                told = writer.stdout.read().split()
                acknowledged[who] = int(told[-1]) if told else 1
        finally:
            for writer in writers.values():
                writer.kill()
                writer.wait()
                assert writer.stdout is not None
                writer.stdout.close()
    place.store().append('{"kind":"test","said":["end",1]}')

    counts: dict[str, list[int]] = {}
    for said in place.said():
        if isinstance(said, list):
            counts.setdefault(said[0], []).append(said[1])
    lost = {who: last for who, last in acknowledged.items() if len(counts[who]) < last}
    assert lost == {}
    assert {who for who, numbers in counts.items() if numbers != list(range(1, len(numbers) + 1))} == set()
    found = verify(place.path)
    assert found.broken is None
    assert all(note.startswith("a torn record of ") for note in found.notes)
    assert os.path.getsize(place.folder / "seal") > 0
