"""What a draft costs: confined calls on a layer, with their changes kept, over the same calls without a layer.

    python benchmarks/drafts.py               # everything, prints the table
    python benchmarks/drafts.py --rounds 5 --files 5000

Both kinds of call take turns in one workspace, so that both see the same machine. Commands that are predicted to read
only get no layer: they are here to show that.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from changes import sources

from gateway import Executor, Gateway, Options
from gateway.approval.callback import Callback
from gateway.core.places import Places

RUN = "make -s -f run.mk SCRIPT={}"  # code that nobody knows
WORK = {  # what it does, the most it may cost over the same without a layer, and what comes between two rounds
    "nothing": ("true", "3 ms", "true"),
    "10,000 new files": (
        "for d in $(seq 100); do mkdir -p new/$d; (cd new/$d; touch $(seq 100)); done", "1.2", "rm -rf new",
    ),
    "1,000 files overwritten": (
        "for i in $(seq 0 999); do echo x > f$((i / 100))/$((i % 100)); done", "4",
        "for i in $(seq 0 999); do echo y > f$((i / 100))/$((i % 100)); done",
    ),
    "five runs of gcc": ("for i in 1 2 3 4 5; do gcc -O1 -c -o m.o m.c; done", "1.25", "rm -f m.o"),
    "a test suite in Python, 200 tests": ("python3 -m unittest -q tests_many", "1.25", "rm -rf __pycache__"),
}  # fmt: skip
READING = {"git status": "git status --short", "grep -r": "grep -rl nothing-like-this . | wc -l"}


def fill(top: Path, files: int) -> None:
    """A repository with so many files, and what the work needs."""
    sources(top, files)
    for number, (text, _most, _between) in enumerate(WORK.values()):
        (top / f"work{number}.sh").write_text(text)
    os.system(f"cd {top} && git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=50_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as folder:
        base = Path(folder)
        top = base / "workspace"
        top.mkdir()
        (base / "home").mkdir()
        fill(top, given.files)
        where = Places(
            str(base / "etc"), str(base / "config"), state=str(base / "state"), cache=str(base / "cache"),
            home=str(base / "home"),
        )  # fmt: skip
        gateway = Gateway(Options(cwd=str(top), mode="bypass", binding=True), where=where)
        keeps = Callback(lambda _question: False, review=lambda _review: True)
        asks = gateway.context.replace(changes="ask")
        with Executor(gateway, saves_changes=False) as plain, Executor(gateway, approver=keeps) as drafts:

            def took(executor: Executor, text: str) -> float:
                began = time.perf_counter()
                done = executor.run(text, seconds=300, context=asks if executor is drafts else None)
                if done.result.status:
                    raise SystemExit(f"{text}: {done.result.reason or done.result.stderr.decode()}")
                return (time.perf_counter() - began) * 1000

            work = [(name, RUN.format(f"work{number}.sh"), *rest) for number, (name, (_text, *rest)) in
                    enumerate(WORK.items())]  # fmt: skip
            work += [(name, text, "1.0", "true") for name, text in READING.items()]
            for name, text, most, between in work:
                pairs = []
                for number in range(given.rounds + 1):
                    pair = []
                    for executor in (plain, drafts):
                        os.system(f"cd {top} && {between}")
                        pair.append(took(executor, text))
                    pairs += [pair] if number else []
                before, after = (statistics.median(each) for each in zip(*pairs, strict=True))
                ratio = statistics.median(two / one for one, two in pairs)
                print(f"{name:40} {before:8.1f} -> {after:8.1f} ms  {ratio:6.2f} of it (at most {most})", flush=True)


if __name__ == "__main__":
    main()
