"""Some lines of a file, in time that goes with what is returned.

A file is looked at in steps of fixed size. The first access to a late line counts line ends step by step, which is as
fast as memory; the counts are kept, and whoever pages on starts at the step where the line stands. A line that is too
long is cut and the rest of it skipped without being kept.
"""

from __future__ import annotations

from bisect import bisect_left

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.calls.reads import Marks

STEP = 1 << 16


class Line(Value):
    """A line without its end. `is_cut`: there was more of it."""

    content: bytes
    is_cut: bool


class Found(Value):
    """Lines of a file. `lines`: in order; `more`: the file goes on after them; `is_full`: they are fewer than asked for
    because they came to more than `most` bytes; `total`: how many lines the file has, -1 if not all of it was seen."""

    lines: tuple[Line, ...]
    more: bool
    is_full: bool
    total: int


def lines_from(
    read: Callable[[int, int], bytes],
    marks: Marks,
    first: int,
    limit: int,
    *,
    end: bytes = b"\n",
    longest: int,
    most: int,
    start: int = 0,
    stop: Callable[[], None] = lambda: None,
) -> Found:
    """The lines `first` to `first + limit - 1`, counted from 1.

    `read`: bytes of the file from an offset. `end`: the one byte that ends a line. `longest`: bytes of a line that are
    kept; `most`: of all lines together. `start`: where the first line begins. `stop` is called once for each step and
    may raise.
    """
    with marks.lock:
        at = _offset_of(read, marks, first, end, start, stop)
        if at < 0:
            return Found((), False, False, marks.total)
        total = marks.total
    lines: list[Line] = []
    kept = size = 0
    line, is_cut, begun = b"", False, False
    while True:
        stop()
        data = read(at, STEP)
        if not data:
            if begun:
                lines.append(Line(line, is_cut))
            return Found(tuple(lines), False, False, first - 1 + len(lines) if lines else total)
        here = 0
        while here < len(data):
            if len(lines) == limit:
                return Found(tuple(lines), True, False, total)
            found = data.find(end, here)
            upto = len(data) if found < 0 else found
            piece = data[here : min(upto, here + longest - size)]
            line, size, begun = line + piece, size + len(piece), True
            is_cut = is_cut or len(piece) < upto - here
            here = upto
            if found < 0:
                break
            here += 1
            kept += size
            if kept > most and lines:
                return Found(tuple(lines), True, True, total)
            lines.append(Line(line, is_cut))
            line, size, is_cut, begun = b"", 0, False, False
        at += len(data)


def _offset_of(
    read: Callable[[int, int], bytes],
    marks: Marks,
    line: int,
    end: bytes,
    start: int,
    stop: Callable[[], None],
) -> int:
    """Where a line begins, -1 if there are not so many. Extends the marks as far as it must look."""
    wanted = line - 1
    if wanted == 0:
        return start
    ends = marks.ends
    while ends[-1] < wanted and marks.total < 0:
        stop()
        data = read((len(ends) - 1) * STEP, STEP)
        count = ends[-1] + data.count(end)
        if len(data) < STEP:
            last = data or (read((len(ends) - 1) * STEP - 1, 1) if len(ends) > 1 else b"")
            marks.total = count + (1 if last and not last.endswith(end) else 0)
            if (len(ends) - 1) * STEP + len(data) <= start:
                marks.total = 0
        ends.append(count)
    if marks.total >= 0 and line > marks.total:
        return -1
    step = bisect_left(ends, wanted) - 1
    data = read(step * STEP, STEP)
    at = -1
    for _ in range(wanted - ends[step]):
        at = data.index(end, at + 1)
    return step * STEP + at + 1
