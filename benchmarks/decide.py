"""How long a decision takes: in process, at start-up, as a process, in a batch, and what it costs in memory.

    python benchmarks/decide.py            # everything, prints the table of docs/performance.md
    python benchmarks/decide.py --only process

Each row names the bound that it is held against. Ratios compare things measured in this very run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measure import each, processes

from gateway.api.gateway import Gateway
from gateway.commands.analyse import Start, analyse
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.policy.modes import regions_of
from gateway.policy.resolve import resolve
from gateway.policy.table import Judged

FILE_CALLS = [
    RawCall("Read", {"file_path": "src/main.py"}),
    RawCall("Read", {"file_path": "/usr/share/doc/bash/README"}),
    RawCall("Edit", {"file_path": "src/main.py", "old_string": "a", "new_string": "b"}),
    RawCall("Write", {"file_path": "docs/new.md", "content": "x" * 200}),
    RawCall("Read", {"file_path": "~/.ssh/id_rsa"}),
]
SHELL_TEXTS = [
    "ls -la",
    "cat README.md",
    "git status",
    "git log --oneline -5",
    "git diff HEAD~1 -- src/main.py",
    "rg -n 'def main' src | head -20",
    "find . -name '*.py' -not -path './venv/*'",
    "python -m pytest -x tests/test_main.py",
    "npm test",
    "sed -n '1,40p' src/main.py",
    "cd src && grep -rn TODO . | wc -l",
    "rm -rf build",
]


def project(folder: Path) -> Path:
    """A small repository to decide in."""
    root = folder / "project"
    (root / "src").mkdir(parents=True)
    (root / "docs").mkdir()
    (root / "src" / "main.py").write_text("def main(): ...\n")
    (root / "README.md").write_text("# x\n")
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    return root


def rules(count: int) -> str:
    """A policy of `count` rules: half command allows, a quarter path allows, a quarter command denies."""
    lines = ["version: 1", "allow:"]
    lines += [f"  - Bash(tool{i} sub{i % 7} *)" for i in range(count // 2)]
    lines += [f"  - Read(src/dir{i}/**)" for i in range(count // 4)]
    lines += ["deny:"]
    lines += [f"  - Bash(forbidden{i} *)" for i in range(count - count // 2 - count // 4)]
    return "\n".join(lines) + "\n"


def policies(folder: Path, count: int) -> str:
    """A `--policies` folder whose user layer is the shipped `daily` plus `count` rules."""
    target = folder / f"policies-{count}"
    target.mkdir(exist_ok=True)
    body = rules(count).replace("version: 1\n", "version: 1\nextends: [daily]\n")
    (target / "user.yaml").write_text(body)
    return str(target)


def gateway(root: Path, folder: Path, count: int = 0) -> Gateway:
    """A gateway with its state and cache below `folder`, so that nothing of this user's counts."""
    return loader(root, folder, count)()


def loader(root: Path, folder: Path, count: int) -> Callable[[], Gateway]:
    """Loads such a gateway, with its policy files written beforehand."""
    where = Places(
        str(folder / "none"), str(folder / "config"), str(folder / "state"), str(folder / "cache"), str(folder)
    )
    options = Options(str(root), policies=policies(folder, count) if count else "", root=str(root))
    return partial(Gateway, options, where=where)


def in_process(root: Path, folder: Path) -> list[list[str]]:
    rows = []
    for count in (5, 10_000):
        guard = gateway(root, folder, count)
        files = each([partial(guard.check, call) for call in FILE_CALLS])
        shell = each([partial(guard.check, RawCall("Bash", {"command": text})) for text in SHELL_TEXTS])
        resolved = each([resolution(guard, RawCall("Bash", {"command": text})) for text in SHELL_TEXTS])
        resolved_files = each([resolution(guard, call) for call in FILE_CALLS])
        rows += [
            [f"resolve, file tool, {count:,} rules", str(resolved_files), "≤ 5 µs p50"],
            [f"resolve, shell, {count:,} rules", str(resolved), "≤ 5 µs p50"],
            [f"raw call to verdict, file tool, {count:,} rules", str(files), "≤ 60 µs p50"],
            [f"raw call to verdict, shell, {count:,} rules", str(shell), "≤ 100 µs p50"],
        ]
    guard = gateway(root, folder, 5)
    context = guard.context
    start = Start(context.cwd, context.home, {"HOME": context.home, "PWD": context.cwd})
    texts = each([partial(analyse, text, start, guard.describe) for text in SHELL_TEXTS])
    rows.append(["shell text to effects", str(texts), "≤ 50 µs p50"])
    return rows


def resolution(guard: Gateway, raw: RawCall) -> Callable[[], Any]:
    """Only the resolver, on a call that was validated, analysed and settled before."""
    verdict = guard.check(raw)
    tool = guard.registry.tool(verdict.call.tool)
    judged = Judged(tool.level, tool.match_kind == "shell", bool(tool.entry["filters"]))
    regions = regions_of(verdict.context)
    policy = guard.loaded.policy
    return lambda: resolve(policy, verdict.call, judged, verdict.analysis, verdict.context, verdict.facts, regions)


def loading(root: Path, folder: Path) -> list[list[str]]:
    cold_folder = folder / "cold"
    cold_folder.mkdir()
    gateway(root, cold_folder, 5)
    load = loader(root, cold_folder, 10_000)
    start = time.perf_counter()
    loaded = [load()]
    cold = time.perf_counter() - start
    warm = []
    for _ in range(9):
        loaded.clear()  # giving the old one back is no part of loading the next
        start = time.perf_counter()
        loaded.append(load())
        warm.append(time.perf_counter() - start)
    return [
        ["load 10,000 YAML rules, cold", f"{cold * 1000:.0f} ms", "≤ 1,000 ms"],
        ["load 10,000 rules from the compile cache", f"{sorted(warm)[4] * 1000:.0f} ms", "≤ 50 ms"],
    ]


def installed(folder: Path) -> str:
    """The Python of a new environment with a wheel of this checkout: an editable install slows every start in its
    environment, the floor's too, and would flatter the ratio."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    checkout = str(Path(__file__).resolve().parents[1])
    subprocess.run([python, "-m", "pip", "install", "--quiet", checkout], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([python, "-m", "compileall", "-q", str(environment)], check=False, stdout=subprocess.DEVNULL)
    return python


def as_process(root: Path, folder: Path) -> list[list[str]]:
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    python = installed(folder)
    entry = os.path.join(os.path.dirname(python), "gateway")
    commands = {
        "bare": [python, "-I", "-c", "pass"],
        "isolated": [python, "-I", "-m", "gateway", "check", "Bash(git log --oneline -5)"],
        "script": [entry, "check", "Bash(git log --oneline -5)"],
        "file": [entry, "check", "Read(src/main.py)"],
    }
    found = processes(commands, cwd=root, env=environment)
    bare = found["bare"].p50

    def row(name: str, title: str) -> list[str]:
        timing = found[name]
        return [title, f"{timing.p50 / 1000:.1f} / {timing.p99 / 1000:.1f} ms = {timing.p50 / bare:.1f} ×", "≤ 5 ×"]

    return [
        ["`python -I -c pass` (floor)", f"{bare / 1000:.1f} / {found['bare'].p99 / 1000:.1f} ms", ""],
        row("isolated", "`python -I -m gateway check`, shell"),
        row("script", "`gateway check`, shell"),
        row("file", "`gateway check`, file tool"),
    ]


def in_batch(root: Path, folder: Path) -> list[list[str]]:
    lines = []
    for number in range(10_000):
        text = SHELL_TEXTS[number % len(SHELL_TEXTS)]
        lines.append(json.dumps({"id": number, "call": f"Bash({text})"}))
    batch = folder / "calls.jsonl"
    batch.write_text("\n".join(lines) + "\n")
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    python = installed(folder)
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-m", "gateway", "check", "--batch", str(batch)],
        cwd=root,
        env=environment,
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    assert done.stdout.count(b"\n") == 10_000, done.stderr
    return [["`gateway check --batch`, 10,000 shell calls", f"{10_000 / seconds:,.0f} calls/s", "≥ 5,000 calls/s"]]


def memory(root: Path, folder: Path) -> list[list[str]]:
    """Resident memory of a process that holds a policy of 10,000 rules, over one that holds none."""
    script = (
        "import sys; sys.path.insert(0, {here!r})\n"
        "from pathlib import Path; import decide, resource\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "guard = decide.gateway(Path({root!r}), Path({folder!r}), {count})\n"
        "status = open('/proc/self/status').read()\n"
        "print(next(l for l in status.splitlines() if l.startswith('VmRSS')).split()[1])"
    )
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    here = str(Path(__file__).parent)
    gateway(root, folder, 10_000)
    full = subprocess.run(
        [sys.executable, "-c", script.format(here=here, root=str(root), folder=str(folder), count=10_000)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    extra = (int(full.stdout) - int(bare.stdout)) / 1024
    return [["memory with 10,000 rules, over the bare interpreter", f"{extra:.0f} MB", "≤ 100 MB"]]


PARTS: dict[str, Callable[[Path, Path], list[list[str]]]] = {
    "in-process": in_process,
    "loading": loading,
    "process": as_process,
    "batch": in_batch,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    print("| what | p50 / p99 | bound |\n| --- | --- | --- |")
    for name, part in PARTS.items():
        if only and name != only:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(os.path.realpath(temporary))
            for row in part(project(folder), folder):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
