"""A file replaced at once and whole: killed at any moment, on a full disk, by several writers, with all it had."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from fuzzing import share

from gateway.calls.output import Failure
from gateway.calls.reads import stamp_of
from gateway.calls.session import Session
from gateway.files.opening import Changed, Place, way_to
from gateway.handlers.replacing import put, spare_name

ROOT = Path(__file__).parents[2]


# All go one way; each of its two beginnings in every run, each tool in a thorough one.
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    tools = dict(share([("Write", "old"), ("Edit", "old"), ("Create", "missing")], 2))
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
        "HOME": str(tmp_path),
    }
    program = Path(__file__).parent / "kill_everywhere.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), *tools],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    for tool, before in tools.items():
        found = [each for each in told if each["tool"] == tool]
        assert [each["killed"] for each in found] == [True] * (len(found) - 1) + [False]
        assert len(found) > 20
        assert {each["state"] for each in found[:-1]} == {before, "new"}
        assert found[-1]["state"] == "new"
        if before == "old":
            assert {each["mode"] for each in found} == {"0o640"}
        assert [each["next"] for each in found] == [["new", ["a"]]] * len(found)


def held(path: str, kind: str = "file") -> Any:
    return way_to(Place(path, path, kind))


def test_a_disk_that_fills_up_loses_nothing(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a", "old")
    bench("Read", file_path="a")
    start = bench.everything()
    real = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) > 4:
            return real(descriptor, data[:4])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Failure) as failure:
        bench("Write", file_path="a", content="new and longer")
    assert str(failure.value) == (
        f"{bench.path('a')} cannot be written: the disk is full; what was there is unchanged. Free some space first."
    )
    with pytest.raises(Failure, match="disk is full"):
        bench("Write", file_path="x/y/b", content="new and longer")
    assert bench.everything() == start
    monkeypatch.undo()
    bench("Write", file_path="a", content="new and longer")
    assert Path(bench.path("a")).read_bytes() == b"new and longer"


def test_a_limit_of_the_system_on_the_size_of_files_loses_nothing(bench: Any) -> None:
    bench.write("a", "old")
    bench("Read", file_path="a")
    start = bench.everything()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handling = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(Failure, match="larger than allowed; what was there is unchanged"):
            bench("Write", file_path="a", content="x" * (1 << 17))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handling)
    assert bench.everything() == start
    bench("Write", file_path="a", content="x" * (1 << 17))
    assert Path(bench.path("a")).stat().st_size == 1 << 17


@pytest.mark.parametrize("step", ["fsync", "fchmod", "rename"])
def test_a_step_that_fails_leaves_no_trace(bench: Any, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    bench.write("a", "old")
    bench("Read", file_path="a")
    start = bench.everything()

    def fails(*_given: Any, **_named: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(Failure, match="the device reports an error"):
        bench("Write", file_path="a", content="new")
    monkeypatch.undo()
    assert bench.everything() == start


def test_of_many_writers_who_read_the_same_version_one_wins_and_the_others_are_told(bench: Any) -> None:
    bench.write("a", "old\n")
    sessions = [Session(bench.gateway.context) for _ in range(8)]
    told: list[str] = []
    refused: list[str] = []
    start = threading.Barrier(len(sessions))

    def one(number: int, session: Session) -> None:
        mine = type(bench).__new__(type(bench))
        mine.__dict__.update(bench.__dict__, session=session)
        mine("Read", file_path="a")
        verdict = mine.check("Write", file_path="a", content=f"{number}\n")
        start.wait()
        try:
            mine.run(verdict)
            told.append(f"{number}\n")
        except Failure as failure:
            refused.append(str(failure))

    threads = [threading.Thread(target=one, args=each) for each in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1
    assert len([each for each in refused if "changed" in each or "somebody else" in each]) == len(sessions) - 1
    assert Path(bench.path("a")).read_text(encoding="utf-8") == told[0]
    assert sorted(os.listdir(bench.project)) == [".git", "a"]


def test_a_writer_that_lives_is_waited_for_and_not_robbed(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spare = bench.write(spare_name("a"), "half")
    with open(spare, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr("gateway.handlers.replacing.PATIENCE", 0.0)
        with pytest.raises(Failure, match="is being written by somebody else"):
            bench("Write", file_path="a", content="new")
        assert Path(spare).read_bytes() == b"half"
    bench("Write", file_path="a", content="new")
    assert sorted(os.listdir(bench.project)) == [".git", "a"]


def test_a_new_file_never_replaces_one_that_appears_at_the_last_moment(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def late(*given: Any, **named: Any) -> None:
        bench.write("a", "mine")
        real(*given, **named)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(Changed, match="there is a file now"):
        bench("Write", file_path="a", content="new")
    assert Path(bench.path("a")).read_bytes() == b"mine"
    assert sorted(os.listdir(bench.project)) == [".git", "a"]


def test_a_file_system_without_hard_links_gets_its_new_file_by_another_way(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_given: Any, **_named: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    bench("Write", file_path="a", content="new")
    assert Path(bench.path("a")).read_bytes() == b"new"


@pytest.mark.parametrize(("before", "after"), [(0o640, 0o640), (0o755, 0o755), (0o444, 0o444), (0o6755, 0o755)])
def test_the_mode_stays_but_for_the_rights_of_another_user(bench: Any, before: int, after: int) -> None:
    path = bench.write("a", "old")
    os.chmod(path, before)
    bench("Read", file_path="a")
    bench("Write", file_path="a", content="new")
    assert stat.S_IMODE(os.stat(path).st_mode) == after


def test_a_new_file_has_the_mode_that_the_mask_leaves(bench: Any) -> None:
    before = os.umask(0o027)
    try:
        bench("Write", file_path="d/a", content="new")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(os.stat(bench.path(name)).st_mode) for name in ("d", "d/a")]
    assert modes == [0o750, 0o640]


def test_owner_and_group_stay_where_root_writes(bench: Any) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    path = bench.write("a", "old")
    os.chown(path, 12, 34)
    os.chmod(path, 0o640)
    bench("Read", file_path="a")
    output = bench("Write", file_path="a", content="new")
    found = os.stat(path)
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12, 34, 0o640)
    assert "could not keep" not in output.blocks[0].text


def test_an_owner_that_cannot_stay_is_said_and_no_right_goes_to_another_group(ordinary: Any) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    path = ordinary.write("a", "old")
    ordinary("Read", file_path="a")
    os.seteuid(0)
    os.chown(path, 12, 34)
    os.chmod(path, 0o664)
    os.seteuid(65534)
    ordinary("Read", file_path="a")
    output = ordinary("Write", file_path="a", content="new")
    found = os.stat(path)
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65534, 0o644)
    assert output.blocks[0].text.endswith(" This user could not keep its owner, its group.")


def test_extended_attributes_stay(bench: Any) -> None:
    path = bench.write("a", "old")
    try:
        os.setxattr(path, "user.origin", b"here")
    except (OSError, AttributeError) as error:
        pytest.skip(f"no extended attributes here: {error}")
    bench("Read", file_path="a")
    bench("Edit", file_path="a", old_string="old", new_string="new")
    assert (os.getxattr(path, "user.origin"), Path(path).read_bytes()) == (b"here", b"new")


def test_an_access_list_that_the_folder_would_give_to_new_files_is_not_given_to_an_old_one(bench: Any) -> None:
    path = bench.write("d/a", "old")
    os.chmod(path, 0o640)
    # Version 2: owner, user 12, group, mask and others may read and write.
    entries = [(1, 6, 0xFFFFFFFF), (2, 6, 12), (4, 6, 0xFFFFFFFF), (16, 6, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF)]
    packed = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + who.to_bytes(4, "little") for tag, bits, who in entries
    )
    try:
        os.setxattr(bench.path("d"), "system.posix_acl_default", packed)
    except (OSError, AttributeError) as error:
        pytest.skip(f"no access lists here: {error}")
    bench("Read", file_path="d/a")
    bench("Write", file_path="d/a", content="new")
    assert "system.posix_acl_access" not in os.listxattr(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    bench("Write", file_path="d/b", content="new")
    assert "system.posix_acl_access" in os.listxattr(bench.path("d/b"))


def test_what_is_expected_is_looked_at_again_under_the_lock(bench: Any) -> None:
    path = bench.write("a", "old")
    expected = stamp_of(os.stat(path))
    os.utime(path)
    with held(path) as way, pytest.raises(Changed, match="somebody else has written it"):
        put(way, b"new", expected)
    with held(path) as way:
        put(way, b"new", stamp_of(os.stat(path)))
    assert Path(path).read_bytes() == b"new"
