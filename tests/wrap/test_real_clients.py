"""The real clients with the gateway's hook: what runs, what does not, and what their models read.

They are installed from npm when asked for: `pytest tests/wrap --real-clients DIR`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from failing import FAILURES, Place
from realclients import PACKAGES, Client, hook, program, shell

from gateway.audit.log import FOLDER
from gateway.audit.reading import Moment
from gateway.install.claude import LEAST_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

BEFORE = {
    "claude": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "BeforeTool",
    "copilot": "preToolUse",
    "opencode": "tool.execute.before",
}
# Modes in which nothing but the hook stops a call, where a command line does not say so already.
UNGUARDED = {"claude": "bypassPermissions"}
AGENTS = tuple(PACKAGES)
RULE = """rules:
  - id: touching
    {lane}: Bash(touch made)
    because: it is only a test
    instead: leave it be
"""


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    return Path(folder).absolute()


def client(agent: str, clients: Path, tmp_path: Path) -> Client:
    return Client(agent, program(clients, agent), tmp_path)


def hooked(agent: str, *options: str) -> dict[str, list[str]]:
    return {BEFORE[agent]: hook(agent, *options)}


def made(found: Client) -> bool:
    return (found.project / "made").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_an_allowed_call_runs(agent: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    found.policy(RULE.format(lane="allow"))
    ran = found.run(hooked(agent), [[shell(agent, "touch made")]])
    assert made(found), ran


@pytest.mark.parametrize("agent", AGENTS)
def test_a_denied_call_does_not_run_and_the_model_reads_why(agent: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    found.policy(RULE.format(lane="deny"))
    ran = found.run(hooked(agent), [[shell(agent, "touch made")]], mode=UNGUARDED.get(agent, ""))
    assert not made(found), ran
    (result,) = ran.results
    told = [each in result for each in ("touching", "it is only a test", "Instead: leave it be", "policy.yaml:")]
    assert told == [True] * 4, result
    assert not ran.late


@pytest.mark.parametrize("agent", AGENTS)
def test_a_call_that_policy_asks_about_does_not_run_where_nobody_is_there(
    agent: str, clients: Path, tmp_path: Path
) -> None:
    found = client(agent, clients, tmp_path)
    found.policy(RULE.format(lane="ask"))
    ran = found.run(hooked(agent), [[shell(agent, "touch made")]], mode=UNGUARDED.get(agent, ""))
    assert not made(found), ran
    assert not ran.late
    assert "touching" in "".join(ran.results), ran.results


def test_claude_waits_for_an_answer_where_somebody_wished_it(clients: Path, tmp_path: Path) -> None:
    """The session ends, and can be gone on with once policy allows the call."""
    found = client("claude", clients, tmp_path)
    told = subprocess.run(
        [found.binary, "--version"], capture_output=True, text=True, check=True, env=found.environment
    )
    if tuple(map(int, told.stdout.split()[0].split("."))) < tuple(map(int, LEAST_VERSION.split("."))):
        pytest.skip(f"this Claude Code ({told.stdout.strip()}) does not tell its hooks whether anybody attends")
    found.policy(RULE.format(lane="ask"))
    ran = found.run(hooked("claude", "--unattended", "defer"), [[shell("claude", "touch made")]])
    assert (made(found), ran.late) == (False, False)
    assert '"stop_reason":"tool_deferred"' in ran.out, ran


FAULTS = {
    "a fault of ours": "raise RuntimeError('planned')",
    "the end of memory": "raise MemoryError",
    "the end of the process that decides": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "an end that looks like success": "import os\nos._exit(0)",
    "the end of its time": "while True: pass",
    "a signal to all of it": "import os, signal, time\nos.kill(os.getppid(), signal.SIGTERM)\ntime.sleep(60)",
}


@pytest.mark.parametrize("failure", FAULTS)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_hook_that_fails_blocks(agent: str, failure: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    found.policy(RULE.format(lane="allow"))
    place = tmp_path / "shadow"
    place.mkdir()
    (place / "json.py").write_text(FAULTS[failure])
    path = f"PYTHONPATH={place}{os.pathsep}{found.environment['PYTHONPATH']}"
    line = ["/usr/bin/env", path, *hook(agent, "--deadline", "2")]
    ran = found.run({BEFORE[agent]: line}, [[shell(agent, "touch made")]], mode=UNGUARDED.get(agent, ""))
    assert not made(found), ran
    assert not ran.late


@pytest.mark.parametrize("agent", AGENTS)
def test_a_broken_policy_blocks_and_the_model_reads_where(agent: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    found.policy("rulez: []\n")
    ran = found.run(hooked(agent), [[shell(agent, "touch made")]], mode=UNGUARDED.get(agent, ""))
    assert not made(found), ran
    told = "".join(ran.results)
    assert ("policy.yaml:2:1" in told, "did you mean `rules`?" in told) == (True, True), ran.results


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "opencode"])
def test_a_hook_in_another_clients_dialect_blocks(agent: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    found.policy(RULE.format(lane="allow"))
    other = "gemini" if agent != "gemini" else "claude"
    line = {BEFORE[agent]: hook(other)}
    ran = found.run(line, [[shell(agent, "touch made")]], mode=UNGUARDED.get(agent, ""))
    assert not made(found), ran


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_hook_the_same_call_runs(agent: str, clients: Path, tmp_path: Path) -> None:
    """The twin of every test above: nothing but the hook stopped it."""
    found = client(agent, clients, tmp_path)
    line = [sys.executable, "-c", 'print(\'{"decision": "allow"}\')']
    hooks = {BEFORE[agent]: line} if agent == "opencode" else {}
    ran = found.run(hooks, [[shell(agent, "touch made")]], mode=UNGUARDED.get(agent, ""))
    assert made(found), ran


AFTER = {
    "claude": "PostToolUse",
    "codex": "PostToolUse",
    "gemini": "AfterTool",
    "copilot": "postToolUse",
    "opencode": "tool.execute.after",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_decision_and_outcome_are_recorded(agent: str, clients: Path, tmp_path: Path) -> None:
    found = client(agent, clients, tmp_path)
    found.policy(RULE.format(lane="allow"))
    ran = found.run(hooked(agent) | {AFTER[agent]: hook(agent, event=AFTER[agent])}, [[shell(agent, "touch made")]])
    assert made(found), ran
    state = found.home / ".local" / "state" / "gateway"
    with Moment(str(state / FOLDER)) as moment:
        records = moment.last(10)
    (decision,) = [each for each in records if each["kind"] == "decision"]
    (outcome,) = [each for each in records if each["kind"] == "outcome"]
    assert {name: decision[name] for name in ("front", "tool", "decision", "confined")} == {
        "front": f"hook:{agent}", "tool": "Bash", "decision": "allow", "confined": False,
    }  # fmt: skip
    assert decision["session"]
    assert decision["input"]["command"] == "touch made"
    assert {name: outcome[name] for name in ("id", "ended", "status")} == {
        "id": decision["id"], "ended": "exited", "status": 0,
    }  # fmt: skip


PATCH = "*** Begin Patch\n*** Add File: sub/made\n+x\n*** End Patch\n"
# The model of Codex whose only tool is a program that calls tools.
PROGRAMMING = "gpt-6.1-sol"
WRITES = {
    "claude": ("Write", {"file_path": "sub/made", "content": "x"}),
    "codex": ("exec", {"custom": f"text(await tools.apply_patch({json.dumps(PATCH)}));"}),
    "gemini": ("write_file", {"file_path": "sub/made", "content": "x"}),
    "copilot": ("create", {"path": "sub/made", "file_text": "x"}),
    "opencode": ("write", {"filePath": "sub/made", "content": "x"}),
}


@pytest.mark.parametrize("lane", ["allow", "deny"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_rule_on_paths_holds_for_the_clients_own_file_tool(
    agent: str, lane: str, clients: Path, tmp_path: Path
) -> None:
    found = client(agent, clients, tmp_path)
    (found.project / "sub").mkdir()
    found.policy(f"rules:\n  - {lane}: Edit(sub/**)\n")
    mode = PROGRAMMING if agent == "codex" else UNGUARDED.get(agent, "")
    ran = found.run(hooked(agent), [[WRITES[agent]]], mode=mode)
    assert (found.project / "sub" / "made").exists() is (lane == "allow"), ran


def test_claude_cannot_switch_its_hooks_off(clients: Path, tmp_path: Path) -> None:
    found = client("claude", clients, tmp_path)
    found.policy("rules:\n  - allow: Edit(.claude/**)\n  - deny: Bash(touch made)\n")
    off = {"file_path": str(found.project / ".claude" / "settings.local.json"), "content": '{"disableAllHooks": true}'}
    steps = [[("Write", off)], [shell("claude", "sleep 3")], [shell("claude", "touch made")]]
    hooks = hooked("claude") | {"ConfigChange": hook("claude", event="ConfigChange")}
    ran = found.run(hooks, steps, mode="bypassPermissions")
    assert not made(found), ran
    assert not (found.project / ".claude" / "settings.local.json").exists(), ran


def test_claude_keeps_its_settings_when_somebody_else_changes_them(clients: Path, tmp_path: Path) -> None:
    """What no tool call writes: here a program, which runs unjudged, as a person's editor would."""
    found = client("claude", clients, tmp_path)
    found.policy("rules:\n  - deny: Bash(touch made)\n")
    place = found.project / ".claude" / "settings.local.json"
    line = ["/bin/sh", "-c", f'echo \'{{"disableAllHooks": true}}\' > {place}; exec "$@"', "sh", *hook("claude")]
    steps = [[shell("claude", "sleep 3")], [shell("claude", "touch made")]]
    ran = found.run(
        {"PreToolUse": line, "ConfigChange": hook("claude", event="ConfigChange")}, steps, mode="bypassPermissions"
    )
    assert json.loads(place.read_text()) == {"disableAllHooks": True}
    assert not made(found), ran


@pytest.mark.parametrize("lane", ["allow", "deny"])
@pytest.mark.parametrize("place", ["commands/handy.md", "skills/handy/SKILL.md"])
def test_a_slash_command_of_claudes_runs_nothing_that_is_denied(
    place: str, lane: str, clients: Path, tmp_path: Path
) -> None:
    """Its commands run before any tool is called."""
    found = client("claude", clients, tmp_path)
    found.policy(RULE.format(lane=lane))
    path = found.project / ".claude" / place
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: is handy\nallowed-tools: Bash(touch *)\n---\nResult: !`touch made`\n")
    found.prompt = "/handy"
    ran = found.run({"UserPromptSubmit": hook("claude", event="UserPromptSubmit")}, [])
    assert made(found) is (lane == "allow"), ran
    assert ("it is only a test" in ran.out) is (lane == "deny"), ran


# The event of each client that comes before a prompt is taken.
PROMPTED = {
    "claude": "UserPromptSubmit",
    "gemini": "BeforeAgent",
    "copilot": "userPromptSubmitted",
    "opencode": "chat.message",
}


def prompting(agent: str, clients: Path, tmp_path: Path) -> Client:
    """A client with a prompt that names a secret file."""
    found = client(agent, clients, tmp_path)
    found.policy("rules:\n  - deny: Read(conf/**)\n")
    (found.project / "conf").mkdir()
    (found.project / "conf" / "key.txt").write_text("KEY=hunter2\n")
    found.prompt = "What is in @conf/key.txt now"
    if agent == "opencode":  # where nobody types, it takes files by an option alone
        found.typed = ("--file", str(found.project / "conf" / "key.txt"))
    return found


def prompt_hook(agent: str) -> dict[str, list[str]]:
    """The hook of its prompts; opencode's plugin has all events."""
    return hooked(agent) if agent == "opencode" else {PROMPTED[agent]: hook(agent, event=PROMPTED[agent])}


@pytest.mark.parametrize("agent", PROMPTED)
def test_no_model_is_told_what_stands_in_a_secret_file_that_a_prompt_names(
    agent: str, clients: Path, tmp_path: Path
) -> None:
    ran = prompting(agent, clients, tmp_path).run(prompt_hook(agent), [])
    assert (ran.late, ran.told) == (False, "[]"), ran


@pytest.mark.parametrize("agent", PROMPTED)
def test_without_a_hook_the_model_is_told_what_the_prompt_names(agent: str, clients: Path, tmp_path: Path) -> None:
    """The twin. Copilot CLI tells names, and pictures whole, where a person types the prompt."""
    found = prompting(agent, clients, tmp_path)
    hooks = {"tool.execute.before": ["/bin/true"]} if agent == "opencode" else {}
    if agent == "opencode":
        found.policy("rules:\n  - allow: Read(conf/**)\n")
        hooks = hooked(agent)
    ran = found.run(hooks, [])
    assert ("hunter2" in ran.told, ran.told != "[]") == (agent != "copilot", True), ran


@pytest.mark.parametrize(
    "failure", ["no interpreter", "an end with status 0", "half of an answer", "an end by SIGTERM"]
)
@pytest.mark.parametrize("agent", PROMPTED)
def test_a_prompt_whose_hook_fails_is_not_taken(agent: str, failure: str, clients: Path, tmp_path: Path) -> None:
    found = prompting(agent, clients, tmp_path)
    (tmp_path / "failing").mkdir()
    (event,) = prompt_hook(agent)
    line = FAILURES[failure].arrange(Place(agent, tmp_path / "failing", found.home, event))
    assert found.run({event: line}, []).told == "[]"


@pytest.mark.parametrize("agent", PROMPTED)
def test_a_prompt_that_names_nothing_secret_is_taken(agent: str, clients: Path, tmp_path: Path) -> None:
    found = prompting(agent, clients, tmp_path)
    found.prompt, found.typed = "Do it.", ()
    ran = found.run(prompt_hook(agent), [])
    assert "Do it." in ran.told, ran


def test_codex_pulls_in_nothing_that_a_prompt_names(clients: Path, tmp_path: Path) -> None:
    ran = prompting("codex", clients, tmp_path).run({}, [])
    assert ("@conf/key.txt" in ran.told, "hunter2" in ran.told) == (True, False), ran


@pytest.mark.parametrize("lane", ["allow", "deny"])
def test_a_slash_command_of_opencodes_runs_nothing_that_is_denied(lane: str, clients: Path, tmp_path: Path) -> None:
    """Its commands run before any hook of a message."""
    found = client("opencode", clients, tmp_path)
    found.policy(RULE.format(lane=lane))
    place = found.project / ".opencode" / "command"
    place.mkdir(parents=True)
    (place / "handy.md").write_text("---\ndescription: is handy\n---\nResult: !`touch made`\n")
    found.typed = ("--command", "handy")
    ran = found.run(hooked("opencode"), [])
    assert made(found) is (lane == "allow"), ran
    assert ("it is only a test" in ran.told) is (lane == "deny"), ran


@pytest.mark.parametrize("lane", ["allow", "ask"])
def test_a_skill_of_claude_runs_what_its_text_holds_so_it_is_asked_about(
    lane: str, clients: Path, tmp_path: Path
) -> None:
    """No hook is told of the commands in it."""
    found = client("claude", clients, tmp_path)
    found.policy(f"rules:\n  - allow: Edit(.claude/**)\n  - {lane}: Skill(handy)\n  - deny: Bash(touch made)\n")
    place = found.project / ".claude" / "skills" / "handy"
    place.mkdir(parents=True)
    text = "---\nname: handy\ndescription: is handy\nallowed-tools: Bash(touch *)\n---\nResult: !`touch made`\n"
    (place / "SKILL.md").write_text(text)
    ran = found.run(hooked("claude"), [[("Skill", {"skill": "handy"})]], mode="bypassPermissions")
    assert made(found) is (lane == "allow"), ran


def test_codex_does_not_start_what_it_could_type_into(clients: Path, tmp_path: Path) -> None:
    found = client("codex", clients, tmp_path)
    found.policy("rules:\n  - allow: Bash(bash)\n  - allow: Bash(bash *)\n")
    ran = found.run(hooked("codex"), [[("exec_command", {"cmd": "bash", "tty": True})]])
    assert "takes further commands from its input" in "".join(ran.results), ran


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A file in a folder that is a confined command's own."""
    place = Path("/var/tmp") / f"made-{os.urandom(6).hex()}"
    yield place
    place.unlink(missing_ok=True)


@pytest.mark.parametrize("guarded", [True, False], ids=["confined", "as it came"])
@pytest.mark.parametrize("agent", AGENTS)
def test_by_a_setting_an_allowed_command_runs_in_its_confined_form(
    agent: str, guarded: bool, clients: Path, tmp_path: Path, elsewhere: Path
) -> None:
    """What it writes where everybody's temporary files lie is gone with it. As it came it stays."""
    from gateway.sandbox.backends.choose import backends

    if not any(backend.probe().works for backend in backends() if backend.name == "namespaces"):
        pytest.skip("this system has no sandbox to confine a command with")
    found = client(agent, clients, tmp_path)
    found.policy(f"settings: {{guarded: {str(guarded).lower()}}}\nrules:\n  - allow: Bash(python3 made.py)\n")
    (found.project / "made.py").write_text(f"open({str(elsewhere)!r}, 'w').close()\nprint('it ' + 'ran')\n")
    ran = found.run(hooked(agent), [[shell(agent, "python3 made.py")]])
    assert "it ran" in "".join(ran.results), ran
    assert elsewhere.exists() is not guarded
