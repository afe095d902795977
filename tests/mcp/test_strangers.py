"""Connections on which nobody has shown a token: few, and not for long."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.mcp.unauthenticated import Strangers


class Connection:
    """A transport that only knows whether it was ended."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def abort(self) -> None:
        self.ended.set()


def run(does: Any) -> None:
    asyncio.run(asyncio.wait_for(does(), 60))


def test_of_too_many_the_first_goes_and_who_is_known_stays() -> None:
    async def main() -> None:
        strangers = Strangers(most=2, seconds=3_600)
        there: list[Any] = [Connection() for _ in range(5)]
        strangers.came(0, there[0])
        strangers.known(0)
        for number in range(1, 5):
            strangers.came(number, there[number])
        assert [each.ended.is_set() for each in there] == [False, True, True, False, False]
        assert len(strangers) == 2
        for number in (3, 4):
            strangers.gone(number, there[number])
        assert len(strangers) == 0

    run(main)


def test_who_sends_no_whole_request_in_time_is_ended_and_who_is_known_is_not() -> None:
    async def main() -> None:
        strangers = Strangers(seconds=0.01)
        known, late = Connection(), Connection()
        strangers.came("a", known)  # type: ignore[arg-type]
        strangers.known("a")
        strangers.came("b", late)  # type: ignore[arg-type]
        await late.ended.wait()
        assert (known.ended.is_set(), len(strangers)) == (False, 0)

    run(main)


def test_an_address_that_is_used_again_is_another_connection() -> None:
    async def main() -> None:
        strangers = Strangers(seconds=3_600)
        first, second = Connection(), Connection()
        strangers.came("a", first)  # type: ignore[arg-type]
        strangers.came("a", second)  # type: ignore[arg-type]
        strangers.gone("a", first)  # type: ignore[arg-type]
        assert len(strangers) == 1
        strangers.gone("a", second)  # type: ignore[arg-type]
        assert len(strangers) == 0

    run(main)
