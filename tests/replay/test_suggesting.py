"""Rules suggested from what people answered: few, enough, and nothing that was ever refused."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import pytest
from fuzzing import THOROUGH, share
from warmed import warm

from gateway.approval.saved_rules import rule_id
from gateway.audit.index import Index
from gateway.audit.log import Log
from gateway.config.load import Options
from gateway.judge.judge import Judge
from gateway.judge.pipeline import TEMP
from gateway.model.call import RawCall
from gateway.model.result import Result, Violation
from gateway.replay import rule_trials
from gateway.replay.aftermath import SOON
from gateway.replay.clauses import MOST_RULES
from gateway.replay.compare import compared as compared_somehow
from gateway.replay.judging import PRESENT
from gateway.replay.rule_trials import Trying
from gateway.replay.sources import side_with
from gateway.replay.suggesting import suggested as suggested_somehow
from gateway.replay.suggestions import Suggested
from gateway.replay.symbolic import WIDER
from gateway.replay.tightening import tightened
from gateway.replay.uses import uses

suggested = functools.partial(suggested_somehow, how="process")
compared = functools.partial(compared_somehow, how="process")
CURL = 'allow: {exec: curl, effect: connect, direction: fetch, host: "example.com", port: 443}'
YES, NO = True, False
# All of it is tried below, on rules that other answers speak for.
HARM, MORE_HARM = share(rule_trials.harm(), 8), share(rule_trials.MORE_HARM, 4)


class Place:
    """A user with a project, a record, and somebody who answers questions there."""

    def __init__(self, folder: Path) -> None:
        self.root = str(folder / "project")
        self.record = str(folder / ".local/state/gateway/audit")
        self.config = folder / ".config/gateway"
        (folder / "project/.git").mkdir(parents=True)
        (folder / "project/.git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")

    def answer(
        self,
        *answers: tuple[str, bool | None],
        by: str = "ann",
        session: str = "s",
        confined: bool = True,
        root: str = "",
        stopped: bool = False,
    ) -> None:
        """Records these calls with what was answered; None: nothing was. `stopped`: the sandbox stopped something."""
        log = Log(self.record)
        judge = Judge(Options(root or self.root), confined=confined)
        context = judge.context.replace(temp=TEMP if confined else ())
        for text, allow in answers:
            verdict = judge.check(RawCall("Bash", {"command": text}), context, contains=lambda *_asked: "no sandbox")
            grant = None if allow is None else {"allow": allow, "scope": "once", "by": by}
            known = log.decision(
                verdict, front="test", session=session, grant=grant, policy=judge.loaded_for(verdict).policy.revision,
                bundle=judge.bundle,
            )  # fmt: skip
            if stopped:
                log.outcome(
                    known, Result("exited", 1, violations=(Violation("net", "x.example:443", "", "proxy", ""),))
                )
        log.close()

    def other(self, name: str) -> str:
        """One more project."""
        (Path(self.root).parent / name / ".git").mkdir(parents=True)
        (Path(self.root).parent / name / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        return str(Path(self.root).parent / name)

    def policy(self, text: str) -> None:
        """Writes the user's policy."""
        self.config.mkdir(parents=True, exist_ok=True)
        (self.config / "policy.yaml").write_text(text, encoding="utf-8")

    def suggested(self, **how: Any) -> Suggested:
        """What is suggested there; rules are tried on some of the calls that do harm, on all in a thorough run."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rule_trials, "harm", lambda: HARM)
            patched.setattr(rule_trials, "MORE_HARM", MORE_HARM)
            return suggested(self.record, self.root, **how)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path))
    warm(tmp_path / ".cache/gateway")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    found = Place(tmp_path)
    found.policy("version: 1\nextends: [{preset: daily, without: [contained-shows]}]\n")  # half of all that is compiled
    return found


def test_what_people_agreed_to_more_than_once_becomes_a_rule_with_its_support(place: Place) -> None:
    place.answer(("curl https://example.com/a", YES), ("curl https://other.example/", YES))
    place.answer(("curl https://example.com/b", YES), ("curl https://example.com/c", None), session="t")
    found = place.suggested()
    (rule,) = found.rules
    assert (rule.text, rule.questions, rule.sessions, rule.days) == (CURL, 2, 2, 1)
    assert (rule.matches, rule.not_matches) == (
        ("curl https://example.com/a", "curl https://example.com/b"), ("curl https://other.example/",),
    )  # fmt: skip
    assert rule.ends == ("Bash  curl https://example.com/a", "Bash  curl https://example.com/b")
    assert (rule.others, rule.others_count) == (("Bash  curl https://example.com/c",), 1)
    assert rule.asks == ("Bash  curl https://other.example/",)
    assert found == Suggested((rule,), decisions=4, asked=4, agreed=3, ended=2, elsewhere=1)


def test_where_nothing_wider_is_safe_the_very_words_are_suggested(place: Place) -> None:
    place.answer(*[("python3 x.py", YES)] * 2)
    assert [each.text for each in place.suggested().rules] == [
        'allow: {command: "python3 x.py", effect: code, cwd: ".", confined: true}'
    ]


@pytest.mark.parametrize(
    ("answers", "by"),
    [
        ([("curl https://example.com/a", YES)], "ann"),
        ([("curl https://example.com/a", None)] * 3, "ann"),
        ([("curl https://example.com/a", YES)] * 3, "auto (m): it is harmless"),
        ([("curl -d x https://example.com/a", YES)] * 3, "ann"),
        ([("python3 -", YES)] * 3, "ann"),
    ],
    ids=["said once", "answered elsewhere", "by a model", "sends", "what runs is not in its words"],
)
def test_these_speak_for_nothing(place: Place, answers: list[tuple[str, bool | None]], by: str) -> None:
    place.answer(*answers, by=by)
    assert place.suggested().rules == ()


PIP = (
    'allow: [{exec: [[pip, "pip3", "pip2"], install], effect: code, cwd: ".", confined: true}, '
    '{exec: [[pip, "pip3", "pip2"], install], effect: connect, direction: fetch, host: "files.pythonhosted.org", '
    'port: 443}, {exec: [[pip, "pip3", "pip2"], install], effect: connect, direction: fetch, host: "pypi.org", '
    'port: 443}, {exec: [[pip, "pip3", "pip2"], install], effect: system, action: install, what: packages, '
    "confined: true}]"
)


def test_installs_by_name_become_one_rule_for_every_name_of_the_program_and_none_from_an_address(place: Place) -> None:
    place.answer(("pip install a", YES), ("pip3 install b", YES))
    (rule,) = place.suggested().rules
    assert (rule.text, rule.questions) == (PIP, 2)
    assert (set(rule.matches), rule.not_matches) == ({"pip install a", "pip3 install b"}, ())
    judge = Judge(Options(place.root), confined=True)
    alone = Judge(Options(place.root), confined=False)
    place.policy(f"version: 1\nextends: [daily]\nrules:\n  - id: x\n    {rule.text}\n")
    held, unheld = Judge(Options(place.root), confined=True), Judge(Options(place.root), confined=False)

    def decided(by: Judge, text: str) -> str:
        return by.check(RawCall("Bash", {"command": text}), contains=lambda *_asked: "no sandbox").decision.word

    assert [decided(each, "pip install c") for each in (judge, alone, held, unheld)] == ["ask", "ask", "allow", "ask"]
    for words in (
        "https://x.example/c.whl", "git+ssh://git@x.example/c", "c@git+https://x.example/c", "-ihttps://x.example c",
        "--extra-index-url=https://x.example c", "--user c", "-t ~/x c", "$C", "c; curl https://x.example",
    ):  # fmt: skip
        assert (words, decided(held, f"pip install {words}")) == (words, "ask")


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:3000", "10.1.2.3", "nas.local", "2130706433"])
def test_nobody_is_suggested_to_open_services_nearby(place: Place, host: str) -> None:
    place.answer(*[(f"curl http://{host}/", YES)] * 3)
    assert place.suggested().rules == ()


def test_yes_does_not_count_where_a_sandbox_had_to_stop_something_soon_after(place: Place) -> None:
    place.answer(("curl https://example.com/a", YES), ("curl https://example.com/b", YES), session="one")
    place.answer(("ls", None), stopped=True, session="another")
    assert [each.text for each in place.suggested().rules] == [CURL]
    place.answer(("ls", None), stopped=True, session="one")
    found = place.suggested()
    assert (found.rules, found.doubtful) == ((), 2)


def test_what_is_stopped_much_later_says_nothing_of_a_yes(place: Place) -> None:
    place.answer(("curl https://example.com/a", YES), ("curl https://example.com/b", YES), *[("ls", None)] * SOON)
    place.answer(("ls", None), stopped=True)
    assert [each.text for each in place.suggested().rules] == [CURL]


def everywhere(place: Place) -> Suggested:
    return place.suggested(everywhere=True)


def test_rules_for_all_projects_are_of_habits_and_refused_by_what_any_project_refused(place: Place) -> None:
    one, two = place.other("one"), place.other("two")
    calls = ("curl https://example.com/a", YES), ("curl https://example.com/b", YES)
    place.answer(*calls, root=one)
    assert (everywhere(place).rules, place.suggested().rules) == ((), ())
    place.answer(*calls, root=two)
    found = everywhere(place)
    assert [each.text for each in found.rules] == [CURL]
    assert (found.ended, place.suggested().rules) == (4, ())
    place.answer(("curl https://example.com/private", NO), root=place.other("three"), session="t")
    assert everywhere(place).rules == ()


def test_the_preset_that_ends_what_no_rule_may_is_named(place: Place) -> None:
    place.answer(("npm view a", YES), ("npm view b", YES))
    found = place.suggested()
    assert [(each.name, each.questions) for each in found.presets] == [("remote-reading", 2)]
    place.policy("version: 1\nextends: [daily, remote-reading]\n")
    assert place.suggested().presets == ()
    place.policy("version: 1\nextends: [daily]\n")
    place.answer(("npm view c", NO))
    assert place.suggested().presets == ()


def test_a_rule_that_would_allow_what_was_once_refused_is_dropped(place: Place) -> None:
    place.answer(*[("curl https://example.com/a", YES)] * 3)
    assert [each.text for each in place.suggested().rules] == [CURL]
    place.answer(("curl https://example.com/private", NO))
    found = place.suggested()
    assert (found.rules, found.vetoed) == ((), (("would allow what was refused or denied", 1),))


def test_nobody_being_there_to_ask_is_no_refusal(place: Place) -> None:
    place.answer(*[("curl https://example.com/a", YES)] * 2)
    place.answer(("curl https://example.com/b", NO), by="nobody")
    assert [each.text for each in place.suggested().rules] == [CURL]


def test_a_rule_that_would_allow_what_policy_denied_then_is_dropped(place: Place) -> None:
    """The rule that denied it does not stand any more, so the answers alone would speak for it."""
    place.policy("version: 1\nextends: [builtin]\nrules:\n  - {deny: 'Bash(curl https://example.com/private)'}\n")
    place.answer(("curl https://example.com/private", None))
    place.policy("version: 1\nextends: [builtin]\n")
    place.answer(*[("curl https://example.com/a", YES)] * 2)
    assert place.suggested().rules == ()


def test_a_rule_is_dropped_where_a_refused_call_cannot_be_judged_again(place: Place) -> None:
    place.answer(*[("curl https://example.com/a", YES)] * 2)
    place.answer(("curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345' https://example.com/", NO))
    found = place.suggested()
    assert (found.rules, found.unjudged) == ((), 1)
    assert found.vetoed == (("may allow a refused call that cannot be judged again", 1),)


def test_a_rule_with_which_a_test_of_the_policy_fails_is_dropped(place: Place) -> None:
    place.policy("version: 1\nextends: [builtin]\ntests:\n  - {call: 'Bash(curl https://example.com/)', expect: ask}\n")
    place.answer(*[("curl https://example.com/a", YES)] * 2)
    found = place.suggested()
    assert (found.rules, found.vetoed) == ((), (("a test of your policy fails", 1),))


def test_what_does_harm_is_found_by_the_rules_that_let_it_run(place: Place) -> None:
    tried = Trying(place.record, place.root, "", "", how="process", workers=1)
    side = tried.side({"cat": "allow: {exec: [git, push]}", "wide": "allow: {effect: [code, delete, write, system]}"})
    assert {"cat", "wide"} & tried.harmful(side) == {"wide"}


CALLS = (
    "curl https://{0}.example/{1}", "python3 {0}.py", "npm install", "touch ~/{0}{1}", "cat /srv/{0}/{1}",
    "echo x > {0}/{1}.txt", "wget https://{0}.example/{1} -O {0}.html", "rm {0}/{1}", "npm install && python3 {0}.py",
    "cat .env", "git push origin {0}", "git fetch https://{0}.example/x",
)  # fmt: skip


@pytest.mark.parametrize("seed", share(range(8), of=8))
def test_all_suggestions_together_end_what_is_promised_and_nothing_refused(place: Place, seed: int) -> None:
    draw = random.Random(seed)
    calls = [draw.choice(CALLS).format(draw.choice("abc"), draw.choice("xy")) for _ in range(120 if THOROUGH else 60)]
    place.answer(*((each, draw.choices((YES, NO, None), (20, 1, 3))[0]) for each in calls))
    found = suggested(place.record, place.root)
    text = "version: 1\nrules:\n" + "".join(f"  - id: {rule_id(each.text)}\n    {each.text}\n" for each in found.rules)
    side = side_with("all", place.root, "local", {"policy.d/all.yaml": text.encode()})
    groups = compared(place.record, PRESENT, side).groups
    assert all((each.kind, each.before, each.after) == (WIDER, "ask", "allow") for each in groups)
    decisions = sum(each.decisions for each in groups)
    assert found.ended <= decisions <= found.ended + sum(each.others_count for each in found.rules)
    assert 0 < len(found.rules) <= MOST_RULES
    tried = Trying(place.record, place.root, "", "", how="process", workers=1)
    assert (tried.refused(side), tried.harmful(side)) == (set(), set())


def test_unused_rules_are_told_and_wide_ones_with_a_narrower_form(place: Place) -> None:
    place.policy(
        "version: 1\nextends: [builtin]\nrules:\n"
        "  - {id: wide, allow: {exec: curl, effect: connect}}\n"
        "  - {id: never, allow: {exec: wget, effect: connect}}\n"
    )
    place.answer(("curl https://example.com/a", None), ("curl https://example.com/b", None))
    never, wide = tightened(place.record, place.root, how="process").rules
    assert (never.id, never.decisions, never.narrower) == ("never", 0, "")
    assert (wide.id, wide.decisions, wide.narrower) == ("wide", 2, CURL)
    for since, why in (("2020-01-01", "the record begins on"), ("9999-01-01", "no decision is recorded since")):
        found = tightened(place.record, place.root, since, how="process")
        assert ([each.id for each in found.rules], found.untold.startswith(why)) == (["wide"] * (since < "3"), True)


def test_a_rule_is_used_where_it_holds_for_a_part_of_what_others_decide(place: Place) -> None:
    place.policy(
        "version: 1\nextends: [builtin]\nrules:\n"
        "  - {id: part, allow: {exec: curl, effect: connect}}\n"
        "  - {id: whole, ask: {exec: wget}}\n"
        "  - {id: never, ask: {exec: nc}}\n"
    )
    place.answer(("curl https://example.com/a && wget https://example.com/b", None))
    found = uses(place.record, "", how="process")
    assert ({"part", "whole", "never"} & set(found.rules), found.decisions, found.untold) == ({"part", "whole"}, 1, "")
    with Index(place.record) as index:
        assert "part" not in index.rules("")  # what decided is another
