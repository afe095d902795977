"""Functions of a program's own with the policy before them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.api.guarding import RefusedError

POLICY = {
    "rules": [
        {"id": "may", "allow": {"tool": "mcp__app__send", "args": {"to": {"equals": "me"}}}},
        {"id": "never", "deny": {"tool": "mcp__app__send", "args": {"to": {"equals": "all"}}}, "because": "not all"},
    ]
}


@pytest.fixture
def sent() -> list[tuple[str, str]]:
    return []


@pytest.fixture(params=["plain", "a coroutine's"])
def send(request: Any, ground: Any, sent: list[tuple[str, str]]) -> Any:
    ground.says(POLICY)
    gateway = ground.open()

    def send(to: str, text: str = "hello") -> dict[str, Any]:
        if text == "broken":
            raise OSError("no line")
        sent.append((to, text))
        return {"sent": len(sent)}

    async def send_async(to: str, text: str = "hello") -> dict[str, Any]:
        await asyncio.sleep(0)
        return send(to, text)

    if request.param == "plain":
        return gateway.guard(send)
    guarded = gateway.guard(send_async, tool="send")
    return lambda *values, **named: asyncio.run(guarded(*values, **named))


def test_it_gives_what_the_function_gives(ground: Any, send: Any, sent: list[tuple[str, str]]) -> None:
    assert send("me", text="hi") == {"sent": 1}
    assert sent == [("me", "hi")]
    assert [each["decision"] for each in ground.records() if "decision" in each] == ["allow"]


def test_it_raises_what_the_function_raises(send: Any) -> None:
    with pytest.raises(OSError, match="no line"):
        send("me", "broken")


@pytest.mark.parametrize(("to", "why"), [("all", "not all"), ("somebody", "nobody to ask")])
def test_what_may_not_run_is_not_called(send: Any, sent: list[tuple[str, str]], to: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        send(to)
    assert sent == []


def test_it_may_stand_for_a_tool_that_is_known(ground: Any) -> None:
    gateway = ground.open()
    read = gateway.guard(lambda file_path: f"read {file_path}", tool="look", judged_as="Read")
    assert read("a.txt") == "read a.txt"
    with pytest.raises(RefusedError, match="secret-files"):
        read(file_path=str(ground.home / ".ssh" / "id_rsa"))
