"""What a language server can do: read what the policy leaves of the workspace, and nothing else. The same program
without the sandbox does all of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from patience import patience

from gateway.lsp.frames import Frames, framed

HOVER = "textDocument/hover"


@pytest.fixture
def port() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def world(scripted: Any) -> Any:
    """A key of the user's, and files that no call may read unasked."""
    (scripted.ground.home / ".ssh").mkdir()
    (scripted.ground.home / ".ssh" / "id_rsa").write_text("key", encoding="utf-8")
    scripted.file("hidden.txt", "secret")
    scripted.file("asked.txt", "secret")
    scripted.rules.append({"id": "hidden", "deny": {"effect": "read", "path": ["hidden.txt"]}})
    scripted.rules.append({"id": "asked", "ask": {"effect": "read", "path": ["asked.txt"]}})
    return scripted


def attempts(world: Any, port: int) -> dict[str, dict[str, Any]]:
    return {
        "write the workspace": {"write": str(world.project / "made")},
        "change a file": {"write": str(world.project / "a.txt")},
        "write the home folder": {"write": str(world.ground.home / "made")},
        "read a key": {"read": str(world.ground.home / ".ssh" / "id_rsa")},
        "read what is denied": {"read": str(world.project / "hidden.txt")},
        "read what would be asked about": {"read": str(world.project / "asked.txt")},
        "connect": {"connect": port},
    }


# The home folder in the sandbox is one of its own: what is written there is gone with it.
BLOCKED = {
    "write the workspace": {"write": "OSError"},
    "change a file": {"write": "OSError"},
    "write the home folder": {"write": "done"},
    "read a key": {"read": "FileNotFoundError"},
    "read what is denied": {"read": "PermissionError"},
    "read what would be asked about": {"read": "PermissionError"},
    "connect": {"connect": "ConnectionRefusedError"},
}


def tried(world: Any, port: int) -> dict[str, Any]:
    found = {}
    for name, what in attempts(world, port).items():
        world.does(HOVER, tries=what)
        found[name] = json.loads(world.ask("hover").output.data["items"][0]["text"])
    return found


def test_a_server_reads_what_policy_leaves_of_the_workspace_and_nothing_else(world: Any, port: int) -> None:
    assert tried(world, port) == BLOCKED
    made = (world.project / "made", world.ground.home / "made")
    assert [path.exists() for path in made] == [False, False]
    assert (world.project / "a.txt").read_text(encoding="utf-8") == "one two\nthree\n"


def test_a_rule_that_lets_commands_write_and_connect_does_not_let_a_server(world: Any, port: int) -> None:
    rules = world.rules
    sandbox = {"write": ["./**"], "network": "open", "hosts": [f"127.0.0.1:{port}"]}
    world.says()
    world.ground.says({"settings": {"language_servers": {"text": world.declared}, "sandbox": sandbox}, "rules": rules})
    world.gateway = world.ground.open(environment={"PATH": os.environ["PATH"]}, mode="accept_edits")
    world.session = world.gateway.session()
    assert tried(world, port) == BLOCKED


def test_the_same_program_without_the_sandbox_does_all_of_it(world: Any, port: int) -> None:
    for name, what in attempts(world, port).items():
        world.does(HOVER, tries=what)
        sent = framed({"jsonrpc": "2.0", "id": 1, "method": HOVER, "params": {}})
        done = subprocess.run(
            [sys.executable, "server.py"],
            input=sent,
            capture_output=True,
            cwd=world.project,
            check=False,
            timeout=patience(30),
        )
        (answer,) = Frames().feed(done.stdout)
        (said,) = json.loads(answer["result"]["contents"]).values()
        assert (name, said) == (name, "done")


def test_what_a_server_writes_to_its_own_folders_it_reads_again(world: Any) -> None:
    kept = {"write": "/tmp/kept", "read": "/tmp/kept"}
    world.does(HOVER, tries=kept)
    assert json.loads(world.ask("hover").output.data["items"][0]["text"]) == {"write": "done", "read": "done"}
    assert not os.path.exists("/tmp/kept")


@pytest.mark.parametrize(
    ("rules", "why"),
    [([{"id": "no", "deny": "Bash(python3 *)"}], "was refused by rule `no`"), ([], "There is nobody to ask")],
    ids=["denied", "asked about with nobody there"],
)
def test_a_server_that_policy_does_not_allow_does_not_start(scripted: Any, rules: Any, why: str) -> None:
    scripted.rules = rules
    done = scripted.ask("hover")
    assert done.output.is_error
    assert done.text.startswith("Language server `text` does not start: ")
    assert why in done.text


def test_a_person_who_is_asked_sees_what_the_server_may_do(scripted: Any) -> None:
    from gateway.approval.callback import Callback

    questions: list[Any] = []
    scripted.rules = []
    scripted.does(HOVER, result={"contents": "said"})
    scripted.open(approver=Callback(lambda question: questions.append(question) or True))
    assert scripted.ask("hover").text == "said"
    (question,) = questions
    assert question.verdict.call.input["command"] == "python3 -S server.py"
    assert {mount.access for mount in question.plan.mounts} <= {"read", "hidden"}
    assert question.plan.network.mode == "off"


def test_the_variables_of_a_server_are_those_that_policy_names_and_secrets_are_not_said_back(scripted: Any) -> None:
    scripted.declared["env"] = {"GIVEN": "env:SECRET_OF_OURS"}
    scripted.does(HOVER, result={"contents": "it is s3cr3t"})
    scripted.open(environment={"PATH": os.environ["PATH"], "SECRET_OF_OURS": "s3cr3t"})
    done = scripted.ask("hover")
    assert done.text == "it is [secret]"
    assert "s3cr3t" not in repr(done) + repr(scripted.ground.records())


def test_a_secret_is_hidden_before_what_a_server_says_is_cut(scripted: Any) -> None:
    scripted.declared["env"] = {"GIVEN": "env:SECRET_OF_OURS"}
    scripted.open(environment={"PATH": os.environ["PATH"], "SECRET_OF_OURS": "s3cr3t"})
    said = []
    for before in (494, 496, 498):
        scripted.does(HOVER, error={"code": 1, "message": "x" * before + "s3cr3t"})
        said.append(scripted.ask("hover").text.partition("error: ")[2])
    assert said == ["x" * 494 + "[secre.", "x" * 496 + "[sec.", "x" * 498 + "[s."]


def test_a_project_that_nobody_trusts_starts_nothing(ground: Any) -> None:
    from gateway.model.call import RawCall

    (ground.project / "a.txt").write_text("x\n", encoding="utf-8")
    declared = {"command": ["touch", str(ground.project / "started")], "extensions": {".txt": "plaintext"}}
    document = {"settings": {"language_servers": {"text": declared}}, "rules": [{"id": "t", "allow": "Bash"}]}
    ground.says(document, layer="project")
    given = RawCall("LSP", {"operation": "symbols", "file_path": "a.txt"})
    gateway = ground.open()
    assert any("language_servers" in each for each in gateway.loaded.skipped)
    done = gateway.call(given)
    assert done.text == "No language server serves `*.txt`. None is configured: see the setting `language_servers`."
    trusted = ground.open(trust=(gateway.loaded.project_digest,))
    assert trusted.call(given).text.startswith("Language server `text` does not work: ")


def test_a_project_does_not_say_which_secrets_a_server_gets(ground: Any) -> None:
    declared = {"command": ["x"], "extensions": {".txt": "plaintext"}, "env": {"A": "env:B"}}
    ground.says({"settings": {"language_servers": {"a": declared}}}, layer="project")
    with pytest.raises(Exception, match="must not say which variables a server gets"):
        ground.open()
