"""What becomes of foreign agents' calls: their tools stand for ours, so the same rules and effects hold."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hooking import SHELLS, World, before
from sandbox.changes.worlds import changed

from gateway.agents import AGENTS
from gateway.agents.base import Reply
from gateway.audit.log import FOLDER
from gateway.audit.reading import Moment
from gateway.config.layers import local_folder
from gateway.core.places import places
from gateway.frontends.arguments import HOOK, parse
from gateway.frontends.hook import Asked, answer
from gateway.frontends.hook_process import Cold
from gateway.sandbox.changes.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.api.gateway import Gateway
    from gateway.audit.log import Log


def decision_in(reply: Reply) -> tuple[str, str]:
    """The word and the reason of an answer; silence is a word too."""
    if not reply.stdout:
        return "silence", reply.stderr.decode()
    said = json.loads(reply.stdout)
    own = said.get("hookSpecificOutput", said)
    if "permissionDecision" in own:
        return own["permissionDecision"], own.get("permissionDecisionReason", "")
    if "permission" in said:
        return said["permission"], said.get("agent_message", "")
    if isinstance(own.get("decision"), dict):
        return own["decision"]["behavior"], own["decision"].get("message", "")
    return said.get("decision", said.get("behavior")), said.get("reason", said.get("message", ""))


class Kept(Cold):
    """A cold one whose record can be closed: its process does not end after the answer."""

    kept: Log | None = None

    def log(self, gateway: Gateway) -> Log:
        self.kept = super().log(gateway)
        return self.kept


class Asking:
    """Hooks of one world, answered in this process."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.project = str(world.project)

    def reply(self, agent: str, said: dict[str, Any], *options: str, **variables: str) -> Reply:
        request = parse(HOOK, [agent, *options])
        assert request is not None
        asked = Asked(request.event or "", request.unattended or "", request.server, self.project)
        environment = {**os.environ, **variables}
        cold = Kept(request)
        try:
            return answer(agent, json.dumps(said).encode(), environment, gateways=cold, asked=asked)
        finally:
            if cold.kept is not None:
                cold.kept.close()

    def __call__(
        self, agent: str, tool: str = "", given: dict[str, Any] | None = None, *options: str, **more: Any
    ) -> tuple[str, str]:
        """The decision on a call, and its reason. `more`: what else the agent says."""
        said = before(agent, self.project, tool, given) | more
        return decision_in(self.reply(agent, said, *options))


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Asking]:
    """Answers hooks under a user policy of these rules, in a project of its own."""

    def open_(rules: str = "") -> Asking:
        world = World(tmp_path / "world", rules)
        monkeypatch.setenv("HOME", str(world.home))
        monkeypatch.setenv("SHELL", "/bin/bash")
        for name in list(os.environ):
            if name.startswith(("XDG_", "CLAUDE", "GEMINI_", "CODEX_", "COPILOT_", "CURSOR_", "GATEWAY_")):
                monkeypatch.delenv(name)
        return Asking(world)

    return open_


def allowed(agent: str) -> str:
    return "silence" if agent == "codex" else "allow"


RULES = """rules:
  - allow: Bash(npm test)
  - deny: Bash(rm *)
  - deny: Read(secret/**)
  - allow: Edit(sub/**)
  - allow: WebFetch(domain:example.com)
  - deny: WebFetch(domain:evil.example)
  - allow: Agent(explore)
  - deny: Agent(general-purpose)
  - deny: Skill(danger)
  - allow: Skill(review)
  - allow: mcp__gw__echo
  - deny: mcp__gw__drop
  - deny: Workflow
  - deny: {tool: Delete}
  - deny: {tool: Bash, args: {description: {glob: "*careless*"}}}
"""
PATCH = "*** Begin Patch\n*** {}\n*** End Patch\n"
CASES = [
    *[(agent, "", {"command": "npm test"}, "allow") for agent in AGENTS],
    *[(agent, "", {"command": "cd sub && rm -fr x"}, "deny") for agent in AGENTS],
    *[(agent, "", {"command": "cat secret/key"}, "deny") for agent in AGENTS],
    *[(agent, "", {"command": "npm test", "tomorrows_option": {"x": 1}}, "allow") for agent in AGENTS],
    *[(agent, "", {"command": "npm test", "description": "careless"}, "deny") for agent in AGENTS],
    ("claude", "Monitor", {"command": "rm x", "description": "d", "timeout_ms": 1}, "deny"),
    ("claude", "Monitor", {"ws": {"url": "wss://evil.example/x"}, "description": "d"}, "deny"),
    ("claude", "PowerShell", {"command": "npm test"}, "ask"),
    ("claude", "PowerShell", {"command": "rm x"}, "deny"),
    ("claude", "Read", {"file_path": "secret/key"}, "deny"),
    ("claude", "Write", {"file_path": "sub/a", "content": "x"}, "allow"),
    ("claude", "Edit", {"file_path": "sub/a", "old_string": "x", "new_string": "y"}, "allow"),
    ("claude", "Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "ask"),
    ("claude", "NotebookEdit", {"notebook_path": "sub/n.ipynb", "new_source": "1"}, "allow"),
    ("claude", "Grep", {"pattern": "x", "path": "secret"}, "deny"),
    ("claude", "Agent", {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}, "deny"),
    ("claude", "Task", {"description": "d", "prompt": "p", "subagent_type": "explore"}, "allow"),
    ("claude", "Skill", {"skill": "danger"}, "deny"),
    ("claude", "Skill", {"skill": "review"}, "allow"),
    ("claude", "Skill", {"skill": "other"}, "ask"),
    ("claude", "Workflow", {"name": "x"}, "deny"),
    ("claude", "CronCreate", {"cron": "* * * * *", "prompt": "rm x"}, "ask"),
    ("claude", "WebFetch", {"url": "http://example.com/a", "prompt": "p"}, "allow"),
    ("claude", "mcp__gw__echo", {"text": "hi"}, "allow"),
    ("claude", "mcp__gw__drop", {"text": "hi"}, "deny"),
    ("claude", "mcp__gw__other", {"text": "hi"}, "ask"),
    ("claude", "mcp__files__cat", {"path": "secret/key"}, "deny"),
    ("claude", "mcp__net__get", {"url": "https://evil.example/"}, "deny"),
    ("claude", "mcp__sh__run", {"command": "rm x"}, "deny"),
    ("claude", "Tomorrow", {"anything": 1}, "ask"),
    ("claude", "Tomorrow", {"file_path": "secret/key"}, "deny"),
    ("claude", "Tomorrow", {"options": [{"target": "secret/key"}]}, "deny"),
    ("claude", "Tomorrow", {"bash_command": "npm test; rm x"}, "deny"),
    ("claude", "Tomorrow", {"command": "npm test"}, "ask"),
    ("codex", "apply_patch", {"command": PATCH.format("Add File: sub/a\n+x")}, "allow"),
    ("codex", "apply_patch", {"command": PATCH.format("Update File: sub/a\n*** Move to: b\n@@\n-x\n+y")}, "ask"),
    ("codex", "apply_patch", {"command": PATCH.format("Update File: a\n*** Move to: secret/b\n@@\n-x\n+y")}, "deny"),
    ("codex", "apply_patch", {"command": PATCH.format("Delete File: secret/b")}, "deny"),
    ("codex", "apply_patch", {"command": PATCH.format("Add File: sub/a\n+x\n*** Add File: b\n+y")}, "ask"),
    ("codex", "apply_patch", {"command": PATCH.format("Add File: sub/../secret/a\n+x")}, "deny"),
    ("codex", "apply_patch", {"command": PATCH.format("Rename File: sub/a")}, "ask"),
    ("codex", "view_image", {"path": "secret/a.png"}, "deny"),
    ("codex", "view_image", {"path": "a.png"}, "allow"),
    ("codex", "write_stdin", {"session_id": 1, "chars": "npm test"}, "ask"),
    ("codex", "exec", {"command": "await tools.exec_command({cmd: 'rm x'})"}, "ask"),
    ("codex", "mcp__gw__echo", {"text": "hi"}, "allow"),
    ("gemini", "write_file", {"file_path": "sub/a", "content": "x"}, "allow"),
    ("gemini", "replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "ask"),
    ("gemini", "read_file", {"file_path": "secret/a"}, "deny"),
    ("gemini", "read_many_files", {"include": ["sub/*", "secret/**"]}, "deny"),
    ("gemini", "read_many_files", {"include": ["sub/*"]}, "allow"),
    ("gemini", "grep_search", {"pattern": "x", "dir_path": "secret"}, "deny"),
    ("gemini", "web_fetch", {"prompt": "Read https://example.com/a, please"}, "allow"),
    ("gemini", "web_fetch", {"prompt": "Read https://example.com/a and https://evil.example/"}, "deny"),
    ("gemini", "web_fetch", {"prompt": "Read what is new"}, "ask"),
    ("gemini", "invoke_agent", {"agent_name": "explore", "prompt": "p"}, "allow"),
    ("gemini", "save_memory", {"fact": "x"}, "ask"),
    ("copilot", "create", {"path": "sub/a", "file_text": "x"}, "allow"),
    ("copilot", "edit", {"path": "secret/a", "old_str": "x", "new_str": "y"}, "deny"),
    ("copilot", "view", {"path": "a"}, "allow"),
    ("copilot", "view", {"path": "secret/a"}, "deny"),
    ("copilot", "write_bash", {"shellId": "a", "input": "rm x"}, "ask"),
    ("copilot", "gw-echo", {"text": "hi"}, "allow"),
    ("copilot", "gw-drop", {"text": "hi"}, "deny"),
    ("copilot", "sql", {"query": "select 1"}, "ask"),
    ("cursor", "Delete", {"path": "a"}, "deny"),
    ("cursor", "Read", {"path": "secret/a"}, "deny"),
    ("cursor", "Write", {"file_path": "sub/a", "content": "x"}, "allow"),
    ("opencode", "edit", {"filePath": "sub/a", "oldString": "x", "newString": "y"}, "allow"),
    ("opencode", "read", {"filePath": "secret/a"}, "deny"),
    ("opencode", "gw_echo", {"text": "hi"}, "allow"),
    ("opencode", "gw_drop", {"text": "hi"}, "deny"),
    ("opencode", "task", {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}, "deny"),
]
# What each agent is answered where policy asks.
WHERE_ASKED = {
    "claude": "ask", "codex": "deny", "gemini": "deny", "copilot": "ask", "cursor": "deny", "opencode": "deny",
}  # fmt: skip


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("ruled"), RULES)


@pytest.mark.parametrize(("agent", "tool", "given", "expected"), CASES, ids=str)
def test_a_foreign_tool_is_held_to_the_rules_on_ours(
    ruled: World, monkeypatch: pytest.MonkeyPatch, agent: str, tool: str, given: dict[str, Any], expected: str
) -> None:
    monkeypatch.setenv("HOME", str(ruled.home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    found, reason = Asking(ruled)(agent, tool, given)
    wanted = WHERE_ASKED[agent] if expected == "ask" else allowed(agent) if expected == "allow" else expected
    assert (found, "Nobody can be asked" in reason) == (wanted, expected == "ask" and wanted == "deny"), reason


def test_the_reason_names_rule_place_why_and_what_to_do_instead(ask: Callable[[str], Asking]) -> None:
    asking = ask("rules:\n  - {id: no-rm, deny: Bash(rm *), because: it is gone then, instead: move it}\n")
    found, reason = asking("claude", "", {"command": "rm x"})
    place = f"[user policy, {asking.world.policy}:3]"
    assert (found, reason) == (
        "deny",
        f"`rm x` was refused by rule `no-rm`: it is gone then. Instead: move it. {place}",
    )


def test_paths_are_those_of_the_folder_that_the_event_names(ask: Callable[[str], Asking]) -> None:
    """And not of the hook's own: agents change folders."""
    asking = ask("rules:\n  - deny: Read(sub/key)\n")
    below = f"{asking.project}/sub"
    for agent in AGENTS:
        field = "directory" if agent == "opencode" else "cwd"
        assert asking(agent, "", {"command": "cat key"})[0] == allowed(agent)
        if agent != "opencode":  # whose plugin names one folder for the whole session
            assert asking(agent, "", {"command": "cat key"}, **{field: below})[0] == "deny"


@pytest.mark.parametrize(
    ("agent", "field"), [("gemini", "dir_path"), ("opencode", "workdir"), ("cursor", "working_directory")]
)
def test_a_field_that_says_where_a_command_works_is_heard(ask: Callable[[str], Asking], agent: str, field: str) -> None:
    asking = ask("rules:\n  - deny: Read(sub/key)\n")
    assert asking(agent, "", {"command": "cat key"})[0] == "allow"
    assert asking(agent, "", {"command": "cat key", field: "sub"})[0] == "deny"
    assert asking(agent, "", {"command": "cat key", field: f"{asking.project}/sub"})[0] == "deny"
    assert asking(agent, "", {"command": "cat key", field: 7})[0] == "deny"


@pytest.mark.parametrize(
    ("agent", "tool", "given", "field"),
    [
        ("cursor", "Read", {"path": "a.txt"}, "file_path"),
        ("copilot", "edit", {"path": "a.txt", "old_str": "a", "new_str": "b"}, "file_path"),
        ("gemini", "read_file", {"file_path": "a.txt"}, "absolute_path"),
        ("gemini", "run_shell_command", {"command": "cat a.txt"}, "directory"),
        ("opencode", "read", {"filePath": "a.txt"}, "file_path"),
    ],
)
def test_a_second_field_that_says_where_a_tool_works_is_refused(
    ask: Callable[[str], Asking], agent: str, tool: str, given: dict[str, Any], field: str
) -> None:
    asking = ask("settings: {mode: bypass}")
    assert asking(agent, tool, given)[0] == "allow"
    decision, reason = asking(agent, tool, {**given, field: f"{asking.world.home}/.ssh/id_rsa"})
    assert (decision, f"`{field}` says where it works" in reason) == ("deny", True)


@pytest.mark.parametrize(("event", "expected"), [("PreToolUse", "allow"), ("PostToolUse", "deny")])
def test_a_call_that_comes_to_the_hook_of_another_event_is_refused(
    ask: Callable[[str], Asking], event: str, expected: str
) -> None:
    asking = ask("settings: {mode: bypass}")
    assert asking("claude", "", None, "--event", event)[0] == expected


def test_no_call_chooses_the_project_that_it_is_judged_in(ask: Callable[[str], Asking]) -> None:
    """Codex lets the model name the folder of a command: it is no new project for that."""
    asking = ask("settings: {mode: accept_edits}\n")
    other = asking.world.folder / "home" / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert asking("codex", "", {"command": "touch made"})[0] == "silence"
    assert asking("codex", "", {"command": "touch made"}, cwd=str(other))[0] == "deny"


MODES = [
    ("default", "stricter", "default", "ask"),
    ("default", "stricter", "plan", "deny"),
    ("default", "stricter", "dontAsk", "deny"),
    ("default", "stricter", "acceptEdits", "ask"),
    ("default", "stricter", "bypassPermissions", "ask"),
    ("accept_edits", "stricter", "default", "allow"),
    ("accept_edits", "stricter", "plan", "deny"),
    ("plan", "stricter", "bypassPermissions", "deny"),
    ("plan", "follow", "acceptEdits", "deny"),
    ("default", "follow", "acceptEdits", "allow"),
    ("default", "follow", "bypassPermissions", "allow"),
    ("default", "follow", "plan", "deny"),
    ("default", "ignore", "plan", "ask"),
    ("accept_edits", "ignore", "dontAsk", "allow"),
]


@pytest.mark.parametrize(("ours", "setting", "theirs", "expected"), MODES)
def test_the_agents_own_mode_makes_policy_stricter_and_looser_only_by_a_setting(
    ask: Callable[[str], Asking], ours: str, setting: str, theirs: str, expected: str
) -> None:
    asking = ask(f"settings: {{mode: {ours}, agents: {{modes: {setting}}}}}\n")
    found, _reason = asking("claude", "Write", {"file_path": "a", "content": "x"}, permission_mode=theirs)
    assert found == expected


def test_a_mode_that_policy_does_not_leave_open_is_not_followed(ask: Callable[[str], Asking]) -> None:
    asking = ask("settings: {bounds: {mode: [default, plan]}, agents: {modes: follow}}\n")
    call = ("claude", "Write", {"file_path": "a", "content": "x"})
    assert asking(*call, permission_mode="bypassPermissions")[0] == "ask"
    assert asking(*call, permission_mode="plan")[0] == "deny"


def test_by_a_setting_an_allow_is_silence(ask: Callable[[str], Asking]) -> None:
    asking = ask("settings: {agents: {allow: silence}}\n")
    assert {agent: asking(agent)[0] for agent in AGENTS} == {
        **dict.fromkeys(AGENTS, "silence"), "opencode": "allow",  # its plugin takes nothing else for one
    }  # fmt: skip


WISHES = [
    ("claude", "deny", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}, "deny"),
    ("claude", "defer", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}, "defer"),
    ("claude", "defer", {"CLAUDE_CODE_SESSION_ATTENDED": "1"}, "ask"),
    ("claude", "ask", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}, "ask"),
    ("codex", "ask", {}, "deny"),
    ("gemini", "ask", {}, "ask"),
    ("gemini", "defer", {}, "deny"),
    ("copilot", "deny", {}, "deny"),
    ("copilot", "defer", {}, "ask"),
    ("cursor", "ask", {}, "deny"),
    ("opencode", "ask", {}, "deny"),
]


@pytest.mark.parametrize(("agent", "wish", "variables", "expected"), WISHES, ids=str)
def test_what_is_answered_where_policy_asks_can_be_wished(
    ask: Callable[[str], Asking], agent: str, wish: str, variables: dict[str, str], expected: str
) -> None:
    asking = ask()
    said = before(agent, asking.project, "", {"command": "touch made"})
    reply = asking.reply(agent, said, "--unattended", wish, **variables)
    assert decision_in(reply)[0] == expected


def permission(agent: str, cwd: str, command: str) -> dict[str, Any]:
    """What a client says that is about to ask its own person."""
    said = before(agent, cwd, "", {"command": command})
    if agent == "copilot":
        return {"hookName": "permissionRequest", "sessionId": "s", "timestamp": 1, "cwd": cwd, "toolName": "bash",
                "toolInput": {"command": command}, "permissionSuggestions": []}  # fmt: skip
    del said["tool_use_id"]
    return {**said, "hook_event_name": "PermissionRequest", "permission_mode": "default"}


@pytest.mark.parametrize(
    ("agent", "command", "expected"),
    [
        ("claude", "ls", "silence"),
        ("claude", "touch made", "silence"),
        ("claude", "rm -rf /", "deny"),
        ("codex", "ls", "allow"),
        ("codex", "touch made", "silence"),
        ("codex", "rm -rf /", "deny"),
        ("copilot", "ls", "allow"),
        ("copilot", "touch made", "silence"),
        ("copilot", "rm -rf /", "deny"),
    ],
)
def test_a_question_of_the_client_is_answered_where_policy_has_an_answer(
    ask: Callable[[str], Asking], agent: str, command: str, expected: str
) -> None:
    """Claude Code asks where a rule of its own wants it, so an allow of ours is none there."""
    asking = ask()
    assert decision_in(asking.reply(agent, permission(agent, asking.project, command)))[0] == expected


def test_a_tool_of_a_server_is_judged_by_every_name_that_it_may_have(ask: Callable[[str], Asking]) -> None:
    asking = ask("rules:\n  - allow: mcp__my__*\n  - deny: mcp__my-own__drop\n")
    assert asking("copilot", "my-get", {"x": 1})[0] == "allow"
    assert asking("copilot", "my-own-get", {"x": 1})[0] == "ask"  # `own-get` of `my`, or `get` of `my-own`
    assert asking("copilot", "my-own-get", {"x": 1}, "--server", "my")[0] == "allow"
    assert asking("copilot", "my-own-drop", {"x": 1})[0] == "deny"
    assert asking("copilot", "my-own-drop", {"x": 1}, "--server", "my-own")[0] == "deny"


def test_gemini_says_which_server_a_tool_is_of(ask: Callable[[str], Asking]) -> None:
    asking = ask("rules:\n  - allow: mcp__my_own__get\n  - deny: {effect: use, tool: mcp__other__get}\n")
    context = {"server_name": "my_own", "tool_name": "get", "command": "x", "args": []}
    assert asking("gemini", "mcp_my_own_get", {}, mcp_context=context)[0] == "allow"
    assert asking("gemini", "mcp_my_own_get", {})[0] == "deny"
    assert asking("gemini", "mcp_my_own_get", {}, mcp_context={**context, "server_name": "other"})[0] == "deny"


SHELLED = [
    ("claude", "/bin/bash", "ls **/x", "allow"),
    ("claude", "/bin/zsh", "ls x", "allow"),
    ("claude", "/bin/zsh", "ls **/x", "ask"),
    ("claude", "/bin/zsh", "ls =ls", "ask"),
    ("claude", "/usr/bin/fish", "ls x", "allow"),
    ("claude", "/usr/bin/fish", "ls **/x", "ask"),
    ("cursor", "/usr/bin/fish", "ls x", "deny"),
    ("cursor", "/bin/dash", "ls x", "allow"),
    ("cursor", "/bin/dash", "ls x $(pwd)", "deny"),
    ("gemini", "/bin/zsh", "ls **/x", "allow"),
    ("copilot", "/usr/bin/fish", "ls x", "allow"),
    ("codex", "/bin/bash", "ls **/x", "deny"),
]


@pytest.mark.parametrize(("agent", "shell", "command", "expected"), SHELLED)
def test_what_the_agents_shell_reads_otherwise_is_not_known(
    ask: Callable[[str], Asking], agent: str, shell: str, command: str, expected: str
) -> None:
    asking = ask()
    reply = asking.reply(agent, before(agent, asking.project, "", {"command": command}), SHELL=shell)
    assert decision_in(reply)[0] == (allowed(agent) if expected == "allow" else expected)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_waits_for_commands_is_refused_where_nobody_hears_them(ask: Callable[[str], Asking], agent: str) -> None:
    asking = ask("rules:\n  - allow: Bash(python3)\n  - allow: Bash(python3 *)\n")
    found, reason = asking(agent, "", {"command": "python3"})
    if agent == "codex":
        assert (found, "takes further commands from its input" in reason) == ("deny", True)
    else:
        assert found == "allow"
    assert asking(agent, "", {"command": "python3 x.py"})[0] == allowed(agent)
    if agent in ("codex", "copilot"):
        asked = decision_in(asking.reply(agent, permission(agent, asking.project, "python3")))[0]
        assert asked == ("deny" if agent == "codex" else "allow")


def test_a_call_out_of_the_agents_own_sandbox_can_be_denied(ask: Callable[[str], Asking]) -> None:
    asking = ask("rules:\n  - deny: {tool: Bash, args: {dangerously_disable_sandbox: true}}\n")
    assert asking("claude", "", {"command": "ls"})[0] == "allow"
    assert asking("claude", "", {"command": "ls", "dangerouslyDisableSandbox": True})[0] == "deny"


def confining(asking: Asking) -> Asking:
    """One whose policy wants commands in their confined form, where there is a sandbox for that."""
    from gateway.agents.guarded import unavailable

    request = parse(HOOK, ["claude"])
    assert request is not None
    gateway = Cold(request).gateway(root=asking.project, cwd=asking.project, environment=dict(os.environ))
    why = unavailable(gateway)
    if why:
        pytest.skip(f"this system cannot confine a command: {why}")
    return asking


@pytest.fixture
def guarded(ask: Callable[[str], Asking]) -> Asking:
    return confining(ask("settings: {guarded: true}\nrules:\n  - allow: Bash(npm test)\n  - deny: Bash(rm *)\n"))


CHANGED = {
    "claude": ("hookSpecificOutput", "updatedInput"),
    "codex": ("hookSpecificOutput", "updatedInput"),
    "gemini": ("hookSpecificOutput", "tool_input"),
    "copilot": ("modifiedArgs",),
    "cursor": ("updated_input",),
    "opencode": ("args",),
}


def changed_by(asking: Asking, agent: str, command: str) -> dict[str, Any]:
    """What an agent is told to run instead."""
    given = {"command": command, "description": "d"}
    found = json.loads(asking.reply(agent, before(agent, asking.project, "", given)).stdout)
    for name in CHANGED[agent]:
        found = found[name]
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_by_a_setting_an_allowed_command_is_handed_back_in_its_confined_form(guarded: Asking, agent: str) -> None:
    """In the form that this client merges, or takes for the whole input."""
    found = changed_by(guarded, agent, "npm test")
    assert " exec --ticket " in found["command"]
    assert found["command"].endswith("-c 'npm test'")
    whole = {"command", "description"} if agent not in ("codex", "gemini") else {"command"}
    assert set(found) == whole
    assert guarded(agent, "", {"command": "npm test; rm x"})[0] == "deny"


@pytest.mark.parametrize(("changes", "word"), [("ask", "ask"), ("keep", "allow")])
def test_changes_that_are_to_be_shown_are_asked_about_before_since_an_agents_own_tools_see_no_layers(
    ask: Callable[[str], Asking], changes: str, word: str
) -> None:
    rule = f"{{id: contains, allow: {{effect: [code, opaque], contained: true}}, changes: {changes}}}"
    asking = confining(ask(f"settings: {{guarded: true}}\nrules:\n  - {rule}\n"))
    assert asking("claude", "", {"command": "make all"})[0] == word


@pytest.mark.parametrize(("agent", "expected"), [("claude", "silence"), ("codex", "allow"), ("copilot", "allow")])
def test_the_confined_form_that_comes_by_again_is_judged_as_what_it_runs(
    guarded: Asking, agent: str, expected: str
) -> None:
    command = changed_by(guarded, agent, "npm test")["command"]
    asked = guarded.reply(agent, permission(agent, guarded.project, command))
    assert decision_in(asked)[0] == expected
    number = command.split(" --ticket ")[1].split()[0]
    forged = command.replace(number, "0" * len(number))
    assert decision_in(guarded.reply(agent, permission(agent, guarded.project, forged)))[0] != "allow"
    hidden = command.replace("npm test", "rm x")
    assert decision_in(guarded.reply(agent, permission(agent, guarded.project, hidden)))[0] != "allow"


def test_the_event_behind_a_change_of_cursor_is_judged_as_what_it_runs(guarded: Asking) -> None:
    """Its command comes by twice: as a tool's, and as the shell's."""
    command = changed_by(guarded, "cursor", "npm test")["command"]
    said = before("cursor", guarded.project)
    shell = {name: said[name] for name in said if not name.startswith("tool_")}
    shell |= {"hook_event_name": "beforeShellExecution", "command": command, "sandbox": False}
    assert decision_in(guarded.reply("cursor", shell))[0] == "allow"
    assert decision_in(guarded.reply("cursor", {**shell, "command": command.replace("npm test", "rm x")}))[0] == "deny"


def test_the_outcome_of_a_changed_command_finds_its_decision(guarded: Asking) -> None:
    """Gemini CLI has no name for a call: what it tells afterwards is the input that ran."""
    call = before("gemini", guarded.project, "", {"command": "npm test"})
    changed = json.loads(guarded.reply("gemini", call).stdout)["hookSpecificOutput"]["tool_input"]
    after = {**call, "hook_event_name": "AfterTool", "tool_input": changed, "tool_response": {"llmContent": "ok"}}
    guarded.reply("gemini", after)
    decision, outcome = records(guarded)
    assert (decision.get("confined", True), outcome["id"]) == (True, decision["id"])


def records(asking: Asking) -> list[dict[str, Any]]:
    with Moment(str(asking.world.state / FOLDER)) as moment:
        return moment.last(100)


def test_decision_and_outcome_are_one_record(ask: Callable[[str], Asking]) -> None:
    asking = ask()
    call = before("claude", asking.project)
    assert decision_in(asking.reply("claude", call))[0] == "allow"
    after = {**call, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "a\n"}, "duration_ms": 12}
    assert asking.reply("claude", after) == Reply()
    assert asking.reply("claude", after) == Reply()  # told twice, recorded once
    decision, outcome = records(asking)
    wanted = {"kind": "decision", "front": "hook:claude", "tool": "Bash", "decision": "allow", "confined": False}
    assert {name: decision[name] for name in wanted} == wanted
    assert decision["session"] == call["session_id"]
    wanted = {"kind": "outcome", "id": decision["id"], "ended": "exited", "status": 0, "output": [2, 0]}
    assert {name: outcome[name] for name in wanted} == wanted
    assert list((asking.world.state / "hook-calls").iterdir()) == []


@pytest.mark.parametrize(("agent", "ended"), [("claude", []), ("gemini", ["refused"])])
def test_a_question_that_is_refused_is_recorded_as_one(
    ask: Callable[[str], Asking], agent: str, ended: list[str]
) -> None:
    asking = ask()
    asking(agent, "", {"command": "touch made"})
    found = records(asking)
    assert found[0]["decision"] == "ask"
    assert [each["ended"] for each in found[1:]] == ended


@pytest.mark.parametrize("given", [{"command": 5}, {"command": "a\0b"}, {}], ids=str)
def test_a_call_that_is_none_is_recorded_as_such(ask: Callable[[str], Asking], given: dict[str, Any]) -> None:
    asking = ask()
    assert asking("claude", "Bash", given)[0] == "deny"
    assert [(each["decision"], each["rule"][0], each["tool"]) for each in records(asking)] == [
        ("deny", "invalid-call", "Bash")
    ]


def test_secrets_and_contents_stay_out_of_the_record(ask: Callable[[str], Asking]) -> None:
    asking = ask()
    secret = "ghp_" + "a1B2" * 9
    calls = [
        ("claude", "Bash", {"command": f"echo {secret}"}),
        ("gemini", "write_file", {"file_path": "a", "content": "private words"}),
        ("copilot", "create", {"path": "a", "file_text": "private words"}),
        ("codex", "apply_patch", {"command": PATCH.format("Add File: a\n+private words")}),
        ("opencode", "edit", {"filePath": "a", "oldString": "x", "newString": "private words"}),
    ]
    for call in calls:
        asking(*call)
    text = json.dumps(records(asking))
    assert len(records(asking)) >= len(calls)
    assert (secret in text, "private words" in text) == (False, False)


def test_a_question_of_the_client_about_a_recorded_call_is_no_second_record(ask: Callable[[str], Asking]) -> None:
    asking = ask()
    asking("claude", "", {"command": "touch made"})
    asking.reply("claude", permission("claude", asking.project, "touch made"))
    assert len(records(asking)) == 1


def test_the_tools_of_every_agents_shell_are_described() -> None:
    from gateway.config.shipped import load_foreign
    from gateway.core.places import places

    foreign = load_foreign(places())
    found = {agent: foreign(agent, SHELLS[agent]) for agent in AGENTS}
    assert {agent: tool is not None and tool.name for agent, tool in found.items()} == dict.fromkeys(AGENTS, "Bash")


def test_a_commit_that_is_asked_about_names_what_code_has_changed(ask) -> None:
    asking = ask()
    store = Store(local_folder(places(), asking.project))
    changed(store, asking.world.project, "./x\x1b[2J", ["package.json", "src.py"])
    commit, status = (asking("claude", "Bash", {"command": command}) for command in ("git commit -m x", "git status"))
    line = "Code has changed files that run later: package.json (builds and tests run it; changes 1: ./x\\x1b[2J)."
    assert (commit[0], commit[1].endswith(line)) == ("ask", True)
    assert (status[0], "Code has changed" in status[1]) == ("allow", False)
