"""What somebody may do to the record who can write as its owner: each kind is found, by the record itself or by the
heads that are kept elsewhere; and without them what is said not to be found is not."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from gateway.audit import anchors, chain, files
from gateway.audit.index import Index, Query
from gateway.audit.reading import Moment
from gateway.audit.store import Store
from gateway.audit.verify import verify
from gateway.core import programs
from gateway.core.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINES = 400


def can_only_append(path: Path) -> bool:
    path.touch(mode=0o666)
    done = subprocess.run(["chattr", "+a", str(path)], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
def append_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of root's that can only be added to."""
    path = tmp_path / "heads"
    if os.geteuid() != 0 or shutil.which("chattr") is None or not can_only_append(path):
        pytest.skip("only root can make files that can only be added to, and not everywhere")
    monkeypatch.setattr(anchors, "FILE", str(path))
    yield path
    subprocess.run(["chattr", "-a", str(path)], check=True)


def fill(folder: Path, start: int = 0, count: int = LINES) -> None:
    store = Store(str(folder), most_bytes=20_000, keep=0)
    for number in range(start, start + count):
        body = {"kind": "decision", "id": f"i{number}", "at": f"2026-01-01T00:00:{number:09}Z", "tool": f"T{number}"}
        store.append(json.dumps(body))
    store.close()


@pytest.fixture
def record(tmp_path: Path, append_only: Path) -> Path:
    """A record of several files, of which a copy lies beside it as it was halfway."""
    assert append_only.exists()
    folder = tmp_path / "state/gateway/audit"
    folder.mkdir(parents=True)
    fill(folder)
    shutil.copytree(folder, tmp_path / "older")
    fill(folder, LINES)
    fill(tmp_path / "other/gateway/audit")
    assert len(list(folder.glob("*.jsonl"))) > 3
    return folder


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def last(folder: Path) -> Path:
    return max(folder.glob("*.jsonl"))


def change_line(folder: Path) -> None:
    path = folder / "000002.jsonl"
    path.write_bytes(
        path.read_bytes().replace(b'"tool":"T2', b'"tool":"X2', 1).replace(b'"tool": "T2', b'"tool": "X2', 1)
    )


def delete_line(folder: Path) -> None:
    path = folder / "000002.jsonl"
    path.write_bytes(b"".join([*lines(path)[:5], *lines(path)[6:]]))


def reorder(folder: Path) -> None:
    path = folder / "000002.jsonl"
    found = lines(path)
    path.write_bytes(b"".join([*found[:5], found[6], found[5], *found[7:]]))


def double(folder: Path) -> None:
    path = folder / "000002.jsonl"
    path.write_bytes(b"".join([*lines(path)[:6], *lines(path)[5:]]))


def cut_the_end(folder: Path) -> None:
    path = last(folder)
    path.write_bytes(b"".join(lines(path)[:-3]))


def cut_within_a_line(folder: Path) -> None:
    os.truncate(last(folder), last(folder).stat().st_size - 7)


def add_a_foreign_line(folder: Path) -> None:
    with last(folder).open("ab") as file:
        file.write(b'{"n":801,"prev":"","kind":"decision","id":"x"}\n')


def remove_a_file(folder: Path) -> None:
    (folder / "000002.jsonl").unlink()


def remove_the_last_file(folder: Path) -> None:
    last(folder).unlink()


def replay_an_old_seal(folder: Path) -> None:
    shutil.copy(folder.parents[2] / "older/seal", folder / "seal")


def replay_an_old_seal_and_its_end(folder: Path) -> None:
    older = folder.parents[2] / "older"
    for path in folder.glob("*.jsonl"):
        if not (older / path.name).exists():
            path.unlink()
    for path in (*older.glob("*.jsonl"), older / "seal"):
        shutil.copy(path, folder / path.name)


def put_back_an_old_copy_of_everything(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.parents[2] / "older", folder)


def put_back_an_old_copy_and_go_on(folder: Path) -> None:
    put_back_an_old_copy_of_everything(folder)
    fill(folder, 5_000, LINES + 50)


def put_another_record_there(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.parents[2] / "other/gateway/audit", folder)


def take_a_file_of_another_record(folder: Path) -> None:
    shutil.copy(folder.parents[2] / "other/gateway/audit/000002.jsonl", folder / "000002.jsonl")


def make_all_of_it_anew(folder: Path) -> None:
    shutil.rmtree(folder)
    fill(folder, 9_000)


def make_the_chain_anew_with_the_key(folder: Path) -> None:
    """As the owner can: every line behind a changed one written anew, and sealed."""
    with Moment(str(folder)) as moment:
        bodies = [json.loads(line.data) for part in moment.parts for line in moment.lines(part)]
    key = (folder / "key").read_bytes()
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    (folder / "key").write_bytes(key)
    (folder / "key").chmod(0o600)
    store = Store(str(folder), keep=0)
    for body in bodies:
        if body["kind"] == "decision":
            store.append(json.dumps({"kind": "decision", "id": body["id"], "at": body["at"], "tool": "harmless"}))
    store.close()


def remove_the_seal(folder: Path) -> None:
    (folder / "seal").unlink()


def damage_the_seal(folder: Path) -> None:
    (folder / "seal").write_bytes((folder / "seal").read_bytes().replace(b"0", b"1", 3))


def remove_the_key(folder: Path) -> None:
    (folder / "key").unlink()


def remove_everything(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)


BY_ITSELF = (
    change_line, delete_line, reorder, double, cut_the_end, cut_within_a_line, add_a_foreign_line, remove_a_file,
    remove_the_last_file, replay_an_old_seal, take_a_file_of_another_record, remove_the_seal, damage_the_seal,
    remove_the_key,
)  # fmt: skip
BY_KEPT_HEADS = (
    replay_an_old_seal_and_its_end, put_back_an_old_copy_of_everything, put_back_an_old_copy_and_go_on,
    put_another_record_there, make_all_of_it_anew, make_the_chain_anew_with_the_key,
)  # fmt: skip


def test_what_nobody_touched_is_whole_and_all_kept_heads_hold(record: Path) -> None:
    found = verify(str(record), anchored=True)
    assert (found.broken, found.records > 2 * LINES, len(found.notes)) == (None, True, 1)
    assert "heads that" in found.notes[0]


@pytest.mark.parametrize("change", BY_ITSELF, ids=lambda each: each.__name__)
def test_the_record_shows_it_by_itself(
    record: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None]
) -> None:
    monkeypatch.setattr(anchors, "FILE", "/nowhere")
    change(record)
    assert verify(str(record)).broken is not None


@pytest.mark.parametrize("change", BY_ITSELF[:-1], ids=lambda each: each.__name__)
def test_a_writer_that_goes_on_leaves_it_to_be_seen(record: Path, change: Callable[..., None]) -> None:
    change(record)
    fill(record, 10_000, 3)
    assert verify(str(record)).broken is not None


@pytest.mark.parametrize("change", BY_KEPT_HEADS, ids=lambda each: each.__name__)
def test_the_heads_that_are_kept_show_it_and_the_record_alone_does_not(
    record: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None]
) -> None:
    change(record)
    assert verify(str(record), anchored=True).broken is not None
    monkeypatch.setattr(anchors, "FILE", "/nowhere")
    assert verify(str(record)).broken is None


def test_a_record_that_is_gone_is_missed(record: Path) -> None:
    remove_everything(record)
    assert verify(str(record)).broken is not None


def test_rows_that_are_taken_out_of_the_index_hide_nothing_once_the_record_was_verified(record: Path) -> None:
    import sqlite3

    with Index(str(record)) as index:
        assert len(index.find(Query(tool="T7"))) == 1
    with sqlite3.connect(record / files.INDEX) as database:
        database.execute("DELETE FROM records WHERE tool = 'T7'")
    verify(str(record))
    with Index(str(record)) as index:
        assert len(index.find(Query(tool="T7"))) == 1


def test_an_index_of_another_record_is_made_anew(record: Path) -> None:
    other = record.parents[2] / "other/gateway/audit"
    for folder in (record, other):
        with Index(str(folder)):
            pass
    shutil.copy(other / files.INDEX, record / files.INDEX)
    with Index(str(record)) as index:
        assert len(index.find(Query(tool="T799"))) == 1


def test_writers_that_are_killed_leave_less_behind_the_seal_than_is_taken_for_an_old_one(place: Any) -> None:
    """Several in a row, each between its lines and its seal."""
    place.fill(3)
    seal = (place.folder / files.SEAL).read_bytes()
    place.fill(chain.MOST_BEHIND)
    (place.folder / files.SEAL).write_bytes(seal)
    assert verify(place.path).broken is None
    place.fill(1)
    (place.folder / files.SEAL).write_bytes(seal)
    assert "an older seal" in getattr(verify(place.path).broken, "why", "")


def test_a_file_that_can_be_shortened_keeps_no_heads(tmp_path: Path, append_only: Path, monkeypatch: Any) -> None:
    plain = tmp_path / "plain"
    plain.touch(mode=0o666)
    monkeypatch.setattr(anchors, "FILE", str(plain))
    fill(tmp_path / "audit", 0, 40)
    assert plain.read_bytes() == b""
    with pytest.raises(AuditError, match="nobody keeps heads"):
        verify(str(tmp_path / "audit"), anchored=True)
    monkeypatch.setattr(anchors, "FILE", str(append_only))
    assert "kept no head" in verify(str(tmp_path / "audit"), anchored=True).notes[0]


def test_nobody_without_the_key_can_say_something_of_a_record(record: Path, append_only: Path) -> None:
    with append_only.open("ab") as file:
        for line in lines(append_only)[:3]:
            said = json.loads(line)
            file.write(json.dumps({**said, "n": 99_999, "folder": "/elsewhere", "record": "another"}).encode() + b"\n")
        file.write(b"\xff\x00 nonsense\n" + b"[" * 100_000 + b"\n")
    assert verify(str(record)).broken is None


def test_the_systems_journal_is_told_in_its_own_protocol_and_asked_for_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "journal")
    monkeypatch.setattr(anchors, "FILE", "/nowhere")
    monkeypatch.setattr(anchors, "JOURNAL", path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(path)
        journal.setblocking(False)
        fill(tmp_path / "audit", 0, 3)
        with pytest.raises(BlockingIOError):
            journal.recv(1 << 16)
        fill(tmp_path / "audit", 3, 60)
        told = [journal.recv(1 << 16) for _ in range(1)]
    fields = dict(line.split(b"=", 1) for line in told[0].splitlines())
    assert (fields[b"SYSLOG_IDENTIFIER"], fields[b"PRIORITY"]) == (b"gateway-record", b"6")
    assert json.loads(fields[b"MESSAGE"])["n"] == 32
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(programs, "said", lambda *words: asked.append(words) or fields[b"MESSAGE"].decode() + "\n")
    assert verify(str(tmp_path / "audit"), anchored=True).broken is None
    assert (asked[0][0], f"_UID={os.geteuid()}" in asked[0]) == ("journalctl", True)
    shutil.rmtree(tmp_path / "audit")
    fill(tmp_path / "audit", 100, 60)
    broken = verify(str(tmp_path / "audit"), anchored=True).broken
    assert "the system's journal kept 1 head for this folder of another record" in getattr(broken, "why", "")


def test_a_journal_that_takes_nothing_keeps_no_writer_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "journal")
    monkeypatch.setattr(anchors, "JOURNAL", path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(path)
        fill(tmp_path / "audit", 0, 32 * 700)  # more than any queue of datagrams holds
    fill(tmp_path / "audit", 0, 64)  # and nobody listens any more
    with Moment(str(tmp_path / "audit")) as moment:
        assert moment.last(1)[0]["id"] == "i63"


@pytest.mark.parametrize(
    ("number", "written", "idle", "is_due"),
    [(32, 1, 0.0, True), (31, 1, 0.0, False), (33, 1, 0.0, False), (40, 10, 0.0, True), (5, 1, 31.0, True)],
)
def test_a_head_is_kept_of_one_record_in_many_and_after_a_pause(
    number: int, written: int, idle: float, is_due: bool
) -> None:
    assert anchors.is_due(number, written, idle) is is_due
