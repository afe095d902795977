"""The Messages API, spoken by the official SDK to a server of our own on the loopback address."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core.cancel import Cancel
from gateway.llm.claude import Claude
from gateway.llm.model import ModelError, Reply, Request, Said

if TYPE_CHECKING:
    from collections.abc import Iterator

# Looked for, and loaded with the first test: loading it takes longer than all of them.
pytestmark = [
    pytest.mark.skipif(find_spec("anthropic") is None, reason="the package anthropic is not installed"),
    pytest.mark.usefixtures("one_look_at_certificates"),
]


def client_of(url: str, **how: Any) -> Any:
    import anthropic

    return anthropic.Anthropic(api_key="none", base_url=url, **how)


MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "stop_reason": None,
    "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 3},
}  # fmt: skip


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **what: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": what}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str) -> list[dict[str, Any]]:
    changed = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": changed, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


WHOLE = [
    {"type": "message_start", "message": MESSAGE},
    start(0, type="thinking", thinking="", signature=""),
    delta(0, type="thinking_delta", thinking="Hm."),
    delta(0, type="signature_delta", signature="c2ln"),
    stop(0),
    start(1, type="text", text=""),
    delta(1, type="text_delta", text="I will "),
    delta(1, type="text_delta", text="look."),
    stop(1),
    start(2, type="tool_use", id="toolu_1", name="Read", input={}),
    delta(2, type="input_json_delta", partial_json='{"file_pa'),
    delta(2, type="input_json_delta", partial_json='th": "a"}'),
    stop(2),
    *end("tool_use"),
]


class Server:
    """Answers each request with the next of its answers, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self.goes_on = threading.Event()
        mine = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                mine.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                answer = mine.answers.pop(0)
                status = answer if isinstance(answer, int) else 200
                self.send_response(status)
                self.send_header("Content-Type", "application/json" if status != 200 else "text/event-stream")
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                if status != 200:
                    said = {"type": "error", "error": {"type": "some_error", "message": f"said {status}"}}
                    self.wfile.write(json.dumps(said).encode())
                    return
                for each in answer:
                    if each is None:
                        self.wfile.flush()
                        mine.goes_on.wait(30)
                        continue
                    self.wfile.write(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode())

            def log_message(self, *_words: Any) -> None:
                """Nothing is said of requests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.goes_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def model(server: Server) -> Iterator[Claude]:
    with client_of(server.url) as client:
        yield Claude("claude-x", client=client)


ASKED = Request("Be brief.", ({"role": "user", "content": "hello"},), ({"name": "Read", "input_schema": {}},), 100)


def test_a_reply_is_streamed_and_whole(server: Server, model: Claude) -> None:
    server.answers = [WHOLE]
    told: list[Said] = []
    found = model.reply(ASKED, listener=told.append)
    assert told == [
        Said("thinking", "Hm."), Said("text", "I will "), Said("text", "look."),
        Said("input", '{"file_pa'), Said("input", 'th": "a"}'),
    ]  # fmt: skip
    assert found == Reply(
        (
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a"}},
        ),
        "tool_use",
        {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 3},
    )


def test_what_is_asked_is_what_the_api_gets(server: Server, model: Claude) -> None:
    server.answers = [WHOLE, WHOLE]
    model.reply(ASKED)
    model.reply(ASKED.replace(model="claude-y", system=""))
    first, second = server.asked
    cached = {"type": "ephemeral"}
    assert first == {
        "model": "claude-x",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": cached}],
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [{"name": "Read", "input_schema": {}}],
        "cache_control": cached,
        "stream": True,
    }
    assert (second["model"], second["system"]) == ("claude-y", [])


def test_a_reply_can_be_sent_back_as_it_came(server: Server, model: Claude) -> None:
    server.answers = [WHOLE, WHOLE]
    found = model.reply(ASKED)
    model.reply(ASKED.replace(messages=(*ASKED.messages, {"role": "assistant", "content": list(found.content)})))
    assert server.asked[1]["messages"][1]["content"] == [dict(block) for block in found.content]


def test_a_server_is_asked_once(server: Server, model: Claude) -> None:
    server.answers = [529, WHOLE]
    with pytest.raises(ModelError, match="529") as caught:
        model.reply(ASKED)
    assert (caught.value.kind, caught.value.wait, len(server.asked)) == ("busy", 0.001, 1)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "(401): said 401"),
        (404, "name a model that your account has"),
        (400, "said 400"),
    ],
)
def test_what_the_api_refuses_is_said_with_a_remedy(server: Server, model: Claude, status: int, said: str) -> None:
    server.answers = [status]
    with pytest.raises(ModelError) as caught:
        model.reply(ASKED)
    assert said in str(caught.value)


def test_a_reply_that_breaks_off_is_no_reply(server: Server, model: Claude) -> None:
    server.answers = [[*WHOLE[:8], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]]
    with pytest.raises(ModelError, match="Overloaded"):
        model.reply(ASKED)


def test_a_reply_is_left_when_it_is_cancelled(server: Server, model: Claude) -> None:
    server.answers = [[*WHOLE[:7], None, *WHOLE[7:]]]
    cancel = Cancel()

    def listener(said: Said) -> None:
        if said.kind == "text":
            cancel.set()
            server.goes_on.set()

    with pytest.raises(ModelError, match="cancelled"):
        model.reply(ASKED, listener=listener, cancel=cancel)
    cancel.close()


def test_without_a_key_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        Claude().reply(ASKED)
    assert str(caught.value).endswith("; set ANTHROPIC_API_KEY, or let a script answer (`--script FILE`)")


def test_nobody_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    with (
        client_of("http://127.0.0.1:1", max_retries=1) as client,
        pytest.raises(ModelError, match="Connection error"),
    ):
        Claude(client=client).reply(ASKED)


def test_what_is_no_character_is_sent_as_its_escape(server: Server, model: Claude) -> None:
    server.answers = [WHOLE]
    tools = ({"name": "Read", "description": "half \ud83d", "input_schema": {"a\udcfe": 1}},)
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "ä \udc80"}]}
    assert model.reply(Request("in /pro\udcffject", ({"role": "user", "content": [result]},), tools)).calls
    (asked,) = server.asked
    told = (asked["system"][0]["text"], asked["messages"][0]["content"][0]["content"][0]["text"], asked["tools"])
    assert told == (
        r"in /pro\udcffject",
        r"ä \udc80",
        [{"name": "Read", "description": r"half \ud83d", "input_schema": {r"a\udcfe": 1}}],
    )
