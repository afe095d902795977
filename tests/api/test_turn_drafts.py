"""Turns: their commands change the same layers, each sees what those before it have changed, and it is shown once."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from api.test_drafts import Project, lays
from patience import patience
from sandbox.changes.worlds import tree

from gateway.api.changes import Changes
from gateway.api.gateway import Gateway
from gateway.approval.base import Decided
from gateway.core.cancel import Cancel
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gateway.calls.output import Done
    from gateway.calls.session import Session
    from gateway.calls.turn_drafts import Together

pytestmark = pytest.mark.skipif(not lays(), reason="no layer is laid over a folder here")


class Turns(Project):
    """A session of a gateway, and a person who decides."""

    def open(
        self, *answers: Decided | bool | Callable[[], Decided] | None, mode: str = "default", rules: str = ""
    ) -> Session:
        gateway = self.gateway(mode, rules)
        self.calls = Gateway(gateway.options, where=gateway.places, approver=self.person(*answers))
        self.session = self.calls.session()
        return self.session

    def turn(
        self, *answers: Decided | bool | Callable[[], Decided] | None, rules: str = ""
    ) -> AbstractContextManager[Together]:
        session = self.open(*answers, rules=rules)
        return self.calls.shown_once(session)

    def python(self, program: str, **more: object) -> Done:
        """Of such a program nobody knows before what it does."""
        (self.root / "x.py").write_text(program)
        try:
            return self.bash("python3 -S x.py", **more)
        finally:
            (self.root / "x.py").unlink()

    def bash(self, command: str, **more: object) -> Done:
        return self.calls.call(RawCall("Bash", {"command": command, **more}), session=self.session)

    def shown(self) -> list[list[str]]:
        return [sorted(change.path for change in each.found.changes) for each in self.reviews]

    def close(self) -> None:
        if hasattr(self, "calls"):
            self.session.close()
            self.calls.close()


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[Turns]:
    made = Turns(tmp_path)
    yield made
    made.close()


WRITE_A = "open('src/a','w').write('two')"
READ_A = "print(open('src/a').read())"


def test_calls_of_a_turn_see_what_those_before_changed_and_the_person_sees_it_once(turns: Turns) -> None:
    def look() -> Decided:
        assert (turns.root / "src/a").read_text() == "one\n"
        assert not (turns.root / "src/b").exists()
        return Decided(True, "me")

    with turns.turn(look):
        first = turns.python(WRITE_A)
        assert (first.result.drafted, first.output.is_error) == ("pending", False)
        assert "at the end of the turn" in str(first.output.notes)
        assert turns.python(READ_A).text.startswith("two")
        assert turns.bash("cat src/a").text.startswith("two")  # a command that only reads
        turns.python("import os; os.rename('src/a','src/b')")
        assert turns.bash("ls src").text.strip() == "b"
        assert (turns.reviews, (turns.root / "src/a").read_text()) == ([], "one\n")
    assert turns.shown() == [["src/a", "src/b"]]
    assert (turns.root / "src/b").read_text() == "two"
    assert not (turns.root / "src/a").exists()
    (kept,) = Changes(turns.gateway()).list()
    assert kept.of.state == "kept"
    assert Changes(turns.gateway()).undo(kept.of.number).stays == {}
    assert (turns.root / "src/a").read_text() == "one\n"


def test_what_is_discarded_at_the_end_was_never_there(turns: Turns) -> None:
    before = tree(turns.root)
    with turns.turn(Decided(False, "me", note="not so")) as together:
        turns.python(WRITE_A)
        turns.python("open('/tmp/seen','w').write('x'); open('b','w')")
        assert turns.bash("cat /tmp/seen").text.startswith("x")
    assert tree(turns.root) == before
    assert together.outcome is not None
    assert (together.outcome.what, "not so" in together.outcome.why) == ("discarded", True)
    assert turns.bash("cat /tmp/seen").output.is_error
    assert Changes(turns.gateway()).list() == []


def test_a_turn_that_changes_nothing_asks_nothing(turns: Turns) -> None:
    with turns.turn() as together:
        done = turns.python(READ_A)
        turns.python("open('x','w'); import os; os.unlink('x')")
    assert (together.outcome, turns.reviews, turns.asked, done.result.drafted) == (None, [], [], "")
    assert Changes(turns.gateway()).list() == []


@pytest.mark.parametrize(
    ("call", "shows"),
    [
        (RawCall("Read", {"file_path": "src/a"}), False),
        (RawCall("Read", {"file_path": "gone"}), False),
        (RawCall("Glob", {"pattern": "src/*"}), False),
        (RawCall("Bash", {"command": "touch y", "run_in_background": True}), True),
        (RawCall("Bash", {"command": "cat src/a"}), False),
        (RawCall("Bash", {"command": "git push origin x"}), True),
        (RawCall("Write", {"file_path": "src/a", "content": "x"}), False),
    ],
)
def test_a_call_that_needs_it_otherwise_has_it_shown_before(turns: Turns, call: RawCall, shows: bool) -> None:
    where = {name: str(turns.root / str(value)) for name, value in call.input.items() if name == "file_path"}
    with turns.turn(True):
        turns.python(WRITE_A)
        done = turns.calls.call(call.replace(input={**call.input, **where}), session=turns.session)
        assert turns.shown() == ([["src/a"]] if shows else [])
        if shows:
            assert "A person has kept" in str(done.output.notes)
            assert (turns.root / "src/a").read_text() == "two"
    assert turns.shown() == [["src/a"]]


def test_whoever_asks_sees_it_at_once_and_the_turn_goes_on(turns: Turns) -> None:
    with turns.turn(True, True) as together:
        turns.python(WRITE_A)
        outcome = together.show()
        assert outcome is not None
        assert (outcome.what, (turns.root / "src/a").read_text()) == ("kept", "two")
        assert together.show() is None
        turns.python("open('b','w')")
    assert turns.shown() == [["src/a"], ["b"]]


def test_what_a_person_changes_between_the_calls_is_seen_and_is_no_conflict(turns: Turns) -> None:
    with turns.turn(True):
        turns.python("open('b','w')")
        (turns.root / "src/a").write_text("by hand\n")
        turns.python("open('src/a','a').write('more')")
    assert turns.shown() == [["b", "src/a"]]
    assert turns.reviews[0].found.missed == ()
    assert (turns.root / "src/a").read_text() == "by hand\nmore"


def test_what_a_person_changes_behind_a_call_that_changed_it_is_one(turns: Turns) -> None:
    with turns.turn(Decided(True, "me", rest=True)):
        turns.python("open('src/a','a').write('more')")
        (turns.root / "src/a").write_text("by hand\n")
        turns.python("open('src/a','a').write('more'); open('b','w')")
    assert [os.path.basename(path) for path, _why in turns.reviews[0].found.missed] == ["a"]
    assert (turns.root / "src/a").read_text() == "by hand\n"
    assert (turns.root / "b").exists()


def test_one_that_is_cut_short_keeps_nothing_and_loses_nothing(turns: Turns) -> None:
    before = tree(turns.root)
    turn = turns.turn()
    turn.__enter__()
    turns.python(WRITE_A)
    assert not turn.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert (tree(turns.root), turns.reviews) == (before, [])
    (draft,) = Changes(turns.gateway()).list()
    assert draft.of.state == "draft"
    assert Changes(turns.gateway()).keep(draft.of.number).stays == {}
    assert (turns.root / "src/a").read_text() == "two"


def test_a_call_that_is_cancelled_has_the_turn_not_kept(turns: Turns) -> None:
    with turns.turn() as together:
        turns.python(WRITE_A)
        cancel = Cancel()
        threading.Timer(0.5, cancel.set).start()
        (turns.root / "fifo.py").write_text("import time; time.sleep(60)")
        raw = RawCall("Bash", {"command": "python3 -S fifo.py"})
        turns.calls.calls.call(raw, turns.session, cancel)
        cancel.close()
    assert together.outcome is not None
    assert (together.outcome.what, turns.reviews) == ("undecided", [])
    assert (turns.root / "src/a").read_text() == "one\n"


def test_one_that_ran_too_long_is_shown_with_the_others_and_said(turns: Turns) -> None:
    with turns.turn(True):
        turns.python(WRITE_A)
        turns.python("import time; open('b','w'); time.sleep(60)", timeout=int(patience(1) * 1000))
    assert turns.shown() == [["b", "src/a"]]
    assert "did not come to its end" in turns.reviews[0].problem


def test_what_was_decided_elsewhere_is_not_gone_on_with(turns: Turns) -> None:
    with turns.turn(True):
        turns.python(WRITE_A)
        (draft,) = Changes(turns.gateway()).list()
        Changes(turns.gateway()).discard(draft.of.number)
        assert turns.python(READ_A).text.startswith("one")
        turns.python("open('b','w')")
    assert turns.shown() == [["b"]]
    assert (turns.root / "src/a").read_text() == "one\n"


def test_for_the_session_the_same_calls_may_change_the_same_files(turns: Turns) -> None:
    (turns.root / "y.sh").write_text("echo >> src/a")
    session = turns.open(Decided(True, "me", session=True), False)
    for extra in ("", "", "open('c','w')"):
        with turns.calls.shown_once(session):
            turns.python("open('b','a').write('x')")
            turns.bash("sh ./y.sh")
            turns.python(extra)
    assert turns.shown() == [["b", "src/a"], ["b", "c", "src/a"]]
    assert (turns.root / "b").read_text() == "xx"


def test_modes_that_throw_away_have_it_decided_first(turns: Turns) -> None:
    with turns.turn(True):
        turns.python(WRITE_A)
        turns.session.enter("plan")
        assert turns.python(READ_A).text.startswith("two")
    assert turns.shown() == [["src/a"]]


def test_the_only_command_of_a_turn_that_met_what_a_layer_cannot_do_is_run_for_real_at_once(turns: Turns) -> None:
    with turns.turn(Decided(False, "me", real=True)) as together:
        done = turns.python("import os; os.rename('src', 'lib')")
        assert (done.output.is_error, (turns.root / "lib/a").exists()) == (False, True)
    assert (together.outcome, [review.real for review in turns.reviews]) == (None, [True])


def test_one_of_several_that_met_what_a_layer_cannot_do_is_shown_with_the_rest(turns: Turns) -> None:
    with turns.turn(Decided(False, "me", real=True)):
        turns.python(WRITE_A)
        assert turns.python("import os; os.rename('src', 'lib')").output.is_error
        assert turns.reviews == []
    assert [(review.real, "what a layer cannot do" in review.problem) for review in turns.reviews] == [(False, True)]
    assert (turns.root / "src/a").read_text() == "one\n"
