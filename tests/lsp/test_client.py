"""One conversation, with a server that the test plays itself."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from gateway.core.cancel import NEVER, Cancel
from gateway.lsp.answers import UnansweredError
from gateway.lsp.client import Client, GoneError, LateError, ServerError
from gateway.lsp.frames import Frames, framed


class Played:
    """The other end of a client's pipes."""

    def __init__(self) -> None:
        (self.into, out), (into, self.out) = os.pipe(), os.pipe()
        self.told: list[Any] = []
        self.ends = 0
        self.frames = Frames()
        self.pending: list[Any] = []
        self.client = Client(into, out, asked=self._asked, told=lambda *said: self.told.append(said), ended=self._end)

    def _asked(self, method: str, params: Any) -> Any:
        if method == "unknown":
            raise UnansweredError("not answered here")
        return [method, params]

    def _end(self) -> None:
        self.ends += 1

    def hear(self) -> Any:
        """The next message of the client."""
        while not self.pending:
            self.pending += self.frames.feed(os.read(self.into, 1 << 16))
        return self.pending.pop(0)

    def say(self, **message: Any) -> None:
        os.write(self.out, framed({"jsonrpc": "2.0", **message}))

    def close(self) -> None:
        """As the process of a server ends."""
        for name in ("into", "out"):
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)


@pytest.fixture
def played() -> Any:
    made = Played()
    yield made
    made.close()
    made.client.end("the test is over")
    made.client.join(30)


def asking(played: Played, method: str, found: dict[str, Any], cancel: Cancel = NEVER) -> threading.Thread:
    """A thread that asks, and keeps what came of it."""

    def ask() -> None:
        try:
            found[method] = played.client.request(method, {}, 30, cancel)
        except (GoneError, LateError, ServerError) as error:
            found[method] = f"{type(error).__name__}: {error}"

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_each_request_gets_its_own_answer_in_whatever_order(played: Played) -> None:
    found: dict[str, Any] = {}
    threads = [asking(played, name, found) for name in ("a", "b", "c")]
    asked = [played.hear() for _ in threads]
    played.say(id=999, result="nobody asked")
    played.say(id=True, result="no number")
    played.say(id=None, error={"code": 1, "message": "of nothing"})
    for each in sorted(asked, key=lambda message: message["method"], reverse=True):
        played.say(id=each["id"], result=each["method"].upper())
        played.say(id=each["id"], result="once more")
    for thread in threads:
        thread.join(30)
    assert found == {"a": "A", "b": "B", "c": "C"}


def test_what_the_server_asks_is_answered(played: Played) -> None:
    played.say(id="x", method="known", params={"a": 1})
    played.say(id=7, method="unknown")
    assert [played.hear() for _ in range(2)] == [
        {"jsonrpc": "2.0", "id": "x", "result": ["known", {"a": 1}]},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "not answered here"}},
    ]


def test_what_the_server_tells_is_heard(played: Played) -> None:
    played.say(method="told", params=[1])
    played.say(id=1, method="known")  # whose answer says that what came before was heard
    played.hear()
    assert played.told == [("told", {})]


def test_the_end_of_a_server_ends_what_waits(played: Played) -> None:
    found: dict[str, Any] = {}
    thread = asking(played, "a", found)
    played.hear()
    played.close()
    thread.join(30)
    assert found == {"a": "GoneError: it has closed its output"}
    with pytest.raises(GoneError, match="it has closed its output"):
        played.client.notify("b", {})
    assert played.ends == 1


def test_a_message_that_is_none_ends_what_waits(played: Played) -> None:
    found: dict[str, Any] = {}
    thread = asking(played, "a", found)
    played.hear()
    os.write(played.out, b"Warning: something\n")
    thread.join(30)
    assert found == {"a": "GoneError: it sent something that is no message of the protocol"}


def test_a_cancelled_request_is_told_and_its_answer_is_nobodys(played: Played) -> None:
    found: dict[str, Any] = {}
    cancel = Cancel()
    thread = asking(played, "a", found, cancel)
    asked = played.hear()
    cancel.set()
    thread.join(30)
    cancel.close()
    assert found == {"a": "LateError: the call was cancelled"}
    told = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": asked["id"]}}
    assert played.hear() == told
    played.say(id=asked["id"], result="late")
    other = asking(played, "b", found)
    played.say(id=played.hear()["id"], result="in time")
    other.join(30)
    assert found["b"] == "in time"


def test_a_server_that_reads_nothing_is_not_spoken_to_for_ever(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.lsp.client.MOST_WAITING", 1 << 20)

    def much() -> None:
        for _ in range(100):
            played.client.notify("much", {"text": "x" * 50_000})

    with pytest.raises(GoneError, match="it does not read what it is sent"):
        much()


def test_a_fault_of_ours_while_listening_ends_the_conversation(played: Played) -> None:
    played.client._told = lambda *_given: 1 // 0  # type: ignore[method-assign, assignment, return-value]
    found: dict[str, Any] = {}
    thread = asking(played, "a", found)
    played.hear()
    played.say(method="told")
    thread.join(30)
    assert found == {"a": "GoneError: what it sent could not be taken (ZeroDivisionError)"}
