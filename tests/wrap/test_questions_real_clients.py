"""The table of questions (`gateway.agents.questions`) against the real clients, headless and in their terminals: what
they put to a person, what they run without asking, and that the gateway's hook lets nothing run where policy asks.

They are installed from npm when asked for: `pytest tests/wrap --real-clients DIR`.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import realclients
from realclients import Client, program, shell
from warmed import warm

from gateway.agents.questions import ABOUT, ANY_MODE, GUARDED, ORDINARY, PUT

if TYPE_CHECKING:
    from collections.abc import Callable

POLICY = """settings: {agents: {modes: ignore}}
rules:
  - {id: every-command, ask: "Bash(*)"}
  - {id: every-file, ask: "Edit(**)"}
  - {id: every-server, ask: "mcp__gw__*"}
"""
NOBODY = "Nobody can be asked"
BYPASS = "--allow-dangerously-skip-permissions"
# How each mode of Claude Code is entered; `plan` twice, as the session may bypass permissions or may not.
CLAUDE: dict[str, tuple[str, ...]] = {
    "default": ("--permission-mode", "default", BYPASS),
    "acceptEdits": ("--permission-mode", "acceptEdits", BYPASS),
    "plan": ("--permission-mode", "plan", BYPASS),
    "auto": ("--permission-mode", "auto", "--model", "claude-opus-4-6"),
    "dontAsk": ("--permission-mode", "dontAsk"),
    "bypassPermissions": ("--permission-mode", "bypassPermissions"),
}
DROPS = ("plan", "bypassPermissions")
PLACES: dict[str, Callable[[Client], Path]] = {
    "a file": lambda found: found.project / "made",
    "a hook of git": lambda found: found.project / ".git" / "hooks" / "pre-commit",
    "the shell's start": lambda found: found.home / ".bashrc",
    "an editor's tasks": lambda found: found.project / ".vscode" / "tasks.json",
    "a command of its own": lambda found: found.project / ".claude" / "commands" / "x.md",
    "a link to git": lambda found: found.project / "link" / "pre-commit",
}
WAYS: dict[str, Callable[[Path], tuple[str, dict[str, Any]]]] = {
    "Write": lambda path: ("Write", {"file_path": str(path), "content": "x"}),
    "Bash": lambda path: shell("claude", f"echo made > {path}"),
}


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    return Path(folder).absolute()


def client(agent: str, clients: Path, tmp_path: Path) -> Client:
    found = Client(agent, program(clients, agent), tmp_path)
    found.policy(POLICY)
    warm(found.home / ".cache" / "gateway")
    return found


def hook(agent: str, *options: str) -> list[str]:
    """Ours, with time on a busy machine."""
    return realclients.hook(agent, "--deadline", "25", *options)


def place(found: Client, name: str) -> Path:
    """Where the canary would be, in a folder that is there."""
    (found.project / ".git" / "hooks").mkdir()
    (found.project / "link").symlink_to(".git/hooks")
    path = PLACES[name](found)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def asker(tmp_path: Path, answer: dict[str, Any]) -> list[str]:
    """A hook that is not ours and always asks."""
    path = tmp_path / "asker.py"
    path.write_text(f"import sys\nsys.stdin.read()\nprint({json.dumps(answer)!r})\n")
    return [sys.executable, str(path)]


ASK_CLAUDE = {"hookSpecificOutput": {
    "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "why"}}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("mode", CLAUDE)
def test_claude_asks_its_person_or_is_refused(mode: str, name: str, way: str, clients: Path, tmp_path: Path) -> None:
    found = client("claude", clients, tmp_path)
    path = place(found, name)
    what = ORDINARY if name == "a file" else GUARDED
    asked, results, screen = found.attended({"PreToolUse": hook("claude")}, [[WAYS[way](path)]], *CLAUDE[mode])
    assert not path.exists(), screen
    is_put = what in PUT["claude"][mode]
    assert (asked, NOBODY in "".join(results)) == (is_put, not is_put), (results, screen)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in PLACES if name != "a file"])
@pytest.mark.parametrize("mode", DROPS)
def test_claude_runs_what_a_hook_asks_about_where_it_drops_the_question(
    mode: str, name: str, way: str, clients: Path, tmp_path: Path
) -> None:
    """Why the table is as it is. Should this fail, Claude Code asks by now."""
    found = client("claude", clients, tmp_path)
    path = place(found, name)
    hooks = {"PreToolUse": asker(tmp_path, ASK_CLAUDE)}
    asked, results, screen = found.attended(hooks, [[WAYS[way](path)]], *CLAUDE[mode])
    assert (path.exists(), asked) == (True, False), (results, screen)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("mode", ["bypassPermissions", "default", "acceptEdits", "plan", "dontAsk"])
def test_headless_claude_runs_nothing_that_policy_asks_about(
    mode: str, name: str, clients: Path, tmp_path: Path
) -> None:
    found = client("claude", clients, tmp_path)
    path = place(found, name)
    steps = [[WAYS[way](path)] for way in WAYS]
    ran = found.run({"PreToolUse": hook("claude")}, steps, mode=mode)
    assert (path.exists(), ran.late, len(ran.results)) == (False, False, len(WAYS)), ran


@pytest.mark.parametrize("name", PLACES)
def test_headless_claude_without_a_hook_runs_it(name: str, clients: Path, tmp_path: Path) -> None:
    """The twin."""
    found = client("claude", clients, tmp_path)
    path = place(found, name)
    ran = found.run({}, [[WAYS["Write"](path)]], mode="bypassPermissions")
    assert path.exists(), ran


@pytest.mark.parametrize("mode", ["bypassPermissions", "plan"])
def test_claude_waits_for_an_answer_in_modes_that_drop_questions_too(mode: str, clients: Path, tmp_path: Path) -> None:
    found = client("claude", clients, tmp_path)
    path = place(found, "a hook of git")
    hooks = {"PreToolUse": hook("claude", "--unattended", "defer")}
    ran = found.run(hooks, [[WAYS["Write"](path)]], mode=mode)
    assert (path.exists(), '"stop_reason":"tool_deferred"' in ran.out) == (False, True), ran


ORDINARY_COMMANDS = (
    "touch made", "rm -rf sub", "mkdir -p made/x && touch made/y", "cp a.txt made 2>/dev/null", "echo x | tee made",
    "git init made", "python3 -c 'import os'; touch made", "sh -c 'touch made'",
    "timeout 5 touch made", "env X=1 touch made", "sed -n 's/a/b/w made' a.txt", "sort -o made a.txt",
    "tar cf made a.txt",
    "cd sub; touch ./made", "mv a.txt made", "ln -s a.txt made", "dd if=a.txt of=made", "git add made",
    "chmod 755 a.txt",
    "touch 'made by me'", "curl https://example.com/x", "npm install made", "touch made; " * 300,
)  # fmt: skip


def test_claude_bypassing_permissions_asks_about_every_kind_of_ordinary_command(clients: Path, tmp_path: Path) -> None:
    """Headless, so that it refuses what it would ask: none runs. What we take for guarded would be no proof."""
    found = client("claude", clients, tmp_path)
    (found.project / "a.txt").write_text("a\n")
    (found.project / "sub").mkdir()
    before = {path.relative_to(found.project) for path in found.project.rglob("*")} | {Path(".claude")}
    steps = [[shell("claude", command)] for command in ORDINARY_COMMANDS]
    ran = found.run({"PreToolUse": hook("claude")}, steps, mode="bypassPermissions")
    after = {path.relative_to(found.project) for path in found.project.rglob("*")}
    assert {path for path in after if path.parts[0] != ".claude"} == {p for p in before if p.parts[0] != ".claude"}, ran
    refused = [each for each, said in zip(ORDINARY_COMMANDS, ran.results, strict=True) if NOBODY in said]
    assert refused == [], ran.results


SERVER = """import json, pathlib, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" not in said:
        continue
    tool = {"name": "make", "description": "makes it", "inputSchema": {"type": "object", "properties": {}}}
    if said["method"] == "initialize":
        result = {"protocolVersion": said["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "gw", "version": "1"}}
    elif said["method"] == "tools/list":
        result = {"tools": [tool]}
    elif said["method"] == "tools/call":
        pathlib.Path(sys.argv[1]).write_text("x")
        result = {"content": [{"type": "text", "text": "it ran"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""


def server(tmp_path: Path, path: Path) -> dict[str, Any]:
    program_file = tmp_path / "server.py"
    program_file.write_text(SERVER)
    return {"command": sys.executable, "args": [str(program_file), str(path)]}


@pytest.mark.parametrize("mode", ["default", "plan", "bypassPermissions"])
def test_claude_asks_about_a_servers_tool(mode: str, clients: Path, tmp_path: Path) -> None:
    found = client("claude", clients, tmp_path)
    path = found.project / "made"
    config = json.dumps({"mcpServers": {"gw": server(tmp_path, path)}})
    options = (*CLAUDE[mode], "--strict-mcp-config", "--mcp-config", config)
    asked, results, screen = found.attended({"PreToolUse": hook("claude")}, [[("mcp__gw__make", {})]], *options)
    assert (path.exists(), asked) == (False, True), (results, screen)


GEMINI = {
    "run_shell_command": lambda path: shell("gemini", f"echo made > {path}"),
    "write_file": lambda path: ("write_file", {"file_path": str(path), "content": "x"}),
}


@pytest.mark.parametrize("tool", GEMINI)
@pytest.mark.parametrize("mode", ["default", "auto_edit", "yolo"])
def test_gemini_asks_its_person_in_every_mode_where_somebody_said_that_one_is_there(
    mode: str, tool: str, clients: Path, tmp_path: Path
) -> None:
    assert PUT["gemini"] == {ANY_MODE: (ORDINARY,)}
    found = client("gemini", clients, tmp_path)
    path = found.project / "made"
    hooks = {"BeforeTool": hook("gemini", "--unattended", "ask")}
    asked, results, screen = found.attended(hooks, [[GEMINI[tool](path)]], "--approval-mode", mode)
    assert (path.exists(), asked) == (False, True), (results, screen)


@pytest.mark.parametrize("ours", [True, False], ids=["with our hook", "with one that asks"])
def test_gemini_runs_a_trusted_servers_tool_whatever_a_hook_asks(ours: bool, clients: Path, tmp_path: Path) -> None:
    found = client("gemini", clients, tmp_path)
    path = found.project / "made"
    line = hook("gemini", "--unattended", "ask") if ours else asker(tmp_path, {"decision": "ask", "reason": "why"})
    settings = {"mcpServers": {"gw": {**server(tmp_path, path), "trust": True}}}
    steps = [[("mcp_gw_make", {})]]
    asked, results, screen = found.attended({"BeforeTool": line}, steps, settings=settings)
    assert (path.exists(), asked, NOBODY in "".join(results)) == (not ours, False, ours), (results, screen)


@pytest.mark.parametrize("name", ["a file", "a hook of git"])
@pytest.mark.parametrize("options", [(), ("--allow-all-tools",), ("--yolo",), ("--autopilot", "--yolo")], ids=" ".join)
def test_copilot_asks_its_person_or_refuses(options: tuple[str, ...], name: str, clients: Path, tmp_path: Path) -> None:
    assert PUT["copilot"] == {ANY_MODE: ABOUT}
    found = client("copilot", clients, tmp_path)
    path = place(found, name)
    steps = [[("create", {"path": str(path), "file_text": "x"})], [shell("copilot", f"echo made > {path}")]]
    asked, results, screen = found.attended({"preToolUse": hook("copilot")}, steps, *options)
    assert not path.exists(), screen
    assert asked or "unable to ask user" in "".join(results), (results, screen)


@pytest.mark.parametrize("ours", [True, False], ids=["with our hook", "with one that is silent"])
@pytest.mark.parametrize("approval", ["on-request", "never"])
@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
def test_codex_is_never_left_to_ask(sandbox: str, approval: str, ours: bool, clients: Path, tmp_path: Path) -> None:
    """Silence is its consent."""
    assert PUT["codex"] == {}
    found = client("codex", clients, tmp_path)
    line = hook("codex", "--unattended", "ask") if ours else [sys.executable, "-c", "import sys; sys.stdin.read()"]
    mode = f"gpt-fake/{approval}/{sandbox}"
    ran = found.run({"PreToolUse": line}, [[shell("codex", "touch made")]], mode=mode)
    assert (found.project / "made").exists() is not ours, ran
    assert (NOBODY in "".join(ran.results)) is ours, ran
