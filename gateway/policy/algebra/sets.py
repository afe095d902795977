"""The values of one dimension of a region: some of a list, numbers, times, texts, hosts.

Each kind has the same few operations. What is left of a set without another one may be several sets of its kind; a
sample is a value in it, and there is none exactly where it is empty.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.policy.algebra.languages import Language, shortest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FRESH = "something else"


class Some(Value):
    """Values of a list, or, `negated`, all others."""

    values: frozenset[Any]
    negated: bool = False

    def both(self, other: Some) -> Some:
        """What lies in each."""
        if self.negated and other.negated:
            return Some(self.values | other.values, True)
        if self.negated or other.negated:
            plain, left_out = (other, self) if self.negated else (self, other)
            return Some(plain.values - left_out.values)
        return Some(self.values & other.values)

    def without(self, other: Some) -> list[Some]:
        """What does not lie in the other."""
        found = self.both(Some(other.values, not other.negated))
        return [found] if found.sample() is not None else []

    def holds(self, value: Any) -> bool:
        """Whether a value lies in it."""
        return (value in self.values) is not self.negated

    def sample(self) -> Any:
        """A value in it, None if there is none."""
        if self.negated:
            return _FRESH
        return min(self.values, key=lambda each: (str(type(each)), each), default=None)


class Spans(Value):
    """Numbers, as runs in order: `(low, with low, high, with high)`. `whole`: only integers count."""

    runs: tuple[tuple[float, bool, float, bool], ...]
    whole: bool = False

    def both(self, other: Spans) -> Spans:
        """What lies in each."""
        found = []
        for low, at_low, high, at_high in self.runs:
            for first, at_first, last, at_last in other.runs:
                start, at_start = max((low, not at_low), (first, not at_first))
                end, at_end = min((high, at_high), (last, at_last))
                run = (start, not at_start, end, at_end)
                if _number_in(run, self.whole) is not None:
                    found.append(run)
        return self.replace(runs=tuple(sorted(found)))

    def without(self, other: Spans) -> list[Spans]:
        """What does not lie in the other."""
        gaps = []
        at: tuple[float, bool] = (float("-inf"), True)
        for low, at_low, high, at_high in sorted(other.runs):
            gaps.append((*at, low, not at_low))
            at = max(at, (high, not at_high), key=lambda each: (each[0], not each[1]))
        gaps.append((*at, float("inf"), True))
        found = self.both(self.replace(runs=tuple(gap for gap in gaps if gap[0] <= gap[2])))
        return [found] if found.runs else []

    def holds(self, value: Any) -> bool:
        """Whether a number lies in it."""
        return any(
            (low < value or (at_low and low == value)) and (value < high or (at_high and value == high))
            for low, at_low, high, at_high in self.runs
        )

    def sample(self) -> float | None:
        """A number in it, None if there is none."""
        return next((n for run in self.runs if (n := _number_in(run, self.whole)) is not None), None)


def _number_in(run: tuple[float, bool, float, bool], whole: bool) -> float | None:
    low, at_low, high, at_high = run
    if low > high or (low == high and not (at_low and at_high)):
        return None
    if low == float("-inf"):
        low, at_low = (min(high, 0.0) - 1, True) if high < 0 or (high == 0 and not at_high) else (0.0, True)
    if not whole:
        return low if at_low else low + 1 if high == float("inf") else (low + high) / 2
    first = -int(-low // 1)  # the next integer at or above
    first += first == low and not at_low
    return first if first < high or (at_high and first == high) else None


ALL_NUMBERS = Spans(((float("-inf"), True, float("inf"), True),))


class Bits(Value):
    """Moments of a week, each a bit."""

    bits: int

    def both(self, other: Bits) -> Bits:
        """What lies in each."""
        return Bits(self.bits & other.bits)

    def without(self, other: Bits) -> list[Bits]:
        """What does not lie in the other."""
        found = self.bits & ~other.bits
        return [Bits(found)] if found else []

    def holds(self, value: Any) -> bool:
        """Whether a moment lies in it."""
        return bool(self.bits >> value & 1)

    def sample(self) -> int | None:
        """The first moment in it, None if there is none."""
        return (self.bits & -self.bits).bit_length() - 1 if self.bits else None


class Texts:
    """Texts that all of `inside` hold and none of `outside`; `among`: all that there are."""

    __slots__ = ("_sample", "among", "inside", "outside")

    def __init__(self, among: Language, inside: tuple[Language, ...] = (), outside: tuple[Language, ...] = ()) -> None:
        self.among = among
        self.inside, self.outside = inside, outside
        self._sample: list[str | None] = []

    def both(self, other: Texts) -> Texts:
        """What lies in each."""
        return Texts(
            self.among, tuple(dict.fromkeys((*self.inside, *other.inside))),
            tuple(dict.fromkeys((*self.outside, *other.outside))),
        )  # fmt: skip

    def without(self, other: Texts) -> list[Texts]:
        """What does not lie in the other."""
        found = [
            Texts(self.among, self.inside, (*self.outside, each)) for each in other.inside if each not in self.inside
        ]
        found += [
            Texts(self.among, (*self.inside, each), self.outside) for each in other.outside if each not in self.outside
        ]
        return [each for each in found if each.sample() is not None]

    def holds(self, value: Any) -> bool:
        """Whether a text lies in it."""
        return all(each.accepts(value) for each in self.inside) and not any(
            each.accepts(value) for each in self.outside
        )

    def sample(self) -> str | None:
        """A text in it that reads well, None if there is none. Raises UndecidedError."""
        if not self._sample:
            self._sample.append(self._found())
        return self._sample[0]

    def examples(self) -> Iterator[str]:
        """Texts in it that its patterns suggest."""
        for each in self.inside or (self.among,):
            for text in each.examples:
                if self.holds(text) and self.among.accepts(text):
                    yield text

    def _found(self) -> str | None:
        found = next(self.examples(), None)
        return shortest((*self.inside, self.among), self.outside) if found is None else found


class Hosts:
    """Hosts: names, and the addresses of both versions as numbers; `lone`: names without a dot, which may be hosts of a
    private network. What only some of these four parts hold is several sets."""

    __slots__ = ("lone", "names", "version_4", "version_6")

    def __init__(self, names: Texts | None, version_4: Spans, version_6: Spans, lone: Some) -> None:
        """`names`: None for no name."""
        self.names, self.version_4, self.version_6, self.lone = names, version_4, version_6, lone

    def both(self, other: Hosts) -> Hosts:
        """What lies in each."""
        names = None if self.names is None or other.names is None else self.names.both(other.names)
        return Hosts(
            names, self.version_4.both(other.version_4), self.version_6.both(other.version_6),
            self.lone.both(other.lone),
        )  # fmt: skip

    def without(self, other: Hosts) -> list[Hosts]:
        """What does not lie in the other."""
        found = []
        if self.names is not None:
            named = [self.names] if other.names is None else self.names.without(other.names)
            found += [Hosts(each, NO_NUMBERS, NO_NUMBERS, NOTHING) for each in named if each.sample() is not None]
        for each in self.version_4.without(other.version_4):
            found.append(Hosts(None, each, NO_NUMBERS, NOTHING))
        for each in self.version_6.without(other.version_6):
            found.append(Hosts(None, NO_NUMBERS, each, NOTHING))
        for lone in self.lone.without(other.lone):
            found.append(Hosts(None, NO_NUMBERS, NO_NUMBERS, lone))
        return found

    def holds(self, value: Any) -> bool:
        """Whether a name, an address `(version, number)` or `LONE` lies in it."""
        if value == LONE:
            return self.lone.holds(LONE)
        if isinstance(value, tuple):
            return (self.version_4 if value[0] == 4 else self.version_6).holds(value[1])
        return self.names is not None and self.names.holds(value)

    def sample(self) -> Any:
        """A name, an address `(version, number)` or `LONE` in it, None if there is none. Raises UndecidedError."""
        name = None if self.names is None else self.names.sample()
        if name is not None:
            return name
        for version, spans in ((4, self.version_4), (6, self.version_6)):
            number = spans.sample()
            if number is not None:
                return version, int(number)
        return self.lone.sample()


LONE = ("lone",)
NOTHING = Some(frozenset())
NO_NUMBERS = Spans((), whole=True)

if TYPE_CHECKING:
    Values = Some | Spans | Bits | Texts | Hosts
    Region = dict[str, Any]
    Found = Callable[[dict[str, Any]], Any]
