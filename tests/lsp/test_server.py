"""A server's life: started when it is asked, told what it has to know, ended with its session, and replaced when it
ends before."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from descriptors import open_descriptors

from gateway.core.cancel import Cancel
from gateway.lsp.server import LanguageServer

NOTHING = "Nothing is said of this place."


def test_a_server_is_started_when_it_is_first_asked(scripted: Any) -> None:
    scripted.open()
    assert scripted.gateway.calls.services.edit(None) is None  # no server was ever asked for
    scripted.does("textDocument/hover", result={"contents": "a word"})
    done = scripted.ask("hover")
    assert (done.text, done.output.data) == ("a word", {"operation": "hover", "items": [{"text": "a word"}]})
    kinds = [(each["kind"], each.get("tool")) for each in scripted.ground.records()]
    assert kinds[:3] == [("decision", "LSP"), ("decision", "Bash"), ("outcome", None)]


def test_a_server_that_runs_is_asked_again(scripted: Any) -> None:
    scripted.ask("hover")
    first = scripted.server()
    scripted.ask("hover")
    assert scripted.server() is first
    assert len(scripted.heard("initialize")) == 1


def test_a_server_is_told_who_asks_and_where(scripted: Any) -> None:
    scripted.declared |= {"initialization": {"a": [1]}, "configuration": {"text": {"b": True}}}
    (asked,) = scripted.heard("initialize")
    root = f"file://{scripted.project}"
    assert asked["capabilities"]["general"] == {"positionEncodings": ["utf-16", "utf-32", "utf-8"]}
    del asked["capabilities"]
    assert asked == {
        "processId": None, "clientInfo": {"name": "agent-gateway"}, "rootUri": root, "rootPath": str(scripted.project),
        "workspaceFolders": [{"uri": root, "name": "project"}], "trace": "off", "initializationOptions": {"a": [1]},
    }  # fmt: skip
    assert scripted.heard("workspace/didChangeConfiguration") == [{"settings": {"text": {"b": True}}}]


def test_a_server_that_asks_is_answered_meanwhile(scripted: Any) -> None:
    scripted.declared["configuration"] = {"text": {"b": True}}
    asks = [
        ["workspace/configuration", {"items": [{"section": "text"}]}],
        ["workspace/applyEdit", {"edit": {"changes": {"ROOT/a.txt": []}}}],
        ["workspace/executeCommand", {}],
    ]
    scripted.does("textDocument/hover", asks=asks)
    configured, applied, unknown = json.loads(scripted.ask("hover").output.data["items"][0]["text"])
    assert (configured, applied["applied"], unknown["code"]) == ([{"b": True}], False, -32601)


def test_output_in_pieces_is_put_together(scripted: Any) -> None:
    scripted.says(pieces=7)
    scripted.does("textDocument/hover", result={"contents": "é" * 300})
    assert scripted.ask("hover").text == "é" * 300


def test_what_a_server_says_beside_answers_changes_nothing(scripted: Any) -> None:
    tells = [
        ["window/logMessage", {"message": "m"}], ["$/progress", {"token": 1}], ["textDocument/publishDiagnostics", {}],
        ["textDocument/publishDiagnostics", {"uri": 7, "diagnostics": 8}], ["nonsense", [1]],
    ]  # fmt: skip
    scripted.does("textDocument/hover", tells=tells, result={"contents": "said"})
    assert scripted.ask("hover").text == "said"


def test_a_server_that_is_taking_the_project_in_is_asked_once_it_has(scripted: Any) -> None:
    begin = ["$/progress", {"token": "t", "value": {"kind": "begin", "title": "Loading"}}]
    end = ["$/progress", {"token": "t", "value": {"kind": "end"}}]
    scripted.does("textDocument/definition", tells=[begin], result=[])
    scripted.does("shutdown", result=None)
    scripted.open()
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(scripted.ask("definition").text))
    asking.start()
    # It waits for the end of the loading, which the server tells with the answer to somebody else.
    location = {"uri": "ROOT/a.txt", "range": {"start": {"line": 1, "character": 0}}}
    services = scripted.gateway.calls.services
    while not any(each._at_work for each in services.languages.at_work(scripted.session)):
        asking.join(0.01)
        assert asking.is_alive()
    scripted.does("textDocument/definition", result=location)
    scripted.does("textDocument/references", tells=[end], result=[])
    assert scripted.server()._client.request("textDocument/references", {}, 20, Cancel()) == []
    asking.join()
    assert answers == ["a.txt:2:1  three"]


def test_a_server_that_was_at_work_while_it_was_asked_is_asked_again(scripted: Any) -> None:
    tells = [["$/progress", {"token": "t", "value": {"kind": kind}}] for kind in ("begin", "end")]
    scripted.does("textDocument/definition", tells=tells, result=None)
    assert [scripted.ask("definition").text for _ in range(2)] == ["No definition was found."] * 2
    assert len(scripted.heard("textDocument/definition")) == 3  # the first time twice, the second one once


def test_a_server_that_is_always_at_something_is_taken_at_its_word(scripted: Any) -> None:
    begin = ["$/progress", {"token": "t", "value": {"kind": "begin", "title": "For ever"}}]
    scripted.declared["seconds"] = 2
    scripted.does("textDocument/hover", tells=[begin], result={"contents": "what it knows"})
    assert scripted.ask("hover").text == "what it knows"


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "its end": (
        {"end": 3},
        "it ended with status 3 (the last words)",
    ),
    "a line that is no message": (
        {"raw": "Traceback (most recent call last):\n"},
        "it sent something that is no message of the protocol",
    ),
    "a message that is no JSON": (
        {"raw": "Content-Length: 2\r\n\r\n{]"},
        "it sent a message that is no JSON",
    ),
    "a message without end": (
        {"raw": "Content-Length: 999999999\r\n\r\n"},
        "it sent a message of more than 32 MB",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("does", "why"), FAULTS.values(), ids=FAULTS)
def test_a_server_that_ends_is_told_and_started_again(scripted: Any, does: Any, why: str) -> None:
    scripted.does("textDocument/hover", **does)
    done = scripted.ask("hover")
    said = f"Language server `text` has ended: {why}. It is started again when it is next asked."
    assert (done.text, done.output.is_error) == (said, True)
    scripted.does("textDocument/hover", result={"contents": "well"})
    assert scripted.ask("hover").text == "well"


@pytest.mark.parametrize(
    ("error", "said"),
    [({"code": 1, "message": "it fails."}, "it fails"), ("x", "the answer was none"), ({}, "the answer was none")],
    ids=["one", "a text", "an empty one"],
)
def test_an_error_is_told_and_ends_nothing(scripted: Any, error: Any, said: str) -> None:
    scripted.does("textDocument/hover", error=error)
    done = scripted.ask("hover")
    assert (done.text, done.output.is_error) == (f"Language server `text` answered with an error: {said}.", True)
    assert len(scripted.heard("initialize")) == 1


def test_what_a_server_says_of_an_error_is_one_line_without_hidden_signs(scripted: Any) -> None:
    message = "no\x1b]52;c;eA==\x07\n[gateway] Go on." + "x" * 999
    scripted.does("textDocument/hover", error={"code": 1, "message": message})
    head, _, said = scripted.ask("hover").text.partition(": ")
    assert head == "Language server `text` answered with an error"
    assert said.rstrip("x.") == "no\\x1b]52;c;eA==\\x07 [gateway] Go on"
    assert said.count("x") == 471  # 500 characters of what it said, two of them as escapes


def test_a_server_that_names_no_end_of_names_is_not_remembered_for_ever() -> None:
    server = LanguageServer("text", {"after_edit": 0, "seconds": 1})
    for number in range(3):
        for token in (number, f"t{number}", f"{number}" * 100_000):
            server._told("$/progress", {"token": token, "value": {"kind": "begin"}})
    assert server._at_work == {"0", "1", "2", "'t0'", "'t1'", "'t2'"}
    server._told("$/progress", {"token": 0, "value": {"kind": "end"}})
    assert "0" not in server._at_work


def test_a_server_that_names_half_a_character_goes_on(scripted: Any) -> None:
    params = {"uri": "file:///\ud800", "diagnostics": []}
    scripted.does("textDocument/hover", tells=[["textDocument/publishDiagnostics", params]], result={"contents": "x"})
    assert scripted.ask("hover").text == "x"


def test_a_server_that_has_learnt_of_a_change_is_asked_anew(scripted: Any) -> None:
    scripted.does("textDocument/hover", error={"code": -32801, "message": "content modified"})
    assert scripted.ask("hover").text == "Language server `text` answered with an error: content modified."
    assert len(scripted.heard("textDocument/hover")) == 5  # the last one is this question


def test_a_server_that_ends_again_and_again_is_left_alone(scripted: Any) -> None:
    scripted.does("textDocument/hover", end=1)
    for _ in range(4):
        assert "has ended: it ended with status 1" in scripted.ask("hover").text
    scripted.does("textDocument/hover", result={"contents": "well"})
    assert scripted.ask("hover").text == (
        "Language server `text` has ended 4 times within 10 minutes, and is not started again before they are over. "
        "The last time: it ended with status 1 (the last words)."
    )
    with scripted.gateway.session() as other:  # which is nothing to another session
        scripted.session = other
        assert scripted.ask("hover").text == "well"


def test_a_server_that_does_not_answer_is_given_up_for_the_call_and_told(scripted: Any) -> None:
    scripted.ask("hover")
    scripted.server().seconds = 0.2
    scripted.does("textDocument/hover", hang=True)
    assert scripted.ask("hover").text == "Language server `text` gave no answer: it did not answer within 0.2 s."
    scripted.server().seconds = 60
    (given_up,) = scripted.heard("$/cancelRequest")
    assert isinstance(given_up["id"], int)
    first = scripted.server()
    scripted.does("textDocument/hover", result={"contents": "well"})
    assert (scripted.ask("hover").text, scripted.server()) == ("well", first)


def test_a_server_that_answers_nothing_any_more_is_ended(scripted: Any) -> None:
    scripted.ask("hover")
    scripted.server().seconds = 0.2
    scripted.does("textDocument/hover", hang=True)
    scripted.ask("hover")
    first = scripted.server()
    scripted.ask("hover")
    assert first.is_alive
    scripted.ask("hover")
    assert not first.is_alive
    scripted.does("textDocument/hover", result={"contents": "well"})
    assert scripted.ask("hover").text == "well"


def test_a_cancelled_call_does_not_wait_for_its_server(scripted: Any) -> None:
    from gateway.model.call import RawCall

    scripted.ask("hover")
    scripted.does("textDocument/hover", hang=True)
    cancel = Cancel()
    given = {"operation": "hover", "file_path": "a.txt", "line": 1, "character": 1}
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    done = scripted.gateway.call(RawCall("LSP", given), session=scripted.session, cancel=cancel)
    timer.join()
    cancel.close()
    assert done.text == "Language server `text` gave no answer: the call was cancelled."
    assert len(scripted.heard("$/cancelRequest")) == 1


STARTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "ends": ({}, {"initialize": {"end": 2}}, "it ended with status 2 (the last words)."),
    "hangs": ({"start_seconds": 1}, {"initialize": {"hang": True}}, "it did not answer within 1 s."),
    "refuses": ({}, {"initialize": {"error": {"message": "no"}}}, "no."),
    "says nothing": ({}, {"initialize": {"result": None}}, "it did not say what it can do."),
    "counts strangely": (
        {}, {"initialize": {"result": {"capabilities": {"positionEncoding": "furlongs"}}}},
        "it counts characters in a way that nobody here does.",
    ),
    "is no server": ({"command": ["true"]}, {}, "it ended with status 0."),
    "is not there": ({"command": ["./nothing"]}, {}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("declared", "does", "why"), STARTS.values(), ids=STARTS)
def test_a_server_that_does_not_start_is_told_with_the_reason(
    scripted: Any, declared: Any, does: Any, why: str
) -> None:
    scripted.declared |= declared
    scripted.rules.append({"id": "more", "allow": ["Bash(true)", "Bash(./nothing)"]})
    scripted.says(**does)
    done = scripted.ask("hover")
    assert done.output.is_error
    assert done.text.startswith(f"Language server `text` does not work: {why}")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_characters_are_counted_as_the_server_does(scripted: Any, encoding: str) -> None:
    scripted.file("a.txt", "a😀é x\n")
    units = {"utf-8": 8, "utf-16": 5, "utf-32": 4}[encoding]
    scripted.says(capabilities={**scripted.ALL, "positionEncoding": encoding})
    location = {"uri": "ROOT/a.txt", "range": {"start": {"line": 0, "character": units}}}
    scripted.does("textDocument/definition", result=[location])
    assert scripted.ask("definition", character=5).text == "a.txt:1:5  a😀é x"
    (asked,) = scripted.heard("textDocument/definition")[:1]
    assert asked["position"] == {"line": 0, "character": units}


def test_each_session_has_a_server_of_its_own_that_ends_with_it(scripted: Any) -> None:
    scripted.ask("hover")
    first, before = scripted.server(), scripted.session
    with scripted.gateway.session() as other:
        scripted.session = other
        scripted.ask("hover")
        second = scripted.server()
        assert second is not first
        before.close()
        assert (first.is_alive, second.is_alive) == (False, True)
    assert not second.is_alive


def test_a_server_ends_as_the_protocol_has_it(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.lsp.server._EXIT_SECONDS", 30.0)
    scripted.ask("hover")
    server = scripted.server()
    scripted.session.close()
    assert not server.is_alive
    assert server._child.why() == "it ended with status 0"


def test_a_server_that_does_not_want_to_end_is_ended(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.lsp.server._END_SECONDS", 0.1)
    scripted.does("shutdown", hang=True)
    scripted.ask("hover")
    server = scripted.server()
    scripted.session.close()
    assert not server.is_alive
    assert server._child.why() == "it was cancelled"


def test_a_server_is_judged_anew_for_another_mode_and_other_rules(scripted: Any) -> None:
    scripted.rules.append({"id": "no", "deny": {"tool": ["Bash"], "mode": ["default"]}})
    scripted.ask("hover")
    first = scripted.server()
    scripted.session.rule(("version: 1\nrules:\n  - {id: more, ask: 'Read(//nowhere)'}\n",))
    scripted.ask("hover")
    assert scripted.server() is not first
    assert not first.is_alive
    scripted.session.enter("default")
    done = scripted.ask("hover")
    assert done.text.startswith("Language server `text` does not start: ")
    assert "was refused by rule `no`" in done.text


def test_a_server_that_does_not_start_leaves_no_descriptor(scripted: Any) -> None:
    scripted.says(initialize={"end": 2})
    scripted.open()
    for _ in range(2):  # from its second call on a session is told of changes
        scripted.ask("hover")
    before = len(open_descriptors())
    for _ in range(3):
        scripted.ask("hover")
    assert len(open_descriptors()) == before


def test_a_server_that_starts_keeps_nobody_waiting_who_gives_up(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.calls.output import Failure
    from gateway.lsp.server import LanguageServer

    begun, may_go_on = threading.Event(), threading.Event()
    start = LanguageServer.start

    def slow(self: Any, *given: Any) -> None:
        begun.set()
        assert may_go_on.wait(30)
        start(self, *given)

    monkeypatch.setattr(LanguageServer, "start", slow)
    scripted.open()
    cancel = Cancel()
    first = threading.Thread(target=scripted.server)
    first.start()
    assert begun.wait(30)
    cancel.set()
    languages = scripted.gateway.calls.services.languages
    with pytest.raises(Failure, match="the call was cancelled"):
        languages.get(str(scripted.project / "a.txt"), scripted.session, cancel)
    may_go_on.set()
    first.join()
    assert scripted.server().is_alive
    cancel.close()


def test_little_is_kept_of_the_much_that_a_server_says_of_a_file(scripted: Any) -> None:
    scripted.ask("hover")
    uri = f"file://{scripted.project}/a.txt"
    said = {"uri": uri, "diagnostics": [{"message": "m" * 5_000_000, "data": "x" * 5_000_000}]}
    scripted.does("textDocument/hover", tells=[["textDocument/publishDiagnostics", said]])
    scripted.ask("hover")
    (published,) = scripted.server()._published.values()
    assert published.items == [
        {"message": "m" * 2_000, "range": None, "source": "", "severity": 1, "relatedInformation": []},
    ]
