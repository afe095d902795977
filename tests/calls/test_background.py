"""Background commands of a session from many threads, and where the system gives no more."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gateway.audit.calls import Lasting
from gateway.calls.background import MOST, Shells
from gateway.core.errors import GatewayError
from gateway.model.result import Result


def until_cancelled(*, listener, cancel) -> Result:
    listener(1, b"x\n")
    cancel.wait(3600)
    return Result("cancelled", 137, reason="it was cancelled")


def at_once(*, listener, cancel) -> Result:
    del cancel
    listener(1, b"x\n")
    return Result("exited", 3)


def test_threads_that_start_at_once_get_commands_of_their_own_and_never_too_many(tmp_path: Path) -> None:
    shells = Shells()
    refused: list[str] = []

    def start() -> None:
        for _ in range(20):
            try:
                shells.start("x", str(tmp_path), until_cancelled)
            except GatewayError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    known = shells.all()
    assert (len(known), len({each.id for each in known}), len(refused)) == (MOST, MOST, 8 * 20 - MOST)
    assert set(refused) == {f"there are {MOST} background commands already; end one with KillShell"}
    shells.close()
    assert {each.status for each in known} == {"killed"}
    assert {Path(each.transcript.path).read_text(encoding="utf-8") for each in known} == {"x\n"}
    with pytest.raises(GatewayError, match="the session has ended"):
        shells.start("x", str(tmp_path), at_once)


def test_killing_and_closing_from_many_threads_ends_each_once(tmp_path: Path) -> None:
    ends: list[Result] = []
    shells = Shells()
    made = []
    for _ in range(10):
        lasting = Lasting(lambda result: ends.append(result) or result)  # type: ignore[func-returns-value]
        lasting.started()
        made.append(shells.start("x", str(tmp_path), until_cancelled, lasting))
    threads = [threading.Thread(target=each.kill) for each in made for _ in range(3)]
    threads.append(threading.Thread(target=shells.close))
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.ended for each in ends] == ["cancelled"] * 10


def test_where_there_is_no_thread_nothing_is_known_of_it_and_the_session_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shells = Shells()

    def refuses(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuses)
        with pytest.raises(GatewayError, match=r"no thread can wait for it \(can't start new thread\)"):
            shells.start("x", str(tmp_path), at_once)
    assert shells.all() == ()
    shells.start("x", str(tmp_path), at_once).join(60)
    assert [each.status for each in shells.all()] == ["completed"]
    shells.close()


def test_a_command_that_fails_for_a_fault_of_ours_has_an_end_too(tmp_path: Path) -> None:
    ends: list[Result] = []
    lasting = Lasting(lambda result: ends.append(result) or result)  # type: ignore[func-returns-value]
    lasting.started()

    def broken(**_given: object) -> Result:
        raise ValueError("broken")

    made = Shells().start("x", str(tmp_path), broken, lasting)
    made.join(60)
    assert ends == [Result("failed", 1, reason="broken")]
    assert (made.status, made.failure) == ("failed", "broken")


def test_no_call_can_know_the_name_of_an_output_before_it_is_there(tmp_path: Path) -> None:
    shells = Shells()
    for number in (1, 2):
        (tmp_path / f"bash_{number}.txt").write_text("put there", encoding="utf-8")
        made = shells.start("x", str(tmp_path), at_once)
        made.join(60)
        assert (made.transcript.problem, Path(made.transcript.path).read_text(encoding="utf-8")) == ("", "x\n")
