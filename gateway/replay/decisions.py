"""The decisions of a record, equal ones counted once: what was called, what was found, and what was decided.

Lines are read by their fixed beginning, in which nothing stands that a call can write without its quotes being escaped.
"""

from __future__ import annotations

import mmap
import os
import re

from gateway.audit import chain, files
from gateway.audit.decision_inputs import named
from gateway.audit.reading import Moment
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    _Row = list[Any]

_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_LINE = re.compile(
    rb'\{"n":\d+,"prev":"[0-9a-f]+","kind":"decision","id":"[^"]*","at":"(?P<at>[^"]*)","front":"(?P<front>[^"]*)",'
    rb'"tool":(?P<tool>' + _TEXT + rb'),"decision":"(?P<decision>\w+)","reason":"[^"]*",'
    rb'"rule":(?P<rule>\[' + _TEXT + rb',"\w*",' + _TEXT + rb',\d+\]),"call":"(?P<call>[0-9a-f]+)",'
    rb'"cwd":' + _TEXT + rb',"mode":"\w*","policy":"(?P<policy>\w*)",'
    rb'(?:"session":(?P<session>' + _TEXT + rb'),)?(?:"agent":(?P<agent>' + _TEXT + rb'),"depth":\d+,)?'
    rb'(?:"seen":\["(?P<facts>\w*)","(?P<context>\w*)",(?P<now>[^\]]*)\],)?"input":'
)
_KIND = b'"kind":"decision"'
_AT = re.compile(rb'"at":"([^"]*)"')
_BATCH = 1 << 24


class Segment(Value):
    """One file of a record, as far as it was written when it was looked at."""

    folder: str
    number: int
    size: int


class Distinct(Value):
    """Decisions that are equal in all that decided them. `segment`, `start`, `size`: where one of their lines stands;
    `last` and `first`: when they were made. `agreed`, `refused`: how many of them somebody was asked about and said yes
    or no to; `days`: when they said yes."""

    facts: str
    context: str
    call: str
    front: str
    decision: str
    rule: str
    policy: str
    count: int
    sessions: tuple[str, ...]
    agents: tuple[str, ...]
    first: str
    last: str
    segment: int
    start: int
    size: int
    agreed: int = 0
    refused: int = 0
    days: tuple[str, ...] = ()


class Counted(Value):
    """What a record holds. `without`: decisions of which no facts are kept, as of older ones and where a setting says
    so. `uses`: files that hold who made those whose sessions and agents are not told (`gateway.replay.columns`)."""

    distinct: tuple[Distinct, ...]
    decisions: int
    without: int
    uses: tuple[str, ...] = ()


def segments_of(folder: str) -> list[Segment]:
    """The files of a record as they are now. Raises AuditError where there is one that cannot be read."""
    with Moment(folder) as moment:
        return [Segment(folder, part.segment, part.size) for part in moment.parts]


class Scanned(Value):
    """What one file holds: its decisions by what makes them equal, how many there are, and how many without facts;
    `first` and `last`: when they were made."""

    rows: dict[bytes, _Row]
    decisions: int
    without: int
    first: str = ""
    last: str = ""


# Then segment, start and size.
COUNT, SESSIONS, AGENTS, FIRST, LAST, AGREED, REFUSED, DAYS, PLACE = range(9)
# Who "answers" where nobody was there.
_NOBODY = ("nobody", "policy")
_REVIEWER = "auto ("
_GRANT = b'"grant":{'


def scan(segment: Segment, since: str = "", until: str = "", by_time: bool = False) -> Scanned:
    """The decisions of one file in a span of time. `by_time`: those of different times are different, as for policies
    that ask what time it is. Raises OSError."""
    found: dict[bytes, _Row] = {}
    decisions = without = 0
    after, before = since.encode(), until.encode()
    earliest = latest = b""
    path = os.path.join(segment.folder, files.name_of(segment.number))
    with open(path, "rb") as file:
        start = 0
        rest = b""
        while start + len(rest) < segment.size:
            data = rest + file.read(min(_BATCH, segment.size - start - len(rest)))
            if len(data) == len(rest):
                break
            lines = data.split(chain.NEWLINE)
            rest = lines.pop()
            for line in lines:
                size = len(line) + 1
                at_line, start = start, start + size
                match = _LINE.match(line)
                if match is not None:
                    at, front, _tool, decision, rule, call, policy, session, agent, facts, context, now = match.groups()
                elif _KIND in line[:200]:
                    told = _AT.search(line)
                    at, facts = b"" if told is None else told[1], None
                else:
                    continue
                if at < after or (before and at >= before):
                    continue
                decisions += 1
                if at > latest:
                    latest = at
                if at < earliest or not earliest:
                    earliest = at
                if facts is None or len(facts) != 32 or len(context) != 32:
                    without += 1
                    continue
                key = b"\n".join((facts, context, call, front, decision, rule, policy, now if by_time else b""))
                row = found.get(key)
                if row is None:
                    row = found[key] = [0, set(), set(), at, at, 0, 0, set(), segment.number, at_line, size]
                row[COUNT] += 1
                if at > row[LAST]:
                    row[LAST] = at
                elif at < row[FIRST]:
                    row[FIRST] = at
                if decision == b"ask" and _GRANT in line:
                    _count_answer(row, line, at)
                if session:
                    row[SESSIONS].add(session)
                if agent:
                    row[AGENTS].add(agent)
    first, last = (each.decode("ascii", "replace") for each in (earliest, latest))
    return Scanned(found, decisions, without, first=first, last=last)


def _count_answer(row: _Row, line: bytes, at: bytes) -> None:
    """Adds what somebody answered. The line is read whole: a call may hold what looks like an answer."""
    grant = (chain.read(line) or {}).get("grant")
    if not isinstance(grant, dict) or grant.get("by") in _NOBODY:
        return
    if grant.get("allow") is True:
        if str(grant.get("by")).startswith(_REVIEWER):
            return  # a model's yes is not that of a person
        row[AGREED] += 1
        row[DAYS].add(at[:10])
    else:
        row[REFUSED] += 1


def joined(scanned: Sequence[Scanned], uses: tuple[str, ...] = ()) -> Counted:
    """What several files hold together, in an order that says nothing of how they were read."""
    total: dict[bytes, _Row] = {}
    for each in scanned:
        if not total:
            total = each.rows
            continue
        for key, row in each.rows.items():
            known = total.get(key)
            if known is None:
                total[key] = row
                continue
            known[COUNT] += row[COUNT]
            known[SESSIONS] |= row[SESSIONS]
            known[AGENTS] |= row[AGENTS]
            known[FIRST] = min(known[FIRST], row[FIRST])
            known[LAST] = max(known[LAST], row[LAST])
            known[AGREED] += row[AGREED]
            known[REFUSED] += row[REFUSED]
            known[DAYS] |= row[DAYS]
            known[PLACE:] = min(known[PLACE:], row[PLACE:])
    distinct = []
    for key in sorted(total):
        facts, context, call, front, decision, rule, policy, _now = key.decode("ascii").split("\n")
        row = total[key]
        days = tuple(sorted(each.decode("ascii") for each in row[DAYS])) if row[DAYS] else ()
        distinct.append(Distinct.make((
            facts, context, call, front, decision, rule, policy, row[COUNT],
            _texts(row[SESSIONS]), _texts(row[AGENTS]), row[FIRST].decode(), row[LAST].decode(),
            *row[PLACE:], row[AGREED], row[REFUSED], days,
        )))  # fmt: skip
    decisions, without = sum(each.decisions for each in scanned), sum(each.without for each in scanned)
    return Counted(tuple(distinct), decisions, without, uses)


def _texts(found: set[bytes]) -> tuple[str, ...]:
    return tuple(sorted(each.decode("ascii", "replace")[1:-1] for each in found)) if found else ()


class Kept:
    """The lines of a record and the texts that they name, read when they are asked for."""

    def __init__(self, folder: str) -> None:
        """Raises AuditError where there is a record that cannot be read."""
        self._folder = folder
        self._moment = Moment(folder)
        self.key = self._moment.key
        self._texts: dict[int, _Texts] = {}

    def line(self, each: Distinct) -> dict[str, Any] | None:
        """One line, None where it does not stand there any more."""
        return chain.read(self._moment.bytes_at(each.segment, each.start, each.size))

    def text(self, segment: int, digest: str) -> bytes | None:
        """A text beside a file of lines, None where it is not there, or is another one than it was."""
        if self.key is None:
            return None
        found = self._texts.get(segment)
        if found is None:
            found = self._texts[segment] = _Texts(os.path.join(self._folder, files.stem_of(segment)) + files.TEXTS)
        text = found.get(digest)
        return text if text is not None and named(text, self.key) == digest else None

    def close(self) -> None:
        """Gives the files back."""
        self._moment.close()
        for each in self._texts.values():
            each.close()
        self._texts.clear()


class _Texts:
    """The texts of one file by their digests, which stand before them."""

    def __init__(self, path: str) -> None:
        self._places: dict[bytes, tuple[int, int]] = {}
        self._data: mmap.mmap | None = None
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_size:
                    self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError:
            return
        if self._data is None:
            return
        start, end = 0, self._data.find(b"\n")
        while end >= 0:
            if end - start > 33:
                self._places[self._data[start : start + 32]] = (start + 33, end)
            start = end + 1
            end = self._data.find(b"\n", start)

    def get(self, digest: str) -> bytes | None:
        place = self._places.get(digest.encode("ascii"))
        return None if place is None or self._data is None else self._data[place[0] : place[1]]

    def close(self) -> None:
        if self._data is not None:
            self._data.close()
