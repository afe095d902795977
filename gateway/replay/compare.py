"""Compares two policies on the calls of a record: read, judged by workers, and counted (`tally`)."""

from __future__ import annotations

import functools

from gateway.core.gc_pause import Uncollected
from gateway.replay import columns
from gateway.replay.decisions import Counted, joined, scan, segments_of
from gateway.replay.incremental import Remembering
from gateway.replay.parts import POOL, RAY, cores, map_parts
from gateway.replay.tally import Comparison, Tally
from gateway.replay.verdict_cache import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.replay.decisions import Segment
    from gateway.replay.judging import Side

    # How much is done, and of how much.
    Progress = Callable[[int, int], None]

PART = 512  # distinct decisions that are judged at once


def compared(
    folder: str,
    old: Side,
    new: Side,
    since: str = "",
    until: str = "",
    *,
    how: str = POOL,
    workers: int = 0,
    reading: Progress = lambda _done, _of: None,
    judging: Progress = lambda _done, _of: None,
) -> Comparison:
    """What two policies make of the decisions of a record. With both the recorded one, what was decided then is
    compared with what is decided by the same policy now: the two must be equal. Raises AuditError and OSError where the
    record cannot be read."""
    asked = functools.partial(
        _compared, folder, old, new, since, until, how=how, workers=workers, reading=reading, judging=judging
    )
    try:
        return asked()
    except columns.DamagedError:
        return asked()


def _compared(
    folder: str, old: Side, new: Side, since: str, until: str, *, how: str, workers: int, reading: Progress,
    judging: Progress,
) -> Comparison:  # fmt: skip
    for by_time in (False, True):
        with Uncollected():  # hundreds of thousands of values that stay
            counted = _counted(folder, since, until, by_time, how=how, workers=workers, progress=reading)
        found = _compare(folder, counted, old, new, by_time, how=how, workers=workers, progress=judging)
        if found is not None:
            return found
    raise AssertionError("decisions of different times are kept apart by now")


def read(folder: str, since: str, until: str, by_time: bool, *, how: str, workers: int, progress: Progress) -> Counted:
    """The decisions of a record in a span of time, line by line, each with all that is known of it. Raises AuditError
    and OSError where it cannot be read."""
    segments = segments_of(folder)
    scanned = []
    make = functools.partial(_Scanning, since, until, by_time)
    for found in map_parts(make, segments, how=POOL if how == RAY else how, workers=workers):
        scanned.append(found)
        progress(len(scanned), len(segments))
    return joined(scanned)


def is_slow(folder: str) -> bool:
    """Whether a record is so large that reading it line by line takes long, and nothing else can be done here. Raises
    AuditError."""
    return not columns.is_there() and len(segments_of(folder)) > 1


class _Scanning:
    def __init__(self, since: str, until: str, by_time: bool) -> None:
        self._asked = since, until, by_time

    def __call__(self, segment: Segment) -> Any:
        return scan(segment, *self._asked)


def _counted(
    folder: str, since: str, until: str, by_time: bool, *, how: str, workers: int, progress: Progress
) -> Counted:
    """The same from the columns of full files, where they are or can be made. Of others than the last one only those
    are read that lie in the span with a part of theirs."""
    segments = segments_of(folder)
    full = [] if by_time or not columns.is_there() else segments[:-1]
    if not full:
        return read(folder, since, until, by_time, how=how, workers=workers, progress=progress)
    own = POOL if how == RAY else how
    kept = columns.kept(full)
    known = {each.segment.number for each in kept}
    new = [each for each in full if each.number not in known]
    if new:
        done = len(kept)
        for _made in map_parts(columns.Making, new, how=own, workers=workers):
            done += 1
            progress(done, len(segments))
        kept = columns.kept(full)
    beyond = [each for each in kept if each.last < since or (until and each.first >= until)]
    inside = [each for each in kept if each.first >= since and (not until or each.last < until) and each not in beyond]
    scanned = columns.grouped(inside, workers or cores())
    told = {each.segment.number for each in (*beyond, *inside)}
    left = [each for each in segments if each.number not in told]
    scanned += map_parts(functools.partial(_Scanning, since, until, by_time), left, how=own, workers=workers)
    progress(len(segments), len(segments))
    return joined(scanned, columns.uses_of(inside))


def _compare(
    folder: str, counted: Counted, old: Side, new: Side, by_time: bool, *, how: str, workers: int, progress: Progress
) -> Comparison | None:
    """None where a policy asks what time it was, and decisions of different times count as the same."""
    parts = [counted.distinct[at : at + PART] for at in range(0, len(counted.distinct), PART)]
    tally = Tally()
    done = 0
    known = Known(folder, writes=True)
    try:
        make = functools.partial(Remembering, folder, old, new, by_time)
        for part, found in zip(parts, map_parts(make, parts, how=how, workers=workers), strict=True):
            if found.asks_time and not by_time:
                return None
            tally.join(found.tally)
            known.keep(found.kept, found.used)
            done += len(part)
            progress(done, len(counted.distinct))
    finally:
        known.close()
    return tally.comparison(
        old.name, new.name, counted, functools.partial(columns.made_by, counted.uses, workers=workers or cores())
    )
