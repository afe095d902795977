"""Questions about the record: what is found, and that the index is a cache that can be lost, stale or damaged."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from gateway.audit.files import INDEX as NAME
from gateway.audit.index import Index, Query

CALLS = [
    {"tool": "Bash", "decision": "allow", "rule": ["r1", "user", "f", 1], "effects": [["read", "/p/src/a.py"]]},
    {"tool": "Bash", "decision": "deny", "rule": ["r2", "user", "f", 2], "effects": [["delete", "/p/src"]]},
    {"tool": "Read", "decision": "allow", "rule": ["r1", "user", "f", 1], "effects": [["read", "/p/srcs"]]},
    {"tool": "WebFetch", "decision": "ask", "rule": ["mode:default", "builtin", "", 0],
     "effects": [["connect", "docs.example.com:443"], ["connect", "::1"]]},
    {"tool": "mcp__a__b", "decision": "allow", "rule": ["r3", "user", "f", 1], "effects": [], "session": "s1"},
]  # fmt: skip


@pytest.fixture
def filled(place):
    """Five decisions, a minute apart, of which the allowed ones ended; the first tried another host."""
    store = place.store(most_bytes=900, keep=0)
    for number, call in enumerate(CALLS):
        head = {"kind": "decision", "id": f"id-{number}", "at": f"2026-01-01T10:0{number}:00.000000Z", "front": "exec"}
        said = {"input": {"text": f"Text {number}"}, "cwd": "/p"}
        store.append(json.dumps({**head, **call, **said}))
        if call["decision"] == "allow":
            violations = [["net", "evil.example.org:80", "", "proxy", 2]] if not number else []
            outcome = {"ended": "exited", "status": 0, "seconds": 1.5, "violations": violations}
            store.append(json.dumps({"kind": "outcome", "id": f"id-{number}", "at": head["at"], **outcome}))
    return place


def ids(place, query: Query, most: int = 0) -> list[str]:
    with Index(place.path) as index:
        return [call.decision["id"] for call in index.find(query, most)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(), [0, 1, 2, 3, 4]),
        (Query(tool="Bash"), [0, 1]),
        (Query(tool="mcp__*"), [4]),
        (Query(decision="deny"), [1]),
        (Query(rule="r1"), [0, 2]),
        (Query(rule="r*"), [0, 1, 2, 4]),
        (Query(path="/p/src"), [0, 1]),
        (Query(path="/p/src/"), [0]),
        (Query(path="*.py"), [0]),
        (Query(path="/p/s[r]c"), []),
        (Query(host="docs.example.com"), [3]),
        (Query(host="*.example.*"), [0, 3]),
        (Query(host="evil.example.org"), [0]),
        (Query(ended="exited"), [0, 2, 4]),
        (Query(session="s1"), [4]),
        (Query(since="2026-01-01T10:02:00.000000Z"), [2, 3, 4]),
        (Query(until="2026-01-01T10:02:00.000000Z"), [0, 1]),
        (Query(text="text 3"), [3]),
        (Query(text="proxy", tool="Bash"), [0]),
        (Query(rule="r1", tool="Read"), [2]),
    ],
)
def test_calls_are_found(filled, query: Query, expected: list[int]) -> None:
    assert ids(filled, query) == [f"id-{number}" for number in expected]


def test_with_a_number_the_last_ones_are_given_in_order(filled) -> None:
    assert ids(filled, Query(rule="r*"), 2) == ["id-2", "id-4"]


def test_a_call_is_found_by_number_id_and_start_of_an_id(filled) -> None:
    with Index(filled.path) as index:
        (by_number,) = index.show("2")
        (by_id,) = index.show("id-0")
        assert by_number == by_id
        assert (by_id.decision["tool"], by_id.outcome["ended"]) == ("Bash", "exited")
        assert len(index.show("id")) == 5
        assert index.show("other") == []
        assert index.show("99") == []
        assert index.show("") == []


def test_numbers_are_counted(filled) -> None:
    with Index(filled.path) as index:
        found = index.stats()
    assert found["decisions"] == {"allow": 3, "ask": 1, "deny": 1}
    assert found["outcomes"] == {"exited": 3}
    assert found["rules"] == {"r1": 2, "mode:default": 1, "r2": 1, "r3": 1}
    assert (found["without_outcome"], found["violations"]) == (1, 2)
    assert found["records"] == len(filled.lines())


def test_of_a_call_that_ran_on_the_last_outcome_counts(place) -> None:
    store = place.store()
    for name, *ends in (("a", "started", "exited"), ("b", "started"), ("c", "exited"), ("d",)):
        head = {"id": name, "at": "2026-01-01T10:00:00.000000Z"}
        store.append(json.dumps({"kind": "decision", **head, "tool": "Bash", "decision": "allow"}))
        for end in ends:
            store.append(json.dumps({"kind": "outcome", **head, "ended": end, "status": 0}))
    with Index(place.path) as index:
        calls = [(call.decision["id"], call.outcome and call.outcome["ended"]) for call in index.find(Query())]
        assert calls == [("a", "exited"), ("b", "started"), ("c", "exited"), ("d", None)]
        (shown,) = index.show("a")
        numbers = index.stats()
    assert shown.outcome["ended"] == "exited"
    assert (numbers["outcomes"], numbers["without_outcome"]) == ({"exited": 2, "started": 1}, 2)
    assert ids(place, Query(ended="exited")) == ["a", "c"]
    assert ids(place, Query(ended="started")) == ["b"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _path: None,
        os.unlink,
        lambda path: Path(path).write_bytes(b"no database"),
        lambda path: os.truncate(path, 5000),
        lambda path: os.truncate(path, 0),
    ],
    ids=["kept", "removed", "other", "cut", "empty"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_index_is_a_cache(filled, damage) -> None:
    before = ids(filled, Query(rule="r1"))
    path = os.path.join(filled.path, NAME)
    assert os.stat(path).st_mode & 0o777 == 0o600
    damage(path)
    assert ids(filled, Query(rule="r1")) == before == ["id-0", "id-2"]


def test_what_came_since_is_taken_in(filled) -> None:
    ids(filled, Query())
    filled.store().append(json.dumps({"kind": "decision", "id": "new", "at": "2027", "tool": "T", "decision": "allow"}))
    assert ids(filled, Query(tool="T")) == ["new"]


def test_an_index_of_another_record_is_made_anew(filled) -> None:
    ids(filled, Query())
    for each in filled.folder.iterdir():
        if each.name != NAME:
            each.unlink()
    filled.store().append(json.dumps({"kind": "decision", "id": "new", "at": "2027", "tool": "T", "decision": "allow"}))
    assert ids(filled, Query()) == ["new"]


def test_files_that_rotation_removed_are_forgotten(filled) -> None:
    ids(filled, Query())
    first = filled.files[0]
    gone = {line["id"] for line in map(json.loads, first.read_bytes().splitlines()) if line["kind"] == "decision"}
    first.unlink()
    assert gone
    assert gone.isdisjoint(ids(filled, Query()))


def test_a_folder_that_cannot_be_written_is_asked_from_memory(filled, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_given: object) -> int:
        raise PermissionError(13, "no")

    monkeypatch.setattr("gateway.audit.files.open_own", refuses)
    assert ids(filled, Query(rule="r1")) == ["id-0", "id-2"]
    assert not os.path.exists(os.path.join(filled.path, NAME))


def test_where_there_is_no_record_nothing_is_found_and_nothing_made(place) -> None:
    assert ids(place, Query()) == []
    assert not place.folder.exists()


def test_lines_that_hold_anything_at_all_do_no_harm(place) -> None:
    store = place.store()
    for more in ({"id": 5, "rule": "x"}, {"effects": [["a"], 3, [1, 2]], "violations": "x"}, {"at": None, "rule": []}):
        store.append(json.dumps({"kind": "decision", **more}))
    assert [call.decision["n"] for call in find_all(place)] == [1, 2, 3]


ODD = "x\udc80\ud7ff"


@pytest.mark.parametrize(
    ("more", "query"),
    [
        ({"tool": ODD}, Query(tool=ODD)),
        ({"tool": ODD}, Query(tool="*\udc80*")),
        ({"rule": [ODD, "user", "", 0]}, Query(rule=ODD)),
        ({"session": ODD}, Query(session=ODD)),
        ({"cwd": f"/{ODD}", "input": {"command": ODD}}, Query(text=ODD)),
        ({"effects": [["read", f"/{ODD}/a"]]}, Query(path=f"/{ODD}")),
        ({"effects": [["read", f"/{ODD}/a"]]}, Query(path="/*\udc80*")),
        ({"effects": [["connect", f"{ODD}:80"]]}, Query(host=ODD)),
    ],
    ids=["tool", "part of a tool", "rule", "session", "text", "path", "part of a path", "host"],
)
def test_names_that_are_no_utf8_are_found_and_hide_nothing_else(filled, more: dict[str, object], query: Query) -> None:
    filled.store().append(json.dumps({"kind": "decision", "id": "odd", "decision": "ask", **more}))
    assert ids(filled, query) == ["odd"]
    assert ids(filled, Query(rule="r1")) == ["id-0", "id-2"]
    with Index(filled.path) as index:
        assert index.show("odd")[0].decision.items() >= more.items()
        assert index.stats()["records"] >= 9


@pytest.mark.parametrize("name", ["9" * 19, "9" * 20, "9" * 5000, "\udcff", "a\ud7ff", chr(0x10FFFF), "id-9"])
def test_what_no_record_is_called_is_not_found(filled, name: str) -> None:
    with Index(filled.path) as index:
        assert index.show(name) == []


def test_numbers_that_no_record_has_hide_nothing(filled) -> None:
    huge = 10**30
    outcome = {"kind": "outcome", "status": huge, "violations": [["a", "b", "", "", huge]]}
    lines = [{"n": huge, "prev": "", "kind": "decision"}, {"n": 900, "prev": "", **outcome}]
    with open(filled.folder / min(os.listdir(filled.folder)), "ab") as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines)
    assert ids(filled, Query(rule="r1")) == ["id-0", "id-2"]
    with Index(filled.path) as index:
        assert (index.show("900"), index.stats()["last"]) == ([], 900)


def find_all(place):
    with Index(place.path) as index:
        return index.find(Query())


def test_two_may_ask_at_once(filled) -> None:
    with Index(filled.path) as one, Index(filled.path) as other:
        assert len(one.find(Query())) == len(other.find(Query())) == 5
    database = sqlite3.connect(os.path.join(filled.path, NAME))
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_an_index_that_somebody_else_is_making_is_left_to_them(filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.audit.index._PATIENCE", 0.01)
    path = Path(filled.path, NAME)
    making = sqlite3.connect(path, isolation_level=None)
    making.execute("BEGIN IMMEDIATE")
    made = path.stat().st_ino
    assert ids(filled, Query(tool="Bash")) == ["id-0", "id-1"]
    assert path.stat().st_ino == made
    making.close()
