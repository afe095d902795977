"""What Grep and Glob cost over ripgrep itself, on a large tree: the same search, the same answer.

    python benchmarks/search.py             # in a tree made for it, prints the table
    python benchmarks/search.py --tree DIR  # in a tree of your own

Bound: 1.10 times ripgrep itself. Grep gives files, and Glob names, the most recently changed first; ripgrep alone gives
them in any order, so those that are many stand beside ripgrep as it is and beside ripgrep that sorts. Both take turns,
so that both see the same machine and the same page cache; each row is the median of its turns. Grep is called as the
engine calls it, with a policy that is asked about every file shown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from gateway.api.gateway import Gateway
from gateway.calls.work import Work
from gateway.config.load import Options
from gateway.core.cancel import Cancel
from gateway.handlers import ripgrep, search
from gateway.model.call import RawCall
from gateway.model.decision import Decision

BOUND = 1.10
POLICY = "version: 1\nextends: [guard]\nrules:\n  - {id: secret, deny: 'Read(**/secret*)'}\n"
FOLDERS, FILES, LINES = 400, 100, 300
ALIKE = ("--no-config", "--hidden", "--no-mmap", "--no-messages", *(f"--glob=!{name}" for name in (".git", ".hg")))
ROWS = [
    ("Grep, files, a rare word", {"pattern": "needle_17\\b"}, ["--files-with-matches", "-e", "needle_17\\b"]),
    (
        "Grep, lines, a rare word",
        {"pattern": "needle_17\\b", "output_mode": "content"},
        ["--line-number", "-e", "needle_17\\b"],
    ),
    (
        "Grep, lines, an expression, ignoring case",
        {"pattern": "(return|yield) x[0-9]+ \\+ needle_2\\d9\\b", "output_mode": "content", "-i": True},
        ["--line-number", "-i", "-e", "(return|yield) x[0-9]+ \\+ needle_2\\d9\\b"],
    ),
    ("Grep, files, in none", {"pattern": "absent"}, ["--files-with-matches", "-e", "absent"]),
    ("Grep, files, in every file", {"pattern": "return"}, ["--files-with-matches", "-e", "return"]),
    (
        "  the same, beside ripgrep newest first",
        {"pattern": "return"},
        ["--files-with-matches", "--sortr=modified", "-e", "return"],
    ),
    (
        "Grep, counts, in one folder of ten",
        {"pattern": "needle_\\d+", "output_mode": "count", "glob": "**/pkg_*7/**"},
        ["--count-matches", "--glob=**/pkg_*7/**", "-e", "needle_\\d+"],
    ),
]


def made(root: Path) -> int:
    """A tree of source files; its size in bytes."""
    size = 0
    for folder in range(FOLDERS):
        where = root / f"pkg_{folder}" / "src"
        where.mkdir(parents=True)
        for file in range(FILES):
            number = folder * FILES + file
            lines = [f"def f{line}(x): return x{line} + {line * number}\n" for line in range(LINES)]
            if number % 20 == 0:
                lines[LINES // 2] = f"    return x{number} + needle_{number // 20}\n"
            text = "".join(lines)
            size += len(text)
            (where / f"m{file}.py").write_text(text)
    return size


def plain(root: Path, arguments: list[str]) -> float:
    began = time.perf_counter()
    with subprocess.Popen(
        [ripgrep.find(), *ALIKE, *arguments, "./"], cwd=root, env={}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        process.stdout.read()
    return time.perf_counter() - began


def ours(gateway: Gateway, tool: str, fields: dict[str, object]) -> float:
    cancel = Cancel()
    began = time.perf_counter()
    verdict = gateway.check(RawCall(tool, fields))

    def may_read(path: str) -> bool:
        return gateway.check(RawCall("Read", {"file_path": path})).decision is Decision.ALLOW

    work = Work(verdict, verdict.context, gateway, SimpleNamespace(), cancel, may_read, lambda _progress: None)
    handler = search.grep if tool == "Grep" else search.glob
    handler(verdict.call, work)
    took = time.perf_counter() - began
    cancel.close()
    return took


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tree", type=Path)
    options.add_argument("--turns", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(temporary).resolve()
        root = given.tree.resolve() if given.tree else top / "tree"
        if given.tree is None:
            root.mkdir()
            size = made(root)
            print(f"{FOLDERS * FILES:,} files, {size >> 20:,} MiB, {os.cpu_count()} processors")
        (top / "policies").mkdir()
        (top / "policies" / "user.yaml").write_text(POLICY)
        gateway = Gateway(Options(str(root), str(top / "policies"), root=str(root), binding=True))
        rows = [(name, "Grep", fields, arguments) for name, fields, arguments in ROWS]
        names = {"pattern": "**/m7.py"}
        rows.append(("Glob, names of one kind", "Glob", names, ["--files", "--glob=**/m7.py"]))
        rows.append(
            ("  the same, beside ripgrep newest first", "Glob", names,
             ["--files", "--sortr=modified", "--glob=**/m7.py"])
        )  # fmt: skip
        print(f"{'':44}{'ripgrep':>10}{'ours':>10}{'ratio':>8}")
        for name, tool, fields, arguments in rows:
            plain(root, arguments)
            pairs = [(plain(root, arguments), ours(gateway, tool, fields)) for _ in range(given.turns)]
            alone, with_us = (statistics.median(each) for each in zip(*pairs, strict=True))
            ratio = with_us / alone
            over = "" if ratio <= BOUND else "  over"
            print(f"{name:44}{alone * 1000:8.0f} ms{with_us * 1000:7.0f} ms{ratio:8.2f}{over}")


if __name__ == "__main__":
    main()
