"""Starting a process: what it gets and does not get, how it ends, and which thread it dies with."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

import pytest

from gateway.sandbox.base import SandboxError
from gateway.sandbox.spawn import Child, children, on_lasting_thread, open_process, send, spawn, tree


def start(text: str, output: int, keep: tuple[int, ...] = (), **options) -> Child:
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        return spawn(
            b"/bin/sh", [b"sh", b"-c", text.encode()], {b"A": b"\xff b"}, (nowhere, output, nowhere), keep, **options
        )
    finally:
        os.close(nowhere)


def said(text: str, keep: tuple[int, ...] = (), **options) -> tuple[int, bytes]:
    output = os.memfd_create("output")
    try:
        child = start(text, output, keep, **options)
        status = child.wait()
        child.close()
        return status, os.pread(output, 1 << 16, 0)
    finally:
        os.close(output)


def test_it_inherits_the_named_descriptors_and_no_others() -> None:
    kept, other = os.memfd_create("kept"), os.memfd_create("other")
    os.set_inheritable(other, True)
    status, output = said("ls /proc/self/fd", (kept,))
    os.close(kept)
    os.close(other)
    names = {int(name) for name in output.split()}
    assert status == 0
    assert names - {0, 1, 2, kept} <= {3} | set(range(3, 10)) - {other}
    assert kept in names
    assert other not in names


def test_it_has_exactly_the_environment_and_starts_at_the_top() -> None:
    _status, output = said("cat /proc/$$/environ; pwd")
    assert output == b"A=\xff b\0/\n"


@pytest.mark.parametrize(("text", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_its_status_is_told(text: str, status: int) -> None:
    assert said(text)[0] == status


@pytest.mark.parametrize("session", [True, False], ids=["of its own", "of ours"])
def test_its_session(session: bool) -> None:
    output = said("read -r stat < /proc/$$/stat; echo $$ ${stat##*)}", session=session)[1]
    pid, _state, _parent, _group, its_session = output.split()[:5]
    assert (pid == its_session) is session


def test_waiting_can_be_bounded_and_a_signal_ends_it() -> None:
    output = os.memfd_create("output")
    child = start("exec sleep 1000", output)
    assert not child.ended(0)
    child.send(signal.SIGTERM)
    assert child.ended(None)
    assert child.wait() == 128 + signal.SIGTERM
    child.send(signal.SIGTERM)
    child.close()
    os.close(output)


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SandboxError, match="/no/such cannot be started"):
        spawn(b"/no/such", [b"x"], {}, (0, 1, 2))


def test_a_child_outlives_the_short_lived_thread_that_asked_for_it() -> None:
    found: list[tuple[str, str]] = []

    def ask() -> None:
        found.append((threading.current_thread().name, on_lasting_thread(lambda: threading.current_thread().name)))

    for _ in range(2):
        thread = threading.Thread(target=ask, name="short")
        thread.start()
        thread.join()
    assert found == [("short", "gateway-starter")] * 2
    assert on_lasting_thread(lambda: threading.current_thread()) is threading.main_thread()


def test_an_error_on_the_lasting_thread_comes_back() -> None:
    caught: list[BaseException] = []

    def fail() -> None:
        raise KeyError("x")

    def ask() -> None:
        try:
            on_lasting_thread(fail)
        except KeyError as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert [str(error) for error in caught] == ["'x'"]


def test_a_tree_holds_all_descendants_parents_first() -> None:
    read, write = os.pipe()
    child = start("(sleep 1000 & echo $$; wait) & echo; wait", write)
    os.close(write)
    with os.fdopen(read, "rb") as lines:
        lines.readline()
        lines.readline()
        found = tree(child.pid)
        assert found[0] == child.pid
        assert set(children(child.pid)) <= set(found)
        for pid in reversed(found):
            with suppress(ProcessLookupError):  # it waited for the one before, and that has ended
                os.kill(pid, signal.SIGKILL)
    child.close()
    assert children(child.pid) == []


def test_a_process_that_has_gone_has_no_descriptor_and_takes_no_signal() -> None:
    output = os.memfd_create("output")
    child = start("true", output)
    held = open_process(child.pid)
    child.wait()
    send(held, signal.SIGKILL)
    assert open_process(child.pid) == -1
    os.close(held)
    os.close(output)
    child.close()
