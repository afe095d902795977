"""Who may read, and who may answer."""

from __future__ import annotations

from gateway.frontends.console.tokens import IDLE_SECONDS, MOST_PAGES, PAGE, READER, START_SECONDS, Tokens


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_start_token_opens_one_page_once():
    tokens = Tokens(Clock())
    start = tokens.new_start()
    page = tokens.exchange(start)
    assert page is not None
    assert [tokens.kind(each) for each in (page, start, "", "x" * 43)] == [PAGE, "", "", ""]
    assert tokens.exchange(start) is None


def test_a_start_token_is_worth_nothing_after_its_time_or_when_there_is_a_newer_one():
    clock = Clock()
    tokens = Tokens(clock)
    late, older = tokens.new_start(), ""
    clock.now = START_SECONDS + 1
    assert tokens.exchange(late) is None
    older = tokens.new_start()
    newer = tokens.new_start()
    assert tokens.exchange(older) is None
    assert tokens.exchange(newer) is not None


def test_a_page_that_is_not_used_for_long_is_closed():
    clock = Clock()
    tokens = Tokens(clock)
    page = tokens.exchange(tokens.new_start()) or ""
    clock.now += IDLE_SECONDS - 1
    assert tokens.kind(page) == PAGE
    clock.now += IDLE_SECONDS + 1
    assert (tokens.kind(page), tokens.kind(page)) == ("", "")


def test_a_readers_token_only_reads_and_opens_no_page():
    tokens = Tokens(Clock())
    reader = tokens.new_reader()
    assert tokens.kind(reader) == READER
    assert tokens.exchange(reader) is None


def test_the_page_that_was_used_longest_ago_gives_way():
    clock = Clock()
    tokens = Tokens(clock)
    pages = []
    for _ in range(MOST_PAGES + 1):
        clock.now += 1
        pages.append(tokens.exchange(tokens.new_start()) or "")
    assert [tokens.kind(each) for each in pages] == ["", *[PAGE] * MOST_PAGES]
