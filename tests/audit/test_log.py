"""What is written of a call, field by field, and which calls may run when nothing can be written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from gateway.audit import calls, entries
from gateway.audit.log import WITHOUT_EFFECT, Log, log_of
from gateway.audit.redact import Redactor
from gateway.audit.verify import verify
from gateway.config.layers import Setting
from gateway.core.errors import AuditError
from gateway.model.call import RawCall
from gateway.model.effect import KINDS
from gateway.model.limits import Limits
from gateway.model.plan import Network, SandboxPlan
from gateway.model.record import DecisionRecord, MarkRecord, OutcomeRecord
from gateway.model.result import Result, Violation
from gateway.policy.unjudged import INVALID, built_in, unjudged

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.model.verdict import Verdict

PLAN = SandboxPlan((), (), (), "/", (("SECRET", "value"),), Network("listed"), Limits())
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def judge(guard):
    """The verdict on a call in the frozen project."""
    known = guard({"user": [{"id": "no-curl", "deny": "Bash(curl *)"}]})

    def judged(text: str, tool: str = "Bash", **fields: object) -> Verdict:
        return known.check(RawCall(tool, fields or {"command": text}))

    return judged


@pytest.fixture
def log(place):
    made = Log(place.path, redactor=Redactor(lambda tool: ("content",) if tool == "Write" else ()))
    yield made
    made.close()


def test_a_decision_says_what_was_decided_on_what_by_which_rule(place, log, judge) -> None:
    grant = {"allow": True, "scope": "once", "by": "somebody"}
    known = log.decision(
        judge("ls src > out"), front="exec", session="s1", plan=PLAN, grant=grant, policy="the revision"
    )
    (line,) = place.lines()
    found = entries.value_of(line)
    assert isinstance(found, DecisionRecord)
    assert AT.fullmatch(found.at)
    assert re.fullmatch(r"[0-9a-f]{12}-1", known)
    assert re.fullmatch(r"[0-9a-f]{32}", found.call)
    assert re.fullmatch(r"[0-9a-f]{32}", found.plan)
    assert found == DecisionRecord(
        number=1,
        id=known,
        at=found.at,
        front="exec",
        tool="Bash",
        input=dict(judge("ls src > out").call.input),
        decision="ask",
        rule=("mode:default", "builtin", "", 0),
        reason="mode",
        effects=(
            ("use", "Bash"),
            ("exec", "ls src"),
            ("list", "/home/dev/project/src"),
            ("write", "/home/dev/project/out"),
        ),
        call=found.call,
        cwd="/home/dev/project",
        mode="default",
        session="s1",
        plan=found.plan,
        network="listed",
        policy="the revision",
        grant=grant,
        seen=found.seen,
    )
    assert [type(each) for each in found.seen] == [str, str, float]


def test_the_rule_of_a_file_stands_with_layer_file_and_line(place, log, judge) -> None:
    log.decision(judge("curl x"), front="exec")
    (line,) = place.lines()
    assert (line["decision"], line["rule"]) == ("deny", ["no-curl", "user", "user.yaml", 1])


def test_an_outcome_has_the_id_of_its_decision(place, log, judge) -> None:
    known = log.decision(judge("ls"), front="exec")
    violation = Violation("net", "example.com:443", "r1", "proxy", "hint", count=3)
    result = Result(
        "exited", 3, b"12345", b"1", (10, 0), "some reason", (violation,), "bubblewrap", ("this",), 0.25, "/x"
    )
    log.outcome(known, result)
    found = entries.value_of(place.lines()[1])
    assert found == OutcomeRecord(
        number=2,
        id=known,
        at=found.at,
        ended="exited",
        status=3,
        seconds=0.25,
        output=(15, 1),
        reason="some reason",
        violations=(("net", "example.com:443", "r1", "proxy", 3),),
        hints=("hint",),
        backend="bubblewrap",
        degraded=("this",),
    )


def test_a_mark_reads_back_as_one() -> None:
    line = {"n": 4, "prev": "x", "kind": "mark", "at": "then", "mark": "torn", "bytes": 3, "digest": "d", "new": 1}
    assert entries.value_of(line) == MarkRecord(4, "then", "torn", 3, "d")


@pytest.mark.parametrize("line", [{"n": 1, "kind": "other"}, {"n": 1, "kind": "outcome"}, {"kind": "mark"}])
def test_a_line_that_is_no_record_is_refused(line: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a record must"):
        entries.value_of(line)


@pytest.mark.parametrize(
    ("tool", "fields", "kept"),
    [
        ("Bash", {"command": "curl -u bob:hunter2 https://x.org"}, {"command": "curl -u bob:[redacted:value] https://x.org"}),
        ("Bash", {"command": "echo 'a'hunter2 | pass:hunter2"}, None),
        ("Write", {"file_path": "/home/dev/project/a", "content": "hunter2"}, None),
        ("mcp__x__y", {"password": "hunter2"}, {"password": "[redacted:value]"}),
        ("mcp__x__y", {"deep": [{"url": "https://u:hunter2@x"}]}, {"deep": [{"url": "https://u:[redacted:value]@x"}]}),
    ],
    ids=["a user's", "words", "content", "a field", "a deep one"],
)  # fmt: skip
def test_no_secret_reaches_the_disk(place, judge, tool, fields, kept) -> None:
    log = Log(
        place.path, redactor=Redactor(lambda name: ("content",) if name == "Write" else (), {"MY_TOKEN": "'a'hunter2"})
    )
    log.decision(judge("", tool, **fields), front="exec")
    log.close()
    (line,) = place.lines()
    assert b"hunter2" not in b"".join(each.read_bytes() for each in place.folder.iterdir())
    if kept is not None:
        assert {name: line["input"][name] for name in kept} == kept


def test_without_the_redactor_the_same_secret_would_be_there(place, judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redactor, "is_clean", lambda *_given, **_how: True)
    monkeypatch.setattr(Redactor, "has_secret_names", lambda *_given: False)
    log = Log(place.path)
    log.decision(judge("myprog bob:hunter2 https://bob:hunter2@x.org"), front="exec")
    log.close()
    assert b"hunter2" in place.files[0].read_bytes()


def test_secrets_in_effects_reasons_and_violations_are_replaced_too(place, log, judge) -> None:
    known = log.decision(judge("cat 'https://u:hunter2@x' \"$X\""), front="exec")
    violation = Violation("net", "https://u:hunter2@x", "", "proxy", "hint")
    log.outcome(known, Result("exited", 1, reason="TOKEN=hunter2", violations=(violation,)))
    assert b"hunter2" not in place.files[0].read_bytes()
    effects = place.lines()[0]["effects"]
    assert ["read", "?"] in effects


def test_equal_calls_have_equal_digests_and_another_record_has_others(place, log, judge, tmp_path: Path) -> None:
    for _ in range(2):
        log.decision(judge("ls"), front="exec")
    log.decision(judge("ls -a"), front="exec")
    one, same, another = (line["call"] for line in place.lines())
    assert one == same != another
    other = Log(str(tmp_path / "other" / "audit"))
    other.decision(judge("ls"), front="exec")
    other.close()
    line = json.loads((tmp_path / "other" / "audit" / "000001.jsonl").read_bytes())
    assert line["call"] != one


def test_a_call_with_very_much_of_everything_stays_one_bounded_line(place, log, judge) -> None:
    log.decision(judge("cat " + " ".join(f"f{number}" for number in range(3000))), front="exec")
    log.decision(judge("", "mcp__x__y", **{f"field{number}": "x" * 3000 for number in range(100)}), front="exec")
    first, second = place.files[0].read_bytes().splitlines()
    assert len(first) < 60_000
    assert len(second) < 60_000
    assert (len(place.lines()[0]["effects"]), place.lines()[0]["more"]) == (64, 2938)
    assert verify(place.path).broken is None


def test_a_line_is_ascii_whatever_it_holds(place, log, judge) -> None:
    log.decision(judge("echo 'é \u2028 \x1b[31m'"), front="exec")
    assert place.files[0].read_bytes().isascii()
    assert place.lines()[0]["input"]["command"] == "echo 'é \u2028 \x1b[31m'"


@pytest.mark.parametrize(
    ("text", "required", "needed"),
    [
        ("ls src; cat README.md | head -1", "effects", False),
        ("true", "effects", False),
        ("cat x > y", "effects", True),
        ("rm x", "effects", True),
        ("curl x", "effects", True),
        ("npm test", "effects", True),
        ("$X", "effects", True),
        ("git push", "effects", True),
        ("echo $AWS_SECRET_ACCESS_KEY", "effects", True),
        ("ls src", "all", True),
        ("rm x", "nothing", False),
    ],
)
def test_which_calls_need_a_record(place, judge, text: str, required: str, needed: bool) -> None:
    assert Log(place.path, required=required).is_needed(judge(text)) is needed


def test_every_kind_of_effect_was_thought_of() -> None:
    assert set(KINDS) - WITHOUT_EFFECT == {
        "code", "opaque", "write", "delete", "connect", "push", "credential", "env", "process", "system",
    }  # fmt: skip


def test_where_nothing_can_be_written_a_call_with_effects_may_not_run(tmp_path: Path, judge) -> None:
    (tmp_path / "file").write_text("")
    log = Log(str(tmp_path / "file" / "gateway" / "audit"))
    with pytest.raises(AuditError):
        log.decision(judge("rm x"), front="exec")
    refused = calls.decided(log, judge("rm x"), front="exec")
    read = calls.decided(log, judge("ls"), front="exec")
    assert (refused.id, refused.may_run, read.id, read.may_run) == ("", False, "", True)
    result = calls.ended(log, read, judge("ls"), Result("exited", 0, b"out"))
    assert (result.stdout, result.status) == (b"out", 0)
    assert result.reason.startswith("This call is not recorded: the record in ")


def test_an_outcome_that_cannot_be_written_is_told_and_the_result_stays(log, judge, monkeypatch) -> None:
    recorded = calls.decided(log, judge("ls"), front="exec")

    def fails(*_given: object) -> None:
        raise AuditError("the disk is full", "make room")

    monkeypatch.setattr(log, "outcome", fails)
    result = calls.ended(log, recorded, judge("ls"), Result("exited", 7, reason="it said so."))
    assert result == Result(
        "exited", 7, reason="it said so. What became of this call is not recorded: the disk is full; make room."
    )


def test_what_is_denied_has_no_outcome(place, log, judge) -> None:
    denied = judge("curl x")
    recorded = calls.decided(log, denied, front="exec")
    calls.ended(log, recorded, denied, Result("refused", 126))
    assert [line["kind"] for line in place.lines()] == ["decision"]


def test_the_record_is_kept_as_the_settings_say(tmp_path: Path) -> None:
    settings = {
        "audit": Setting({"sync": True, "file_mb": 3, "keep": 0, "required": "all"}, "f", "user"),
        "sandbox": Setting({"inject": [{"host": "a", "header": "b", "source": "env:PLAIN"}]}, "f", "user"),
    }
    log = log_of(str(tmp_path), settings, environment={"PLAIN": "a plain value"})
    store = log._store
    assert (log.folder, log.required) == (str(tmp_path / "audit"), "all")
    assert (store._sync, store._most, store._keep) == (True, 3 << 20, 0)
    assert log._redactor.text("is a plain value") == ("is [redacted:environment]", ["a plain value"])
    usual = log_of(str(tmp_path), {})
    assert (usual.required, usual._store._sync, usual._store._most, usual._store._keep) == (
        "effects", False, 64 << 20, 16,
    )  # fmt: skip


@pytest.mark.parametrize(("number", "told"), [(float("nan"), "nan"), (float("inf"), "inf"), (1.5, 1.5)])
def test_what_json_has_no_number_for_is_recorded_as_text(place, log, judge, number: float, told: object) -> None:
    verdict = judge("ls")
    call = verdict.call.replace(input={"command": "ls", "deep": ({"a": number},)})
    log.decision(verdict.replace(call=call), front="exec", grant={"until": number})
    (line,) = place.lines()
    assert (line["input"]["deep"], line["grant"]) == ([{"a": told}], {"until": told})
    assert b"NaN" not in place.files[0].read_bytes()
    assert b"Infinity" not in place.files[0].read_bytes()


@pytest.mark.parametrize(
    ("reason", "start"), [("it was cancelled", "it was cancelled. "), ("Refused.", "Refused. "), ("", "")]
)
def test_what_could_not_be_recorded_is_a_sentence_of_its_own(log, judge, reason: str, start: str) -> None:
    told = calls.ended(log, calls.Recorded(problem="no room"), judge("ls"), Result("refused", 126, reason=reason))
    assert told.reason == f"{start}This call is not recorded: no room."


def test_why_is_recorded_where_no_file_says_it(place, log, judge) -> None:
    verdict = judge("ls")
    because = "input must hold nothing but JSON values: Authorization: Bearer abcdefghijklmnop"
    log.decision(unjudged(verdict.call, verdict.context, built_in(INVALID, because)), front="exec")
    log.decision(judge("curl x"), front="exec")
    first, second = place.lines()
    assert first["rule"] == ["invalid-call", "builtin", "", 0]
    assert first["because"].startswith("input must hold nothing but JSON values: ")
    assert "abcdefghijklmnop" not in first["because"]
    assert "because" not in second
