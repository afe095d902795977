"""Clients and servers over HTTP on the loopback, in both eras."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from itertools import product
from typing import Any

import pytest
import starting
from patience import patience
from running import Ground
from wired import ENVELOPE, ERAS, Clients, Place, text_of

from gateway.mcp.unauthenticated import MOST_STRANGERS

TOKEN = "a-token-of-the-tests"
LOOPBACK = {"id": "net", "allow": {"effect": "connect", "host": "127.0.0.1"}}


class Site:
    """A process that serves HTTP, with what it told people."""

    def __init__(self, command: list[str], folder: Any, environment: dict[str, str], ready: Any) -> None:
        self.process = starting.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[str] = []
        self._said = threading.Condition()
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=self._listen, args=(stream,), daemon=True).start()
        self.until(lambda: any(ready(line) for line in self.lines))
        self.url: str = next(ready(line) for line in self.lines if ready(line))

    def _listen(self, stream: Any) -> None:
        for line in stream:
            with self._said:
                self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
                self._said.notify_all()

    def until(self, holds: Any) -> None:
        with self._said:
            assert self._said.wait_for(lambda: holds() or self.process.poll() is not None, 60)
        assert holds(), "\n".join(self.lines)

    def got(self) -> list[dict[str, Any]]:
        return [json.loads(line[4:]) for line in self.lines if line.startswith("got ")]

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()


def started(place: Place, *words: str, **environment: str) -> Site:
    """The scripted server, or a command of `gateway mcp`, at a port of its own."""
    if words[0] == "server":
        command = [sys.executable, "server.py", "--http", "0", *words[1:]]
        ready = lambda line: f"http://127.0.0.1:{line}/mcp" if line.isdecimal() else ""  # noqa: E731
    else:
        command = [sys.executable, "-m", "gateway", "mcp", *words, "--http", "127.0.0.1:0"]
        ready = lambda line: line.rpartition(" at ")[2] if "serving MCP at" in line else ""  # noqa: E731
    return Site(command, place.project, {**place.environment, "GATEWAY_MCP_TOKEN": TOKEN, **environment}, ready)


def placed(tmp_path_factory: pytest.TempPathFactory, name: str, *rules: dict[str, Any]) -> Place:
    """A place for several tests, whose policy none of them changes."""
    with pytest.MonkeyPatch.context() as patched:
        place = Place(Ground(tmp_path_factory.mktemp(name), patched))
    place.ground.says({"rules": list(rules)})
    return place


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One place whose tools are served over HTTP to two clients, for tests that change no more of it than a file of
    their own: in one folder files may be changed, and none is looked for."""
    rules = [{"id": "w", "allow": "Edit(./open/**)"}, {"id": "no", "deny": "Glob"}]
    place = placed(tmp_path_factory, "shared", *rules)
    (place.project / "open").mkdir()
    path = place.project / "tokens"
    path.write_text(f"ann {TOKEN}\nbob {TOKEN}-of-bob\n", encoding="utf-8")
    path.chmod(0o600)
    site = started(place, "serve", "--token-file", str(path))
    yield place, site
    site.close()


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server elsewhere, and what serves it behind the policy over HTTP."""
    place = placed(tmp_path_factory, "elsewhere", LOOPBACK, {"id": "t", "allow": "mcp__w__*"})
    server = started(place, "server")
    site = started(place, "proxy", "--name", "w", "--url", server.url)
    yield server, site
    site.close()
    server.close()


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client of a proxy before a server elsewhere that does what it must not."""
    place = placed(tmp_path_factory, "misbehaving", LOOPBACK, {"id": "t", "allow": "mcp__w__*"})
    (place.project / "tools.json").write_text(
        json.dumps([{"name": name, "inputSchema": {"type": "object"}} for name in ("huge", "elsewhere", "echo")]),
        encoding="utf-8",
    )
    server = started(place, "server", "tools.json")
    yield place.gateway("proxy", "--name", "w", "--url", server.url, "--seconds", "20")
    place.close()
    server.close()


@pytest.fixture
def sites(place: Any) -> Any:
    open_: list[Site] = []

    def start(*words: str, **environment: str) -> Site:
        open_.append(started(place, *words, **environment))
        return open_[-1]

    yield start
    for each in open_:
        each.close()


def post(
    url: str, body: Any, *, token: str | None = TOKEN, headers: dict[str, str] | None = None, method: str = "POST"
) -> tuple[int, Any]:
    """Status and body of one request."""
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **(headers or {})}
    if token is not None:
        given["Authorization"] = f"Bearer {token}"
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=patience(30)) as answer:
            status, text, kind = answer.status, answer.read().decode(), answer.headers.get("content-type", "")
    except urllib.error.HTTPError as error:
        status, text, kind = error.code, error.read().decode(), ""
    if "event-stream" in kind:
        text = next(line[6:] for line in reversed(text.splitlines()) if line.startswith("data: {"))
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def stateless(url: str, method: str, params: dict[str, Any], **headers: str) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": ENVELOPE}}
    stamps = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **headers}
    if "name" in params:
        stamps["Mcp-Name"] = params["name"]
    found: dict[str, Any] = post(url, body, headers=stamps)[1]
    return found


async def asked(url: str, era: str, does: Any, **callbacks: Any) -> Any:
    """What a client of the package `mcp` gets."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=patience(60))
    mode = "legacy" if era == "handshake" else "2026-07-28"
    async with http, Client(streamable_http_client(url, http_client=http), mode=mode, **callbacks) as client:
        return await does(client)


def test_tools_are_served_over_http(shared, era: str) -> None:
    place, site = shared
    path = f"open/{era}"
    (place.project / path).write_text("of a\n", encoding="utf-8")

    async def does(client: Any) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "Read" in names
        assert "Glob" not in names
        read = await client.call_tool("Read", {"file_path": path})
        assert "of a" in read.content[0].text
        edit = {"file_path": path, "old_string": "of a", "new_string": "of b"}
        assert not (await client.call_tool("Edit", edit)).is_error  # it was read in this very session
        refused = await client.call_tool("Glob", {"pattern": "*"})
        assert refused.is_error

    asyncio.run(asked(site.url, era, does))
    assert (place.project / path).read_text(encoding="utf-8") == "of b\n"


@pytest.mark.parametrize(("action", "runs"), [("accept", True), ("decline", False), ("cancel", False)])
def test_questions_go_through_the_client(shared, era: str, action: str, runs: bool) -> None:
    from mcp_types import ElicitResult

    place, site = shared
    name = f"{era}-{action}"

    async def answers(_context: Any, _params: Any) -> Any:
        return ElicitResult(action=action, content={"answer": "yes, once"} if action == "accept" else None)

    async def does(client: Any) -> Any:
        return await client.call_tool("Write", {"file_path": name, "content": "x"})

    result = asyncio.run(asked(site.url, era, does, elicitation_callback=answers))
    assert (place.project / name).exists() is runs
    assert result.is_error is not runs


def test_progress_comes_over_http(elsewhere, era: str) -> None:
    _server, site = elsewhere

    async def does(client: Any) -> Any:
        found = [client.call_tool("echo", {"text": f"t{number}"}) for number in range(20)]
        return [each.content[0].text for each in await asyncio.gather(*found)]

    assert asyncio.run(asked(site.url, era, does)) == [f"t{number}" for number in range(20)]


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        (None, {}, 401),
        ("", {}, 401),
        ("another-token-of-the-tests", {}, 401),
        (TOKEN + "x", {}, 401),
        (TOKEN, {"Host": "evil.example"}, 421),
        (TOKEN, {"Origin": "https://evil.example"}, 403),
        (TOKEN, {"Origin": "null"}, 403),
        (TOKEN, {"Content-Type": "text/plain"}, 400),
        (TOKEN, {"Origin": "http://127.0.0.1:1"}, 200),
        (TOKEN, {}, 200),
    ],
    ids=["no token", "an empty one", "another", "a longer one", "another host", "another origin", "no origin at all",
         "no JSON", "this machine", "as it should be"],
)  # fmt: skip
@pytest.mark.parametrize("era", ERAS)
def test_who_may_come_in(shared, era: str, token: str | None, headers: dict[str, str], status: int) -> None:
    _place, site = shared
    if era == "stateless":
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", **headers}
    else:
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    assert post(site.url, body, token=token, headers=headers)[0] == status


def test_a_header_that_says_something_else_than_the_body_is_refused(shared) -> None:
    _place, site = shared
    found = stateless(site.url, "tools/call", {"name": "Read", "arguments": {}}, **{"Mcp-Method": "tools/list"})
    assert found["error"]["code"] == -32020


def test_forged_answers_over_http_count_for_nothing(shared) -> None:
    place, site = shared
    call = {"name": "Write", "arguments": {"file_path": "b", "content": "x"}}
    yes = {"inputResponses": {"ask": {"action": "accept", "content": {"answer": "yes, once"}}}}
    first = stateless(site.url, "tools/call", {**call, **yes})["result"]
    assert first["resultType"] == "input_required"
    said = first["requestState"]
    for state in ("gw1.0.0", said[:-2] + ("11" if said.endswith("00") else "00")):
        assert stateless(site.url, "tools/call", {**call, **yes, "requestState": state})["error"]["code"] == -32602
    other = {"name": "Write", "arguments": {"file_path": "c", "content": "x"}}
    again = {**yes, "requestState": first["requestState"]}
    assert stateless(site.url, "tools/call", {**other, **again})["error"]["code"] == -32602
    assert not stateless(site.url, "tools/call", {**call, **again})["result"]["isError"]
    assert (place.project / "b").read_text(encoding="utf-8") == "x"
    assert stateless(site.url, "tools/call", {**call, **again})["error"]["code"] == -32602


def test_sessions_over_http_are_apart_and_end_with_their_client(shared) -> None:
    place, site = shared
    (place.project / "open" / "a").write_text("one\n", encoding="utf-8")
    edit = {"file_path": "open/a", "old_string": "one", "new_string": "two"}

    async def reads(client: Any) -> None:
        await client.call_tool("Read", {"file_path": "open/a"})

    async def edits(client: Any) -> Any:
        return await client.call_tool("Edit", edit)

    asyncio.run(asked(site.url, "handshake", reads))
    assert asyncio.run(asked(site.url, "handshake", edits)).is_error  # what another session has read does not count
    assert (place.project / "open" / "a").read_text(encoding="utf-8") == "one\n"


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Servers elsewhere of each era, which is their name, and clients of all of them."""
    eras = ("both", *ERAS)
    rules = [
        LOOPBACK,
        {"id": "t", "allow": [f"mcp__{each}__{tool}" for each in eras for tool in ("echo", "fault")]},
        {"id": "no", "deny": [f"mcp__{each}__fail" for each in eras]},
    ]
    place = placed(tmp_path_factory, "between")
    servers = {each: started(place, "server", "--era", each) for each in eras}
    headers = {"Authorization": "Bearer {env:SECRET_OF_OURS}"}
    named = {each: {"url": server.url, "headers": headers} for each, server in servers.items()}
    place.ground.says({"rules": rules, "settings": {"servers": named}})
    yield servers, Clients(place, "proxy", *eras, capabilities={})
    place.close()
    for server in servers.values():
        server.close()


# Each era of a client and each of a server.
@pytest.mark.parametrize(("era", "behind"), list(product(ERAS, ("both", *ERAS))))
def test_a_server_elsewhere_is_behind_the_policy(between, era: str, behind: str) -> None:
    servers, clients = between
    server, client = servers[behind], clients(era)
    tools = client.tools()
    assert f"{behind}__echo" in tools
    assert f"{behind}__fail" not in tools
    before = len(server.got())
    assert client.text(f"{behind}__echo", text="x ä") == "x ä"
    assert "`no`" in client.text(f"{behind}__fail")
    assert client.error("tools/call", {"name": f"{behind}__fault", "arguments": {}})["code"] == -32001
    server.until(lambda: any("fault" in json.dumps(each) for each in server.got()[before:]))
    got = [each["headers"] for each in server.got()]
    assert {each["authorization"] for each in got} == {"Bearer s3cr3t-value"}
    assert all(each["host"] == server.url.split("/")[2] for each in got)
    called = [each["headers"] for each in server.got()[before:] if each["message"].get("method") == "tools/call"]
    if behind == "stateless":
        assert (called[0]["mcp-method"], called[0]["mcp-name"]) == ("tools/call", "echo")
    assert called[0]["mcp-protocol-version"] == (
        "2025-11-25" if behind == "handshake" or (behind, era) == ("both", "handshake") else "2026-07-28"
    )


def test_the_rules_for_hosts_hold_for_a_server_elsewhere(place, elsewhere) -> None:
    server, _site = elsewhere
    rules = [{"id": "host", "deny": {"effect": "connect", "host": "127.0.0.1"}}, {"id": "t", "allow": "mcp__w__*"}]
    place.ground.says({"rules": rules})
    client = place.gateway("proxy", "--name", "w", "--url", server.url)
    assert "`host`" in client.text("echo", text="of a denied host")
    assert post(server.url, {"jsonrpc": "2.0", "method": "told"}, token=None)[0] == 202
    server.until(lambda: any(each["message"]["method"] == "told" for each in server.got()))
    assert "of a denied host" not in json.dumps(server.got())


def test_why_a_server_elsewhere_cannot_be_reached_is_told(place) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        place.ground.says({"rules": [LOOPBACK]})
        client = place.gateway("proxy", "--name", "w", "--url", f"http://{where}/mcp")
        said = client.error("tools/list", {})["message"]
    assert f"{where} cannot be reached (Connection refused)" in said


@pytest.mark.parametrize(
    ("tool", "why"), [("huge", "gave no answer"), ("elsewhere", "gave no answer"), ("nosuch", "no tool of this name")]
)
def test_what_a_server_elsewhere_must_not_do(misbehaving, tool: str, why: str) -> None:
    client = misbehaving
    answer = client.answer(client.start("tools/call", {"name": tool, "arguments": {}}))
    said = text_of(answer["result"]) if "result" in answer else answer["error"]["message"]
    assert "result" not in answer or answer["result"]["isError"]
    assert why in said or "error" in answer
    assert client.text("echo", text="x") == "x"


def test_the_token_of_a_client_stays_here(elsewhere, era: str) -> None:
    server, site = elsewhere

    async def does(client: Any) -> Any:
        return (await client.call_tool("echo", {"text": "x"})).content[0].text

    assert asyncio.run(asked(site.url, era, does)) == "x"
    assert TOKEN not in json.dumps(server.got())
    assert all("authorization" not in each["headers"] for each in server.got())


def test_a_configured_server_elsewhere_is_called_by_ours(place, sites) -> None:
    from gateway.model.call import RawCall

    server = sites("server")
    rules = [LOOPBACK, {"id": "t", "allow": "mcp__w__*"}]
    headers = {"X-Token": "{env:SECRET_OF_OURS}"}
    place.ground.says({"rules": rules, "settings": {"servers": {"w": {"url": server.url, "headers": headers}}}})
    gateway = place.ground.open(environment={"PATH": os.environ["PATH"], "SECRET_OF_OURS": "s3cr3t-value"})
    done = gateway.call(RawCall("mcp__w__echo", {"text": "s3cr3t-value"}))
    assert (done.text, done.output.is_error) == ("[secret]", False)
    assert {each["headers"].get("x-token") for each in server.got()} == {"s3cr3t-value"}
    kinds = [item.effect.kind for item in done.verdict.analysis.items]
    assert "connect" in kinds


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        ("short\n", 0o600, "at least 16"),
        (f"{TOKEN}\n", 0o644, "yours alone"),
        ("# nothing\n", 0o600, "must hold a token"),
        (f"{TOKEN}\n", 0o666, "must be a file of yours"),
    ],
)
def test_a_file_of_tokens_is_its_owners_alone(place, content: str, mode: int, why: str) -> None:
    path = place.project / "tokens"
    path.write_text(content, encoding="utf-8")
    path.chmod(mode)
    done = place.run("mcp", "serve", "--http", "127.0.0.1:0", "--token-file", str(path))
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr


def test_a_session_belongs_to_the_token_that_opened_it(shared) -> None:
    _place, site = shared
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    request = urllib.request.Request(site.url, json.dumps(body).encode(), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {TOKEN}"})  # fmt: skip
    with urllib.request.urlopen(request, timeout=patience(30)) as answer:
        session = answer.headers["mcp-session-id"]
        answer.read()
    listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    stamps = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    post(site.url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=stamps)
    assert post(site.url, listed, headers=stamps)[0] == 200
    assert post(site.url, listed, headers=stamps, token=f"{TOKEN}-of-bob")[0] == 404


@pytest.mark.usefixtures("confined")
def test_a_call_that_is_given_up_over_http_ends_at_the_server(sites, era: str) -> None:
    import anyio

    site = sites("proxy", "docs")

    async def does(client: Any) -> Any:
        seen = anyio.Event()

        async def progress(*_told: Any) -> None:
            seen.set()

        async with anyio.create_task_group() as group:
            given = {"steps": 1_000, "seconds": 0.05}
            group.start_soon(lambda: client.call_tool("slow", given, progress_callback=progress))
            await seen.wait()
            group.cancel_scope.cancel()
        return (await client.call_tool("echo", {"text": "still there"})).content[0].text

    assert asyncio.run(asked(site.url, era, does)) == "still there"
    site.until(lambda: any(each.get("method") == "notifications/cancelled" for each in site.got()))


LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
LISTS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}


def is_ended(connection: socket.socket) -> bool:
    """Whether the other side has ended it; waits for that."""
    connection.settimeout(60)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_connections_that_ask_for_nothing_keep_nobody_out_and_do_not_pile_up(shared) -> None:
    _place, site = shared
    port = int(site.url.rpartition(":")[2].partition("/")[0])
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST_STRANGERS + 10)]
    try:
        silent[-1].sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")  # half of one
        assert post(site.url, LISTING, headers=LISTS)[0] == 200
        assert [is_ended(each) for each in silent[:10]] == [True] * 10
    finally:
        for each in silent:
            each.close()


def begun_without_a_token(site: Site) -> socket.socket:
    """A connection with the head of a request, whose body has yet to come."""
    port = int(site.url.rpartition(":")[2].partition("/")[0])
    connection = socket.create_connection(("127.0.0.1", port), timeout=patience(60))
    connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n")
    return connection


def test_a_connection_without_a_token_gets_one_answer(shared) -> None:
    _place, site = shared
    with begun_without_a_token(site) as connection:
        said = b""
        while more := connection.recv(4096):
            said += more
    assert said.startswith(b"HTTP/1.1 401 ")
    assert b"connection: close" in said.lower()


def test_a_request_without_a_token_is_answered_before_all_of_it_has_come(shared) -> None:
    _place, site = shared
    with begun_without_a_token(site) as connection:
        said = b""
        while not said.endswith(b"a token is needed\n") and (more := connection.recv(4096)):
            said += more
        assert said.endswith(b"a token is needed\n")
        connection.sendall(b"123456789")
        assert connection.recv(4096) == b""  # and nothing of the answer is lost by how it ends
