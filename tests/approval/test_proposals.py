"""Proposals are kept privately, in bounds, and what stands in their file is believed of nothing."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from gateway.approval import proposals
from gateway.approval.proposals import Proposals
from gateway.approval.proposing import Proposal


@pytest.fixture
def kept(tmp_path: Path) -> Proposals:
    return Proposals(str(tmp_path / "state"), "/home/dev/project")


def proposal(name: str = "a") -> Proposal:
    return Proposal(name, f"allow: Edit({name})", ("it",))


def test_what_was_kept_is_counted_and_what_somebody_gave_a_reason_for_comes_first(kept: Proposals, judged) -> None:
    verdict = judged("touch a").verdict
    for name in "aabb":
        assert kept.keep(proposal(name), verdict, front="exec", session="s")
    assert kept.file("a", "because") is not None
    found = [(each.id, each.count, each.because, dict(each.input)["command"], each.front) for each in kept.list()]
    assert found == [("a", 2, "because", "touch a", "exec"), ("b", 2, "", "touch a", "exec")]
    assert kept.keep(proposal("a"), verdict, front="exec", session="s")
    assert kept.get("a").because == "because"  # type: ignore[union-attr]
    assert (kept.drop("a") is None, kept.drop("a"), kept.file("a", "x")) == (False, None, None)


def test_what_was_rejected_is_not_kept_again_and_other_rules_are(
    kept: Proposals, judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MOST_REJECTED", 2)
    verdict = judged("touch a").verdict
    assert kept.keep(proposal("a"), verdict, front="exec", session="s")
    assert (kept.reject("a") is None, kept.reject("a"), kept.list()) == (False, None, [])
    assert [kept.keep(proposal(name), verdict, front="exec", session="s") for name in "ab"] == [False, True]
    kept.refuse("b")
    assert (kept.list(), kept.rejected()) == ([], ("a", "b"))
    kept.refuse("c")
    assert (kept.rejected(), kept.keep(proposal("a"), verdict, front="exec", session="s")) == (("b", "c"), True)


def test_nobody_else_can_read_them(kept: Proposals, judged) -> None:
    kept.keep(proposal(), judged("touch a").verdict, front="exec", session="s")
    assert stat.S_IMODE(os.stat(kept.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(kept.folder).st_mode) == 0o700


def test_there_are_never_more_than_a_bound_and_filed_ones_stay(
    kept: Proposals, judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MOST", 3)
    verdict = judged("touch a").verdict
    kept.keep(proposal("first"), verdict, front="exec", session="s")
    kept.file("first", "because")
    for number in range(5):
        kept.keep(proposal(str(number)), verdict, front="exec", session="s")
    assert [each.id for each in kept.list()] == ["first", "4", "3"]


def test_projects_are_bounded_too(tmp_path: Path, judged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MOST_PROJECTS", 2)
    for number in range(4):
        found = Proposals(str(tmp_path), f"/p{number}")
        found.keep(proposal(), judged("touch a").verdict, front="exec", session="s")
        os.utime(found.path, (number, number))
    assert sorted(each.name for each in (tmp_path / "proposals").glob("*.json")) == sorted(
        os.path.basename(Proposals(str(tmp_path), f"/p{number}").path) for number in (2, 3)
    )


@pytest.mark.parametrize(
    "text", ["curl -H 'Authorization: Bearer abcdefghijklmnop0123456789' https://x.org", "touch " + "a" * 9_000]
)
def test_a_call_with_a_secret_or_without_bound_is_not_kept(kept: Proposals, judged, text: str) -> None:
    assert not kept.keep(proposal(), judged(text).verdict, front="exec", session="s")
    assert kept.list() == []


BROKEN = {
    "no JSON": b"[",
    "not UTF-8": b"\xff",
    "no list": b"{}",
    "deep": b"[" * 100_000,
    "no entry": b"[1, null, {}]",
    "another form": b'[{"id": 1}]',
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=list(BROKEN))
def test_what_cannot_be_read_is_nothing_and_is_replaced(kept: Proposals, judged, data: bytes) -> None:
    os.makedirs(kept.folder, 0o700)
    Path(kept.path).write_bytes(data)
    Path(kept.path.removesuffix(".json") + ".rejected").write_bytes(data)
    assert (kept.list(), kept.rejected()) == ([], ())
    assert kept.keep(proposal(), judged("touch a").verdict, front="exec", session="s")
    assert [each.id for each in kept.list()] == ["a"]


def test_an_entry_with_a_field_of_another_form_is_left_out(kept: Proposals, judged) -> None:
    kept.keep(proposal(), judged("touch a").verdict, front="exec", session="s")
    rows = json.loads(Path(kept.path).read_text("utf-8"))
    Path(kept.path).write_text(json.dumps([{**rows[0], "id": "b", "depth": "1"}, *rows]), "utf-8")
    assert [each.id for each in kept.list()] == ["a"]


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_nothing_in_the_place_of_the_file_is_followed_or_waited_for(kept: Proposals, tmp_path: Path, kind: str) -> None:
    os.makedirs(kept.folder, 0o700)
    if kind == "fifo":
        os.mkfifo(kept.path)
    elif kind == "link":
        (tmp_path / "x").write_text("[]")
        os.symlink(tmp_path / "x", kept.path)
    else:
        os.mkdir(kept.path)
    assert kept.list() == []
