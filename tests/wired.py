"""Clients of MCP over real pipes, message by message, in front of `gateway mcp` or of a server itself."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import starting
from patience import patience

HERE = Path(__file__).parent
ROOT = HERE.parent
SCRIPTED = HERE / "mcp" / "scripted.py"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {"form": {}}},
    "clientInfo": {"name": "tests", "version": "1"},
}
ERAS = ("handshake", "stateless")


class Wired:
    """A process that speaks MCP, with what it said and what it told people."""

    def __init__(
        self, command: list[str], folder: Path, environment: dict[str, str], *, era: str, capabilities: Any = None
    ) -> None:
        self.process = starting.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.era = era
        self.notes: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.answers: Any = None  # a function of a request of the server's
        self.stderr: list[str] = []
        self._said = threading.Condition()
        self._waiting: dict[Any, queue.Queue[dict[str, Any]]] = {}
        self._number = 0
        self._has_ended = False  # it says nothing any more
        self._capabilities = CLIENT["capabilities"] if capabilities is None else capabilities
        self._lock = threading.Lock()
        for does in (self._read, self._listen):
            threading.Thread(target=does, daemon=True).start()
        if era == "handshake":
            self.opened = self.ask("initialize", {**CLIENT, "capabilities": self._capabilities})
            self.write({"method": "notifications/initialized"})
        else:
            self.opened = self.ask("server/discover")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.asked.append(message)
                if self.answers is not None:
                    self.write({"id": message["id"], **self.answers(message)})
            elif "method" in message:
                with self._said:
                    self.notes.append(message)
                    self._said.notify_all()
            else:
                self._waiting.setdefault(message.get("id"), queue.Queue()).put(message)
        self._has_ended = True
        for each in list(self._waiting.values()):
            each.put({})

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._said:
                self.stderr.append(line.decode("utf-8", "replace").rstrip("\n"))
                self._said.notify_all()

    def afresh(self) -> Wired:
        """The same one for another test, which knows nothing of what was said before."""
        self.answers = None
        for each in (self.notes, self.asked, self.stderr):
            each.clear()
        return self

    def until(self, holds: Any) -> None:
        """Waits until it holds. It may ask the server something, which must be able to answer meanwhile."""
        end = time.monotonic() + patience(60)
        while not holds():
            assert time.monotonic() < end, "\n".join(self.stderr[-20:])
            with self._said:
                self._said.wait(0.02)

    def got(self) -> list[dict[str, Any]]:
        """What the scripted server received."""
        return [json.loads(line[4:]) for line in self.stderr if line.startswith("got ")]

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with self._lock:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()

    def start(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> int:
        """Sends a request and gives its id."""
        with self._lock:
            self._number += 1
            number = self._number
        self._waiting.setdefault(number, queue.Queue())
        if self._has_ended:
            self._waiting[number].put({})
        given = dict(params or {})
        stamps = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": self._capabilities}
        said = {**(stamps if self.era == "stateless" else {}), **meta}
        if said:
            given["_meta"] = said
        self.write({"id": number, "method": method, "params": given})
        return number

    def answer(self, number: int) -> dict[str, Any]:
        """The whole answer to a request. AssertionError where the process ends without one."""
        found = self._waiting[number].get(timeout=patience(60))
        assert found, "\n".join(["it has ended", *self.stderr[-20:]])
        return found

    def ask(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
        """The result of a request; AssertionError where there is none."""
        found = self.answer(self.start(method, params, **meta))
        assert "result" in found, found
        result: dict[str, Any] = found["result"]
        return result

    def error(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        found = self.answer(self.start(method, params))
        assert "error" in found, found
        error: dict[str, Any] = found["error"]
        return error

    def tools(self) -> dict[str, dict[str, Any]]:
        return {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, /, **arguments: Any) -> str:
        return text_of(self.call(tool, **arguments))

    def close(self) -> None:
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(patience(60))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in result["content"])


class Place:
    """A home and a project, and processes in it."""

    def __init__(self, ground: Any) -> None:
        self.ground = ground
        self.home, self.project = ground.home, ground.project
        shutil.copy(SCRIPTED, self.project / "server.py")
        self.open: list[Wired] = []
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
            "PYTHONWARNINGS": "error",
            "SECRET_OF_OURS": "s3cr3t-value",
        }

    def says(self, *rules: dict[str, Any], servers: Any = None, **settings: Any) -> None:
        """The user's policy: the server may start and its tools be called, and what the test adds."""
        usual = [
            {"id": "start", "allow": ["Bash(python3 -S server.py)", "Bash(python3 -S server.py *)"]},
            {"id": "tools", "allow": {"tool": ["mcp__docs__*", "ReadMcpResource"]}},
        ]
        declared = {"docs": {"command": ["python3", "-S", "server.py"]}} if servers is None else servers
        self.ground.says({"rules": [*rules, *usual], "settings": {"servers": declared, **settings}})

    def gateway(self, *words: str, era: str = "handshake", capabilities: Any = None, **environment: str) -> Wired:
        """`gateway mcp …` in the project."""
        command = [sys.executable, "-m", "gateway", "mcp", *words]
        return self.started(command, era=era, capabilities=capabilities, **environment)

    def started(
        self, command: list[str], *, era: str = "handshake", capabilities: Any = None, **environment: str
    ) -> Wired:
        made = Wired(command, self.project, {**self.environment, **environment}, era=era, capabilities=capabilities)
        self.open.append(made)
        return made

    def direct(self, *words: str, era: str = "handshake") -> Wired:
        """The server itself: what it does without the proxy."""
        return self.started([sys.executable, "server.py", *words], era=era)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of `gateway` that ends by itself."""
        return starting.run(
            **self.arguments(*words), capture_output=True, text=True, timeout=patience(60), check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def arguments(self, *words: str) -> dict[str, Any]:
        """For `Popen`: a command of `gateway` in this place."""
        return {"args": [sys.executable, "-m", "gateway", *words], "cwd": self.project, "env": self.environment}

    def close(self) -> None:
        for each in self.open:
            each.close()


class Clients:
    """Clients of one command in a place whose policy no test changes: one for each era, for tests that leave behind
    nothing but files of their own."""

    def __init__(self, place: Place, *words: str, **how: Any) -> None:
        self.place = place
        self._words, self._how = words, how
        self._made: dict[str, Wired] = {}

    def __call__(self, era: str = ERAS[0]) -> Wired:
        if era not in self._made:
            self._made[era] = self.place.gateway(*self._words, era=era, **self._how)
        return self._made[era].afresh()
