"""`gateway doctor --live`: an agent is run once, and what became of the call that its hook must refuse is told."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from patience import patience
from realclients import program
from shebang import first_lines
from warmed import warm

from gateway.core.places import Places
from gateway.frontends import doctor_agents
from gateway.frontends.doctor_live import live_findings
from gateway.frontends.finding import BETTER, BROKEN, OK
from gateway.install import live
from gateway.install.agents import agent_named
from gateway.install.base import Site
from gateway.install.hook_lines import hook_lines
from gateway.install.pieces import TEXT, Made, put

# A client that has its hook asked, takes nothing but a refusal for one, and tells the model what came of its call.
OBEYS = """
import json, os, subprocess, sys, urllib.request

def said(messages):
    body = json.dumps({"model": "m", "tools": [{"name": "Bash"}], "messages": messages}).encode()
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    return json.load(urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})))

settings = json.load(open(os.path.expanduser("~/.claude/settings.json")))
asked = [{"role": "user", "content": "x"}]
answer = said(asked)
(call,) = answer["content"]
event = {
    "session_id": "s", "transcript_path": "", "cwd": os.getcwd(), "permission_mode": "default",
    "tool_use_id": call["id"],
    "hook_event_name": "PreToolUse", "tool_name": call["name"], "tool_input": call["input"],
}
found = None
for group in settings["hooks"].get("PreToolUse", ()) if OBEYS and not settings.get("disableAllHooks") else ():
    for hook in group["hooks"]:
        done = subprocess.run([hook["command"], *hook["args"]], input=json.dumps(event).encode(), capture_output=True)
        told = json.loads(done.stdout or b"{}").get("hookSpecificOutput", {})
        if told.get("permissionDecision") == "deny":
            found = told["permissionDecisionReason"]
if found is None:
    found = subprocess.run(["sh", "-c", call["input"]["command"]], capture_output=True, text=True).stdout
result = {"type": "tool_result", "tool_use_id": call["id"], "content": found}
said([*asked, {"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}])
"""


class World:
    """A person's home with hooks of the gateway in an agent's settings, and a program of that agent on PATH."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.bin = folder / "home", folder / "project", folder / "bin"
        for each in (self.home, self.project, self.bin):
            each.mkdir()
        warm(self.home / ".cache" / "gateway")
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.home), "SECRET": "x"}

    def put(self, name: str, level: str = "user") -> None:
        agent = agent_named(name)
        assert agent is not None
        lines = hook_lines(name, ("--deadline", f"{patience(10):.0f}"))
        for each in agent.hooks(Site(level, str(self.home), str(self.project), {}), lines):
            path = Path(each.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(each.content if each.form == TEXT else put(each, "", Made())[0], encoding="utf-8")

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(first_lines() + text)
        path.chmod(0o755)

    def findings(self, name: str) -> Any:
        agent = agent_named(name)
        assert agent is not None
        home = str(self.home)
        where = Places("/nonexistent", f"{home}/c", f"{home}/s", f"{home}/k", home)
        return live_findings(doctor_agents.look(agent, where, str(self.project), self.environment), self.environment)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def states(found: Any) -> list[str]:
    return [each.state for each in found]


def test_an_agent_that_asks_its_hook_is_fine(world: World) -> None:
    world.put("claude")
    world.program("claude", f"OBEYS = True{OBEYS}")
    found = world.findings("claude")
    assert states(found) == [OK], found
    assert "was refused" in found[0].text


def test_an_agent_that_does_not_ask_is_broken(world: World) -> None:
    world.put("claude")
    world.program("claude", f"OBEYS = False{OBEYS}")
    found = world.findings("claude")
    assert states(found) == [BROKEN], found
    assert "ran a call that must be refused" in found[0].text


def test_what_switches_hooks_off_is_taken_along(world: World) -> None:
    world.put("claude")
    world.program("claude", f"OBEYS = True{OBEYS}")
    path = world.home / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))
    assert states(world.findings("claude")) == [BROKEN]


def test_nothing_else_of_the_person_or_the_repository_is(world: World) -> None:
    world.put("claude")
    path = world.home / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    other = {"hooks": [{"type": "command", "command": "touch", "args": [str(world.home / "started")]}]}
    settings["hooks"]["PreToolUse"].append(other)
    path.write_text(json.dumps({**settings, "apiKeyHelper": "./key", "env": {"X": "y"}}))
    theirs = world.project / ".claude" / "settings.json"
    theirs.parent.mkdir()
    line = {"type": "command", "command": "/bin/sh", "args": ["-c", "touch started", "gateway", "hook", "claude"]}
    theirs.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [line]}]}}))
    told = (
        "import json, os\nsettings = open(os.path.expanduser('~/.claude/settings.json')).read()\n"
        "print(json.dumps([settings, dict(os.environ)]))"
    )
    world.program("claude", told)
    (found,) = world.findings("claude")
    assert found.state == BETTER
    world.program("claude", told.replace("print(", f"open({str(world.home / 'seen')!r}, 'w').write("))
    world.findings("claude")
    kept, environment = json.loads((world.home / "seen").read_text())
    assert set(json.loads(kept)) == {"hooks"}
    assert "touch" not in kept
    assert "SECRET" not in environment
    assert environment["HOME"] != str(world.home)
    assert not os.path.exists(environment["HOME"])


@pytest.mark.parametrize("text", ["print('please log in')", "raise SystemExit(3)", "import os; os.abort()"])
def test_an_agent_that_does_not_come_to_a_call_is_not_called_fine(world: World, text: str) -> None:
    world.put("claude")
    world.program("claude", text)
    assert states(world.findings("claude")) == [BETTER]


def test_an_agent_that_does_not_end_is_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SECONDS", 1)
    world.put("claude")
    world.program("claude", "import time\ntime.sleep(600)")
    (found,) = world.findings("claude")
    assert (found.state, "did not end" in found.details[0]) == (BETTER, True)


def test_without_a_program_or_a_hook_or_a_way_it_says_so(world: World) -> None:
    world.environment["PATH"] = str(world.bin)
    assert "not on PATH" in world.findings("claude")[0].text
    world.program("cursor", "")
    assert "cannot be pointed" in world.findings("cursor")[0].text
    world.program("codex", "")
    assert states(world.findings("codex")) == [BROKEN]


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    return Path(folder).absolute()


OFF = {
    "claude": {"disableAllHooks": True},
    "codex": {"features": {"hooks": False}},
    "gemini": {"hooksConfig": {"enabled": False}},
    "copilot": {"disableAllHooks": True},
}


@pytest.mark.parametrize("agent", OFF)
def test_the_real_agents_are_told_apart(agent: str, clients: Path, world: World) -> None:
    """With their hooks they refuse, without them, or with hooks switched off, they run the call."""
    world.put(agent)
    looked_at = agent_named(agent)
    assert looked_at is not None
    (target, *_others) = looked_at.hooks(Site("user", str(world.home), str(world.project), {}), hook_lines(agent))
    hooks = json.loads(Path(target.path).read_text())["hooks"]
    binary = str(program(clients, agent))
    assert live.lived(agent, binary, hooks, {}, os.environ).became == live.REFUSED
    assert live.lived(agent, binary, {}, {}, os.environ).became == live.RAN
    assert live.lived(agent, binary, hooks, OFF[agent], os.environ).became == live.RAN
