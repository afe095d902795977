"""A program of its own: a file is written by a process that is killed before, then after, each call to the system.

    python kill_everywhere.py BASE TOOL…

BASE is an empty folder. For each tool it prints a line for each death: what the file held then, what lay beside it, and
whether the next write came through; the last line is that of the process that was not killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

HOOKED = ("open", "write", "fsync", "link", "unlink", "rename", "mkdir", "fchmod", "fchown", "setxattr", "close")
OLD, NEW = "old\n" * 2000, "new\n" * 3000


def bench_in(base: str) -> Any:
    spec = spec_from_file_location("bench", os.path.join(os.path.dirname(__file__), "conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bench(base)


def killed_at(moment: int, *, after: bool) -> None:
    """From now on the process dies at this call to the system, counted from 0."""
    count = iter(range(moment + 1))

    def hooked(real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            dies = next(count, None) == moment
            if dies and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return real(*given, **named)
            finally:
                if dies:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in HOOKED:
        if hasattr(os, name):
            setattr(os, name, hooked(getattr(os, name)))
    fcntl.flock = hooked(fcntl.flock)


def written(bench: Any, tool: str, name: str) -> None:
    if tool == "Edit":
        bench("Edit", file_path=name, old_string="old", new_string="new", replace_all=True)
    else:
        bench("Write", file_path=name, content=NEW)


def state(path: str) -> str:
    if not os.path.exists(path):
        return "missing"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {OLD: "old", NEW: "new", OLD.replace("old", "new"): "new"}.get(text, f"torn: {len(text)}")


def tried(bench: Any, tool: str) -> None:
    for number in range(400):
        moment, after = divmod(number, 2)
        name = f"{tool}{number}/a"
        target = bench.path(name)
        if tool != "Create":
            bench.write(name, OLD)
            os.chmod(target, 0o640)
            bench("Read", file_path=name, limit=1)
        child = os.fork()
        if child == 0:
            killed_at(moment, after=bool(after))
            written(bench, tool, name)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        was_killed = os.WIFSIGNALED(status)
        found = {"tool": tool, "killed": was_killed, "state": state(target)}
        if os.path.exists(target):
            found["mode"] = oct(os.stat(target).st_mode & 0o777)
            bench("Read", file_path=name, limit=1)
        bench("Write", file_path=name, content=NEW)
        found["next"] = [state(target), sorted(os.listdir(os.path.dirname(target)))]
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        if not was_killed:
            return


if __name__ == "__main__":
    in_base = bench_in(sys.argv[1])
    for each in sys.argv[2:]:
        tried(in_base, each)
