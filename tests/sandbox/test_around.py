"""What a call leaves behind, or does while the person works, harms nobody later: each attempt as a rule lets it run,
and its twin without a sandbox, which does the harm."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH
from patience import crowd, patience
from warmed import warm

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.model.decision import Decision
from gateway.sandbox import changed_folders, guard, index
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.run import Runner

from .attempts.around import ATTEMPTS, LONG_USES, LOSSES, SECRET, USES, WORDS, Around, Use
from .world import passes_for_nobody

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gateway.model.result import Result

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made on Linux")
ALL = os.environ.get("GATEWAY_ATTEMPTS") == "all"
FORMS = (Spaces, Bubblewrap) if ALL else (Spaces,)


def some(of: int) -> list[Around]:
    """Each so many-th of each theme, at least one; more in a thorough run, and all in `scripts/attempts --around`."""
    of = of * 2 // 3 if THOROUGH else of
    themes = itertools.groupby(sorted(ATTEMPTS, key=lambda each: each.theme), key=lambda each: each.theme)
    return [*ATTEMPTS] if ALL else [each for _theme, found in themes for each in [*found][-1::-of]]


PATH = "/usr/local/bin:/usr/bin:/bin"  # the person's
POLICY = "version: 1\nextends: [daily]\nsettings: {limits: {seconds: 60}}\n"


class Place:
    """A project with a repository, a person's home, and a proof that no call can make."""

    def __init__(self, top: Path, repository: Path) -> None:
        """`repository`: what the project is a copy of."""
        self.top = top
        self.project = top / "project"
        shutil.copytree(repository, self.project, symlinks=True)
        self.proof = top / "proof"
        (top / "policies").mkdir()
        (top / "policies" / "user.yaml").write_text(POLICY, encoding="utf-8")
        self.environment = {
            "HOME": str(top / "home"), "PATH": PATH, "PROOF": str(self.proof),
            "GIT_CONFIG_NOSYSTEM": "1", "MOST": "300",
        }  # fmt: skip

    def person(self, text: str) -> None:
        """What the person does. It may fail: then it did not harm."""
        subprocess.run(
            ["/bin/bash", "-c", text], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False,
        )  # fmt: skip

    def write(self, text: str) -> None:
        """The next call: what `make attempt` starts."""
        (self.project / "Makefile").write_text("attempt:\n\t@bash ./attempt.sh\n", encoding="utf-8")
        script = f"PROOF='{self.proof}'\n{WORDS}\n{text}\n"
        (self.project / "attempt.sh").write_bytes(script.encode("utf-8", "surrogateescape"))

    def meanwhile(self, attempt: Around) -> threading.Thread:
        """What the person does while the call runs."""

        def work() -> None:
            end = time.monotonic() + patience(20)
            while not (self.project / "ready").exists() and time.monotonic() < end:
                time.sleep(0.01)
            if attempt.theme != "meanwhile":
                self.person(f"{attempt.meanwhile}; sleep {0.2 * crowd():.1f}; touch go")
            else:
                self.person(f"touch go; {attempt.meanwhile}")

        thread = threading.Thread(target=work)
        if attempt.meanwhile:
            thread.start()
        return thread

    def harmed(self, attempt: Around, output: bytes) -> bool:
        """Whether the attempt worked, once the person has gone on."""
        self.person(attempt.then)
        return SECRET.encode() in output if attempt.said else self.proof.exists()

    def executor(self, form: Spaces | Bubblewrap) -> Executor:
        options = Options(str(self.project), str(self.top / "policies"), root=str(self.project), binding=True)
        return Executor(Gateway(options), runner=Runner(str(self.top / "quarantine"), (form,)))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("repository") / "project"
    made.mkdir()
    environment = {"HOME": str(made.parent), "PATH": PATH, "GIT_CONFIG_NOSYSTEM": "1"}
    text = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first"
    subprocess.run(["/bin/bash", "-c", text], cwd=made, env=environment, check=False)
    return made


@pytest.fixture
def here(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    warm(home / ".cache" / "gateway")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    yield Place(tmp_path, repository)
    made = [str(tmp_path / "project"), str(tmp_path / "quarantine")]
    subprocess.run(["chmod", "-R", "u+rwx", *made], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", *made], check=False)


@pytest.fixture(scope="module", params=FORMS, ids=lambda each: each.name)
def form(request: pytest.FixtureRequest) -> Spaces | Bubblewrap:
    made: Spaces | Bubblewrap = request.param()
    if not (probe := made.probe()).works:
        pytest.skip(f"{made.name} does not hold here: {probe.reason}")
    return made


def lacking(needs: Sequence[str]) -> str:
    return next((f"{each} is not installed" for each in ("make", *needs) if shutil.which(each, path=PATH) is None), "")


@pytest.mark.parametrize("attempt", some(18), ids=lambda each: each.name)
def test_it_works_without_a_sandbox(attempt: Around, here: Place) -> None:
    if reason := lacking(attempt.needs):
        pytest.skip(reason)
    here.environment["MOST"] = "3"  # nobody takes it away
    here.person(attempt.before)
    here.write(attempt.text)
    thread = here.meanwhile(attempt)
    done = subprocess.run(
        ["make", "attempt"],
        cwd=here.project,
        env=here.environment,
        capture_output=True,
        timeout=patience(60),
        check=False,
    )
    if attempt.meanwhile:
        thread.join()
    assert here.harmed(attempt, done.stdout), done


@pytest.mark.parametrize("attempt", some(9), ids=lambda each: each.name)
def test_the_gateway_holds_it_and_the_next_call_runs(attempt: Around, here: Place, form: Spaces | Bubblewrap) -> None:
    if reason := lacking(attempt.needs):
        pytest.skip(reason)
    here.person(attempt.before)
    here.write(attempt.text)
    with here.executor(form) as executor:
        thread = here.meanwhile(attempt)
        done = executor.run("make attempt")
        if attempt.meanwhile:
            thread.join()
        assert (done.verdict.decision, done.result.backend) == (Decision.ALLOW, form.name), done
        assert not here.harmed(attempt, done.result.stdout), done.result
        here.write("echo goes on")
        again = executor.run("make attempt")
        assert (again.result.ended, again.result.status, again.result.stdout) == ("exited", 0, b"goes on\n"), again


@pytest.mark.parametrize("use", (*USES, *LONG_USES) if THOROUGH or ALL else USES, ids=lambda each: each.name)
def test_ordinary_work_goes_on(use: Use, here: Place, form: Spaces | Bubblewrap) -> None:
    if reason := lacking(use.needs):
        pytest.skip(reason)
    if form.name not in use.forms:
        pytest.skip("this form keeps caches in another way")
    here.person(use.before)
    with here.executor(form) as executor:
        for text in use.texts:
            here.write(text)
            meanwhile = Around("", "meanwhile", "", meanwhile="echo y > g; mv g f" if "until_go" in text else "")
            thread = here.meanwhile(meanwhile)
            done = executor.run("make attempt")
            if meanwhile.meanwhile:
                thread.join()
            told: Result = done.result
            assert (told.ended, told.status, told.violations) == ("exited", 0, ()), told
    here.person(f'{{ {use.then}; }} && touch "$PROOF"')
    assert here.proof.exists()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: each.name)
def test_what_was_there_before_the_call_stays_whatever_the_call_hides_it_in(
    loss: Around, here: Place, form: Spaces | Bubblewrap
) -> None:
    here.person(loss.before)
    here.write(loss.text)
    with here.executor(form) as executor:
        done = executor.run("make attempt")
        assert (done.verdict.decision, done.result.backend) == (Decision.ALLOW, form.name), done
        assert done.result.violations, done
        assert not here.harmed(loss, b""), done
        found = [each.read_text() for each in here.project.rglob("*") if "precious" in each.name]
        here.write("echo goes on")
        again = executor.run("make attempt")
    assert found == ["mine\n"] * 2, done.result
    assert (again.result.ended, again.result.status, again.result.stdout) == ("exited", 0, b"goes on\n"), again


# What the person has, what the first of two calls makes of it, and how the person sees that it is theirs.
OVERLAPPING = {
    "a link": (
        "mkdir conf; ln -s conf .vscode",
        "mkdir evil; echo x > evil/tasks.json; ln -sfn evil .vscode",
        "test conf = $(readlink .vscode)",
    ),
    "a file with two names": ("echo mine > other; ln other .mcp.json", "echo x > other", "grep -q mine .mcp.json"),
}


@pytest.mark.parametrize("what", OVERLAPPING)
def test_what_one_of_two_calls_made_of_a_protected_name_is_not_put_back_by_the_other(
    what: str, here: Place, form: Spaces | Bubblewrap
) -> None:
    before, text, is_theirs = OVERLAPPING[what]
    harm = f'{is_theirs} || touch "$PROOF"'
    here.person(before)
    twin = here.top / "twin"
    shutil.copytree(here.project, twin, symlinks=True)
    here.person(f'cd "{twin}"; ln -f other .mcp.json; {text}; {harm}')
    assert here.proof.exists()
    here.proof.unlink()
    here.write(f"{text}; touch begun; while [ ! -e met ]; do sleep 0.01; done")
    (here.project / "Makefile").write_text(
        "attempt:\n\t@bash ./attempt.sh\nmeet:\n\t@touch met; while [ ! -e ended ]; do sleep 0.01; done\n"
    )
    with here.executor(form) as executor:
        done: list[Result] = []
        calls = [threading.Thread(target=lambda to=to: done.append(executor.run(f"make {to}").result))  # type: ignore[misc]
                 for to in ("attempt", "meet")]  # fmt: skip
        calls[0].start()
        end = time.monotonic() + patience(20)
        while not (here.project / "begun").exists() and time.monotonic() < end:
            time.sleep(0.01)
        calls[1].start()
        calls[0].join()
        (here.project / "ended").touch()
        calls[1].join()
    assert {each.ended for each in done} <= {"exited", "limit"}, done  # one that loses what it holds is ended
    here.person(harm)
    assert not here.proof.exists(), done


def test_new_folders_go_where_there_are_more_than_the_next_call_could_be_planned_with(
    here: Place, form: Spaces | Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.person("mkdir -p old/a; echo x > old/f")
    monkeypatch.setattr(index, "MAX_FOLDERS", 60)
    with here.executor(form) as executor:
        here.write("mkdir -p new/{1..100} old/new; echo x > new/f; echo x > kept")
        done = executor.run("make attempt").result
        assert [each.target for each in done.violations] == [f"{here.project}/new", f"{here.project}/old/new"]
        assert all(
            "holds more than 60 folders" in each.hint and "was moved to" in each.hint for each in done.violations
        )
        assert sorted(os.listdir(here.project / "old")) == ["a", "f"]
        assert (here.project / "kept").exists()
        here.write("true")
        assert executor.run("make attempt").result.status == 0
    (folder,) = (here.top / "quarantine").iterdir()
    assert len(json.loads((folder / "manifest.json").read_text())["taken"]) == 2


def test_where_no_watch_is_left_the_result_says_so_and_what_came_is_dealt_with(
    here: Place, form: Spaces | Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_folders, "MOST", 2)
    with here.executor(form) as executor:
        here.write("mkdir -p a/b/.claude; echo x > a/b/.claude/settings.json")
        done = executor.run("make attempt").result
    assert [each for each in done.degraded if "tells of changes in some folders only" in each]
    assert [each.target for each in done.violations] == [f"{here.project}/a/b/.claude"]


def test_a_call_over_which_nobody_can_watch_any_more_is_ended(
    here: Place, form: Spaces | Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_self: object, _stirred: bool) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(guard.Guard, "_look", fails)
    with here.executor(form) as executor:
        here.write("mkdir .claude; sleep 20")
        done = executor.run("make attempt").result
    assert (done.ended, done.reason) == ("limit", "what watches over protected names while it runs has failed")


def test_there_are_enough_of_them_each_with_its_own_name() -> None:
    assert len({each.name for each in ATTEMPTS}) == len(ATTEMPTS) >= 80
    assert len({each.name for each in (*USES, *LONG_USES)}) == len((*USES, *LONG_USES))


@pytest.mark.skipif(not ALL, reason="scripts/attempts --around makes all of them")
@pytest.mark.skipif(os.geteuid() != 0, reason="this run is by an ordinary user already")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_the_same_holds_for_an_ordinary_user() -> None:
    sys.stderr.write(f"as an ordinary user: {passes_for_nobody([__file__], 1800)}\n")
