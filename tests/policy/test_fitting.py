"""What fits in the contained plan, and what leaves it: each kind of effect, known and not."""

from __future__ import annotations

import pytest

from gateway.model.context import Context
from gateway.model.decision import MODES
from gateway.model.effect import (
    HOLE,
    LEAVE,
    Code,
    Connect,
    Credential,
    Effect,
    Env,
    Exec,
    Opaque,
    Process,
    Push,
    SessionChange,
    System,
    Touch,
    Use,
)
from gateway.policy.fitting import FITTING, fits, is_refused, leaves
from gateway.policy.modes import regions_of

ROOT, HOME = "/home/dev/project", "/home/dev"
CONTEXT = Context(ROOT, ROOT, HOME, (ROOT,), ("/tmp",))

# effect: whether an allow of contained calls covers it, and whether it leaves their plan
EFFECTS: dict[str, tuple[Effect, bool, bool]] = {
    "a file of the workspace, read": (Touch("read", f"{ROOT}/a"), True, False),
    "a file of the system, read": (Touch("read", "/usr/include/a.h"), True, False),
    "a file elsewhere, read": (Touch("read", f"{HOME}/a"), False, False),
    "a list of the workspace": (Touch("list", f"{ROOT}/a"), True, False),
    "a list elsewhere": (Touch("list", f"{HOME}/other"), False, False),
    "a link that leads elsewhere, read": (Touch("read", f"{ROOT}/a", real=f"{HOME}/b"), False, False),
    "nobody knows which, read": (Touch("read", HOLE), True, False),
    "nobody knows where it leads, read": (Touch("read", f"{HOME}/a", real=HOLE), True, False),
    "a file of the workspace, written": (Touch("write", f"{ROOT}/a"), True, False),
    "a temporary one": (Touch("write", "/tmp/a"), True, False),
    "one elsewhere": (Touch("write", f"{HOME}/a"), True, True),
    "one elsewhere, deleted": (Touch("delete", f"{HOME}/a"), True, True),
    "a link that leads elsewhere, written": (Touch("write", f"{ROOT}/a", real=f"{HOME}/b"), True, True),
    "nobody knows which": (Touch("write", HOLE), True, False),
    "some one of the workspace": (Touch("write", f"{ROOT}/a{HOLE}"), True, False),
    "some one of a folder in it": (Touch("write", f"{ROOT}/src/{HOLE}"), True, False),
    "some one in a folder that holds it": (Touch("write", f"{HOME}/{HOLE}"), True, False),
    "some one elsewhere": (Touch("write", f"/srv/{HOLE}"), True, True),
    "some one of a folder beside it": (Touch("delete", f"{HOME}/other/{HOLE}"), True, True),
    "some one of a folder whose name begins alike": (Touch("write", f"{HOME}/proj/{HOLE}"), True, True),
    "some host": (Connect(HOLE, 443, "fetch"), True, True),
    "a host": (Connect("example.com", 443, "fetch"), True, True),
    "this machine": (Connect("localhost", 80, "send"), True, False),
    "this machine as rules name it": (Connect("loopback", 0, "fetch"), True, False),
    "this machine by its address": (Connect("127.0.0.1", 80, "fetch"), True, False),
    "a machine of the house": (Connect("10.0.0.1", 80, "fetch"), True, True),
    "a port of its own": (Connect("", 80, "listen"), True, False),
    "code": (Code("make", ("make",), "x"), True, False),
    "what nobody understands": (Opaque("x"), True, False),
    "a variable that is set": (Env("PATH", "set"), True, False),
    "one that is read": (Env("PATH", "read"), False, False),
    "a job of its own": (Process("signal", "%1"), True, False),
    "a process that nobody knows": (Process("signal", HOLE), True, False),
    "one by its number": (Process("signal", "1234"), False, False),
    "a job that is traced": (Process("trace", "%1"), False, False),
    "an install": (System("install", "vim"), True, True),
    "a service": (System("service", "start x"), False, True),
    "to leave the sandbox": (System(LEAVE, ""), False, True),
    "a push": (Push("origin", "main", False), False, True),
    "login material": (Credential("ssh", f"{HOME}/.ssh/id"), False, True),
    "the calling of a tool": (Use("Bash"), False, False),
    "the start of a program": (Exec("x", ("x",)), False, False),
    "a change of the session": (SessionChange("x"), False, False),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_what_fits_in_the_contained_plan_and_what_leaves_it(name: str) -> None:
    effect, fitting, leaving = EFFECTS[name]
    regions = regions_of(CONTEXT)
    assert (fits(effect, regions), leaves(effect, regions)) == (fitting, leaving)


def test_the_kinds_of_which_any_fits_are_told() -> None:
    assert {effect.kind for effect, fitting, _leaving in EFFECTS.values() if fitting} == {*FITTING}


@pytest.mark.parametrize("mode", MODES)
def test_modes_that_change_nothing_refuse_but_what_is_thrown_away(mode: str) -> None:
    regions = regions_of(CONTEXT)
    refused = {
        (name, contained)
        for name in ("a file of the workspace, written", "what nobody understands", "a push", "a variable that is set",
                     "a file of the workspace, read", "a job of its own", "this machine")
        for contained in (False, True)
        if is_refused(EFFECTS[name][0], CONTEXT.replace(mode=mode, contained=contained), regions)
    }  # fmt: skip
    always = {(name, each) for name in ("a file of the workspace, written", "a push") for each in (False, True)}
    held = ("what nobody understands", "a variable that is set", "a job of its own", "this machine")
    unheld = {(name, False) for name in held}
    assert refused == (always | unheld if mode in ("plan", "read_only") else set())
