"""Pages whose commands are run: each must print what stands below it.

In a block `console` each line that starts with `$ ` is a command, and what follows is what it prints: a line `...`
stands for any lines, and `...` in a line for any part of it. What a block needs that not every machine has stands
behind `console`: `sandbox`, `mcp`, `model`, `managed`. A block `yaml` whose first line is a comment with a path is
written to that file at that point.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import ownetc
from fuzzing import THOROUGH
from inprocess import called
from warmed import warm

from gateway.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PYTHON = shlex.quote(sys.executable)
_MARK = "@@ end of a command "
_SECONDS = 170
_BLOCK = re.compile(r"^```(console|yaml) *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# ([~.]?[\w.-]*/[\w./-]+\.yaml)\n")
# Words that mean the same without a shell, to commands that only look; the first line alone, where that is wanted.
_WORD = r"""'[^']*'|"(?:[^"\\$`]|\\["\\])*"|[\w./=:@,+-]+"""
_PYTHON = re.compile(rf"python (\w+\.py(?: (?:{_WORD}))*)")
_PLAIN = re.compile(rf"gateway ((?:check|policy|commands|audit|why|--version)(?: (?:{_WORD}))*)( \| head -1)?")


class Command(Value):
    """A command of a page, what has to be there for it, and what it prints."""

    text: str
    needs: frozenset[str]
    expected: tuple[str, ...]


def commands_of(page: str) -> list[Command]:
    """The commands of a page in their order; to write a file that it shows is one of them."""
    found = []
    for kind, needs, block in _BLOCK.findall(page):
        if kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                text, *expected = part.rstrip("\n").split("\n")
                found.append(Command(text, frozenset(needs.split()), tuple(expected)))
        elif named := _NAMED.match(block):
            path = named[1]
            text = f"mkdir -p {os.path.dirname(path)} && cat > {path} <<'@@'\n{block}@@"
            found.append(Command(text, frozenset(), ()))
    return found


def prints(expected: tuple[str, ...]) -> re.Pattern[str]:
    """The outputs that fit."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else ".*".join(re.escape(each) for each in line.split("...")) + r"\n"
        for line in expected
    ]
    return re.compile("".join(lines))


def check(commands: list[Command], said: list[str]) -> None:
    """Fails with the commands that printed something else than their page says, and what they printed."""
    wrong = [
        f"$ {each.text}\n{text}"
        for each, text in zip(commands, said, strict=True)
        if not prints(each.expected).fullmatch(text)
    ]
    assert not wrong, "these print something else:\n" + "\n".join(wrong)


class World:
    """A home folder of its own with the commands of this package, and a project in it."""

    def __init__(self, name: str, top: Path, source: Path | None = None) -> None:
        """`name`: of the project below the home. `source`: the folder that it is a copy of; else a README alone."""
        self.home = Path(os.path.realpath(top)) / "home"
        self.project = self.home / name
        programs = top / "bin"
        programs.mkdir()
        for program, words in {
            "gateway": f'{PYTHON} -m gateway "$@"',
            "gateway-shell": f'{PYTHON} -c "from gateway.frontends.shell import main; exit(main())" "$@"',
            "python": f'{PYTHON} "$@"',
        }.items():
            (programs / program).write_text(f"#!/bin/sh\nexec {words}\n", encoding="utf-8")
            (programs / program).chmod(0o755)
        if source is None:
            self.project.mkdir(parents=True)
            (self.project / "README.md").write_text("A project.\n", encoding="utf-8")
        else:
            shutil.copytree(source, self.project)
        (self.project / ".git").mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        warm(top / "cache" / "gateway")
        self.environment = {
            "HOME": str(self.home), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "250", "XDG_CACHE_HOME": str(top / "cache"),
            "GATEWAY_SERVICE": "off",
        }  # fmt: skip

    def run(self, commands: list[Command], wrapper: list[str], cwd: Path | None = None, **env: str) -> list[str]:
        """What each command prints, all run by one shell as at a terminal, in the project or in `cwd`."""
        return self._typed([each.text for each in commands], wrapper, cwd or self.project, env)[0]

    def look(self, commands: list[Command], cwd: Path) -> list[str]:
        """The same, where each line stands for itself but for the folder it goes to: what only looks is called in this
        process, if time is a concern."""
        said: list[str] = []
        for is_plain, texts in groupby((each.text for each in commands), lambda text: bool(_PLAIN.fullmatch(text))):
            if is_plain and not THOROUGH:
                said += [self._called(text, cwd) for text in texts]
            else:
                more, cwd = self._typed(list(texts), [], cwd, {})
                said += more
        return said

    def _typed(self, texts: list[str], wrapper: list[str], cwd: Path, env: dict[str, str]) -> tuple[list[str], Path]:
        """What each line prints, and the folder in which the shell ends."""
        lines = list(_lines(texts))
        done = subprocess.run(
            [*wrapper, "bash", "-c", "exec 2>&1 < /dev/null\n" + "\n".join([*lines, "pwd"])], cwd=cwd,
            env=self.environment | env, capture_output=True, timeout=_SECONDS, check=False, start_new_session=True,
        )  # fmt: skip
        *said, ended = done.stdout.decode("utf-8", "replace").split(_MARK)
        return [self._shown(each) for each in said], Path(ended.strip("\n"))

    def _called(self, text: str, cwd: Path) -> str:
        found = _PLAIN.fullmatch(text)
        assert found is not None
        done = called(shlex.split(found[1]), cwd, self.environment)
        out = done.stdout.partition(b"\n")[0] if found[2] else done.stdout
        return self._shown((out + done.stderr).decode("utf-8", "replace"))

    def _shown(self, text: str) -> str:
        text = text.replace(str(self.home), "~").strip("\n")
        return text + "\n" if text else ""


def _lines(texts: list[str]) -> Iterator[str]:
    """What bash is given of these: each with the mark of its end behind it. Programs in Python that stand beside each
    other are run by one, if time is a concern: most of their time goes into what they import."""
    for is_python, some in groupby(texts, lambda text: bool(_PYTHON.fullmatch(text))):
        if is_python and not THOROUGH:
            programs = [found[1] for text in some if (found := _PYTHON.fullmatch(text))]
            yield f"python -c {shlex.quote(_SEVERAL)} " + " ".join(map(shlex.quote, programs))
        else:
            yield from (f"{text}\nprintf '\\n%s\\n' '{_MARK}'" for text in some)


_SEVERAL = f"""\
import runpy, shlex, sys
for words in [shlex.split(each) for each in sys.argv[1:]]:
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
    print("\\n{_MARK}", flush=True)
"""


@functools.cache
def things_here() -> frozenset[str]:
    """What this machine has of that which blocks may need."""
    from gateway.frontends.cli.doctor import sandbox_findings
    from gateway.sandbox.backends.choose import BEST

    found = set()
    states = {each.name: each.state for each in sandbox_findings()}
    if any(states.get(name) == "ok" for name in BEST["linux"]):
        found.add("sandbox")
    if any(os.access(f"/{each}/python3", os.X_OK) for each in ("usr/local/bin", "usr/bin", "bin")):
        found.add("python3")
    for name, module in (("mcp", "mcp"), ("model", "anthropic")):
        if find_spec(module) is not None:
            found.add(name)
    if ownetc.holds():
        found.add("managed")
    return frozenset(found)
