"""A Messages API on the loopback that fails in the ways that real ones do, to be spoken to by the real SDK.

Each request is answered by the next of `answers`: a list of parts that are sent one after the other. A part is an event
(a dict), raw bytes, or one of the marks below. A `Status` stands alone.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from random import Random

RESET, CLOSE, SILENCE, ENDLESS = "reset", "close", "silence", "endless"


class Status(NamedTuple):
    """A response that is no stream."""

    code: int
    kind: str = "some_error"
    said: str = "it said no"
    headers: tuple[tuple[str, str], ...] = ()


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **what: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": what}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def error(kind: str, said: str = "it said no") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": said}}


def begin(**usage: int) -> dict[str, Any]:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1, **usage},
    }  # fmt: skip
    return {"type": "message_start", "message": message}


def end(reason: str, tokens: int = 9) -> list[dict[str, Any]]:
    changed = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": changed, "usage": {"output_tokens": tokens}},
        {"type": "message_stop"},
    ]


def says(text: str, reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    """A reply of one text."""
    block = [start(0, type="text", text=""), delta(0, type="text_delta", text=text), stop(0)]
    return [begin(**usage), *block, *end(reason)]


def calls(tool: str, given: dict[str, Any], use_id: str = "toolu_1", reason: str = "tool_use") -> list[dict[str, Any]]:
    """A reply of one call."""
    text = json.dumps(given)
    block = [
        start(0, type="tool_use", id=use_id, name=tool, input={}),
        delta(0, type="input_json_delta", partial_json=text[:5]),
        delta(0, type="input_json_delta", partial_json=text[5:]),
        stop(0),
    ]
    return [begin(), *block, *end(reason)]


class FailingMessages:
    """The server. `asked`: the requests that came, as they were read; `pace`: what says at random where what is sent is
    broken up and how long the next piece takes, None to send all of it at once."""

    def __init__(self) -> None:
        self.pace: Random | None = None
        self.answers: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self._over = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _peer = self._server.accept()
            except OSError:
                return
            if self._over.is_set():
                connection.close()
                return
            serving = threading.Thread(target=self._serve, args=(connection,))
            serving.start()
            self._threads.append(serving)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                length = 0
                while (line := lines.readline()) not in (b"\r\n", b""):
                    name, _colon, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                if not length:
                    return
                self.asked.append(json.loads(lines.read(length)))
                self._answer(connection, self.answers.pop(0))
            except OSError:
                return  # whoever asked is gone

    def _answer(self, connection: socket.socket, answer: Any) -> None:
        if isinstance(answer, Status):
            body = json.dumps(error(answer.kind, answer.said)).encode()
            head = [f"HTTP/1.1 {answer.code} X", "content-type: application/json", f"content-length: {len(body)}"]
            head += [f"{name}: {value}" for name, value in answer.headers]
            connection.sendall("\r\n".join([*head, "connection: close", "", ""]).encode() + body)
            return None
        if answer == [RESET]:
            return _reset(connection)
        # One answer a connection, and said so: else a client may ask on one that is just being closed.
        fields = b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + fields)
        for part in answer:
            if part == RESET:
                return _reset(connection)
            if part == CLOSE:
                return None
            if part == SILENCE:
                self._over.wait(60)
                return None
            if part == ENDLESS:
                while not self._over.is_set():
                    _chunk(connection, _event(delta(0, type="text_delta", text="on and on " * 1_000)))
            self._chunk(connection, part if isinstance(part, bytes) else _event(part))
        connection.sendall(b"0\r\n\r\n")
        return None

    def _chunk(self, connection: socket.socket, data: bytes) -> None:
        pace, begin = self.pace, 0
        if pace is not None:
            for place in sorted(pace.sample(range(1, len(data)), min(2, len(data) - 1))):
                _chunk(connection, data[begin:place])
                begin = place
                self._over.wait(pace.uniform(0, MOST_PAUSE))
        _chunk(connection, data[begin:])

    def close(self) -> None:
        self._over.set()
        with socket.create_connection(self._server.getsockname()):
            pass
        self._accepting.join()
        self._server.close()
        for each in self._threads:
            each.join()


MOST_PAUSE = 0.01


def _event(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _chunk(connection: socket.socket, data: bytes) -> None:
    connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
