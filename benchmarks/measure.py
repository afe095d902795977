"""Timing that is worth comparing: many rounds, the garbage collector off, p50 and p99 of single calls."""

from __future__ import annotations

import gc
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Timing(NamedTuple):
    """Microseconds."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"{self.p50:9.1f} / {self.p99:9.1f} µs"


def each(calls: Sequence[Callable[[], Any]], rounds: int = 200, warm_up: int = 20) -> Timing:
    """Every call timed by itself, `rounds` times over the whole sequence."""
    for _ in range(warm_up):
        for call in calls:
            call()
    clock = time.perf_counter_ns
    samples = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for call in calls:
                start = clock()
                call()
                samples.append(clock() - start)
    finally:
        gc.enable()
    samples.sort()
    return Timing(samples[len(samples) // 2] / 1000, samples[int(len(samples) * 0.99)] / 1000)


def processes(commands: dict[str, list[str]], rounds: int = 31, **options: Any) -> dict[str, Timing]:
    """Wall time of whole processes, the commands taken in turns so that all see the same machine."""
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 2):
        for name, command in commands.items():
            start = time.perf_counter_ns()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **options)
            if number >= 2:
                samples[name].append((time.perf_counter_ns() - start) / 1000)
    return {
        name: Timing(statistics.median(values), sorted(values)[int(len(values) * 0.99)])
        for name, values in samples.items()
    }
