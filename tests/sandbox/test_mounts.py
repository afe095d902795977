"""A plan's mounts in the order in which they are made, compared whole."""

from __future__ import annotations

import pytest

from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount
from gateway.sandbox.mounts import BIND, COVER, MASK, PRIVATE, READ_ONLY, Step, steps

CASES = {
    "parents come before what lies in them": (
        [Mount("/usr", READ), Mount("/usr/local", WRITE), Mount("/etc", READ)],
        (),
        [Step(READ_ONLY, "/etc"), Step(READ_ONLY, "/usr"), Step(BIND, "/usr/local")],
    ),
    "a name that sorts between a folder and what is in it does not come between": (
        [Mount("/a", READ), Mount("/a-b", READ), Mount("/a/c", WRITE)],
        (),
        [Step(READ_ONLY, "/a"), Step(BIND, "/a/c"), Step(READ_ONLY, "/a-b")],
    ),
    "what is mounted in a private folder shows through": (
        [Mount("/home/a/ws", WRITE)],
        ("/tmp", "/home/a"),
        [Step(PRIVATE, "/home/a"), Step(BIND, "/home/a/ws"), Step(PRIVATE, "/tmp")],
    ),
    "a private folder in the workspace has its place on the host": (
        [Mount("/ws", WRITE)],
        ("/ws/home",),
        [Step(BIND, "/ws"), Step(PRIVATE, "/ws/home", True, True)],
    ),
    "a protected file right in the workspace needs no pin": (
        [Mount("/ws", WRITE), Mount("/ws/.envrc", FIXED, False)],
        (),
        [Step(BIND, "/ws"), Step(READ_ONLY, "/ws/.envrc", False, True)],
    ),
    "folders on the way to what must stay are pinned, and the pins buried": (
        [Mount("/ws", WRITE), Mount("/ws/a/.git/hooks", FIXED), Mount("/ws/a/.git/config", FIXED, False)],
        (),
        [
            Step(BIND, "/ws"),
            Step(BIND, "/ws/a", True, True),
            Step(BIND, "/ws/a/.git", True, True),
            Step(BIND, "/ws"),
            Step(READ_ONLY, "/ws/a/.git/config", False, True),
            Step(READ_ONLY, "/ws/a/.git/hooks", True, True),
        ],
    ),
    "folders on the way to what is hidden are pinned too": (
        [Mount("/ws", WRITE), Mount("/ws/a/.env", HIDDEN, False)],
        (),
        [
            Step(BIND, "/ws"),
            Step(BIND, "/ws/a", True, True),
            Step(BIND, "/ws"),
            Step(MASK, "/ws/a/.env", False, True),
        ],
    ),
    "a writable folder below a protected one is pinned by what is around it": (
        [Mount("/ws", WRITE), Mount("/ws/.git", FIXED), Mount("/ws/.git/x/objects", WRITE)],
        (),
        [Step(BIND, "/ws"), Step(READ_ONLY, "/ws/.git", True, True), Step(BIND, "/ws/.git/x/objects", True, True)],
    ),
    "a hidden folder with something shown in it is covered, not masked": (
        [Mount("/home/a/.ssh", HIDDEN), Mount("/home/a/.ssh/known_hosts", READ, False)],
        ("/home/a",),
        [
            Step(PRIVATE, "/home/a"),
            Step(COVER, "/home/a/.ssh"),
            Step(READ_ONLY, "/home/a/.ssh/known_hosts", False),
        ],
    ),
    "a mount says more than a private folder at the same place": (
        [Mount("/tmp", READ)],
        ("/tmp",),
        [Step(READ_ONLY, "/tmp")],
    ),
    "the top folder can be mounted": (
        [Mount("/", READ), Mount("/ws", WRITE)],
        (),
        [Step(READ_ONLY, "/"), Step(BIND, "/ws")],
    ),
}


@pytest.mark.parametrize(("mounts", "private", "wanted"), CASES.values(), ids=CASES)
def test_steps(mounts: list[Mount], private: tuple[str, ...], wanted: list[Step]) -> None:
    assert list(steps(tuple(mounts), private)) == wanted
    assert list(steps(tuple(reversed(mounts)), private)) == wanted
