"""What is proved of clauses holds of everything that there is in a small world, as the resolver itself judges it."""

from __future__ import annotations

import random

import pytest
from fuzzing import THOROUGH
from randomclauses import WORLDS, outcome, trial

TRIALS = 20_000 if THOROUGH else 80  # each of a clause and one to three that may hold for all of it


@pytest.mark.parametrize("name", WORLDS)
def test_clauses_that_are_said_to_hold_for_all_of_another_one_do(name: str) -> None:
    world, chance = WORLDS[name](), random.Random(7)
    claimed = 0
    for _ in range(TRIALS):
        given = trial(world, chance)
        found = outcome(world, given)
        assert found.wrong is None, given
        claimed += found.claimed
    assert claimed > TRIALS // 50
