"""What may be answered to which ask, and that everything else is a no."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.approval.base import Answer, Question, checked, no, scopes_of
from gateway.approval.callback import Callback
from gateway.approval.refuse import Refuse

RULE = {"ask": "Bash(make *)", "id": "ask-make"}
RULE_ASKS = {"user": [RULE]}
LOCKED = {"user": [{**RULE, "lock": True}]}
UNSURE = {"user": [{"deny": {"effect": "read", "path": "secret/**"}, "id": "no-secrets"}]}


@pytest.mark.parametrize(
    ("layers", "call", "may"),
    [
        pytest.param(None, "make a", ("once", "session", "always"), id="the mode asks"),
        pytest.param(RULE_ASKS, "make a", ("once", "session"), id="a rule asks"),
        pytest.param(RULE_ASKS, "make a; touch b", ("once", "session"), id="a rule and the mode ask"),
        pytest.param(LOCKED, "make a", ("once",), id="a locked rule asks"),
        pytest.param(LOCKED, "make a; touch b", ("once",), id="a locked rule and the mode ask"),
        pytest.param(UNSURE, "cat $F", ("once", "session"), id="a deny may match"),
        pytest.param(None, "cat README.md", (), id="nobody asks"),
        pytest.param(None, "rm -rf /", (), id="policy denies"),
    ],
)
def test_what_may_be_answered(judged, layers: dict[str, Any] | None, call: str, may: tuple[str, ...]) -> None:
    verdict = judged(call, layers).verdict
    assert scopes_of(verdict, session=True, always=True) == may
    assert scopes_of(verdict, session=False, always=False) == may[:1]


RULE_TEXT = "allow: {command: make}"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        "y",
        1,
        (True, "once", "ann"),
        Answer(1, "once", "ann"),  # type: ignore[arg-type]
        Answer("yes", "once", "ann"),  # type: ignore[arg-type]
        Answer(True, "forever", "ann"),
        Answer(True, "session", "ann"),
        Answer(True, "always", "ann", "allow: {command: rm}"),
        Answer(True, "always", "ann", uses=2),
        Answer(True, "once", "ann", until=float("nan")),
        Answer(True, "once", "ann", until=-1.0),
        Answer(True, "once", "ann", uses=-1),
        Answer(True, "once", "ann", uses="many"),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_what_is_no_answer_to_the_question_is_a_no(judged, answer: object) -> None:
    question = Question(judged("make a").verdict, None, ("once", "always"), RULE_TEXT)
    assert checked(answer, question).allow is False


@pytest.mark.parametrize(
    "answer",
    [
        Answer(True, "once", "ann"),
        Answer(True, "always", "ann", RULE_TEXT, until=1e12),
        no("ann"),
        no("ann", scope="session"),
    ],
    ids=str,
)
def test_an_answer_among_those_that_the_question_has_is_taken_as_it_is(judged, answer: Answer) -> None:
    assert checked(answer, Question(judged("make a").verdict, None, ("once", "always"), RULE_TEXT)) == answer


def test_a_refusal_for_good_is_one_for_this_once(judged) -> None:
    question = Question(judged("make a").verdict, None)
    assert checked(Answer(False, "always", "ann"), question) == no("ann")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(True, Answer(True, "once", "callback"), id="yes"),
        pytest.param(False, no("callback"), id="no"),
        pytest.param(None, None, id="nobody is there"),
        pytest.param(Answer(True, "session", "bo", uses=3), Answer(True, "session", "bo", uses=3), id="an answer"),
    ],
)
def test_a_callback_says_what_its_function_says(judged, said: Any, expected: Answer | None) -> None:
    assert Callback(lambda _question: said).ask(Question(judged("make a").verdict, None)) == expected


def test_a_callback_that_fails_is_a_no(judged) -> None:
    answer = Callback(lambda _question: 1 // 0).ask(Question(judged("make a").verdict, None))
    assert answer == no("callback", "asking failed: ZeroDivisionError")


def test_refuse_says_no(judged) -> None:
    assert Refuse().ask(Question(judged("make a").verdict, None)).allow is False
