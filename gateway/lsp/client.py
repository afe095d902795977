"""One conversation with a language server over two pipes: requests get their own answers, whatever order they come in;
what the server asks is answered; a message that is none ends it."""

from __future__ import annotations

import os
import threading
from collections import deque
from time import monotonic

from gateway.core.errors import GatewayError
from gateway.lsp.answers import METHOD_NOT_FOUND, UnansweredError
from gateway.lsp.frames import FrameError, Frames, framed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.core.cancel import Cancel
    from gateway.lsp.frames import Message

# What may wait to be read by the server; one that reads nothing any more is not spoken to.
MOST_WAITING = 64 << 20
_LOOK_EVERY = 0.05
_STEP = 1 << 16


class ServerError(GatewayError):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class GoneError(GatewayError):
    """The conversation has ended; the text says why."""


class LateError(GatewayError):
    """No answer came in time, or the call was cancelled; the server was told that nobody waits any more."""


class _Waiting:
    __slots__ = ("answer", "done")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: Message | None = None


class Client:
    """Our side. Safe to use from several threads."""

    def __init__(
        self,
        into: int,
        out: int,
        *,
        asked: Callable[[str, Message], Any],
        told: Callable[[str, Message], None],
        ended: Callable[[], None],
        name: str = "",
    ) -> None:
        """`into`, `out`: descriptors to read from and to write to, owned from now on. `asked`: gives the result for a
        request of the server's, or raises UnansweredError; `told`: hears its notifications; `ended`: is called once
        when nothing more can come. All three are called from one thread of ours and must not block."""
        self._into, self._out = into, out
        self._asked, self._told, self._when_ended = asked, told, ended
        self._lock = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0
        self.ended = ""
        self._threads = [
            threading.Thread(target=does, name=f"gateway-lsp-{name}", daemon=True) for does in (self._read, self._write)
        ]
        for each in self._threads:
            each.start()

    def request(self, method: str, params: Any, seconds: float, cancel: Cancel) -> Any:
        """What the server answers. Raises ServerError, GoneError and LateError."""
        waiting = _Waiting()
        with self._lock:
            self._number += 1
            number = self._number
            self._waiting[number] = waiting
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            end = monotonic() + seconds
            while not waiting.done.wait(_LOOK_EVERY):
                why = ""
                if cancel.is_set:
                    why = "the call was cancelled"
                elif monotonic() > end:
                    why = f"it did not answer within {seconds:g} s"
                if why:
                    self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
                    raise LateError(why)
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        answer = waiting.answer
        if answer is None:
            raise GoneError(self.ended)
        error = answer.get("error")
        if error is not None:
            given = error if isinstance(error, dict) else {}
            code, said = given.get("code"), given.get("message")
            raise ServerError(code if isinstance(code, int) else 0, str(said or "the answer was none"))
        return answer.get("result")

    def notify(self, method: str, params: Any) -> None:
        """Tells the server. Raises GoneError."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def end(self, why: str) -> None:
        """Nothing more is said or heard; what waits for an answer gets none."""
        with self._lock:
            if self.ended:
                return
            self.ended = why
            waiting = list(self._waiting.values())
            self._lock.notify_all()
        for each in waiting:
            each.done.set()
        self._when_ended()

    def join(self, seconds: float) -> None:
        """Waits for the threads, which end when the server's end of the pipes is closed."""
        for each in self._threads:
            if each is not threading.current_thread():
                each.join(seconds)

    def _send(self, message: Message) -> None:
        data = framed(message)
        with self._lock:
            is_too_much = self._queued + len(data) > MOST_WAITING
            if not self.ended and not is_too_much:
                self._queue.append(data)
                self._queued += len(data)
                self._lock.notify_all()
                return
        if is_too_much:
            self.end("it does not read what it is sent")
        raise GoneError(self.ended)

    # ---------------------------------------------------------------------------------------------- its two threads

    def _write(self) -> None:
        try:
            while True:
                with self._lock:
                    while not self._queue and not self.ended:
                        self._lock.wait()
                    if not self._queue:
                        return
                    data = self._queue.popleft()
                view = memoryview(data)
                while view:
                    view = view[os.write(self._out, view) :]
                with self._lock:
                    self._queued -= len(data)
        except OSError:
            self.end("it has closed its input")
        finally:
            os.close(self._out)

    def _read(self) -> None:
        frames, why = Frames(), "it has closed its output"
        try:
            while not self.ended and (data := os.read(self._into, _STEP)):
                for message in frames.feed(data):
                    self._take(message)
        except (FrameError, GoneError) as error:
            why = f"it sent {error}"
        except Exception as error:
            why = f"what it sent could not be taken ({type(error).__name__})"
        finally:
            self.end(why)
            os.close(self._into)

    def _take(self, message: Message) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        given = params if isinstance(params, dict) else {}
        if isinstance(method, str):
            if "id" in message:
                self._answer(number, method, given)
            else:
                self._told(method, given)
            return
        with self._lock:
            is_ours = isinstance(number, int) and not isinstance(number, bool)
            waiting = self._waiting.get(number) if is_ours else None  # type: ignore[arg-type]
        if waiting is not None and not waiting.done.is_set():
            waiting.answer = message
            waiting.done.set()

    def _answer(self, number: Any, method: str, params: Message) -> None:
        answer: Message = {"jsonrpc": "2.0", "id": number}
        try:
            answer["result"] = self._asked(method, params)
        except UnansweredError as error:
            answer["error"] = {"code": METHOD_NOT_FOUND, "message": str(error)}
        self._send(answer)
