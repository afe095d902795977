"""What each mode makes of each effect that no rule speaks of: the truth table, from verdicts, and its page.

`docs/modes.md` is written by `python tests/policy/test_modes.py` from the same verdicts; a test fails when they
differ.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.context import Context
from gateway.model.decision import MODES, REVIEWS, Decision
from gateway.model.effect import (
    HOLE,
    LEAVE,
    Code,
    Connect,
    Credential,
    Effect,
    Env,
    Exec,
    Item,
    Opaque,
    Process,
    Push,
    SessionChange,
    System,
    Touch,
    Use,
)
from gateway.model.facts import NO_FACTS
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.modes import classify, regions_of, runs_unknown
from gateway.policy.resolve import resolve
from gateway.policy.table import Judged, Policy

PAGE = Path(__file__).parents[2] / "docs" / "modes.md"
ROOT, HOME = "/home/dev/project", "/home/dev"

A, Q, D = "allow", "ask", "deny"

# effect, and what default, accept_edits, plan, read_only, auto, dont_ask and bypass say of it
TABLE: dict[str, tuple[Effect, tuple[str, ...]]] = {
    "read, list inside the workspace": (Touch("read", f"{ROOT}/a"), (A, A, A, A, A, A, A)),
    "read, list of the system's own files": (Touch("read", "/usr/include/a.h"), (A, A, A, A, A, A, A)),
    "read, list in the session's own temporary folder": (Touch("list", "/tmp/x", True), (A, A, A, A, A, A, A)),
    "read, list elsewhere": (Touch("read", f"{HOME}/other/a"), (Q, Q, Q, Q, Q, D, A)),
    "read of an unknown path": (Touch("read", HOLE), (Q, Q, Q, Q, Q, D, A)),
    "read through a link that leads elsewhere": (Touch("read", f"{ROOT}/a", real=f"{HOME}/b"), (Q, Q, Q, Q, Q, D, A)),
    "write in the session's own temporary folder": (Touch("write", "/tmp/x"), (A, A, D, D, A, A, A)),
    "delete in the session's own temporary folder": (Touch("delete", "/tmp/x", tree=True), (A, A, D, D, A, A, A)),
    "write inside the workspace": (Touch("write", f"{ROOT}/a"), (Q, A, D, D, Q, D, A)),
    "write through a link that leads elsewhere": (Touch("write", f"{ROOT}/a", real=f"{HOME}/b"), (Q, Q, D, D, Q, D, A)),
    "write to `/dev/null` and its like": (Touch("write", "/dev/null"), (A, A, A, A, A, A, A)),
    "write to `/dev/null`, a link": (Touch("write", "/dev/null", real=f"{HOME}/b"), (Q, Q, D, D, Q, D, A)),
    "delete of `/dev/null`": (Touch("delete", "/dev/null"), (Q, Q, D, D, Q, D, A)),
    "delete inside the workspace": (Touch("delete", f"{ROOT}/a"), (Q, Q, D, D, Q, D, A)),
    "write, delete elsewhere": (Touch("write", f"{HOME}/a"), (Q, Q, D, D, Q, D, A)),
    "connect: fetch": (Connect("example.com", 443, "fetch"), (Q, Q, Q, Q, Q, D, A)),
    "connect: send": (Connect("example.com", 443, "send"), (Q, Q, D, D, Q, D, A)),
    "connect: listen": (Connect("", 80, "listen"), (Q, Q, D, D, Q, D, A)),
    "push": (Push("origin", "main", False), (Q, Q, D, D, Q, D, A)),
    "credential": (Credential("ssh", f"{HOME}/.ssh/id"), (Q, Q, D, D, Q, D, A)),
    "code": (Code("make", ("make",), "it runs a Makefile"), (Q, Q, Q, Q, Q, D, A)),
    "opaque": (Opaque("an unknown program"), (Q, Q, D, D, Q, D, A)),
    "system": (System("install", "vim"), (Q, Q, D, D, Q, D, A)),
    "leaving the sandbox": (System(LEAVE, ""), (Q, Q, D, D, D, D, Q)),
    "process beyond own children": (Process("signal", "1"), (Q, Q, D, D, Q, D, A)),
    "environment of loaders, set": (Env("LD_PRELOAD", "set"), (Q, Q, D, D, Q, D, A)),
    "session, of a tool of that level": (SessionChange("task list"), (A, A, A, A, A, A, A)),
}  # fmt: skip
# The same without a sandbox, where that differs. Temporary folders are then everybody's.
UNCONFINED: dict[str, tuple[str, ...]] = {
    "read, list in the session's own temporary folder": (Q, Q, Q, Q, Q, D, A),
    "write in the session's own temporary folder": (Q, Q, D, D, Q, D, A),
    "delete in the session's own temporary folder": (Q, Q, D, D, Q, D, A),
    "code": (Q, Q, D, D, Q, D, A),
}
# Rules that stand against a mode, and what becomes of their effect in each mode.
RULES: dict[str, tuple[str, str, bool, tuple[str, ...]]] = {
    "allow (any layer)": ("user", "allow", False, (A, A, D, D, A, A, A)),
    "ask (user and below)": ("user", "ask", False, (Q, Q, D, D, Q, D, A)),
    "ask, locked (user and below)": ("user", "ask", True, (Q, Q, D, D, Q, D, Q)),
    "ask (enterprise)": ("enterprise", "ask", False, (Q, Q, D, D, Q, D, Q)),
    "ask (builtin: protected paths)": ("builtin", "ask", True, (Q, Q, D, D, Q, D, Q)),
    "deny (any layer)": ("project", "deny", False, (D, D, D, D, D, D, D)),
}


def context(mode: str, confined: bool) -> Context:
    return Context(ROOT, ROOT, HOME, (ROOT,), ("/tmp",) if confined else (), mode, confined, branch="main")


def verdict(effect: Effect, mode: str, confined: bool = True, rules: tuple[Bound, ...] = (), review: str = "") -> str:
    policy = Policy(**compile_policy(rules, home=HOME), levels={}, review=review)
    analysis = Analysis((), (Item(Use("T")), Item(effect)))
    here = context(mode, confined)
    judged = Judged("session" if isinstance(effect, SessionChange) else "write", False, filters=True)
    return resolve(policy, Call("T", {}, ""), judged, analysis, here, NO_FACTS, regions_of(here)).decision.word


def bound(layer: str, lane: str, lock: bool) -> tuple[Bound, ...]:
    rule = {
        "id": "r", "lane": lane, "derived": False, "line": 1, "column": 1, "text": lane, "because": "", "instead": "",
        "lock": lock, "expires": "", "when": {"effect": ["write"]}, "except": [], "delegate": None, "excepts": "",
        "require": None, "changes": "", "matches": [], "not_matches": [],
    }  # fmt: skip
    return (Bound(layer, f"{layer}.yaml", [rule], ROOT, ROOT),)


def any_effect() -> tuple[Bound, ...]:
    """An allow rule that covers whatever the tool does."""
    (found,) = bound("user", "allow", False)
    rule = {**found.rules[0], "id": "any", "when": {"tool": ["T"]}}
    return (Bound("user", "any.yaml", [rule], ROOT, ROOT),)


@pytest.mark.parametrize("name", TABLE)
def test_each_mode_answers_each_effect_as_the_table_says(name: str) -> None:
    effect, expected = TABLE[name]
    assert tuple(verdict(effect, mode) for mode in MODES) == expected


@pytest.mark.parametrize("name", TABLE)
def test_each_mode_answers_each_effect_of_an_unconfined_call_as_the_table_says(name: str) -> None:
    effect, expected = TABLE[name]
    assert tuple(verdict(effect, mode, confined=False) for mode in MODES) == UNCONFINED.get(name, expected)


@pytest.mark.parametrize("name", RULES)
def test_each_mode_leaves_of_rules_what_the_table_says(name: str) -> None:
    layer, lane, lock, expected = RULES[name]
    effect = Touch("write", f"{ROOT}/a")
    assert tuple(verdict(effect, mode, rules=bound(layer, lane, lock)) for mode in MODES) == expected


@pytest.mark.parametrize("name", TABLE)
def test_a_review_asks_about_changes_that_are_allowed_in_its_mode_and_about_nothing_else(name: str) -> None:
    effect, _expected = TABLE[name]
    is_change = not name.startswith(("read", "session", "write to `/dev/null` and"))
    allowed = any_effect()
    for mode in MODES:
        before = verdict(effect, mode, rules=allowed)
        found = [verdict(effect, mode, rules=allowed, review=review) for review in ("", *REVIEWS)]
        all_of_it = Q if mode == "auto" and before == A else before
        assert found == [before, before, before, all_of_it if is_change else before, all_of_it], mode


@pytest.mark.parametrize("lane", ["ask", "allow"])
def test_bypass_answers_each_ask_by_itself(lane: str) -> None:
    """A second rule, whatever it says, leaves a locked ask standing."""
    stack = (*bound("user", lane, False), *bound("local", "ask", True))
    assert verdict(Touch("write", f"{ROOT}/a"), "bypass", rules=stack) == "ask"


SYSTEM = (
    "/usr/x /bin/x /sbin/x /lib/x /lib32/x /lib64/x /libx32/x /opt/x /etc/x /nix/store/x /System/x /Library/x "
    "/private/etc/x /proc/cpuinfo /proc/meminfo /proc/loadavg /proc/uptime /proc/version /proc/sys/x /proc/stat "
    "/proc/self/status /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/stdin /dev/stdout "
    "/dev/stderr /dev/fd/3"
)
SINKS = "/dev/null /dev/zero /dev/full /dev/tty /dev/stdout /dev/stderr"


@pytest.mark.parametrize(("kind", "paths"), [("read", SYSTEM), ("write", SINKS)])
def test_what_belongs_to_every_system_is_read_and_what_swallows_is_written_unasked(kind: str, paths: str) -> None:
    assert [path for path in paths.split() if verdict(Touch(kind, path), "default") != A] == []


IN_TEMP = Context("/tmp/p", "/tmp/p", HOME, ("/tmp/p",), ("/tmp",))
ROWS: dict[str, tuple[Effect, Context, str]] = {
    "a carrier": (Use("T"), context("default", True), ""),
    "a program that starts": (Exec("x", ("x",)), context("default", True), ""),
    "a change of the session": (SessionChange("x"), context("default", True), ""),
    "a push": (Push("origin", "main", False), context("default", True), "send"),
    "login material": (Credential("ssh", f"{HOME}/.ssh/id"), context("default", True), "send"),
    "the session's own temporary folder": (Touch("write", "/tmp/x"), context("default", True), "temp_write"),
    "everybody's": (Touch("write", "/tmp/x"), context("default", False), "far_write"),
    "a workspace in a temporary folder": (Touch("write", "/tmp/p/a"), IN_TEMP, "near_write"),
    "what lies beside it there": (Touch("write", "/tmp/x"), IN_TEMP, "temp_write"),
    "the workspace": (Touch("write", f"{ROOT}/a"), context("default", True), "near_write"),
    "a folder whose name begins like the workspace's": (
        Touch("write", f"{ROOT}-other/a"), context("default", True), "far_write"),
    "also where that is only read": (Touch("read", f"{ROOT}-other/a"), context("default", True), "far_read"),
    "all of a machine that is the workspace": (
        Touch("write", "/a"), context("default", True).replace(root="/", workspace=("/",)), "near_write"),
    "the folder that it lies in": (Touch("delete", "/tmp"), IN_TEMP, "near_delete"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_each_effect_belongs_to_one_row_of_the_table(name: str) -> None:
    effect, here, row = ROWS[name]
    assert classify(effect, regions_of(here), here.confined) == row


@pytest.mark.parametrize(
    ("effect", "runs"),
    [(Code("make", ("make",), "x"), True), (Opaque("x"), True), (Env("PATH", "set"), True),
     (Env("PATH", "read"), False), (Touch("write", "/tmp/x"), False)],
)  # fmt: skip
def test_what_is_written_may_be_run_where_something_runs_that_nobody_knows(effect: Effect, runs: bool) -> None:
    assert runs_unknown([Item(Use("T")), Item(effect)]) == runs


def test_an_unknown_mode_refuses() -> None:
    assert verdict(Touch("read", f"{ROOT}/a"), "yolo") == Decision.DENY.word


def page() -> str:
    """The page, from verdicts."""
    head = "| " + " | ".join(MODES) + " |"
    rule = "| --- " * (len(MODES) + 1) + "|"
    lines = [
        "# Modes",
        "",
        "<!-- Written by `python tests/policy/test_modes.py` from verdicts; a test holds it. -->",
        "",
        "When no rule speaks of an effect, the mode decides. A call gets the strictest answer of all its effects.",
        "Which mode holds is the setting `mode` ([rules.md](rules.md#settings)); an agent's own mode holds where it is",
        "stricter ([agents.md](agents.md#what-is-answered)). What each effect is: [rules.md](rules.md#effects).",
        "",
        f"| effect {head}",
        rule,
    ]
    for name, (effect, _expected) in TABLE.items():
        cells = []
        for mode in MODES:
            confined, loose = (verdict(effect, mode, each) for each in (True, False))
            cells.append(confined if confined == loose else f"{confined}; unconfined {loose}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "`plan` and `read_only` are ceilings: what they refuse stays refused whatever allows it. `auto` asks, and its",
        "reviewer may answer what the mode asks; it never answers a rule's question. The setting `review` has it look",
        "at more than that, and may make each of it stricter ([agent.md](agent.md#the-mode-auto)). In `dont_ask`",
        "nobody is asked, so every question is a refusal. `bypass` also answers the questions of rules of the user",
        "layer and below, unless they are locked; each rule's question by itself.",
        "",
        "A write or delete in the session's own temporary folder counts as one inside the workspace where the call",
        "also runs code that is not known, which could be code that it wrote there.",
        "",
        "Rules that speak of a write inside the workspace, in each mode:",
        "",
        f"| rule {head}",
        rule,
    ]
    for name, (layer, lane, lock, _expected) in RULES.items():
        cells = [verdict(Touch("write", f"{ROOT}/a"), mode, rules=bound(layer, lane, lock)) for mode in MODES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def test_the_page_of_modes_says_what_the_verdicts_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python tests/policy/test_modes.py` and look at the change"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
