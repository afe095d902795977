"""Tools of MCP servers that policy configures: the server is judged, recorded and confined, then asked."""

from __future__ import annotations

import json
import os
import threading
from base64 import b64decode
from typing import Any

import pytest
from descriptors import open_descriptors
from patience import patience

from gateway.approval.callback import Callback
from gateway.calls.output import Failure, Image
from gateway.calls.session import Session
from gateway.core.cancel import NEVER, Cancel
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
SERVER = """
import base64, json, os, sys, time

def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "test", "version": "1"}}
    if method == "tools/call":
        name, given = params["name"], params["arguments"]
        if name == "echo":
            return {"content": [{"type": "text", "text": json.dumps(given)}], "structuredContent": given}
        if name == "fail":
            return {"content": [{"type": "text", "text": "it does not work"}], "isError": True}
        if name == "where":
            try:
                open("made", "w").close()
                wrote = "wrote"
            except OSError as error:
                wrote = type(error).__name__
            seen = os.environ.get("GIVEN", "") + "," + os.environ.get("NOT_GIVEN", "")
            return {"content": [{"type": "text", "text": wrote + " " + seen}]}
        if name == "tell":
            secret = os.environ["GIVEN"]
            said = {"content": [{"type": "text", "text": "it is " + json.dumps(secret)}]}
            return said | {"structuredContent": {secret: [secret], "n": 1}}
        if name == "fault":
            raise ValueError(os.environ["GIVEN"])
        if name == "painted":
            data = base64.b64encode(base64.b64decode(PICTURE) + os.environ["GIVEN"].encode()).decode()
            return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
        if name == "picture":
            return {"content": [{"type": "image", **each} for each in given["pictures"]]}
        if name == "end":
            print("token is", os.environ["GIVEN"], file=sys.stderr, flush=True)
            sys.exit(3)
        if name == "hang":
            return None
        if name == "wait":
            while not os.path.exists("go"):
                time.sleep(0.01)
            return {"content": [{"type": "text", "text": "waited, " + os.environ["GIVEN"]}]}
        if name == "reads":
            try:
                return {"content": [{"type": "text", "text": open("notes.txt").read()}]}
            except OSError as error:
                return {"content": [{"type": "text", "text": type(error).__name__}]}
    if method == "tools/list":
        names = ("echo", "fail", "where", "tell", "fault", "painted", "picture", "end", "hang", "wait",
                 "reads")
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    if method == "resources/list":
        return {"resources": [{"uri": "docs://a", "name": "a", "description": "the first", "mimeType": "text/plain"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "text of " + params["uri"]}]}
    return {}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        try:
            result = {"result": answer(message)}
        except ValueError as error:
            result = {"error": {"code": -32000, "message": f"no: {error}"}}
        if result != {"result": None}:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **result}), flush=True)
""".replace("PICTURE", repr(PICTURE))
TOOLS = """\
version: 1
tools:
  Echo:
    summary: Echo.
    description: Echoes.
    input: {properties: {word: {type: string}}, required: [word]}
    handler: {mcp: {server: docs, tool: echo}}
    examples: [{call: {}, complaint: [$.word]}]
"""


@pytest.fixture
def place(ground) -> Any:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    (ground.project / "server.py").write_text(SERVER, encoding="utf-8")
    ground.says(TOOLS, name="tools.yaml")
    ground.server = {"command": ["python3", "-S", "server.py"], "env": {"GIVEN": "env:SECRET_OF_OURS"}, "seconds": 20}
    return ground


def says(ground: Any, *rules: dict[str, Any], **server: Any) -> Any:
    program = {"id": "server", "allow": ["Bash(python3 -S server.py)", "Bash(true)"]}
    tools = {"id": "tools", "allow": {"tool": ["Echo", "mcp__docs__*", "ReadMcpResource"]}}
    given = {"servers": {"docs": {**ground.server, **server}}}
    ground.says({"settings": given, "rules": [program, tools, *rules]})
    return ground.open(environment={"PATH": os.environ["PATH"], "SECRET_OF_OURS": "s3cr3t", "NOT_GIVEN": "x"})


def test_a_tool_of_a_server_is_called(place) -> None:
    gateway = says(place)
    done = gateway.call(RawCall("Echo", {"word": "x"}))
    assert (done.text, done.output.data, done.output.is_error) == ('{"word": "x"}', {"word": "x"}, False)
    again = gateway.call(RawCall("mcp__docs__echo", {"any": [1, {"b": None}]}))
    assert again.output.data == {"any": [1, {"b": None}]}
    kinds = [(each["kind"], each.get("tool")) for each in place.records()]
    assert kinds[:3] == [("decision", "Echo"), ("decision", "Bash"), ("outcome", None)]


def test_what_a_server_says_of_an_error_is_one(place) -> None:
    done = says(place).call(RawCall("mcp__docs__fail", {}))
    assert (done.text, done.output.is_error) == ("it does not work", True)


def test_a_picture_is_one_if_it_can_be_looked_at(place) -> None:
    pictures = [
        {"data": PICTURE, "mimeType": "image/png"},
        {"data": "AAEC", "mimeType": "image/png"},
        {"data": PICTURE, "mimeType": "image/jpeg"},
        {"data": PICTURE, "mimeType": "image/tiff"},
        {"data": "no base64", "mimeType": "image/png"},
    ]
    first, *others = says(place).call(RawCall("mcp__docs__picture", {"pictures": pictures})).output.blocks
    assert first == Image("image/png", b64decode(PICTURE))
    assert [each.text for each in others] == [  # type: ignore[union-attr]
        "(The picture is a damaged PNG image and cannot be shown.)",
        "(The picture is a damaged JPEG image and cannot be shown.)",
        "(67 bytes of image/tiff.)",
        "(A picture of type image/png that cannot be read.)",
    ]


def test_a_server_is_confined_and_gets_the_variables_that_policy_names(place) -> None:
    done = says(place).call(RawCall("mcp__docs__where", {}))
    assert done.text == "OSError [secret],"
    assert not (place.project / "made").exists()


def test_resources_are_listed_and_read(place) -> None:
    gateway = says(place)
    assert gateway.call(RawCall("ListMcpResources", {})).text == "docs docs://a (text/plain): the first"
    assert gateway.call(RawCall("ReadMcpResource", {"server": "docs", "uri": "docs://a"})).text == "text of docs://a"


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"id": "no", "deny": "Bash(python3 *)"}, "was refused by rule `no`"),
        ({"id": "q", "ask": "Bash(python3 *)", "lock": True}, "There is nobody to ask"),
    ],
    ids=["denied", "asked about with nobody there"],
)
def test_a_server_that_policy_does_not_allow_does_not_start(place, rule: dict[str, Any], why: str) -> None:
    done = says(place, rule).call(RawCall("Echo", {"word": "x"}))
    assert done.output.is_error
    assert done.text.startswith("MCP server `docs` does not start: ")
    assert why in done.text


def test_a_server_that_is_not_configured_is_named(place) -> None:
    place.says({"rules": [{"id": "t", "allow": "mcp__other__x"}]})
    done = place.open().call(RawCall("mcp__other__x", {}))
    assert done.text == "There is no MCP server `other`. Configured are: none."


def test_a_server_that_ends_is_told_and_started_again(place) -> None:
    gateway = says(place)
    done = gateway.call(RawCall("mcp__docs__end", {}))
    assert done.output.is_error
    assert "MCP server `docs`" in done.text
    assert gateway.call(RawCall("Echo", {"word": "x"})).text == '{"word": "x"}'


def test_a_server_that_does_not_answer_is_waited_for_as_long_as_policy_says(place) -> None:
    seconds = round(patience(1))  # it must also have been able to start in that time
    done = says(place, seconds=seconds).call(RawCall("mcp__docs__hang", {}))
    assert f"did not answer within {seconds} s" in done.text


def test_a_cancelled_call_does_not_wait_for_its_server(place) -> None:
    gateway, cancel = says(place), Cancel()
    assert gateway.call(RawCall("Echo", {"word": "x"})).ran
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    done = gateway.call(RawCall("mcp__docs__hang", {}), cancel=cancel)
    timer.join()
    cancel.close()
    assert "the call was cancelled" in done.text


def test_a_program_that_is_no_server_does_not_work(place) -> None:
    place.server["command"] = ["true"]
    done = says(place).call(RawCall("Echo", {"word": "x"}))
    assert done.output.is_error
    assert "MCP server `docs` does not work" in done.text


def test_a_variable_that_is_not_set_is_named(place) -> None:
    done = says(place, env={"A": "env:NOT_SET_ANYWHERE"}).call(RawCall("Echo", {"word": "x"}))
    assert "needs the variable NOT_SET_ANYWHERE" in done.text


def test_a_project_does_not_say_which_secrets_a_server_gets(ground) -> None:
    ground.says({"settings": {"servers": {"a": {"command": ["x"], "env": {"A": "env:B"}}}}}, layer="project")
    with pytest.raises(Exception, match="must not say which variables a server gets"):
        ground.open()
    ground.says({"settings": {"servers": {"a": {"command": ["x"], "env": {"A": "b"}}}}}, layer="project")
    assert any("servers" in each for each in ground.open().loaded.skipped)


SAYS = {
    "in a result": ("tell", 'it is "[secret]"'),
    "in an error": ("fault", "MCP server `docs` answered with an error: no: [secret]."),
    "in a picture": ("painted", "(A picture of type image/png, which is not shown because a secret lies in it.)"),
}


@pytest.mark.parametrize("secret", [True, False], ids=["given as a variable", "written down"])
@pytest.mark.parametrize(("tool", "text"), SAYS.values(), ids=SAYS)
def test_a_secret_that_a_server_says_is_hidden(place, tool: str, text: str, secret: bool) -> None:
    gateway = says(place) if secret else says(place, env={"GIVEN": "s3cr3t"})
    done = gateway.call(RawCall(f"mcp__docs__{tool}", {}))
    gateway.close()
    if secret:
        assert done.text == text
        assert tool != "tell" or done.output.data == {"[secret]": ["[secret]"], "n": 1}
        assert "s3cr3t" not in repr(done) + repr(place.records())
    else:
        assert done.text == ("" if tool == "painted" else text.replace("[secret]", "s3cr3t"))


def test_a_secret_is_hidden_in_the_last_words_of_a_server(place) -> None:
    gateway = says(place)
    done = gateway.call(RawCall("mcp__docs__end", {}))
    gateway.close()
    assert done.output.is_error
    assert "s3cr3t" not in repr(done) + repr(place.records())
    place.server["command"] = ["sh", "-c", 'echo "token is $GIVEN" >&2; exit 3']
    place.says(
        {"rules": [{"id": "s", "allow": ["Bash", {"tool": ["Echo"]}]}], "settings": {"servers": {"docs": place.server}}}
    )
    gateway = place.open(environment={"PATH": os.environ["PATH"], "SECRET_OF_OURS": "s3cr3t"})
    done = gateway.call(RawCall("Echo", {"word": "x"}))
    gateway.close()
    assert done.text == "MCP server `docs` does not work: it ended with status 3 (token is [secret])."
    assert "s3cr3t" not in repr(done) + repr(place.records())


def test_a_variable_that_every_command_has_is_no_secret(place) -> None:
    says(place, env={"GIVEN": "env:LANG"})
    done = place.open(environment={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}).call(RawCall("mcp__docs__where", {}))
    assert done.text == "OSError C.UTF-8,"


def test_each_session_has_a_server_of_its_own_that_ends_with_it(place) -> None:
    gateway = says(place)
    with gateway.session() as one, gateway.session() as other:
        first = _server(gateway, one)
        assert _server(gateway, one) is first
        second = _server(gateway, other)
        assert second is not first
        one.close()
        assert (first.is_alive, second.is_alive) == (False, True)
    assert not second.is_alive


@pytest.mark.parametrize("modes", [["accept_edits"], ["plan"]])
def test_a_server_that_runs_is_judged_anew_for_another_mode(place, modes: list[str]) -> None:
    gateway = says(place, {"id": "no", "deny": {"tool": ["Bash"], "mode": modes}})
    with gateway.session() as session:
        assert gateway.call(RawCall("mcp__docs__where", {}), session=session).text.startswith("OSError")
        session.enter("accept_edits")
        done = gateway.call(RawCall("mcp__docs__where", {}), session=session)
        assert ("was refused by rule `no`" in done.text) is (modes == ["accept_edits"])
        assert done.output.is_error is (modes == ["accept_edits"])


def test_a_server_that_starts_keeps_nobody_waiting_for_another(place, monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.mcp.blocking import Server

    begun, may_go_on = threading.Event(), threading.Event()
    start = Server.start

    def slow(self: Server, services: Any, session: Any, cancel: Any) -> None:
        if session is one:
            begun.set()
            assert may_go_on.wait(30)
        start(self, services, session, cancel)

    monkeypatch.setattr(Server, "start", slow)
    gateway, cancel = says(place), Cancel()
    with gateway.session() as one, gateway.session() as other:
        first = threading.Thread(target=lambda: _server(gateway, one))
        first.start()
        assert begun.wait(30)
        assert _server(gateway, other).is_alive
        cancel.set()
        lent = gateway.calls.services.servers.lent
        with pytest.raises(Failure, match="the call was cancelled"), lent("docs", one, cancel):
            pytest.fail("it was given")
        may_go_on.set()
        first.join()
        assert _server(gateway, one).is_alive
    cancel.close()


def test_a_server_that_does_not_start_leaves_no_descriptor(place) -> None:
    gateway = says(place, {"id": "no", "deny": "Bash(python3 *)"})
    gateway.call(RawCall("Echo", {"word": "x"}))
    before = len(open_descriptors())
    for _ in range(3):
        gateway.call(RawCall("Echo", {"word": "x"}))
    assert len(open_descriptors()) == before


# ------------------------------------------------------------------------------------------ whose circumstances count

MINE = {"id": "mine", "deny": "Bash(python3 *)"}
CIRCUMSTANCES = {
    "a rule of its own denies the command": ({"rules": [MINE]}, {}, "was refused by rule `mine`"),
    "a rule of its own asks": ({"rules": [{"id": "mine", "ask": "Bash(python3 *)"}]}, {}, "There is nobody to ask"),
    "the policy denies it to this agent": (
        {}, {"id": "no", "deny": {"tool": "Bash", "agent": "reviewer"}}, "was refused by rule `no`",
    ),
    "the policy denies it so deep": (
        {}, {"id": "no", "deny": {"tool": "Bash", "depth": {"ge": 2}}}, "was refused by rule `no`",
    ),
}  # fmt: skip


def text_of(*rules: dict[str, Any]) -> tuple[str, ...]:
    return (json.dumps({"version": 1, "rules": rules}),)


def session_of(gateway: Any, **what: Any) -> Session:
    return Session(gateway.context.replace(**what))


@pytest.mark.parametrize(("own", "rule", "why"), CIRCUMSTANCES.values(), ids=CIRCUMSTANCES)
def test_a_start_is_judged_in_the_circumstances_of_its_session(
    place, own: dict[str, Any], rule: dict[str, Any], why: str
) -> None:
    gateway = says(place, *([rule] if rule else []))
    rules = text_of(*own["rules"]) if own else ()
    with session_of(gateway, agent="reviewer", depth=2, rules=rules) as session:
        done = gateway.call(RawCall("Echo", {"word": "x"}), session=session)
        assert done.text.startswith("MCP server `docs` does not start: ")
        assert why in done.text
    with session_of(gateway, agent="writer", depth=1) as twin:
        assert gateway.call(RawCall("Echo", {"word": "x"}), session=twin).text == '{"word": "x"}'


def test_a_server_is_confined_by_the_rules_of_its_session(place) -> None:
    (place.project / "notes.txt").write_text("notes", encoding="utf-8")
    gateway = says(place)
    for rules, text in (((), "notes"), (text_of({"id": "mine", "deny": "Read(notes.txt)"}), "PermissionError")):
        with session_of(gateway, rules=rules) as session:
            assert gateway.call(RawCall("mcp__docs__reads", {}), session=session).text == text


def test_a_server_that_was_started_before_a_session_has_a_rule_does_not_serve_it_any_more(place) -> None:
    gateway = says(place)
    with gateway.session() as session:
        first = _server(gateway, session)
        session.rule(text_of(MINE))
        done = gateway.call(RawCall("Echo", {"word": "x"}), session=session)
        assert "was refused by rule `mine`" in done.text
        assert not first.is_alive


def test_what_a_skill_narrows_for_a_task_holds_for_calls_and_ends_no_server(place) -> None:
    gateway = says(place)
    narrowed = text_of({"id": "narrow", "deny": {"tool": "*"}, "except": ["mcp__docs__echo"]})
    with gateway.session() as session:
        first = _server(gateway, session)
        session.narrows_for_now(narrowed)
        session.rule(narrowed)
        assert gateway.call(RawCall("mcp__docs__echo", {"a": 1}), session=session).text == '{"a": 1}'
        assert not gateway.call(RawCall("mcp__docs__where", {}), session=session).ran
        assert _server(gateway, session) is first


CHANGES = {
    "its command is denied": (({"id": "no", "deny": "Bash(python3 *)"},), "", "was refused by rule `no`"),
    "its command is asked about": (({"id": "no", "ask": "Bash(python3 *)"},), "", "There is nobody to ask"),
    "a path is denied": (({"id": "no", "deny": "Read(notes.txt)"},), "another", "PermissionError"),
    "something else is allowed": (({"id": "more", "allow": "Bash(make)"},), "the same", "notes"),
    "something else is denied": (({"id": "less", "deny": "Bash(make)"},), "the same", "notes"),
}


@pytest.mark.parametrize(("rules", "serves", "text"), CHANGES.values(), ids=CHANGES)
def test_a_server_that_runs_is_judged_anew_when_the_policy_changes(
    place, rules: tuple[dict[str, Any], ...], serves: str, text: str
) -> None:
    (place.project / "notes.txt").write_text("notes", encoding="utf-8")
    gateway = says(place)
    with gateway.session() as session:
        first = _server(gateway, session)
        assert gateway.call(RawCall("mcp__docs__reads", {}), session=session).text == "notes"
        says(place, *rules)
        gateway.calls.services.look_again()
        done = gateway.call(RawCall("mcp__docs__reads", {}), session=session)
        assert text in done.text
        assert first.is_alive is (serves == "the same")
        if serves:
            assert (_server(gateway, session) is first) is (serves == "the same")


def test_a_server_that_nobody_calls_ends_as_well_when_the_policy_denies_it(place) -> None:
    gateway = says(place)
    with gateway.session() as session:
        first = _server(gateway, session)
        says(place, {"id": "no", "deny": "Bash(python3 *)"})
        gateway.calls.services.look_again()
        gateway.call(RawCall("Read", {"file_path": "server.py"}))
        while first.is_alive:
            NEVER.wait(0.02)


def test_a_call_that_runs_when_its_server_is_denied_is_answered_and_then_it_ends(place) -> None:
    gateway = says(place)
    with gateway.session() as session:
        first = _server(gateway, session)
        found: list[Any] = []
        calling = threading.Thread(
            target=lambda: found.append(gateway.call(RawCall("mcp__docs__wait", {}), session=session))
        )
        calling.start()
        while not first.is_used:
            NEVER.wait(0.02)
        session.rule(text_of(MINE))
        servers = gateway.calls.services.servers
        servers.look_over(session)
        assert (first.is_alive, servers.running("docs", session)) == (True, None)
        (place.project / "go").write_text("", encoding="utf-8")
        calling.join()
        assert (found[0].text, first.is_alive) == ("waited, [secret]", False)


def test_a_server_that_is_denied_between_two_requests_of_a_call_answers_both(place) -> None:
    gateway = says(place)
    servers = gateway.calls.services.servers
    with gateway.session() as session:
        with servers.lent("docs", session, NEVER) as first:
            first.look_at_tools(NEVER)
            session.rule(text_of(MINE))
            servers.look_over(session)
            assert (first.is_alive, servers.running("docs", session), first.lend()) == (True, None, False)
            assert first.ask("resources/read", {"uri": "docs://a"}, NEVER)["contents"][0]["text"] == "text of docs://a"
        assert not first.is_alive


def test_a_session_that_ends_ends_servers_that_were_only_waiting_for_an_answer(place) -> None:
    gateway, cancel = says(place), Cancel()
    with gateway.session() as session:
        first = _server(gateway, session)
        calling = threading.Thread(
            target=lambda: gateway.call(RawCall("mcp__docs__hang", {}), session=session, cancel=cancel)
        )
        calling.start()
        while not first.is_used:
            NEVER.wait(0.02)
        session.rule(text_of(MINE))
        gateway.calls.services.servers.look_over(session)
        assert first.is_alive
    assert not first.is_alive
    calling.join()
    cancel.close()


def test_a_person_who_let_a_server_start_is_asked_again_only_where_it_would_run_otherwise(place) -> None:
    asked: list[str] = []

    def answers(question: Any) -> bool:
        asked.append(question.verdict.reason.rule.id)
        return True

    ask = {"id": "ask", "ask": "Bash(python3 *)"}
    says(place, ask)
    environment = {"PATH": os.environ["PATH"], "SECRET_OF_OURS": "s3cr3t"}
    gateway = place.open(environment=environment, approver=Callback(answers))
    with gateway.session() as session:
        for rules in ((ask,), (ask, {"id": "less", "deny": "Bash(make)"}), ({**ask, "lock": True},)):
            says(place, *rules)
            gateway.calls.services.look_again()
            assert gateway.call(RawCall("Echo", {"word": "x"}), session=session).text == '{"word": "x"}'
    assert asked == ["ask", "ask"]


def test_a_broken_policy_ends_no_server(place) -> None:
    gateway = says(place)
    with gateway.session() as session:
        first = _server(gateway, session)
        place.says("version: 1\nrules: [")
        gateway.calls.services.look_again()
        assert not gateway.call(RawCall("Echo", {"word": "x"}), session=session).ran
        gateway.calls.services.servers.look_over(session)
        assert gateway.calls.services.servers.running("docs", session) is first


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError("it has ended"), OSError(5, "x")], ids=repr)
def test_whatever_goes_wrong_at_the_end_of_a_server_is_told_as_its_end(place, error: Exception) -> None:
    gateway = says(place)
    with gateway.session() as session:
        server = _server(gateway, session)

        async def fails() -> None:
            raise error

        server._upstream.settled = fails
        with pytest.raises(Failure, match="MCP server `docs` gave no answer: "):
            server.ask("tools/call", {"name": "end", "arguments": {}}, NEVER)
        assert not server.is_alive


def _server(gateway: Any, session: Any) -> Any:
    with gateway.calls.services.servers.lent("docs", session, NEVER) as found:
        return found


@pytest.mark.parametrize(
    ("tool", "fields", "expected"),
    [
        ("ListMcpResources", {"server": "far"}, "deny"),
        ("ReadMcpResource", {"server": "far", "uri": "docs://a"}, "deny"),
        ("ReadMcpResource", {"server": "near", "uri": "docs://a"}, "allow"),
        ("ListMcpResources", {}, "deny"),  # all of them
    ],
)
def test_a_rule_on_the_host_of_a_server_holds_for_its_resources(
    ground: Any, tool: str, fields: dict[str, Any], expected: str
) -> None:
    ground.says(
        {
            "rules": [
                {"id": "host", "deny": {"effect": "connect", "host": "far.example"}},
                {"id": "all", "allow": [{"tool": "ListMcpResources"}, {"tool": "ReadMcpResource"}]},
            ],
            "settings": {"servers": {"far": {"url": "https://far.example/mcp"}, "near": {"command": ["near"]}}},
        }
    )
    assert ground.open().check(RawCall(tool, fields)).decision.word == expected
