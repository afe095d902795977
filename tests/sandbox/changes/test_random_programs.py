"""Whatever a program writes, deletes, links, renames, closes and nests: undone, the tree is what it was."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH
from sandbox.changes.worlds import World, as_user, fill, program, tree

from gateway.sandbox.changes.undo import undo

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = 1_000 if THOROUGH else 12
OF_A_USER = range(1_000) if THOROUGH else range(17, 22)


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


@pytest.mark.skipif(os.geteuid() != 0, reason="this run is by an ordinary user already")
@pytest.mark.parametrize("seed", OF_A_USER)
def test_it_is_for_an_ordinary_user_who_closes_folders_to_himself(seed: int, users_place: Path) -> None:
    chance = random.Random(f"world {seed}")

    def begin() -> None:
        fill(World(users_place).top, chance)

    def run_and_undo() -> list[dict[str, str]]:
        world = World(users_place)
        given = random.Random(seed)
        sets = [world.run(program(seed * 10 + each, given.randrange(1, 40))) for each in range(given.randrange(1, 4))]
        return [undo(world.store, each.number).stays for each in reversed(sets) if each is not None]

    as_user(begin)
    before = tree(users_place / "workspace")
    assert not any(as_user(run_and_undo))
    assert tree(users_place / "workspace") == before
