"""What confinement costs: a call over a plain subprocess, calls a second, and real work inside.

    python benchmarks/confine.py           # everything, prints the table
    python benchmarks/confine.py --only trees
    python benchmarks/confine.py --backend bubblewrap
    python benchmarks/confine.py --share 0.1    # a tenth of the rounds, to see that it works

Each row names the bound that it is held against. Plain and confined runs take turns, so that both see the same machine.
The confined ones have everything on: all namespaces, the filter of system calls, limits, watcher; egress has rows of
its own. `trees` is what a call costs that may write, in projects of two sizes, with the guard over protected names that
lives through its calls; what setting up its watches takes is told apart, and so is what saving the changes costs.
Other sandboxes are measured in the same run where their programs (`srt`, `codex`) are on the search path.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gateway import Executor, Gateway, Options, RawCall
from gateway.api.services import Services
from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Endpoint, Mount, Network, SandboxPlan
from gateway.sandbox import limits
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.base import Streams
from gateway.sandbox.call_descriptors import Ways
from gateway.sandbox.changes.recording import Of, Recording
from gateway.sandbox.egress.service import Egress
from gateway.sandbox.run import Command, Runner
from gateway.sandbox.watch import Watcher

Whole = Spaces | Bubblewrap
BACKENDS = {"namespaces": Spaces, "bubblewrap": Bubblewrap}
BOUNDS = Limits(seconds=60, cpu_seconds=60, memory=4 << 30, processes=512, files=4096, file_size=4 << 30, disk=4 << 30)
PATH = "/usr/local/bin:/usr/bin:/bin"
TRUE = ["/bin/sh", "-c", "true"]
WORK = {
    "find with stat over /usr/share": "find /usr/share -size +100M 2> /dev/null || true",
    "five runs of gcc": "for i in 1 2 3 4 5; do gcc -O1 -c -o m.o m.c; done",
    "git status and log --stat, five times, 3,000 files in 60 folders, 100 commits": (
        "cd many; for i in 1 2 3 4 5; do git status -s; git log --stat; done > ../log"
    ),
    "400 processes": "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done",
}


WRITES = ": > note"  # what a call does that may write: next to nothing, and told of all the same
SIZES = (50, 5_000)  # folders of a tree
COMMITS, EACH, FOLDERS = 100, 30, 60
HOST, ADDRESS = "server.example", "93.184.216.34"  # stands for any public host; nothing leaves this machine
REQUEST = (
    "exec 3<>/dev/tcp/127.0.0.1/{port}; "
    "printf 'GET http://{host}/ HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n' >&3; "
    'read -r _ status _ <&3; [ "$status" = 200 ]'
)
SERVER = r"""
import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        with client:
            said = b""
            while b"\r\n\r\n" not in said and (more := client.recv(65536)):
                said += more
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
"""
SHARE = [1.0]  # of the rounds
# What each of the others is run as, with `sh -c true` behind it.
PEERS = {"srt": ("srt", "-c", "true"), "codex": ("codex", "sandbox", "--", *TRUE)}


def history(root: Path) -> None:
    """A repository with some thousands of files and a history, as one is found at work."""
    lines = []
    for commit in range(COMMITS):
        lines.append(f"commit refs/heads/main\ncommitter a <a@b> {1_700_000_000 + commit} +0000\ndata 1\nx")
        for number in range(EACH):
            text = f"line {commit}\n" * (number + 1)
            place = f"folder{(commit * EACH + number) % FOLDERS}/file{commit}-{number}.txt"
            lines.append(f"M 100644 inline {place}\ndata {len(text)}\n{text}")
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input="\n".join(lines).encode() + b"\n", check=True)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=root, check=True)


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


def confined(backend: Whole, plan: SandboxPlan, argv: list[str], nowhere: int, way_out: Egress | None = None) -> int:
    """One call as the runner makes it."""
    running = backend.start(plan, argv, Streams(nowhere, nowhere, nowhere))
    with ExitStack() as stack:
        stack.callback(running.close)
        if way_out is not None:
            session = way_out.attach(running.root, plan.network, lambda _violation: None)
            stack.callback(session.close)
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


def plain(root: Path, argv: list[str], nowhere: int) -> int:
    return subprocess.run(
        argv, cwd=root, env={"HOME": "/root", "PATH": PATH}, stdin=nowhere, stdout=nowhere, stderr=nowhere, check=False
    ).returncode


def turns(calls: list[Callable[[], int]], rounds: int, dropped: int = 3) -> list[list[float]]:
    """Milliseconds of each, sorted; they take turns, and the first ones do not count."""
    samples: list[list[float]] = [[] for _ in calls]
    for number in range(share_of(rounds) + dropped):
        for call, found in zip(calls, samples, strict=True):
            start = time.perf_counter_ns()
            assert call() == 0
            if number >= dropped:
                found.append((time.perf_counter_ns() - start) / 1e6)
    return [sorted(each) for each in samples]


def share_of(rounds: int) -> int:
    """As many rounds as were asked for."""
    return max(5, int(rounds * SHARE[0]))


def at(samples: list[float], part: float) -> float:
    return samples[int(len(samples) * part)]


def call(backend: Whole, root: Path, nowhere: int) -> list[list[str]]:
    full = plan_for(root)
    # What the analysis of `true` leaves it: nothing to write, so nothing to hold in its place either.
    read = [mount.replace(access=READ) if mount.access == WRITE else mount for mount in full.mounts]
    plans = {
        "nothing to write, hidden names": full.replace(mounts=tuple(each for each in read if each.access != FIXED)),
        "a workspace to write, protected and hidden names": full,
    }
    rows = []
    others = [each() for name, each in BACKENDS.items() if name != backend.name]
    others = [each for each in others if each.probe().works]
    for title, plan in plans.items():
        bare, held, *rest = turns(
            [
                lambda: plain(root, TRUE, nowhere),
                *[lambda b=each, p=plan: confined(b, p, TRUE, nowhere) for each in (backend, *others)],
            ],
            300,
        )
        rows.append([f"`sh -c true` over a plain one: {title}", over(bare, held), "≤ 5 / ≤ 12 ms"])
        rows += [[f"the same by {each.name}", over(bare, times), ""] for each, times in zip(others, rest, strict=True)]
    with Executor(Gateway(Options(cwd=str(root), binding=True))) as executor:
        bash = ["/bin/bash", "--noprofile", "--norc", "-c", "true"]
        bare, held = turns([lambda: plain(root, bash, nowhere), lambda: executor.run("true").result.status], 300)
    rows.append(["`true` by the library over a plain bash: judged, planned, run, recorded", over(bare, held), ""])
    return rows


def tree(top: Path, folders: int) -> Path:
    """A repository of so many folders, twenty in each, with a file in every one."""
    root = top / f"tree{folders}"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    level, made = [root], 0
    while made < folders:
        level = [parent / f"f{number}" for parent in level for number in range(20)][: folders - made]
        for each in level:
            each.mkdir()
            (each / "file.txt").write_text("text\n")
        made += len(level)
    return root


def trees(backend: Whole, root: Path, nowhere: int) -> list[list[str]]:
    rows = []
    for folders in SIZES:
        rows += in_tree(backend, tree(root.parent, folders), nowhere, f"a call that writes, {folders:,} folders")
    return rows


def in_tree(backend: Whole, root: Path, nowhere: int, title: str) -> list[list[str]]:
    """What a call costs that may write all of a tree, planned once: what judging and planning takes is told apart."""
    ways = Ways(nowhere, nowhere, nowhere)
    words = ["/bin/bash", "--noprofile", "--norc", "-c", WRITES]
    options = Options(cwd=str(root), binding=True, mode="accept_edits")
    gateway = Gateway(options)
    runner = Runner(os.path.join(gateway.places.state, "quarantine"), backends=(backend,))
    services = Services(gateway, runner=runner, saves_changes=False)
    verdict = gateway.check(RawCall("Bash", {"command": WRITES}))
    planner = services.planner
    plan = planner.plan(verdict, None)
    assert plan.writes
    protection = planner.protection(verdict)
    command = Command(lambda _number: tuple(map(os.fsencode, words)), ways)
    of = Of(os.path.join(gateway.places.state, "of-benchmark"), str(root), WRITES, "Bash", named=(f"{root}/note",))

    def held(saving: Recording | None = None) -> int:
        result = runner.run(plan, command, protection, saving=saving)
        assert (result.ended, result.degraded) == ("exited", ()), result
        return result.status

    def kept() -> int:
        saving = Recording(of, plan)
        try:
            return held(saving)
        finally:
            saving.close()

    began = time.perf_counter()
    held()
    first = (time.perf_counter() - began) * 1000
    with Executor(gateway, runner=runner, saves_changes=False) as executor:
        bare, guarded, saved, judged = turns(
            [
                lambda: plain(root, words, nowhere),
                held,
                kept,
                lambda: executor.run(WRITES, ways=ways).result.status,
            ],
            300,
        )
    return [
        [f"{title}, over a plain one", over(bare, guarded), "≤ 5 / ≤ 12 ms"],
        ["the same with its changes saved", over(bare, saved), ""],
        ["the same by the library: judged, planned, run, recorded", over(bare, judged), ""],
        ["its first call, which sets up the watches", f"{first:.0f} ms", ""],
    ]


def over(bare: list[float], held: list[float]) -> str:
    """How much longer the second ones took."""
    times = at(held, 0.5) - at(bare, 0.5), at(held, 0.95) - at(bare, 0.95)
    return f"{times[0]:.1f} / {times[1]:.1f} ms (p50 / p95; plain {at(bare, 0.5):.1f})"


@contextmanager
def server() -> Iterator[int]:
    """The port of a server outside, in a process of its own."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SERVER], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def egress(backend: Whole, root: Path, nowhere: int) -> list[list[str]]:
    network = Network("listed", (Endpoint(HOST, 80),))
    off = plan_for(root)
    nothing = ["/bin/bash", "--noprofile", "--norc", "-c", "true"]
    with server() as port, Egress(lambda _name: [ADDRESS], lambda _address, _port: ("127.0.0.1", port)) as way_out:
        variables = dict(way_out.environment(network))
        environment = tuple(sorted({**dict(off.environment), **variables}.items()))
        on = off.replace(network=network, environment=environment, files=way_out.files(network))
        proxy = variables["http_proxy"].rstrip("/").rpartition(":")[2]
        direct, through = ([*nothing[:-1], REQUEST.format(port=each, host=HOST)] for each in (port, proxy))
        bare, asked, closed, opened, served = turns(
            [
                lambda: plain(root, nothing, nowhere),
                lambda: plain(root, direct, nowhere),
                lambda: confined(backend, off, nothing, nowhere),
                lambda: confined(backend, on, nothing, nowhere, way_out),
                lambda: confined(backend, on, through, nowhere, way_out),
            ],
            200,
        )
    rows = []
    for title, part, bound in (
        ("a network by the proxy, over a call without one", (opened, closed), "≤ 2.5 ms"),
        ("and one request through it, over the same request without a sandbox", (served, closed, bare, asked), ""),
    ):
        times = [sum(at(each, p) * sign for each, sign in zip(part, (1, -1, 1, -1), strict=False)) for p in (0.5, 0.95)]
        rows.append([title, f"{times[0]:.1f} / {times[1]:.1f} ms (p50 / p95)", bound])
    return rows


def peers(backend: Whole, root: Path, nowhere: int) -> list[list[str]]:
    """One process for each call, as the others are used; ours both ways."""
    plan = plan_for(root)
    ours = [sys.executable, "-m", "gateway", "exec", "--", "true"]
    there = {name: list(words) for name, words in PEERS.items() if shutil.which(name)}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:  # codex refuses one in /tmp
        environment = {**os.environ, "HOME": home}

        def run(words: list[str]) -> int:
            return subprocess.run(
                words, cwd=root, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere, check=False
            ).returncode

        bare, held, *others = turns(
            [
                lambda: plain(root, TRUE, nowhere),
                lambda: confined(backend, plan, TRUE, nowhere),
                *[lambda words=words: run(words) for words in (ours, *there.values())],
            ],
            25,
        )
    names = ["`gateway exec -- true`", *[f"`{' '.join(words)}`" for words in there.values()]]
    rows = [["`sh -c true` by us from a process that is there, over a plain one", over(bare, held), ""]]
    return rows + [[f"{name}, over it", over(bare, times), ""] for name, times in zip(names, others, strict=True)]


def throughput(backend: Whole, root: Path, nowhere: int) -> list[list[str]]:
    plan = plan_for(root)
    rows = []
    for threads in (1, 2, 4):
        calls = share_of(400)
        left = threading.Semaphore(calls)
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
        assert len(times) == calls
        bound = "≥ 200 calls/s" if threads > 1 else ""
        rows.append(
            [
                f"calls with {threads} threads",
                f"{calls / seconds:.0f} calls/s, p50 {at(sorted(times), 0.5):.1f} ms",
                bound,
            ]
        )
    return rows


def work(backend: Whole, root: Path, nowhere: int) -> list[list[str]]:
    plan = plan_for(root)
    history(root / "many")
    rows = []
    for title, text in WORK.items():
        if "gcc" in text and shutil.which("gcc", path=PATH) is None:
            continue
        argv = ["/bin/sh", "-c", text]
        bare, held = turns(
            [
                lambda argv=argv: plain(root, argv, nowhere),
                lambda argv=argv: confined(backend, plan, argv, nowhere),
            ],
            9,
        )
        ratio = at(held, 0.5) / at(bare, 0.5)
        rows.append([title, f"{at(held, 0.5):.0f} ms = {ratio:.2f} × plain", "≤ 1.10 ×"])
    return rows


PARTS = {"call": call, "trees": trees, "egress": egress, "throughput": throughput, "work": work, "peers": peers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--backend", choices=BACKENDS, default="namespaces")
    parser.add_argument("--share", type=float, default=1.0, help="of the rounds")
    given = parser.parse_args()
    SHARE[0] = given.share
    only, backend = given.only, BACKENDS[given.backend]()
    probe = backend.probe()
    if not probe.works:
        raise SystemExit(f"{given.backend} does not hold here: {probe.reason}")
    nowhere = os.open(os.devnull, os.O_RDWR)
    print("| what | measured | bound |\n| --- | --- | --- |")
    for name, part in PARTS.items():
        if only and name != only:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            for kind in ("CONFIG", "STATE", "CACHE"):
                os.environ[f"XDG_{kind}_HOME"] = os.path.join(temporary, kind.lower())
            root = project(Path(os.path.realpath(temporary)))
            for row in part(backend, root, nowhere):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
