"""A model on 127.0.0.1 that follows a script, for agents that run without a network: Anthropic's messages, OpenAI's
responses and Gemini's contents, streamed or whole.

Which step answers follows from the request alone: how many turns of the model it already holds.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = list[tuple[str, dict[str, Any]]]  # the calls of one turn; none is the end of the task
LAST_WORD = "All done."
_MADE = {"function_call", "custom_tool_call", "reasoning"}


class Model:
    """Serves from `with` to its end. `steps`: the calls of each turn, in the client's own names and fields."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.requests: list[tuple[str, dict[str, Any]]] = []
        model = self

        class Handler(_Handler):
            serves = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Model:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def step(self, number: int) -> Step:
        """What is answered to the request of this number, from 0; [] behind the last one."""
        return self.steps[number] if number < len(self.steps) else []

    def results(self) -> list[str]:
        """What the model was shown of its calls, each as one text, in order."""
        found: dict[str, str] = {}
        for kind, body in self.requests:
            for name, text in _results(kind, body):
                found.setdefault(name, text)
        return list(found.values())


def _results(kind: str, body: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    if kind == "messages":
        for message in body.get("messages", ()):
            blocks = message.get("content")
            found += [
                (block["tool_use_id"], json.dumps(block.get("content"), ensure_ascii=False))
                for block in (blocks if isinstance(blocks, list) else ())
                if block.get("type") == "tool_result"
            ]
    elif kind == "responses":
        found += [
            (item["call_id"], json.dumps(item.get("output"), ensure_ascii=False))
            for item in body.get("input", ())
            if str(item.get("type", "")).endswith("_call_output")
        ]
    else:
        for number, message in enumerate(body.get("contents", ())):
            for part in message.get("parts") or ():
                answer = part.get("functionResponse")
                if answer:
                    name = str(answer.get("id") or number)
                    found.append((name, json.dumps(answer.get("response"), ensure_ascii=False)))
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    serves: Model

    def log_message(self, *_what: object) -> None:
        """Nobody reads it."""

    def do_HEAD(self) -> None:
        self._whole({})

    def do_GET(self) -> None:
        self._whole({"object": "list", "data": [], "models": [], "has_more": False})

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", ":countTokens")):
            self._whole({"input_tokens": 1, "totalTokens": 1})
        elif path.endswith("/messages"):
            self._messages(body)
        elif path.endswith("/responses"):
            self._responses(body)
        elif "enerateContent" in path:
            self._contents(body, "stream" in path)
        else:
            self._whole({})

    def _body(self) -> dict[str, Any]:
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            data = gzip.decompress(data)
        found = json.loads(data or b"{}")
        return found if isinstance(found, dict) else {}

    def _step(self, kind: str, body: dict[str, Any], number: int) -> Step:
        if not body.get("tools") and not _brings_tools(body):
            return []  # a title, a summary: no turn of the task
        self.serves.requests.append((kind, body))
        return self.serves.step(number)

    def _whole(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        text = "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(each)}\n\n" for name, each in events)
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _messages(self, body: dict[str, Any]) -> None:
        number = sum(message.get("role") == "assistant" for message in body.get("messages", ()))
        step = self._step("messages", body, number)
        blocks: list[dict[str, Any]] = [] if step else [{"type": "text", "text": LAST_WORD}]
        for at, (name, given) in enumerate(step):
            blocks.append({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": given})
        stop = "tool_use" if step else "end_turn"
        head = {
            "id": f"msg_{number}_{len(self.serves.requests)}", "type": "message", "role": "assistant",
            "model": body.get("model", "m"), "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if not body.get("stream"):
            self._whole({**head, "content": blocks, "stop_reason": stop})
            return
        events: list[tuple[str, dict[str, Any]]] = [
            ("message_start", {"message": {**head, "content": [], "stop_reason": None}})
        ]
        for at, block in enumerate(blocks):
            if block["type"] == "text":
                start: dict[str, Any] = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append(("content_block_start", {"index": at, "content_block": start}))
            events.append(("content_block_delta", {"index": at, "delta": delta}))
            events.append(("content_block_stop", {"index": at}))
        events.append(
            ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}})
        )
        events.append(("message_stop", {}))
        self._stream([(name, {"type": name, **each}) for name, each in events])

    def _responses(self, body: dict[str, Any]) -> None:
        number, inside = 0, False
        for item in body.get("input", ()):
            own = item.get("type") in _MADE or item.get("role") == "assistant"
            number += own and not inside
            inside = own
        step = self._step("responses", body, number)
        output: list[dict[str, Any]] = []
        if not step:
            said = [{"type": "output_text", "text": LAST_WORD, "annotations": []}]
            output.append({"type": "message", "role": "assistant", "id": "msg", "status": "completed", "content": said})
        for at, (name, given) in enumerate(step):
            server, slash, tool = name.partition("/")  # a tool of an MCP server is said with the server's name
            of_server = {"name": tool, "namespace": server} if slash else {"name": name}
            call = {"id": f"c_{number}_{at}", "call_id": f"call_{number}_{at}", "status": "completed", **of_server}
            if "custom" in given:
                output.append({"type": "custom_tool_call", **call, "input": given["custom"]})
            else:
                output.append({"type": "function_call", **call, "arguments": json.dumps(given)})
        head = {
            "id": f"resp_{number}", "object": "response", "created_at": 0, "model": body.get("model", "m"),
            "error": None, "incomplete_details": None, "parallel_tool_calls": True, "tools": [], "tool_choice": "auto",
            "metadata": {},
        }  # fmt: skip
        usage = {
            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
        }  # fmt: skip
        done = {**head, "status": "completed", "output": output, "usage": usage}
        if not body.get("stream"):
            self._whole(done)
            return
        opened = {**head, "status": "in_progress", "output": [], "usage": None}
        events: list[tuple[str, dict[str, Any]]] = [("response.created", {"response": opened})]
        for at, item in enumerate(output):
            started = {**item, "status": "in_progress"} | ({"content": []} if "content" in item else {})
            events.append(("response.output_item.added", {"output_index": at, "item": started}))
            events.append(("response.output_item.done", {"output_index": at, "item": item}))
        events.append(("response.completed", {"response": done}))
        self._stream([(name, {"type": name, "sequence_number": at, **each}) for at, (name, each) in enumerate(events)])

    def _contents(self, body: dict[str, Any], stream: bool) -> None:
        contents = body.get("contents", ())
        number = sum(
            message.get("role") == "model" and any("functionCall" in part for part in message.get("parts") or ())
            for message in contents
        )
        step = self._step("contents", body, number)
        parts: list[dict[str, Any]] = [] if step else [{"text": LAST_WORD}]
        for at, (name, given) in enumerate(step):
            parts.append({"functionCall": {"id": f"f_{number}_{at}", "name": name, "args": given}})
        answer = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "m", "responseId": f"r{number}",
        }  # fmt: skip
        if stream:
            self._stream([("", answer)])
        else:
            self._whole(answer)


def _brings_tools(body: dict[str, Any]) -> bool:
    """Newer clients of the responses hand over their tools among the input."""
    given = body.get("input")
    return isinstance(given, list) and any(item.get("type") == "additional_tools" for item in given)
