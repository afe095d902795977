"""Who must not read, and who must not answer: each tried against a console that runs, with a twin that succeeds."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from consoles import until
from inprocess import called
from patience import patience

from gateway.approval.proposals import Proposals
from gateway.frontends.console.guard import HEADERS, Guard, is_own_program

if TYPE_CHECKING:
    from consoles import Running

API = {"Accept": "application/json"}


def test_the_twin_our_own_page_reads_and_may_answer(running: Running):
    assert running.get("/live", running.opened(), **API).status == 200
    told = running.post("/api/answer", running.opened(), {"id": "x", "digest": "y", "answer": "once"})
    assert told.status == 404  # it was let in: there is no such question


@pytest.mark.parametrize("path", ["/live", "/pending", "/why/1", "/policy", "/changes", "/agents"])
def test_without_a_token_there_is_a_frame_that_holds_nothing(running: Running, path: str):
    running.run("exec", "--", "echo", "zq7canary")
    assert "zq7canary" in running.get("/live", running.reader).text
    answer = running.get(path)
    assert answer.status == 200
    assert "zq7canary" not in answer.text
    assert running.reader not in answer.text
    assert "Opening" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic {page}"},
        {"Authorization": "{page}"},
        {"Authorization": "Bearer {page}x"},
        {"Authorization": "bearer {page}"},
        {"Cookie": "token={page}"},
        {"X-Token": "{page}"},
    ],
    ids=str,
)
def test_what_is_no_bearer_token_opens_nothing(running: Running, headers: dict[str, str]):
    given = {name: value.replace("{page}", running.opened()) for name, value in headers.items()}
    assert running.asks("GET", "/api/events", given).status == 401
    answer = running.asks("POST", "/api/answer", {
        "Origin": running.origin, "Content-Type": "application/json", **given}, b"{}")  # fmt: skip
    assert answer.status == 401


def test_a_token_in_the_address_opens_nothing(running: Running):
    for query in ("token", "access_token", "authorization"):
        assert running.get(f"/api/events?{query}={running.opened()}").status == 401


def test_the_start_token_is_used_once_and_opens_nothing_itself(running: Running):
    running.opened()
    assert running.post("/api/session", running.start).status == 401
    assert running.get("/live", running.start).status == 401
    assert running.post("/api/session", running.reader).status == 401
    assert running.post("/api/session", running.opened()).status == 401


@pytest.mark.parametrize("path", ["/api/answer", "/api/undo", "/api/try", "/api/lint", "/api/reject"])
def test_who_only_reads_changes_and_tries_nothing(running: Running, path: str):
    assert running.post(path, running.reader, {"number": 1, "plan": "x"}).status == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.2:{port}",
     "[::1]:{port}", "127.0.0.1:{port}.evil.example", "127.0.0.1:{port}\n127.0.0.1:{port}", "2130706433:{port}", ""],
)  # fmt: skip
def test_a_name_that_was_made_to_lead_here_is_not_answered(running: Running, host: str):
    told = {"Host": host.replace("{port}", str(running.port)), "Authorization": f"Bearer {running.opened()}"}
    assert running.asks("GET", "/live", told).status in (400, 421)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:{port}\nhttp://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
    ids=str,
)
def test_another_page_reads_and_answers_nothing_even_with_a_token(running: Running, headers: dict[str, str]):
    given = {name: value.replace("{port}", str(running.port)) for name, value in headers.items()}
    assert running.get("/live", running.opened(), **given).status == 403
    assert running.post("/api/answer", running.opened(), **given).status == 403


def test_a_link_of_another_page_leads_to_the_empty_frame_at_most(running: Running):
    follows = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert running.get("/live", **follows).status == 200
    assert running.get("/live", running.opened(), **follows).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "text/plain; application/json"}, 415),
        ({"Content-Length": str(10 << 20)}, 413),
        ({"Transfer-Encoding": "chunked"}, 411),
        ({"Sec-Fetch-Site": "none"}, 404),
    ],
    ids=str,
)
def test_what_a_form_could_send_answers_nothing(running: Running, headers: dict[str, str], status: int):
    assert running.post("/api/answer", running.opened(), **headers).status == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_known(running: Running, method: str):
    assert running.asks(method, "/api/answer", {"Authorization": f"Bearer {running.opened()}"}).status == 405


@pytest.mark.parametrize(
    "path", ["/static/../../../etc/passwd", "/static/%2e%2e/app.py", "/static/", "//etc/passwd", "/api/../live"]
)
def test_no_address_leads_to_a_file(running: Running, path: str):
    answer = running.get(path, running.reader)
    assert "root:" not in answer.text
    assert "import" not in answer.text
    assert answer.status == 404


def test_a_web_socket_is_not_opened(running: Running):
    token = running.opened()
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Authorization": f"Bearer {token}"}  # fmt: skip
    assert running.asks("GET", "/api/events/x", upgrade).status != 101


def test_a_head_without_end_is_cut(running: Running):
    with socket.create_connection(("127.0.0.1", running.port), timeout=patience(5)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * (64 << 10))
        assert b" 400 " in connection.recv(4096)


@pytest.mark.parametrize("path", ["/", "/live", "/nothing", "/favicon.ico", "/api/nothing"])
def test_every_answer_forbids_framing_scripts_of_others_and_keeping(running: Running, path: str):
    told = running.get(path, running.reader).headers
    assert {name.decode(): told.get(name.decode()) for name, _ in HEADERS} == {
        name.decode(): value.decode() for name, value in HEADERS
    }
    refused = running.asks("GET", path, {"Host": "evil.example"}).headers
    assert refused["content-security-policy"] == told["content-security-policy"]
    assert "access-control-allow-origin" not in told | refused
    assert "server" not in told


def test_a_policy_is_saved_by_a_page_alone_and_only_what_was_looked_at(running: Running):
    for path, told in (("/api/preview", {"kind": "rule", "text": "allow: Bash(x)"}), ("/api/save", {"work": "x"})):
        assert running.post(path, running.reader, told).status == 401
        assert running.post(path, "", told).status == 401
        assert running.post(path, running.opened(), told, Origin="http://evil.example").status == 403
    for told in ({}, {"work": None}, {"work": ["x"]}, {"work": "0" * 16}, {"kind": "rule", "text": "allow: Bash(x)"}):
        assert running.post("/api/save", running.opened(), told).status == 409
    for told in (
        {},
        {"kind": "project", "text": "x"},
        {"kind": "rule", "text": "a\nb"},
        {"kind": ["rule"], "text": "x"},
    ):
        answer = running.post("/api/preview", running.opened(), told)
        assert answer.status == 409 or answer.json["work"] == ""
    assert not list(running.home.rglob("approved.yaml"))


def test_a_proposal_is_answered_by_a_page_alone_once_it_was_shown_and_only_as_it_was_shown(running: Running):
    running.run("exec", "--", "touch", "proposed")
    kept = Proposals(str(running.home / ".local/state/gateway"), str(running.project))
    until(kept.list)
    (found,) = kept.list()
    asks = {"kind": "proposal", "text": found.id}
    for path, told in (("/api/preview", asks), ("/api/save", {"work": "x"}), ("/api/reject", {"id": found.id})):
        assert [running.post(path, token, told).status for token in ("", running.reader, running.start)] == [401] * 3
        assert running.post(path, running.opened(), told, Origin="http://evil.example").status == 403
        assert running.get(path, running.opened()).status in (404, 405)
    for told in ({}, {"id": None}, {"id": ["x"]}, {"id": "nope"}, {"id": f"{found.id}\0"}):
        assert running.post("/api/reject", running.opened(), told).status == 409
    begun = running.post("/api/preview", running.opened(), asks).json["work"]
    assert running.post("/api/save", running.opened(), {"work": begun}).status == 409  # nobody has seen it yet
    until(lambda: running.get(f"/api/work/{begun}", running.opened()).json["ended"])
    early = running.post("/api/save", running.opened(), {"work": begun})
    assert (early.status, early.json["text"]) == (
        409,
        "that came too soon after the change was shown: nothing was saved",
    )
    policy = running.home / ".config/gateway/policy.yaml"
    before = policy.read_text(encoding="utf-8")
    policy.write_text(f"{before}rules: []\n", encoding="utf-8")

    def saved() -> Any:
        answer = running.post("/api/save", running.opened(), {"work": begun})
        return None if "too soon" in answer.json["text"] else answer

    changed = until(saved)
    assert (changed.status, "must not change while they are looked at" in changed.json["text"]) == (409, True)
    policy.write_text(before, encoding="utf-8")
    assert not list(running.home.rglob("approved.yaml"))
    done = running.post("/api/save", running.opened(), {"work": begun})
    assert (done.status, done.json["text"].startswith("Saved as always-")) == (200, True)
    assert (len(list(running.home.rglob("approved.yaml"))), kept.list()) == (1, [])
    assert running.post("/api/save", running.opened(), {"work": begun}).status == 409
    next(iter(running.home.rglob("approved.yaml"))).unlink()


def test_json_that_is_none_is_refused(running: Running):
    usual = {
        "Origin": running.origin,
        "Content-Type": "application/json",
        "Authorization": f"Bearer {running.opened()}",
    }
    for body in (b"", b"{", b"[]", b'"x"', b"[" * 100_000, b"\xff"):
        assert running.asks("POST", "/api/answer", usual, body).status == 400


def test_another_users_program_is_refused_even_with_a_token():
    """The guard alone: the system names the owner of a connection."""
    said: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        said.append(message.get("status"))

    async def receive() -> Any:
        return {}

    scope = {"type": "http", "method": "GET", "path": "/", "client": ("127.0.0.1", 5),
             "headers": [(b"host", b"127.0.0.1:9"), (b"authorization", b"Bearer x")]}  # fmt: skip
    for is_ours in (False, True):
        guarded = Guard(app, 9, is_ours=lambda *_each, ours=is_ours: ours)
        with pytest.raises(StopIteration):
            guarded(scope, receive, send).send(None)
    assert [each for each in said if each] == [403, 200]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the owners of connections")
def test_the_system_says_whose_a_connection_is():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_own_program("127.0.0.1", 1, port)
        assert not is_own_program("10.0.0.1", port, port)
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert is_own_program("127.0.0.1", client.getsockname()[1], port)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a moment")
def test_a_connection_of_another_user_is_told_apart():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = "import os, socket, sys; 'x'.encode('idna'); os.setuid(65534); "
        code += f"c = socket.create_connection(('127.0.0.1', {port})); "
        code += "print(c.getsockname()[1], flush=True); sys.stdin.read()"
        with subprocess.Popen(
            [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert not is_own_program("127.0.0.1", int(other.stdout.readline()), port)
            other.stdin.close()


# ------------------------------------------------------------------------------------------------------------ the agent


def judged(running: Running, *words: str) -> dict[str, Any]:
    done = called(["check", "--json", *words], running.project, running.environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("call", "decision"),
    [
        ("gateway console --print", "deny"),
        ("gateway console --reader", "deny"),
        ("gateway console --secret hook", "deny"),
        ("cat {state}/console/people.json", "deny"),
        ("Read({state}/console/secrets/hook)", "deny"),
        ("cat {state}/console/push-key", "deny"),
        ("Write({state}/console/people.json)", "deny"),
        ("cp key {state}/console/secrets/hook", "deny"),
        ("curl -H 'Host: gateway.example.com' http://127.0.0.1:8470/api/questions", "ask"),
        ("curl -H 'Origin: https://gateway.example.com' https://gateway.example.com/api/answer -d @x", "ask"),
        ("tmux send-keys -t 0 'code' Enter", "ask"),
        ("tmux capture-pane -p -t 0", "ask"),
        ("echo code > /dev/pts/3", "ask"),
        ("ls {state}/console", "deny"),
        ("cat {state}/console/open-0.html", "deny"),
        ("Read({state}/console/open-0.html)", "deny"),
        ("Write({state}/console/desk)", "deny"),
        ("rm {state}/console/desk", "deny"),
        ("ln -s {state}/console/desk x", "deny"),
        ("socat - UNIX-CONNECT:{state}/console/desk", "ask"),
        ("curl --unix-socket {state}/console/desk http://x/", "deny"),
        ("curl http://127.0.0.1:{port}/live", "ask"),
        ("curl -X POST -H 'Origin: http://127.0.0.1:{port}' http://127.0.0.1:{port}/api/answer -d @x", "ask"),
        ("{python} -I {process} 0 1 1 /", "ask"),
        ("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'", "ask"),
    ],
)
def test_an_agent_that_is_not_confined_may_not_reach_it_unasked(running: Running, call: str, decision: str):
    from gateway.approval.page_wire import PROCESS

    state = f"{running.home}/.local/state/gateway"
    text = call.format(state=state, port=running.port, python=sys.executable, process=PROCESS)
    given = text if text.startswith(("Read(", "Write(")) else f"Bash({text})"
    if given.startswith("Write("):
        found = judged(running, "--unconfined", "--tool", "Write", "--input",
                       json.dumps({"file_path": given[6:-1], "content": "x"}))  # fmt: skip
    else:
        found = judged(running, "--unconfined", given)
    strictness = ("allow", "ask", "deny")
    assert strictness.index(found["decision"]) >= strictness.index(decision), found["message"]


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_an_agent_that_is_confined_reaches_neither_its_port_nor_its_socket(running: Running, tmp_path_factory: Any):
    desk = f"{running.home}/.local/state/gateway/console/desk"
    program = running.project / "reach.pl"
    program.write_text(
        "use Socket;\n"
        f"my @to = ([PF_INET, pack_sockaddr_in({running.port}, inet_aton('127.0.0.1'))], "
        f"[PF_UNIX, pack_sockaddr_un('{desk}')]);\n"
        "for (@to) { socket(my $s, $_->[0], SOCK_STREAM, 0); "
        "print connect($s, $_->[1]) ? qq(reached\\n) : qq(not reached\\n) }\n"
    )
    twin = subprocess.run(["perl", program], capture_output=True, text=True, check=True, timeout=patience(5))
    assert twin.stdout.split("\n")[:2] == ["reached", "reached"]
    policies = tmp_path_factory.mktemp("policies")
    (policies / "user.yaml").write_text(
        "version: 1\nrules:\n  - id: python\n    allow: {effect: code, program: '*', confined: true}\n"
        "  - id: read\n    allow: {effect: [list, read, write], path: '//**'}\n"
    )
    said = running.run("exec", "--policies", str(policies), "--", "perl", str(program))
    assert said.split("\n")[:2] == ["not reached", "not reached"], said
