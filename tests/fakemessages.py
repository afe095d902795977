"""A Messages API on the loopback that says what a script says, plain or as a stream. It keeps what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeMessages:
    """`replies`: the content of each reply, in order: texts, and calls as (tool, input)."""

    def __init__(self, replies: list[list[str | tuple[str, Any]]]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._replies = replies
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                fake.asked.append(json.loads(self.rfile.read(length)))
                message = fake._message(len(fake.asked) - 1)
                streams = fake.asked[-1].get("stream") is True
                body = _events(message) if streams else json.dumps(message).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if streams else "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_what: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def results(self) -> list[dict[str, Any]]:
        """All tool results that the model was shown, in order."""
        found = []
        for asked in self.asked:
            content = asked["messages"][-1]["content"] if asked["messages"] else ""
            if isinstance(content, list):
                found += [each for each in content if each["type"] == "tool_result"]
        return found

    def _message(self, turn: int) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        for place, each in enumerate(self._replies[min(turn, len(self._replies) - 1)]):
            if isinstance(each, str):
                content.append({"type": "text", "text": each})
            else:
                use = {"type": "tool_use", "id": f"toolu_{turn}_{place}", "name": each[0], "input": each[1]}
                content.append(use)
        calls = any(each["type"] == "tool_use" for each in content)
        return {
            "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": "fake", "content": content,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip


def _events(message: dict[str, Any]) -> bytes:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)
