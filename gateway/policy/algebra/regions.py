"""Regions: what a clause speaks of, as a product of sets, one for each dimension that it limits.

A dimension that a region does not name may take any value. `uncovered` answers whether some regions hold all of one,
and shows what they leave; it asks for the regions that hold a point, so that whoever has an index looks at few.
"""

from __future__ import annotations

from gateway.policy.algebra.languages import UndecidedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    Region = dict[str, Any]

MOST_PIECES = 400


class Point:
    """A value for each dimension: those of a region, and for others one of all that there are."""

    __slots__ = ("_all", "_known", "region")

    def __init__(self, region: Region, known: dict[str, Any], everything: Callable[[str], Any]) -> None:
        self.region = region
        self._known = known
        self._all = everything

    def __getitem__(self, dimension: str) -> Any:
        found = self._known.get(dimension)
        if found is None:
            found = self._known[dimension] = self._all(dimension).sample()
        return found

    def given(self, dimension: str) -> Any:
        """The value of a dimension that the region names, None for others."""
        return self._known[dimension] if dimension in self.region else None

    def lies_in(self, region: Mapping[str, Any]) -> bool:
        """Whether the region holds it."""
        return all(values.holds(self[dimension]) for dimension, values in region.items())


def sample(region: Region, everything: Callable[[str], Any]) -> Point | None:
    """A point of a region, None if it is empty. Raises UndecidedError."""
    known = {}
    for dimension, values in region.items():
        value = values.sample()
        if value is None:
            return None
        known[dimension] = value
    return Point(region, known, everything)


def overlap(one: Region, other: Region) -> Region:
    """What lies in both, perhaps nothing."""
    found = dict(one)
    for dimension, values in other.items():
        found[dimension] = found[dimension].both(values) if dimension in found else values
    return found


def without(region: Region, other: Region, everything: Callable[[str], Any]) -> Iterator[Region]:
    """What does not lie in the other, in pieces that do not overlap. Raises UndecidedError."""
    rest = dict(region)
    for dimension, values in other.items():
        have = rest[dimension] if dimension in rest else everything(dimension)
        for left in have.without(values):
            yield {**rest, dimension: left}
        rest[dimension] = have.both(values)


def uncovered(
    region: Region, holding: Callable[[Point], Iterable[Region]], everything: Callable[[str], Any]
) -> Point | None:
    """A point of a region that none of others holds; None if they hold all of it.

    `holding`: gives those that hold a point, the best first; it is asked for a few points only. Raises
    UndecidedError where the region would be cut into more than `MOST_PIECES`.
    """
    pieces = [region]
    looked = 0
    while pieces:
        piece = pieces.pop()
        point = sample(piece, everything)
        if point is None:
            continue
        looked += 1
        if looked > MOST_PIECES:
            raise UndecidedError("what is left falls into too many pieces")
        cover = next(iter(holding(point)), None)
        if cover is None:
            return point
        pieces += without(piece, cover, everything)
    return None
