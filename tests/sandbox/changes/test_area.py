"""Which paths of a plan are saved."""

from __future__ import annotations

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.changes.area import Area, area_of, cannot_undo

PLAN = SandboxPlan(
    mounts=(
        Mount("/usr", READ), Mount("/w", WRITE), Mount("/w/.env", HIDDEN, False), Mount("/w/.git/hooks", FIXED),
        Mount("/w/.git/hooks/mine", WRITE), Mount("/cache", WRITE), Mount("/dev/null", WRITE, False),
        Mount("/usr/single", WRITE, False),
    ),
    links=(),
    private=("/tmp",),
    cwd="/w",
    environment=(),
    network=Network(),
    limits=Limits(),
    layers=(("/cache", "/state/layer"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/w/a", "/w"), ("/w/a/b/c", "/w"), ("/w", ""), ("/w/.env", ""), ("/w/.env/x", ""), ("/w/.envrc", "/w"),
        ("/w/.git/config", "/w"), ("/w/.git/hooks", ""), ("/w/.git/hooks/x", ""),
        ("/w/.git/hooks/mine/x", "/w/.git/hooks/mine"), ("/cache/x", ""), ("/usr/x", ""), ("/tmp/x", ""), ("/x", ""),
        ("/wx", ""), ("/dev/null", ""), ("/usr/single", "/usr"), ("/usr/other", ""),
    ],
)  # fmt: skip
def test_what_may_be_written_and_is_not_hidden_held_or_gone_is_saved(path: str, root: str) -> None:
    assert area_of(PLAN).root(path) == root


@pytest.mark.parametrize(
    ("plan", "tells", "reason"),
    [
        (PLAN, True, ""),
        (PLAN, False, "this sandbox does not tell"),
        (PLAN.replace(permits=("namespaces",)), True, "the call may mount"),
        (PLAN.replace(mounts=(Mount("/", WRITE),)), True, "it may write everywhere"),
        (PLAN.replace(mounts=(Mount("/usr", READ),)), True, ""),
    ],
    ids=["a workspace", "another sandbox", "mounts of its own", "everything", "nothing may be written"],
)
def test_what_cannot_be_undone_is_known_before(plan: SandboxPlan, tells: bool, reason: str) -> None:
    found = cannot_undo(plan, backend_tells=tells)
    assert found.startswith(reason)
    assert bool(found) is bool(reason)


def test_a_root_in_what_is_not_saved_is_saved() -> None:
    assert Area(["/a/b"], ["/a"]).root("/a/b/c") == "/a/b"


def test_what_is_lost_lies_in_what_goes_with_the_call_and_in_nothing_that_no_call_writes() -> None:
    plan = PLAN.replace(private=("/home",), mounts=(
        Mount("/home/w", WRITE), Mount("/home/w/secret", HIDDEN, False), Mount("/home/read", READ), Mount("/x", WRITE),
    ))  # fmt: skip
    area = area_of(plan)
    paths = ("/home/a", "/home/a/b", "/home/.a/b", "/home/w/a", "/home/w/secret", "/home/read/a", "/x/a", "/y")
    assert [path for path in paths if area.is_lost(path)] == ["/home/a", "/home/a/b"]
