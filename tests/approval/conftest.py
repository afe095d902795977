"""Judgements of the frozen project, and approvers that say what a test wants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.approval.asking import Judgement
from gateway.approval.base import Answer, Question
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.api.gateway import Gateway


class Scripted:
    """Gives these answers one after the other, and keeps the questions."""

    def __init__(self, *answers: Any, name: str = "console") -> None:
        self.name = name
        self.answers = list(answers)
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Any:
        self.questions.append(question)
        answer = self.answers.pop(0)
        return answer(question) if callable(answer) else answer


ONCE = Answer(True, "once", "ann")
SESSION = Answer(True, "session", "ann")
ALWAYS = Answer(True, "always", "ann")


@pytest.fixture(scope="session")
def judged(guard) -> Callable[..., Judgement]:
    """The judgement on a call, under layers as the fixture `guard` takes them; there is no plan."""

    opened: dict[str, Gateway] = {}

    def judge(call: str | RawCall, layers: dict[str, Any] | None = None, **how: Any) -> Judgement:
        raw = call if isinstance(call, RawCall) else RawCall("Bash", {"command": call})
        key = json.dumps([layers, how], sort_keys=True)
        if key not in opened:
            opened[key] = guard(layers, **how)
        return Judgement(opened[key], opened[key].check(raw), None)

    return judge
