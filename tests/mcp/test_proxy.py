"""Servers behind the policy, over pipes, in both eras."""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from fuzzing import share
from patience import patience
from wired import ERAS, text_of

from gateway.calls.output import Failure
from gateway.mcp.asking import Exchange
from gateway.mcp.proxy import Proxying
from gateway.mcp.relay import Relay
from gateway.model.call import Call


# Each era of a client and each of a server; all pairs in a thorough run.
@pytest.mark.parametrize(("era", "behind"), share(product(ERAS, ("both", *ERAS)), 2))
def test_calls_go_through_whatever_era_either_side_speaks(confined, era: str, behind: str) -> None:
    server = {"docs": {"command": ["python3", "server.py", "--era", behind]}}
    confined.says(servers=server)
    client = confined.gateway("proxy", "docs", era=era)
    assert "echo" in client.tools()
    result = client.call("echo", text="x", more=[1, {"ä": None}])
    assert result["content"] == [{"type": "text", "text": "x"}]
    assert result["structuredContent"] == {"text": "x", "more": [1, {"ä": None}]}
    assert result["_meta"]["of"] == "server"


def test_the_twin_without_the_proxy_answers_the_same(confined) -> None:
    client = confined.direct()
    assert client.text("echo", text="x") == "x"


def test_fifty_calls_at_once_each_get_their_own_answer(confined, era: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    numbers = {
        f"t{each}": client.start("tools/call", {"name": "echo", "arguments": {"text": f"t{each}"}})
        for each in range(50)
    }
    assert {text: text_of(client.answer(number)["result"]) for text, number in numbers.items()} == {
        t: t for t in numbers
    }


@pytest.mark.parametrize(
    ("rule", "listed"),
    [
        ({"id": "no", "deny": "mcp__docs__echo"}, False),
        ({"id": "no", "deny": {"tool": "mcp__docs__echo", "server": "docs"}}, False),
        ({"id": "no", "deny": {"tool": "mcp__docs__echo", "annotations": {"readOnlyHint": False}}}, False),
        ({"id": "no", "deny": {"tool": "mcp__docs__echo", "args": {"text": "x"}}}, True),
        ({"id": "no", "ask": {"tool": "mcp__docs__echo", "args": {"text": "x"}}, "lock": True}, True),
    ],
    ids=[
        "by its name",
        "by its server",
        "by annotations, which are not the server's",
        "by an argument",
        "asked, locked",
    ],
)
def test_what_is_listed_agrees_with_what_may_be_called(confined, era: str, rule: dict[str, Any], listed: bool) -> None:
    confined.says(rule)
    client = confined.gateway("proxy", "docs", era=era, capabilities={})
    assert ("echo" in client.tools()) is listed
    result = client.call("echo", text="x")
    assert result["isError"]
    assert "`no`" in text_of(result)
    if listed and "deny" in rule:
        assert client.text("echo", text="y") == "y"


def test_a_server_cannot_lower_a_guard_by_what_it_says_of_its_tools(confined, era: str) -> None:
    assert confined.direct().tools()["echo"]["annotations"] == {"readOnlyHint": True}
    client = confined.gateway("proxy", "docs", era=era)
    worst = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
    assert client.tools()["echo"]["annotations"] == worst


def test_a_described_server_is_judged_by_what_its_tools_do(confined, era: str) -> None:
    (confined.project / "a.txt").write_text("of a", encoding="utf-8")
    (confined.project / ".env").write_text("SECRET=1", encoding="utf-8")
    confined.ground.says(
        {
            "rules": [{"id": "start", "allow": "Bash(python3 server.py)"}],
            "settings": {"servers": {"docs": {"command": ["python3", "server.py"], "is": "filesystem"}}},
        }
    )
    client = confined.gateway("proxy", "docs", era=era, capabilities={})
    assert client.tools()["read_file"]["annotations"]["readOnlyHint"] is True
    assert client.text("read_file", path="a.txt") == "of a"  # by the mode: a read inside the workspace
    refused = client.call("read_file", path="x/../.env")
    assert refused["isError"]
    assert "SECRET" not in json.dumps(refused)
    asked = client.text("echo", text="x")  # which nobody described
    assert "cannot ask anybody" in asked


def test_the_twin_reads_what_policy_protects(confined) -> None:
    (confined.project / ".env").write_text("SECRET=1", encoding="utf-8")
    assert confined.direct().text("read_file", path=".env") == "SECRET=1"


@pytest.mark.parametrize("path", [".env", "{home}/.ssh/id_rsa", "file://{home}/.ssh/id_rsa"])
def test_what_an_argument_looks_like_is_held_against_rules_for_paths(confined, era: str, path: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    refused = client.call("read_file", path=path.format(home=confined.home))
    assert refused["isError"]
    assert "was refused by rule" in text_of(refused)
    assert all(each.get("params", {}).get("name") != "read_file" for each in client.got())


@pytest.mark.parametrize("era", ERAS)
def test_input_policy_asks_about_is_asked_through_the_client(confined, era: str) -> None:
    confined.says({"id": "q", "ask": "mcp__docs__echo"})
    client = confined.gateway("proxy", "docs", era=era)
    client.answers = lambda _m: {"result": {"action": "accept", "content": {"answer": "yes, once"}}}
    if era == "handshake":
        assert client.text("echo", text="x") == "x"
        assert "echo" in client.asked[0]["params"]["message"]
        return
    params = {"name": "echo", "arguments": {"text": "x"}}
    asked = client.ask("tools/call", params)
    assert asked["resultType"] == "input_required"
    answers = {"ask": {"action": "accept", "content": {"answer": "yes, once"}}}
    again = {**params, "inputResponses": answers, "requestState": asked["requestState"]}
    assert text_of(client.ask("tools/call", again)) == "x"


def test_errors_of_the_server_are_its_own(confined, era: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    assert client.call("fail")["isError"] is True
    error = client.error("tools/call", {"name": "fault", "arguments": {}})
    assert error == {"code": -32001, "message": "no: a fault of the server", "data": {"why": "test"}}


def test_progress_and_cancellation_reach_the_server_and_back(confined, era: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    client.ask("tools/call", {"name": "slow", "arguments": {}}, progressToken="p")
    steps = [each["params"] for each in client.notes if each["method"] == "notifications/progress"]
    assert steps[0] == {"progressToken": "p", "progress": 1, "total": 3, "message": "step 0"}
    number = client.start(
        "tools/call", {"name": "slow", "arguments": {"steps": 1_000, "seconds": 0.05}}, progressToken="q"
    )
    client.until(lambda: any(each["params"].get("progressToken") == "q" for each in client.notes))
    client.write({"method": "notifications/cancelled", "params": {"requestId": number}})
    client.until(lambda: any("stopped" in each for each in client.got()))
    assert client.text("echo", text="still there") == "still there"


def test_a_cancellation_of_what_nobody_knows_changes_nothing(confined, era: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    for number in (4711, "x", None, True, []):
        client.write({"method": "notifications/cancelled", "params": {"requestId": number}})
    assert client.text("echo", text="x") == "x"


@pytest.mark.parametrize("tool", ["die", "huge"])
def test_a_server_that_breaks_is_started_again(confined, era: str, tool: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    broken = client.call(tool)
    assert broken["isError"]
    assert text_of(broken).startswith("MCP server `docs` gave no answer: ")
    assert client.text("echo", text="again") == "again"


def test_garbage_between_messages_is_passed_over(confined, era: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    assert client.text("garbage") == "after garbage"
    assert client.text("echo", text="x") == "x"
    client.until(lambda: any("this is no JSON" in line for line in client.stderr))


def test_a_server_that_does_not_answer_is_given_up(confined, era: str) -> None:
    seconds = round(patience(1))  # it must also have been able to start in that time
    confined.says(servers={"docs": {"command": ["python3", "server.py"], "seconds": seconds}})
    client = confined.gateway("proxy", "docs", era=era)
    assert client.text("hang") == f"MCP server `docs` gave no answer: it did not answer within {seconds} s."
    assert client.text("echo", text="x") == "x"


def test_what_is_too_much_or_secret_is_left_out_and_told(confined, era: str) -> None:
    direct = confined.direct()
    assert len(direct.text("long")) == 300_000
    assert "ghp_a1B2" in direct.text("secret")
    client = confined.gateway("proxy", "docs", era=era)
    long = client.text("long")
    assert len(long) < 101_000
    assert "200,000 characters left out by the gateway" in long
    found = client.call("secret")
    assert "ghp_" not in json.dumps(found)
    assert found["structuredContent"] == {"key": "[redacted:github]"}
    assert "a secret was taken out" in text_of(found)
    assert client.call("picture")["content"] == [{"type": "image", "data": "AAEC", "mimeType": "image/png"}]
    assert text_of(client.call("deep")).startswith("deep")


def test_a_secret_that_a_server_was_given_does_not_come_back(confined, era: str) -> None:
    server = {"command": ["python3", "server.py"], "env": {"GIVEN": "env:SECRET_OF_OURS"}}
    confined.says(servers={"docs": server})
    client = confined.gateway("proxy", "docs", era=era)
    assert "it is [secret]" in client.text("token")
    assert "s3cr3t-value" not in "\n".join(client.stderr)
    assert "SECRET_OF_OURS" not in client.text("env")


def test_resources_and_prompts_are_under_rules_too(confined, era: str) -> None:
    confined.says(
        {"id": "no-r", "deny": {"tool": "ReadMcpResource", "args": {"uri": "docs://secret"}}},
        {"id": "no-p", "deny": {"tool": "mcp__docs__prompts.get", "args": {"name": "evil"}}},
    )
    client = confined.gateway("proxy", "docs", era=era)
    resources = client.ask("resources/list")["resources"]
    assert [each["uri"] for each in resources] == ["docs://a"]
    assert resources[0]["description"] == "d\\u202e"
    assert client.ask("resources/read", {"uri": "docs://a"})["contents"][0]["text"] == "text of docs://a"
    assert "`no-r`" in client.error("resources/read", {"uri": "docs://secret"})["message"]
    assert "was refused" in client.error("resources/read", {"uri": "file:///etc/shadow"})["message"]
    assert [each["name"] for each in client.ask("prompts/list")["prompts"]] == ["plan"]
    assert client.ask("prompts/get", {"name": "plan"})["messages"][0]["content"]["text"] == "prompt plan"
    assert "`no-p`" in client.error("prompts/get", {"name": "evil"})["message"]
    done = client.ask(
        "completion/complete", {"ref": {"type": "ref/prompt", "name": "plan"}, "argument": {"name": "a", "value": ""}}
    )
    assert done["completion"]["values"] == ["one", "two"]
    assert client.ask("resources/templates/list")["resourceTemplates"][0]["uriTemplate"] == "docs://{name}"


HOOKED = {
    "a resource": ("resources/read", {"uri": "docs://a"}, {"uri": "docs://b"}),
    "a prompt": ("prompts/get", {"name": "plan"}, {"arguments": {"p": "other"}}),
}


@pytest.mark.parametrize("is_changed", [True, False], ids=["changed", "the twin, unchanged"])
@pytest.mark.parametrize(("method", "params", "change"), HOOKED.values(), ids=HOOKED)
def test_what_a_hook_changed_is_not_handed_on_unchanged(
    confined, method: str, params: dict[str, Any], change: dict[str, Any], is_changed: bool
) -> None:
    answer = f"print(json.dumps({{'input': {{**told['input'], **{change!r}}}}}))" if is_changed else "pass"
    hook = [sys.executable, "-c", f"import json, sys; told = json.load(sys.stdin); {answer}"]
    confined.says()
    path = confined.ground.config / "policy.yaml"
    policy = json.loads(path.read_text()) | {"hooks": [{"id": "h", "event": "before_call", "command": hook}]}
    path.write_text(json.dumps(policy))
    client = confined.gateway("proxy", "docs")
    if is_changed:
        assert "changed on the way" in client.error(method, params)["message"]
        assert [each for each in client.got() if each.get("method") == method] == []
    else:
        assert client.ask(method, params)


def test_the_twin_reads_every_resource(confined) -> None:
    client = confined.direct()
    assert len(client.ask("resources/list")["resources"]) == 3
    assert client.ask("resources/read", {"uri": "docs://secret"})["contents"][0]["text"] == "text of docs://secret"
    assert client.ask("prompts/get", {"name": "evil"})["messages"]


@pytest.mark.parametrize(("era", "behind"), share(product(ERAS, ERAS), 3))
def test_a_server_may_not_ask_the_client_unless_policy_says_so(confined, era: str, behind: str) -> None:
    confined.says(servers={"docs": {"command": ["python3", "server.py", "--era", behind]}})
    client = confined.gateway("proxy", "docs", era=era)
    client.answers = lambda _m: {"result": {"action": "accept", "content": {"ok": True}}}
    assert "policy lets no server ask a client for elicitation" in client.text("ask")
    assert client.asked == []


def called(client: Any, times: int) -> list[Any]:
    """What the server was called with, once it has told so often; it tells on another way than it answers."""
    found: list[Any] = []

    def is_told() -> bool:
        found[:] = [each["params"] for each in client.got() if each.get("method") == "tools/call"]
        return len(found) >= times

    client.until(is_told)
    return found


@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("era", ERAS)
def test_what_a_server_asks_reaches_the_client_in_its_own_era(confined, era: str, behind: str) -> None:
    confined.says(
        servers={"docs": {"command": ["python3", "server.py", "--era", behind]}}, mcp={"servers_may": ["elicitation"]}
    )
    client = confined.gateway("proxy", "docs", era=era)
    given = {"action": "accept", "content": {"ok": True, "ä": 1.5}}
    client.answers = lambda _m: {"result": given}
    if era == "handshake":
        assert json.loads(client.text("ask")) == given
        message = client.asked[0]["params"]["message"]
    else:
        params: dict[str, Any] = {"name": "ask", "arguments": {}}
        asked = client.ask("tools/call", params)
        ((key, request),) = asked["inputRequests"].items()
        message = request["params"]["message"]
        again = {**params, "inputResponses": {key: given}, "requestState": asked["requestState"]}
        assert json.loads(text_of(client.ask("tools/call", again))) == given
    assert message == "The MCP server `docs` asks: May I?"
    if behind == "stateless":
        sent = called(client, 2)
        assert sent[-1]["requestState"] == "s\u00e4\u2028 /+=" + "x" * 50
        assert sent[-1]["inputResponses"] == {"k": given}


def test_the_server_learns_nothing_of_the_client(confined, era: str) -> None:
    client = confined.gateway("proxy", "docs", era=era)
    client.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}, **{"vendor/id": "kept"})
    (sent,) = called(client, 1)
    assert sent["_meta"]["vendor/id"] == "kept"
    assert "tests" not in json.dumps(client.got())


def test_several_servers_have_names_of_their_own(confined, era: str) -> None:
    one = {"command": ["python3", "server.py"]}
    confined.says(
        {"id": "b", "allow": "mcp__b__*"}, {"id": "no", "deny": "mcp__docs__fail"}, servers={"docs": one, "b": one}
    )
    client = confined.gateway("proxy", "docs", "b", era=era)
    names = set(client.tools())
    assert {"docs__echo", "b__echo", "b__fail"} <= names
    assert "docs__fail" not in names
    assert client.text("b__echo", text="x") == "x"
    assert "-32602" in json.dumps(client.error("tools/call", {"name": "echo", "arguments": {}}))


def test_every_call_is_recorded_refused_ones_too(confined) -> None:
    confined.says({"id": "no", "deny": "mcp__docs__fail"})
    client = confined.gateway("proxy", "docs")
    client.call("echo", text="x")
    client.call("fail")
    client.call("nosuch")
    client.close()
    made = [(each["tool"], each["decision"]) for each in confined.ground.records() if each["kind"] == "decision"]
    assert made == [
        ("Bash", "allow"),
        ("mcp__docs__echo", "allow"),
        ("mcp__docs__fail", "deny"),
        ("mcp__docs__nosuch", "deny"),
    ]


def test_a_server_that_policy_does_not_let_start_says_so(confined, era: str) -> None:
    confined.says({"id": "halt", "deny": "Bash(python3 *)"})
    client = confined.gateway("proxy", "docs", era=era)
    assert "does not start: " in client.error("tools/list")["message"]
    assert "`halt`" in client.text("echo", text="x")


def test_what_is_logged_is_chosen_at_the_servers_that_work(confined) -> None:
    halted, works = {"command": ["python3", "-u", "server.py"]}, {"command": ["python3", "server.py"]}
    rule = {"id": "halt", "deny": "Bash(python3 -u *)"}
    confined.says(rule, servers={"docs": halted, "b": works})
    client = confined.gateway("proxy", "docs", "b")
    assert client.ask("logging/setLevel", {"level": "error"}) == {}
    confined.says(rule, servers={"docs": halted})
    told = confined.gateway("proxy", "docs").error("logging/setLevel", {"level": "error"})["message"]
    assert told.startswith("docs: MCP server `docs` does not start: ")


def test_a_policy_that_changes_holds_from_then_on(confined) -> None:
    client = confined.gateway("proxy", "docs")
    assert client.text("echo", text="x") == "x"
    confined.says({"id": "no", "deny": "mcp__docs__echo"})
    client.until(lambda: "`no`" in client.text("echo", text="x"))


def starts(client: Any, least: int) -> int:
    """How often the server behind was started, once it has told of so many; it tells on another way than it answers."""

    def found() -> int:
        return sum(each.get("method") == "initialize" for each in client.got())

    client.until(lambda: found() >= least)
    return found()


def test_a_server_that_runs_is_judged_anew_when_the_policy_changes(confined) -> None:
    client = confined.gateway("proxy", "docs")
    assert client.text("echo", text="x") == "x"
    confined.says({"id": "no", "deny": "Bash(python3 *)"})
    client.until(lambda: "MCP server `docs` does not start: " in client.text("echo", text="x"))
    confined.says({"id": "other", "deny": "mcp__docs__garbage"})
    client.until(lambda: client.text("echo", text="x") == "x")
    assert starts(client, 2) == 2
    confined.says({"id": "another", "deny": "mcp__docs__long"})  # which changes nothing about how it runs
    client.until(lambda: "`another`" in client.text("long"))
    assert (client.text("echo", text="x"), starts(client, 2)) == ("x", 2)
    (confined.project / "notes.txt").write_text("notes", encoding="utf-8")
    confined.says({"id": "hidden", "deny": "Read(notes.txt)"})
    client.until(lambda: client.text("echo", text="x") == "x" and starts(client, 2) == 3)


def test_servers_of_clients_that_ask_for_nothing_end_as_well_when_the_policy_forbids_them(confined) -> None:
    gateway = confined.ground.open()
    declared = gateway.loaded.settings["servers"].value
    back: Any = SimpleNamespace(version="2025-11-25", capabilities={})

    async def main() -> None:
        proxying = Proxying(gateway, declared, namespaced=False, pins=None)
        one, two = [await proxying.client(key) for key in ("one", "two")]
        links = [await proxying._link(client, "docs", Exchange(back)) for client in (one, two)]
        assert links[0] is not links[1]
        confined.says({"id": "no", "deny": "Bash(python3 *)"})
        gateway.calls.services.look_again()
        with pytest.raises(Failure, match="does not start"):
            await proxying._link(one, "docs", Exchange(back))
        while links[1].upstream.is_alive:
            await asyncio.sleep(0)
        await proxying.close()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_server_that_is_forbidden_while_it_is_used_serves_only_who_uses_it(confined) -> None:
    gateway = confined.ground.open()
    back: Any = SimpleNamespace(version="2025-11-25", capabilities={})
    name = "mcp__docs__echo"

    async def main() -> None:
        proxying = Proxying(gateway, gateway.loaded.settings["servers"].value, namespaced=False, pins=None)
        client, exchange = await proxying.client("one"), Exchange(back)
        link = await proxying._link(client, "docs", exchange)
        params = {"name": "echo", "arguments": {"text": "x"}}
        relay = Relay(link, exchange, "tools/call", params, proxying._rules())
        with link.used():
            confined.says({"id": "no", "deny": "Bash(python3 *)"})
            gateway.calls.services.look_again()
            with pytest.raises(Failure, match="does not start"):
                await proxying._link(client, "docs", exchange)
            await link.tools(again=True)
            with pytest.raises(Failure, match="docs` was not asked: what policy lets it do has changed"):
                (await relay.waited(Call(name, {"text": "x"}, "", "docs")))()
            assert (link.upstream.is_alive, link.has_ended) == (True, False)
        while not link.has_ended:
            await asyncio.sleep(0)
        assert not link.upstream.is_alive
        await proxying.close()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_call_that_runs_while_its_server_is_forbidden_is_answered(confined) -> None:
    client = confined.gateway("proxy", "docs")
    assert client.text("echo", text="x") == "x"
    slow = client.start("tools/call", {"name": "slow", "arguments": {"steps": 200, "seconds": 0.02}})
    client.until(lambda: any(each.get("params", {}).get("name") == "slow" for each in client.got()))
    confined.says({"id": "no", "deny": "Bash(python3 *)"})
    client.until(lambda: "MCP server `docs` does not start: " in client.text("echo", text="x"))
    assert text_of(client.answer(slow)["result"]) == "done"
    assert starts(client, 1) == 1


def test_nothing_runs_on_when_the_client_has_gone(confined) -> None:
    client = confined.gateway("proxy", "docs")
    client.start("tools/call", {"name": "hang", "arguments": {}})
    client.until(lambda: any(each.get("params", {}).get("name") == "hang" for each in client.got()))
    client.close()
    assert client.process.returncode == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["proxy"], "servers must be given by NAME"),
        (["proxy", "nosuch"], "server must be one of the setting `servers`"),
        (["proxy", "--url", "ftp://x/"], "`url` must be"),
        (["proxy", "--name", "docs", "--", "true"], "`docs` is the name of a server that policy configures"),
        (["proxy", "--is", "nosuch", "--", "true"], "no description says what the MCP server `nosuch` does"),
        (["serve", "--http", "0.0.0.0:0"], "must be an address of this machine alone"),
        (["serve", "--http", "x"], "--http must be HOST:PORT"),
        (["serve", "--token-file", "x"], "go with --http"),
    ],
)
def test_wrong_usage_says_what_is_wrong(place, words: list[str], why: str) -> None:
    place.says()
    done = place.run("mcp", *words)
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr
