"""Homes with a service of their own, in folders with short names: a socket's name may not be long everywhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patience import patience

from gateway.core.command_lines import hook_line
from gateway.frontends.service import thin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ALLOWED, DENIED = "cat README.md", "cat ~/.ssh/id_rsa"


class Home:
    """A home folder with a project, an agent's hook in it, and maybe a service."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.project = top / "p"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (self.project / "README.md").write_text("# x\n", encoding="utf-8")
        (top / ".local" / "state").mkdir(parents=True)
        self.environment = {"HOME": str(top), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        self.environment["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")

    def policy(self, text: str) -> None:
        folder = self.top / ".config" / "gateway"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "policy.yaml").write_text(text, encoding="utf-8")

    @property
    def folder(self) -> Path:
        """Where the service's socket and lock lie."""
        return self.top / ".local" / "state" / "gateway" / "service"

    @property
    def bytes_environment(self) -> dict[bytes, bytes]:
        return {os.fsencode(name): os.fsencode(value) for name, value in self.environment.items()}

    def event(self, text: str, **more: Any) -> bytes:
        told = {
            "session_id": "s", "transcript_path": "/dev/null", "cwd": str(self.project), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": text},
            "tool_use_id": "toolu_1", **more,
        }  # fmt: skip
        return json.dumps(told).encode()

    def start(self, *options: str, line: Sequence[str] = (), **how: Any) -> subprocess.Popen[bytes]:
        """A hook, as an agent starts it."""
        how = {"stdin": subprocess.PIPE, "env": self.environment} | how
        return subprocess.Popen(
            [*(line or hook_line("claude")), *options], cwd=self.project, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **how,
        )  # fmt: skip

    def hook(self, text: str = ALLOWED, *options: str, **how: Any) -> tuple[bytes, bytes, int]:
        """What a hook answers."""
        with self.start(*options, **how) as process:
            out, err = process.communicate(self.event(text), timeout=300)
        return out, err, process.returncode

    def decision(self, text: str = ALLOWED, *, deadline: str = "600", **how: Any) -> str:
        out, err, status = self.hook(text, "--deadline", deadline, **how)
        assert (err, status) == (b"", 0), out
        found: str = json.loads(out)["hookSpecificOutput"]["permissionDecision"]
        return found

    def services(self) -> list[int]:
        """The processes that serve this home folder."""
        found = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
                variables = Path("/proc", name, "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[-2:-1] == [b"serve"] and f"HOME={self.top}".encode() in variables:
                found.append(int(name))
        return found

    def ask(self, *words: str, given: bytes = b"", seconds: float = 30.0, **environment: str) -> Any:
        """What the service answers, without the cold path, and whether one should be started."""
        variables = self.bytes_environment | {k.encode(): v.encode() for k, v in environment.items()}
        return thin.ask(words, variables, given, time.monotonic() + patience(seconds))

    def serve(self) -> int:
        """Has a hook start the service, and gives its process once it answers."""
        self.hook()
        for _ in range(2000):
            if self.ask("check", "--json", "Read(README.md)")[0] is not None:
                (pid,) = self.services()
                return pid
            subprocess.run(["sleep", "0.02"], check=True)
        raise AssertionError("no service came up")

    def close(self) -> None:
        for pid in self.services():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.top, ignore_errors=True)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    made = Home(Path(tempfile.mkdtemp(prefix="gw-", dir="/tmp")).resolve())
    monkeypatch.chdir(made.project)
    yield made
    made.close()


@pytest.fixture
def linux() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("what processes serve is looked up in /proc")
