"""The real clients with the thin client as their hook, and their commands rewritten: what they see is what they would
have seen. `pytest tests/wrap --real-clients DIR` installs and runs them."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from realclients import PACKAGES, Client, program, shell

from gateway.core.command_lines import hook_line
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from collections.abc import Iterator

BEFORE = {
    "claude": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "BeforeTool",
    "copilot": "preToolUse",
    "opencode": "tool.execute.before",
}
AGENTS = tuple(PACKAGES)
POLICY = """extends: [guard]
settings: {guarded: GUARDED, sandbox: {write: ["./**"]}}
rules:
  - {id: much, allow: "Bash(*)"}
  - {id: files, allow: "Edit(**)"}
"""


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    return Path(folder).absolute()


@pytest.fixture(autouse=True)
def ended(tmp_path: Path) -> Iterator[None]:
    """No service outlives its test."""
    yield
    for pid in services(tmp_path / "home"):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(params=[True, False], ids=["rewritten", "as it came"])
def rewrites(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def client(agent: str, clients: Path, top: Path, *, rewrites: bool = True) -> Client:
    found = Client(agent, program(clients, agent), top)
    found.policy(POLICY.replace("GUARDED", str(rewrites).lower()))
    (found.project / "sub").mkdir()
    return found


def hooked(agent: str) -> dict[str, list[str]]:
    return {BEFORE[agent]: hook_line(agent)}


@pytest.mark.parametrize("agent", AGENTS)
def test_output_and_status_are_shown_as_without_us(agent: str, rewrites: bool, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path, rewrites=rewrites)
    text = "echo \"it's\" 'a b'; touch sub/new; exit 3"
    ran = found.run(hooked(agent), [[shell(agent, text)]])
    (result,) = ran.results
    tells_status = agent != "opencode"  # whose model does not learn it
    assert ("it's a b" in result, "3" in result, "gateway" in result) == (True, tells_status, False), ran
    assert (found.project / "sub" / "new").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_move_lasts_as_long_as_without_us(agent: str, rewrites: bool, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path, rewrites=rewrites)
    steps = [[shell(agent, "cd sub && touch first")], [shell(agent, "touch second")]]
    ran = found.run(hooked(agent), steps)
    there = sorted(str(path.relative_to(found.project)) for path in found.project.rglob("*") if path.is_file())
    made = [name for name in there if name.endswith(("first", "second"))]
    assert made == (["sub/first", "sub/second"] if agent == "claude" else ["second", "sub/first"]), ran


def test_a_job_that_claude_leaves_goes_on(rewrites: bool, clients: Path, tmp_path: Path) -> None:
    found = client("claude", clients, tmp_path, rewrites=rewrites)
    for name in ("go", "come"):
        os.mkfifo(found.project / name)
    steps = [
        [shell("claude", "(read x < go; echo got-$x > come) & echo started")],
        [shell("claude", "echo word > go; cat come")],
    ]
    ran = found.run(hooked("claude"), steps)
    first, second = ran.results
    assert ("started" in first, "got-word" in second) == (True, True), ran


@pytest.mark.parametrize("agent", AGENTS)
def test_the_service_serves_a_whole_session(agent: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    ran = found.run(hooked(agent), [[shell(agent, f"touch made{number}")] for number in range(4)])
    assert sorted(path.name for path in found.project.glob("made*")) == [f"made{number}" for number in range(4)], ran
    assert len(services(found.home)) == 1


def services(home: Path) -> list[int]:
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            variables = Path("/proc", name, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[-2:-1] == [b"serve"] and f"HOME={home}".encode() in variables:
            found.append(int(name))
    return found
