"""What the console costs, and how fast it shows things, with a record of many calls.

    python benchmarks/console.py                    # a million records
    python benchmarks/console.py --records 20000

First paint is the browser's own, from the start of the process to the first page with calls on it, where Chromium and
playwright are there. A hook is timed with five pages open and without, in turns.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from record import verdicts, write

from gateway.audit.log import Log

GATEWAY = [sys.executable, "-m", "gateway"]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Console:
    """One that runs: its port, a token that reads, one that opens a page, and when it was started."""

    def __init__(self, environment: dict[str, str], cwd: str) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*GATEWAY, "console", "--print", "--reader"], env=environment, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        said = self.process.stdout.readline() + self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#(\S+)\n.*Bearer (\S+)'", said, re.DOTALL)
        assert found is not None, said
        self.port, self.start, self.reader = int(found[1]), found[2], found[3]

    def get(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.reader}"})
        return connection, connection.getresponse()

    def memory(self) -> float:
        """Resident, in MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            found = dict(line.split(":", 1) for line in file)
        return int(found["VmRSS"].split()[0]) / 1000

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate()


@contextmanager
def pages(console: Console, count: int) -> Iterator[None]:
    """So many pages that listen."""
    opened = [console.get("/api/events") for _ in range(count)]
    for _, answer in opened:
        answer.readline()
    try:
        yield
    finally:
        for connection, answer in opened:
            answer.close()
            connection.close()


def painted(console: Console) -> float | None:
    """Seconds from the start of the process to the first row of a call in a browser, None without one."""
    if BROWSER is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        clock = time.perf_counter()
        page.goto(f"http://127.0.0.1:{console.port}/live#{console.start}")
        page.locator("#calls li").first.wait_for()
        taken = time.perf_counter() - clock
        browser.close()
    return taken


def visible(console: Console, log: Log, some: list[Any], rounds: int) -> list[float]:
    """Milliseconds from the moment that a decision is recorded to its row's arrival at a page."""
    connection, answer = console.get("/api/events")
    found = []
    for number in range(rounds):
        time.sleep(0.05 + 0.013 * (number % 7))
        clock = time.perf_counter()
        known = log.decision(some[number % len(some)], front="benchmark", policy="0" * 48)
        while known.encode() not in answer.readline():
            pass
        found.append((time.perf_counter() - clock) * 1000)
    answer.close()
    connection.close()
    return found


def hooked(environment: dict[str, str], cwd: str) -> float:
    said = json.dumps(
        {"session_id": "s", "transcript_path": "t", "cwd": cwd, "permission_mode": "default", "tool_use_id": "t1",
         "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git status | head -3"}}
    )  # fmt: skip
    clock = time.perf_counter()
    subprocess.run([*GATEWAY, "hook", "claude"], input=said, text=True, env=environment, cwd=cwd, capture_output=True,
                   check=False)  # fmt: skip
    return (time.perf_counter() - clock) * 1000


def hooks(environment: dict[str, str], cwd: str, console: Console, rounds: int) -> tuple[float, float]:
    """Milliseconds of a hook, with no page open and with five, each the median."""
    without, with_pages = [], []
    for _ in range(rounds):
        without += [hooked(environment, cwd) for _ in range(3)]
        with pages(console, 5):
            with_pages += [hooked(environment, cwd) for _ in range(3)]
    return statistics.median(without), statistics.median(with_pages)


def row(*cells: object) -> None:
    """Prints a line of the table."""
    print("| " + " | ".join(map(str, cells)) + " |")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as top:
        home, project = f"{top}/home", f"{top}/project"
        os.mkdir(home, 0o700)
        some = verdicts(project)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        environment = {**kept, "HOME": home, "GATEWAY_SERVICE": "off"}
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
            environment.pop(name, None)
        log = Log(f"{home}/.local/state/gateway/audit")
        write(log, some, given.records // 2)
        console = Console(environment, project)
        up = time.perf_counter() - console.began
        try:
            row("what", f"{given.records:,} records", "bound")
            row("---", "---", "---")
            paint = painted(console)
            if paint is not None:
                row("start of the process", f"{up:.2f} s", "")
                row("first page with calls, in the browser", f"{paint:.2f} s", "together 1.5 s")
            found = sorted(visible(console, log, some, 40))
            row("a decision on the page, p50 / p95", f"{found[20]:.0f} / {found[37]:.0f} ms", "300 ms")
            without, five = hooks(environment, project, console, given.rounds)
            row(
                "a hook with five pages, over one without",
                f"{five:.0f} / {without:.0f} ms, {five / without:.3f}",
                "1.05",
            )
            for path in ("/live?decision=deny", "/why/1", "/interruptions"):
                clock = time.perf_counter()
                is_read = False
                while not is_read:  # until then the page says how far the reading of the record is
                    connection, answer = console.get(path)
                    is_read = b"data-work" not in answer.read()
                    connection.close()
                    time.sleep(0 if is_read else 0.2)
                row(f"{path}, the first time", f"{time.perf_counter() - clock:.2f} s", "")
            row("memory", f"{console.memory():.0f} MB", "80 MB")
        finally:
            console.end()


if __name__ == "__main__":
    main()
