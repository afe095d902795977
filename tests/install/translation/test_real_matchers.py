"""No import lets a call run that the agent's own matcher, run for real, does not allow; none denies less.

`pytest tests/install/translation --real-clients DIR` has codex, Gemini CLI and opencode installed from npm
where they are not there yet.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import THOROUGH
from realclients import program
from rulesets import call, text_of

from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE, Asked, spellings, words_of
from gateway.install.translation.comparing import translated
from gateway.install.translation.importing import ordered
from gateway.install.translation.statements import layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.install.translation.engine import Engine

    Oracle = Callable[[list[tuple[str, str, list[Asked]]]], list[list[str]]]

HERE = Path(__file__).parent
SETS, CALLS = (2500, 40) if THOROUGH else (60, 30)


@pytest.fixture(scope="module")
def clients(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("real agent clients need node and npm")
    return Path(folder)


def _node(script: str, where: Path, given: Any) -> Any:
    done = subprocess.run(
        ["node", str(HERE / script), str(where)], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def _gemini(folder: Path) -> Oracle:
    bundle = program(folder, "gemini").parents[1] / "@google/gemini-cli/bundle"

    def as_called(asked: Asked) -> dict[str, Any]:
        if asked.kind == MCP:
            server, _, tool = asked.text.partition("/")
            return {"tool": f"mcp_{server}_{tool}", "args": {}, "server": server}
        name, field = {
            SHELL: ("run_shell_command", "command"),
            READ: ("read_file", "file_path"),
            WRITE: ("write_file", "file_path"),
            FETCH: ("web_fetch", "prompt"),
        }[asked.kind]
        return {"tool": name, "args": {field: asked.text}}

    def ask(sets: list[tuple[str, str, list[Asked]]]) -> list[list[str]]:
        given = [{"text": text, "calls": [as_called(each) for each in calls]} for text, _file, calls in sets]
        found = _node("real_gemini.mjs", bundle, given)
        assert not [each["errors"] for each in found if each["errors"]]
        return [["ask" if each == "ask_user" else each for each in one["decisions"]] for one in found]

    return ask


def _opencode(folder: Path) -> Oracle:
    package = program(folder, "opencode").parents[1]
    binary = next(package.glob("opencode-linux-*/bin/opencode"))

    def as_called(asked: Asked) -> dict[str, str]:
        if asked.kind == MCP:
            return {"permission": asked.text.replace("/", "_"), "pattern": "*"}
        pattern = asked.text
        if asked.kind in (READ, WRITE):
            import os

            pattern = os.path.relpath(asked.text, "/home/dev/project")
        return {
            "permission": {SHELL: "bash", READ: "read", WRITE: "edit", FETCH: "webfetch"}[asked.kind],
            "pattern": pattern,
        }

    def rules_of(text: str) -> list[dict[str, str]]:
        made = []
        for name, value in json.loads(text)["permission"].items():
            for pattern, action in ({"*": value} if isinstance(value, str) else value).items():
                home = pattern.replace("~/", "/home/dev/", 1) if pattern.startswith("~/") else pattern
                made.append({"permission": name, "pattern": home, "action": action})
        return made

    def ask(sets: list[tuple[str, str, list[Asked]]]) -> list[list[str]]:
        given = [{"rules": rules_of(text), "calls": [as_called(each) for each in calls]} for text, _file, calls in sets]
        found: list[list[str]] = _node("real_opencode.mjs", binary, given)
        return found

    return ask


def _codex(folder: Path) -> Oracle:
    codex = program(folder, "codex")

    def ask(sets: list[tuple[str, str, list[Asked]]]) -> list[list[str]]:
        import tempfile

        answers = []
        with tempfile.TemporaryDirectory() as place:
            rules = Path(place) / "x.rules"
            for text, _file, calls in sets[: 60 if THOROUGH else 6]:  # each answer is a process of its own
                rules.write_text(text)
                said: dict[tuple[str, ...], str] = {}
                for asked in calls:
                    words = words_of(asked.text) if asked.kind == SHELL else None
                    if words and words not in said:
                        done = subprocess.run(
                            [codex, "execpolicy", "check", "--rules", rules, "--", *words],
                            capture_output=True,
                            text=True,
                            check=True,
                        )
                        found = json.loads(done.stdout).get("decision", "")
                        said[words] = {"forbidden": "deny", "prompt": "ask"}.get(found, found)
                answers.append(
                    [said.get(words_of(each.text) or (), "") if each.kind == SHELL else "" for each in calls]
                )
        return answers

    return ask


ORACLES = {"codex": _codex, "gemini": _gemini, "opencode": _opencode}


@pytest.mark.parametrize("agent", ORACLES)
def test_what_is_imported_is_never_wider_than_what_the_agents_own_matcher_allows(
    agent: str, clients: Path, engine: Engine
) -> None:
    client = CLIENTS[agent]
    sets, judged = [], []
    for seed in range(SETS):
        pick = random.Random(f"{agent} {seed}")
        text, file = text_of(agent, pick)
        rules = ordered(client, [(text, file, "user")], engine.where)[0]
        policy = engine.policy(layer(translated(rules, client, engine).statements, {agent: agent}))
        questions: dict[Asked, None] = {}
        verdicts = []
        for _ in range(CALLS):
            asked = call(pick)
            parts = (
                [
                    [Asked(SHELL, each) for each in ((part, *spellings(words)) if words else (part,))]
                    for words, part in engine.parts(asked)
                    if engine.free(Asked(SHELL, part)) != "allow"
                ]
                if asked.kind == SHELL
                else [[asked]]
            )
            questions |= dict.fromkeys([asked, *(each for part in parts for each in part)])
            verdicts.append((asked, engine.decision(policy, asked), parts))
        sets.append((text, file, list(questions)))
        judged.append((text, verdicts))
    answers = ORACLES[agent](clients)(sets)
    wrong = []
    for (_text, _file, questions), found, (text, verdicts) in zip(sets, answers, judged, strict=False):
        said = dict(zip(questions, found, strict=True))
        for asked, ours, parts in verdicts:
            if ours == "allow" and engine.free(asked) != "allow":
                wrong += (
                    [(text, asked, "wider")]
                    if any(all(said[each] != "allow" for each in part) for part in parts)
                    else []
                )
            # A command that is let run in another spelling of the same words is let run.
            respelled = asked.kind == SHELL and all(any(said[each] == "allow" for each in part) for part in parts)
            if said[asked] == "deny" and ours != "deny" and not respelled:
                wrong.append((text, asked, "denied less"))
    assert wrong == []
