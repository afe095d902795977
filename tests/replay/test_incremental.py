"""What was judged once is remembered: a replay that was ended goes on, and a diff judges what changed rules may speak
of; both come to what judging everything comes to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warmed import warm

from gateway.audit.log import Log
from gateway.config.load import Options
from gateway.judge.judge import Judge
from gateway.judge.pipeline import TEMP
from gateway.model.call import RawCall
from gateway.replay import compare, verdict_cache
from gateway.replay.compare import compared
from gateway.replay.judging import PRESENT, RECORDED, Judging
from gateway.replay.sources import side_of
from gateway.replay.verdict_cache import FILE, FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = (
    "git status", "git push origin main", "rm -rf build", "cat src/a", "touch src/b && git add -A", "make all", "ls",
    "curl https://example.com/x", "python3 x.py", "npm test", "X=git; $X push", "echo 'unclosed", "/usr/bin/git log",
    "bash -c 'git push'", "cat .env", "find . -name x -delete",
)  # fmt: skip
OLD = "version: 1\nextends: [daily]\nrules:\n  - {id: own, deny: 'Bash(rm *)'}\n"
# What one rule more, less or otherwise makes of it; whether no more is judged than it may speak of.
CHANGED = {
    "a denied command": ("  - {id: new, deny: 'Bash(git push *)'}\n", True),
    "an asked program": ("  - {id: new, ask: {exec: make}}\n", True),
    "an allowed effect": ("  - {id: new, allow: {effect: connect, direction: fetch, host: example.com}}\n", True),
    "every command": ("  - {id: new, ask: 'Bash(*)'}\n", False),
    "a pattern for any program": ("  - {id: new, deny: {command: '* push *'}}\n", False),
    "a path that is kept from calls": ("  - {id: new, deny: 'Edit(src/**)'}\n", True),
    "a name at any depth": ("  - {id: new, ask: 'Read(.env)'}\n", True),
    "another one that nothing is at": ("  - {id: new, deny: 'Read(//nowhere/**)'}\n", True),
    "a host": ("  - {id: new, deny: 'WebFetch(domain:example.com)'}\n", True),
    "a tool": ("  - {id: new, deny: Read}\n", True),
    "a rule with an end": ("  - {id: new, ask: {exec: make}, expires: 2099-01-01}\n", False),
    "a setting": ("settings: {mode: accept_edits}\n", False),
    "nothing but lines": ("# a remark\n", True),
}


class Place:
    def __init__(self, top: Path) -> None:
        self.root = str(top / "project")
        self.state = str(top / ".local/state/gateway/audit")
        self.policy = top / ".config/gateway/policy.yaml"
        self.policy.parent.mkdir(parents=True)
        self.policy.write_text(OLD, encoding="utf-8")
        os.makedirs(f"{self.root}/.git")
        os.makedirs(f"{self.root}/src")
        Path(self.root, ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        log = Log(self.state)
        for confined in (True, False):
            judge = Judge(Options(self.root), confined=confined)
            for text in TEXTS:
                context = judge.context.replace(temp=TEMP if confined else ())
                verdict = judge.check(RawCall("Bash", {"command": text}), context, contains=lambda *_asked: "none")
                policy = judge.loaded.policy.revision
                log.decision(verdict, front="test", session=text[:3], policy=policy, bundle=judge.bundle)
        log.close()

    def new(self, more: str) -> Any:
        """The user's policy with a line more at its end, or before its rules."""
        path = self.policy.parent.parent / "new.yaml"
        path.write_text(OLD + more if more.startswith(" ") else OLD.replace("rules:", more + "rules:"), "utf-8")
        return side_of(str(path), self.root, "user")

    @property
    def results(self) -> Path:
        return Path(self.state, FOLDER, FILE)


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    top = tmp_path_factory.mktemp("remembering")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(top))
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_PROJECT_DIR"):
            patched.delenv(name, raising=False)
        warm(top / ".cache/gateway")
        yield top


@pytest.fixture(scope="module")
def made(top: Path) -> Place:
    return Place(top)


@pytest.fixture
def place(made: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The record, of which nothing is remembered, in small parts."""
    made.results.unlink(missing_ok=True)
    monkeypatch.setattr(compare, "PART", 5)
    return made


@pytest.fixture(scope="module")
def results(made: Place) -> bytes:
    """What is kept once the present policy was compared with itself."""
    made.results.unlink(missing_ok=True)
    compared(made.state, PRESENT, PRESENT, how="process")
    return made.results.read_bytes()


@pytest.fixture
def remembered(results: bytes, place: Place) -> Place:
    """The record, of which that is remembered."""
    place.results.write_bytes(results)
    place.results.chmod(0o600)
    return place


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many decisions were judged, each time."""
    counts: list[int] = []
    original = Judging._anew

    def anew(self: Judging, *given: Any) -> Any:
        counts.append(1)
        return original(self, *given)

    monkeypatch.setattr(Judging, "_anew", anew)
    return counts


@pytest.mark.parametrize(("more", "is_quick"), CHANGED.values(), ids=list(CHANGED))
def test_a_diff_judges_no_more_than_what_the_changed_rules_may_speak_of(
    remembered: Place, judged: list[int], monkeypatch: pytest.MonkeyPatch, more: str, is_quick: bool
) -> None:
    place = remembered
    new = place.new(more)
    with monkeypatch.context() as patched:
        for name in ("_begun", "_opened"):  # nothing is known and nothing kept: everything is judged
            patched.setattr(verdict_cache, name, lambda _path: None)
        wanted = compared(place.state, PRESENT, new, how="process")
    judged.clear()
    found = compared(place.state, PRESENT, new, how="process")
    assert found == wanted
    assert (sum(judged) < found.distinct) is is_quick


def test_what_was_judged_is_not_judged_again(place: Place, judged: list[int]) -> None:
    first = compared(place.state, RECORDED, RECORDED, how="process")
    assert (sum(judged), first.equal) == (first.distinct, first.judged)
    judged.clear()
    assert compared(place.state, RECORDED, RECORDED, how="process") == first
    assert judged == []


def test_a_replay_that_was_ended_goes_on(place: Place, judged: list[int]) -> None:
    wanted = compared(place.state, RECORDED, RECORDED, how="process")
    place.results.unlink()
    done: list[int] = []

    def ends(number: int, _of: int) -> None:
        done.append(number)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared(place.state, RECORDED, RECORDED, how="process", judging=ends)
    judged.clear()
    assert compared(place.state, RECORDED, RECORDED, how="process") == wanted
    assert sum(judged) == wanted.distinct - done[-1]


def test_another_policy_is_judged_by_anew(place: Place, judged: list[int]) -> None:
    compared(place.state, RECORDED, PRESENT, how="process")
    judged.clear()
    try:
        place.policy.write_text(OLD + CHANGED["a denied command"][0], encoding="utf-8")
        found = compared(place.state, RECORDED, PRESENT, how="process")
    finally:
        place.policy.write_text(OLD, encoding="utf-8")
    assert [(each.after, each.rule[0]) for each in found.groups if each.rule[0] == "new"]
    assert judged


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"SQLite format 3\0 and no more"], ids=["empty", "zeros", "short"])
def test_what_is_damaged_is_begun_anew(place: Place, judged: list[int], data: bytes) -> None:
    wanted = compared(place.state, RECORDED, RECORDED, how="process")
    place.results.write_bytes(data)
    judged.clear()
    assert compared(place.state, RECORDED, RECORDED, how="process") == wanted
    assert sum(judged) == wanted.distinct


def test_no_more_than_a_bound_is_kept_and_nobody_else_reads_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    new = place.new(CHANGED["every command"][0])
    compared(place.state, RECORDED, RECORDED, how="process")
    compared(place.state, PRESENT, new, how="process")
    total = verdict_cache.Known(place.state).total()
    monkeypatch.setattr(verdict_cache, "MOST", total - 1)
    compared(place.state, RECORDED, RECORDED, how="process")
    assert 0 < verdict_cache.Known(place.state).total() < total
    folder = Path(place.state, FOLDER)
    assert [each.stat().st_mode & 0o077 for each in (folder, *folder.iterdir())] == [0, 0]


def test_a_record_that_cannot_be_written_is_judged_all_the_same(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_cache, "open_own", lambda *_given: (_ for _ in ()).throw(OSError(30, "ro")))
    assert compared(place.state, RECORDED, RECORDED, how="process").judged
