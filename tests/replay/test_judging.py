"""Recorded decisions judged anew: equal under the policy of then whatever has become of the machine, and what another
policy would have made of them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fuzzing import share
from warmed import warm

from gateway.audit.log import Log
from gateway.config.load import Options
from gateway.judge.judge import Judge
from gateway.judge.pipeline import TEMP
from gateway.model.call import RawCall
from gateway.replay.compare import compared as compared_somehow
from gateway.replay.judging import PRESENT, RECORDED
from gateway.replay.sources import side_of, trusting
from gateway.replay.tally import Comparison, Group

compared = functools.partial(compared_somehow, how="process")
NO_SANDBOX = "no sandbox here"
CALLS = (
    "ls -la src", "cat README.md", "cat link/main.py", "rm -rf build", "cp README.md build/", "git status",
    "git push origin main", "git push", "npm test", "python3 src/main.py", "grep -rn x .", "cat src/*", "rm *",
    "cat .env", "curl https://example.com/", "touch src/new", "find . -name '*.py' -delete", "tar cf x.tar src",
    "cd src && rm -f *", "make", "echo x > link/out", "mv src/main.py docs/", "go build ./...", "cat $UNKNOWN",
)  # fmt: skip


class Place:
    """A user with a project, a record, and somebody who judges and records calls there."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.record = str(folder / ".local/state/gateway/audit")
        self.config = folder / ".config/gateway"
        (self.project / "src").mkdir(parents=True)
        (self.project / "build").mkdir()
        for name in ("README.md", "src/main.py", "src/b c", "build/out"):
            (self.project / name).write_text("x", encoding="utf-8")
        (self.project / "package.json").write_text('{"scripts": {"test": "node t.js"}}', encoding="utf-8")
        (self.project / "link").symlink_to("src")
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", "https://git.example.com/x.git")

    def git(self, *words: str) -> None:
        own = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *own, *words], cwd=self.project, check=True, capture_output=True)

    def policy(self, text: str) -> None:
        (self.project / ".gateway").mkdir(exist_ok=True)
        (self.project / ".gateway/policy.yaml").write_text(text, encoding="utf-8")

    def decide(self, *texts: str, confined: bool = True, mode: str = "", session: str = "s", **how: object) -> None:
        """Judges these calls as they would be now, and records what is decided."""
        log = Log(self.record, **how)  # type: ignore[arg-type]
        judge = Judge(Options(str(self.project)), confined=confined)
        context = judge.context.replace(mode=mode or judge.context.mode, temp=TEMP if confined else ())
        for text in texts:
            verdict = judge.check(RawCall("Bash", {"command": text}), context, contains=lambda *_asked: NO_SANDBOX)
            policy = judge.loaded_for(verdict).policy.revision
            log.decision(verdict, front="test", session=session, policy=policy, bundle=judge.bundle)
        log.close()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path))
    warm(tmp_path / ".cache/gateway")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Place(tmp_path)


def changes(found: Comparison) -> list[tuple[str, str, str, str, int]]:
    return [(each.kind, each.before, each.after, each.rule[0], each.decisions) for each in found.groups]


@pytest.mark.parametrize("confined", [True, False])
def test_every_decision_comes_out_as_it_was_though_nothing_of_the_project_is_left(place: Place, confined: bool) -> None:
    place.decide(*CALLS, confined=confined)
    place.decide(*CALLS, confined=confined, mode="accept_edits")
    shutil.rmtree(place.project)
    found = compared(place.record, RECORDED, RECORDED)
    count = 2 * len(CALLS)
    assert (found.decisions, found.judged, found.equal, found.elsewhere, found.groups, found.untold) == (
        count, count, count, 0, (), ()
    )  # fmt: skip


def test_what_was_found_then_decides_and_not_what_is_there_now(place: Place) -> None:
    """With the same links now as then the call would be another one: the twin shows it."""
    place.decide("cat link/main.py")
    (place.project / "link").unlink()
    (place.project / "link").symlink_to(os.path.expanduser("~/.ssh"))
    anew = Judge(Options(str(place.project))).check(RawCall("Bash", {"command": "cat link/main.py"}))
    found = compared(place.record, RECORDED, PRESENT)
    assert (anew.decision.word, found.equal, found.groups) == ("deny", 1, ())


def test_the_policy_of_then_is_kept_and_judges_when_the_files_say_something_else(place: Place) -> None:
    place.policy("version: 1\nrules:\n  - {id: no-notes, deny: 'Bash(cat README.md)'}\n")
    place.decide("cat README.md", "ls src")
    place.policy("version: 1\nrules: []\n")
    assert compared(place.record, RECORDED, RECORDED).equal == 2
    found = compared(place.record, RECORDED, PRESENT)
    assert changes(found) == [("wider", "deny", "allow", "mode:default", 1)]


def test_a_policy_that_is_not_kept_any_more_is_said_not_to_be(place: Place) -> None:
    place.policy("version: 1\nrules:\n  - {id: no-notes, deny: 'Bash(cat README.md)'}\n")
    place.decide("cat README.md")
    place.policy("version: 1\nrules: []\n")
    shutil.rmtree(Path(place.record, "policies"))
    found = compared(place.record, RECORDED, RECORDED)
    assert (found.judged, found.untold) == (0, (("the policy of then is not kept", 1),))


def test_a_changed_line_of_facts_is_not_believed(place: Place) -> None:
    place.decide("cat README.md")
    (file,) = Path(place.record).glob("*.facts")
    file.write_bytes(file.read_bytes().replace(b"README.md", b"readme.md"))
    found = compared(place.record, RECORDED, RECORDED)
    assert (found.judged, found.untold) == (0, (("its facts are not kept", 1),))


def test_what_was_cut_or_redacted_is_not_guessed(place: Place) -> None:
    place.decide("curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345' https://example.com/")
    found = compared(place.record, RECORDED, RECORDED)
    (why, count), *others = found.untold
    assert (found.judged, "secret" in why or "facts" in why, count, others) == (0, True, 1, [])


def test_a_setting_keeps_facts_out_of_the_record(place: Place) -> None:
    place.decide("cat README.md", facts=False)
    found = compared(place.record, RECORDED, RECORDED)
    assert (found.judged, found.untold) == (0, (("no facts were kept of it", 1),))
    assert list(Path(place.record).glob("*.facts")) == []


def test_configuration_with_a_secret_in_it_is_not_kept(place: Place) -> None:
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    place.git("remote", "set-url", "origin", f"https://user:{token}@git.example.com/x.git")
    place.decide("git push origin main")
    assert token.encode() not in b"".join(file.read_bytes() for file in Path(place.record).iterdir() if file.is_file())
    assert compared(place.record, RECORDED, RECORDED).judged == 0


def test_equal_decisions_count_with_their_sessions(place: Place) -> None:
    for session in ("a", "b", "b"):
        place.decide("git status", "ls src", session=session)
    place.policy("version: 1\nrules:\n  - {id: no-status, deny: 'Bash(git status)'}\n")
    found = compared(place.record, RECORDED, PRESENT)
    (group,) = found.groups
    rule = ("no-status", "project", str(place.project / ".gateway/policy.yaml"), 3)
    example = group.examples[0]
    assert (example.tool, example.shown, example.count) == ("Bash", "git status", 3)
    assert group == Group(
        "narrower", "allow", after="deny", rule=rule, was=("mode:default", "builtin", "", 0), calls=1, decisions=3,
        sessions=2, agents=1, first=group.first, last=group.last, examples=(example,),
    )  # fmt: skip


def test_a_revision_of_git_stands_for_the_policy_that_it_holds_with_all_that_it_extends(place: Place) -> None:
    place.policy("version: 1\nextends: [{file: ../rules/more.yaml}]\nrules: []\n")
    Path(place.project, "rules/deep").mkdir(parents=True)
    Path(place.project, "rules/more.yaml").write_text(
        "version: 1\nextends: [{file: deep/../deep/it.yaml}]\nrules: []\n", encoding="utf-8"
    )
    deepest = Path(place.project, "rules/deep/it.yaml")
    deepest.write_text("version: 1\nrules: [{id: no-status, deny: 'Bash(git status)'}]\n", encoding="utf-8")
    place.git("add", "-A")
    place.git("commit", "-qm", "x")
    deepest.write_text("version: 1\nrules: []\n", encoding="utf-8")
    place.decide("git status", "ls src")
    root = str(place.project)
    before, now = (trusting(side_of(name, root), root) for name in ("HEAD", "present"))
    assert changes(compared(place.record, before, now)) == [("wider", "deny", "allow", "mode:default", 1)]
    assert changes(compared(place.record, now, before)) == [("narrower", "allow", "deny", "no-status", 1)]
    assert compared(place.record, before, before).equal == 2


def test_a_rule_on_the_branch_is_not_judged_where_nobody_saw_which_it_was(place: Place) -> None:
    """HEAD is another file by then than when the session began, and no rule had asked."""
    judge = Judge(Options(str(place.project)))
    Path(place.project, ".git/HEAD").unlink()
    Path(place.project, ".git/HEAD").write_text("ref: refs/heads/other\n", encoding="utf-8")
    log = Log(place.record)
    verdict = judge.check(RawCall("Bash", {"command": "ls src"}))
    log.decision(verdict, front="test", policy=judge.loaded.policy.revision, bundle=judge.bundle)
    log.close()
    place.policy("version: 1\nrules:\n  - {id: main, deny: {branch: other, effect: list}}\n")
    found = compared(place.record, RECORDED, PRESENT)
    assert found.untold == (("nobody looked then: which branch was checked out", 1),)


def test_rules_that_ask_the_time_are_asked_for_the_time_of_each_decision(place: Place) -> None:
    place.decide("ls src", "ls src", "ls src")
    place.policy("version: 1\nrules:\n  - {id: old, deny: 'Bash(ls *)', expires: 2001-01-01}\n")
    found = compared(place.record, RECORDED, PRESENT)
    assert (found.distinct, found.equal) == (3, 3)


def test_facts_go_with_the_file_of_lines_that_names_them(place: Place) -> None:
    for number in range(6):
        place.decide(*(f"cat f{number}-{each}" for each in range(40)), most_bytes=1 << 14, keep=1)
    names = {Path(name).stem for name in os.listdir(place.record) if name[0].isdigit()}
    stems = {path.stem for path in Path(place.record).glob("*.jsonl")}
    found = compared(place.record, RECORDED, RECORDED)
    assert (names, len(stems)) == (stems, len(list(Path(place.record).glob("*.facts"))))
    assert len(stems) < 6
    assert (found.judged, found.equal, found.untold) == (found.decisions, found.decisions, ())


@pytest.mark.parametrize("workers", share([2, 3], 2))
def test_processes_that_share_the_work_say_the_same(place: Place, workers: int) -> None:
    for number in range(3):
        place.decide(*(f"cat f{number}-{each}" for each in range(200)), session=f"s{number}", most_bytes=1 << 16)
    place.policy("version: 1\nrules:\n  - {id: seven, deny: 'Bash(cat f1-7*)'}\n")
    alone = compared(place.record, RECORDED, PRESENT, how="process")
    assert alone == compared(place.record, RECORDED, PRESENT, how="pool", workers=workers)
    assert changes(alone) == [("narrower", "allow", "deny", "seven", 11)]
