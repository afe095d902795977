"""`gateway policy lsp` as an editor talks to it: one server for all of these, over its standard input and output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from editor_client import Client, environment_of
from warmed import warm

from gateway.spec.yamltext import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = 'version: 1\nrules:\n- id: no-x\n  deny: {command: "xyz *"}\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("edited")
    warm(found / ".cache/gateway")
    for each in ("project/.git", "project/.gateway/policy.d", ".config/gateway"):
        (found / each).mkdir(parents=True)
    (found / ".config/gateway/policy.yaml").write_text("version: 1\n")  # a small one: `daily` takes lint a while
    return found


@pytest.fixture(scope="module")
def editor(place: Path) -> Iterator[Client]:
    client = Client(place, environment_of(place))
    yield client
    status, _told = client.end()  # it tells of messages that were none
    assert status == 0


@pytest.fixture
def policy(place: Path) -> Path:
    return place / "project/.gateway/policy.yaml"


def close(editor: Client, uri: str) -> None:
    editor.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert editor.diagnostics(uri, None) == []


def at(text: str) -> tuple[str, dict[str, int]]:
    """A text without its `|`, and where that stood, in UTF-16."""
    before, _, after = text.partition("|")
    line = before.rpartition("\n")[2]
    return before + after, {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def labels(editor: Client, path: Path, text: str) -> list[str]:
    whole, position = at(text)
    uri = editor.open(path, whole)
    found = editor.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": position})
    close(editor, uri)
    return [each["label"] for each in found["items"]]


def hover(editor: Client, path: Path, text: str) -> str:
    whole, position = at(text)
    uri = editor.open(path, whole)
    found = editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
    close(editor, uri)
    return found["contents"]["value"] if found else ""


def test_it_says_what_it_answers(editor: Client) -> None:
    able = editor.ready["capabilities"]
    assert (able["hoverProvider"], able["textDocumentSync"]["change"]) == (True, 1)
    assert editor.ready["serverInfo"]["name"] == "gateway policy lsp"


def test_what_is_wrong_is_told_while_it_is_typed_and_is_gone_once_it_is_right(editor: Client, policy: Path) -> None:
    uri = editor.open(policy, RULES.replace("deny: {command", "# 🙂\n  deny: {comand"))
    (wrong,) = editor.diagnostics(uri, 1)
    assert wrong == {
        "range": {"start": {"line": 4, "character": 9}, "end": {"line": 4, "character": 25}},
        "severity": 1,
        "code": "broken",
        "source": "gateway",
        "message": "rule must not have the key `comand`\nHelp: did you mean `command`?",
    }
    editor.change(uri, 2, RULES)
    assert editor.diagnostics(uri, 2) == []
    editor.change(uri, 3, RULES + "- id: less\n  deny: Bash(xyz a)\n")
    (found,) = editor.diagnostics(uri, 3)
    assert (found["code"], found["severity"], found["range"]["start"]) == ("implied", 2, {"line": 4, "character": 0})
    close(editor, uri)


def test_columns_count_as_editors_count(editor: Client, policy: Path) -> None:
    uri = editor.open(policy, 'version: 1\nrules:\n- {id: a, because: "🙂🙂", deny: {path: x, wrong: 1}}\n')
    (found,) = editor.diagnostics(uri, 1)
    assert found["range"]["start"] == {"line": 2, "character": len('- {id: a, because: "')} | {"character": 43}
    close(editor, uri)


BROKEN = {
    "a bracket that stays open": ("version: 1\nrules: [\n", "file must be valid YAML"),
    "half of a character": ("version: 1\nallow: [\ud83d]\n", "file must be UTF-8"),
    "nothing": ("", "policy must be a mapping"),
    "a tab": ("version: 1\n\tallow: []\n", "file must not contain tab characters"),
    "a line that others end elsewhere": ("version: 1\n# \u2028\nallow: x\n", "control or invisible"),
    "too much": ("version: 1\n#" + "x" * MAX_BYTES, "file must be"),
    "too deep": ("version: 1\nallow: " + "[" * 100_000, "nesting must be at most"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_text_that_cannot_be_read_gets_its_error_and_the_server_goes_on(
    editor: Client, policy: Path, name: str
) -> None:
    text, said = BROKEN[name]
    uri = editor.open(policy, text)
    found = editor.diagnostics(uri, 1)
    assert [each["severity"] for each in found] == [1]
    assert said in found[0]["message"]
    editor.change(uri, 2, RULES)
    assert editor.diagnostics(uri, 2) == []
    close(editor, uri)


def test_files_that_are_no_policy_are_left_alone(editor: Client, place: Path, policy: Path) -> None:
    others = [place / "project/compose.yaml", place / "project/.gateway/policy.d/x.tests.yaml", place / "policy.yaml"]
    for each in others:
        uri = editor.open(each, "services: [")
        where = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 3}}
        assert editor.ask("textDocument/hover", where) is None
        assert editor.ask("textDocument/completion", where)["items"] == []
        assert editor.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    uri = editor.open(policy, "version: 2\n")
    editor.diagnostics(uri, 1)
    assert [each for each in editor.held("textDocument/publishDiagnostics") if policy.as_uri() != each["uri"]] == []
    close(editor, uri)


def test_a_file_elsewhere_is_policy_if_its_first_line_names_the_schema(editor: Client, place: Path) -> None:
    uri = editor.open(place / "team.yaml", "# yaml-language-server: $schema=.schemas/policy.json\nversion: 2\n")
    (found,) = editor.diagnostics(uri, 1)
    assert found["range"]["start"]["line"] == 1
    close(editor, uri)


def test_what_is_not_saved_counts_for_the_other_texts_that_are_open(editor: Client, place: Path, policy: Path) -> None:
    first = editor.open(policy, RULES)
    assert editor.diagnostics(first, 1) == []
    second = editor.open(place / "project/.gateway/policy.d/b.yaml", RULES.replace("no-x", "less").replace("*", "a"))
    (found,) = editor.diagnostics(second, 1)
    assert (found["code"], str(policy) in found["message"]) == ("implied", True)
    editor.change(first, 2, RULES.replace("xyz", "other"))
    assert editor.diagnostics(second, 1) == []
    editor.change(first, 3, "version: [")
    (found,) = editor.diagnostics(second, 1)
    assert (found["severity"], found["code"], str(policy) in found["message"]) == (2, "other-file", True)
    for each in (first, second):
        close(editor, each)


COMPLETED = {
    "vers|": ["version"],
    "version: 1\nru|": ["rules"],
    "version: 1\nrules:\n- id: x\n  bec|\n  deny: Bash(x)\n": ["because"],
    "version: 1\nrules:\n- id: x\n  id|": [],
    "version: 1\nrules:\n- deny: {eff|": ["effect"],
    "version: 1\nrules:\n- deny: {effect: [read, wr|": ["write"],
    "version: 1\nrules:\n- deny:\n    effect:\n    - wr|": ["write"],
    "version: 1\nrules:\n- deny: {effect: push, force: |": ["true", "false"],
    "version: 1\nsettings:\n  mode: acc|": ["accept_edits"],
    "version: 1\nsettings:\n  levels: {destr|": [],
    "version: 1\nextends: [gua|": ["guard"],
    "version: 1\nallow:\n- WebF|": ["WebFetch"],
    "version: 1\nallow: [Bash(terrafo|": ["terraform", "terraform-docs", "terraformer"],
    "version: 1\nrules:\n- ask: {command: wge|": ["wget"],
    "version: 1\n# ru|": [],
    "version: 1\nrules:\n- because: 'as|": [],
    "version: 1\nrules: ]\nru|": [],
}


@pytest.mark.parametrize("text", COMPLETED)
def test_what_may_stand_there_is_offered(editor: Client, policy: Path, text: str) -> None:
    assert labels(editor, policy, text) == COMPLETED[text]


HOVERED = {
    "version: 1\nrules:\n- id: x\n  deny: {eff|ect: read}\n": "effect (predicate): ",
    "version: 1\nrules:\n- id: x\n  deny: {effect: re|ad}\n": "read (kind of effect): ",
    "version: 1\nse|ttings: {mode: plan}\n": "settings (key of a policy file): ",
    "version: 1\nallow:\n- Re|ad(src/**)\n": "Read(",
    "version: 1\nrules:\n- id: re|ad\n  deny: Bash(x)\n": "",
    "version: 1\n# settings| and rules\n": "",
    "version: 1\nrules:\n- because: read| it\n": "",
}


@pytest.mark.parametrize("text", HOVERED)
def test_a_word_is_explained_where_it_is_one_of_a_policy(editor: Client, policy: Path, text: str) -> None:
    found = hover(editor, policy, text)
    assert found.startswith(HOVERED[text])
    assert bool(found) == bool(HOVERED[text])


def test_a_message_that_is_none_ends_nothing(editor: Client, policy: Path) -> None:
    editor.send(b"\xff\xfe{")
    editor.send(b"[]")
    assert labels(editor, policy, "vers|") == ["version"]


def test_it_ends_with_the_editor(place: Path) -> None:
    assert Client(place, environment_of(place)).hang_up() == (0, b"")


def test_what_is_saved_is_held_against_the_calls_of_this_week(
    editor: Client, place: Path, policy: Path, gateway
) -> None:
    own = {"HOME": str(place), "XDG_CACHE_HOME": None, "XDG_STATE_HOME": None}
    for command in ("ls src", "pwd"):
        event = {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "session_id": "s",
            "tool_use_id": command,
            "cwd": str(place / "project"),
        }
        given = json.dumps({**event, "tool_input": {"command": command}}).encode()
        done = gateway("hook", "claude", input=given, cwd=place / "project", **own)
        assert done.returncode == 0, done
    text = "version: 1\nrules:\n- id: no-list\n  deny: Bash(ls *)\n"
    policy.write_text(text, encoding="utf-8")
    uri = editor.open(policy, text)
    editor.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
    refresh = editor.wait_for(lambda each: each.get("method") == "workspace/codeLens/refresh")
    editor.send(json.dumps({"jsonrpc": "2.0", "id": refresh["id"], "result": None}).encode())
    lenses = editor.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert {each["range"]["start"]["line"]: each["command"]["title"] for each in lenses} == {
        0: "would have changed 1 of 2 calls this week",
        2: "decides 1 call of this week differently",
    }
    shown = editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 3}})
    assert shown["contents"]["value"].startswith("decides 1 call of this week differently\n\nid (key of a rule): ")
    policy.unlink()
    close(editor, uri)
