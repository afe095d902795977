"""What confinement costs: a call over a plain subprocess, calls a second, and real work inside.

    python benchmarks/confine.py           # everything, prints the table
    python benchmarks/confine.py --only call

Each row names the bound that it is held against. Plain and confined runs take turns, so that both see the same machine.
The confined ones have everything on but filtered egress: all namespaces, the filter of system calls, limits, watcher.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Limits, Mount, Network, SandboxPlan
from gateway.sandbox import limits
from gateway.sandbox.base import Streams
from gateway.sandbox.bubblewrap import Bubblewrap
from gateway.sandbox.watch import Watcher

BOUNDS = Limits(seconds=60, cpu_seconds=60, memory=4 << 30, processes=512, files=4096, file_size=4 << 30, disk=4 << 30)
PATH = "/usr/local/bin:/usr/bin:/bin"
TRUE = ["/bin/sh", "-c", "true"]
WORK = {
    "find with stat over /usr/share": "find /usr/share -size +100M 2> /dev/null || true",
    "five runs of gcc": "for i in 1 2 3 4 5; do gcc -O1 -c -o m.o m.c; done",
    "git status and log, ten times": "for i in 1 2 3 4 5 6 7 8 9 10; do git status -s; git log -3 --stat; done > log",
    "400 processes": "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done",
}


def project(folder: Path) -> Path:
    """A small repository with something to compile, to protect and to hide."""
    root = folder / "project"
    root.mkdir()
    functions = "\n".join(f"int f{number}(int x) {{ return x * {number}; }}" for number in range(500))
    (root / "m.c").write_text(f"#include <stdio.h>\n{functions}\n")
    (root / ".env").write_text("x\n")
    quiet = {"cwd": root, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["git", "init", "-q"], **quiet)
    for number in range(50):
        (root / f"file{number}.txt").write_text("text\n" * number)
    subprocess.run(["git", "add", "-A"], **quiet)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"], **quiet)
    return root


def plan_for(root: Path) -> SandboxPlan:
    """What an ordinary call gets: system, workspace with protected and hidden names, a private HOME and /tmp."""
    tops = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
    links = tuple((f"/{name}", os.readlink(f"/{name}")) for name in tops if os.path.islink(f"/{name}"))
    mounts = [Mount(f"/{name}", READ) for name in tops if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")]
    mounts += [Mount("/etc", READ), Mount("/usr", READ), Mount("/etc/shadow", HIDDEN, False)]
    mounts += [Mount(str(root), WRITE), Mount(f"{root}/.git/hooks", FIXED), Mount(f"{root}/.git/config", FIXED, False)]
    mounts += [Mount(f"{root}/.env", HIDDEN, False)]
    environment = (("HOME", "/root"), ("PATH", PATH))
    return SandboxPlan(tuple(sorted(mounts)), links, ("/root", "/tmp"), str(root), environment, Network(), BOUNDS)


def confined(backend: Bubblewrap, plan: SandboxPlan, argv: list[str], nowhere: int) -> int:
    """One call as the runner makes it."""
    running = backend.start(plan, argv, Streams(nowhere, nowhere, nowhere))
    try:
        limits.apply(running.root, plan.limits)
        watcher = Watcher(running, plan.limits, (plan.cwd,), (*plan.private, "/dev/shm"))
        running.release()
        watcher.start()
        poll = select.poll()
        poll.register(running.exited, select.POLLIN)
        poll.poll()
        status = running.wait()
        broken = watcher.stop()
        assert not broken, broken
        return status
    finally:
        running.close()


def plain(root: Path, argv: list[str], nowhere: int) -> int:
    return subprocess.run(
        argv, cwd=root, env={"HOME": "/root", "PATH": PATH}, stdin=nowhere, stdout=nowhere, stderr=nowhere, check=False
    ).returncode


def pairs(first: Callable[[], int], second: Callable[[], int], rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each, sorted; they take turns."""
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 3):
        for call, found in zip((first, second), samples, strict=True):
            start = time.perf_counter_ns()
            assert call() == 0
            if number >= 3:
                found.append((time.perf_counter_ns() - start) / 1e6)
    return sorted(samples[0]), sorted(samples[1])


def at(samples: list[float], part: float) -> float:
    return samples[int(len(samples) * part)]


def call(backend: Bubblewrap, root: Path, nowhere: int) -> list[list[str]]:
    rows = []
    full = plan_for(root)
    least = full.replace(mounts=tuple(mount for mount in full.mounts if mount.access not in (FIXED, HIDDEN)))
    for title, plan in (("system and workspace", least), ("with protected and hidden names", full)):
        bare, held = pairs(lambda: plain(root, TRUE, nowhere), lambda p=plan: confined(backend, p, TRUE, nowhere), 300)
        over = (at(held, 0.5) - at(bare, 0.5), at(held, 0.95) - at(bare, 0.95))
        rows.append(
            [
                f"`sh -c true` over a plain one, {title}",
                f"{over[0]:.1f} / {over[1]:.1f} ms (p50 / p95; plain {at(bare, 0.5):.1f})",
                "≤ 5 / ≤ 12 ms",
            ]
        )
    return rows


def throughput(backend: Bubblewrap, root: Path, nowhere: int) -> list[list[str]]:
    plan = plan_for(root)
    rows = []
    for threads in (1, 2, 4):
        left = threading.Semaphore(400)
        times: list[float] = []

        def work(left: threading.Semaphore = left, times: list[float] = times) -> None:
            while left.acquire(blocking=False):
                start = time.perf_counter()
                assert confined(backend, plan, TRUE, nowhere) == 0
                times.append((time.perf_counter() - start) * 1000)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - start
        assert len(times) == 400
        bound = "≥ 200 calls/s" if threads > 1 else ""
        rows.append(
            [f"calls with {threads} threads", f"{400 / seconds:.0f} calls/s, p50 {sorted(times)[200]:.1f} ms", bound]
        )
    return rows


def work(backend: Bubblewrap, root: Path, nowhere: int) -> list[list[str]]:
    plan = plan_for(root)
    rows = []
    for title, text in WORK.items():
        if "gcc" in text and shutil.which("gcc", path=PATH) is None:
            continue
        argv = ["/bin/sh", "-c", text]
        bare, held = pairs(
            lambda argv=argv: plain(root, argv, nowhere), lambda argv=argv: confined(backend, plan, argv, nowhere), 9
        )
        ratio = at(held, 0.5) / at(bare, 0.5)
        rows.append([title, f"{at(held, 0.5):.0f} ms = {ratio:.2f} × plain", "≤ 1.10 ×"])
    return rows


PARTS = {"call": call, "throughput": throughput, "work": work}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    backend = Bubblewrap()
    probe = backend.probe()
    if not probe.works:
        raise SystemExit(f"bubblewrap does not hold here: {probe.reason}")
    nowhere = os.open(os.devnull, os.O_RDWR)
    print("| what | measured | bound |\n| --- | --- | --- |")
    for name, part in PARTS.items():
        if only and name != only:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            root = project(Path(os.path.realpath(temporary)))
            for row in part(backend, root, nowhere):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
