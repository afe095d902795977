"""What `gateway doctor --agent` says of contained calls: a real one, and how many questions are to be expected."""

from __future__ import annotations

import pytest

from gateway.calls.containing import cannot_contain
from gateway.core.places import places
from gateway.frontends import doctor_contained
from gateway.frontends.doctor_contained import TYPICAL, expected, proof
from gateway.frontends.finding import BETTER, BROKEN, OK, Finding
from gateway.install.user_policy import ACCEPT, Wish, content

needs_sandbox = pytest.mark.skipif(bool(cannot_contain()), reason="no sandbox holds here")


@needs_sandbox
def test_a_contained_call_is_made_and_taken_back(ground) -> None:
    assert proof("claude", places()) == Finding(
        "claude", OK, "a contained call ran, changed its project alone, and was taken back"
    )
    assert not list((ground.home / ".local" / "state" / "gateway").glob("projects/*"))


@needs_sandbox
@pytest.mark.usefixtures("ground")
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("_wrong", "a contained call changed a protected file"),
        ("_left", "a contained call could not be taken back"),
    ],
)
def test_a_call_that_does_what_it_must_not_is_told(monkeypatch: pytest.MonkeyPatch, broken: str, said: str) -> None:
    monkeypatch.setattr(doctor_contained, broken, lambda *_given: said.removeprefix("a contained call "))
    found = proof("claude", places())
    assert (found.state, found.text) == (BROKEN, said)


def test_a_policy_that_contains_nothing_is_told(ground) -> None:
    ground.says({"extends": ["guard"]})
    found = proof("claude", places())
    assert (found.state, "lets no contained call run" in found.text) == (BETTER, True)


@needs_sandbox
def test_fewer_questions_are_expected_where_work_is_contained(ground) -> None:
    def asks() -> int:
        return int(expected("claude", str(ground.project)).text.split(" would ask")[0].rpartition(" ")[2])

    counts = [asks()]
    for wish in (Wish(), Wish(edits=ACCEPT), Wish(("python", "node"), ACCEPT)):
        ground.says(content(wish))
        counts.append(asks())
    assert counts == sorted(counts, reverse=True)
    assert len(TYPICAL) > counts[0] > counts[1] > counts[2] > counts[3] > 0  # to push and to fetch from anywhere asks
