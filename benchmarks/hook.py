"""What a hook costs as a process: warm and cold, against a bare start of the same Python; and 100 of them at once.

    python benchmarks/hook.py            # prints the table; builds an environment with a wheel of this checkout
    python benchmarks/hook.py --here     # with this Python and this checkout

Each answer is compared with the expected one. Ratios compare things measured in turns, in this very run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from decide import installed, project
from measure import Timing

AGENT = "claude"
PATH = "/usr/local/bin:/usr/bin:/bin"
# Commands, each with what the hook has to say about it under the shipped policy.
CALLS = {
    "cat README.md": "allow",
    "ls src": "allow",
    "cat ~/.ssh/id_rsa": "deny",
    "rm -rf /": "deny",
    "curl https://example.com/": "ask",
    "git push --force": "deny",
}


def event(root: Path, text: str, number: int) -> bytes:
    """What the agent writes."""
    return json.dumps(
        {
            "session_id": "benchmark", "transcript_path": "/dev/null", "cwd": str(root), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": text, "description": "x"},
            "tool_use_id": f"toolu_{number}",
        }
    ).encode()  # fmt: skip


class World:
    """A home folder and a project, and the hook in it."""

    def __init__(self, folder: Path, python: str) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.root = project(self.home)
        (self.home / ".local" / "state").mkdir(parents=True)
        self.environment = {"HOME": str(self.home), "PATH": PATH, "CLAUDE_PROJECT_DIR": str(self.root)}
        code = (
            "from gateway.install.hook_lines import hook_lines, unheld; import json; "
            "line = hook_lines('claude')('PreToolUse'); print(json.dumps([line, unheld(line)]))"
        )
        self.python = python
        self.line, self.bare = json.loads(subprocess.check_output([python, "-c", code], cwd=folder, text=True))

    def run(self, line: list[str], given: bytes, **how: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            line, input=given, capture_output=True, cwd=self.root, env=self.environment, check=False, **how
        )  # type: ignore[call-overload]

    def asks(self, text: str, number: int) -> str:
        """The hook's decision, however long it takes; what went wrong where there is none."""
        done = self.run([*self.line, "--deadline", "600"], event(self.root, text, number))
        try:
            return str(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"])
        except (ValueError, KeyError):
            return f"status {done.returncode}: {done.stdout[:200]!r} {done.stderr[:200]!r}"

    @property
    def folder(self) -> Path:
        return self.home / ".local" / "state" / "gateway" / "service"

    def is_served(self) -> bool:
        """Whether a service listens."""
        import socket

        for path in self.folder.glob("*.sock"):
            with socket.socket(socket.AF_UNIX) as connection:
                try:
                    connection.connect(str(path))
                except OSError:
                    continue
                return True
        return False

    def serve(self) -> None:
        """Has a hook start the service and waits until it listens."""
        until = time.monotonic() + 60
        while not self.is_served():
            self.asks("ls", 0)
            if time.monotonic() > until:
                sys.exit("no service starts here")

    def stop(self) -> None:
        """Ends the services of this home folder, and keeps others from starting."""
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            try:
                found = Path("/proc", pid)
                words = (found / "cmdline").read_bytes().split(b"\0")
                variables = (found / "environ").read_bytes().split(b"\0")
                if words[-2:-1] == [b"serve"] and f"HOME={self.home}".encode() in variables:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                continue


def timed(world: World, lines: dict[str, list[str]], rounds: int) -> dict[str, Timing]:
    """Processes in turns. Every answer of a hook must be the expected one."""
    samples: dict[str, list[float]] = {name: [] for name in lines}
    given = event(world.root, "cat README.md", 1)
    for number in range(rounds + 2):
        for name, line in lines.items():
            start = time.perf_counter_ns()
            done = world.run(line, given)
            spent = (time.perf_counter_ns() - start) / 1000
            if name != "floor" and b'"allow"' not in done.stdout:
                sys.exit(f"{name} answered {done.stdout!r} {done.stderr!r}")
            if number >= 2:
                samples[name].append(spent)
    found = {}
    for name, values in samples.items():
        values.sort()
        found[name] = Timing(values[len(values) // 2], values[int(len(values) * 0.99)])
    return found


def at_once(world: World, count: int) -> tuple[int, float]:
    """So many hooks at once: how many answered wrong, and the seconds that all of them took."""
    calls = [(text, CALLS[text], number) for number, text in zip(range(count), list(CALLS) * count, strict=False)]
    with ThreadPoolExecutor(count) as pool:
        start = time.perf_counter()
        answers = list(pool.map(lambda call: world.asks(call[0], call[2]), calls))
        spent = time.perf_counter() - start
    wrong = [(text, wanted, got) for (text, wanted, _), got in zip(calls, answers, strict=True) if wanted != got]
    for each in wrong[:5]:
        print("wrong:", each)
    return len(wrong), spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--here", action="store_true", help="this Python and this checkout instead of a wheel")
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        world = World(Path(folder), sys.executable if options.here else installed(Path(folder)))
        floor = [world.python, "-I", "-S", "-c", "pass"]
        try:
            world.asks("ls", 0)  # compiles what is compiled once
            world.serve()
            warm = timed(world, {"floor": floor, "hook": world.line, "bare": world.bare}, options.rounds)
            wrong_warm, seconds_warm = at_once(world, 100)
            world.stop()
            world.environment["GATEWAY_SERVICE"] = "off"
            cold = timed(world, {"floor": floor, "hook": world.line, "bare": world.bare}, max(options.rounds // 3, 7))
            wrong_cold, seconds_cold = at_once(world, 100)
        finally:
            world.stop()
    rows = []
    for name, found, bound in (("warm", warm, "≤ 1.6 ×"), ("cold", cold, "≤ 5 ×")):
        bare = found["floor"]
        rows.append(["`python -I -S -c pass` (floor)", f"{bare.p50 / 1000:.1f} / {bare.p99 / 1000:.1f} ms", ""])
        hook = found["hook"]
        alone = found["bare"]
        rows.append(
            [f"the same without its shell, {name}", f"{alone.p50 / 1000:.1f} ms = {alone.p50 / bare.p50:.2f} ×", ""]
        )
        rows.append(
            [f"hook, {name}", f"{hook.p50 / 1000:.1f} / {hook.p99 / 1000:.1f} ms = {hook.p50 / bare.p50:.2f} ×", bound]
        )
    rows.append(["100 hooks at once, warm", f"{seconds_warm:.1f} s, {wrong_warm} wrong", "0 wrong"])
    rows.append(["100 hooks at once, cold", f"{seconds_cold:.1f} s, {wrong_cold} wrong", "0 wrong"])
    print("| measure | p50 / p99 | bound |\n| --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
