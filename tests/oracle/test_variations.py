"""However a command is spelled, the verdict on it is never milder than on the plain one."""

from __future__ import annotations

import random

import pytest
from fuzzing import share

from gateway.core.errors import CallError
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.effect import HOLE
from oracle.texts import corpus
from oracle.variations import AROUND, HIDING, WRAPPERS, varied, words_of

EACH = 3
RULES = [
    {"id": "no-rm", "deny": "Bash(rm *)"},
    {"id": "no-push", "deny": "Bash(git push *)"},
    {"id": "no-notes", "deny": "Read(docs/**)"},
    {"id": "ask-touch", "ask": "Bash(touch *)"},
]


@pytest.fixture(scope="module", params=[True, False], ids=["confined", "unconfined"])
def decide(guard, request):
    gateway = guard({"user": {"extends": ["daily"], "rules": RULES}}, confined=request.param)

    def verdict(text: str) -> tuple[Decision, bool]:
        """The decision, and whether some path is not known before the run."""
        try:
            found = gateway.check(RawCall("Bash", {"command": text}))
        except CallError:
            return Decision.DENY, False
        return found.decision, any(HOLE in getattr(each.effect, "path", "") for each in found.analysis.items)

    return verdict


def test_no_variation_of_the_corpus_is_judged_milder(decide) -> None:
    milder = {}
    bases = [text for text in corpus() if words_of(text.text)]
    for text in share(bases, 32):
        plain, _ = decide(text.text)
        for other in varied([text], 7, EACH):
            now, unknown = decide(other.text)
            # A folder that is not known any more makes a question of a deny for a path.
            if now < plain and not (now == Decision.ASK and unknown):
                milder[other.text] = text.text
    assert (milder, len(bases) > 900) == ({}, True)


DENIED = ["rm x", "git push --force", "cat docs/a.md"]


@pytest.mark.parametrize("text", DENIED)
@pytest.mark.parametrize("number", range(len(WRAPPERS)))
def test_a_wrapper_does_not_make_a_deny_milder(decide, text, number) -> None:
    told = WRAPPERS[number](text, random.Random(1))
    assert (decide(told)[0], told) == (Decision.DENY, told)


@pytest.mark.parametrize("text", DENIED)
@pytest.mark.parametrize("number", range(len(AROUND)))
def test_what_stands_around_a_command_does_not_make_a_deny_milder(decide, text, number) -> None:
    told = AROUND[number](text)
    assert (decide(told)[0], told) == (Decision.DENY, told)


@pytest.mark.parametrize("text", DENIED)
@pytest.mark.parametrize("number", range(len(HIDING)))
def test_what_hides_a_denied_command_is_never_allowed(decide, text, number) -> None:
    told = HIDING[number](text, random.Random(1))
    assert (decide(told)[0] > Decision.ALLOW, told) == (True, told)
