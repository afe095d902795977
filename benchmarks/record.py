"""What recording costs: records a second in one process and in eight, the two records of one call, verifying.

    python benchmarks/record.py            # everything, prints the table

Each row names the bound that it is held against. A record is one line: a decision of a call as policy judged it, or an
outcome. Beside the time on the clock stands the processor's: on a machine that others use, too, it is the steadier one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable

from measure import each

from gateway import Gateway, Options, RawCall
from gateway.audit.index import Index
from gateway.audit.log import Log
from gateway.audit.verify import verify
from gateway.model.result import Result
from gateway.model.verdict import Verdict

TEXTS = (
    "git status | head -3",
    "ls -la src",
    "npm test",
    "grep -rn needle src --include=*.py",
    "git commit -m 'a message'",
    "rm -rf build",
    "cat README.md > out.txt && wc -l out.txt",
)
RESULT = Result("exited", 0, b"x" * 100, seconds=0.123, backend="bubblewrap")
REVISION = "0" * 48


def verdicts(folder: str) -> list[Verdict]:
    os.makedirs(os.path.join(folder, ".git"))
    guard = Gateway(Options(cwd=folder))
    calls = [RawCall("Bash", {"command": text}) for text in TEXTS]
    return [guard.check(call) for call in (*calls, RawCall("Read", {"file_path": "src/a.py"}))]


def write(log: Log, some: list[Verdict], calls: int) -> None:
    for number in range(calls):
        known = log.decision(some[number % len(some)], front="benchmark", policy=REVISION)
        log.outcome(known, RESULT)


def rate(work: Callable[[], None], records: int, rounds: int = 9) -> tuple[float, float, float]:
    """Records a second: the median and the best by the clock, the median by the processor's time."""
    by_clock, by_processor = [], []
    for _ in range(rounds):
        clock, processor = time.perf_counter(), time.process_time()
        work()
        by_clock.append(records / (time.perf_counter() - clock))
        by_processor.append(records / (time.process_time() - processor))
    return sorted(by_clock)[rounds // 2], max(by_clock), sorted(by_processor)[rounds // 2]


def several(folder: str, some: list[Verdict], calls: int) -> float:
    """Records a second of eight processes together."""
    start = multiprocessing.Barrier(9)

    def work() -> None:
        log = Log(folder)
        log.outcome("warm", RESULT)
        start.wait()
        write(log, some, calls)

    processes = [multiprocessing.get_context("fork").Process(target=work) for _ in range(8)]
    for process in processes:
        process.start()
    start.wait()
    clock = time.perf_counter()
    for process in processes:
        process.join()
    return 8 * 2 * calls / (time.perf_counter() - clock)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        some = verdicts(os.path.join(folder, "project"))
        log = Log(os.path.join(folder, "state", "audit"))
        write(log, some, 500)
        clock, best, processor = rate(lambda: write(log, some, 5000), 10_000)
        said = f"{clock:,.0f} records/s (best {best:,.0f}; {processor:,.0f} by processor time)"
        print(f"| recording in one process | {said} | ≥ 50,000 records/s |")
        both = each([lambda: log.decision(some[0], front="benchmark", policy=REVISION)], 5000)
        print(f"| one decision recorded | {both} |  |")
        synced = Log(os.path.join(folder, "synced", "audit"), sync=True)
        print(f"| the same, on the disk (`sync`) | {each([lambda: synced.outcome('x', RESULT)], 200)} |  |")
        together = several(os.path.join(folder, "several", "audit"), some, 2000)
        print(f"| recording in eight processes at once | {together:,.0f} records/s together |  |")
        clock = time.perf_counter()
        found = verify(log.folder)
        print(f"| verifying | {found.records / (time.perf_counter() - clock):,.0f} records/s | {found.broken or ''} |")
        clock = time.perf_counter()
        with Index(log.folder) as index:
            count = index.stats()["records"]
        print(f"| indexing for the first time | {count / (time.perf_counter() - clock):,.0f} records/s |  |")


if __name__ == "__main__":
    main()
