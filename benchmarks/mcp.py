"""What the proxy adds to a call of an MCP server: the same server with and without it, asked in turn, in one run.

    python benchmarks/mcp.py [CALLS]

The difference of the two medians is what a call costs more; both eras of the protocol are measured. The server answers
at once and is spoken to over pipes, as the proxy is. Needs the extra `mcp` and a sandbox.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CALLS = 400
SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "bench", "version": "1"}}
    elif method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        result = {"tools": [{"name": "echo", "description": "Echo", "inputSchema": schema}]}
    else:
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}], "isError": False}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
POLICY = """\
version: 1
extends: [daily]
rules:
  - {id: start, allow: ["Bash(python3 server.py)"]}
  - {id: tools, allow: ["mcp__bench__*"]}
settings:
  servers: {bench: {command: [python3, server.py]}}
"""
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Asked:
    """A server's process, asked over its pipes."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str], *, modern: bool) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._number = 0
        self._modern = modern
        self._rest = b""
        if modern:
            self.ask("server/discover", {})
        else:
            client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
            self.ask("initialize", client)
            self._write({"method": "notifications/initialized"})
        self.ask("tools/list", {})

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        if self._modern:
            params = {**params, "_meta": ENVELOPE}
        self._write({"id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            self._rest += os.read(self.process.stdout.fileno(), 1 << 16)
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        assert "result" in found, found
        return found["result"]

    def call(self, text: str) -> float:
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": "echo", "arguments": {"text": text}})
        taken = time.perf_counter() - began
        assert result["content"] == [{"type": "text", "text": text}], result
        return taken

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


def measured(calls: int, *, modern: bool) -> tuple[list[float], list[float]]:
    """Seconds of each call, without the proxy and with it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        top = Path(name).resolve()
        home, project = top / "home", top / "project"
        (home / ".config" / "gateway").mkdir(parents=True)
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (home / ".config" / "gateway" / "policy.yaml").write_text(POLICY, encoding="utf-8")
        (project / "server.py").write_text(SERVER, encoding="utf-8")
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        direct = Asked(["python3", "server.py"], project, environment, modern=modern)
        gateway = [sys.executable, "-m", "gateway", "mcp", "proxy", "bench"]
        behind = Asked(gateway, project, environment, modern=modern)
        try:
            for _ in range(20):
                direct.call("warm"), behind.call("warm")
            found: tuple[list[float], list[float]] = ([], [])
            for number in range(calls):  # in turn, so that whatever else the machine does falls on both
                found[0].append(direct.call(f"text {number}"))
                found[1].append(behind.call(f"text {number}"))
        finally:
            direct.close()
            behind.close()
    return found


def at(values: list[float], share: float) -> float:
    """A percentile, in milliseconds."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1_000


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    print(f"{calls} calls each, in turn\n")
    print("| era | | p50 ms | p99 ms |\n| --- | --- | --- | --- |")
    for era, modern in (("2025-11-25", False), ("2026-07-28", True)):
        without, proxied = measured(calls, modern=modern)
        print(f"| {era} | server alone | {at(without, 0.5):.2f} | {at(without, 0.99):.2f} |")
        print(f"| | behind the proxy | {at(proxied, 0.5):.2f} | {at(proxied, 0.99):.2f} |")
        more = at(proxied, 0.5) - at(without, 0.5), at(proxied, 0.99) - at(without, 0.99)
        print(f"| | added | {more[0]:.2f} | {more[1]:.2f} |")


if __name__ == "__main__":
    main()
