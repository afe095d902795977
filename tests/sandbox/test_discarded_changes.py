"""What a call writes in folders of its own is known before it is lost."""

import pytest

from gateway.model.effect import HOLE, Touch
from gateway.model.limits import Limits
from gateway.model.plan import WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.discarded_changes import said_of, thrown_away


class Item:
    def __init__(self, effect) -> None:
        self.effect = effect


class Verdict:
    def __init__(self, *effects) -> None:
        self.analysis = self
        self.items = [Item(each) for each in effects]


PLAN = SandboxPlan(
    (Mount("/tmp/project", WRITE),), (), private=("/home/dev", "/tmp"), cwd="/", environment=(), network=Network(),
    limits=Limits(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("effect", "lost"),
    [
        (Touch("write", "/tmp/x"), ("/tmp/x",)),
        (Touch("write", "/home/dev/x"), ("/home/dev/x",)),
        (Touch("write", "/tmp/project/x"), ()),
        (Touch("write", "/tmpx"), ()),
        (Touch("write", "/srv/x"), ()),
        (Touch("write", f"/tmp/{HOLE}"), ()),
        (Touch("write", "/srv/x", real="/tmp/x"), ("/srv/x",)),
        (Touch("read", "/tmp/x"), ()),
    ],
)
def test_a_write_is_lost_only_where_the_deepest_thing_shown_is_private(effect, lost) -> None:
    assert thrown_away(Verdict(effect), PLAN) == lost


def test_without_a_plan_nothing_is_lost() -> None:
    assert thrown_away(Verdict(Touch("write", "/tmp/x")), None) == ()


def test_many_paths_are_summed_up_and_shown_escaped() -> None:
    said = said_of(("/tmp/a\n", "/tmp/b", "/tmp/c", "/tmp/d", "/tmp/e"))
    assert ("\n" in said, "/tmp/d and 1 more" in said, said_of(())) == (False, True, "")
