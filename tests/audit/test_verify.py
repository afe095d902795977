"""Verifying: any change of any byte is found, and the first broken link is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit import chain
from gateway.audit.store import Store
from gateway.audit.verify import Broken, verify

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a record of twelve lines in three files."""
    folder = tmp_path_factory.mktemp("whole") / "audit"
    store = Store(str(folder), most_bytes=400, keep=0)
    for number in range(10):
        store.append(json.dumps({"kind": "test", "said": number}))
    store.close()
    found = {each.name: each.read_bytes() for each in folder.iterdir()}
    assert len(found) == 5
    return found


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


def broken(folder: Path, files: dict[str, bytes]) -> Broken | None:
    for each in folder.iterdir():
        each.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return verify(str(folder)).broken


def lines_of(files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [(name, line) for name in sorted(files) if name.endswith(".jsonl") for line in files[name].splitlines(True)]


def files_of(lines: list[tuple[str, bytes]], whole: dict[str, bytes]) -> dict[str, bytes]:
    found = {name: b"" for name in whole if name.endswith(".jsonl")}
    for name, line in lines:
        found[name] += line
    return {**whole, **found}


def test_what_nobody_touched_is_whole(whole: dict[str, bytes], scratch: Path) -> None:
    assert broken(scratch, whole) is None


def test_every_byte_of_every_file_counts(whole: dict[str, bytes], scratch: Path) -> None:
    unnoticed = []
    for name, content in whole.items():
        for place in share(range(len(content)), 3, name):
            changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            if broken(scratch, {**whole, name: changed}) is None:
                unnoticed.append((name, place))
    assert unnoticed == []


@given(data=st.data())
def test_lines_that_are_removed_doubled_moved_or_added_are_found(
    whole: dict[str, bytes], scratch: Path, data: st.DataObject
) -> None:
    lines = lines_of(whole)
    kind = data.draw(st.sampled_from(["remove", "double", "swap", "add", "cut"]))
    at = data.draw(st.integers(0, len(lines) - 1))
    changed = list(lines)
    if kind == "remove":
        del changed[at : at + data.draw(st.integers(1, 3))]
    elif kind == "double":
        changed.insert(data.draw(st.integers(0, len(lines))), lines[at])
    elif kind == "swap":
        other = data.draw(st.integers(0, len(lines) - 1).filter(lambda place: place != at))
        changed[at], changed[other] = (lines[at][0], lines[other][1]), (lines[other][0], lines[at][1])
    elif kind == "add":
        added = data.draw(st.sampled_from([b"\n", b"{}\n", b"x\n", chain.link(at + 1, chain.START, '{"kind":"test"}')]))
        changed.insert(at, (lines[at][0], added))
    else:
        changed = [*lines[:at], (lines[at][0], lines[at][1][: data.draw(st.integers(0, len(lines[at][1]) - 1))])]
    assert broken(scratch, files_of(changed, whole)) is not None


def rewritten(lines: list[tuple[str, bytes]], start: int) -> list[tuple[str, bytes]]:
    """The chain made anew from a line on, as somebody would who wants it to look right."""
    head = chain.digest(lines[start - 1][1]) if start else chain.START
    made = []
    for number, (name, line) in enumerate(lines[start:], start + 1):
        record = json.loads(line)
        text = json.dumps({name: value for name, value in record.items() if name not in ("n", "prev")})
        made.append((name, chain.link(number, head, text)))
        head = chain.digest(made[-1][1])
    return [*lines[:start], *made]


def test_a_chain_that_was_made_anew_does_not_fit_the_seal(whole: dict[str, bytes], scratch: Path) -> None:
    lines = lines_of(whole)
    del lines[4]
    found = broken(scratch, files_of(rewritten(lines, 4), whole))
    assert found is not None
    lines = lines_of(whole)
    lines[4] = (lines[4][0], lines[4][1].replace(b'"said"', b'"lied"'))
    found = broken(scratch, files_of(rewritten(lines, 4), whole))
    assert found is not None
    assert found.why == "this record is another one than was sealed"


@pytest.mark.parametrize(
    ("change", "why", "number", "line"),
    [
        (lambda files: _line(files, 1, lambda _line: b""), "record 2 is missing before this line", 2, 2),
        (
            lambda files: _line(files, 1, lambda line: line.replace(b'"said": 1', b'"said": 7')),
            "this record was changed: record 3 was written behind another one",
            2,
            2,
        ),
        (lambda files: _line(files, 1, lambda line: line * 2), "this line is record 2 again, or out of order", 3, 3),
        (lambda files: _line(files, 1, lambda line: b"oh\n" + line), "this line is no record: it was changed", 2, 2),
        (lambda files: files | {"000002.jsonl": None}, "the file 000002.jsonl is missing", 6, 0),
        (lambda files: files | {"000003.jsonl": None}, "records 11 to 12 are missing at the end", 11, 0),
        (lambda files: files | {"seal": None}, "the seal is missing or damaged", 0, 0),
        (lambda files: files | {"key": None}, "the seal is missing or damaged", 0, 0),
    ],
    ids=["removed", "changed", "doubled", "added", "file-removed", "last-file-removed", "no-seal", "no-key"],
)
def test_the_first_broken_link_is_named(whole, scratch: Path, change, why: str, number: int, line: int) -> None:
    files = {name: content for name, content in change(whole).items() if content is not None}
    found = broken(scratch, files)
    assert found is not None
    assert found.why.startswith(why)
    assert (found.number, found.line) == (number, line)


def _line(files: dict[str, bytes], place: int, change) -> dict[str, bytes]:
    name = "000001.jsonl"
    lines = files[name].splitlines(True)
    lines[place] = change(lines[place])
    return {**files, name: b"".join(lines)}


def test_records_that_are_missing_at_the_end_are_counted(whole, scratch: Path) -> None:
    last = max(name for name in whole if name.endswith(".jsonl"))
    kept = whole[last].splitlines(True)[:1]
    found = broken(scratch, {**whole, last: kept[0]})
    assert found is not None
    assert found.why.endswith("missing at the end")


def test_an_older_seal_and_an_older_end_together_are_found_only_by_a_head_that_was_kept(place) -> None:
    place.fill(3)
    old = {each.name: each.read_bytes() for each in place.folder.iterdir()}
    place.fill(2)
    kept = verify(place.path)
    for name, content in old.items():
        (place.folder / name).write_bytes(content)
    assert verify(place.path).broken is None
    assert verify(place.path, (kept.last, kept.head)).broken == Broken(
        "the head that was given is not in the record: it was made anew, or cut", 5
    )


def test_a_head_that_was_kept_is_found_again_in_a_record_that_went_on(place) -> None:
    place.fill(3)
    kept = verify(place.path)
    place.fill(3)
    assert verify(place.path, (kept.last, kept.head)).broken is None
    assert verify(place.path, (kept.last, "0" * 64)).broken is not None


def test_a_head_that_rotation_removed_is_no_sign_of_a_change(place) -> None:
    place.fill(60, most_bytes=1000, keep=1)
    found = verify(place.path, (1, "1" * 64))
    assert found.broken is None
    assert found.notes == ("record 1 was removed by rotation: its digest cannot be compared any more",)


def test_where_there_is_no_record_there_is_nothing_broken(tmp_path: Path) -> None:
    found = verify(str(tmp_path / "none"))
    assert (found.records, found.broken) == (0, None)
    assert verify(str(tmp_path / "none"), (3, "1" * 64)).broken is not None
