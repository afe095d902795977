"""What `gateway init` wrote, read by the real clients: their calls are asked about, and what was put in goes again.

`pytest tests/install --real-clients DIR` installs them from npm where they are not there yet.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ownetc
import pytest
from realclients import PACKAGES, Client, program, shell

from gateway.install.exported_files import native
from gateway.install.exported_rules import Prefix, Second

AGENTS = tuple(PACKAGES)
# The mode in which nothing but the hook stops a call.
UNGUARDED = {"claude": "bypassPermissions"}
BYPASS = "--dangerously-bypass-hook-trust"


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    return Path(folder).absolute()


def unhooked(client: Client, url: str, mode: str) -> tuple[list[str], dict[str, str]]:
    """The client's own settings without any hook, its command line and environment."""
    own = getattr(type(client), f"_{client.agent}")
    words, more = own(client, {"tool.execute.before": ["/bin/true"]} if client.agent == "opencode" else {}, url, mode)
    if client.agent == "codex":
        (client.home / ".codex" / "hooks.json").unlink()
    if client.agent == "opencode":
        path = client.home / ".config" / "opencode" / "opencode.json"
        config = json.loads(path.read_text())
        config.pop("plugin", None)
        path.write_text(json.dumps(config))
    return [word for word in words if word != BYPASS], more


class Installed(Client):
    """A client whose hooks `gateway init` puts in, after its own settings are there."""

    def __init__(self, agent: str, clients: Path, folder: Path, *options: str) -> None:
        binary = program(clients, agent)
        super().__init__(agent, binary, folder)
        self.environment["PATH"] = f"{binary.parent}:{self.environment['PATH']}"
        self.options = options

        def configured(_hooks: Any, url: str, mode: str) -> tuple[list[str], dict[str, str]]:
            words, self.more = unhooked(self, url, mode)
            done = self.gateway("init", agent, "--yes", *options)
            assert done.returncode == 0, done.stdout + done.stderr
            return words, self.more

        setattr(self, f"_{agent}", configured)

    def gateway(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gateway", *words], cwd=self.project, env=self.environment | self.more,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--native", "--mcp"), ("--project",)], ids=["user", "with-all", "project"])
@pytest.mark.parametrize("agent", AGENTS)
def test_the_hook_that_was_put_in_is_asked(agent: str, options: tuple[str, ...], clients: Path, tmp_path: Path) -> None:
    found = Installed(agent, clients, tmp_path, *options)
    found.policy("extends: [daily]\nallow: ['Bash(touch made)']\n")
    (found.project / ".env").write_text("KEY=hunter2\n")
    commands = ("touch made", "cat .env", "echo {} > .claude/settings.json")
    steps = [[shell(agent, each)] for each in commands]
    ran = found.run({}, steps, mode=UNGUARDED.get(agent, ""))
    assert (found.project / "made").exists(), ran
    assert not (found.project / ".claude" / "settings.json").exists() or agent == "claude"
    told = [("secret-files" in each, "gateway-and-agent-wiring" in each, "hunter2" in each) for each in ran.results[1:]]
    assert told == [(True, False, False), (False, True, False)], ran
    doctor = found.gateway("doctor", "--agent", agent)
    assert doctor.returncode == 0, doctor.stdout
    level = [each for each in options if each == "--project"]
    assert found.gateway("init", agent, "--undo", "--yes", *level).returncode == 0
    assert "gateway is in it" not in found.gateway("init").stdout


@pytest.mark.parametrize("agent", AGENTS)
def test_without_it_the_same_runs(agent: str, clients: Path, tmp_path: Path) -> None:
    found = Client(agent, program(clients, agent), tmp_path)
    (found.project / ".env").write_text("KEY=hunter2\n")
    setattr(found, f"_{agent}", lambda _hooks, url, mode: unhooked(found, url, mode))
    ran = found.run({}, [[shell(agent, "cat .env")]], mode=UNGUARDED.get(agent, ""))
    assert ["hunter2" in each for each in ran.results] == [True], ran


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
def test_the_second_net_holds_without_the_hook(agent: str, clients: Path, tmp_path: Path) -> None:
    from gateway.install.agents import agent_named
    from gateway.install.base import Site
    from gateway.install.pieces import TEXT, Made, put

    found = Client(agent, program(clients, agent), tmp_path)
    # Of every kind that can be said, in the forms that look oddest: a loader that takes offence drops the whole file.
    net = Second(
        (
            Prefix(("touch", "made"), "no-touch", "it is only a test"),
            Prefix(("a'b", 'c"d\\'), "odd", 'a "why" \u00e9\x7f'),
        ),
        ("~/.ssh", "**/.env*", "//etc/shadow", "**/*.pem"),
        ("//etc/**", "~/.bashrc"), ("*.evil.example", "evil.example"),
        (("github", "delete_repo"), ("db", "*"), ("odd-server", "odd.tool")),
    )  # fmt: skip

    def configured(_hooks: Any, url: str, mode: str) -> Any:
        words = unhooked(found, url, mode)
        module = agent_named(agent)
        assert module is not None
        for each in native(module, Site("user", str(found.home), str(found.project), {}), net)[0]:
            path = Path(each.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text() if path.exists() else ""
            path.write_text(each.content if each.form == TEXT else put(each, text, Made())[0])
        return words

    setattr(found, f"_{agent}", configured)
    ran = found.run({}, [[shell(agent, "touch made")], [shell(agent, "touch other")]], mode=UNGUARDED.get(agent, ""))
    assert [(found.project / name).exists() for name in ("made", "other")] == [False, True], ran


MANAGED = {"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode"}
# How a session is started, and what stands in the project, so that hooks of users and projects are left out.
AROUND: list[tuple[str, tuple[str, ...], str]] = [
    ("claude", (), ""),
    ("claude", ("--bare",), ""),
    ("claude", ("--safe-mode",), ""),
    ("claude", (), '{"disableAllHooks": true}'),
    ("codex", (), ""),
    ("gemini", (), ""),
    ("opencode", (), ""),
]


@pytest.mark.parametrize(
    ("agent", "words", "settings"),
    AROUND,
    ids=["claude", "claude-bare", "claude-in-safe-mode", "claude-with-hooks-off", "codex", "gemini", "opencode"],
)
def test_managed_hooks_hold_for_everybody(
    agent: str, words: tuple[str, ...], settings: str, clients: Path, tmp_path: Path
) -> None:
    if not ownetc.holds():
        pytest.skip("bubblewrap cannot give programs an /etc of their own here")
    folder = tmp_path / "managed"
    folder.mkdir()
    inside = ownetc.namespace(str(folder), f"/etc/{MANAGED[agent]}")
    wrapper = tmp_path / agent
    line = shlex.join([*inside, str(program(clients, agent))])
    wrapper.write_text(f'#!/bin/sh\nexec {line} "$@" {shlex.join(words)}\n')
    wrapper.chmod(0o755)
    found = Client(agent, wrapper, tmp_path / "world")
    (found.project / ".env").write_text("KEY=hunter2\n")
    if settings:
        (found.project / ".claude").mkdir()

    def configured(_hooks: Any, url: str, mode: str) -> Any:
        made = unhooked(found, url, mode)
        if settings:
            (found.project / ".claude" / "settings.json").write_text(settings)
        return made

    setattr(found, f"_{agent}", configured)
    line_of_init = [*inside, sys.executable, "-m", "gateway", "init", agent, "--managed", "--yes"]
    done = subprocess.run(
        line_of_init, cwd=found.project, env=found.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ran = found.run({}, [[shell(agent, "cat .env")]], mode=UNGUARDED.get(agent, ""))
    assert [("secret-files" in each, "hunter2" in each) for each in ran.results] == [(True, False)], ran
