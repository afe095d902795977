"""Messages on their way: whole ones, to who waits for them, in whose turn it is; and what is shown of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mcp.asking import Seal, bound_to
from gateway.mcp.json_rpc import CLOSED, RpcError, Wire
from gateway.mcp.lines import MOST_GARBAGE, MOST_LINE, Lines, encoded
from gateway.mcp.sanitised import WORST, Rules, cleaned, hides, shown, stricter, tool_for_client
from gateway.mcp.turns import Turn, Turns


def lines(*chunks: bytes) -> tuple[list[Any], list[str], list[bytes]]:
    found: list[Any] = []
    ends: list[str] = []
    garbage: list[bytes] = []
    protocol = Lines(found.append, ends.append, garbage=garbage.append)
    for chunk in chunks:
        protocol.data_received(chunk)
    return found, ends, garbage


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=6), st.data())
def test_messages_arrive_whole_however_they_are_cut(messages: list[Any], data: st.DataObject) -> None:
    stream = b"".join(map(encoded, messages))
    chunks = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        chunks.append(stream[:size])
        stream = stream[size:]
    assert lines(*chunks) == (messages, [], [])


def test_half_a_character_is_sent_as_an_escape() -> None:
    assert json.loads(encoded({"a": "\ud800 ä"})) == {"a": "\ud800 ä"}


def test_garbage_is_told_and_what_is_too_much_of_it_ends() -> None:
    assert lines(b"no\n{}\n\n  \n\xff\n[1]\n") == ([{}, [1]], [], [b"no", b"\xff"])
    assert lines(b"x\n" * MOST_GARBAGE)[1] == [f"it sent {MOST_GARBAGE:,} lines that are no messages"]
    assert lines(b"[" * 100_000 + b"\n{}\n")[0] == [{}]


def test_a_line_without_end_ends_the_connection() -> None:
    chunk = b"x" * (1 << 20)
    _found, ends, _garbage = lines(*([chunk] * ((MOST_LINE >> 20) + 1)), b"\n{}\n")
    assert ends == ["it sent a line of more than 16 MB"]


class Server:
    """The other end of a wire."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.told: list[tuple[str, Any]] = []
        self.wire = Wire(self._send, asked=self._asked, told=lambda *each: self.told.append(each))

    async def _send(self, message: dict[str, Any], _headers: Any) -> None:
        self.got.append(message)

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "fault":
            raise ValueError("secret words")
        return {"method": method, **params}


def test_each_request_gets_its_own_answer_and_strange_ones_change_nothing() -> None:
    async def main() -> None:
        server = Server()
        asking = [asyncio.ensure_future(server.wire.request("m", {"n": n})) for n in range(3)]
        await asyncio.sleep(0)
        ids = [each["id"] for each in server.got]
        strange: list[Any] = [
            None, [], 7, "x", {}, {"jsonrpc": "1.0", "id": ids[0], "result": {}},
            {"jsonrpc": "2.0", "id": 99, "result": {}},
            {"jsonrpc": "2.0", "id": True, "result": {}}, {"jsonrpc": "2.0", "id": str(ids[0]), "result": {}},
            {"jsonrpc": "2.0", "id": None, "error": {}},
        ]  # fmt: skip
        for message in strange:
            server.wire.take(message)
        for number in reversed(ids):
            server.wire.take({"jsonrpc": "2.0", "id": number, "result": {"of": number}})
            server.wire.take({"jsonrpc": "2.0", "id": number, "result": {"of": "somebody else"}})
        assert [each["of"] for each in await asyncio.gather(*asking)] == ids

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        ({"error": {"code": -1, "message": "m", "data": [1]}}, -1, "m"),
        ({"error": {"code": "x"}}, -32603, ""),
        ({"error": {}}, -32603, ""),
        ({"result": [1]}, -32603, "the server's answer is neither a result nor an error"),
        ({"result": {}, "error": {"code": 5, "message": "both"}}, 5, "both"),
        ({}, -32603, "the server's answer is neither a result nor an error"),
    ],
)
def test_an_answer_that_is_no_result_is_an_error(answer: dict[str, Any], code: int, message: str) -> None:
    async def main() -> None:
        server = Server()
        asking = asyncio.ensure_future(server.wire.request("m"))
        await asyncio.sleep(0)
        server.wire.take({"jsonrpc": "2.0", "id": server.got[0]["id"], **answer})
        with pytest.raises(RpcError) as error:
            await asking
        assert (error.value.code, error.value.message) == (code, message)

    asyncio.run(main())


def test_who_is_cancelled_tells_the_server_and_an_end_is_told_to_all() -> None:
    async def main() -> None:
        server = Server()
        first, second = (asyncio.ensure_future(server.wire.request("m")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.sleep(0)
        assert server.got[-1]["method"] == "notifications/cancelled"
        assert server.got[-1]["params"]["requestId"] == server.got[0]["id"]
        server.wire.end("it is over")
        with pytest.raises(RpcError, match="it is over") as error:
            await second
        assert error.value.code == CLOSED
        with pytest.raises(RpcError, match="it is over"):
            await server.wire.request("m")

    asyncio.run(main())


def test_requests_of_the_server_are_answered_and_faults_say_little() -> None:
    async def main() -> None:
        server = Server()
        for number, method in enumerate(("roots/list", "fault")):
            server.wire.take({"jsonrpc": "2.0", "id": f"s{number}", "method": method, "params": {"a": 1}})
        server.wire.take({"jsonrpc": "2.0", "method": "notifications/x", "params": 7})
        await asyncio.sleep(0.01)
        assert server.got[0] == {"jsonrpc": "2.0", "id": "s0", "result": {"method": "roots/list", "a": 1}}
        assert server.got[1]["error"] == {"code": -32603, "message": "an internal error (ValueError)"}
        assert server.told == [("notifications/x", {})]

    asyncio.run(main())


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_who_runs_alone_runs_alone_and_nobody_is_overtaken(alone: list[bool]) -> None:
    running: set[int] = set()
    began: list[int] = []

    async def work(turns: Turns, number: int) -> None:
        turn = Turn(turns)
        await turn.enter(alone[number])
        began.append(number)
        running.add(number)
        assert len(running) == 1 or not any(alone[each] for each in running)
        await asyncio.sleep(0)
        running.discard(number)
        turn.pause()
        await turn.again()
        running.add(number)
        assert len(running) == 1 or not any(alone[each] for each in running)
        running.discard(number)
        turn.leave()

    async def main() -> None:
        turns = Turns()
        await asyncio.gather(*(work(turns, number) for number in range(len(alone))))
        await turns.enter(True)  # everything was given back

    asyncio.run(asyncio.wait_for(main(), 20))
    assert began == sorted(began)


def test_a_turn_that_is_given_up_lets_the_next_one_in() -> None:
    async def main() -> None:
        turns = Turns()
        await turns.enter(True)
        first, second = (asyncio.ensure_future(turns.enter(True)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        turns.leave(True)
        await asyncio.wait_for(second, 5)

    asyncio.run(main())


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=120))
def test_a_state_opens_what_it_was_made_for_and_nothing_else(bound: str, other: str, forged: str) -> None:
    seal = Seal()
    state, number = seal.make(bound)
    assert seal.number(state, bound) == number
    if bound != other:
        assert seal.number(state, other) == ""
    assert seal.number(forged, bound) == ""
    assert Seal().number(state, bound) == ""


def test_what_a_state_is_bound_to_is_the_whole_call() -> None:
    calls = [
        ("a", "tools/call", {"name": "x", "arguments": {"p": 1}}),
        ("b", "tools/call", {"name": "x", "arguments": {"p": 1}}),
        ("a", "prompts/get", {"name": "x", "arguments": {"p": 1}}),
        ("a", "tools/call", {"name": "y", "arguments": {"p": 1}}),
        ("a", "tools/call", {"name": "x", "arguments": {"p": "1"}}),
        ("a", "tools/call", {"name": "x"}),
    ]
    assert len({bound_to(*each) for each in calls}) == len(calls)


@given(st.text())
def test_what_is_shown_hides_nothing(text: str) -> None:
    found = shown(text)
    assert found.replace("\n", "").replace("\t", "").isprintable()
    assert shown(found) == found


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        (None, {"readOnlyHint": True, "destructiveHint": False}, WORST),
        (None, "garbage", WORST),
        (
            {"readOnlyHint": True, "destructiveHint": False},
            {},
            WORST | {"readOnlyHint": True, "destructiveHint": False},
        ),
        ({"readOnlyHint": True, "destructiveHint": False}, {"readOnlyHint": False, "destructiveHint": True}, WORST),
        ({"readOnlyHint": True}, {"readOnlyHint": 0}, WORST | {"readOnlyHint": True}),
    ],
    ids=[
        "unknown tools are the worst",
        "garbage says nothing",
        "ours",
        "theirs where it is stricter",
        "no truth value",
    ],
)
def test_annotations_are_ours_and_never_better_than_theirs(ours: Any, theirs: Any, found: dict[str, bool]) -> None:
    assert stricter(ours, theirs) == found


@pytest.mark.parametrize("schema", [None, [], {}, {"type": "string"}, {"type": ["object"]}])
def test_a_tool_without_an_input_of_its_own_is_none(schema: Any) -> None:
    with pytest.raises(ValueError, match="not described as an object"):
        tool_for_client({"inputSchema": schema}, "x", {})


def test_what_hides_in_a_definition_is_found() -> None:
    assert not hides({"description": "plain\nand ä", "inputSchema": {"type": "object"}})
    assert hides({"inputSchema": {"properties": {"a\u200b": {}}}})
    deep: Any = {}
    for _ in range(100):
        deep = {"a": deep}
    assert hides({"inputSchema": deep})


def test_what_is_cut_is_told() -> None:
    rules = Rules(characters=1_000, secrets=("s3cr3t-value",))
    blocks = [
        {"type": "text", "text": "a" * 900},
        {"type": "text", "text": "b" * 900},
        {"type": "image", "data": "A" * (9 << 20), "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x", "text": "s3cr3t-value"}},
        {"type": "image", "data": "czNjcjN0LXZhbHVl", "mimeType": "image/png"},
        "no block",
    ]
    found = cleaned({"content": blocks, "structuredContent": {"s3cr3t-value": "x" * 2_000}}, rules)
    texts = [each.get("text", "") for each in found["content"] if isinstance(each, dict)]
    assert texts[1] == "b" * 100 + "\n… (800 characters left out by the gateway)"
    assert "s3cr3t" not in json.dumps(found)
    assert "czNjcjN0" not in json.dumps(found)
    assert found["isError"] is True
    assert "structuredContent" not in found
    assert texts[-1].startswith("(By the gateway: ")


def test_a_result_that_needs_nothing_stays_as_it_is() -> None:
    result = {
        "content": [{"type": "text", "text": "ä\u200d", "annotations": {"priority": 1.0}}],
        "isError": False,
        "_meta": {"a": [1]},
    }
    assert cleaned(result, Rules()) == result
