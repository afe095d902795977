"""From an ask to a run: what is remembered, what is saved, and what happens when something changes meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmed import warm

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.approval.asking import MAX_ROUNDS, Asking, Judgement, together
from gateway.approval.base import Answer, no
from gateway.approval.callback import Callback
from gateway.approval.grants import Grants
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.decision import Decision
from gateway.model.result import Result

from .conftest import ALWAYS, ONCE, SESSION, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

ASK_MAKE = {"user": [{"id": "ask-make", "ask": "Bash(make *)"}]}


def approve(asking: Asking, judgement: Judgement, *again: Judgement) -> Any:
    later = list(again)
    return asking.approve(judgement, lambda: later.pop(0) if later else judgement)


def test_a_yes_is_bound_to_call_effects_policy_and_rule(judged) -> None:
    asked = judged("make a", ASK_MAKE)
    found = approve(Asking([Scripted(ONCE)]), asked)
    expected = asked.identity().replace(allow=True, scope="once", by="ann")
    assert (found.judgement, found.grant, found.refusal) == (asked, expected, "")
    assert (expected.exact, expected.revision) == (True, asked.judge.loaded.policy.revision)
    assert [rule[:2] for rule in expected.rules] == [("ask-make", "user.yaml")]


@pytest.mark.parametrize(
    ("layers", "session", "may"),
    [
        pytest.param(None, True, ("once", "session", "always"), id="the mode asks"),
        pytest.param(None, False, ("once", "always"), id="the mode asks where there is no session"),
        pytest.param(ASK_MAKE, True, ("once", "session"), id="a rule asks"),
        pytest.param(ASK_MAKE, False, ("once",), id="a rule asks where there is no session"),
    ],
)
def test_the_question_says_what_may_be_answered(judged, layers: Any, session: bool, may: tuple[str, ...]) -> None:
    approver = Scripted(no("ann"))
    approve(Asking([approver], Grants() if session else None), judged("make a", layers))
    (question,) = approver.questions
    assert question.may == may
    assert (question.always != "", question.file != "") == ("always" in may, "always" in may)


def test_a_yes_for_the_session_answers_the_same_effects_and_nothing_else(judged) -> None:
    approver = Scripted(SESSION, no("ann"), no("ann"))
    asking = Asking([approver], Grants())
    refusals = [
        approve(asking, judged(call)).refusal for call in ("mkdir a", "mkdir a", "mkdir b", "mkdir a && mkdir c")
    ]
    assert refusals == ["", "", "It was not approved.", "It was not approved."]
    assert len(approver.questions) == 3


def test_a_no_for_the_session_is_not_asked_again(judged) -> None:
    approver = Scripted(no("ann", scope="session"))
    asking = Asking([approver], Grants())
    refusals = [approve(asking, judged("mkdir a")).refusal for _ in range(3)]
    assert refusals == ["It was not approved.", *["It was refused before, for this session."] * 2]
    assert len(approver.questions) == 1


def test_a_yes_for_two_uses_is_asked_again_after_the_second(judged) -> None:
    approver = Scripted(SESSION.replace(uses=2), no("ann"))
    asking = Asking([approver], Grants())
    assert [approve(asking, judged("mkdir a")).refusal for _ in range(3)] == ["", "", "It was not approved."]


def test_a_yes_for_a_time_that_is_over_is_a_no(judged) -> None:
    grants = Grants()
    found = approve(Asking([Scripted(SESSION.replace(until=1.0))], grants), judged("mkdir a"))
    assert (found.refusal, len(grants)) == ("It was approved for a time that is over.", 0)


def test_once_is_once(judged) -> None:
    approver = Scripted(ONCE, no("ann"))
    asking = Asking([approver], Grants())
    assert [approve(asking, judged("mkdir a")).refusal for _ in range(2)] == ["", "It was not approved."]


def test_a_grant_does_not_outlive_its_policy(judged) -> None:
    approver = Scripted(SESSION, no("ann"))
    asking = Asking([approver], Grants())
    other = judged("mkdir a", {"user": [{"id": "x", "deny": "Bash(rm *)"}]})
    assert [approve(asking, each).refusal for each in (judged("mkdir a"), other)] == ["", "It was not approved."]


def test_what_changed_while_it_was_asked_is_asked_again(judged) -> None:
    approver = Scripted(ONCE, ONCE)
    now = judged("mkdir a", {"user": [{"id": "x", "deny": "Bash(rm *)"}]})
    first = judged("mkdir a")
    found = approve(Asking([approver]), first, now, now)
    assert (found.judgement, found.refusal) == (now, "")
    assert [question.verdict for question in approver.questions] == [first.verdict, now.verdict]


def test_what_changes_each_time_is_refused(judged) -> None:
    approver = Scripted(*[ONCE] * MAX_ROUNDS)
    found = approve(Asking([approver]), judged("mkdir a"), *[judged(f"mkdir a{n}") for n in range(MAX_ROUNDS)])
    assert found.refusal == "What it would do was another each time that it was asked about."


def test_what_policy_denies_by_the_time_of_the_answer_does_not_run(judged) -> None:
    denied = judged("mkdir a", {"user": [{"id": "x", "deny": "Bash(mkdir *)"}]})
    found = approve(Asking([Scripted(ONCE)], Grants()), judged("mkdir a"), denied)
    assert (found.grant, found.refusal) == (None, "It was approved, but policy refuses it by now.")


def test_what_policy_allows_by_the_time_of_the_answer_runs_by_policy(judged) -> None:
    allowed = judged("mkdir a", {"user": [{"id": "x", "allow": "Bash(mkdir *)"}]})
    found = approve(Asking([Scripted(ONCE)]), judged("mkdir a"), allowed)
    assert (found.judgement, found.grant, found.refusal) == (allowed, None, "")


@pytest.mark.parametrize(
    ("setting", "asked", "refusal"),
    [
        pytest.param(None, ["console"], "", id="no setting: in the order that they are given"),
        pytest.param(["remote", "console"], ["remote"], "", id="the setting's order"),
        pytest.param(["auto", "console"], ["console"], "", id="one that is not there"),
        pytest.param(["console", "refuse"], ["console"], "", id="refuse stands last"),
        pytest.param(["refuse", "console"], [], "There is nobody to ask, so it is refused: ", id="refuse stands first"),
        pytest.param(["auto"], [], "There is nobody to ask, so it is refused: ", id="nobody of these is there"),
    ],
)
def test_policy_says_who_is_asked(judged, setting: list[str] | None, asked: list[str], refusal: str) -> None:
    layers = {"user": {"settings": {"approvers": setting}}} if setting else None
    approvers = [Scripted(ONCE, name="console"), Scripted(ONCE, name="remote")]
    found = approve(Asking(approvers), judged("mkdir a", layers))
    assert ([each.name for each in approvers if each.questions], found.refusal[: len(refusal)]) == (asked, refusal)
    assert bool(found.refusal) is not bool(asked)


def test_the_next_one_is_asked_where_nobody_is_there(judged) -> None:
    approvers = [Scripted(None), Scripted(ONCE, name="remote")]
    found = approve(Asking(approvers), judged("mkdir a"))
    assert (found.refusal, len(approvers[0].questions), len(approvers[1].questions)) == ("", 1, 1)


def test_with_nobody_to_ask_it_is_refused(judged) -> None:
    assert approve(Asking([]), judged("mkdir a")).refusal == "There is nobody to ask, so it is refused."


answers = st.one_of(
    st.none(),
    st.booleans(),
    st.builds(
        Answer,
        st.booleans(),
        st.sampled_from(["once", "session", "always", "forever", ""]),
        st.just("ann"),
        st.sampled_from(["", "allow: Bash"]),
        st.sampled_from([0, 1, 2, -1]),
        st.sampled_from([0.0, 1.0, 1e12]),
    ),
)
LAYERS: list[Any] = [
    None,
    ASK_MAKE,
    {"user": [{"id": "no-make", "deny": "Bash(make *)"}]},
    {"enterprise": [{"id": "locked", "ask": "Bash(mkdir *)", "lock": True}]},
    {"user": [{"id": "free", "allow": "Bash(mkdir *)"}]},
]
COMMANDS = ["make a", "mkdir a", "cat .env", "rm -rf /", "cat $X", "mkdir a; make b"]


@given(data=st.data())
def test_no_answer_lets_run_what_policy_denies_or_what_was_not_asked_about(judged, data: Any) -> None:
    grants = Grants()
    approver = Scripted()
    asking = Asking([approver], grants)
    for _ in range(data.draw(st.integers(1, 4))):
        pick = st.builds(judged, st.sampled_from(COMMANDS), st.sampled_from(LAYERS))
        first = data.draw(pick)
        if first.verdict.decision is not Decision.ASK:
            continue
        later = data.draw(st.lists(st.one_of(st.just(first), pick), min_size=MAX_ROUNDS, max_size=MAX_ROUNDS))
        approver.answers = data.draw(st.lists(answers, min_size=MAX_ROUNDS, max_size=MAX_ROUNDS))
        approver.questions.clear()
        found = approve(asking, first, *later)
        if found.refusal:
            continue
        verdict = found.judgement.verdict
        assert verdict.decision is not Decision.DENY
        if verdict.decision is Decision.ASK:
            assert found.grant is not None
            assert found.grant.allow
            asked = found.judgement.identity()
            assert (found.grant.effects, found.grant.revision, found.grant.rules) == (
                asked.effects,
                asked.revision,
                asked.rules,
            )
            locked = any(o.reason.rule.lock for o in verdict.outcomes if o.decision is Decision.ASK)
            assert found.grant.scope == "once" or not locked


class Recorder:
    """A runner that runs nothing and keeps the plans."""

    def __init__(self) -> None:
        self.plans: list[Any] = []

    def run(self, plan: Any, _command: Any, _protection: Any, **_how: Any) -> Result:
        self.plans.append(plan)
        return Result("exited", 0)

    def close(self) -> None:
        """Holds nothing."""


OPEN: list[Executor] = []


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Places]:
    (tmp_path / "home" / "project" / ".git").mkdir(parents=True)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text("version: 1\n", encoding="utf-8")
    warm(tmp_path / "cache")
    names = ("enterprise", "config", "state", "cache", "home")
    yield Places(*(str(tmp_path / name) for name in names))
    while OPEN:
        OPEN.pop().close()


def executor(place: Places, approver: Any, grants: Grants | None = None) -> tuple[Executor, Recorder]:
    runner = Recorder()
    gateway = Gateway(Options(cwd=f"{place.home}/project", root=f"{place.home}/project"), where=place)
    OPEN.append(Executor(gateway, approver=approver, grants=grants, runner=runner))  # type: ignore[arg-type]
    return OPEN[-1], runner


def test_what_runs_is_what_was_shown(place: Places) -> None:
    approver = Scripted(ONCE)
    guard, runner = executor(place, approver)
    done = guard.run("mkdir a")
    assert (done.result.status, done.grant.by if done.grant else "") == (0, "ann")
    assert runner.plans == [approver.questions[0].plan] == [done.plan]


def test_what_is_not_approved_does_not_run(place: Places) -> None:
    guard, runner = executor(place, Callback(lambda _question: False))
    done = guard.run("mkdir a")
    assert (done.result.ended, done.result.status, runner.plans) == ("refused", 126, [])
    assert done.result.reason.endswith("It was not approved.")


def test_a_denied_call_is_not_even_asked_about(place: Places) -> None:
    approver = Scripted(ONCE)
    guard, runner = executor(place, approver)
    assert (guard.run("rm -rf /").result.status, approver.questions, runner.plans) == (126, [], [])


def test_a_policy_that_changes_while_it_is_asked_counts(place: Places) -> None:
    def tighten(_question: Any) -> bool:
        text = 'version: 1\ndeny: ["Bash(mkdir *)"]\n'
        (Path(place.config) / "policy.yaml").write_text(text, encoding="utf-8")
        return True

    guard, runner = executor(place, Callback(tighten))
    done = guard.run("mkdir a")
    assert (done.result.ended, runner.plans) == ("refused", [])
    assert done.result.reason.endswith("It was approved, but policy refuses it by now.")


def test_an_unrelated_change_of_policy_is_asked_about_once_more(place: Places) -> None:
    def change(_question: Any) -> Answer:
        (Path(place.config) / "policy.yaml").write_text('version: 1\ndeny: ["Bash(foo *)"]\n', encoding="utf-8")
        return ONCE

    approver = Scripted(change, ONCE)
    guard, runner = executor(place, approver)
    assert (guard.run("mkdir a").result.status, len(approver.questions), len(runner.plans)) == (0, 2, 1)


def test_a_file_that_turns_into_a_link_while_it_is_asked_is_asked_about_again(place: Places) -> None:
    def swap(_question: Any) -> Answer:
        (Path(place.home) / "project" / "a").symlink_to(place.home + "/elsewhere")
        return ONCE

    approver = Scripted(swap, no("ann"))
    guard, runner = executor(place, approver)
    assert (guard.run("touch a").result.ended, runner.plans) == ("refused", [])
    shown = [
        [item.effect.real for item in q.verdict.analysis.items if item.effect.kind == "write"]
        for q in approver.questions
    ]  # type: ignore[attr-defined]
    assert shown == [[""], [f"{place.home}/elsewhere"]]


CONTENTS = [
    # what runs, what changes while it is asked about, and how often it is asked
    ("bash x.sh", "x.sh", 2),
    ("bash ./sub/x.sh", "sub/x.sh", 2),
    ("./x.sh", "x.sh", 2),
    ("frob --run=x.sh", "x.sh", 2),
    ("npm test", "package.json", 2),
    ("cd sub && npm test", "package.json", 2),
    ("npm --prefix sub test", "sub/package.json", 2),
    ("make all", "Makefile", 2),
    ("tox", "tox.ini", 2),
    ("bash x.sh", "notes.txt", 1),
    ("mkdir b", "package.json", 1),
]


@pytest.mark.parametrize(("text", "name", "asked"), CONTENTS)
def test_a_yes_is_to_what_scripts_and_manifests_said_when_it_was_asked(
    place: Places, text: str, name: str, asked: int
) -> None:
    project = Path(place.home) / "project"
    (project / "sub").mkdir()
    for each in ("x.sh", "sub/x.sh", "package.json", "sub/package.json", "Makefile", "tox.ini", "notes.txt"):
        (project / each).write_text("first\n", encoding="utf-8")
        (project / each).chmod(0o755)

    def change(_question: Any) -> Answer:
        (project / name).write_text("other\n", encoding="utf-8")
        return ONCE

    approver = Scripted(change, no("ann"))
    guard, runner = executor(place, approver)
    done = guard.run(text)
    assert (len(approver.questions), len(runner.plans)) == (asked, 0 if asked > 1 else 1), done.result.reason


def test_a_yes_for_the_session_stays_one_when_a_script_is_edited(place: Places) -> None:
    script = Path(place.home) / "project/x.sh"
    script.write_text("first\n", encoding="utf-8")
    approver = Scripted(SESSION)
    guard, runner = executor(place, approver, Grants())
    guard.run("bash x.sh")
    script.write_text("second\n", encoding="utf-8")
    guard.run("bash x.sh")
    assert (len(approver.questions), len(runner.plans)) == (1, 2)


def test_always_saves_the_rule_that_was_shown_and_the_call_is_not_asked_about_again(place: Places) -> None:
    approver = Scripted(ALWAYS, no("ann"))
    guard, runner = executor(place, approver)
    first, second, other = guard.run("mkdir a"), guard.run("mkdir a"), guard.run("mkdir b")
    assert [each.result.status for each in (first, second, other)] == [0, 0, 126]
    assert first.grant is not None
    assert first.grant.saved == approver.questions[0].always
    assert first.grant.saved in Path(approver.questions[0].file).read_text(encoding="utf-8")
    assert second.verdict.reason.rule.source.file == approver.questions[0].file
    assert (second.grant, len(runner.plans)) == (None, 2)
    # another process knows it too
    again, runner = executor(place, ())
    assert (again.run("mkdir a").result.status, again.run("mkdir b").result.status) == (0, 126)


def test_what_cannot_be_saved_does_not_run(place: Places) -> None:
    def block(_question: Any) -> Answer:
        (Path(place.state)).write_text("in the way", encoding="utf-8")
        return ALWAYS

    guard, runner = executor(place, Scripted(block))
    done = guard.run("mkdir a")
    assert (done.result.ended, runner.plans) == ("refused", [])
    assert "It was approved for good, but that cannot be kept" in done.result.reason


def test_a_session_remembers_over_calls(place: Places) -> None:
    approver = Scripted(SESSION)
    guard, runner = executor(place, approver, Grants())
    assert [guard.run("mkdir a").result.status for _ in range(3)] == [0, 0, 0]
    assert (len(approver.questions), len(runner.plans)) == (1, 3)


def test_policy_that_lets_nobody_be_asked_holds_for_the_library_too(place: Places) -> None:
    text = "version: 1\nsettings: {approvers: [refuse]}\n"
    (Path(place.config) / "policy.yaml").write_text(text, encoding="utf-8")
    approver = Scripted(ONCE)
    guard, runner = executor(place, approver)
    done = guard.run("mkdir a")
    assert (done.result.ended, approver.questions, runner.plans) == ("refused", [], [])
    assert done.result.reason.endswith("There is nobody to ask, so it is refused: policy lets only refuse be asked.")


# ------------------------------------------------------------------------------------------------------- from elsewhere


class Afar(Scripted):
    """Asks people elsewhere, and here at the same time where somebody is."""

    counts_people = True

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers, name="remote")

    def beside(self, here: Any) -> Any:
        return Scripted(*self.answers, name=f"{here.name} and {self.name}")


def settings(**remote: Any) -> dict[str, Any]:
    return {"user": {"settings": {"remote": remote}, "rules": []}}


def test_who_is_here_and_who_is_elsewhere_are_asked_at_once_where_they_follow_each_other():
    here, there, mcp = Scripted(), Afar(), Scripted(name="mcp")
    both = "console and remote"
    for asked, names in (
        ([here], ["console"]), ([there], ["remote"]), ([here, there], [both]), ([there, here], [both]), ([], []),
        ([here, mcp, there], ["console", "mcp", "remote"]), ([mcp, here, there], ["mcp", both]),
    ):  # fmt: skip
        assert [each.name for each in together(asked)] == names


@pytest.mark.parametrize("wanted", [{"people": 2}, {"requester": False}])
def test_where_others_must_agree_nobody_else_is_asked(judged, wanted: dict[str, Any]) -> None:
    asked = judged("make a", settings(**wanted))
    here, imposter, there = Scripted(ONCE), Scripted(ONCE, name="remote"), Afar(ONCE)
    assert approve(Asking([here, imposter]), asked).refusal.startswith(
        "There is nobody to ask, so it is refused: policy"
    )
    assert approve(Asking([here, imposter, there], Grants()), asked).refusal == ""
    assert (here.questions, imposter.questions) == ([], [])
    (question,) = there.questions
    assert (question.may, question.always, question.seconds) == (("once",), "", 600.0)


def test_a_setting_that_wants_nobody_else_leaves_the_question_as_it_is(judged) -> None:
    approver = Scripted(no("ann"))
    approve(Asking([approver], Grants()), judged("make a", settings(origin="https://gateway.example.com", seconds=120)))
    (question,) = approver.questions
    assert (question.may, question.people, question.not_by, question.seconds) == (
        ("once", "session", "always"), 1, "", 120.0,
    )  # fmt: skip
