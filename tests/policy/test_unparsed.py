"""The words of a text that could not be parsed: what they hit, and what they leave in doubt."""

from __future__ import annotations

import pytest

from gateway.model.call import Call, RawCall
from gateway.policy.subject import Subject
from gateway.policy.unparsed import token_doubts, token_hits

USER = [
    {"id": "no-look", "deny": "Read(secret/**)"},
    {"id": "no-change", "deny": "Edit(kept/**)"},
    {"id": "ask-change", "ask": {"effect": "delete", "path": "asked"}},
    {"id": "no-tool", "deny": "Bash(tool *)"},
    {"id": "over", "deny": "Edit(kept/**)", "expires": "2020-01-01"},
    {"id": "fine", "allow": "Edit(kept/**)"},
]


@pytest.mark.parametrize(
    ("tokens", "hits", "doubts"),
    [
        (("cat", "secret/x"), ["no-look"], ["no-look"]),
        (("echo", "x", "kept/x"), [], ["no-change"]),
        (("rm", "asked"), [], ["ask-change"]),
        (("tool", "x"), ["no-tool"], []),
        (("rm", "~"), [], ["critical-home"]),
        (("rm", "-rf", "~/.ssh"), ["secret-files"], ["secret-files"]),
        (("x", ".gateway/policy.yaml"), [], ["gateway-and-agent-wiring"]),
        (("/bin/ls",), [], ["critical-system"]),
        (("ls", "src"), [], []),
    ],
)
def test_words_that_may_be_read_hit_and_words_that_may_be_changed_are_in_doubt(
    guard, tokens: tuple[str, ...], hits: list[str], doubts: list[str]
) -> None:
    gateway = guard({"user": USER})
    policy = gateway.loaded.policy
    subject = Subject(Call("Bash", {}, ""), gateway.context.replace(now=1_800_000_000.0))
    found = [[policy.rule(rule).id for rule in each(policy, tokens, subject)] for each in (token_hits, token_doubts)]
    assert found == [hits, doubts]


def test_what_is_found_among_words_is_said_of_what_cannot_be_parsed(guard) -> None:
    verdict = guard({"user": USER}).check(RawCall("Bash", {"command": "echo tool x ("}))
    item = verdict.analysis.items[verdict.reason.item]
    assert (verdict.decision.word, verdict.reason.rule.id, item.effect.kind) == ("deny", "no-tool", "opaque")
