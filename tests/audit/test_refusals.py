"""Which calls count as refused, and how the last one is found from the end of the record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.audit import refusals
from gateway.audit.reading import Moment
from gateway.audit.refusals import kind_of, last_refusal
from gateway.audit.store import Store

if TYPE_CHECKING:
    from pathlib import Path

MODE = ["mode:default", "builtin", "", 0]
RULE = ["no-push", "user", "/p.yaml", 3]


def decided(word: str, rule: list[Any] = RULE, front: str = "exec", **more: Any) -> dict[str, Any]:
    return {"kind": "decision", "id": "a-1", "front": front, "cwd": "/p", "decision": word, "rule": rule, **more}


def ended(word: str, status: int = 0, **more: Any) -> dict[str, Any]:
    return {"kind": "outcome", "id": "a-1", "ended": word, "status": status, **more}


@pytest.mark.parametrize(
    ("decision", "outcome", "kind"),
    [
        (decided("deny"), None, refusals.DENIED),
        (decided("deny", MODE, reason="nobody_to_ask"), None, refusals.NOBODY),
        (decided("deny", ["invalid-call", "builtin", "", 0]), None, refusals.INVALID_CALL),
        (decided("deny", ["internal-error", "builtin", "", 0]), None, refusals.FAULT),
        (decided("deny", ["hook:x", "user", "/p.yaml", 3]), None, refusals.BY_A_HOOK),
        (decided("ask", front="hook:claude"), None, refusals.UNANSWERED),
        (decided("ask", front="hook:claude"), ended("exited", 1), ""),
        (decided("ask", front="hook:codex"), ended("refused", 126), refusals.NOBODY),
        (decided("ask"), None, ""),
        (decided("ask", grant={"allow": False, "by": "nobody"}), ended("refused", 126), refusals.NOBODY),
        (decided("ask", grant={"allow": False, "by": "policy"}), ended("refused", 126), refusals.NOBODY),
        (decided("ask", grant={"allow": False, "by": "person"}), ended("refused", 126), refusals.REFUSED),
        (decided("ask", grant={"allow": True, "by": "person"}), ended("exited", 3), ""),
        (decided("allow"), ended("refused", 126), refusals.REFUSED),
        (decided("allow"), ended("failed", 126), refusals.UNCONFINED),
        (decided("allow"), ended("failed", 1), ""),
        (decided("allow"), ended("exited", 0, violations=[["net", "x:443", "", "proxy", 1]]), refusals.STOPPED),
        (decided("allow"), ended("exited", 126), ""),
        (decided("allow"), None, ""),
        ({"rule": None, "decision": 5}, {"violations": 0}, ""),
    ],
    ids=[
        "a rule denies it",
        "the mode asks nobody",
        "it is no valid call",
        "an error of the gateway",
        "a hook refuses it",
        "an agent was told to ask, and no end is known",
        "an agent was told to ask, and it ran",
        "an agent that cannot ask was told to refuse",
        "it was agreed to and still runs",
        "nobody could be asked",
        "policy lets nobody be asked",
        "the person said no",
        "the person said yes",
        "it was allowed and could not be recorded",
        "the sandbox could not be built",
        "its handler failed",
        "the sandbox stopped something",
        "the command itself ended with 126",
        "it is allowed and runs",
        "a line that somebody made up",
    ],
)
def test_a_call_is_refused_or_not(decision: dict[str, Any], outcome: dict[str, Any] | None, kind: str) -> None:
    assert kind_of(decision, outcome) == kind


class Record:
    """A record that is written line by line, as short names: `D1` a denial, `A1` an allow, `V1` the end of call 1 with
    something stopped, `E1` its end without, `S1` that it was started."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "audit")
        self.store = Store(self.path)

    def write(self, *names: str, cwd: str = "/p", session: str = "s") -> None:
        for name in names:
            kind, number = name[0], name[1:]
            line = decided("deny" if kind == "D" else "allow", cwd=cwd, session=session)
            if kind in "VES":
                line = ended("started" if kind == "S" else "exited")
                line |= {"violations": [["net", "x:443", "", "proxy", 1]]} if kind == "V" else {}
            self.store.append(json.dumps(line | {"id": number}))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["D1", "A2", "E2"], "1"),
        (["D1", "D2"], "2"),
        (["A1", "D2", "V1"], "1"),
        (["A1", "V1", "D2"], "2"),
        (["A1", "D2", "E1"], "2"),
        (["A1", "A2", "V1", "V2"], "2"),
        (["A1", "V1", "A2", "A3", "E3"], "1"),
        (["A1", "S1", "D2", "V1"], "1"),
        (["V9", "D2"], "2"),
        (["D2", "V9"], "2"),
        (["A1", "E1"], None),
        ([], None),
    ],
    ids=lambda value: " ".join(value or ["none"]) if isinstance(value, list) else str(value),
)
def test_the_last_refusal_is_the_one_that_became_known_last(
    tmp_path: Path, lines: list[str], found: str | None
) -> None:
    record = Record(tmp_path)
    record.write(*lines)
    last = last_refusal(record.path, "/p").last
    assert (last and last.decision["id"]) == found


def test_the_record_is_read_from_its_end_and_no_further_than_asked(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.write("D1", *["A2"] * 900)
    assert last_refusal(record.path, "/p").last is not None
    looked = last_refusal(record.path, "/p", most=1 << 16)
    assert (looked.last, looked.is_whole) == (None, False)
    assert last_refusal(str(tmp_path / "nowhere"), "/p").is_whole


def test_calls_that_only_try_a_hook_do_not_count(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.write("D1", session="a")
    record.write("D2", session="doctor")
    last = last_refusal(record.path, "/p").last
    assert last is not None
    assert last.decision["id"] == "1"


def test_calls_of_other_folders_are_told_apart(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.write("D1", "A3", cwd="/p/sub")
    record.write("D2", "A4", cwd="/project")
    record.write("V3", "V4")
    known = {root: last_refusal(record.path, root) for root in ("/p", "/project", "/other", "")}
    assert {root: each.last and each.last.decision["id"] for root, each in known.items()} == {
        "/p": "3", "/project": "4", "/other": None, "": "4",
    }  # fmt: skip
    elsewhere = known["/other"].elsewhere
    assert elsewhere is not None
    assert elsewhere.decision["id"] == "4"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_backwards_gives_what_forwards_gives_across_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("gateway.audit.reading._STEP", size)
    record = Record(tmp_path)
    record.store = Store(record.path, most_bytes=900)
    record.write(*[f"D{number}" for number in range(12)])
    with Moment(record.path) as moment:
        assert len(moment.parts) > 2
        forwards = moment.last(1000)
        assert list(moment.backwards(1 << 30)) == forwards[::-1]
        assert len(forwards) > 12
        assert list(moment.backwards(0)) == []
