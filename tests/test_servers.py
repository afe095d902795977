"""Tools of MCP servers that policy configures: the server is judged, recorded and confined, then asked."""

from __future__ import annotations

import os
import threading
from base64 import b64decode
from typing import Any

import pytest

from gateway.model.call import RawCall
from gateway.sandbox.bubblewrap import Bubblewrap
from gateway.sandbox.run import NEVER, Cancel
from gateway.tools.handling import Failure, Image

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
SERVER = """
import base64, json, os, sys

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
    if method == "tools/list":
        names = ("echo", "fail", "where", "tell", "fault", "painted", "picture", "end", "hang")
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
    if not (probe := Bubblewrap().probe()).works:
        pytest.skip(f"bubblewrap does not hold here: {probe.reason}")
    (ground.project / "server.py").write_text(SERVER, encoding="utf-8")
    ground.says(TOOLS, name="tools.yaml")
    ground.server = {"command": ["python3", "server.py"], "env": {"GIVEN": "env:SECRET_OF_OURS"}, "seconds": 20}
    return ground


def says(ground: Any, *rules: dict[str, Any], **server: Any) -> Any:
    program = {"id": "server", "allow": ["Bash(python3 server.py)", "Bash(true)"]}
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
    done = says(place, seconds=1).call(RawCall("mcp__docs__hang", {}))
    assert "did not answer within 1 s" in done.text


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
    from gateway.servers import Server

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
        with pytest.raises(Failure, match="the call was cancelled"):
            gateway.calls.services.servers.get("docs", one, cancel)
        may_go_on.set()
        first.join()
        assert _server(gateway, one).is_alive
    cancel.close()


def test_a_server_that_does_not_start_leaves_no_descriptor(place) -> None:
    gateway = says(place, {"id": "no", "deny": "Bash(python3 *)"})
    gateway.call(RawCall("Echo", {"word": "x"}))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(3):
        gateway.call(RawCall("Echo", {"word": "x"}))
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def _server(gateway: Any, session: Any) -> Any:
    return gateway.calls.services.servers.get("docs", session, NEVER)


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
