"""Tickets: each lets one thing run, once, and only for whom it was made."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from gateway.agents import tickets
from gateway.agents.tickets import SECONDS_ASKED, Ticket, TicketError, Tickets, text_digest
from gateway.model.context import Context
from gateway.model.grant import ONCE, Grant

if TYPE_CHECKING:
    from pathlib import Path


def ticket(text: str = "ls", *, until: float | None = None) -> Ticket:
    context = Context(
        "/p/sub", "/p", "/home/dev", ("/p",), ("/tmp", "/var/tmp"), "plan", True, "Explore", 1, "main", 0.0,
        (("A", "b"),), "", ("rule",),
    )  # fmt: skip
    judged = Grant("c", "e", "r", (("rule", "file", 3),), True, False, ONCE, "")
    until = time.time() + 60 if until is None else until
    return Ticket(text_digest(text), context, judged, "/policies", ("digest",), "claude", "s1", until)


@pytest.fixture
def kept(tmp_path: Path) -> Tickets:
    return Tickets(str(tmp_path))


def test_what_is_taken_is_what_was_made(kept: Tickets) -> None:
    made = ticket()
    assert kept.take(kept.make(made)) == made


def test_a_ticket_is_of_its_text_alone() -> None:
    made = ticket("echo a")
    assert [made.is_of(text) for text in ("echo a", "echo a ", "echo b", "")] == [True, False, False, False]


def test_a_second_use_is_refused(kept: Tickets) -> None:
    number = kept.make(ticket())
    kept.take(number)
    with pytest.raises(TicketError, match="used before"):
        kept.take(number)


def test_of_many_at_once_one_gets_it(kept: Tickets) -> None:
    made = ticket()
    for _ in range(20):
        number = kept.make(made)

        def take(_each: int, number: str = number) -> Ticket | None:
            try:
                return kept.take(number)
            except TicketError:
                return None

        with ThreadPoolExecutor(8) as pool:
            assert [each for each in pool.map(take, range(16)) if each is not None] == [made]


def test_a_used_one_is_known_but_lets_nothing_run(kept: Tickets) -> None:
    made = ticket()
    number = kept.make(made)
    assert kept.known(number) == made
    kept.take(number)
    assert kept.known(number) == made.replace(used=True)


@pytest.mark.parametrize(
    "number",
    [
        "",
        "0" * 31,
        "0" * 33,
        "G" * 32,
        "../" + "0" * 29,
        "0" * 31 + "\n",
        "\N{FULLWIDTH DIGIT ZERO}" * 32,
        "0" * 31 + "/",
    ],
    ids=repr,
)
def test_what_is_no_number_is_no_ticket(kept: Tickets, number: str) -> None:
    kept.make(ticket())
    assert kept.known(number) is None
    with pytest.raises(TicketError, match="no number"):
        kept.take(number)


def test_a_number_that_was_guessed_is_no_ticket(kept: Tickets) -> None:
    kept.make(ticket())
    with pytest.raises(TicketError, match="no such ticket"):
        kept.take("0" * 32)


@pytest.mark.parametrize(
    "away", [-1e10, -1.0, 10 * SECONDS_ASKED, float("nan"), float("inf")], ids=["long ago", "past", "far", "nan", "inf"]
)
def test_a_ticket_of_another_time_is_refused_and_used_up(kept: Tickets, away: float) -> None:
    number = kept.make(ticket(until=time.time() + away))
    assert kept.known(number) is None
    for match in ("too old", "used before"):
        with pytest.raises(TicketError, match=match):
            kept.take(number)


def test_the_folder_and_the_files_are_their_users_own_and_do_not_tell_the_numbers(kept: Tickets) -> None:
    before = os.umask(0)
    try:
        number = kept.make(ticket())
    finally:
        os.umask(before)
    (name,) = os.listdir(kept.folder)
    path = os.path.join(kept.folder, name)
    assert stat.S_IMODE(os.stat(kept.folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path, encoding="utf-8") as file:
        assert number not in name + file.read()


def test_a_folder_that_others_could_enter_is_closed(kept: Tickets) -> None:
    os.makedirs(kept.folder)
    os.chmod(kept.folder, 0o755)
    kept.make(ticket())
    assert stat.S_IMODE(os.stat(kept.folder).st_mode) == 0o700


def test_a_folder_that_is_a_link_keeps_nothing(kept: Tickets, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink("elsewhere", kept.folder)
    with pytest.raises(TicketError, match="must be a folder of yours"):
        kept.make(ticket())
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_somebody_else_keeps_nothing_and_lets_nothing_run(kept: Tickets) -> None:
    number = kept.make(ticket())
    os.chown(kept.folder, 65534, 65534)
    with pytest.raises(TicketError, match="must be a folder of yours"):
        kept.make(ticket())
    with pytest.raises(TicketError, match="cannot be read"):
        kept.take(number)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"{}", b'{"version": 2}', b"null", b"\xff", b'{"version": 1, "text": "x"}'],
    ids=repr,
)
def test_a_file_that_is_no_ticket_lets_nothing_run(kept: Tickets, data: bytes) -> None:
    number = kept.make(ticket())
    (name,) = os.listdir(kept.folder)
    with open(os.path.join(kept.folder, name), "wb") as file:
        file.write(data)
    with pytest.raises(TicketError, match="cannot be read"):
        kept.take(number)


def test_a_ticket_that_others_can_write_lets_nothing_run(kept: Tickets) -> None:
    number = kept.make(ticket())
    (name,) = os.listdir(kept.folder)
    os.chmod(os.path.join(kept.folder, name), 0o666)
    with pytest.raises(TicketError, match="cannot be read"):
        kept.take(number)


def test_old_ones_are_swept_away(kept: Tickets) -> None:
    numbers = [kept.make(ticket()) for _ in range(3)]
    kept.take(numbers[0])
    long_ago = time.time() - 2 * SECONDS_ASKED
    for name in os.listdir(kept.folder):
        os.utime(os.path.join(kept.folder, name), (long_ago, long_ago))
    fresh = kept.make(ticket())
    assert (kept.known(fresh) is not None, len(os.listdir(kept.folder))) == (True, 2)  # with the used one


def test_there_is_no_end_of_room_for_them(kept: Tickets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "MOST", 3)
    for _ in range(3):
        kept.make(ticket())
    with pytest.raises(TicketError, match="nobody has used"):
        kept.make(ticket())
