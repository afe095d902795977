"""Incremental replay: a replay that was interrupted is resumed, and for a policy that differs from a known one in a few
rules only those calls are judged which these may match.

What is known (`gateway.replay.verdict_cache`) is believed as long as the code, the call and the revision of the policy
are the same.
"""

from __future__ import annotations

import gc
from _blake2 import blake2b

from gateway.config.shipped import code_digest
from gateway.core.gc_pause import Uncollected
from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value
from gateway.judge.recorded_facts import BELOW
from gateway.model.facts import Origin
from gateway.replay.judging import Anew, Judging, Said
from gateway.replay.tally import Tally
from gateway.replay.unchanged import change, looked_below, signature
from gateway.replay.verdict_cache import Judged, Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.replay.decisions import Distinct
    from gateway.replay.judging import Judges, Side, Under
    from gateway.replay.unchanged import Change

_MANY = 200_000  # objects that were made and still are; a look at fewer is dear beside a small part


class Found(Value):
    """What came of a part. `asks_time`: what a policy says depends on when; `kept`: what was not known before; `used`:
    policies that were asked for."""

    tally: Tally
    asks_time: bool
    kept: tuple[Judged, ...]
    used: frozenset[str]


class _Place(Value):
    """By what some calls were judged, and by what they are judged now. `names`: of the policies of both sides, "" where
    nothing is known of one; `revision`: of the policy of then; `change`: from the old one to the new one, None where
    they differ in more than rules; `protects_otherwise`: the new one protects other paths than that of then;
    `other_code`: another version of the code decided; `asks_time`: what one of the policies says depends on when."""

    names: tuple[str, str]
    revision: str
    change: Change | None
    protects_otherwise: bool
    other_code: bool
    asks_time: bool


class Remembering:
    """Judges parts of a record as `Judging` does and counts what comes of it, or counts what is known of it; made once
    by whoever works."""

    def __init__(self, folder: str, old: Side, new: Side, by_time: bool = False) -> None:
        """`folder`: the record's; `by_time`: decisions of different times are different. With both the recorded side,
        what is recorded stands in the place of what the old one says."""
        self._judging = Judging(folder, old, new, signature)
        self._known = Known(folder)
        self._by_time = by_time
        self._is_replay = old.recorded and new.recorded
        self._recorded = tuple(side.recorded for side in (old, new))
        self._code = code_digest()
        self._places: dict[int, _Place | None] = {}
        self._said: dict[int, Said] = {}
        self._stands: dict[tuple[int, int], Said | None] = {}
        self._rules: dict[str, Any] = {}
        self._texts: dict[Any, str] = {}

    def __call__(self, part: Sequence[Distinct]) -> Found:
        with Uncollected():
            found = self._of(part)
            if gc.get_count()[0] > _MANY:
                gc.collect(0)  # what was made meanwhile: nothing else can be garbage
        return found

    def _of(self, part: Sequence[Distinct]) -> Found:
        tally, kept = Tally(), []
        keys = [self._key(each) for each in part]
        origins = self._known.origins(keys)
        places = {number: self._place(number) for number in set(origins.values())}
        used = {name for place in places.values() if place is not None for name in place.names if name}
        said = self._known.said(used, keys)
        self._read(set(said.values()))
        asks_time = False
        left: list[tuple[bytes, Distinct, Said | None]] = []
        for each, key in zip(part, keys, strict=True):
            number = origins.get(key, 0)
            place = places.get(number)
            old, new = (None, None) if place is None else self._both(each, key, number, place, said)
            if place is None or old is None or new is None:
                left.append((key, each, old))
                continue
            asks_time = asks_time or place.asks_time
            self._count(tally, each, key, (old, new), place)
        for (key, *_call), anew in zip(left, self._judging.each((each, old) for _key, each, old in left), strict=True):
            asks_time = asks_time or anew.asks_time
            judged = self._judged(key, anew)
            if judged is not None:
                kept.append(judged)
                used.update(name for name, _text in judged.said)
            bare = anew.replace(old=anew.old.replace(noted=()), new=anew.new.replace(noted=()))
            tally.add(self._against_record(bare))
        return Found(tally, asks_time, tuple(kept), frozenset(used))

    def _both(
        self, each: Distinct, key: bytes, number: int, place: _Place, said: Mapping[tuple[str, bytes], int]
    ) -> tuple[Said | None, Said | None]:
        """What both policies say of a call, None where that is not known."""
        if any(self._recorded) and place.revision != each.policy:
            return None, None
        old = said.get((place.names[0], key))
        if old is None:
            return None, None
        new = said.get((place.names[1], key))
        then = self._said.get(old)
        if then is None:
            return None, None
        return then, self._standing(number, place, old, then) if new is None else self._said.get(new)

    def _standing(self, number: int, place: _Place, old: int, said: Said) -> Said | None:
        """What the new policy says where its changed rules cannot speak of a call."""
        if (number, old) not in self._stands:
            found, changed = None, place.change
            if changed is not None and not said.problem and not said.missing and not changed.touches(said.noted):
                at = said.rule if said.rule[2] == "" else changed.places.get(said.rule)
                found = None if at is None else said.replace(rule=at)
                if found is not None and place.protects_otherwise and looked_below(said.noted):
                    found = found.replace(missing=(BELOW,))  # nobody looked for what it protects there
            self._stands[number, old] = found
        return self._stands[number, old]

    def _count(self, tally: Tally, each: Distinct, key: bytes, both: tuple[Said, Said], place: _Place) -> None:
        old, new = both
        decision, rule = (each.decision, self._rule(each.rule)) if self._is_replay else (old.decision, old.rule)
        if decision == new.decision and old.is_certain and new.is_certain:
            tally.add_equal(each.count, elsewhere=rule != new.rule, other_code=place.other_code)
            return
        tool, shown, cwd = self._known.told(key)
        anew = Anew(each, old, new, tool=tool, shown=shown, cwd=cwd, other_code=place.other_code)
        tally.add(self._against_record(anew))

    def _against_record(self, each: Anew) -> Anew:
        """In a replay with what was decided then in the place of what the old policy says."""
        if not self._is_replay:
            return each
        then = each.distinct
        return each.replace(old=each.old.replace(decision=then.decision, rule=self._rule(then.rule)))

    def _rule(self, text: str) -> Any:
        if text not in self._rules:
            self._rules[text] = tuple(loads(text))
        return self._rules[text]

    def _judged(self, key: bytes, anew: Anew) -> Judged | None:
        """What is worth to be known of a call next time."""
        under = self._judging.under
        if under is None or isinstance(self._judging.recorded.of(under[0]), str):
            return None
        said: dict[str, str] = {}
        for each, judges in zip((anew.old, anew.new), self._judging.sides, strict=True):
            if not each.problem and (name := _name(judges, under)) and name not in said:
                said[name] = dumps(each)
        if under not in self._texts:
            self._texts[under] = dumps(under)
        text = self._texts[under]
        return Judged(key, text, tool=anew.tool, shown=anew.shown, cwd=anew.cwd, said=tuple(said.items()))

    def _place(self, number: int) -> _Place | None:
        """By what calls of a known origin are judged; None where nobody can tell."""
        if number not in self._places:
            self._places[number] = self._made(self._known.text(number))
        return self._places[number]

    def _made(self, text: str) -> _Place | None:
        try:
            under = _under(loads(text))
        except (ValueError, TypeError):
            return None
        then = self._judging.recorded.of(under[0])
        if isinstance(then, str):
            return None
        sides = self._judging.sides
        judges = [each for side in sides if not isinstance(each := side.of(under[0]), str)]
        if len(judges) < len(sides):
            return None
        names = _name(sides[0], under), _name(sides[1], under)
        changed = None
        if judges[0].understands_like(judges[1]):
            loaded = [judge.loaded_with(under[1], frozenset(under[2])) for judge in judges]
            changed = change(loaded[0], loaded[1])
        timed = any(each.loaded.policy.asks_time for each in judges)
        return _Place(
            names, self._judging.recorded.revision(under), changed,
            protects_otherwise=self._judging.protect_otherwise(judges[1], then),
            other_code=under[0].code != then.code, asks_time=timed,
        )  # fmt: skip

    def _read(self, numbers: set[int]) -> None:
        """What policies said, where that can be read."""
        for number, text in self._known.texts(numbers - self._said.keys()):
            try:
                decision, (name, layer, file, line), problem, missing, noted = loads(text)
            except (ValueError, TypeError):
                continue
            self._said[number] = Said(
                decision, (name, layer, file, line), problem=problem, missing=tuple(missing), noted=tuple(noted)
            )  # fmt: skip

    def _key(self, each: Distinct) -> bytes:
        """Of all that decides what comes of a call."""
        when = f"{each.segment} {each.start}" if self._by_time else ""
        fields = (
            self._code, each.facts, each.context, each.call, each.front, each.decision, each.rule, each.policy, when,
        )  # fmt: skip
        return blake2b("\n".join(fields).encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def close(self) -> None:
        """Gives the files back."""
        self._known.close()
        self._judging.close()


def _name(judges: Judges, under: Under) -> str:
    """Tells the policy that judges there from others, "" where nobody can judge."""
    revision = judges.revision(under)
    return revision and f"{revision} {int(judges.is_paused(under[0]))}"


def _under(row: Any) -> Under:
    """By what a call was judged, as it was written down."""
    origin, rules, others = row
    root, policies, mode, trust, binding, servers, paused, revision, code = origin
    made = Origin(
        root=root, policies=policies, mode=mode, trust=tuple(trust), binding=binding,
        servers=tuple(map(tuple, servers)), paused=paused, revision=revision, code=code,
    )  # fmt: skip
    return made, tuple(rules), tuple(others)
