"""What the engine predicts for a text, asked where it would really run: the same paths, links, programs and repository.

The real engine answers in a process of its own, whose namespace has the world at the places that the cage has it.
Run as a program, this module is that process: it answers each line of JSON with one.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import Any

HOME, ROOT, TEMP = "/home/dev", "/home/dev/project", "/tmp"
ROOM = "/mnt"


class Analyst:
    """Starts the process over a world that nobody changes; asks it."""

    def __init__(self, world: str, cache: str) -> None:
        from oracle.cage import MERGED, SEARCH_PATH, SYSTEM, system_mounts

        os.makedirs(cache, exist_ok=True)
        here = os.path.dirname(os.path.abspath(__file__))
        # Root keeps its own name space of users: it has to see into folders that only the cage's user may open.
        apart = (
            ["--unshare-all"] if os.getuid() else ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        )
        words = ["bwrap", *apart, "--die-with-parent", "--clearenv", "--setenv", "PATH", SEARCH_PATH]
        words += [*system_mounts(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run", "--tmpfs", "/var/tmp"]
        words += ["--bind", f"{world}/home", HOME, "--bind", f"{world}/tmp", TEMP, "--tmpfs", ROOM]
        words += ["--ro-bind", os.path.dirname(os.path.dirname(here)), f"{ROOM}/code", "--bind", cache, f"{ROOM}/cache"]
        libraries = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        for index, path in enumerate(libraries):
            words += ["--ro-bind", path, f"{ROOM}/library{index}"]
        prefix = os.path.realpath(sys.base_prefix)
        if not prefix.startswith((*SYSTEM, *MERGED)):
            words += ["--ro-bind", prefix, prefix]
        python = os.path.realpath(sys.executable)
        search = [f"{ROOM}/code", *(f"{ROOM}/library{index}" for index in range(len(libraries)))]
        start = f"import sys; sys.path[:0] = {search!r}; from tests.oracle.analyst import serve; serve()"
        self._process = subprocess.Popen(
            [*words, "--chdir", ROOT, "--", python, "-I", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
        )

    def __enter__(self) -> Analyst:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, text: str, cwd: str, paths: list[str]) -> dict[str, Any]:
        """The verdict and prediction for a text, and where paths lead in the world as it was before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"text": text, "cwd": cwd, "paths": paths}) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the engine gave up on {text!r}")
        found: dict[str, Any] = json.loads(answer)
        return found


def serve() -> None:
    """Answers questions until there are none."""
    from gateway.api.gateway import Gateway
    from gateway.config.load import Options
    from gateway.core.places import Places

    nowhere = "/nonexistent"
    where = Places(nowhere, nowhere, nowhere, f"{ROOM}/cache", HOME)
    guard = Gateway(Options(ROOT, root=ROOT), where=where, confined=True)
    for line in sys.stdin:
        question = json.loads(line)
        answer = prediction(guard, question["text"], question["cwd"])
        answer["cwd"] = question["cwd"]
        answer["reals"] = {
            path: [_real(path), os.path.isdir(path), os.path.lexists(path)] for path in question["paths"]
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def prediction(guard: Any, text: str, cwd: str) -> dict[str, Any]:
    """What the engine says of a text, as plain data."""
    from gateway.core.errors import CallError
    from gateway.model.call import RawCall

    try:
        verdict = guard.check(RawCall("Bash", {"command": text}), guard.context.replace(cwd=cwd))
    except CallError as error:
        return {"decision": "invalid", "parts": [], "effects": [{"kind": "opaque", "part": -1, "why": str(error)}]}
    parts = []
    for part in verdict.analysis.parts:
        base = part.argv[0].rpartition("/")[2] if part.argv else ""
        description = guard.describe(base) or {}
        parts.append(
            {
                "argv": part.argv,
                "program": part.program,
                "literal": part.literal and not part.via,
                "via": part.via,
                "shell": not base
                or "\0" in base
                or "builtin" in description
                or ("/" not in part.argv[0] and base in BUILTINS),
            }
        )
    effects = [{"kind": i.effect.kind, "part": i.part, **i.effect.as_dict()} for i in verdict.analysis.items]
    for effect in effects:
        if "argv" in effect:
            effect["argv"] = list(effect["argv"])
    return {"decision": verdict.decision.word, "parts": parts, "effects": effects}


# What runs in the shell itself.
BUILTINS = frozenset((
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete",
    "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false",
    "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd",
    "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source",
    "suspend", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
))  # fmt: skip


def _real(path: str) -> str:
    """Where a name leads: its folder's links followed, not its own."""
    stripped = path.rstrip("/") or "/"
    folder, _, name = stripped.rpartition("/")
    if name in ("", ".", ".."):
        return os.path.realpath(stripped)
    return f"{os.path.realpath(folder or '/').rstrip('/')}/{name}"
