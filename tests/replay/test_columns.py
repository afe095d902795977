"""What full files of the record hold as columns is what their lines say: read either way, all comes out alike."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import share
from warmed import warm

from gateway.audit.log import Log
from gateway.config.load import Options
from gateway.judge.judge import Judge
from gateway.model.call import RawCall
from gateway.replay import columns
from gateway.replay.compare import compared, is_slow
from gateway.replay.decisions import segments_of
from gateway.replay.judging import PRESENT, RECORDED
from gateway.replay.sources import side_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("duckdb", reason="an extra")

KEPT = (columns.files.CALLS, columns.files.USES)


class Place:
    """A record of several full files, of two sessions, agents and a call without facts."""

    def __init__(self, top: Path) -> None:
        self.root = str(top / "project")
        self.state = str(top / ".local/state/gateway/audit")
        os.makedirs(f"{self.root}/.git")
        judge = Judge(Options(self.root))
        policy = judge.loaded.policy.revision
        verdicts = [judge.check(RawCall("Bash", {"command": f"git log -{number}"})) for number in range(12)]
        verdicts.append(judge.check(RawCall("Bash", {"command": "rm -rf 'a\tb'\n"})))
        for session in ("one", "tw\t\u00f6", "three"):
            log = Log(self.state, most_bytes=1 << 13, keep=0, facts=session != "three")
            for verdict in verdicts:
                log.decision(verdict, front="test", session=session, policy=policy, bundle=judge.bundle)
            log.close()
        path = top / "new.yaml"
        path.write_text("version: 1\nrules:\n  - {id: new, deny: 'Bash(git log -1*)'}\n", encoding="utf-8")
        self.new = side_of(str(path), self.root, "user")

    def kept(self) -> list[Path]:
        return sorted(each for each in Path(self.state).iterdir() if each.suffix in KEPT)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    top = tmp_path_factory.mktemp("columns")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(top))
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_PROJECT_DIR"):
            patched.delenv(name, raising=False)
        warm(top / ".cache/gateway")
        yield Place(top)


@pytest.fixture
def place(made: Place) -> Place:
    for each in made.kept():
        each.unlink()
    return made


def by_lines(monkeypatch: pytest.MonkeyPatch, *asked: Any) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(columns, "is_there", lambda: False)
        return compared(*asked, how="process")


def test_the_columns_of_full_files_say_what_their_lines_say(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = by_lines(monkeypatch, place.state, PRESENT, place.new)
    (group,) = wanted.groups
    assert (group.sessions, group.agents, dict(wanted.untold)) == (2, 1, {"no facts were kept of it": 13})
    assert compared(place.state, PRESENT, place.new, how="process") == wanted
    files = place.kept()
    full = segments_of(place.state)[:-1]
    assert len(full) > 2
    assert len(files) == 2 * len(full)
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}
    monkeypatch.setattr(columns, "scan", lambda *_given: pytest.fail("a full file is read again"))
    assert compared(place.state, PRESENT, place.new, how="process") == wanted


def test_of_files_that_lie_in_a_span_with_a_part_lines_are_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(place.state, RECORDED, RECORDED, how="process")
    full = columns.kept(segments_of(place.state)[:-1])
    for since, until in ((full[1].first, ""), (full[1].last, ""), ("", full[1].last), (full[0].last, full[2].first)):
        wanted = by_lines(monkeypatch, place.state, PRESENT, place.new, since, until)
        assert wanted.decisions
        assert compared(place.state, PRESENT, place.new, since, until, how="process") == wanted


DAMAGES = {
    "empty": lambda _data: b"",
    "half": lambda data: data[: len(data) // 2],
    "its beginning": lambda data: b"PAR1" + bytes(600) + data[604:],
}


@pytest.fixture(scope="module")
def wanted(made: Place) -> Any:
    """What the lines of all files come to."""
    with pytest.MonkeyPatch.context() as patched:
        return by_lines(patched, made.state, PRESENT, made.new)


@pytest.mark.parametrize(
    ("damaged", "ending"),
    [(damaged, ending) for number, damaged in enumerate(DAMAGES) for ending in share(KEPT, 2, number)],
)
def test_damaged_columns_are_made_again(place: Place, wanted: Any, damaged: str, ending: str) -> None:
    compared(place.state, RECORDED, RECORDED, how="process")
    path = next(each for each in place.kept() if each.suffix == ending)
    path.write_bytes(DAMAGES[damaged](path.read_bytes()))
    assert compared(place.state, PRESENT, place.new, how="process") == wanted
    assert compared(place.state, PRESENT, place.new, how="process") == wanted


def test_columns_of_another_state_of_a_file_are_not_believed(place: Place) -> None:
    compared(place.state, RECORDED, RECORDED, how="process")
    first, *others = segments_of(place.state)[:-1]
    assert len(columns.kept([first.replace(size=first.size + 1), *others])) == len(others)


def test_what_others_may_write_is_not_believed(place: Place) -> None:
    compared(place.state, RECORDED, RECORDED, how="process")
    full = segments_of(place.state)[:-1]
    place.kept()[0].chmod(0o666)
    assert len(columns.kept(full)) == len(full) - 1


def test_lines_that_no_writer_makes_are_left_to_those_who_read_lines(place: Place, tmp_path: Path) -> None:
    first = segments_of(place.state)[0]
    path = tmp_path / "000001.jsonl"
    lines = Path(first.folder, "000001.jsonl").read_bytes()
    path.write_bytes(lines.replace(b'"session":"one"', b'"session":"o\te"'))
    assert not columns.Making()(first.replace(folder=str(tmp_path)))
    assert not list(tmp_path.glob("*.calls"))


def test_without_duckdb_a_record_of_several_files_is_said_to_be_slow(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_slow(place.state)
    monkeypatch.setattr(columns, "is_there", lambda: False)
    assert is_slow(place.state)
    assert not is_slow(f"{place.state}-none")


@pytest.mark.parametrize("workers", share([2, 3], 2))
def test_processes_that_share_the_work_count_the_same(place: Place, workers: int) -> None:
    wanted = compared(place.state, RECORDED, place.new, how="process")
    for each in place.kept():
        each.unlink()
    assert compared(place.state, RECORDED, place.new, how="pool", workers=workers) == wanted
