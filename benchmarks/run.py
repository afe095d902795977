"""What running a call costs beside the work itself: the engine's own time for a Read, and a batch of ten.

    python benchmarks/run.py            # everything, prints the table

Each row names the bound that it is held against. "Engine" is the whole of `Gateway.call` without the handler's own
time: finding the tool, the canonical form, the schema, the verdict, both records, and the limit of the result's size.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from typing import Any

from gateway import Gateway, Options, Output, RawCall, Text
from gateway.calls import handlers

SLOWEST = 0.2


def median(samples: list[float]) -> float:
    return sorted(samples)[len(samples) // 2]


def overhead(gateway: Gateway, path: str, rounds: int) -> tuple[float, float, float]:
    """Microseconds at p50: the engine's own time, the handler's, and the verdict alone."""
    raw = RawCall("Read", {"file_path": path})
    engine, work, verdict = [], [], []
    gc.collect()
    gc.disable()
    for number in range(rounds + 100):
        with gateway.session() as session:  # a second Read in one session would say that nothing has changed
            start = time.perf_counter_ns()
            done = gateway.call(raw, session=session)
            whole = (time.perf_counter_ns() - start) / 1000
        start = time.perf_counter_ns()
        gateway.check(raw)
        judged = (time.perf_counter_ns() - start) / 1000
        if number >= 100:
            own = done.result.seconds * 1e6
            engine.append(whole - own)
            work.append(own)
            verdict.append(judged)
    gc.enable()
    return median(engine), median(work), median(verdict)


def batch(gateway: Gateway) -> float:
    """Seconds that ten Reads take of which each sleeps as long as the slowest."""

    def slow(_call: Any, _work: Any) -> Output:
        time.sleep(SLOWEST)
        return Output((Text("x"),))

    known = handlers.HANDLERS["files.read"]
    handlers.HANDLERS["files.read"], handlers._found["slow"] = "slow", slow
    try:
        start = time.perf_counter()
        found = gateway.batch([RawCall("Read", {"file_path": f"f{n}"}) for n in range(10)])
        took = time.perf_counter() - start
    finally:
        handlers.HANDLERS["files.read"] = known
    assert all(done.text == "x" for done in found)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3_000)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        project = os.path.join(folder, "project")
        os.makedirs(os.path.join(project, ".git"))
        path = os.path.join(project, "small.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("print()\n" * 100)
        with Gateway(Options(cwd=project, binding=True)) as gateway:
            engine, work, verdict = overhead(gateway, path, rounds)
            print(f"engine for a Read, recorded, p50   {engine:8.1f} µs   at most 150 µs")
            print(f"  of it the verdict                {verdict:8.1f} µs")
            print(f"the handler's own work             {work:8.1f} µs")
            print(f"10 Reads of {SLOWEST:g} s each            {batch(gateway):8.3f} s    about {SLOWEST:g} s")


if __name__ == "__main__":
    main()
