"""The life of a call: whatever goes wrong on the way is a refused or failed call with a record, and nothing runs that
was not judged, approved and recorded."""

from __future__ import annotations

import os
import tempfile
import threading
from typing import Any

import pytest

from gateway.approval.base import Answer
from gateway.audit.log import Log
from gateway.calls import handlers
from gateway.calls.output import Failure, Output, Progress, Text
from gateway.core.cancel import Cancel
from gateway.core.errors import CallError
from gateway.model.call import RawCall
from gateway.model.decision import Decision

READ = RawCall("Read", {"file_path": "a.txt"})
WRITE = RawCall("Write", {"file_path": "new.txt", "content": "x"})
ALLOWED = {"rules": [{"id": "edits", "allow": "Edit(**)"}]}


class Seen:
    """A handler that keeps what it was called with."""

    def __init__(self, output: Output | None = None, error: BaseException | None = None) -> None:
        self.calls: list[Any] = []
        self.works: list[Any] = []
        self.output = output or Output((Text("done"),))
        self.error = error

    def __call__(self, call: Any, work: Any) -> Output:
        self.calls.append(call)
        self.works.append(work)
        if self.error is not None:
            raise self.error
        return self.output


@pytest.fixture
def seen(ground) -> Seen:
    found = Seen()
    for name in ("files.read", "files.write"):
        ground.stands_for(name, found)
    (ground.project / "a.txt").write_text("a\n", encoding="utf-8")
    return found


def test_a_call_that_policy_allows_runs_as_it_was_judged(ground, seen: Seen) -> None:
    done = ground.open().call(READ)
    assert (done.verdict.decision, done.ran, done.text, done.output.is_error) == (Decision.ALLOW, True, "done", False)
    assert [dict(call.input) for call in seen.calls] == [{"file_path": str(ground.project / "a.txt")}]
    assert seen.calls[0] is done.verdict.call
    assert (done.result.ended, done.result.status, done.plan, done.reports) == ("exited", 0, None, ())


def test_decision_and_outcome_are_recorded_under_one_id_and_the_decision_before_it_runs(ground, seen: Seen) -> None:
    before: list[list[str]] = []
    ground.stands_for(
        "files.read", lambda _call, _work: before.append([r["kind"] for r in ground.records()]) or seen.output
    )
    done = ground.open().call(READ)
    decision, outcome = ground.records()
    assert before == [["decision"]]
    assert (decision["id"], outcome["id"]) == (done.record, done.record)
    assert (decision["decision"], outcome["ended"], decision["front"]) == ("allow", "exited", "library")


REFUSED = {
    "denied by a rule": ({"rules": [{"id": "no", "deny": "Read"}]}, READ, "`no`"),
    "asked about with nobody there": ({}, WRITE, "nobody to ask"),
    "of no such tool": ({}, RawCall("Nope", {}), "known name"),
    "without a field that it needs": ({}, RawCall("Read", {}), "$.file_path"),
    "with a field that nobody knows": ({}, RawCall("Read", {"file_path": "a", "x": 1}), "$.x"),
    "with an internal error in its input": ({}, RawCall("Read", {"file_path": object()}), "JSON values"),
    "with a name that is none": ({}, RawCall(7, {}), "tool must be a name"),  # type: ignore[arg-type]
    "with half a character for a name": ({}, RawCall("\ud800", {}), "known name"),
    "with an input that is none": ({}, RawCall("Read", None), "must be an object"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("policy", "raw", "why"), REFUSED.values(), ids=REFUSED)
def test_a_call_is_refused_and_recorded(ground, seen: Seen, policy: Any, raw: RawCall, why: str) -> None:
    ground.says(policy)
    done = ground.open().call(raw)
    assert (done.ran, done.result.ended, done.result.status, done.output.is_error) == (False, "refused", 126, True)
    assert why in done.text
    assert seen.calls == []
    assert [each["kind"] for each in ground.records()][:1] == ["decision"]
    assert ground.open().call(READ).ran is (policy.get("rules") is None)


def test_what_could_not_be_judged_is_recorded_as_denied_with_its_reason(ground, seen: Seen) -> None:
    done = ground.open().call(RawCall("Read", {"file": "x"}))
    (record,) = ground.records()
    assert isinstance(done.error, CallError)
    assert (record["decision"], record["rule"][0], record["tool"]) == ("deny", "invalid-call", "Read")
    assert (record["input"], seen.calls) == ({"file": "x"}, [])


def test_an_error_of_ours_before_the_verdict_refuses(ground, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = ground.open()
    monkeypatch.setattr("gateway.judge.judge.decide", lambda *_any: 1 / 0)
    done = gateway.call(READ)
    assert (done.ran, done.text) == (
        False, "It was refused because of an internal error (ZeroDivisionError)."
    )  # fmt: skip
    assert seen.calls == []
    (record,) = ground.records()
    assert (record["decision"], record["rule"][0]) == ("deny", "internal-error")


@pytest.mark.parametrize("step", ["_confine", "_approve", "_work", "_record"])
def test_an_error_of_ours_at_any_step_before_the_run_refuses(
    ground, seen: Seen, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    from gateway.calls.lifecycle import Life

    def broken(*_any: object) -> None:
        raise KeyError(step)

    gateway = ground.open()
    monkeypatch.setattr(Life, step, broken)
    done = gateway.call(READ)
    assert (done.ran, done.result.ended, seen.calls) == (False, "refused", [])
    assert done.text == "It was refused because of an internal error (KeyError)."
    assert ground.records()[-1]["kind"] == "outcome"
    monkeypatch.undo()


BROKEN = {
    "says that it cannot": (
        Failure("There is no such file.", "Look again."),
        "exited",
        "There is no such file. Look again.",
    ),
    "breaks": (KeyError("x"), "failed", "Read did not finish: an internal error (KeyError)."),
    "wants to end the process": (SystemExit(3), "failed", "Read did not finish: an internal error (SystemExit)."),
}


@pytest.mark.parametrize(("error", "ended", "text"), BROKEN.values(), ids=BROKEN)
def test_a_tool_that_fails_is_a_failed_call(ground, seen: Seen, error: BaseException, ended: str, text: str) -> None:
    seen.error = error
    done = ground.open().call(READ)
    assert (done.text, done.output.is_error, done.result.ended, done.result.status) == (text, True, ended, 1)
    assert done.ran
    assert ground.records()[-1]["ended"] == ended


def test_a_tool_with_nothing_behind_it_is_refused_and_nobody_is_asked(ground, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Person:
        name = "console"

        def ask(self, question: Any) -> Answer:
            asked.append(question)
            return Answer(True, "once", "ann")

    monkeypatch.delitem(handlers.HANDLERS, "files.write", raising=False)
    gateway = ground.open(approver=Person())
    done = gateway.call(WRITE)
    assert (done.ran, done.text, asked) == (False, "Write is not there yet: files.write.", [])
    ground.stands_for("files.write", Seen())
    assert gateway.call(WRITE).ran
    assert len(asked) == 1


@pytest.mark.parametrize("answer", [True, False])
def test_what_is_asked_about_runs_when_it_is_approved(ground, seen: Seen, answer: bool) -> None:
    class Person:
        name = "console"

        def ask(self, _question: Any) -> Answer:
            return Answer(answer, "session", "ann")

    gateway = ground.open(approver=Person())
    with gateway.session() as session:
        done = gateway.call(WRITE, session=session)
        assert (done.ran, len(seen.calls)) == (answer, int(answer))
        assert done.grant is not None
        assert done.grant.allow is answer
        again = gateway.call(WRITE, session=session)
        assert (again.ran, len(seen.calls)) == (answer, 2 * answer)
    assert len(session.grants) == 1


@pytest.fixture
def unwritable(ground) -> Log:
    """A record that has no place: a file stands where its folder should be."""
    (ground.top / "file").write_text("", encoding="utf-8")
    return Log(str(ground.top / "file" / "audit"))


def test_what_has_effects_does_not_run_without_a_record(ground, seen: Seen, unwritable: Log) -> None:
    ground.says(ALLOWED)
    done = ground.open(log=unwritable).call(WRITE)
    assert (done.ran, seen.calls) == (False, [])
    assert done.text.startswith("It is refused, because it would not be recorded: ")
    assert ground.open().call(WRITE).ran


def test_what_has_none_runs_without_and_people_are_told(ground, seen: Seen, unwritable: Log) -> None:
    done = ground.open(log=unwritable).call(READ)
    assert (done.ran, done.text, len(seen.calls)) == (True, "done", 1)
    assert [each[:24] for each in done.reports] == ["This call is not recorde"]


def test_a_call_that_was_cancelled_before_does_not_start(ground, seen: Seen) -> None:
    cancel = Cancel()
    cancel.set()
    done = ground.open().call(READ, cancel=cancel)
    cancel.close()
    assert (done.ran, done.result.ended, seen.calls) == (False, "cancelled", [])
    assert ground.records()[-1]["ended"] == "cancelled"


def test_progress_is_told_while_it_runs(ground, seen: Seen) -> None:
    def does(_call: Any, work: Any) -> Output:
        work.progress(Progress("status", "half way"))
        return seen.output

    ground.stands_for("files.read", does)
    heard: list[Progress] = []
    ground.open().call(READ, progress=heard.append)
    assert heard == [Progress("status", "half way")]


@pytest.mark.parametrize("fails", [True, False])
def test_whoever_watches_and_fails_changes_nothing_about_the_call(ground, seen: Seen, fails: bool) -> None:
    heard: list[str] = []

    def does(_call: Any, work: Any) -> Output:
        for text in ("one", "two"):
            work.progress(Progress("status", text))
        return seen.output

    def hears(each: Progress) -> None:
        heard.append(each.text)
        if fails:
            raise ValueError(each.text)

    ground.stands_for("files.read", does)
    done = ground.open().call(READ, progress=hears)
    assert (done.text, done.result.ended, heard) == ("done", "exited", ["one", "two"])
    assert done.reports == (("telling of its progress failed (ValueError: one)",) if fails else ())


DECLARED = """\
version: 1
tools:
  Count:
    summary: Count.
    description: Counts.
    input: {properties: {word: {type: string}}, required: [word]}
    output: {type: object, properties: {n: {type: integer}}, required: [n]}
    level: read
    handler: {python: files.read}
    examples: [{call: {}, complaint: [$.word]}]
"""


@pytest.mark.parametrize(("data", "fits"), [({"n": "many"}, False), ({"n": 1}, True)])
def test_a_result_that_is_not_what_its_tool_declares_is_not_shown_and_hooks_hear_of_it(
    ground, monkeypatch: pytest.MonkeyPatch, data: Any, fits: bool
) -> None:
    from gateway.calls.hooks.run import Answers
    from gateway.calls.hooks.selection import Hooks

    events: list[tuple[str, str]] = []

    def after(_found: Any, event: str, life: Any) -> Answers:
        events.append((event, life.output.blocks[0].text[:5]))
        return Answers(life.raw, "", ("noted",))

    ground.stands_for("files.read", Seen(Output((Text("x" * 100_000),), data)))
    ground.says(DECLARED, name="tools.yaml")
    ground.says({"rules": [{"id": "count", "allow": {"tool": ["Count"]}}]})
    monkeypatch.setattr("gateway.calls.hooks.run.tell_after", after)
    monkeypatch.setattr(
        "gateway.calls.lifecycle.Life._hooks", lambda _self, event: Hooks([{}] * (event != "before_call"))
    )
    done = ground.open().call(RawCall("Count", {"word": "x"}))
    assert (done.ran, done.result.ended, done.output.is_error, done.output.notes) == (
        True,
        "exited",
        not fits,
        ("noted",),
    )
    assert len(done.text) < 4_000
    assert events == [("after_call" if fits else "after_failure", "The r" if fits else "Count")]
    assert [each[:20] for each in done.reports] == ([] if fits else ["after it had run, Co"])


def test_a_check_of_its_meaning_comes_before_the_verdict(ground, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_call: Any) -> None:
        raise CallError("old and new are the same")

    monkeypatch.setitem(handlers.CHECKS, "files.read", "a check")
    monkeypatch.setitem(handlers._found, "a check", never)
    gateway = ground.open()
    assert gateway.call(READ).text == "old and new are the same"
    assert seen.calls == []
    monkeypatch.setitem(handlers._found, "a check", lambda _call: None)
    assert gateway.call(READ).ran


def test_a_long_result_lies_in_a_file_that_the_model_may_read(ground) -> None:
    ground.stands_for("files.write", Seen(Output((Text("x" * 40_000),))))
    ground.says(ALLOWED)
    gateway = ground.open()
    with gateway.session() as session:
        done = gateway.call(WRITE, session=session)
        folder = session.scratch()
        kept = folder + "/result-1.txt"
        assert kept in done.text
        assert len(done.text) < 4_000
        assert gateway.check(RawCall("Read", {"file_path": kept}), session.context).decision is Decision.ALLOW
        with tempfile.TemporaryDirectory(prefix=f"{os.path.basename(folder)}-") as somebody_elses:
            other = gateway.check(RawCall("Read", {"file_path": somebody_elses}), session.context)
        assert other.decision is Decision.ASK
        with open(kept, encoding="utf-8") as file:
            assert file.read() == "x" * 40_000


def test_calls_come_from_many_threads(ground) -> None:
    ground.stands_for("files.read", Seen())
    gateway = ground.open()
    found: list[bool] = []
    work = [threading.Thread(target=lambda: found.append(gateway.call(READ).ran)) for _ in range(20)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert found == [True] * 20
    assert len({each["id"] for each in ground.records()}) == 20


def test_only_what_was_judged_can_be_run(ground) -> None:
    tried: list[str] = []

    def does(call: Any, work: Any) -> Output:
        for other in ("rm -rf /", call.input["command"] + " ", ["ls"]):
            with pytest.raises(Exception, match=r"that (was|were) judged"):
                work.run(other, seconds=1)
            tried.append(str(other))
        return Output((Text("nothing"),))

    ground.stands_for("shell.bash", does)
    ground.says({"rules": [{"id": "all", "allow": "Bash(*)"}]})
    done = ground.open().call(RawCall("Bash", {"command": "ls"}))
    assert (done.text, len(tried)) == ("nothing", 3)


def test_what_is_found_on_the_way_is_shown_only_where_it_may_be_read(ground) -> None:
    (ground.project / ".env").write_text("KEY=1\n", encoding="utf-8")
    (ground.project / "link").symlink_to(ground.project / ".env")
    (ground.project / "a.txt").write_text("a\n", encoding="utf-8")
    (ground.top / "x").write_text("x\n", encoding="utf-8")  # what is not there would be in the session's own folder
    found: dict[str, bool] = {}

    def does(_call: Any, work: Any) -> Output:
        for path in (ground.project / "a.txt", ground.project / ".env", ground.project / "link", ground.top / "x"):
            found[path.name] = work.may_read(str(path))
        found["nonsense"] = work.may_read("\0") or work.may_read("")
        return Output()

    ground.stands_for("search.grep", does)
    ground.open().call(RawCall("Grep", {"pattern": "x"}))
    assert found == {"a.txt": True, ".env": False, "link": False, "x": False, "nonsense": False}


@pytest.mark.parametrize("agreed", [True, False])
def test_a_tree_that_a_person_agreed_to_is_shown_except_for_what_is_denied(ground, agreed: bool) -> None:
    outside = ground.top / "outside"
    outside.mkdir()
    (ground.top / "b").write_text("b\n", encoding="utf-8")
    found: list[bool] = []

    def does(_call: Any, work: Any) -> Output:
        found.extend(work.may_read(str(path)) for path in (outside / "a", outside / ".env", ground.top / "b"))
        return Output()

    class Person:
        name = "console"

        def ask(self, _question: Any) -> Answer:
            return Answer(agreed, "once", "ann")

    ground.stands_for("search.grep", does)
    done = ground.open(approver=Person()).call(RawCall("Grep", {"pattern": "x", "path": str(outside)}))
    assert done.ran is agreed
    assert found == ([True, False, False] if agreed else [])
