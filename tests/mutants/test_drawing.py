"""The mutants that are drawn stay the same while other places of the sources change."""

from __future__ import annotations

import pytest

from mutants.changes import mutants
from mutants.drawing import ordered

SOURCE = "def f(x): return x == 1\ndef g(x): return x < 2 and x\ndef h(x):\n  if x: pass\n  if x: pass\n"


def order(source: str, seed: int = 1) -> list[tuple[tuple[str, ...], bool]]:
    """The name of each, and whether it is the last of this name."""
    found = ordered(mutants("a.py", source.encode()), seed)
    last = {each.name: max(other.line for other in found if other.name == each.name) for each in found}
    return [(each.name, each.line == last[each.name]) for each in found]


@pytest.mark.parametrize("edited", [f"X = 1\n{SOURCE}", SOURCE.replace("x < 2", "x > 3"), f"{SOURCE}Y = [1, 0]\n"])
def test_an_edit_elsewhere_leaves_the_order_of_the_others(edited: str) -> None:
    before, after = order(SOURCE), order(edited)
    kept = {*before} & {*after}
    assert kept >= {each for each in before if each[0][1] in ("f", "h")}
    assert [each for each in before if each in kept] == [each for each in after if each in kept]


def test_another_seed_is_another_order_of_the_same() -> None:
    assert order(SOURCE, 1) == order(SOURCE, 1) != order(SOURCE, 2)
    assert sorted(order(SOURCE, 1)) == sorted(order(SOURCE, 2))
