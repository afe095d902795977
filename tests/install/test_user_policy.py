"""The policy that `gateway init` writes for a user who has none, and what it says of it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from gateway.config.load import Options
from gateway.core.places import Places
from gateway.install import user_policy
from gateway.install.pieces import TEXT, Target
from gateway.install.planning import digest
from gateway.install.receipts import Kept
from gateway.install.user_policy import ACCEPT, FOLLOW, TRADES, Wish
from gateway.judge.judge import Judge


@pytest.fixture
def where(tmp_path: Path) -> Places:
    return Places("/nonexistent", str(tmp_path / "config"), str(tmp_path / "state"), str(tmp_path / "cache"), "/home/x")


def written(where: Places, text: str) -> dict[str, Kept]:
    path = Path(user_policy.path_of(where))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return {str(path): Kept(TEXT, created=True, content=digest(text))}


WISHES = [
    Wish(trades, edits, guarded)
    for trades in ((), ("node",), tuple(TRADES)) for edits in ("", ACCEPT, FOLLOW) for guarded in (True, False)
]  # fmt: skip


@pytest.mark.parametrize("wish", WISHES, ids=repr)
def test_what_is_written_says_what_was_asked_for(where: Places, tmp_path: Path, wish: Wish) -> None:
    written(where, user_policy.content(wish))
    loaded = Judge(Options(str(tmp_path), root=str(tmp_path)), where=where).loaded
    modes = ("default", "accept_edits", "plan", "read_only", "auto", "dont_ask") if wish.edits == FOLLOW else ()
    follows = loaded.settings["agents"].value.get("modes") if "agents" in loaded.settings else None
    assert (loaded.guarded, loaded.mode, loaded.modes, follows) == (
        wish.guarded,
        "accept_edits" if wish.edits == ACCEPT else "default",
        modes,
        "follow" if wish.edits == FOLLOW else None,
    )
    assert {f"{each}.yaml" for each in wish.trades} <= {os.path.basename(path) for path, _known in loaded.included}


def test_a_user_without_a_policy_gets_one(where: Places) -> None:
    assert user_policy.target(where, Wish(), {}) == Target(
        user_policy.path_of(where), TEXT, content=user_policy.content(Wish())
    )


@pytest.mark.parametrize("name", ["policy.yaml", "policy.d/own.yaml"])
def test_a_policy_that_is_there_stays(where: Places, name: str) -> None:
    path = Path(where.config, name)
    path.parent.mkdir(parents=True)
    path.write_text("version: 1\n", encoding="utf-8")
    assert user_policy.target(where, Wish(("python",)), {}) is None


@pytest.mark.parametrize(
    ("before", "asked"),
    list(itertools.product([Wish(), Wish(("node",), FOLLOW)], [Wish(), Wish(("python",)), Wish((), ACCEPT)])),
)
def test_a_further_run_adds_to_what_an_earlier_one_wrote(where: Places, before: Wish, asked: Wish) -> None:
    kept = written(where, user_policy.content(before))
    found = user_policy.target(where, asked, kept)
    assert found is not None
    joined = Wish((*before.trades, *asked.trades), asked.edits or before.edits)
    assert found.content == user_policy.content(joined)


def test_what_somebody_has_changed_since_is_theirs(where: Places) -> None:
    kept = written(where, user_policy.content(Wish()))
    assert not user_policy.is_changed(where, kept)
    Path(user_policy.path_of(where)).write_text("version: 1\nrules: []\n", encoding="utf-8")
    assert user_policy.is_changed(where, kept)
    assert user_policy.target(where, Wish(("python",)), kept) is None


@pytest.mark.parametrize(
    ("rewrites", "holds", "wish", "begins"),
    [
        (True, "", Wish(), "commands that may run unasked run in the sandbox"),
        (True, "namespaces: refused", Wish(), "no sandbox holds here (namespaces: refused)"),
        (False, "", Wish(), "Agent runs commands as it has them, outside of the sandbox"),
        (True, "", None, "your own policy stays as it is"),
    ],
)
def test_it_is_said_on_one_screen_what_that_means(rewrites: bool, holds: str, wish: Wish | None, begins: str) -> None:
    lines = user_policy.told("Agent", rewrites, holds, wish and user_policy.content(wish))
    assert lines[0].startswith(begins)
    assert sum(len(line) // 80 + 1 for line in lines) < 24


@pytest.mark.parametrize("wish", WISHES[::2], ids=repr)
def test_what_each_preset_opens_and_how_edits_run_is_said(wish: Wish) -> None:
    text = "\n".join(user_policy.told("Agent", True, "", user_policy.content(wish)))
    assert [each for each in TRADES if f"`{each}` opens" in text] == [each for each in TRADES if each in wish.trades]
    assert ("--edits" in text, "does not follow" in text) == (not wish.edits, False)


def test_whether_a_sandbox_holds_is_what_the_probes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def __init__(self, name: str, works: bool) -> None:
            self.name, self.works, self.reason = name, works, "refused"

        def probe(self) -> Fake:
            return self

    told = []
    for works in ({"namespaces": False, "landlock": True}, {"namespaces": False, "none": True}, {}):
        monkeypatch.setattr(
            "gateway.sandbox.backends.choose.backends", lambda works=works: [Fake(*each) for each in works.items()]
        )
        told.append(user_policy.cannot_hold())
    assert told == ["", "namespaces: refused", "this platform has no such sandbox"]
