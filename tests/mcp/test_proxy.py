"""Servers behind the policy, over pipes, in both eras."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from patience import patience
from wired import ERAS, Clients, Place, Wired, text_of

from gateway.calls.output import Failure
from gateway.mcp.asking import Exchange
from gateway.mcp.proxy import Proxying
from gateway.mcp.relay import Relay
from gateway.model.call import Call


@pytest.fixture(scope="module")
def clients(places) -> Clients:
    """Clients of a server that policy lets be used, in either era."""
    place = places()
    place.says()
    return Clients(place, "proxy", "docs")


def of_each_era(place: Place, **settings: Any) -> Clients:
    """Clients of a server of each era, which is its name."""
    servers = {each: {"command": ["python3", "-S", "server.py", "--era", each]} for each in ("both", *ERAS)}
    place.says({"id": "eras", "allow": {"tool": [f"mcp__{each}__*" for each in servers]}}, servers=servers, **settings)
    return Clients(place, "proxy", *servers)


@pytest.fixture(scope="module")
def between(places) -> Clients:
    return of_each_era(places())


@pytest.fixture(scope="module")
def asking(places) -> Clients:
    """The same where servers may ask."""
    return of_each_era(places(), mcp={"servers_may": ["elicitation"]})


# Each era of a client and each of a server.
@pytest.mark.parametrize(("era", "behind"), list(product(ERAS, ("both", *ERAS))))
def test_calls_go_through_whatever_era_either_side_speaks(between, era: str, behind: str) -> None:
    client = between(era)
    assert f"{behind}__echo" in client.tools()
    result = client.call(f"{behind}__echo", text="x", more=[1, {"ä": None}])
    assert result["content"] == [{"type": "text", "text": "x"}]
    assert result["structuredContent"] == {"text": "x", "more": [1, {"ä": None}]}
    assert result["_meta"]["of"] == "server"


def test_the_twin_without_the_proxy_answers_the_same(confined) -> None:
    client = confined.direct()
    assert client.text("echo", text="x") == "x"


def test_fifty_calls_at_once_each_get_their_own_answer(clients, era: str) -> None:
    client = clients(era)
    numbers = {
        f"t{each}": client.start("tools/call", {"name": "echo", "arguments": {"text": f"t{each}"}})
        for each in range(50)
    }
    assert {text: text_of(client.answer(number)["result"]) for text, number in numbers.items()} == {
        t: t for t in numbers
    }


# Of a tool each: by what it is denied or asked about, what else the rule says, and whether the tool is listed.
RULES = {
    "echo-name": ({"deny": {}}, False),
    "echo-server": ({"deny": {"server": "docs"}}, False),
    "echo-annotated": ({"deny": {"annotations": {"readOnlyHint": False}}}, False),  # which are not the server's
    "echo-argument": ({"deny": {"args": {"text": "x"}}}, True),
    "echo-locked": ({"ask": {"args": {"text": "x"}}, "lock": True}, True),
}


@pytest.fixture(scope="module")
def listing(places) -> Clients:
    """Clients, which nobody can ask, of a server with a tool for each of these rules."""
    place = places()
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tools = [{"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}} for name in RULES]
    (place.project / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    rules = []
    for name, (rule, _listed) in RULES.items():
        said = {key: {"tool": f"mcp__docs__{name}", **each} for key, each in rule.items() if isinstance(each, dict)}
        rules.append({"id": f"no-{name}", **rule, **said})
    place.says(*rules, servers={"docs": {"command": ["python3", "-S", "server.py", "tools.json"]}})
    return Clients(place, "proxy", "docs", capabilities={})


@pytest.mark.parametrize("tool", RULES)
def test_what_is_listed_agrees_with_what_may_be_called(listing, era: str, tool: str) -> None:
    rule, listed = RULES[tool]
    client = listing(era)
    assert (tool in client.tools()) is listed
    result = client.call(tool, text="x")
    assert result["isError"]
    assert f"`no-{tool}`" in text_of(result)
    if listed and "deny" in rule:
        assert client.text(tool, text="y") == "y"


def test_a_server_cannot_lower_a_guard_by_what_it_says_of_its_tools(clients, era: str) -> None:
    assert clients.place.direct().tools()["echo"]["annotations"] == {"readOnlyHint": True}
    client = clients(era)
    worst = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
    assert client.tools()["echo"]["annotations"] == worst


def test_a_described_server_is_judged_by_what_its_tools_do(confined, era: str) -> None:
    (confined.project / "a.txt").write_text("of a", encoding="utf-8")
    (confined.project / ".env").write_text("SECRET=1", encoding="utf-8")
    confined.ground.says(
        {
            "rules": [{"id": "start", "allow": "Bash(python3 -S server.py)"}],
            "settings": {"servers": {"docs": {"command": ["python3", "-S", "server.py"], "is": "filesystem"}}},
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
def test_what_an_argument_looks_like_is_held_against_rules_for_paths(clients, era: str, path: str) -> None:
    client = clients(era)
    refused = client.call("read_file", path=path.format(home=clients.place.home))
    assert refused["isError"]
    assert "was refused by rule" in text_of(refused)
    assert all(each.get("params", {}).get("name") != "read_file" for each in all_got(client))


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


def test_errors_of_the_server_are_its_own(clients, era: str) -> None:
    client = clients(era)
    assert client.call("fail")["isError"] is True
    error = client.error("tools/call", {"name": "fault", "arguments": {}})
    assert error == {"code": -32001, "message": "no: a fault of the server", "data": {"why": "test"}}


def test_progress_and_cancellation_reach_the_server_and_back(clients, era: str) -> None:
    client = clients(era)
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


def test_a_cancellation_of_what_nobody_knows_changes_nothing(clients, era: str) -> None:
    client = clients(era)
    for number in (4711, "x", None, True, []):
        client.write({"method": "notifications/cancelled", "params": {"requestId": number}})
    assert client.text("echo", text="x") == "x"


@pytest.mark.parametrize("tool", ["die", "huge"])
def test_a_server_that_breaks_is_started_again(clients, era: str, tool: str) -> None:
    client = clients(era)
    broken = client.call(tool)
    assert broken["isError"]
    assert text_of(broken).startswith("MCP server `docs` gave no answer: ")
    assert client.text("echo", text="again") == "again"


def test_garbage_between_messages_is_passed_over(clients, era: str) -> None:
    client = clients(era)
    assert client.text("garbage") == "after garbage"
    assert client.text("echo", text="x") == "x"
    client.until(lambda: any("this is no JSON" in line for line in client.stderr))


def test_a_server_that_does_not_answer_is_given_up(confined, era: str) -> None:
    seconds = round(patience(1))  # it must also have been able to start in that time
    confined.says(servers={"docs": {"command": ["python3", "-S", "server.py"], "seconds": seconds}})
    client = confined.gateway("proxy", "docs", era=era)
    assert client.text("hang") == f"MCP server `docs` gave no answer: it did not answer within {seconds} s."
    assert client.text("echo", text="x") == "x"


def test_what_is_too_much_or_secret_is_left_out_and_told(clients, era: str) -> None:
    direct = clients.place.direct()
    assert len(direct.text("long")) == 300_000
    assert "ghp_a1B2" in direct.text("secret")
    client = clients(era)
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
    server = {"command": ["python3", "-S", "server.py"], "env": {"GIVEN": "env:SECRET_OF_OURS"}}
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


# What the hook makes of what is asked for by this word.
CHANGES = {"docs://changed": {"uri": "docs://b"}, "changed": {"arguments": {"p": "other"}}}
HOOK = f"""import json, sys
given = json.load(sys.stdin)["input"]
change = {CHANGES!r}.get(given.get("uri") or given.get("name"))
if change:
    print(json.dumps({{"input": {{**given, **change}}}}))
"""


@pytest.fixture(scope="module")
def hooked(places) -> Clients:
    """Clients where a hook changes some calls."""
    place = places()
    place.says()
    path = place.ground.config / "policy.yaml"
    hook = {"id": "h", "event": "before_call", "command": [sys.executable, "-S", "-c", HOOK]}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hooks": [hook]}))
    return Clients(place, "proxy", "docs")


@pytest.mark.parametrize(
    ("method", "name", "word"), [("resources/read", "uri", "docs://"), ("prompts/get", "name", "")]
)
def test_what_a_hook_changed_is_not_handed_on_unchanged(hooked, method: str, name: str, word: str) -> None:
    client = hooked()
    assert "changed on the way" in client.error(method, {name: f"{word}changed"})["message"]
    assert client.ask(method, {name: f"{word}unchanged"})
    assert [each["params"][name] for each in all_got(client) if each.get("method") == method] == [f"{word}unchanged"]


def test_the_twin_reads_every_resource(confined) -> None:
    client = confined.direct()
    assert len(client.ask("resources/list")["resources"]) == 3
    assert client.ask("resources/read", {"uri": "docs://secret"})["contents"][0]["text"] == "text of docs://secret"
    assert client.ask("prompts/get", {"name": "evil"})["messages"]


@pytest.mark.parametrize(("era", "behind"), list(product(ERAS, ERAS)))
def test_a_server_may_not_ask_the_client_unless_policy_says_so(between, era: str, behind: str) -> None:
    client = between(era)
    client.answers = lambda _m: {"result": {"action": "accept", "content": {"ok": True}}}
    assert "policy lets no server ask a client for elicitation" in client.text(f"{behind}__ask")
    assert client.asked == []


def all_got(client: Wired) -> list[Any]:
    """What the server received up to now; it tells on another way than it answers."""
    last = os.urandom(8).hex()
    client.call("echo", text=last)
    client.until(lambda: last in json.dumps(client.got()))
    return client.got()


def told_of(client: Wired, word: str) -> Any:
    """The parameters of the call in which this stands, once the server tells of it."""
    client.until(lambda: any(word in json.dumps(each) for each in client.got()))
    return next(each["params"] for each in client.got() if word in json.dumps(each))


@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("era", ERAS)
def test_what_a_server_asks_reaches_the_client_in_its_own_era(asking, era: str, behind: str) -> None:
    client, tool = asking(era), f"{behind}__ask"
    given = {"action": "accept", "content": {"ok": True, "ä": 1.5}}
    client.answers = lambda _m: {"result": given}
    if era == "handshake":
        assert json.loads(client.text(tool)) == given
        message = client.asked[0]["params"]["message"]
    else:
        params: dict[str, Any] = {"name": tool, "arguments": {}}
        asked = client.ask("tools/call", params)
        ((key, request),) = asked["inputRequests"].items()
        message = request["params"]["message"]
        again = {**params, "inputResponses": {key: given}, "requestState": asked["requestState"]}
        assert json.loads(text_of(client.ask("tools/call", again))) == given
    assert message == f"The MCP server `{behind}` asks: May I?"
    if behind == "stateless":
        sent = told_of(client, "requestState")
        assert sent["requestState"] == "s\u00e4\u2028 /+=" + "x" * 50
        assert sent["inputResponses"] == {"k": given}


def test_the_server_learns_nothing_of_the_client(clients, era: str) -> None:
    client = clients(era)
    client.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}, **{"vendor/id": "kept"})
    assert told_of(client, "vendor/id")["_meta"]["vendor/id"] == "kept"
    assert "tests" not in json.dumps(client.got())


def test_several_servers_have_names_of_their_own(confined, era: str) -> None:
    one = {"command": ["python3", "-S", "server.py"]}
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
    halted, works = {"command": ["python3", "-u", "server.py"]}, {"command": ["python3", "-S", "server.py"]}
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
def test_wrong_usage_says_what_is_wrong(clients, words: list[str], why: str) -> None:
    done = clients.place.run("mcp", *words)
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr
