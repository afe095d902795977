"""Calls whose changes a person sees before they are theirs, and calls whose changes nobody ever sees."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import tree
from warmed import warm

from gateway.api.changes import Changes
from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.approval.base import Decided
from gateway.approval.callback import Callback
from gateway.calls.containing import cannot_contain
from gateway.calls.session_changes import PLACE
from gateway.config.load import Options
from gateway.core.cancel import Cancel
from gateway.core.errors import ConfigError, StoreError
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.render.changes import difference_text, review_text
from gateway.sandbox.changes.listing import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.api.executor import Execution
    from gateway.approval.base import Question, Review


def lays() -> bool:
    """Whether a layer can be laid over a workspace here."""
    with tempfile.TemporaryDirectory() as place:
        return not cannot_contain((place,), place)


pytestmark = pytest.mark.skipif(not lays(), reason="no layer is laid over a folder here")

CHANGES = (
    "import os; open('src/a', 'a').write('two\\n'); os.makedirs('new/d'); open('new/d/f', 'w').write('f\\n'); "
    "open('Makefile', 'w').write('all:\\n'); os.unlink('gone'); os.chmod('x.py', 0o755)"
)


class Project:
    """A workspace, and a person who decides."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = top / "workspace"
        for name in ("workspace/src", "home", "policies"):
            (top / name).mkdir(parents=True)
        (self.root / "src/a").write_text("one\n")
        (self.root / "gone").write_text("gone\n")
        (self.root / ".env").write_text("KEY=x\n")
        self.asked: list[Question] = []
        self.reviews: list[Review] = []

    def gateway(self, mode: str = "default", rules: str = "") -> Gateway:
        text = f"version: 1\nextends: [daily]\nsettings: {{mode: {mode}}}\n{rules}\n"
        (self.top / "policies/user.yaml").write_text(text)
        where = Places(
            str(self.top / "etc"), str(self.top / "config"), state=str(self.top / "state"),
            cache=warm(self.top / "cache"), home=str(self.top / "home"),
        )  # fmt: skip
        options = Options(str(self.root), str(self.top / "policies"), root=str(self.root), binding=True)
        return Gateway(options, where=where)

    def person(self, *answers: Decided | bool | Callable[[], Decided] | None) -> Callback:
        left = list(answers)

        def question(question: Question) -> bool:
            self.asked.append(question)
            return False

        def review(review: Review) -> Decided | bool | None:
            self.reviews.append(review)
            found = left.pop(0)
            return found() if callable(found) else found

        return Callback(question, review=review)

    def run(
        self, program: str, *answers: Decided | bool | Callable[[], Decided] | None, mode: str = "default"
    ) -> Execution:
        (self.root / "x.py").write_text(program)
        with Executor(self.gateway(mode), approver=self.person(*answers)) as executor:
            return executor.run("python3 -S x.py")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_what_it_changes_is_the_persons_once_they_say_so_and_can_be_undone(project: Project) -> None:
    def look() -> Decided:
        assert (project.root / "src/a").read_text() == "one\n"
        return Decided(True, "me")

    done = project.run(CHANGES, look)
    assert (done.verdict.decision, done.verdict.changes, done.result.status) == (Decision.ALLOW, "ask", 0)
    assert done.result.drafted == "kept"
    assert (project.root / "src/a").read_text() == "one\ntwo\n"
    assert (project.root / "new/d/f").read_text() == "f\n"
    assert not (project.root / "gone").exists()
    assert project.asked == []
    changes = Changes(project.gateway())
    assert [each.of.state for each in changes.list()] == ["kept"]
    assert changes.undo(1).stays == {}
    assert (project.root / "gone").read_text() == "gone\n"
    assert sorted(os.listdir(project.root)) == [".env", "gone", "src", "x.py"]


def test_what_is_discarded_is_gone_and_the_model_hears_why(project: Project) -> None:
    before = tree(project.root)
    done = project.run(CHANGES, Decided(False, "me", note="not the Makefile"))
    (project.root / "x.py").unlink()
    assert tree(project.root) == before
    assert done.result.status == 1
    assert "discarded: not the Makefile; the files are as they were" in done.result.reason
    assert Changes(project.gateway()).list() == []


@pytest.mark.parametrize(
    "program", ["print(open('src/a').read())", "open('/tmp/x', 'w').write('x')", "open('src/a', 'r+')"]
)
def test_where_nothing_has_changed_nobody_is_asked(project: Project, program: str) -> None:
    done = project.run(program)
    assert (done.result.status, project.reviews, project.asked) == (0, [], [])
    assert Changes(project.gateway()).list() == []


def test_what_runs_later_and_what_goes_is_shown_first(project: Project) -> None:
    project.run(CHANGES, False)
    text = review_text(project.reviews[0].found, project.reviews[0].status)
    assert text.splitlines()[2:] == [
        "   + Makefile  5 bytes  [builds and tests run it]",
        f"   m x.py  {len(CHANGES)} bytes  [can be started]",
        "   - gone  5 bytes",
        "   ~ src/a  4 bytes -> 8 bytes",
        "   + new/  1 new name, 2 bytes",
    ]
    assert "+two" in difference_text(project.reviews[0].found)


def test_some_of_it_is_kept(project: Project) -> None:
    project.run(CHANGES, Decided(True, "me", only=("src", "new/d/f", "new", "new/d")))
    assert (project.root / "src/a").read_text() == "one\ntwo\n"
    assert (project.root / "new/d/f").read_text() == "f\n"
    assert (project.root / "gone").exists()
    assert not (project.root / "Makefile").exists()
    assert Changes(project.gateway()).undo(1).stays == {}
    assert not (project.root / "new").exists()


def test_for_the_session_the_same_call_may_change_the_same_files_and_no_others(project: Project) -> None:
    (project.root / "x.py").write_text("import time; open('log', 'a').write('x\\n')")
    gateway = project.gateway()
    calls = Gateway(
        gateway.options, where=gateway.places, approver=project.person(Decided(True, "me", session=True), False)
    )
    call = RawCall("Bash", {"command": "python3 -S x.py"})
    with calls.session() as session:
        for _ in range(3):
            assert not calls.call(call, session=session).output.is_error
        assert len(project.reviews) == 1
        (project.root / "x.py").write_text("open('log', 'a').write('x\\n'); open('other', 'w')")
        assert calls.call(call, session=session).output.is_error
    calls.close()
    assert (project.root / "log").read_text() == "x\n" * 3
    assert not (project.root / "other").exists()


def test_a_conflict_keeps_nothing_until_the_person_chooses(project: Project) -> None:
    def edits() -> Decided:
        (project.root / "src/a").write_text("mine\n")
        return Decided(True, "me")

    done = project.run(CHANGES, edits, Decided(True, "me", rest=True))
    assert "somebody else meanwhile" in project.reviews[1].problem
    assert dict(project.reviews[1].found.missed) == {
        str(project.root / "src/a"): "it was changed by somebody else meanwhile"
    }
    assert (project.root / "src/a").read_text() == "mine\n"
    assert (project.root / "Makefile").exists()
    assert done.result.status == 0


@pytest.mark.parametrize("name", [".vscode/settings.json", ".env.local", "sub/.claude/x.json"])
def test_a_protected_name_is_never_kept(project: Project, name: str) -> None:
    path = os.path.normpath(name)
    project.run(
        f"import os; os.makedirs(os.path.dirname({path!r}) or '.', exist_ok=True); open({path!r}, 'w').write('x'); "
        "open('src/b', 'w').write('b')",
        Decided(True, "me", rest=True),
        Decided(True, "me", rest=True),
    )  # fmt: skip
    assert (project.root / "src/b").exists()
    assert not (project.root / path).exists()


def test_nobody_answering_leaves_it_to_be_had_later(project: Project) -> None:
    done = project.run(CHANGES, None)
    assert "gateway keep 1" in done.result.reason
    assert done.result.drafted == "undecided"
    assert (project.root / "src/a").read_text() == "one\n"
    changes = Changes(project.gateway())
    assert [(each.of.state, each.of.number) for each in changes.list()] == [("draft", 1)]
    with pytest.raises(StoreError, match="draft"):
        changes.undo(1)
    assert changes.keep(1).stays == {}
    assert (project.root / "src/a").read_text() == "one\ntwo\n"
    assert changes.undo(1).stays == {}
    assert (project.root / "src/a").read_text() == "one\n"


def test_one_that_is_cancelled_is_not_kept(project: Project) -> None:
    (project.root / "x.py").write_text("open('src/a', 'a').write('two\\n'); print('here', flush=True); input()")
    cancel = Cancel()
    reading, writing = os.pipe()
    try:
        with Executor(project.gateway(), approver=project.person()) as executor:
            done = executor.run(
                "python3 -S x.py < /dev/zero & wait; sleep 1000", cancel=cancel, listener=lambda _s, _d: cancel.set()
            )
    finally:
        os.close(reading)
        os.close(writing)
        cancel.close()
    assert done.result.ended == "cancelled"
    assert (project.root / "src/a").read_text() == "one\n"
    assert project.reviews == []
    assert [each.of.state for each in Changes(project.gateway()).list()] == ["draft"]


def test_without_anybody_to_ask_afterwards_it_asks_before(project: Project) -> None:
    (project.root / "x.py").write_text(CHANGES)
    asked: list[Question] = []
    with Executor(project.gateway(), approver=Callback(lambda question: asked.append(question) or False)) as executor:
        done = executor.run("python3 -S x.py")
    assert (done.verdict.decision, done.verdict.changes, len(asked)) == (Decision.ASK, "ask", 1)


@pytest.mark.parametrize("mode", ["plan", "read_only"])
def test_modes_that_change_nothing_run_code_and_throw_away_what_it_changes(project: Project, mode: str) -> None:
    done = project.run(CHANGES + "; print(open('src/a').read())", mode=mode)
    (project.root / "x.py").unlink()
    assert (done.verdict.changes, done.result.status, done.result.stdout) == ("discard", 0, b"one\ntwo\n\n")
    assert f"mode `{mode}` has thrown away: the files are as they were" in done.result.reason
    assert sorted(os.listdir(project.root)) == [".env", "gone", "src"]
    assert (project.root / "src/a").read_text() == "one\n"
    assert (project.asked, project.reviews) == ([], [])
    assert Changes(project.gateway()).list() == []


def test_a_repository_is_kept_whole_and_never_over_a_commit_made_since(project: Project) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        return subprocess.run(
            ["git", *who, *words], cwd=project.root, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    git("add", "src")
    git("commit", "-qm", "one")
    commits = (
        "import subprocess; subprocess.run(['git', '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-qam', 'x'])"
    )
    (project.root / "src/a").write_text("two\n")
    project.run(commits, Decided(True, "me"))
    assert git("log", "--format=%s").split() == ["x", "one"]
    git("fsck", "--strict")

    def commit() -> Decided:
        git("commit", "-q", "--allow-empty", "-m", "mine")
        return Decided(True, "me")

    (project.root / "src/a").write_text("three\n")
    project.run(commits, commit, Decided(True, "me", rest=True))
    assert git("log", "--format=%s").split() == ["mine", "x", "one"]
    git("fsck", "--strict")


def test_a_secret_is_not_seen_and_what_lies_elsewhere_is_not_written(project: Project) -> None:
    done = project.run("import os; print(os.path.getsize('.env')); open('/etc/x', 'w')")
    assert done.result.status == 1
    assert b"Error" in done.result.stderr


@pytest.mark.parametrize("mode", ["default", "accept_edits"])
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("touch new.txt", ["new.txt"]),
        ("python3 -S x.py > out", ["log", "out"]),
        ("rm gone", ["gone"]),
        ("python3 -S x.py", ["log"]),
        ("cat src/a", []),
        ("ls", []),
    ],
)
def test_a_session_may_want_to_see_all_that_commands_change(
    project: Project, mode: str, command: str, shown: list[str]
) -> None:
    (project.root / "x.py").write_text("open('log', 'a').write('x')")
    before = tree(project.root)
    gateway = project.gateway(mode)
    calls = Gateway(gateway.options, where=gateway.places, approver=project.person(False))
    with calls.session(changes="ask") as session:
        done = calls.call(RawCall("Bash", {"command": command}), session=session)
        assert [change.path for each in project.reviews for change in each.found.changes] == shown
        assert (project.asked, done.verdict.drafts) == ([], bool(shown))
        assert tree(project.root) == before
        asked = calls.call(RawCall("Bash", {"command": "touch y", "run_in_background": True}), session=session)
        assert (asked.verdict.decision, len(project.asked)) == (Decision.ASK, 1)
    calls.close()


def test_a_session_wants_no_other_word(project: Project) -> None:
    with pytest.raises(ConfigError, match="ask or discard"):
        project.gateway().session(changes="keep")


def test_a_command_of_a_session_sees_what_that_has_changed_and_of_no_other(project: Project) -> None:
    gateway = project.gateway("accept_edits")
    calls = Gateway(gateway.options, where=gateway.places)
    (project.root / "x.py").write_text(f"print(open({PLACE!r}).read())")
    asks = RawCall("Bash", {"command": "gateway changes >/dev/null 2>&1; python3 -S x.py"})
    with calls.session() as one, calls.session() as other:
        assert calls.call(RawCall("Bash", {"command": "echo new > src/a"}), session=one).ran
        (told,) = unpacked(json.loads(calls.call(asks, session=one).text))
        assert [(change.path, change.after) for change in told.changes] == [("src/a", "new\n")]
        assert json.loads(calls.call(asks, session=other).text) == []
        asks_not = RawCall("Bash", {"command": "python3 -S x.py"})
        assert calls.call(asks_not, session=one).output.is_error
    calls.close()


@pytest.mark.parametrize("keeps", [True, False])
def test_what_it_writes_to_the_sessions_temporary_folder_goes_the_same_way(project: Project, keeps: bool) -> None:
    (project.root / "x.py").write_text("open('/tmp/note', 'w').write('kept'); open('log', 'w').write('x')")
    (project.root / "y.py").write_text("import os; print(os.path.exists('/tmp/note'))")
    gateway = project.gateway()
    calls = Gateway(gateway.options, where=gateway.places, approver=project.person(keeps))
    with calls.session() as session:
        calls.call(RawCall("Bash", {"command": "python3 -S x.py"}), session=session)
        assert calls.call(RawCall("Bash", {"command": "python3 -S y.py"}), session=session).text.strip() == str(keeps)
    calls.close()
    assert len(project.reviews) == 1


CACHED = "import os; open(os.path.expanduser('~/.cache/tool/new'), 'w').write('x')"


@pytest.mark.parametrize(
    ("program", "answers", "stays"),
    [
        (f"{CACHED}; open('log', 'w')", [True], True),
        (f"{CACHED}; open('log', 'w')", [False], False),
        (CACHED, [], True),
    ],
    ids=["kept", "discarded", "nothing else was changed"],
)
def test_what_it_wrote_to_a_cache_stays_with_what_is_kept_of_it(
    project: Project, program: str, answers: list[bool], stays: bool
) -> None:
    (project.top / "home/.cache/tool").mkdir(parents=True)
    assert project.run(program, *answers).result.status == (0 if answers != [False] else 1)
    done = project.run("import os; print(os.listdir(os.path.expanduser('~/.cache/tool')))")
    assert (done.result.stdout.decode().strip(), len(project.reviews)) == (str(["new"] * stays), len(answers))
    assert os.listdir(project.top / "home/.cache/tool") == []


MET = "import os; os.rename('src', 'lib')"  # a folder that was there before: a layer cannot


@pytest.mark.parametrize("real", [True, False])
def test_what_a_layer_cannot_do_can_be_run_for_real(project: Project, real: bool) -> None:
    done = project.run(MET, Decided(False, "me", real=real))
    assert [(review.real, review.found.changes) for review in project.reviews] == [(True, ())]
    assert ((project.root / "lib/a").exists(), (project.root / "src").exists()) == (real, not real)
    assert (project.asked, done.result.status == 0) == ([], real)
    assert [each.of.state for each in Changes(project.gateway()).list()] == ["kept"] * real


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_that_a_file_of_others_cannot_be_written_in_a_layer_is_known_by_what_the_command_says(project: Project) -> None:
    os.chown(project.root / "src/a", -1, 65534)
    done = project.run("open('src/a', 'a').write('more')", Decided(False, "me", real=True))
    assert [(review.real, review.found.changes) for review in project.reviews] == [(True, ())]
    assert (done.result.status, (project.root / "src/a").read_text().endswith("more")) == (0, True)


def test_a_draft_that_met_what_a_layer_cannot_do_can_be_run_for_real_instead(project: Project) -> None:
    done = project.run(f"open('first', 'w').write('x'); {MET}", Decided(False, "me", real=True))
    assert [review.real for review in project.reviews] == [True]
    assert (project.asked, done.result.status, done.result.drafted) == ([], 0, "")
    assert sorted(os.listdir(project.root)) == [".env", "first", "gone", "lib", "x.py"]
    (made,) = Changes(project.gateway()).list()
    assert Changes(project.gateway()).undo(made.of.number).stays == {}
    assert sorted(os.listdir(project.root)) == [".env", "gone", "src", "x.py"]


@pytest.mark.parametrize(
    ("program", "met"),
    [
        ("os.rename('src', 'lib')", True),
        ("os.rename('src/deep', 'deep')", True),
        ("open('src/new', 'w'); os.rename('src', 'lib')", True),
        ("os.chdir('src'); os.rename('deep', '../deep')", True),
        ("os.rename('gone', 'moved')", False),
        ("os.mkdir('a'); os.rename('a', 'b')", False),
        ("shutil.rmtree('src'); os.mkdir('src'); os.rename('src', 'lib')", False),
        ("shutil.move('src', 'lib')", True),
        ("os.rename('none', 'lib')", False),
        ("os.mkdir('new'); exchange('new', 'src')", True),
        ("os.mkdir('a'); os.mkdir('b'); exchange('a', 'b')", False),
        ("os.link('gone', 'other'); sys.exit(3)", True),
        ("os.link('gone', 'other')", False),
        ("os.link('first', 'other'); sys.exit(3)", False),
    ],
)
def test_that_it_met_what_a_layer_cannot_do_is_known_without_a_word_of_the_command(
    project: Project, program: str, met: bool
) -> None:
    (project.root / "src/deep").mkdir()
    project.run(
        f"import contextlib, ctypes, os, shutil, sys; open('first', 'w')\n"
        "def exchange(one, other):\n"
        "    ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), ctypes.c_uint(2))\n"
        f"with contextlib.suppress(OSError):\n    {program}",
        Decided(False, "me"),
    )
    assert [review.real for review in project.reviews] == [met]


def test_a_repository_that_is_cloned_into_itself_is_kept_or_can_be_so_for_real(project: Project) -> None:
    said = "GIT_CONFIG_GLOBAL=/dev/null git -c user.name=a -c user.email=a@b"
    os.system(f"cd {project.root} && git init -q && git add -A && {said} commit -qm one")
    clone = "import subprocess, sys; sys.exit(subprocess.run(['git', 'clone', '-q', '.', 'copy']).returncode)"

    def look() -> Decided:  # git compares the numbers of files that it links, which some kernels make two of
        failed = bool(project.reviews[0].status)
        assert project.reviews[0].real is failed
        return Decided(not failed, "me", real=failed)

    assert project.run(clone, look).result.status == 0
    assert (project.root / "copy/src/a").read_text() == "one\n"
    assert os.system(f"git -C {project.root}/copy fsck --strict 2>&1 | grep -q .") != 0  # it has nothing to say


def test_a_layer_need_not_be_on_the_disk_before_it_is_kept(project: Project) -> None:
    done = project.run("import os; print([each for each in open('/proc/self/mountinfo') if os.getcwd() in each])")
    assert all(each in done.result.stdout.decode() for each in ("overlay", "userxattr", "volatile"))


def test_nothing_is_run_for_real_that_met_nothing(project: Project) -> None:
    before = tree(project.root)
    project.run(CHANGES, Decided(False, "me", real=True))
    assert [review.real for review in project.reviews] == [False] * len(project.reviews)
    (project.root / "x.py").unlink()
    assert (tree(project.root), project.asked) == (before, [])
