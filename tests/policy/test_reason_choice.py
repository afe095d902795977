"""Which of several equally strict reasons a verdict names."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.value import Value
from gateway.model.decision import LAYERS, Decision
from gateway.model.effect import (
    HOLE,
    KINDS,
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
from gateway.model.rule import Rule, Source
from gateway.model.verdict import Reason
from gateway.policy.reason_choice import GRAVEST_FIRST, rank, tells_more
from gateway.policy.table import mode_rule

MODE = mode_rule("default")


def rule(name: str, layer: str = "user", lane: str = "deny", *, lock: bool = False) -> Rule:
    return Rule(name, lane, Source(layer, f"{layer}.yaml", 1), name, lock=lock)


CRITICAL, GENERIC = rule("z-critical", "builtin"), rule("a-generic")
PUSH, DELETE, OPAQUE = Push("origin", "x", False), Touch("delete", "/w/x", True), Opaque("text of `$X`")
CODE, READ, FETCH = (
    Code("./x", ("./x",), "nobody described it"),
    Touch("read", "/etc/x"),
    Connect("a.test", 443, "fetch"),
)
SEND, LOOSE = Connect("a.test", 443, "send"), Connect(HOLE, 0, "send")
STARTS = Exec("rm", ("rm", "x"))
MAYBE = rule("may", "builtin")

# What is named, and what is not: rule, effect, whether the rule surely holds.
NAMED = [
    ("a critical rule before a generic one", (CRITICAL, READ, True), (GENERIC, DELETE, True)),
    ("a locked rule before the upper layer's", (rule("b", lock=True), READ, True), (CRITICAL, DELETE, True)),
    ("of one layer's, the rule on the graver effect", (rule("b"), DELETE, True), (rule("a"), READ, True)),
    ("on one effect, the lower id", (rule("a"), READ, True), (rule("b"), READ, True)),
    ("what a rule says of a file before what it says of a call", (rule("b"), READ, True), (rule("a"), STARTS, True)),
    ("a rule before the mode, whatever it speaks of", (GENERIC, READ, True), (MODE, OPAQUE, True)),
    ("a rule that holds before one that may", (GENERIC, READ, True), (MAYBE, DELETE, False)),
    ("what is surely pushed before where it may lead", (MODE, PUSH, True), (MAYBE, LOOSE, False)),
    ("on one effect, a rule that may hold before the mode", (MAYBE, DELETE, False), (MODE, DELETE, True)),
    ("code of an unknown program before a read", (MODE, CODE, True), (MODE, READ, True)),
    ("a push before the hooks that it runs", (MODE, PUSH, True), (MODE, CODE, True)),
    ("what cannot be known before the fetch that brings it", (MODE, OPAQUE, True), (MODE, FETCH, True)),
    ("a send before a fetch", (MODE, SEND, True), (MODE, FETCH, True)),
]  # fmt: skip


@pytest.mark.parametrize(("named", "other"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_the_most_telling_of_equally_strict_reasons_is_named(
    named: tuple[Rule, Effect, bool], other: tuple[Rule, Effect, bool]
) -> None:
    items = (Item(named[1]), Item(other[1]))
    first, second = (
        Reason(rule, Decision.ASK, number, certain) for number, (rule, _, certain) in enumerate((named, other))
    )
    assert (tells_more(first, second, items), tells_more(second, first, items)) == (True, False)


SAME = [
    ("a program that starts, then what it does", GENERIC, STARTS, DELETE, Decision.ASK),
    ("what the mode allows as a whole", MODE, READ, Touch("delete", "/w/x"), Decision.ALLOW),
    ("one effect twice", MODE, READ, READ, Decision.ASK),
]


@pytest.mark.parametrize(("by", "one", "other", "decision"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_of_what_one_rule_says_the_first_stays(by: Rule, one: Effect, other: Effect, decision: Decision) -> None:
    items = (Item(one), Item(other))
    assert not tells_more(Reason(by, decision, 1), Reason(by, decision, 0), items)


def test_a_rule_that_holds_for_one_effect_is_named_with_it_not_with_another_that_it_may_hold_for() -> None:
    items = (Item(LOOSE), Item(READ))
    assert tells_more(Reason(GENERIC, Decision.ASK, 1), Reason(GENERIC, Decision.ASK, 0, certain=False), items)


def test_every_kind_of_effect_has_its_place() -> None:
    assert sorted(GRAVEST_FIRST) == sorted({*KINDS, "fetch", "send", "listen"} - {"connect"})


EFFECTS: tuple[Effect, ...] = (
    PUSH, DELETE, OPAQUE, CODE, READ, FETCH, SEND, LOOSE, STARTS, Use("Bash"), Credential("git", "/k"), Env("A", "set"),
    Process("end", "1"), System("mount", "/x"), SessionChange("mode"), Connect("a.test", 1, "listen"),
)  # fmt: skip
RULES = [rule(name, layer, lane) for name in "ab" for layer in LAYERS for lane in ("deny", "ask")]


class Said(Value):
    """One reason with the effect that it speaks of."""

    rule: Rule
    effect: Effect
    certain: bool


said: Any = st.builds(Said, st.sampled_from([*RULES, MODE]), st.sampled_from(EFFECTS), st.booleans())


@given(st.lists(said, min_size=1, max_size=4, unique=True))
def test_neither_the_order_of_rules_nor_that_of_effects_shows(found: list[Said]) -> None:
    ranks = set()
    for some in permutations(found):
        items = tuple(Item(each.effect) for each in some)
        best, *others = [Reason(each.rule, Decision.ASK, at, each.certain) for at, each in enumerate(some)]
        for other in others:
            if other.rule is not best.rule and tells_more(other, best, items):
                best = other
        if len({each.rule for each in found}) == len(found):
            ranks.add(rank(best, items[best.item].effect))
    assert len(ranks) <= 1
