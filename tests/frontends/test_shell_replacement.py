"""`gateway-shell` in the place of a shell: real programs start it, and what they have it run is judged and confined."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import starting
from fuzzing import THOROUGH
from warmed import warm

from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICY = """\
version: 1
extends: [guard]
settings: {sandbox: {write: ["./**"]}}
rules:
  - {id: everything, allow: "Bash(*)"}
  - {id: never, deny: "Bash(forbidden *)", because: nobody may}
  - {id: sometimes, ask: "Bash(asked *)"}
"""
ROOT = Path(__file__).parents[2]


class Place:
    """A project, and a shell for the programs in it."""

    def __init__(self, top: Path) -> None:
        self.project = top / "project"
        self.home = top / "home"
        self.project.mkdir()
        (self.home / ".config" / "gateway").mkdir(parents=True)
        (self.home / ".config" / "gateway" / "policy.yaml").write_text(POLICY, encoding="utf-8")
        self.shell = top / "bin" / "gateway-shell"
        self.shell.parent.mkdir()
        self.shell.write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -c 'import sys; sys.path.insert(0, \"{ROOT}\")\n"
            'from gateway.frontends.shell import main\nsys.exit(main())\' "$@"\n',
            encoding="utf-8",
        )
        self.shell.chmod(0o755)
        self.environment = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": str(self.shell)}
        warm(self.home / ".cache" / "gateway")

    def run(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            words, cwd=self.project, env=self.environment, input=stdin, capture_output=True, timeout=120, check=False
        )

    def sh(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """What the shell does with these words. A thorough run starts the shell itself, other runs what it goes on as:
        make, script, git and npm start it in every run."""
        if THOROUGH:
            return self.run(str(self.shell), *words, stdin=stdin)
        return starting.run(
            [*starting.GATEWAY, "exec", "--as-shell", "--", *words], cwd=self.project, env=self.environment,
            input=stdin, capture_output=True, timeout=120, check=False,
        )  # fmt: skip

    def write(self, name: str, text: str) -> None:
        (self.project / name).write_text(text, encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    return Place(tmp_path)


def program(name: str) -> str:
    found = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    if found is None:
        pytest.skip(f"{name} is not here")
    return found


@pytest.mark.parametrize(
    ("words", "stdin", "status", "out"),
    [
        (("-c", "echo a; exit 3"), b"", 3, b"a\n"),
        (("-lc", "echo $1 $2", "name", "x", "y z"), b"", 0, b"x y z\n"),
        (("-c", "cat"), b"given", 0, b"given"),
        (("-e", "script", "x"), b"", 1, b"x\n"),
        ((), b"echo one\nexit 4\n", 4, b"one\n"),
        (("-s", "x"), b"echo $1\n", 0, b"x\n"),
        (("-c", ""), b"", 0, b""),
        (("-c", "echo $SHELL"), b"", 0, b"/bin/bash\n"),
        (("-c", "kill -TERM $$"), b"", 143, b""),
    ],
    ids=[
        "a text", "words of its own", "input", "a script", "a script on input", "input with words", "nothing",
        "a shell inside", "a signal",
    ],
)  # fmt: skip
def test_it_runs_what_a_shell_would(here: Place, words: Sequence[str], stdin: bytes, status: int, out: bytes) -> None:
    here.write("script", "echo $1\nfalse\necho never\n")
    done = here.sh(*words, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (status, out, b"")


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("-c", "forbidden x"), b""),
        (("-lc", "echo a; forbidden x"), b""),
        (("-c", "asked x"), b""),
        (("script",), b""),
        ((), b"forbidden x\n"),
        (("-c", 'sh -c "forbidden x"'), b""),
    ],
    ids=["a text", "a part of one", "a question", "a script", "a script on input", "a shell inside"],
)
def test_what_policy_refuses_does_not_run(here: Place, words: Sequence[str], stdin: bytes) -> None:
    here.write("script", "touch ran\nforbidden x\n")
    done = here.sh(*words, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr[:18]) == (126, b"", b"gateway: refused: ")
    assert not (here.project / "ran").exists()


def test_a_script_runs_as_it_was_read(here: Place) -> None:
    """Nothing reads the file a second time, when it may be another."""
    here.write("other", "echo other\n")
    here.write("script", "cp other script\necho first\n")
    done = here.sh("script")
    assert (done.stdout, done.stderr) == (b"first\n", b"")


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "its twin without"])
def test_what_was_not_predicted_is_held_by_the_sandbox(here: Place, is_held: bool) -> None:
    outside = here.project.parent / "outside"
    here.write("x.py", f"open({str(outside)!r}, 'w')\n")
    words = (str(here.shell) if is_held else "bash", "-c", "python3 x.py")
    here.run(*words)
    assert outside.exists() is not is_held


def test_make_runs_its_recipes_through_it(here: Place) -> None:
    here.write("Makefile", "good:\n\t@echo made; touch $@\nbad: good\n\t@forbidden x; touch $@\n")
    done = here.run(program("make"), f"SHELL={here.shell}", "bad")
    assert (done.returncode, done.stdout) == (2, b"made\n")
    assert b"gateway: refused: " in done.stderr
    assert sorted(os.listdir(here.project)) == ["Makefile", "good"]


def test_script_starts_it(here: Place) -> None:
    done = here.run(program("script"), "-qec", "echo in $(pwd)", "/dev/null")
    assert done.stdout.replace(b"\r", b"") == f"in {here.project}\n".encode()
    refused = here.run(program("script"), "-qec", "forbidden x", "/dev/null")
    assert (refused.returncode, b"gateway: refused: " in refused.stdout) == (126, True)


def test_git_runs_what_it_is_told_to_edit_with_through_it(here: Place) -> None:
    """git's own shell is fixed when it is built; what asks for SHELL is what it starts."""
    git = program("git")
    done = here.run(git, "-c", "alias.x=!$SHELL -c 'forbidden x'", "x")
    assert (done.returncode, b"gateway: refused: " in done.stderr) == (126, True)
    assert here.run(git, "-c", "alias.x=!$SHELL -c 'echo alias'", "x").stdout == b"alias\n"


def test_npm_runs_its_scripts_through_it(here: Place) -> None:
    npm = program("npm")
    here.write("package.json", json.dumps({"scripts": {"good": "echo good", "bad": "touch ran && forbidden x"}}))
    options = (f"--script-shell={here.shell}", "--no-update-notifier", "--silent")
    assert here.run(npm, "run", "good", *options).stdout == b"good\n"
    assert here.run(npm, "run", "bad", *options).returncode == 126
    assert not (here.project / "ran").exists()


@pytest.mark.parametrize("form", ["-e {0}", "--noprofile --norc -eo pipefail {0}", "{0}"])
def test_steps_of_ci_run_through_it(here: Place, form: str) -> None:
    """As runners do with `shell: gateway-shell -e {0}`: the step is written to a file, which stands for `{0}`."""
    step = here.project.parent / "step.sh"
    step.write_text("cd sub\ntouch done\n", encoding="utf-8")
    (here.project / "sub").mkdir()
    words = form.replace("{0}", str(step)).split()
    assert here.sh(*words).returncode == 0
    assert (here.project / "sub" / "done").exists()
    step.write_text("touch more\nforbidden x\n", encoding="utf-8")
    assert here.sh(*words).returncode == 126
    assert not (here.project / "more").exists()


def test_it_is_not_typed_into(here: Place) -> None:
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(here.project)
        os.execve(here.shell, [str(here.shell)], here.environment)
    shown = b""
    try:
        while select.select([screen], [], [], 60)[0]:
            shown += os.read(screen, 4096)
    except OSError:
        pass  # it has ended
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"is not interactive" in shown


def test_options_of_ours_stand_before_the_words(here: Place) -> None:
    words = [sys.executable, "-c", "import sys; from gateway.frontends.main import main; sys.exit(main())", "exec"]
    here.environment["PYTHONPATH"] = str(ROOT)
    done = here.run(*words, "--as-shell", "--mode", "plan", "--", "-c", "touch ran")
    assert (done.returncode, (here.project / "ran").exists()) == (126, False)
    assert here.run(*words, "--as-shell", "-c", "ls").returncode == 2
