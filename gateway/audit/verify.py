"""Whether the record is as it was written: every line whole and behind the one it was written behind, none removed,
none added, up to what the seal says of its end.

What this cannot tell by itself: that somebody who can write as this user made all of it anew, key and seal included,
put an older copy of all of it in its place, or put a record at its end. Against the first two help heads that were kept
elsewhere: by a person (`holds`), by the system's journal or a file of root's (`gateway.audit.anchors`).
"""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.audit import anchors, chain, files
from gateway.audit.reading import Moment
from gateway.core.errors import AuditError
from gateway.core.value import Value
from gateway.model.record import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.audit.anchors import Heads
    from gateway.audit.reading import Line, Part


class Broken(Value):
    """The first link that does not hold. `number`: of the record it is about; `line` counts from 1 in `file`, 0 for
    the file as a whole."""

    why: str
    number: int
    file: str = ""
    line: int = 0


class Verified(Value):
    """`records`: lines that hold, `first` to `last`; `head`: the digest of the last one. `notes`: what is no sign of a
    change, but worth knowing."""

    records: int
    first: int
    last: int
    head: str
    files: int
    broken: Broken | None = None
    notes: tuple[str, ...] = ()


def verify(folder: str, holds: tuple[int, str] | None = None, *, anchored: bool = False) -> Verified:
    """Looks at every byte of the record. `holds`: number and digest of a head that was seen before and must be in it.
    Heads that are kept elsewhere must be in it, too; with `anchored` somebody must keep them. Raises AuditError where
    there is a record that cannot be read, or nobody who keeps what must be kept."""
    with Moment(folder) as moment:
        heads = anchors.kept(folder, moment.key or b"")
        if anchored and not heads.keepers:
            reason = "nobody keeps heads of the record here: there is neither the system's journal nor a file for them"
            raise AuditError(reason, f"have root make {anchors.FILE}: see docs/audit.md")
        found = _Walk(moment, holds, heads, anchored).result()
    # Rows that were taken out of the index would hide what stands in the lines: the next question makes it anew.
    with suppress(OSError):
        os.unlink(os.path.join(folder, files.INDEX))
    return found


class _BreakError(Exception):
    def __init__(self, broken: Broken) -> None:
        self.broken = broken


class _Walk:
    """Goes through the files once."""

    def __init__(self, moment: Moment, holds: tuple[int, str] | None, heads: Heads, anchored: bool) -> None:
        self._moment = moment
        self._seal = moment.seal
        self._holds = holds
        self._heads = heads
        self._anchored = anchored
        self._notes: list[str] = []
        self._number, self._head = 0, chain.START
        self._records = 0
        self._is_sealed = self._is_held = False
        self._before: tuple[str, int] = ("", 0)  # where the record stands that was passed last

    def result(self) -> Verified:
        """What was found, up to the first broken link."""
        broken = None
        try:
            self._walk()
        except _BreakError as error:
            broken = error.broken
        first = 0 if not self._records else self._number - self._records + 1
        return Verified(
            self._records,
            first,
            last=self._number,
            head=self._head,
            files=len(self._moment.parts),
            broken=broken,
            notes=tuple(self._notes),
        )

    def _walk(self) -> None:
        moment, seal = self._moment, self._seal
        if seal is None:
            if moment.parts or moment.raw:
                why = "the seal is missing or damaged: where the record ends cannot be told"
                raise _BreakError(Broken(why, 0, os.path.join(moment.folder, files.SEAL)))
            if self._holds is not None:
                raise _BreakError(Broken("there is no record", self._holds[0]))
            self._look_for_kept()
            return
        self._number, self._head = seal.base, seal.base_head
        self._look_at_head()
        expected = seal.first
        for part in moment.parts:
            if part.segment < seal.first:  # rotation was about to remove it
                continue
            if part.segment != expected:
                raise _BreakError(Broken(f"the file {files.name_of(expected)} is missing", self._number + 1))
            expected += 1
            self._file(part)
        if self._number < seal.count:
            raise _BreakError(Broken(f"{_range(self._number + 1, seal.count)} missing at the end", self._number + 1))
        if not self._is_sealed:
            raise _BreakError(Broken("this record is another one than was sealed", seal.count))
        if self._number > seal.count:
            more = self._number - seal.count
            if more > chain.MOST_BEHIND:
                why = f"{_count(more, 'record')} behind the seal: an older seal was put in the place of the last one"
                raise _BreakError(Broken(why, seal.count, os.path.join(moment.folder, files.SEAL)))
            self._notes.append(
                f"{_count(more, 'record')} behind the seal: a writer was killed, the next one seals them"
            )
        self._look_for_held(seal)
        self._look_for_kept()

    def _file(self, part: Part) -> None:
        odd: list[Line] = []  # lines that do not fit; the mark behind torn ones makes them fit
        number = 0
        for line in self._moment.lines(part):
            number += 1
            if not chain.follows(line.data, self._number + 1, self._head):
                if odd and not self._is_torn([*odd, line]):
                    raise self._unfitting(odd[0], number - len(odd))
                odd.append(line)
                continue
            if odd and not chain.closes(line.data, b"".join([each.data for each in odd])):
                raise self._unfitting(odd[0], number - len(odd))
            found = chain.read(line.data) or {}
            if found["kind"] == MARK:
                self._mark(found, part, number)
            odd = []
            self._number, self._head = self._number + 1, chain.digest(line.data)
            self._before = (part.path, number)
            self._records += 1
            self._look_at_head()
        if not odd:
            return
        if not self._is_torn(odd) or self._seal is None or self._number < self._seal.count:
            raise self._unfitting(odd[0], number - len(odd) + 1)
        size = sum(len(each.data) for each in odd)
        self._notes.append(f"{size} bytes of a torn record at the end: the next writer closes them off")

    def _is_torn(self, odd: list[Line]) -> bool:
        """Whether killed writers may have left these lines: of the next record, or of the mark that closes one off."""
        return all(chain.begins(each.data, self._number + 1, self._head) for each in odd)

    def _mark(self, found: dict[str, Any], part: Part, line: int) -> None:
        """What a writer found. A torn line is a killed writer's; everything else is a loss or a change."""
        mark = found.get("mark")
        if mark == "torn":
            self._notes.append(f"a torn record of {found.get('bytes')} bytes was closed off by record {found['n']}")
        elif mark != "next":
            why = _MARKS.get(str(mark), f"it is a mark `{mark}` that is not known here")
            raise _BreakError(Broken(why, found["n"], part.path, line))

    def _unfitting(self, line: Line, number: int) -> _BreakError:
        """What is wrong with a line that does not go on where the one before it ended."""
        path, expected = line.part.path, self._number + 1
        found = chain.read(line.data)
        if found is None:
            return _BreakError(Broken("this line is no record: it was changed or put there", expected, path, number))
        said = found["n"]
        if said == expected and found["prev"] != self._head and self._before[1]:
            why = f"this record was changed: record {expected} was written behind another one"
            return _BreakError(Broken(why, self._number, *self._before))
        if said > expected:
            missing = _range(expected, said - 1)
            return _BreakError(Broken(f"{missing} missing before this line", expected, path, number))
        if said < expected:
            return _BreakError(Broken(f"this line is record {said} again, or out of order", expected, path, number))
        return _BreakError(Broken("this line was changed or put there", expected, path, number))

    def _look_at_head(self) -> None:
        """Compares with what the seal and the caller know of the record that was just passed."""
        if self._seal is not None and self._number == self._seal.count:
            self._is_sealed = self._head == self._seal.head
        if self._holds is not None and self._number == self._holds[0]:
            self._is_held = self._head == self._holds[1]

        kept = self._heads.known.get(self._number, ())
        if any(head != self._head for head in kept):
            why = f"this record is another one than the one of which {self._keepers} kept the head"
            raise _BreakError(Broken(why, self._number, *self._before))

    @property
    def _keepers(self) -> str:
        return " and ".join(self._heads.keepers)

    def _look_for_kept(self) -> None:
        """Compares with the heads that are kept elsewhere, once all records were passed."""
        known, strange = self._heads.known, self._heads.strange
        last = max(known, default=0)
        if last > self._number:
            missing = _range(self._number + 1, last)
            raise _BreakError(
                Broken(f"{missing} missing at the end, by a head that {self._keepers} kept", self._number + 1)
            )
        if strange:
            why = f"{self._keepers} kept {_count(strange, 'head')} for this folder of another record"
            why += ": this one was made anew"
            raise _BreakError(Broken(why, 0, self._moment.folder))
        if known:
            self._notes.append(f"{_count(len(known), 'head')} that {self._keepers} kept hold, up to record {last}")
        elif self._anchored:
            self._notes.append(f"{self._keepers} kept no head of this record yet")

    def _look_for_held(self, seal: chain.Seal) -> None:
        if self._holds is None or self._is_held:
            return
        number = self._holds[0]
        if number < seal.base:
            self._notes.append(f"record {number} was removed by rotation: its digest cannot be compared any more")
            return
        raise _BreakError(Broken("the head that was given is not in the record: it was made anew, or cut", number))


_MARKS = {
    "behind": "an older seal had been put in the place of the last one before this record",
    "foreign": "lines before this one were put there by somebody else",
    "short": "records before this one were removed, or lost when the machine stopped",
    "missing": "a file with records before this one was removed",
    "seal": "the seal was missing or damaged before this record: what was removed then cannot be told",
}


def _range(first: int, last: int) -> str:
    return f"record {first} is" if first == last else f"records {first} to {last} are"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
