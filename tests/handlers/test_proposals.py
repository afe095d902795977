"""ProposeRule files; what holds by itself is what the enterprise layer says, within its bounds, for this session."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from gateway.api.gateway import Gateway
from gateway.approval.proposals import Proposals
from gateway.config.load import Options
from gateway.core.places import places
from gateway.model.call import RawCall


def opened(ground, within: Any, layer: str = "enterprise", **settings: Any) -> Gateway:
    """A gateway whose layer lets proposals within these bounds hold by themselves."""
    where = places().replace(enterprise=str(ground.top / "enterprise"))
    text = json.dumps({"version": 1, "settings": {**settings, **({"proposals": {"within": within}} if within else {})}})
    if layer == "enterprise":
        if os.geteuid() != 0:
            pytest.skip("only root can make files that belong to root")
        (ground.top / "enterprise").mkdir(exist_ok=True)
        (ground.top / "enterprise" / "policy.yaml").write_text(text, encoding="utf-8")
    else:
        ground.says(text, layer=layer)
    found = Gateway(Options(str(ground.project), root=str(ground.project)), where=where)
    ground._open.append(found)
    return found


def write(name: str) -> RawCall:
    return RawCall("Write", {"file_path": name, "content": "x"})


def propose(name: str) -> RawCall:
    return RawCall("ProposeRule", {"proposal": name, "because": "tests need it"})


def test_a_proposal_is_filed_and_holds_nothing_open(ground) -> None:
    gateway = opened(ground, None)
    with gateway.session() as session:
        name = gateway.call(write("build/a"), session=session).proposal.id
        done = gateway.call(propose(name), session=session)
        assert (done.ran, done.output.is_error, done.output.rules) == (True, False, ())
        assert "`gateway proposals show" in done.text
        assert not gateway.call(write("build/a"), session=session).ran
    assert [each.because for each in Proposals(gateway.places.state, str(ground.project)).list()] == ["tests need it"]


def test_there_must_be_such_a_proposal(ground) -> None:
    gateway = opened(ground, "Edit(**)")
    done = gateway.call(propose("nope"))
    assert (done.output.is_error, done.output.rules) == (True, ())
    assert "There is no proposal `nope`" in done.text


WITHIN = {
    "inside": ("Edit(build/**)", "build/a", True),
    "outside": ("Edit(build/**)", "src/a", False),
    "a longer name": ("Edit(build)", "buildings", False),
    "through ..": ("Edit(build/**)", "build/../src/a", False),
}


@pytest.mark.parametrize(("within", "path", "holds"), WITHIN.values(), ids=list(WITHIN))
@pytest.mark.parametrize("mode", ["default", "dont_ask"])
def test_what_opens_nothing_outside_of_the_bounds_holds_until_the_session_ends(
    ground, within: str, path: str, holds: bool, mode: str
) -> None:
    gateway = opened(ground, within, mode=mode)
    with gateway.session() as session:
        name = gateway.call(write(path), session=session).proposal.id
        done = gateway.call(propose(name), session=session)
        assert bool(done.output.rules) is holds
        assert ("policy accepted" in done.result.reason) is holds
        assert gateway.call(write(path), session=session).ran is holds
        assert not gateway.call(write(path + "2"), session=session).ran
        assert session.handed_on(session.context.rules) == ()
        assert session.lasting_rules == ()
    with gateway.session() as other:
        assert not gateway.call(write(path + "3"), session=other).ran
        (ground.project / path).unlink(missing_ok=True)
        assert not gateway.call(write(path), session=other).ran
    recorded = [
        each["reason"] for each in ground.records() if each["kind"] == "outcome" and "policy" in each.get("reason", "")
    ]
    assert [each.startswith("policy accepted `allow: ") for each in recorded] == [True] * holds


@pytest.mark.parametrize("layer", ["user", "project"])
def test_no_other_layer_says_so(ground, layer: str) -> None:
    gateway = opened(ground, "Edit(**)", layer)
    with gateway.session() as session:
        name = gateway.call(write("a"), session=session).proposal.id
        assert gateway.call(propose(name), session=session).output.rules == ()
    assert "only the enterprise layer says which proposed rules hold" in str(gateway.loaded.skipped)


def test_what_stands_in_the_file_is_not_believed(ground) -> None:
    """An entry whose rule says more than its call needs opens nothing."""
    gateway = opened(ground, "Edit(**)")
    kept = Proposals(gateway.places.state, str(ground.project))
    with gateway.session() as session:
        name = gateway.call(write("a"), session=session).proposal.id
        for rule in ("allow: Edit(**)", "allow: Edit(b)", "allow: [", ""):
            kept._write({name: kept.get(name).replace(rule=rule)})  # type: ignore[union-attr]
            assert gateway.call(propose(name), session=session).output.rules == ()
        kept._write({name: kept.get(name).replace(input={"file_path": "b", "content": "x"})})  # type: ignore[union-attr]
        assert gateway.call(propose(name), session=session).output.rules == ()
