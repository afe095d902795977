"""Neither the library, nor the MCP front end, nor a hook is a way to read what policy hides: whatever tool is called
with a secret file in whatever place, nothing of it comes back."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest
import starting
from hooking import before
from wired import Place

from gateway.agents import AGENTS
from gateway.model.call import RawCall
from gateway.policy.explain import explain

CANARY = "c4n4ry"
# Tools of ours, with the secret file {0} where a file, a folder or a text may name one.
CALLS = [
    ("Read", {"file_path": "{0}"}),
    ("Read", {"file_path": "{0}", "offset": 1, "limit": 1}),
    ("Edit", {"file_path": "{0}", "old_string": "nothing of it", "new_string": "y"}),
    ("Edit", {"file_path": "{0}", "old_string": "", "new_string": "y"}),
    ("Write", {"file_path": "{0}", "content": "y"}),
    ("NotebookEdit", {"notebook_path": "{0}", "new_source": "y"}),
    ("Grep", {"pattern": ".", "path": "{0}", "output_mode": "content"}),
    ("Grep", {"pattern": ".", "path": ".", "glob": ".env*", "output_mode": "content"}),
    ("Glob", {"pattern": "**/*", "path": "{0}"}),
    ("Bash", {"command": "cat {0}"}),
    ("Bash", {"command": "gateway policy test {0}"}),
    ("Bash", {"command": "gateway check --batch {0}"}),
    ("Bash", {"command": "bash {0}"}),
    ("Skill", {"skill": "{0}"}),
    ("LSP", {"operation": "hover", "filePath": "{0}", "line": 1, "character": 1}),
    ("ReadMcpResource", {"server": "docs", "uri": "file://{0}"}),
    ("WebFetch", {"url": "file://{0}", "prompt": "x"}),
    ("EnterWorktree", {"name": "{0}"}),
    ("BashOutput", {"bash_id": "{0}"}),
    ("{0}", {}),
    ("Read", {"{0}": "{0}"}),
]  # fmt: skip


def said(value: Any, path: str) -> Any:
    return json.loads(json.dumps(value).replace("{0}", path))


def shown_of(done: Any) -> str:
    """What a program gets to see of a call: its end, its output, and why."""
    return repr((done.result, done.output)) + json.dumps(explain(done.verdict))


@pytest.fixture
def secret(ground: Any) -> str:
    path = ground.project / ".env"
    path.write_text(f"TOKEN={CANARY}\n{CANARY}: [\n", encoding="utf-8")
    (ground.project / "open.txt").write_text(f"{CANARY}\n", encoding="utf-8")
    (ground.project / "link").symlink_to(".env")
    (ground.project / ".gateway").mkdir()
    (ground.project / ".gateway/policy.yaml").write_text("version: 1\n", encoding="utf-8")
    ground.says({"extends": [{"preset": "daily"}], "allow": ["Read", "Grep", "Glob", "Edit(**)"]})
    return str(path)


def test_the_library_shows_nothing_of_it(ground: Any, secret: str) -> None:
    gateway = ground.open()
    shown = []
    for path in (secret, str(ground.project / "link")):
        for tool, given in said(CALLS, path):
            done = gateway.call(RawCall(tool, given))
            if CANARY in shown_of(done):
                shown.append((tool, given))
    assert shown == []
    assert CANARY in shown_of(
        gateway.call(RawCall("Read", {"file_path": str(ground.project / "open.txt")}))
    )  # the twin


def test_the_mcp_front_end_shows_nothing_of_it(ground: Any, secret: str) -> None:
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    place = Place(ground)
    try:
        client = place.gateway("serve")
        answers = [
            client.answer(client.start("tools/call", {"name": tool, "arguments": given}))
            for tool, given in said(CALLS, secret)
        ]
        answers += [
            client.answer(client.start(method, {"uri": f"file://{secret}", "name": secret}))
            for method in ("resources/list", "resources/read", "prompts/list", "prompts/get", "completion/complete")
        ]
        assert [each for each in answers if CANARY in json.dumps(each)] == []
        assert CANARY in client.text("Read", file_path=str(ground.project / "open.txt"))
    finally:
        place.close()


@pytest.mark.parametrize("agent", AGENTS)
def test_no_hook_shows_anything_of_it(ground: Any, secret: str, agent: str) -> None:
    """Whatever a client says: also where it names the secret as its transcript, its folder or its event."""
    environment = {
        "HOME": str(ground.home), "PATH": os.environ["PATH"], "GATEWAY_HOOK_CLIENT": "0",
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
    }  # fmt: skip
    usual = before(agent, str(ground.project))
    events: list[Any] = [before(agent, str(ground.project), tool, given) for tool, given in said(CALLS[:12], secret)]
    events += [{**usual, name: secret} for name in usual]
    events += [{**usual, "transcript_path": secret, "hook_event_name": "Stop"}, secret, [secret]]
    shown = []
    for event in events:
        done = starting.run(
            [sys.executable, "-m", "gateway", "hook", agent], input=json.dumps(event).encode(), cwd=ground.project,
            env=environment, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        if CANARY.encode() in done.stdout + done.stderr:
            shown.append(event)
    assert shown == []
