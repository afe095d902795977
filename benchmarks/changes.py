"""What saving changes costs: confined calls with it over the same calls without, and undoing.

    python benchmarks/changes.py               # everything, prints the table
    python benchmarks/changes.py --only call
    python benchmarks/changes.py --rounds 5

Both kinds of call take turns in a workspace of 50,000 files, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from gateway import Executor, Gateway, Options
from gateway.api.changes import Changes
from gateway.core.places import Places

FILES, IN_FOLDER = 50_000, 100
MORE, OF_WORK, OF_UNDO = 10.0, 1.05, 500.0
CALLS = {
    "true": "true",
    "one new file, one written, one deleted": "echo x > new; echo y >> f0/0; rm -f f0/1; git checkout -q f0; rm new",
}
RUN = "make -s -f run.mk SCRIPT={}"  # code that nobody knows, which may write the workspace
WORK = {
    "five runs of gcc": "for i in 1 2 3 4 5; do gcc -O1 -c -o m.o m.c; done",
    "git status, add and commit of 20 files": (
        "for i in $(seq 20); do echo x$RANDOM > f1/$i; done; git status -s; git add f1; "
        "git -c user.name=a -c user.email=a@b commit -qm x"
    ),
    "a test suite in Python, 200 tests": "python3 -m unittest -q tests_many",
    "compile 300 modules of Python": "python3 -m compileall -q -f lib",
    "unpack 2,000 files": "rm -rf unpacked; mkdir unpacked; tar -xf many.tar -C unpacked",
    "1,000 files written in place": "for i in $(seq 1000); do echo x >> f2/$((i % 100)); done",
    "rm -rf of 2,500 files": "cp -r unpacked gone 2>/dev/null; rm -rf gone",
}


def sources(top: Path, files: int) -> None:
    """So many files to read, and what is compiled and tested."""
    for folder in range(files // IN_FOLDER):
        (top / f"f{folder}").mkdir()
        for number in range(IN_FOLDER):
            (top / f"f{folder}" / str(number)).write_text(f"line {number}\n" * 10)
    (top / "m.c").write_text('#include <stdio.h>\nint main(void) { puts("x"); return 0; }\n')
    test = "def test_{0}(self):\n        self.assertEqual(sorted(range({0})), list(range({0})))\n"
    (top / "tests_many.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n" + "".join("    " + test.format(each) for each in range(200))
    )
    (top / "run.mk").write_text("all:\n\t@bash $(SCRIPT)\n")


def fill(top: Path) -> None:
    """A repository with as many files as a large one has."""
    sources(top, FILES)
    (top / "lib").mkdir()
    for each in range(300):
        (top / "lib" / f"m{each}.py").write_text("def f(x):\n    return [x * y for y in range(x)]\n" * 40)
    os.system(f"cd {top} && git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")
    os.system(
        f"cd {top} && mkdir w && cp -r f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 w/ && cp -r w w2 && tar -cf many.tar w w2"
    )
    shutil.rmtree(top / "w")
    shutil.rmtree(top / "w2")


def compared(text: str, executors: tuple[Executor, Executor], rounds: int) -> tuple[float, float, float]:
    """Milliseconds without and with saving, by the median, and how the pairs compare."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for executor, kept in zip(executors, times, strict=True):
            began = time.perf_counter()
            done = executor.run(text, seconds=300)
            took = (time.perf_counter() - began) * 1000
            if done.result.status:
                raise SystemExit(f"{text}: {done.result.reason or done.result.stderr.decode()}")
            if number:
                kept.append(took)
    plain, saved = statistics.median(times[0]), statistics.median(times[1])
    return plain, saved, statistics.median(b / a for a, b in zip(*times, strict=True))


def undone(gateway: Gateway, executor: Executor) -> float:
    """Milliseconds to undo a call that wrote, deleted and made 1,000 files."""
    text = (
        "for i in $(seq 0 99); do for d in 20 21 22 23; do echo x >> f$d/$i; done; done; rm -r f24 f25 f26; "
        "mkdir n n2; for i in $(seq 300); do echo x > n/$i; done"
    )
    with open(f"{gateway.context.root}/undone.sh", "w") as file:
        file.write(text)
    executor.run(RUN.format("undone.sh"), seconds=100)
    changes = Changes(gateway)
    number = changes.last()
    began = time.perf_counter()
    plan = changes.undo(number)
    took = (time.perf_counter() - began) * 1000
    if plan.stays or len(plan.gone) + len(plan.restored) < 1_000:
        raise SystemExit(f"it did not undo all: {plan.stays}, {len(plan.gone)}, {len(plan.restored)}")
    return took


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("call", "work", "undo"))
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as folder:
        base = Path(folder)
        top = base / "workspace"
        top.mkdir()
        (base / "home").mkdir()
        fill(top)
        where = Places(
            str(base / "etc"), str(base / "config"), state=str(base / "state"), cache=str(base / "cache"),
            home=str(base / "home"),
        )  # fmt: skip
        gateway = Gateway(Options(cwd=str(top), mode="bypass", binding=True), where=where)
        with Executor(gateway, saves_changes=False) as plain, Executor(gateway) as saving:
            both = (plain, saving)
            if given.only in (None, "call"):
                for name, text in CALLS.items():
                    before, after, _ratio = compared(text, both, given.rounds * 3)
                    print(
                        f"{name:50} {before:8.1f} -> {after:8.1f} ms  {after - before:+6.1f} ms (at most +{MORE:.0f})"
                    )
            if given.only in (None, "work"):
                for number, (name, text) in enumerate(WORK.items()):
                    (top / f"work{number}.sh").write_text(text)
                    text = RUN.format(f"work{number}.sh")
                    before, after, ratio = compared(text, both, given.rounds)
                    print(f"{name:50} {before:8.1f} -> {after:8.1f} ms  {ratio:6.3f} of it (at most {OF_WORK})")
            if given.only in (None, "undo"):
                took = statistics.median(undone(gateway, saving) for _ in range(3))
                print(f"{'undo of 1,000 files':50} {took:8.1f} ms (at most {OF_UNDO:.0f})")


if __name__ == "__main__":
    main()
