"""A signal's handler runs while somebody waits, however the signal comes."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from descriptors import open_descriptors

from gateway.core.cancel import Cancel
from gateway.core.signal_wakeup import Signalled, wait_readable
from gateway.sandbox.pump import Pump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="nothing tells what a thread waits for")


# The numbers of `poll` and `ppoll` on x86-64 and on aarch64.
CALLS = {"7", "73", "271"}


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    made = os.pipe()
    yield made
    for descriptor in made:
        os.close(descriptor)


def run(does: Callable[[], object]) -> None:
    does()


@contextmanager
def unnoticed(does: Callable[[], object]) -> Iterator[None]:
    """While the main thread waits a signal comes whose handler does that. It interrupts no call of the main thread: as
    one that comes in the moment before the waiting begins, it is only noted."""
    main = threading.get_native_id()

    def send() -> None:
        while Path(f"/proc/self/task/{main}/syscall").read_text().split()[0] not in CALLS:
            continue
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: run(does))
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_plain_poll_does_not_hear_it(ends: tuple[int, int]) -> None:
    """The twin of the next ones: why they need what they use."""
    poll = select.poll()
    poll.register(ends[0], select.POLLIN)
    with unnoticed(lambda: os.write(ends[1], b"x")):
        assert poll.poll(300) == []
    assert poll.poll(0) == [(ends[0], select.POLLIN)]


def test_a_wait_hears_it(ends: tuple[int, int]) -> None:
    with unnoticed(lambda: os.write(ends[1], b"x")):
        assert wait_readable(ends[0])


def test_a_wait_for_a_cancel_hears_it() -> None:
    cancel = Cancel()
    with unnoticed(cancel.set):
        assert cancel.wait(3600)
    cancel.close()


def test_a_running_command_s_pump_hears_it(ends: tuple[int, int]) -> None:
    with unnoticed(lambda: os.write(ends[1], b"x")):
        assert Pump(ends[0], -1, {}, {}).run(float("inf")) == "exited"


def test_a_signal_that_changes_nothing_ends_no_wait(ends: tuple[int, int]) -> None:
    came: list[bool] = []
    with unnoticed(lambda: came.append(True)):
        assert not wait_readable(ends[0], 0.3)
    assert came == [True]


def test_another_thread_waits_as_ever(ends: tuple[int, int]) -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(wait_readable(ends[0])))
    thread.start()
    os.write(ends[1], b"x")
    thread.join()
    assert found == [True]


def test_whoever_was_told_of_signals_before_is_told_of_those_that_came_meanwhile() -> None:
    """An event loop whose thread waits here."""
    told: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR2, lambda: (told.append("loop"), came.set()))
        with Signalled() as signals:
            signal.raise_signal(signal.SIGUSR2)
            assert wait_for(signals)
        await asyncio.wait_for(came.wait(), 60)
        loop.remove_signal_handler(signal.SIGUSR2)

    asyncio.run(main())
    assert told == ["loop"]


def wait_for(signals: Signalled) -> bool:
    poll = select.poll()
    poll.register(signals.descriptor, select.POLLIN)
    heard = bool(poll.poll(60_000))
    signals.hear()
    return heard


def test_nothing_is_left_open_and_what_was_set_before_is_set_again() -> None:
    before = open_descriptors()
    with Signalled():
        pass
    assert open_descriptors() == before
    assert signal.set_wakeup_fd(-1) == -1
