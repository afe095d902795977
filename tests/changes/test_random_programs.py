"""Whatever a program writes, deletes, links, renames, closes and nests: undone, the tree is what it was."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from changes.worlds import World, fill, program
from fuzzing import THOROUGH

from gateway.changes.undo import undo

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = 1_000 if THOROUGH else 30


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_what_a_random_program_changed_is_undone_exactly(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path)
    chance = random.Random(f"world {seed}")
    fill(world.top, chance)
    before = world.tree()
    sets = [world.run(program(seed * 10 + each, chance.randrange(1, 40))) for each in range(chance.randrange(1, 4))]
    for each in reversed(sets):
        if each is not None:
            assert undo(world.store, each.number).stays == {}
    assert world.tree() == before
