"""The gateway's own tools for MCP clients over pipes, in both eras."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from patience import patience
from wired import ERAS, Clients, text_of

YES = {"action": "accept", "content": {"answer": "yes, once"}}


@pytest.fixture(scope="module")
def clients(places) -> Clients:
    """Clients in a place without a policy, of each era, for tests with a file of their own."""
    return Clients(places(confined=False), "serve")


def policy(place: Any, *rules: dict[str, Any], **settings: Any) -> None:
    place.ground.says({"rules": list(rules), "settings": settings})


WRITES = {"id": "w", "allow": "Edit(**)"}


def test_tools_are_those_that_the_policy_leaves_something_of(place, era: str) -> None:
    policy(place, {"id": "no", "deny": "Glob"})
    client = place.gateway("serve", era=era)
    tools = client.tools()
    assert {"Bash", "Read", "Write"} <= set(tools)
    assert "Glob" not in tools
    assert tools["Read"]["annotations"] == {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
    assert tools["Bash"]["annotations"]["destructiveHint"] is True
    assert all(each.get("outputSchema", {"type": "object"})["type"] == "object" for each in tools.values())
    refused = client.call("Glob", pattern="*")
    assert refused["isError"]
    assert "`no`" in text_of(refused)


def test_calls_run_as_the_policy_says(place, era: str) -> None:
    policy(place, {"id": "no", "deny": "Read(./secret)"})
    (place.project / "a").write_text("of a\n", encoding="utf-8")
    (place.project / "secret").write_text("hidden\n", encoding="utf-8")
    client = place.gateway("serve", era=era, capabilities={})
    assert "of a" in client.text("Read", file_path="a")
    for path in ("secret", "./x/../secret"):
        refused = client.call("Read", file_path=path)
        assert refused["isError"]
        assert "hidden" not in json.dumps(refused)
    assert "cannot ask anybody" in client.text("Write", file_path="b", content="x")
    assert not (place.project / "b").exists()


def test_what_a_file_is_read_before_it_is_written_is_kept_for_the_client(place, era: str) -> None:
    policy(place, WRITES)
    (place.project / "a").write_text("one\n", encoding="utf-8")
    client = place.gateway("serve", era=era)
    unread = client.call("Edit", file_path="a", old_string="one", new_string="two")
    assert unread["isError"]
    client.call("Read", file_path="a")
    assert not client.call("Edit", file_path="a", old_string="one", new_string="two")["isError"]
    assert (place.project / "a").read_text(encoding="utf-8") == "two\n"
    other = place.gateway("serve", era=era)
    assert other.call("Edit", file_path="a", old_string="two", new_string="three")["isError"]


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        (YES, True),
        ({"action": "accept", "content": {"answer": "no"}}, False),
        ({"action": "accept", "content": {"answer": "always"}}, False),
        ({"action": "accept", "content": {"answer": True}}, False),
        ({"action": "accept", "content": {}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel"}, False),
        ({"action": "ACCEPT", "content": {"answer": "yes, once"}}, False),
        ({}, False),
    ],
    ids=["yes", "no", "a scope that is not offered", "garbage in the form", "an empty form", "no form", "declined",
         "dismissed", "no action of the protocol", "nothing"],
)  # fmt: skip
@pytest.mark.parametrize("era", ERAS)
def test_only_a_clear_yes_lets_a_call_run(
    clients, era: str, answer: dict[str, Any], runs: bool, request: pytest.FixtureRequest
) -> None:
    place, client, name = clients.place, clients(era), request.node.name
    client.answers = lambda _m: {"result": answer}
    params = {"name": "Write", "arguments": {"file_path": name, "content": "x"}}
    result = client.ask("tools/call", params)
    if era == "stateless":
        again = {**params, "inputResponses": {"ask": answer}, "requestState": result["requestState"]}
        result = client.ask("tools/call", again)
    assert (place.project / name).exists() is runs
    assert result["isError"] is not runs


def test_an_error_in_place_of_an_answer_is_a_no(clients) -> None:
    client = clients()
    client.answers = lambda _m: {"error": {"code": -32601, "message": "no such method"}}
    assert client.call("Write", file_path="error", content="x")["isError"]
    assert not (clients.place.project / "error").exists()


def asked(client: Any, name: str = "b", **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    params = {"name": "Write", "arguments": {"file_path": name, "content": "x"}, **more}
    return params, client.ask("tools/call", params)


@pytest.mark.parametrize(
    "forged",
    [
        lambda _state: "gw1." + "0" * 48 + "." + "0" * 64,
        lambda state: state[:-1] + ("0" if state[-1] != "0" else "1"),
        lambda state: state.replace("gw1.", "gw2."),
        lambda _state: "",
        lambda state: {"state": state},
        lambda _state: 7,
        lambda state: state + "\u00e9",
    ],
    ids=["made up", "changed", "of another kind", "empty", "an object", "a number", "no ASCII"],
)
def test_a_state_that_was_not_made_here_counts_for_nothing(
    clients, forged: Any, request: pytest.FixtureRequest
) -> None:
    place, client, name = clients.place, clients("stateless"), request.node.name
    params, first = asked(client, name)
    again = {**params, "inputResponses": {"ask": YES}, "requestState": forged(first["requestState"])}
    assert client.error("tools/call", again)["code"] == -32602
    assert not (place.project / name).exists()


def test_a_state_is_good_for_its_own_call_once(place) -> None:
    policy(place, {"id": "q", "ask": {"effect": "write"}})
    client = place.gateway("serve", era="stateless")
    params, first = asked(client)
    answered = {"inputResponses": {"ask": YES}, "requestState": first["requestState"]}
    other = {"name": "Write", "arguments": {"file_path": "c", "content": "x"}, **answered}
    assert client.error("tools/call", other)["code"] == -32602
    assert not client.ask("tools/call", {**params, **answered})["isError"]
    (place.project / "b").unlink()
    assert client.error("tools/call", {**params, **answered})["code"] == -32602
    assert not (place.project / "b").exists()


def test_a_state_of_another_process_counts_for_nothing(clients) -> None:
    one, two = clients("stateless"), clients.place.gateway("serve", era="stateless")
    params, first = asked(one, "another")
    again = {**params, "inputResponses": {"ask": YES}, "requestState": first["requestState"]}
    assert two.error("tools/call", again)["code"] == -32602


def test_answers_that_nobody_asked_for_are_no_answers(clients) -> None:
    _params, result = asked(clients("stateless"), "unasked", inputResponses={"ask": YES})
    assert result["resultType"] == "input_required"
    assert not (clients.place.project / "unasked").exists()


def test_what_was_answered_for_the_session_holds_in_it(place) -> None:
    client = place.gateway("serve")
    client.answers = lambda _m: {"result": {"action": "accept", "content": {"answer": "yes, for this session"}}}
    for content in ("x", "y"):
        client.call("Read", file_path="b")
        assert not client.call("Write", file_path="b", content=content)["isError"]
    assert len(client.asked) == 1


@pytest.mark.parametrize(
    ("setting", "lock", "runs"),
    [
        ("all", True, True),
        ("unlocked", True, False),
        ("unlocked", False, True),
        ("none", False, False),
        ("", True, False),
    ],
)
def test_policy_says_which_questions_a_client_answers(place, setting: str, lock: bool, runs: bool) -> None:
    rule = {"id": "q", "ask": {"effect": "write"}, **({"lock": True} if lock else {})}
    policy(place, rule, **({"mcp": {"elicited": setting}} if setting else {}))
    client = place.gateway("serve")
    client.answers = lambda _m: {"result": YES}
    client.call("Write", file_path="b", content="x")
    assert (place.project / "b").exists() is runs


def test_nobody_is_asked_where_the_policy_names_other_approvers(place) -> None:
    policy(place, approvers=["console"])
    client = place.gateway("serve")
    client.answers = lambda _m: {"result": YES}
    assert "policy lets only console be asked" in client.text("Write", file_path="b", content="x")
    assert client.asked == []


def test_a_start_may_ask_nobody(place, era: str) -> None:
    client = place.gateway("serve", "--no-elicitation", era=era)
    assert "policy takes no answer" in client.text("Write", file_path="b", content="x")


def test_a_command_that_is_cancelled_has_ended_with_all_its_processes(confined, era: str) -> None:
    policy(confined, {"id": "b", "allow": "Bash"})
    client = confined.gateway("serve", era=era)
    mark = confined.project / "mark"
    command = f"(while :; do date +%N > {mark}; sleep 0.05; done) & wait"
    policy(confined, {"id": "b", "allow": ["Bash", "Edit(**)"]})
    number = client.start("tools/call", {"name": "Bash", "arguments": {"command": command}}, progressToken=1)
    client.until(lambda: mark.exists() or time.sleep(0.02))
    client.write({"method": "notifications/cancelled", "params": {"requestId": number}})
    assert "after" in client.text("Bash", command="echo after")  # it runs alone, so the other one has ended
    seen = mark.read_text(encoding="utf-8")
    client.call("Bash", command="sleep 0.3")
    assert mark.read_text(encoding="utf-8") == seen


def test_progress_is_told_to_who_asked_for_it(confined, era: str) -> None:
    policy(confined, {"id": "b", "allow": "Bash"})
    client = confined.gateway("serve", era=era)
    command = "for i in 1 2 3; do echo line $i; sleep 0.2; done"
    result = client.ask("tools/call", {"name": "Bash", "arguments": {"command": command}}, progressToken="p")
    assert "line 3" in text_of(result)
    assert "structuredContent" not in result  # for some clients it would take the place of the text
    told = [each["params"] for each in client.notes if each["method"] == "notifications/progress"]
    assert told
    assert {each["progressToken"] for each in told} == {"p"}
    assert "line 1" in "".join(each["message"] for each in told)


def test_the_folder_of_a_session_stays(confined, era: str) -> None:
    policy(confined, {"id": "b", "allow": "Bash"})
    (confined.project / "sub").mkdir()
    client = confined.gateway("serve", era=era)
    client.call("Bash", command="cd sub")
    assert client.text("Bash", command="pwd").splitlines()[0] == str(confined.project / "sub")


def test_many_calls_at_once_each_get_their_own_answer(clients, era: str) -> None:
    client = clients(era)
    for number in range(50):
        (clients.place.project / f"f{number}").write_text(f"content {number}.\n", encoding="utf-8")
    numbers = [client.start("tools/call", {"name": "Read", "arguments": {"file_path": f"f{n}"}}) for n in range(50)]
    for n, number in enumerate(numbers):
        assert f"content {n}." in text_of(client.answer(number)["result"])


def test_garbage_from_the_client_ends_nothing(place) -> None:
    client = place.gateway("serve")
    assert client.process.stdin is not None
    client.process.stdin.write(b"no JSON\n[]\n7\n\n{}\n" + b"[" * 100_000 + b"\n\xff\xfe\n")
    client.write({"id": 5.5, "method": "ping"})
    client.write({"id": "x", "method": "tools/call", "params": [1]})
    client.write({"id": "y", "method": "tools/call", "params": {"name": 7}})
    client.write({"id": "z", "method": "tools/call", "params": {"name": "Read", "arguments": "x"}})
    for name in ("x", "y", "z"):
        client._waiting.setdefault(name, __import__("queue").Queue())
        assert client._waiting[name].get(timeout=patience(20))["error"]["code"] == -32602
    assert client.ask("ping") == {}
    assert client.error("nosuch/method")["code"] == -32601


def test_each_version_with_a_handshake_is_spoken(place) -> None:
    client = place.gateway("serve")
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        found = client.ask(
            "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        )
        assert found["protocolVersion"] == version


def test_a_connection_stays_in_the_era_that_it_was_opened_in(clients) -> None:
    stateless = clients("stateless")
    assert stateless.opened["supportedVersions"] == ["2026-07-28"]
    assert stateless.error("initialize", {"protocolVersion": "2025-11-25"})["code"] == -32022
    shaken = clients.place.gateway("serve")
    shaken.era = "stateless"
    assert shaken.error("tools/list")["code"] == -32600


def test_nothing_is_answered_before_the_handshake(clients) -> None:
    assert clients("stateless").tools()
    other = clients.place.gateway("serve", era="stateless")
    other.era = "handshake"
    assert other.error("tools/list")["code"] == -32602  # no envelope


def test_a_broken_policy_lets_nothing_run(place) -> None:
    (place.project / "a").write_text("x\n", encoding="utf-8")
    client = place.gateway("serve")
    assert "x" in client.text("Read", file_path="a")
    place.ground.says("version: 1\nrules: [{allow: nonsense(}]\n")
    client.until(
        lambda: "error" in client.answer(client.start("tools/call", {"name": "Read", "arguments": {"file_path": "a"}}))
    )
