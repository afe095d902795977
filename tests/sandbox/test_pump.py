"""Between a command and its caller: bounded, complete, in order, and over when something ends it."""

from __future__ import annotations

import io
import os
import threading

import pytest

from gateway.sandbox.pump import CHUNK, STDERR, STDOUT, Kept, Pump

NEVER = float("inf")


def kept(most: int, *chunks: bytes) -> Kept:
    made = Kept(most)
    for chunk in chunks:
        made.add(chunk)
    return made


@pytest.mark.parametrize(
    ("most", "chunks", "whole", "dropped"),
    [
        (0, (b"a" * 99, b"b"), b"a" * 99 + b"b", 0),
        (10, (), b"", 0),
        (10, (b"0123456789",), b"0123456789", 0),
        (10, (b"01234", b"56789"), b"0123456789", 0),
        (10, (b"0123456789X",), b"01234" + b"6789X", 1),
        (10, (b"01234", b"-" * 1000, b"56789"), b"0123456789", 1000),
        (9, (b"01234" + b"-" * 7 + b"5678",), b"012345678", 7),
        (1, (b"abc",), b"a", 2),
    ],
    ids=[
        "no bound", "nothing", "exactly the bound", "the bound in two pieces", "one more", "much more", "an odd bound",
        "a bound of one",
    ],
)  # fmt: skip
def test_the_beginning_and_the_end_are_kept(most: int, chunks: tuple[bytes, ...], whole: bytes, dropped: int) -> None:
    made = kept(most, *chunks)
    assert (made.bytes(), made.dropped) == (whole, dropped)


@pytest.mark.parametrize("most", range(12))
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_how_it_comes_makes_no_difference(most: int, size: int) -> None:
    data = bytes(range(256)) * 3
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole, torn = kept(most, data), kept(most, *pieces)
    assert (torn.bytes(), torn.dropped) == (whole.bytes(), whole.dropped)
    assert len(torn.bytes()) == (min(most, len(data)) or len(data))
    assert len(torn.bytes()) + torn.dropped == torn.total == len(data)


def test_what_is_held_meanwhile_is_bounded_too() -> None:
    made = Kept(100)
    for _ in range(1000):
        made.add(b"x" * 64)
    assert len(made._head) + len(made._tail) < 1000


class Wires:
    """The ends of a command's pipes, and of what says that it has ended or is to end."""

    def __init__(self, *, feed: bytes = b"") -> None:
        self.out, self.out_end = os.pipe()
        self.err, self.err_end = os.pipe()
        self.exited, self.exit = os.pipe()
        self.cancelled, self.cancel = os.pipe()
        self.taken, self.sink = os.pipe()
        self.heard: list[tuple[int, bytes]] = []
        self.kept = {STDOUT: Kept(0), STDERR: Kept(0)}
        self.pump = Pump(
            self.exited,
            self.cancelled,
            {self.out: STDOUT, self.err: STDERR},
            self.kept,
            lambda stream, data: self.heard.append((stream, data)),
            self.sink if feed else -1,
            io.BytesIO(feed).read,
        )

    def close(self) -> None:
        for name in ("out", "out_end", "err", "err_end", "exited", "exit", "cancelled", "cancel", "taken"):
            try:
                os.close(getattr(self, name))
            except OSError:
                continue


@pytest.fixture
def wires():
    made = Wires()
    yield made
    made.close()
    os.close(made.sink)


def test_both_streams_are_kept_apart_and_handed_on(wires: Wires) -> None:
    os.write(wires.out_end, b"one")
    os.write(wires.err_end, b"two")
    os.close(wires.out_end)
    os.close(wires.err_end)
    os.close(wires.exit)
    assert wires.pump.run(NEVER) == "exited"
    wires.pump.drain()
    assert (wires.kept[STDOUT].bytes(), wires.kept[STDERR].bytes()) == (b"one", b"two")
    assert sorted(wires.heard) == [(STDOUT, b"one"), (STDERR, b"two")]


def test_what_is_still_in_the_pipes_when_it_has_ended_is_not_lost(wires: Wires) -> None:
    data = os.urandom(60_000)
    os.write(wires.out_end, data)
    os.close(wires.exit)
    assert wires.pump.run(NEVER) == "exited"
    os.close(wires.out_end)
    os.close(wires.err_end)
    wires.pump.drain()
    assert wires.kept[STDOUT].bytes() == data


def test_a_cancel_counts_before_everything_else(wires: Wires) -> None:
    os.write(wires.cancel, b"x")
    os.close(wires.exit)
    assert wires.pump.run(NEVER) == "cancelled"


def test_time_that_is_up_counts_at_once(wires: Wires) -> None:
    assert wires.pump.run(0.0) == "timeout"


def test_what_the_command_is_told_arrives_whole_and_ends() -> None:
    feed = os.urandom(5 * CHUNK + 1)
    wires = Wires(feed=feed)
    found = bytearray()

    def command() -> None:
        while more := os.read(wires.taken, 1000):
            found.extend(more)
        os.close(wires.exit)

    reader = threading.Thread(target=command)
    reader.start()
    assert wires.pump.run(NEVER) == "exited"
    reader.join()
    os.close(wires.out_end)
    os.close(wires.err_end)
    wires.pump.drain()
    wires.close()
    assert bytes(found) == feed


def test_a_command_that_reads_nothing_is_no_fault() -> None:
    wires = Wires(feed=b"x" * 200_000)
    os.close(wires.taken)
    os.close(wires.exit)
    assert wires.pump.run(NEVER) == "exited"
    os.close(wires.out_end)
    os.close(wires.err_end)
    wires.pump.drain()
    wires.close()
