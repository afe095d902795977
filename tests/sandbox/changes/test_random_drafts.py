"""Whatever a program does on a layer: kept, the tree is what it would be without one; discarded, it is what it was;
killed anywhere, each name is one of the two."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH
from sandbox.changes.drafts import Drafts, in_child, run_directly
from sandbox.changes.worlds import fill, program

from gateway.sandbox.changes.keeping import discard, keep
from gateway.sandbox.changes.undo import undo
from gateway.sandbox.changes.unfinished import finish_begun

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("layers")

PROGRAMS = 1_000 if THOROUGH else 12


def world(top: Path, seed: int) -> tuple[Drafts, dict[str, tuple[object, ...]], dict[str, tuple[object, ...]]]:
    """A workspace with a program that has run on a layer over it; how it was, and how it would be without the layer."""
    chance = random.Random(f"steps {seed}")
    does = program(seed, chance.randrange(1, 40), folders_move=False)
    drafts = Drafts(top)
    fill(drafts.top, random.Random(f"drafts {seed}"), twins=False)
    before = drafts.tree()
    after = run_directly(top / "directly", f"drafts {seed}", does)
    drafts.run(does)
    assert drafts.tree() == before
    return drafts, before, after


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_kept_it_is_what_it_would_be_and_undone_what_it_was(seed: int, tmp_path: Path) -> None:
    drafts, before, after = world(tmp_path, seed)
    assert keep(drafts.store, 1).stays == {}
    assert drafts.tree() == after
    if drafts.store.get(1) is not None:  # else nothing has changed
        assert undo(drafts.store, 1).stays == {}
    assert drafts.tree() == before


@pytest.mark.parametrize("seed", range(PROGRAMS // 10))
def test_discarded_it_is_what_it_was_and_nothing_is_left(seed: int, tmp_path: Path) -> None:
    drafts, before, _after = world(tmp_path, seed)
    discard(drafts.store, 1)
    assert drafts.tree() == before
    assert sorted(os.listdir(drafts.store.folder)) == ["lock", "room"]


def lies_in_closed(path: str, tree: dict[str, tuple[object, ...]]) -> bool:
    """Whether a name lies in a folder that an ordinary user does not look into."""
    parts = path.split("/")
    above = ["/".join(parts[:end]) for end in range(1, len(parts))]
    return any(each in tree and int(str(tree[each][0])) & 0o500 != 0o500 for each in above)


@pytest.mark.parametrize("seed", range(PROGRAMS // 3))
def test_killed_anywhere_each_name_is_old_or_new_and_the_next_command_finishes(seed: int, tmp_path: Path) -> None:
    drafts, before, after = world(tmp_path, seed)
    for kill_at in range(1, 200):

        def killed(left: list[int]) -> None:
            def step(_what: str) -> None:
                left[0] -= 1
                if not left[0]:
                    os._exit(9)

            keep(drafts.store, 1, step=step)

        status = in_child(lambda at=kill_at: killed([at]))  # type: ignore[misc]
        if status != 9:
            assert status == 0
            break
        now = {path: what for path, what in drafts.tree().items() if not path.startswith(".gateway-keep-")}
        for path, (mode, content, _twin) in now.items():
            known = [each[path][1] for each in (before, after) if path in each]
            if not known and os.geteuid() and lies_in_closed(path, after):
                continue  # it is closed once all of it is there
            assert content in known, (path, mode)
        if random.Random(f"kill {seed} {kill_at}").randrange(2):
            break
    finish_begun(drafts.store)
    assert drafts.tree() == after
    if drafts.store.get(1) is not None:
        assert undo(drafts.store, 1).stays == {}
    assert drafts.tree() == before
