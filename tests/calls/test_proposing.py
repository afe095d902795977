"""A call that is refused because nobody could be asked says which rule it would have needed, and has it kept."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.approval.base import Answer
from gateway.approval.proposals import Proposals
from gateway.core.places import places
from gateway.model.call import RawCall

WRITE = RawCall("Write", {"file_path": "new.txt", "content": "x"})


class Says:
    name = "console"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, _question: Any) -> Any:
        return self.answer


def kept(ground) -> list[Any]:
    return Proposals(places().state, str(ground.project)).list()


def test_the_model_is_told_and_the_proposal_is_kept_with_its_call(ground) -> None:
    done = ground.open(front="exec").call(WRITE)
    (found,) = kept(ground)
    assert done.proposal is not None
    assert (found.id, found.rule, found.tool, found.front) == (done.proposal.id, done.proposal.rule, "Write", "exec")
    assert done.output.notes == (done.proposal.told,)
    assert done.refusal == f"{done.text}\n{done.proposal.told}"
    assert done.text == done.result.reason


@pytest.mark.parametrize("by", ["nobody", "policy"])
def test_where_whoever_asks_for_a_person_reached_nobody_it_is_proposed_too(ground, by: str) -> None:
    done = ground.open(approver=Says(Answer(False, "once", by, note="this client cannot ask anybody"))).call(WRITE)
    assert (done.ran, done.proposal is None, len(kept(ground))) == (False, False, 1)


NONE = {
    "a person said no": ({}, Says(Answer(False, "once", "ann")), WRITE),
    "a rule denies": ({"rules": [{"id": "no", "deny": "Edit(**)"}]}, (), WRITE),
    "a rule asks": ({"rules": [{"id": "no", "ask": "Edit(**)"}]}, (), WRITE),
    "the mode never allows it": ({"settings": {"mode": "plan"}}, (), WRITE),
    "it is no call": ({}, (), RawCall("Write", {})),
    "it loosens policy": ({}, (), RawCall("Bash", {"command": "gateway proposals accept x"})),
}


@pytest.mark.parametrize(("policy", "approver", "raw"), NONE.values(), ids=list(NONE))
def test_nothing_is_proposed_where(ground, policy: Any, approver: Any, raw: RawCall) -> None:
    ground.says(policy)
    done = ground.open(approver=approver).call(raw)
    assert (done.ran, done.result.ended, done.proposal, done.output.notes) == (False, "refused", None, ())
    assert kept(ground) == []


@pytest.mark.parametrize(("by", "later"), [("ann", 0), ("auto (m): it may be harmful", 1), ("nobody", 1)])
def test_what_a_person_has_said_no_to_is_not_proposed_later_with_nobody_there(ground, by: str, later: int) -> None:
    ground.open(approver=Says(Answer(False, "once", by))).call(WRITE)
    done = ground.open().call(WRITE)
    assert (done.ran, len(kept(ground)), done.proposal is not None) == (False, later, bool(later))
    other = RawCall("Write", {"file_path": "other.txt", "content": "x"})
    assert ground.open().call(other).proposal is not None


def test_a_call_that_ran_proposes_nothing(ground) -> None:
    ground.says({"rules": [{"id": "yes", "allow": "Edit(**)"}]})
    assert (ground.open().call(WRITE).proposal, kept(ground)) == (None, [])


@pytest.mark.parametrize("broken", ["proposing.proposed", "proposals.Proposals"])
def test_a_refusal_stands_whatever_goes_wrong_with_its_proposal(
    ground, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fails(*_given: Any, **_named: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(f"gateway.approval.{broken}", fails)
    done = ground.open().call(WRITE)
    assert (done.ran, done.result.ended, done.proposal) == (False, "refused", None)
