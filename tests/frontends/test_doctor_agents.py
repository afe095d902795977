"""`gateway doctor` on agents: the hook that stands in their settings is run, and what could silence it is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warmed import warm

from gateway.agents import AGENTS
from gateway.core.command_lines import client_line
from gateway.core.places import Places
from gateway.frontends import doctor_agents
from gateway.frontends.cli.doctor import as_text
from gateway.frontends.finding import BETTER, BROKEN, OK, Finding
from gateway.install import canary
from gateway.install.agents import agent_named
from gateway.install.base import Site
from gateway.install.codextrust import ListedHook
from gateway.install.hook_lines import hook_lines, unheld
from gateway.install.pieces import TEXT, Made, put
from gateway.render.style import Style

if TYPE_CHECKING:
    from collections.abc import Callable

SAYS = {
    "deny": (0, b'{"hookSpecificOutput": {"permissionDecision": "deny"}}', b""),
    "flat-deny": (0, b'{"permission": "deny"}', b""),
    "exit-2": (2, b"", b"no"),
    "allow": (0, b'{"hookSpecificOutput": {"permissionDecision": "allow"}, "decision": "allow"}', b""),
    "silence": (0, b"", b""),
}


def as_it_must(_words: Any, given: bytes) -> tuple[int, bytes, bytes]:
    return SAYS["deny"] if canary.DENIED.encode() in given or given == canary.GARBAGE else SAYS["allow"]


def always(says: str) -> Callable[..., tuple[int, bytes, bytes]]:
    return lambda _words, _given: SAYS[says]


def fails(_words: Any, _given: bytes) -> tuple[int, bytes, bytes]:
    raise FileNotFoundError(2, "No such file or directory")


@pytest.fixture
def world(tmp_path: Path):
    """Puts the gateway into an agent's settings below a folder; gives what doctor sees of it."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()

    class World:
        def __init__(self) -> None:
            self.home, self.project = home, project

        def put(self, name: str, level: str = "user") -> None:
            agent = agent_named(name)
            assert agent is not None
            for each in agent.hooks(Site(level, str(home), str(project), {}), hook_lines(name)):
                path = Path(each.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(each.content if each.form == TEXT else put(each, "", Made())[0], encoding="utf-8")

        def look(self, name: str) -> doctor_agents.Looked:
            agent = agent_named(name)
            assert agent is not None
            where = Places("/nonexistent", str(home / "c"), str(home / "s"), str(home / "k"), str(home))
            return doctor_agents.look(agent, where, str(project), {"PATH": "/nonexistent"})

        def edit(self, path: str, change: Callable[[Any], None]) -> None:
            file = home / path
            data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            change(data)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(data), encoding="utf-8")

    return World()


@pytest.mark.parametrize("name", AGENTS)
def test_a_hook_that_answers_as_it_must_is_fine(name: str, world) -> None:
    world.put(name)
    looked = world.look(name)
    assert looked.own
    assert doctor_agents.answers(looked, str(world.project), as_it_must) == []
    assert doctor_agents.incomplete(looked) == []
    assert doctor_agents.interfering(looked) == []


@pytest.mark.parametrize("name", [name for name in AGENTS if name != "opencode"])
def test_a_hook_without_its_shell_is_the_weak_form_and_is_mended_by_init(name: str, world, monkeypatch) -> None:
    """As earlier releases wrote it: it is found, and what is put in again takes its place."""
    from gateway.core.command_lines import hook_line

    monkeypatch.setattr(
        sys.modules[__name__], "hook_lines", lambda agent: lambda event: hook_line(agent, ("--event", event))
    )
    world.put(name)
    monkeypatch.undo()
    looked = world.look(name)
    found = [each for each in doctor_agents.incomplete(looked) if each.state == BROKEN]
    assert [(each.remedy, canary.BEFORE[name] in each.details) for each in found] == [(f"gateway init {name}", True)]
    assert "weak form" in found[0].text
    agent = agent_named(name)
    assert agent is not None
    for each in agent.hooks(Site("user", str(world.home), str(world.project), {}), hook_lines(name)):
        path = Path(each.path)
        path.write_text(put(each, path.read_text(encoding="utf-8"), Made())[0], encoding="utf-8")
    mended = world.look(name)
    assert len(mended.own) == len(looked.own)
    assert doctor_agents.incomplete(mended) == []


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("run", [always("silence"), always("allow"), fails], ids=["silent", "always-allows", "missing"])
def test_a_hook_that_lets_everything_run_is_broken(name: str, run: Any, world) -> None:
    world.put(name)
    found = doctor_agents.answers(world.look(name), str(world.project), run)
    assert [each.state for each in found] == [BROKEN]
    assert "a call that must be refused" in found[0].details[0]


@pytest.mark.parametrize("says", ["deny", "exit-2"])
def test_a_hook_that_refuses_everything_could_be_better(says: str, world) -> None:
    world.put("claude")
    found = doctor_agents.answers(world.look("claude"), str(world.project), always(says))
    assert [(each.state, len(each.details)) for each in found] == [(BETTER, 1)]


@pytest.mark.parametrize("name", AGENTS)
def test_the_very_line_is_run_and_every_dialect_is_answered(name: str, world) -> None:
    world.put(name)
    cache = world.home.parent / "cache"
    warm(cache / "gateway")
    environment = {"HOME": str(world.home), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache)}

    def run(words: Any, given: bytes) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            words, input=given, capture_output=True, timeout=60, check=False, cwd=world.project, env=environment
        )
        return done.returncode, done.stdout, done.stderr

    looked = world.look(name)
    assert unheld(looked.own[0].words)[0] == sys.executable
    assert doctor_agents.answers(looked, str(world.project), run) == []


@pytest.mark.parametrize(
    ("words", "level", "ran"),
    [
        (["./bin/gateway", "hook", "claude"], "project", 0),
        (["sh", "-c", "touch x", "gateway", "hook", "claude"], "project", 0),
        ([*client_line("hook"), "claude"], "project", 3),
        (hook_lines("claude")("PreToolUse"), "project", 3),
        (["/bin/sh", "-c", "touch x", "gateway", *client_line("hook"), "claude"], "project", 0),
        (["/opt/bin/gateway", "hook", "claude"], "user", 3),
    ],
    ids=["of the project", "a shell", "the gateway", "the gateway, held", "another shell", "what the user chose"],
)
def test_of_a_projects_hooks_only_those_that_start_this_gateway_are_tried(
    words: list[str], level: str, ran: int, world
) -> None:
    path = (world.project if level == "project" else world.home) / ".claude" / "settings.json"
    path.parent.mkdir()
    handler = {"type": "command", "command": words[0], "args": words[1:], "timeout": 30}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [handler]}]}}), encoding="utf-8")
    tried = []

    def run(words: Any, given: bytes) -> tuple[int, bytes, bytes]:
        tried.append(list(words))
        return as_it_must(words, given)

    found = doctor_agents.answers(world.look("claude"), str(world.project), run)
    assert tried == [words] * ran
    assert [(each.state, "not tried" in each.text) for each in found] == ([] if ran else [(BROKEN, True)])


def test_a_hook_for_other_events_alone_is_broken(world) -> None:
    world.put("claude")
    world.edit(".claude/settings.json", lambda data: data["hooks"].pop("PreToolUse"))
    looked = world.look("claude")
    assert doctor_agents.answers(looked, str(world.project), as_it_must)[0].text == (
        "no hook stands for PreToolUse: calls run unasked"
    )
    assert doctor_agents.incomplete(looked) == [
        Finding(
            "claude", BETTER, f"no hook for PreToolUse in {world.home}/.claude/settings.json", "gateway init claude"
        )
    ]


@pytest.mark.parametrize(
    ("name", "path", "change"),
    [
        ("claude", ".claude/settings.json", lambda data: data.update(disableAllHooks=True)),
        ("copilot", ".copilot/settings.json", lambda data: data.update(disableAllHooks=True)),
        ("gemini", ".gemini/settings.json", lambda data: data.update(hooksConfig={"enabled": False})),
    ],
    ids=["claude", "copilot", "gemini"],
)
def test_a_setting_that_silences_hooks_is_broken(name: str, path: str, change: Any, world) -> None:
    world.put(name)
    assert doctor_agents.switched_off(world.look(name)) == []
    world.edit(path, change)
    assert [each.state for each in doctor_agents.switched_off(world.look(name))] == [BROKEN]


def test_hooks_of_codex_can_be_switched_off_by_its_configuration(world) -> None:
    world.put("codex")
    (world.home / ".codex/config.toml").write_text("[features]\nhooks = false\n", encoding="utf-8")
    assert [each.state for each in doctor_agents.switched_off(world.look("codex"))] == [BROKEN]


@pytest.mark.parametrize(
    ("name", "path", "event", "field", "value"),
    [
        ("codex", ".codex/hooks.json", "PreToolUse", "timeout", 5),
        ("gemini", ".gemini/settings.json", "BeforeTool", "timeout", 30),
        ("copilot", ".copilot/settings.json", "preToolUse", "timeoutSec", 1),
        ("cursor", ".cursor/hooks.json", "preToolUse", "failClosed", False),
    ],
    ids=["codex-too-short", "gemini-in-seconds", "copilot-too-short", "cursor-fails-open"],
)
def test_a_hook_that_fails_open_is_broken(name: str, path: str, event: str, field: str, value: Any, world) -> None:
    world.put(name)

    def change(data: Any) -> None:
        entry = data["hooks"][event][0]
        (entry["hooks"][0] if "hooks" in entry else entry)[field] = value

    world.edit(path, change)
    assert [each.state for each in doctor_agents.incomplete(world.look(name))] == [BROKEN]


@pytest.mark.parametrize(
    ("name", "field", "value", "wanted"),
    [
        pytest.param("claude", "timeout", 599, "waits less than 600 s", id="shorter than its words say"),
        pytest.param("copilot", "timeoutSec", None, "waits less than 600 s", id="none, where the usual one is shorter"),
        pytest.param("claude", "timeout", None, "", id="none, where the usual one is as long"),
        pytest.param("gemini", "timeout", 600_000, "", id="in milliseconds"),
    ],
)
def test_an_agent_must_wait_as_long_as_its_hook_believes(name: str, field: str, value: Any, wanted: str, world) -> None:
    world.put(name)
    event = canary.BEFORE[name]
    path = {"claude": ".claude/settings.json", "gemini": ".gemini/settings.json"}.get(name, ".copilot/settings.json")

    def change(data: Any) -> None:
        entry = data["hooks"][event][0]
        handler = entry["hooks"][0] if "hooks" in entry else entry
        handler.pop(field)
        if value is not None:
            handler[field] = value

    world.edit(path, change)
    found = doctor_agents.incomplete(world.look(name))
    assert [each.state for each in found] == ([BROKEN] if wanted else [])
    assert all(wanted in each.text for each in found)


def test_a_line_of_an_earlier_release_goes_on_and_is_told_that_it_asks_on_no_page(world) -> None:
    world.put("codex")

    def change(data: Any) -> None:
        for entries in data["hooks"].values():
            handler = entries[0]["hooks"][0]
            handler.update(command=handler["command"].replace(" --waits 600", ""), timeout=30)

    world.edit(".codex/hooks.json", change)
    looked = world.look("codex")
    assert doctor_agents.answers(looked, str(world.project), as_it_must) == []
    found = doctor_agents.incomplete(looked)
    assert [(each.state, "to ask on the console's page" in each.text) for each in found] == [(BETTER, True)]


@pytest.mark.parametrize(
    ("mode", "what"),
    [
        ("default", ""),
        ("acceptEdits", ""),
        ("bypassPermissions", "what it may guard by itself is refused"),
        ("plan", "what it may guard by itself is refused"),
        ("tomorrow", "everything that policy asks about is refused"),
    ],
)
def test_a_mode_in_which_questions_become_refusals_is_told(mode: str, what: str, world) -> None:
    world.put("claude")
    assert doctor_agents.unasked(world.look("claude")) == []
    world.edit(".claude/settings.json", lambda data: data.update(permissions={"defaultMode": mode}))
    found = doctor_agents.unasked(world.look("claude"))
    text = (
        f"it starts in the mode `{mode}` ({world.home}/.claude/settings.json), in which {what} instead of asked about"
    )
    assert found == (
        [Finding("claude", BETTER, text, "to be asked, start it in default or acceptEdits")] if what else []
    )


def test_an_agent_that_cannot_ask_is_told(world) -> None:
    assert {name: len(doctor_agents.unasked(world.look(name))) for name in AGENTS} == {
        "claude": 0, "codex": 1, "gemini": 0, "copilot": 0, "cursor": 1, "opencode": 1,
    }  # fmt: skip


def test_hooks_of_others_before_a_call_are_told(world) -> None:
    world.put("claude")
    other = {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint --fix"}, {"type": "http", "url": "x"}]}
    world.edit(".claude/settings.json", lambda data: data["hooks"]["PreToolUse"].append(other))
    found = doctor_agents.interfering(world.look("claude"))
    path = f"{world.home}/.claude/settings.json"
    assert [(each.state, each.details) for each in found] == [
        (BETTER, (f"{path}: lint --fix", f"{path}: a hook that is no command")),
    ]  # fmt: skip


def test_a_broken_settings_file_is_told_with_its_place(world) -> None:
    (world.home / ".claude").mkdir()
    (world.home / ".claude/settings.json").write_text('{"a": 1,,}', encoding="utf-8")
    found = doctor_agents.findings_of(world.look("claude"), str(world.project), {"PATH": ""})
    assert (found[0].state, "settings.json:1:9" in found[0].details[0]) == (BROKEN, True)


def test_what_others_could_change_is_broken(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "x"
    program.parent.mkdir()
    program.write_text("")
    assert doctor_agents.loose(str(program)) in ("", f"lies in {tmp_path.parent}, which can be written by a group")
    program.chmod(0o777)
    assert doctor_agents.loose(str(program)) == "can be written by everybody"
    program.chmod(0o755)
    program.parent.chmod(0o777)
    assert doctor_agents.loose(str(program)) == f"lies in {program.parent}, which can be written by everybody"
    assert doctor_agents.loose(str(tmp_path / "gone")).startswith("cannot be looked at")


@pytest.mark.parametrize(
    ("said", "states"),
    [(b"2.1.329 (Claude Code)", []), (b"2.2.0", []), (b"2.1.197", [BETTER]), (b"unknown", [BETTER])],
    ids=["known", "newer", "older", "none"],
)
def test_an_agent_that_drops_hooks_is_told(said: bytes, states: list[str], world) -> None:
    world.put("claude")
    looked = world.look("claude").replace(program="/bin/claude")
    assert [each.state for each in doctor_agents.version(looked, lambda _words, _given: (0, said, b""))] == states


def hook(trust: str) -> ListedHook:
    return ListedHook("k", "h", "preToolUse", "/x/gateway hook codex", trust, "/home/dev/.codex/hooks.json")


@pytest.mark.parametrize(
    ("listed", "states"),
    [([], [BROKEN]), ([hook("untrusted")], [BROKEN]), ([hook("modified")], [BROKEN]), ([hook("trusted")], []),
     ([hook("managed")], [])],
    ids=["not-seen", "untrusted", "modified", "trusted", "managed"],
)  # fmt: skip
def test_what_codex_says_of_its_trust(listed: list[ListedHook], states: list[str]) -> None:
    assert [each.state for each in doctor_agents.judged_trust(listed)] == states


@pytest.mark.parametrize("name", ["deny", "flat-deny", "exit-2"])
def test_every_form_of_a_refusal_is_known(name: str) -> None:
    assert canary.is_refused(*SAYS[name])
    assert not canary.is_let_run("claude", *SAYS[name])


@pytest.mark.parametrize(
    "done",
    [
        (1, b"", b"no"),
        (2, b"", b""),
        (0, b"deny", b""),
        (0, b"[]", b""),
        (2, b'{"decision": "allow"}', b"no"),
        (-9, b"", b""),
    ],
    ids=["exit-1", "no-reason", "no-json", "a-list", "json-first", "killed"],
)
def test_what_some_agent_takes_for_consent_is_no_refusal(done: tuple[int, bytes, bytes]) -> None:
    assert not canary.is_refused(*done)


def test_the_text(golden) -> None:
    findings = (
        Finding("claude", OK, "the hook in its settings (user) answers as it must"),
        *doctor_agents.judged_trust([hook("modified")]),
        Finding("gemini", BETTER, "Gemini CLI runs without the gateway", "gateway init gemini"),
    )
    golden("doctor-agents.txt", as_text(findings, Style(72)))


def test_the_command_looks_at_one_agent(in_process, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = in_process("doctor", "--agent", "cursor", "--json", cwd=tmp_path, HOME=str(home), PATH="/usr/bin:/bin")
    found = json.loads(done.stdout)
    assert (found["works"], found["findings"][0]) == (
        True,
        {
            "name": "cursor", "state": "could be better", "text": "Cursor is not set up here",
            "remedy": "gateway init cursor", "details": [],
        },
    )  # fmt: skip
    assert {each["name"] for each in found["findings"]} == {"cursor"}  # what follows is told of contained calls
    told = in_process("doctor", "--agent", "cursor", cwd=tmp_path, HOME=str(home), PATH="/usr/bin:/bin")
    assert (told.returncode, told.stdout.decode().splitlines()[-1]) == (0, "nothing is broken; could be better: cursor")
    assert in_process("doctor", "--agent", "nobody").returncode == 2
