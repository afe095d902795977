"""A plan's mounts in the order in which they are made, compared whole."""

from __future__ import annotations

import pytest

from gateway.model.limits import limits_of
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.mounts import (
    BIND,
    COVER,
    LINK,
    MASK,
    PRIVATE,
    READ_ONLY,
    Step,
    inexpressible,
    is_device,
    private_size,
    steps,
)  # fmt: skip

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
    "where all of the machine is writable what is protected in it is held the same": (
        [Mount("/", WRITE), Mount("/etc/x", FIXED, False)],
        (),
        [
            Step(BIND, "/"),
            Step(BIND, "/etc", True, True),
            Step(BIND, "/"),
            Step(READ_ONLY, "/etc/x", False, True),
        ],
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


def test_links_in_writable_folders_are_pinned_with_the_folders_on_the_way_and_no_others() -> None:
    mounts = (Mount("/ro", READ), Mount("/ws", WRITE), Mount("/ws/fixed", FIXED))
    links = ("/elsewhere/l", "/ro/l", "/ws/a/l", "/ws/fixed/l", "/ws/l")
    assert steps(mounts, (), links) == (
        Step(READ_ONLY, "/ro"),
        Step(BIND, "/ws"),
        Step(BIND, "/ws/a", True, True),
        Step(LINK, "/ws/a/l", False),
        Step(LINK, "/ws/l", False),
        Step(BIND, "/ws"),
        Step(READ_ONLY, "/ws/fixed", True, True),
    )


PLAN = SandboxPlan(
    (Mount("/ws", WRITE),), (("/bin", "usr/bin"),), ("/tmp",), "/ws", (("A", "b"),), Network(), limits_of({})
)
INEXPRESSIBLE = {
    "a plan of resolved paths": (PLAN, ()),
    "the processes of the host": (
        PLAN.replace(mounts=(Mount("/proc", READ),)),
        ("/proc: the sandbox has a /proc of its own",),
    ),
    "one of them": (
        PLAN.replace(mounts=(Mount("/proc/1", READ),)),
        ("/proc/1: the sandbox has a /proc of its own",),
    ),
    "a name that begins alike": (PLAN.replace(mounts=(Mount("/process", READ),)), ()),
    "the whole disk": (PLAN.replace(mounts=(Mount("/", READ),)), ("/: the sandbox has a root of its own",)),
    "a mount that leads up again": (
        PLAN.replace(mounts=(Mount("/ws/../etc", READ),)),
        ("'/ws/../etc' is no path that was resolved",),
    ),
    "a private folder that leads nowhere": (
        PLAN.replace(private=("/ws/./x",)),
        ("'/ws/./x' is no path that was resolved",),
    ),
    "a link without a place": (PLAN.replace(links=(("bin", "usr/bin"),)), ("'bin' is no path that was resolved",)),
    "a file with a zero byte": (
        PLAN.replace(files=(("/etc/a\0", b""),)),
        ("'/etc/a\\x00' is no path that was resolved",),
    ),
    "a variable without a name": (
        PLAN.replace(environment=(("", "x"),)),
        ("an environment variable cannot be named ''",),
    ),
    "a variable with two values": (
        PLAN.replace(environment=(("A=b", "x"),)),
        ("an environment variable cannot be named 'A=b'",),
    ),
    "a variable whose name ends early": (
        PLAN.replace(environment=(("A\0", "x"),)),
        ("an environment variable cannot be named 'A\\x00'",),
    ),
    "a variable whose value ends early": (
        PLAN.replace(environment=(("A", "x\0"),)),
        ("the environment variable A holds a zero byte",),
    ),
}


@pytest.mark.parametrize(("plan", "sentences"), INEXPRESSIBLE.values(), ids=INEXPRESSIBLE)
def test_what_no_file_system_of_our_own_can_have_is_said(plan: SandboxPlan, sentences: tuple[str, ...]) -> None:
    assert inexpressible(plan) == sentences


@pytest.mark.parametrize(
    ("step", "device"),
    [
        (Step(BIND, "/dev/dri/card0", False), True),
        (Step(READ_ONLY, "/dev/null", False), True),
        (Step(MASK, "/dev/sda", False), False),
        (Step(BIND, "/dev/shm"), False),
        (Step(BIND, "/dev/shm/x"), False),
        (Step(BIND, "/devices"), False),
    ],
)
def test_what_lies_with_the_devices_is_shown_as_one_but_for_shared_memory(step: Step, device: bool) -> None:
    assert is_device(step) == device


@pytest.mark.parametrize(("disk", "memory", "most"), [(0, 0, 1 << 30), (0, 5, 5), (7, 0, 7), (7, 5, 5), (5, 7, 5)])
def test_a_private_folder_takes_no_more_than_the_least_of_the_bounds_that_there_are(
    disk: int, memory: int, most: int
) -> None:
    assert private_size(limits_of({}).replace(disk=disk, memory=memory)) == most
