"""What a session remembers of its reads: versions by stamp and digest, and which parts were shown."""

from __future__ import annotations

import threading
import time

from gateway.calls.reads import MOST_MARKED, REST_NS, Reads, Stamp


def stamp(*, size: int = 3, ago_ns: int = 10 * REST_NS, inode: int = 7) -> Stamp:
    then = time.time_ns() - ago_ns
    return Stamp(inode, size, then, then)


def never() -> str:
    raise AssertionError("the content was not to be looked at")


def test_what_was_never_read_is_not_present() -> None:
    assert Reads().is_present("/a", stamp(), never) is False


def test_a_version_at_rest_is_known_by_its_stamp_alone() -> None:
    reads, known = Reads(), stamp()
    reads.note("/a", known, "")
    assert reads.is_present("/a", known, never) is True
    assert reads.is_present("/a", known.replace(ctime_ns=known.ctime_ns + 1), never) is False


def test_a_version_that_had_just_changed_is_known_by_its_digest_only() -> None:
    reads, known = Reads(), stamp(ago_ns=0)
    reads.note("/a", known, "digest")
    assert reads.is_present("/a", known, lambda: "digest") is True
    assert reads.is_present("/a", known, lambda: "other") is False
    reads.note("/b", known, "")
    assert reads.is_present("/b", known, lambda: "") is False


def test_another_stamp_with_the_same_content_is_the_same_version() -> None:
    reads = Reads()
    reads.note("/a", stamp(), "digest")
    assert reads.is_present("/a", stamp(inode=8), lambda: "digest") is True
    assert reads.is_present("/a", stamp(inode=8, size=4), never) is False


def test_parts_are_those_of_the_present_version() -> None:
    reads, known = Reads(), stamp()
    reads.note("/a", known, "one", ("read", 1))
    reads.note("/a", known, "one", ("read", 2))
    seen = reads.seen("/a")
    assert seen is not None
    assert seen.parts == {("read", 1), ("read", 2)}
    reads.note("/a", known, "two", ("read", 3))
    seen = reads.seen("/a")
    assert seen is not None
    assert seen.parts == {("read", 3)}


def test_what_we_wrote_was_shown_to_nobody() -> None:
    reads, known = Reads(), stamp()
    reads.note("/a", known, "one", ("read", 1))
    reads.note("/a", stamp(), "two")
    seen = reads.seen("/a")
    assert seen is not None
    assert (seen.digest, seen.parts) == ("two", frozenset())


def test_what_is_forgotten_was_never_read() -> None:
    reads, known = Reads(), stamp()
    reads.note("/a", known, "one")
    reads.forget("/a")
    assert (reads.seen("/a"), reads.is_present("/a", known, never)) == (None, False)


def test_marks_are_kept_for_a_version_and_only_for_the_latest_files() -> None:
    reads, known = Reads(), stamp()
    marks = reads.marks("/a", known)
    assert reads.marks("/a", known) is marks
    assert reads.marks("/a", stamp(size=4)) is not marks
    for number in range(MOST_MARKED):
        reads.marks(f"/{number}", known)
    assert reads.marks("/a", known) is not marks


def test_threads_that_read_at_once_forget_nothing_of_each_other() -> None:
    reads, known = Reads(), stamp()

    def work(mine: int) -> None:
        for part in range(50):
            reads.note("/shared", known, "digest", (mine, part % 10))
            reads.note(f"/own/{mine}", known, "", (part,))
            reads.marks(f"/own/{mine}/{part}", known)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    seen = reads.seen("/shared")
    assert seen is not None
    assert seen.parts == {(mine, part) for mine in range(8) for part in range(10)}
    assert all(reads.is_present(f"/own/{mine}", known, never) for mine in range(8))
    assert len(reads._marks) == MOST_MARKED
