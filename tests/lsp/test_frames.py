"""Messages are cut out of whatever pieces they come in; anything else ends the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lsp.frames import MOST_MESSAGE, FrameError, Frames, framed

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.lists(st.text(max_size=5), max_size=3)
MESSAGES = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=4)


@given(MESSAGES, st.data())
def test_messages_come_out_as_they_went_in_however_they_are_split(messages: list[Any], data: Any) -> None:
    sent = b"".join(map(framed, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=8)))
    frames, found = Frames(), []
    for start, stop in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        found += frames.feed(sent[start:stop])
    assert found == messages


def test_halves_of_characters_are_sent_as_escapes() -> None:
    assert Frames().feed(framed({"a": "\ud800"})) == [{"a": "\ud800"}]


ACCEPTED = {
    "a content type": b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}",
    "the old name of the charset": b"Content-Type: x; charset=utf8\r\nContent-Length: 2\r\n\r\n{}",
    "headers in another case": b"content-LENGTH:2\r\n\r\n{}",
}


@pytest.mark.parametrize("data", ACCEPTED.values(), ids=ACCEPTED)
def test_headers_are_read_as_the_protocol_has_them(data: bytes) -> None:
    assert Frames().feed(data) == [{}]


REFUSED = {
    "a line of a log": (b"starting\n", "something that is no message of the protocol"),
    "one byte that begins no header": (b"{", "something that is no message of the protocol"),
    "no length": (b"Content-Type: x\r\n\r\n{}", "a message without its length"),
    "a length that is no number": (b"Content-Length: x\r\n\r\n{}", "a message without its length"),
    "a negative length": (b"Content-Length: -1\r\n\r\n{}", "a message without its length"),
    "two lengths": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "headers that the protocol does not have"),
    "another header": (b"Content-Length: 2\r\nX: 3\r\n\r\n{}", "headers that the protocol does not have"),
    "a header without a colon": (b"Content-Length\r\n\r\n{}", "headers that the protocol does not have"),
    "another charset": (
        b"Content-Length: 2\r\nContent-Type: x; charset=latin-1\r\n\r\n{}", "a message that is not in UTF-8",
    ),
    "too much": (b"Content-Length: %d\r\n\r\n" % (MOST_MESSAGE + 1), "a message of more than 32 MB"),
    "an endless length": (b"Content-Length: " + b"9" * 400 + b"\r\n\r\n", "a message of more than 32 MB"),
    "endless headers": (b"Content-Length: 2" + b" " * 5_000, "headers without an end"),
    "no JSON": (b"Content-Length: 1\r\n\r\n{", "a message that is no JSON"),
    "JSON that nests too deep": (b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000, "a message that is no JSON"),
    "no UTF-8": (b'Content-Length: 3\r\n\r\n"\xff"', "a message that is no JSON"),
    "a list": (b"Content-Length: 2\r\n\r\n[]", "a message that is no object"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_message_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(FrameError) as raised:
        Frames().feed(data)
    assert str(raised.value) == why


@pytest.mark.parametrize(("data", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_message_is_refused_byte_by_byte(data: bytes, why: str) -> None:
    frames, found = Frames(), ""
    try:
        for number in range(len(data)):
            assert frames.feed(data[number : number + 1]) == []
    except FrameError as error:
        found = str(error)
    assert found == why


def test_the_length_counts_bytes() -> None:
    assert framed({"a": "é"}) == b'Content-Length: 10\r\n\r\n{"a":"\xc3\xa9"}'
