"""What policies made of parts of a record, remembered beside it: a replay that was ended goes on where it was, and of a
policy that differs from a known one in a few rules no more is judged than what these may speak of.

What is remembered is believed as long as the code, the calls and every policy that took part are the same. It is
sealed, private and bounded; whoever deletes the folder loses time alone.
"""

from __future__ import annotations

import zlib

from gateway.config.shipped import code_digest
from gateway.core.cache import Cache, digest
from gateway.core.plainjson import dumps, loads
from gateway.model.facts import Origin
from gateway.replay.judging import NO_FACTS, NOT_WHOLE, Anew, Judging, Said
from gateway.replay.unchanged import change, signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.replay.decisions import Distinct
    from gateway.replay.judging import Judges, Side, Under
    from gateway.replay.unchanged import Change

    Entry = dict[str, Any]

FOLDER = "replayed"
MOST = 1_024  # parts that are remembered
_LONGEST = 1 << 25
_LASTING = ("", NOT_WHOLE)  # what will not be another problem next time


class Remembering:
    """Judges parts of a record as `Judging` does, or tells what came of it before; made once by whoever works."""

    def __init__(self, folder: str, old: Side, new: Side) -> None:
        """`folder`: the record's."""
        self._judging = Judging(folder, old, new, signature)
        self._cache = Cache(f"{folder}/{FOLDER}", MOST)
        self._changes: dict[tuple[int, int, Under], Change | None] = {}
        self._given = [_given(each) for each in (old, new)]

    def __call__(self, part: Sequence[Distinct]) -> list[Anew]:
        names = self._names(part)
        sides = self._judging.sides
        old, new = (self._read(name, judges, part) for name, judges in zip(names, sides, strict=True))
        if old is not None and new is not None:
            found = [_row(each, *both) for each, *both in zip(part, _rows(old), _rows(new), strict=True)]
        else:
            found = self._only_touched(part, old) if old is not None else []
            if not found:
                found = self._judged(part)
                self._keep(names, found)
        return [each.replace(old=each.old.replace(noted=()), new=each.new.replace(noted=())) for each in found]

    def _judged(self, part: Sequence[Distinct]) -> list[Anew]:
        self._judging.asked.clear()
        return self._judging(part)

    def _only_touched(self, part: Sequence[Distinct], old: Entry) -> list[Anew]:
        """What the one policy said, and the other one of all that its changed rules may speak of; [] where they differ
        in more. Not remembered: it is made anew as quickly."""
        changes = [self._change(_under(each)) for each, _revision in old["under"]]
        known = [each for each in changes if each is not None]
        if not changes or len(known) < len(changes):
            return []
        stands: dict[int, Anew] = {}
        for number, (each, row) in enumerate(zip(part, _rows(old), strict=True)):
            said = row[0]
            if said.problem or said.missing or any(change.touches(said.noted) for change in known):
                continue
            places = {said.rule if said.rule[2] == "" else change.places.get(said.rule) for change in known}
            place = places.pop()
            if place is not None and not places:
                stands[number] = _row(each, row, (said.replace(rule=place), *row[1:]))
        left = iter(self._judged([each for number, each in enumerate(part) if number not in stands]))
        return [stands[number] if number in stands else next(left) for number in range(len(part))]

    def _change(self, under: Under) -> Change | None:
        """How the one policy differs from the other there; None where that has to be tried."""
        mine, theirs = (judges.of(under[0]) for judges in self._judging.sides)
        if isinstance(mine, str) or isinstance(theirs, str) or not mine.understands_like(theirs):
            return None
        key = (id(mine), id(theirs), under)
        if key not in self._changes:
            loaded = (judge.loaded_with(under[1], frozenset(under[2])) for judge in (mine, theirs))
            self._changes[key] = change(*loaded)
        return self._changes[key]

    def _names(self, part: Sequence[Distinct]) -> tuple[str, str]:
        """Under which names the results of both sides are kept."""
        calls = [
            "\n".join((each.facts, each.context, each.call, each.front, each.decision, each.rule, each.policy))
            + f"\n{each.segment} {each.start}"
            for each in part
        ]
        both = [digest([code_digest(), *given, *calls]) for given in self._given]
        return both[0], both[1]

    def _read(self, name: str, judges: Judges, part: Sequence[Distinct]) -> Entry | None:
        """What is remembered of one side, None where nothing is, or a policy is another by now."""
        data = self._cache.read_bytes(name)
        if data is None:
            return None
        try:
            entry: Entry = loads(zlib.decompressobj().decompress(data, _LONGEST).decode("ascii"))
            known = len(entry["rows"]) == len(part) and all(
                judges.revision(_under(each)) == revision for each, revision in entry["under"]
            )
        except (zlib.error, ValueError, KeyError, TypeError):
            return None
        return entry if known else None

    def _keep(self, names: tuple[str, str], found: list[Anew]) -> None:
        problems = {said.problem for each in found for said in (each.old, each.new)}
        if not problems <= {*_LASTING} or NO_FACTS in problems:
            return
        for place, (name, judges) in enumerate(zip(names, self._judging.sides, strict=True)):
            under = [[each, judges.revision(each)] for each in self._judging.asked]
            judged = [judge for each in self._judging.asked if not isinstance(judge := judges.of(each[0]), str)]
            timed = any(map(judges.asks_time, judged))
            rows = [
                [each.new if place else each.old, each.tool, each.shown, each.cwd, each.other_code, timed]
                for each in found
            ]
            text = dumps({"under": under, "rows": rows})
            self._cache.write_bytes(name, zlib.compress(text.encode("ascii"), 1))

    def close(self) -> None:
        """Gives the files back."""
        self._judging.close()


def _given(side: Side) -> tuple[str, ...]:
    """What tells a side from others before anybody has judged by it."""
    snapshots = [digest([root, snapshot.packed()]) for root, snapshot in side.snapshots]
    return ("recorded" if side.recorded else "given", side.policies, *snapshots)


def _under(row: Any) -> Under:
    """By what a call was judged, as it was written down."""
    origin, rules, others = row
    root, policies, mode, trust, binding, servers, paused, revision, code = origin
    made = Origin(
        root=root, policies=policies, mode=mode, trust=tuple(trust), binding=binding,
        servers=tuple(map(tuple, servers)), paused=paused, revision=revision, code=code,
    )  # fmt: skip
    return made, tuple(rules), tuple(others)


def _rows(entry: Entry) -> list[tuple[Any, ...]]:
    """What one side said of each call, with what is told of the call."""
    return [(_said(said), *told) for said, *told in entry["rows"]]


def _said(row: Any) -> Said:
    decision, (name, layer, file, line), problem, missing, noted = row
    return Said(decision, (name, layer, file, line), problem=problem, missing=tuple(missing), noted=tuple(noted))


def _row(each: Distinct, old: tuple[Any, ...], new: tuple[Any, ...]) -> Anew:
    said, tool, shown, cwd, other_code, timed = old
    return Anew(each, said, new[0], tool=tool, shown=shown, cwd=cwd, other_code=other_code, asks_time=timed or new[5])
