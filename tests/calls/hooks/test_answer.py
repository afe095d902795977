"""What a hook may answer: everything else is nonsense, and nonsense is no answer."""

from __future__ import annotations

import pytest

from gateway.calls.hooks.answer import Nonsense, Said, checked, read


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", Said()),
        (b" \n", Said()),
        (b"null", Said()),
        (b"{}", Said()),
        (b'{"refuse": "no"}', Said("no")),
        (b'{"input": {"a": [1]}, "note": "n"}', Said("", {"a": [1]}, "n")),
        (b'{"input": null}', Said()),
    ],
)
def test_answers_are_read(data: bytes, said: Said) -> None:
    assert read(data) == said


@pytest.mark.parametrize(
    "data",
    [
        b"ok",
        b"[]",
        b"true",
        b'"refuse"',
        b'{"refuse": ""}',
        b'{"refuse": true}',
        b'{"refuse": "a", "refuse": "b"}',
        b'{"deny": "typing error"}',
        b'{"input": "x"}',
        b'{"note": 1}',
        b'{"note": "' + b"x" * 10_001 + b'"}',
        b"[" * 100_000,
        b'{"refuse": "a"} {}',
        b"\xff",
    ],
    ids=lambda data: data[:30].decode("latin-1"),
)
def test_nonsense_is_no_answer(data: bytes) -> None:
    with pytest.raises(Nonsense):
        read(data)


def test_what_python_gives_back_is_held_to_the_same() -> None:
    assert checked({"refuse": "no"}) == Said("no")
    with pytest.raises(Nonsense):
        checked(object())
