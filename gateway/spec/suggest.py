"""The known name that was probably meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 40  # a longer name is no slip of the finger, and comparing costs the product of both lengths


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that `name` is a likely misspelling of, "" if there is none.

    Case, `-` and `_` do not count; at most a third of the letters may be wrong, missing or swapped. Among
    equally near ones the first in the alphabet is told, so that the answer does not depend on order.
    """
    folded = _folded(name)
    if not folded or len(folded) > _LONGEST:
        return ""
    most = max(1, len(folded) // 3)
    best = ""
    for candidate in sorted(known):
        other = _folded(candidate)
        if not other or abs(len(other) - len(folded)) > most:
            continue
        away = _distance(folded, other, most)
        if away <= most and away < len(other):
            if away == 0:
                return candidate
            best, most = candidate, away - 1
    return best


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A remedy: the nearest known name as a question, else `otherwise`."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else otherwise


def one_of(names: Iterable[str]) -> str:
    """`a`, `b` or `c`: how a closed vocabulary is told."""
    quoted = [f"`{name}`" for name in names]
    return " or ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1]))) if quoted else ""


def _folded(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def _distance(first: str, second: str, most: int) -> int:
    """How many letters are to be changed, added, removed or swapped with their neighbour; above `most` any number."""
    before: list[int] = []
    above = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        current = [row]
        for column, other in enumerate(second, 1):
            cost = min(above[column] + 1, current[-1] + 1, above[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == second[column - 2] and first[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, above = above, current
    return above[-1]
