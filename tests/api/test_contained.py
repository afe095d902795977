"""What runs unasked because mounts hold it: it does what it does without a guard, in the workspace and nowhere else,
and can be taken back."""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import tree
from warmed import warm

from gateway.api.changes import Changes
from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.calls.containing import cannot_contain
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.decision import Decision
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.run import Runner

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here")
POLICY = """
version: 1
extends: [daily]
settings:
  mode: accept_edits
  sandbox: {write: [./**, ELSEWHERE], hosts: [example.com], network: listed, sockets: [], permit: [ptrace]}
rules:
  - {id: elsewhere, allow: {effect: [write, read], path: ELSEWHERE}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("workspace/src", "home", "elsewhere", "policies"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "workspace/src/a").write_text("one\n")
    (tmp_path / "workspace/.env").write_text("KEY=x\n")
    (tmp_path / "policies/user.yaml").write_text(POLICY.replace("ELSEWHERE", f"/{tmp_path}/elsewhere/**"))
    return tmp_path


def opened(place: Path, **more: object) -> Gateway:
    where = Places(
        str(place / "etc"), str(place / "config"), state=str(place / "state"), cache=warm(place / "cache"),
        home=str(place / "home"),
    )  # fmt: skip
    options = Options(str(place / "workspace"), str(place / "policies"), root=str(place / "workspace"), binding=True)
    return Gateway(options.replace(**more), where=where)


def script(place: Path, text: str) -> str:
    (place / "workspace/x.py").write_text(text)
    return "python3 -S x.py"


def test_what_it_changes_in_the_workspace_stays_and_is_taken_back(place: Path) -> None:
    gateway = opened(place)
    text = script(place, "import os; open('src/a', 'a').write('two\\n'); os.makedirs('new/d'); os.unlink('x.py')")
    before = tree(place / "workspace")
    with Executor(gateway) as executor:
        done = executor.run(text)
    assert (done.verdict.decision, done.verdict.changes, done.result.status) == (Decision.ALLOW, "keep", 0)
    assert (place / "workspace/src/a").read_text() == "one\ntwo\n"
    assert Changes(gateway).undo(1).stays == {}
    assert tree(place / "workspace") == before


@pytest.mark.parametrize(
    "text",
    [
        "open('ELSEWHERE/x', 'w')",
        "open('/etc/x', 'w')",
        "open('.env').read()",
        "open('.git/hooks/pre-commit', 'w')",
        "import urllib.request; urllib.request.urlopen('http://example.com/', timeout=5)",
        "import socket; socket.create_connection(('1.1.1.1', 443), 5)",
        "import os; os.kill(1, 0); os.kill(PARENT, 0)",
        "import ctypes, os; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    ],
)
def test_nothing_that_the_profile_gives_is_part_of_it(place: Path, text: str) -> None:
    (place / "workspace/.git/hooks").mkdir(parents=True)
    (place / "workspace/.git/HEAD").write_text("ref: refs/heads/main\n")
    text = text.replace("ELSEWHERE", str(place / "elsewhere")).replace("PARENT", str(os.getpid()))
    with Executor(opened(place)) as executor:
        done = executor.run(script(place, text))
    assert (done.verdict.changes, done.result.status != 0) == ("keep", True), done.result


def test_a_rule_of_ones_own_gives_the_profile_instead(place: Path) -> None:
    """The twin: by a rule that is not about what is contained, the same call writes elsewhere."""
    with (place / "policies/user.yaml").open("a") as file:
        file.write("  - {id: own, allow: {effect: code, confined: true}}\n")
    with Executor(opened(place)) as executor:
        done = executor.run(script(place, f"open('{place}/elsewhere/x', 'w').write('x')"))
    assert (done.verdict.changes, done.result.status) == ("none", 0)
    assert (place / "elsewhere/x").read_text() == "x"


def test_what_it_names_elsewhere_is_judged_before(place: Path) -> None:
    with Executor(opened(place)) as executor:
        done = executor.run(f"{script(place, 'print(1)')} > /srv/elsewhere")
    assert (done.verdict.decision, done.verdict.changes) == (Decision.ASK, "none")


def test_what_cannot_be_saved_is_not_changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.sandbox.changes.saver.MOST_COPIED", 3)
    with Executor(opened(place)) as executor:
        done = executor.run(script(place, "open('new', 'w').write('x'); open('src/a', 'a').write('two')"))
    assert (done.verdict.changes, done.result.status) == ("keep", 1)
    assert b"Operation not permitted: 'src/a'" in done.result.stderr
    assert ((place / "workspace/src/a").read_text(), (place / "workspace/new").read_text()) == ("one\n", "x")


@pytest.mark.parametrize("does", ["open('src/a', 'a')", "os.truncate('src/a', 1)", "os.unlink('src/a')"])
def test_what_cannot_be_saved_is_not_changed_by_whoever_tries_again(
    does: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_given: object) -> None:
        raise OSError(errno.EXDEV, "another disk")

    monkeypatch.setattr("gateway.sandbox.changes.saver.Saver._link_to", refuses)
    monkeypatch.setattr("gateway.sandbox.changes.saver.MOST_COPIED", 3)
    tries = (
        f"import os\nfor _ in range(3):\n    try: {does}; print('done')\n    except PermissionError: print('refused')"
    )
    with Executor(opened(place)) as executor:
        done = executor.run(script(place, tries))
    assert (done.result.stdout, (place / "workspace/src/a").read_text()) == (b"refused\n" * 3, "one\n")


def test_it_does_not_start_where_nothing_can_be_saved(place: Path) -> None:
    text = script(place, "open('new', 'w')")
    with Executor(opened(place), saves_changes=False) as executor:
        unsaved = executor.run(text).result
    with Executor(opened(place), runner=Runner(str(place / "quarantine"), (Bubblewrap(),))) as executor:
        untold = executor.run(text).result
    with Executor(opened(place), runner=Runner(str(place / "quarantine"), (Spaces(),))) as executor:
        told = executor.run(text).result
    assert [(each.ended, "could not be undone" in each.reason) for each in (unsaved, untold)] == [
        ("refused", False), ("failed", True)
    ]  # fmt: skip
    assert told.status == 0


def stopped(place: Path) -> Path:
    """A rebase that a person has stopped in, in the workspace: what is left of it."""
    root = place / "workspace"

    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "sequence.editor=sed -i 1s/pick/edit/")
        subprocess.run(["git", *who, *words], cwd=root, check=False, capture_output=True)

    git("init", "-q", "-b", "main")
    for number in range(3):
        (root / "f").write_text(str(number))
        git("add", "f")
        git("commit", "-qm", str(number))
    git("rebase", "-i", "HEAD~2")
    todo = root / ".git/rebase-merge/git-rebase-todo"
    assert todo.exists()
    return todo


@pytest.mark.parametrize(
    "text",
    [
        "open('.git/rebase-merge/git-rebase-todo', 'a').write('exec touch x\\n')",
        "import os; os.rename('.git/rebase-merge', '.git/x')",
        "import os; open('t', 'w').write('exec touch x\\n'); os.replace('t', '.git/rebase-merge/git-rebase-todo')",
        "import os; os.unlink('.git/rebase-merge/git-rebase-todo')",
    ],
)
def test_code_adds_nothing_to_a_rebase_that_a_person_has_stopped_in(place: Path, text: str) -> None:
    todo = stopped(place)
    before = todo.read_text()
    with Executor(opened(place)) as executor:
        done = executor.run(script(place, text))
    assert (done.verdict.decision, done.result.status) == (Decision.ALLOW, 1)
    assert todo.read_text() == before
    subprocess.run(["python3", "-S", "x.py"], cwd=place / "workspace", check=True)  # without a guard it does
    assert not todo.exists() or todo.read_text() != before


@pytest.mark.parametrize("text", ["git rebase --continue", "bash own.sh"])
def test_a_rebase_of_its_own_goes_on(place: Path, text: str) -> None:
    todo = stopped(place)
    git = "git -c user.name=x -c user.email=x@example.com"
    if text != "git rebase --continue":
        subprocess.run(["git", "rebase", "--abort"], cwd=place / "workspace", check=True, capture_output=True)
        (place / "workspace/own.sh").write_text(
            f"set -e\n{git} -c sequence.editor='sed -i 1s/pick/edit/' rebase -i HEAD~2\n{git} rebase --continue\n"
        )
    with Executor(opened(place)) as executor:
        done = executor.run(text.replace("git rebase", f"{git} rebase"))
    assert (done.verdict.decision, done.result.status, done.result.violations) == (Decision.ALLOW, 0, ())
    assert not todo.parent.exists()
