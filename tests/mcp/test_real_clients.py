"""The real clients with the gateway as their MCP server, and with a server behind it: `pytest tests/mcp
--real-clients DIR` installs them from npm."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from realclients import PACKAGES, ROOT, Client, program

from gateway.sandbox.backends.spaces import Spaces

AGENTS = tuple(PACKAGES)
NAMES = {"claude": "mcp__gw__{}", "codex": "mcp__gw/{}", "gemini": "mcp_gw_{}", "copilot": "gw-{}", "opencode": "gw_{}"}
SCRIPTED = Path(__file__).parent / "scripted.py"
PROXIED = """extends: [daily]
rules:
  - {id: start, allow: "Bash(python3 server.py)"}
  - {id: tools, allow: mcp__docs__echo}
  - {id: no, deny: mcp__docs__fail}
settings:
  servers: {docs: {command: [python3, server.py]}}
"""
SERVED = """rules:
  - {id: no, deny: "Read(./secret.txt)"}
"""


class WithServer(Client):
    """A client that has one MCP server, called gw, and no hook."""

    command: tuple[str, ...] = ()

    def uses(self, *words: str) -> None:
        """`gateway mcp …` is its server."""
        self.command = (sys.executable, "-m", "gateway", "mcp", *words)
        warm = ["check", "Bash(ls)"]  # what is compiled is there, as it is for whoever has used the gateway once
        environment = self.environment | {"HOME": str(self.home)}
        subprocess.run(
            [sys.executable, "-m", "gateway", *warm],
            env=environment,
            cwd=self.project,
            check=False,
            capture_output=True,
        )

    def _server(self) -> dict[str, Any]:
        return {"command": self.command[0], "args": list(self.command[1:]), "env": {"PYTHONPATH": str(ROOT)}}

    def _claude(self, _hooks: Any, url: str, _mode: str) -> tuple[list[str], dict[str, str]]:
        words, more = super()._claude({}, url, "bypassPermissions")
        place = self.temp / "mcp.json"
        place.write_text(json.dumps({"mcpServers": {"gw": {"type": "stdio", **self._server()}}}))
        return [*words, "--mcp-config", str(place), "--strict-mcp-config"], more

    def _codex(self, _hooks: Any, url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        found = super()._codex({}, url, mode)
        with (self.home / ".codex" / "config.toml").open("a") as file:
            args = json.dumps(list(self.command[1:]))
            file.write(f"[mcp_servers.gw]\ncommand = {json.dumps(self.command[0])}\nargs = {args}\n")
            file.write(f"env = {{ PYTHONPATH = {json.dumps(str(ROOT))} }}\n")
        return found

    def _gemini(self, _hooks: Any, url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        found = super()._gemini({}, url, mode)
        place = self.home / ".gemini" / "settings.json"
        place.write_text(json.dumps(json.loads(place.read_text()) | {"mcpServers": {"gw": self._server()}}))
        return found

    def _copilot(self, _hooks: Any, url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        words, more = super()._copilot({}, url, mode)
        config = {"mcpServers": {"gw": {"type": "local", "tools": ["*"], **self._server()}}}
        return [*words, "--additional-mcp-config", json.dumps(config)], more

    def _opencode(self, _hooks: Any, url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        found = super()._opencode({"tool.execute.before": ["true"]}, url, mode)
        place = self.home / ".config" / "opencode" / "opencode.json"
        environment = {"PYTHONPATH": str(ROOT)}
        server = {"type": "local", "command": list(self.command), "environment": environment, "enabled": True}
        place.write_text(json.dumps(json.loads(place.read_text()) | {"plugin": [], "mcp": {"gw": server}}))
        return found


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    return Path(folder).absolute()


def step(agent: str, tool: str, **given: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(NAMES[agent].format(tool), given)]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_tools_of_the_gateway_are_called(agent: str, clients: Path, tmp_path: Path) -> None:
    found = WithServer(agent, program(clients, agent), tmp_path)
    found.policy(SERVED)
    (found.project / "a.txt").write_text("content of a\n")
    (found.project / "secret.txt").write_text("hidden words\n")
    found.uses("serve")
    steps = [step(agent, "Read", file_path="a.txt"), step(agent, "Read", file_path="secret.txt")]
    ran = found.run({}, [*steps, step(agent, "Write", file_path="b.txt", content="x")])
    assert not ran.late
    allowed, denied, asked = ran.results
    assert "content of a" in allowed, ran
    assert "hidden words" not in denied
    assert "`no`" in denied
    assert "needs a person's approval" in asked  # which nobody is there to give
    assert not (found.project / "b.txt").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_server_behind_the_proxy_is_called(agent: str, clients: Path, tmp_path: Path) -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    found = WithServer(agent, program(clients, agent), tmp_path)
    found.policy(PROXIED)
    shutil.copy(SCRIPTED, found.project / "server.py")
    found.uses("proxy", "docs")
    ran = found.run({}, [step(agent, "echo", text="through the proxy"), step(agent, "fail"), step(agent, "cwd")])
    assert not ran.late
    echoed, denied, asked = ran.results
    assert "through the proxy" in echoed, ran
    assert "it does not work" not in denied  # the client does not even know of it
    assert "needs a person's approval" in asked
