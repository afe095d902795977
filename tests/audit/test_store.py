"""Appending: whole lines behind each other, whatever becomes of the writers, the disk and the files."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gateway.audit import chain, files
from gateway.audit.reading import Moment
from gateway.audit.store import Store
from gateway.audit.verify import verify
from gateway.core.errors import AuditError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_first_line_begins_a_chain_that_each_line_goes_on_with(place, write) -> None:
    store = place.store()
    assert [store.append(write(said)) for said in "abc"] == [1, 2, 3]
    first, second, third = place.files[0].read_bytes().splitlines(keepends=True)
    assert first == b'{"n":1,"prev":"' + b"0" * 64 + b'","kind": "test", "said": "a"}\n'
    assert chain.read(second)["prev"] == chain.digest(first)
    assert chain.read(third)["prev"] == chain.digest(second)


def test_files_are_private_whatever_the_mask_and_were_private_from_the_start(place, write) -> None:
    before = os.umask(0)
    try:
        place.store().append(write("a"))
    finally:
        os.umask(before)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in place.folder.iterdir()}
    assert modes == {"000001.jsonl": 0o600, "seal": 0o600, "key": 0o600}
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700


def test_a_file_that_others_could_read_is_made_private(place, write) -> None:
    place.fill(1)
    place.files[0].chmod(0o644)
    place.store().append(write("b"))
    assert stat.S_IMODE(place.files[0].stat().st_mode) == 0o600


@pytest.mark.parametrize("what", ["seal", "000001.jsonl", "key"])
def test_a_link_in_the_place_of_a_file_is_not_followed(place, write, tmp_path: Path, what: str) -> None:
    place.fill(1)
    (place.folder / what).rename(tmp_path / "elsewhere")
    (place.folder / what).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditError):
        place.store().append(write("b"))


@pytest.mark.parametrize("what", ["", "seal", "000001.jsonl"])
def test_what_others_can_write_is_refused(place, write, what: str) -> None:
    place.fill(1)
    (place.folder / what).chmod(0o777 if not what else 0o666)
    with pytest.raises(AuditError, match=r"others|else can write"):
        place.store().append(write("b"))


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path, place, write) -> None:
    place.path = str(tmp_path / "no" / "home" / ".local" / "state" / "gateway" / "audit")
    with pytest.raises(AuditError, match="has no place"):
        place.store().append(write("a"))
    assert not (tmp_path / "no").exists()


def test_several_stores_take_turns(place, write) -> None:
    one, other = place.store(), place.store()
    for number in range(6):
        (one if number % 2 else other).append(write(number))
    assert place.said() == [0, 1, 2, 3, 4, 5]
    assert verify(place.path).broken is None


def test_threads_of_one_process_lose_nothing_and_get_numbers_of_their_own(place, write) -> None:
    store = place.store()
    numbers: dict[int, list[int]] = {}

    def work(who: int) -> None:
        numbers[who] = [store.append(write([who, count])) for count in range(100)]

    threads = [threading.Thread(target=work, args=(who,)) for who in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    said = place.said()
    assert [[said[number - 1] for number in mine] for _who, mine in sorted(numbers.items())] == [
        [[who, count] for count in range(100)] for who in range(6)
    ]
    assert verify(place.path).records == 600


def test_lines_of_threads_that_waited_are_written_together(place, write) -> None:
    store = place.store()
    store.append(write("first"))
    numbers: list[int] = []
    threads = [threading.Thread(target=lambda: numbers.append(store.append(write("more")))) for _ in range(5)]
    with store._lock:
        for each in threads:
            each.start()
        while len(store._waiting) < 5:
            pass
    for each in threads:
        each.join()
    assert sorted(numbers) == [2, 3, 4, 5, 6]
    assert verify(place.path).records == 6


def test_a_forked_child_has_a_lock_of_its_own(place, write) -> None:
    store = place.store()
    store.append(write("parent"))
    child = os.fork()
    if not child:
        try:
            for _ in range(50):
                store.append(write("child"))
        finally:
            os._exit(0)
    for _ in range(50):
        store.append(write("parent"))
    os.waitpid(child, 0)
    assert sorted(place.said()) == ["child"] * 50 + ["parent"] * 51
    assert verify(place.path).broken is None


@pytest.mark.parametrize("left", [1, 30, 70, 90, -2], ids=lambda size: f"{size}-bytes-of-it")
def test_a_torn_line_is_closed_off_and_the_chain_goes_on(place, write, left: int) -> None:
    place.fill(3)
    whole = place.files[0].read_bytes()
    torn = chain.link(4, chain.digest(whole.splitlines(keepends=True)[-1]), write("lost"))[:left]
    place.files[0].write_bytes(whole + torn)
    assert verify(place.path).notes == (
        f"{len(torn)} bytes of a torn record at the end: the next writer closes them off",
    )
    place.store().append(write("next"))
    assert place.said()[-2:] == ["torn", "next"]
    found = verify(place.path)
    assert (found.broken, found.notes) == (
        None,
        (f"a torn record of {len(torn)} bytes was closed off by record 4",),
    )


def test_a_line_that_only_lacks_its_end_gets_it(place, write) -> None:
    place.fill(3)
    whole = place.files[0].read_bytes()
    line = chain.link(4, chain.digest(whole.splitlines(keepends=True)[-1]), write("kept"))
    place.files[0].write_bytes(whole + line[:-1])
    assert place.store().append(write("next")) == 5
    assert place.said()[-2:] == ["kept", "next"]
    assert verify(place.path).broken is None


def test_what_a_killed_writer_did_not_seal_is_taken_over(place, write) -> None:
    place.fill(2)
    seal = place.seal()
    place.fill(2)
    (place.folder / "seal").write_bytes(seal)
    found = verify(place.path)
    assert (found.broken, found.records) == (None, 4)
    assert found.notes == ("2 records behind the seal: a writer was killed, the next one seals them",)
    assert place.store().append(write("next")) == 5
    assert verify(place.path).notes == ()


def test_a_writer_that_knows_the_seal_still_sees_what_others_left_behind_it(place, write) -> None:
    store = place.store()
    store.append(write("a"))
    with place.files[0].open("ab") as file:
        file.write(b'{"n":2,"pr')
    store.append(write("b"))
    assert place.said() == ["a", "torn", "b"]


def test_a_new_file_begins_when_one_is_full_and_the_chain_goes_over_files(place) -> None:
    place.fill(40, most_bytes=600, keep=0)
    assert len(place.files) > 4
    assert [said for said in place.said() if said != "next"] == list(range(40))
    found = verify(place.path)
    assert (found.broken, found.records, found.files) == (None, len(place.said()), len(place.files))


def test_the_oldest_files_go_and_the_seal_remembers_where_the_chain_begins(place) -> None:
    place.fill(60, most_bytes=1000, keep=2)
    assert len(place.files) <= 4
    found = verify(place.path)
    assert found.broken is None
    assert found.first > 1
    assert [said for said in place.said() if said != "next"][-1] == 59


def test_several_processes_worth_of_writers_go_on_behind_a_rotation(place, write) -> None:
    stores = [place.store(most_bytes=700, keep=0) for _ in range(3)]
    for number in range(60):
        stores[number % 3].append(write(number))
    assert [said for said in place.said() if said != "next"] == list(range(60))
    assert verify(place.path).broken is None


@pytest.mark.parametrize("done", ["the mark", "the new file", "a line"])
def test_a_writer_that_was_killed_between_two_files_leaves_nothing_broken(place, write, done: str) -> None:
    store = place.store(most_bytes=600, keep=0)
    while len(place.files if place.folder.exists() else ()) < 2:
        sealed = place.seal() if (place.folder / "seal").exists() else b""
        store.append(write("x"))
    store.close()
    lines = len(place.lines())
    after = place.seal()
    # The mark has a seal of its own: it is what a writer finds that comes after the kill.
    marked = chain.unpack(after, (place.folder / "key").read_bytes())
    old = place.files[0]
    end = old.read_bytes().splitlines(keepends=True)[-1]
    seal = chain.Seal(1, old.stat().st_size, lines - 1, chain.digest(end))
    assert marked.segment == 2
    assert sealed
    (place.folder / "seal").write_bytes(chain.pack(seal, (place.folder / "key").read_bytes()))
    if done == "the mark":
        place.files[1].unlink()
    elif done == "the new file":
        place.files[1].write_bytes(b"")
    place.store(most_bytes=600, keep=0).append(write("after"))
    assert place.said()[-1] == "after"
    assert place.said().count("foreign") == 0
    assert verify(place.path).broken is None


def test_a_folder_that_was_removed_is_begun_anew_and_no_record_goes_nowhere(place, write) -> None:
    store = place.store()
    store.append(write("a"))
    for each in place.folder.iterdir():
        each.unlink()
    place.folder.rmdir()
    assert store.append(write("b")) == 1
    assert place.said() == ["b"]
    assert verify(place.path).broken is None


@pytest.mark.parametrize(
    ("damage", "mark"),
    [
        (lambda place: (place.folder / "seal").write_bytes(b""), "seal"),
        (lambda place: (place.folder / "seal").unlink(), "seal"),
        (lambda place: (place.folder / "key").write_bytes(b"0" * 32), "seal"),
        (lambda place: place.files[0].unlink(), "missing"),
        (lambda place: place.files[0].write_bytes(place.files[0].read_bytes()[:-5]), "short"),
        (lambda place: place.files[0].open("ab").write(b"something\nelse\n"), "foreign"),
    ],
    ids=["seal-emptied", "seal-removed", "key-changed", "file-removed", "end-cut", "lines-added"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_was_tampered_with_is_marked_and_the_record_goes_on(place, write, damage, mark: str) -> None:
    place.fill(3)
    damage(place)
    store = place.store()
    store.append(write("next"))
    store.append(write("last"))
    assert place.said()[-3:] == [mark, "next", "last"]
    assert verify(place.path).broken is not None


LIMITED = """
import resource, sys
from gateway.audit.store import Store
from gateway.core.errors import AuditError
store = Store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
written = 0
try:
    while True:
        store.append('{"kind":"test","said":"%s"}' % ("x" * 333))
        written += 1
except AuditError as error:
    print(written, error.remedy)
try:
    store.append('{"kind":"test","said":"%s"}' % ("x" * 333))
except AuditError:
    print("refused again")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(store.append('{"kind":"test","said":"after"}'))
"""


def test_a_record_that_does_not_fit_is_refused_whole_and_there_is_no_trace_of_it(place) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, place.path], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == ["11 make room for it", "refused again", "12"]
    assert place.said() == ["x" * 333] * 11 + ["after"]
    found = verify(place.path)
    assert (found.broken, found.notes, found.records) == (None, (), 12)


def test_a_seal_that_cannot_be_written_leaves_no_record_behind(place, write, monkeypatch: pytest.MonkeyPatch) -> None:
    store = place.store()
    store.append(write("a"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", lambda *_given: 0)
        with pytest.raises(AuditError, match="no space"):
            store.append(write("b"))
    store.append(write("c"))
    assert place.said() == ["a", "c"]
    assert verify(place.path).broken is None


def test_with_sync_the_disk_has_lines_seal_and_name_before_it_returns(place, write, monkeypatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{file}"))))
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not tell what a descriptor is")
    store = place.store(sync=True)
    store.append(write("a"))
    synced.clear()
    store.append(write("b"))
    assert synced == ["000001.jsonl", "seal"]
    place.store().append(write("c"))
    assert synced == ["000001.jsonl", "seal"]


def test_an_interrupt_leaves_a_record_that_goes_on(place, write, monkeypatch: pytest.MonkeyPatch) -> None:
    store = place.store()
    store.append(write("a"))

    def interrupted(*_given: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.append(write("b"))
    store.append(write("c"))
    assert place.said() == ["a", "c"]
    assert verify(place.path).broken is None


@pytest.mark.parametrize(
    ("name", "does"),
    [
        pytest.param("seal", lambda place: place.store().append('"x": 1}'), id="writing"),
        pytest.param("seal", lambda place: Moment(place.path), id="reading"),
        pytest.param("key", lambda place: place.store().key(), id="the key"),
    ],
)
def test_a_lock_that_is_never_given_back_is_told_and_not_waited_for(place, monkeypatch, name: str, does: Any) -> None:
    monkeypatch.setattr(files, "MOST_SECONDS_LOCKED", 0.01)
    place.fill(1)
    held = os.open(place.folder / name, os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(AuditError, match=r"is kept locked by another process") as caught:
            does(place)
        assert caught.value.remedy == f"let go on or end the one that `fuser {place.path}/seal` names"
    finally:
        os.close(held)
    assert place.said() == [0]
    does(place)


def test_a_file_that_a_killed_writer_began_is_gone_on_with_whatever_the_bound_is_now(
    place, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    put = Store._put

    def put_until_killed(store: Store, data: bytes, seal: chain.Seal, size: int) -> None:
        if store._segment == 2:
            os.write(store._lines, data[:40])
            raise Killed
        put(store, data, seal, size)

    monkeypatch.setattr(Store, "_put", put_until_killed)
    with pytest.raises(Killed):
        place.fill(40, most_bytes=600, keep=0)
    monkeypatch.undo()
    place.store().append(write("end"))
    assert (len(place.files), place.said()[-3:]) == (2, ["next", "torn", "end"])
    assert verify(place.path).broken is None
