"""What a draft costs: confined calls on a layer, with their changes kept, over the same calls without a layer.

    python benchmarks/drafts.py               # everything, prints the table
    python benchmarks/drafts.py --rounds 5 --files 5000
    python benchmarks/drafts.py --only npm

Both kinds of call take turns in one workspace, so that both see the same machine. Commands that are predicted to read
only get no layer: they are here to show that.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import suppress
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
    "make, 60 files of C": ("make -s -C many -j2", "1.25", "rm -f many/*.o"),
    "a test suite in Python, 200 tests": ("python3 -m unittest -q tests_many", "1.25", "rm -rf __pycache__"),
    "pytest, 200 tests": (
        "python3 -m pytest -q -p no:cacheprovider tests_many.py >/dev/null", "1.25", "rm -rf __pycache__",
    ),
    "npm ci, 40 packages, 2,000 files": (
        "cd web && npm ci --offline --no-audit --no-fund --loglevel=error >/dev/null", "1.25",
        "rm -rf web/node_modules",
    ),
    "cargo build, 3 crates": ("cd crate && cargo build -q --offline", "1.25", "rm -rf crate/target"),
}  # fmt: skip
NEEDS = {
    "pytest, 200 tests": ("python3", "-c", "import pytest"),
    "npm ci, 40 packages, 2,000 files": ("npm", "--version"),
    "cargo build, 3 crates": ("cargo", "--version"),
}  # what must run for the row to be measured
READING = {"git status": "git status --short", "grep -r": "grep -rl nothing-like-this . | wc -l"}


def programs(top: Path) -> None:
    """What is built and installed, which needs nothing from elsewhere: files of C, crates, packages of npm."""
    (top / "many").mkdir()
    for number in range(60):
        (top / "many" / f"m{number}.c").write_text(f"int f{number}(int x) {{ return x * {number}; }}\n")
    objects = " ".join(f"m{number}.o" for number in range(60))
    (top / "many" / "Makefile").write_text(f"all: {objects}\n%.o: %.c\n\tgcc -O1 -c -o $@ $<\n")
    main = 'fn main() { println!("{}", one::f(two::f(1))); }\n'
    for crate, needs, text in (
        ("crate", 'one = { path = "one" }\ntwo = { path = "two" }\n', main),
        ("crate/one", "", "pub fn f(x: u32) -> u32 { x + 1 }\n"),
        ("crate/two", "", "pub fn f(x: u32) -> u32 { x + 2 }\n"),
    ):
        (top / crate / "src").mkdir(parents=True)
        (top / crate / "src" / ("main.rs" if needs else "lib.rs")).write_text(text)
        (top / crate / "Cargo.toml").write_text(
            f'[package]\nname = "{Path(crate).name}"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n{needs}'
        )
    (top / "web").mkdir()
    needed = {}
    for number in range(40):
        needed[f"p{number}"] = f"file:../packages/p{number}-1.0.0.tgz"
        package = top / "packages" / "package"
        package.mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"name": f"p{number}", "version": "1.0.0"}))
        for each in range(50):
            (package / f"m{each}.js").write_text(f"module.exports = {each};\n" * 20)
        os.system(f"cd {top}/packages && tar -czf p{number}-1.0.0.tgz package")
        shutil.rmtree(package)
    (top / "web/package.json").write_text(json.dumps({"name": "web", "version": "1.0.0", "dependencies": needed}))
    if shutil.which("npm"):
        os.system(f"cd {top}/web && npm install --package-lock-only --offline --no-audit --no-fund --silent >/dev/null")


def straight_to_rust() -> None:
    """`cargo` is the compiler's own, not what chooses one by the home folder, which is another one here."""
    with suppress(OSError, subprocess.CalledProcessError):
        found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, check=True)
        os.environ["PATH"] = f"{os.fsdecode(found.stdout).strip()}/bin:{os.environ['PATH']}"


def is_there(name: str) -> bool:
    """Whether what a row needs runs here."""
    try:
        return not subprocess.run(NEEDS.get(name, ("true",)), capture_output=True, check=False).returncode
    except OSError:
        return False


def fill(top: Path, files: int) -> None:
    """A repository with so many files, and what the work needs."""
    sources(top, files)
    programs(top)
    for number, (text, _most, _between) in enumerate(WORK.values()):
        (top / f"work{number}.sh").write_text(text)
    os.system(f"cd {top} && git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--only", default="", help="a part of the names of what is measured")
    given = parser.parse_args()
    straight_to_rust()
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
                if given.only not in name:
                    continue
                if not is_there(name):
                    print(f"{name:40} not measured: {' '.join(NEEDS[name])} does not run here")
                    continue
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
