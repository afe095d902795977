"""Which backend is taken, why the others are not, and what happens when there is none."""

from __future__ import annotations

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import Network, SandboxPlan
from gateway.sandbox.backends.choose import Choice, Passed, backends, choose
from gateway.sandbox.base import Probe, SandboxError


class Fake:
    """A backend that is only asked."""

    def __init__(self, name: str, probe: Probe, missing: tuple[str, ...] = ()) -> None:
        self.name = name
        self._probe = probe
        self._missing = missing
        self.asked = 0

    def probe(self) -> Probe:
        self.asked += 1
        return self._probe

    def missing(self, _plan: SandboxPlan) -> tuple[str, ...]:
        return self._missing


def plan(*weaker: str) -> SandboxPlan:
    return SandboxPlan((), (), (), "/", (), Network(), Limits(), weaker=weaker)


WORKS = Probe(True, "works", degraded=("weak",))
FAILS = Probe(False, "user namespaces are refused", "permit them")


def test_the_first_that_works_is_taken() -> None:
    first, second = Fake("bubblewrap", WORKS), Fake("landlock", WORKS)
    assert choose(plan("landlock"), (first, second)) == Choice(first, "works", ("weak",))
    assert second.asked == 0


def test_a_weaker_one_that_policy_permits_is_taken_with_what_would_be_better() -> None:
    first, second = Fake("bubblewrap", FAILS), Fake("landlock", WORKS)
    assert choose(plan("landlock"), (first, second)) == Choice(
        second,
        "works",
        ("weak",),
        (Passed("bubblewrap", "user namespaces are refused", "permit them"),),
        "permit them",
    )


@pytest.mark.parametrize("weaker", [(), ("landlock",)], ids=["nothing-weaker", "landlock-only"])
def test_what_policy_does_not_permit_is_not_even_tried(weaker: tuple[str, ...]) -> None:
    offered = (Fake("bubblewrap", FAILS), Fake("landlock", FAILS), Fake("none", WORKS))
    with pytest.raises(SandboxError) as caught:
        choose(plan(*weaker), offered)
    assert "none: policy does not permit the weaker form `none`" in caught.value.reason
    assert caught.value.remedy == "permit them"
    assert offered[2].asked == 0
    assert choose(plan("landlock", "none"), offered).backend is offered[2]


def test_one_that_cannot_express_the_plan_is_passed_over() -> None:
    first = Fake("bubblewrap", FAILS)
    second = Fake("landlock", WORKS, ("hosts cannot be granted",))
    with pytest.raises(SandboxError) as caught:
        choose(plan("landlock"), (first, second))
    assert str(caught.value) == (
        "no sandbox can hold this call, so it does not run (bubblewrap: user namespaces are refused; landlock: hosts "
        "cannot be granted)"
    )


def test_the_backends_of_a_process_are_the_same_each_time() -> None:
    once, again = list(backends()), list(backends())
    assert all(one is other for one, other in zip(once, again, strict=True))
    assert once[-1].name == "none"
