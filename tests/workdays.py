"""Days of work in real projects, lived plainly and through the gateway: what runs unasked must do what it does without.

`tests/workdays/*.yaml` holds a world each: the files of a project, what makes it ready (compilers, packages), and the
commands of a day. A world is made once and lived three times at the same place, each time from the same files: twice
plainly, which shows what varies by itself, and once by calls of one session in the mode `accept_edits`. Of each command
the exit status, what it printed and what it changed in the project are compared, but for what the two plain ones do
differently, and for files that a world names under `varies`, with the reason. Where the gateway asks, the command is
run plainly, as if a person had said yes and done it, so that those after it find what they need.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import yaml
from patience import patience

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateway.calls.session import Session

FOLDER = Path(__file__).parent / "workdays"
WORLDS = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
MODE = "accept_edits"
SECONDS = 300
# What a shell of a developer has, and a command through the gateway is given as well.
KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "JAVA_HOME", "GOROOT", "PYENV_ROOT")
# Where compilers lie that were installed for the real home.
TOOLCHAINS = {"RUSTUP_HOME": "~/.rustup", "PYENV_ROOT": "~/.pyenv"}
# Settings of package managers, for making a world only: from where packages come is no part of its day.
SOURCES = {"PIP_CONFIG_FILE": "~/.config/pip/pip.conf", "NPM_CONFIG_USERCONFIG": "~/.npmrc"}
SOURCE_NAMES = ("PIP_*", "NPM_CONFIG_*", "UV_*", "CARGO_*", "GOPROXY", "*_PROXY", "*_proxy", "SSL_CERT_*")


class World(NamedTuple):
    """One project. `needs`: programs; `homes`: folders of the real home that its own begins with, if they are there;
    `make`: commands that may fetch; `day`: steps, see `Step`; `varies`: patterns of files that are not the same twice,
    though two days may leave them alike, each with the reason."""

    name: str
    about: str
    needs: tuple[str, ...]
    homes: tuple[str, ...]
    files: dict[str, str]
    make: tuple[str, ...]
    day: tuple[Step, ...]
    varies: dict[str, str] | None = None


class Step(NamedTuple):
    """One call. `text`: of a command, or of the file `path` that the tool Write writes. `name`: of a command that is to
    run in the background, and to be stopped by a step without a text. `refused`: the rule by which policy asks about
    the call, or denies it, as it should. `until`: what the gateway does not give yet, so that it may differ."""

    text: str
    path: str = ""
    name: str = ""
    refused: str = ""
    until: str = ""


class Lived(NamedTuple):
    """What became of one step. `rule`: who asked or refused, "" where nobody did. `changed`: what stands under
    each name of the project after it, of those that changed; None for what is gone."""

    status: int
    output: str
    changed: dict[str, str | None]
    rule: str = ""
    told: str = ""


class Outcome(NamedTuple):
    """A step, and in what the guarded one differs from the plain ones: status, output, tree; with details."""

    step: Step
    rule: str
    differs: tuple[str, ...]
    details: str = ""

    @property
    def free(self) -> bool:
        """Whether it ran unasked and did the same."""
        return not self.rule and not self.differs

    @property
    def by_policy(self) -> bool:
        """Whether it was refused by the rule by which it is to be."""
        return bool(self.rule) and self.rule == self.step.refused


def read(path: Path) -> World:
    """A world, checked: an unknown key or a step that is none is an error."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if unknown := set(document) - {"about", "needs", "homes", "varies", "files", "make", "day"}:
        raise ValueError(f"{path}: unknown keys {sorted(unknown)}")
    return World(
        path.stem,
        document["about"],
        tuple(document.get("needs", ())),
        tuple(document.get("homes", ())),
        document.get("files", {}),
        tuple(document.get("make", ())),
        tuple(_step(each, path) for each in document["day"]),
        document.get("varies", {}),
    )


def _step(given: str | dict[str, str], path: Path) -> Step:
    if isinstance(given, str):
        return Step(given)
    marks = {name: given[name] for name in ("refused", "until") if name in given}
    match {name: value for name, value in given.items() if name not in marks}:
        case {"run": text, **rest} if not set(rest) - {"background"}:
            return Step(text, name=rest.get("background", ""), **marks)
        case {"write": where, "text": text, **rest} if not rest:
            return Step(text, path=where, **marks)
        case {"stop": name, **rest} if not rest:
            return Step("", name=name, **marks)
    raise ValueError(f"{path}: {given!r} is no step")


def lacking(world: World) -> str:
    """The program that a world needs and this machine lacks, "" if it has all."""
    return next((each for each in world.needs if shutil.which(each) is None), "")


def live(world: World, top: Path) -> list[Outcome]:
    """Makes a world below `top`, a folder of its own, unless it was made there before; lives its day and compares.
    Raises RuntimeError where it cannot be made."""
    home, kept = top / "home", top / "kept"
    environment = _environment(home)
    if not kept.exists():
        _make(world, home, environment)
        home.rename(kept)
    days = []
    for through in (Plain, Plain, Guarded):
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run(["cp", "-a", str(kept), str(home)], check=True)
        _forget(world)
        with through(home, environment) as shell:
            days.append([_lived(shell, step) for step in world.day])
        _forget(world)
    first, second, guarded = days
    varies = _varying(first, second, world.varies or ())
    return [
        _compared(step, one, two, three, varies)
        for step, one, two, three in zip(world.day, first, second, guarded, strict=True)
    ]


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    for name, place in TOOLCHAINS.items():
        if (found := Path(place).expanduser()).is_dir():
            kept.setdefault(name, str(found))
    kept["PATH"] = f"{home}/.local/bin:{kept['PATH']}"
    return {"LANG": "C.UTF-8", "TERM": "dumb", **kept, "HOME": str(home), "USER": "dev", "LOGNAME": "dev"}


def _make(world: World, home: Path, environment: dict[str, str]) -> None:
    project = home / "project"
    project.mkdir(parents=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Dev\n\temail = dev@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    for folder in world.homes:
        if (real := Path("~", folder).expanduser()).exists():
            subprocess.run(["cp", "-a", str(real), str(home / folder)], check=True)
    for name, text in world.files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)
    sources = {
        name: value
        for name, value in os.environ.items()
        if any(fnmatch.fnmatchcase(name, each) for each in SOURCE_NAMES)
    }
    for name, place in SOURCES.items():
        if (found := Path(place).expanduser()).is_file():
            sources.setdefault(name, str(found))
    commits = ("git init -q", *world.make, "git add -A && git commit -qm 'Begin'")
    for text in commits:
        done = subprocess.run(
            ["bash", "-c", text], cwd=project, env={**sources, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patience(900), check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{world.name}: {text} ended with {done.returncode}:\n{done.stdout.decode()[-3000:]}")


def _forget(world: World) -> None:
    """Takes away what a day has left in the temporary folder: all names there begin with the world's."""
    for path in glob.glob(f"/tmp/day-{world.name}*"):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


class Plain:
    """A shell's worth of commands without a guard: the working folder carries over."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.project = home / "project"
        self.cwd = str(self.project)
        self.environment = environment
        self.tree = Tree(self.project)
        self._jobs: dict[str, subprocess.Popen[bytes]] = {}
        self._left: list[int] = []

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_error: object) -> None:
        for name in list(self._jobs):
            self.stop(name)
        for group in self._left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def run(self, text: str) -> Lived:
        told, tell = os.pipe()
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):  # a job that is left may keep a pipe open
            job = subprocess.Popen(
                ["bash", "-c", f'eval "$1"; s=$?; pwd -P >&{tell}; exit $s', "bash", text], cwd=self.cwd,
                env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                pass_fds=(tell,), start_new_session=True,
            )  # fmt: skip
            os.close(tell)
            self._left.append(job.pid)
            try:
                status = job.wait(patience(SECONDS))
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                status = job.wait()
            os.set_blocking(told, False)
            with contextlib.suppress(BlockingIOError):
                self.cwd = os.read(told, 4096).decode().rstrip("\n") or self.cwd
            os.close(told)
            said = b""
            for file in (out, err):
                file.seek(0)
                said += file.read()
            return Lived(status if status >= 0 else 128 - status, said.decode(errors="replace"), {})

    def begin(self, text: str, name: str) -> Lived:
        """A command in the background."""
        self._jobs[name] = subprocess.Popen(
            ["bash", "-c", text], cwd=self.cwd, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        return Lived(0, "", {})

    def stop(self, name: str) -> Lived:
        """Ends a command that runs in the background."""
        job = self._jobs.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGTERM)
        try:
            job.wait(patience(5))
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        return Lived(0, "", {})

    def write(self, path: str, text: str) -> Lived:
        """A file, as an agent's tool writes it."""
        where = Path(self.cwd, path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")
        return Lived(0, "", {})


class Guarded(Plain):
    """The same by calls of one session. What is asked about is then done plainly."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        super().__init__(home, environment)
        self._stack = contextlib.ExitStack()
        self._shells: dict[str, str] = {}

    def __enter__(self) -> Guarded:
        self._stack.enter_context(mock.patch.dict(os.environ, self.environment, clear=True))
        options = Options(self.cwd, root=self.cwd, mode=MODE, binding=True)
        self.gateway = self._stack.enter_context(Gateway(options))
        self.session: Session = self._stack.enter_context(self.gateway.session())
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._stack.close()

    def _call(self, tool: str, **given: Any) -> tuple[Any, str, str]:
        done = self.gateway.call(RawCall(tool, given), session=self.session)
        asked = "" if done.ran else done.verdict.reason.rule.id or "nothing"
        return done, asked, done.text if asked else "\n".join(done.reports)

    def run(self, text: str) -> Lived:
        done, asked, told = self._call("Bash", command=text, timeout=SECONDS * 1000)
        if asked:
            return super().run(text)._replace(rule=asked, told=told)
        self.cwd = self.session.cwd
        result = done.result
        return Lived(result.status, (result.stdout + result.stderr).decode(errors="replace"), {}, told=done.text)

    def begin(self, text: str, name: str) -> Lived:
        done, asked, told = self._call("Bash", command=text, run_in_background=True)
        if asked:
            return super().begin(text, name)._replace(rule=asked, told=told)
        self._shells[name] = done.output.data["bash_id"]
        return Lived(0, "", {})

    def stop(self, name: str) -> Lived:
        if name not in self._shells:
            return super().stop(name)
        done, asked, told = self._call("KillShell", shell_id=self._shells.pop(name))
        return Lived(int(done.output.is_error), "", {}, asked, told)

    def write(self, path: str, text: str) -> Lived:
        where = str(Path(self.cwd, path))
        if Path(where).exists():
            self._call("Read", file_path=where)
        done, asked, told = self._call("Write", file_path=where, content=text)
        if asked:
            return super().write(path, text)._replace(rule=asked, told=told)
        return Lived(int(done.output.is_error), "", {}, told=done.text)


def _lived(shell: Plain, step: Step) -> Lived:
    if step.path:
        lived = shell.write(step.path, step.text)
    elif step.name:
        lived = shell.begin(step.text, step.name) if step.text else shell.stop(step.name)
    else:
        lived = shell.run(step.text)
    return lived._replace(changed=shell.tree.changed())


class Tree:
    """The files of a project, each with what it holds; git's own folder by what it says."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}
        self._before: dict[str, str] = {}
        self.changed()

    def changed(self) -> dict[str, str | None]:
        """What became of the names that changed since this was last asked."""
        now = dict(self._names(str(self._top), ""))
        now[".git"] = self._repository()
        before, self._before = self._before, now
        found: dict[str, str | None] = {name: said for name, said in now.items() if before.get(name) != said}
        found.update(dict.fromkeys(name for name in before if name not in now))
        return found

    def _names(self, folder: str, above: str) -> Iterator[tuple[str, str]]:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = above + entry.name
                if name == ".git":
                    continue
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    yield name + "/", "folder"
                    yield from self._names(entry.path, name + "/")
                else:
                    yield name, self._held(entry.path, status)

    def _held(self, path: str, status: os.stat_result) -> str:
        stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_mode)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            if stat.S_ISLNK(status.st_mode):
                held = f"link {os.readlink(path)}"
            elif stat.S_ISREG(status.st_mode):
                held = f"{stat.S_IMODE(status.st_mode):o} {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]}"
            else:
                held = f"{stat.S_IFMT(status.st_mode):o}"
            known = self._known[path] = stamp, held
        return known[1]

    def _repository(self) -> str:
        said = b""
        for words in (
            ("for-each-ref", "--format=%(refname) %(tree)"), ("log", "--all", "--format=%T %s"),
            ("ls-files", "--stage"),
            ("rev-parse", "--abbrev-ref", "HEAD"), ("config", "--local", "--list"), ("worktree", "list", "--porcelain"),
        ):  # fmt: skip
            done = subprocess.run(["git", *words], cwd=self._top, capture_output=True, check=False)
            said += re.sub(rb"HEAD [0-9a-f]{40}", b"", done.stdout)
        return hashlib.sha256(said).hexdigest()[:16]


_VARIES = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z| ?[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d([.,]\d+)?\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|m|min|h|sec|secs|seconds?)\b"), "LONG"),
    (re.compile(r"\b\d+m\d+(\.\d+)?s\b"), "LONG"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "HASH"),
    (re.compile(r"^\[\d+\] \d+$", re.MULTILINE), "JOB"),
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"^(/bin/)?bash: line \d+:", re.MULTILINE), "bash:"),
    # What `ls -l` says of the folder above, and how many blocks a folder has: not of the project.
    (re.compile(r"^(total \d+|d\S+ +\d+ .* \.\.)$", re.MULTILINE), "LISTED"),
)


def normal(output: str) -> str:
    """An output without what differs from one run to the next: times, durations, hashes, numbers of processes."""
    for pattern, said in _VARIES:
        output = pattern.sub(said, output)
    return "\n".join(line.rstrip() for line in output.splitlines())


def loose(output: str) -> str:
    """The same with no numbers, and its lines in no order: for what varies more."""
    return "\n".join(sorted(re.sub(r"[\d.]+", "#", normal(output)).split("\n")))


def _varying(first: list[Lived], second: list[Lived], said: Iterable[str] = ()) -> set[str]:
    """Names in the project that two plain days leave differently, folders in which they leave different names, and
    names that a world says so of."""
    found = {
        name for each in (*first, *second) for name in each.changed if any(fnmatch.fnmatch(name, one) for one in said)
    }
    for one, two in zip(first, second, strict=True):
        for name in one.changed.keys() | two.changed.keys():
            if (name in one.changed) != (name in two.changed):
                found.add(name.rstrip("/").rpartition("/")[0] + "/" if "/" in name.rstrip("/") else name)
            elif one.changed[name] != two.changed[name]:
                found.add(name)
    return found


def _compared(step: Step, one: Lived, two: Lived, guarded: Lived, varies: set[str]) -> Outcome:
    if guarded.rule:
        return Outcome(step, guarded.rule, (), guarded.told)
    differs, details = [], []
    if guarded.status not in (one.status, two.status):
        differs.append("status")
        details.append(f"ended with {guarded.status}, plainly with {one.status}")
    for same in (normal, loose):
        if same(one.output) == same(two.output):
            if same(guarded.output) != same(one.output):
                differs.append("output")
            break
    if differs:
        details.append(
            f"plainly:\n{one.output[-1500:]}\nguarded:\n{guarded.output[-1500:]}\ntold:\n{guarded.told[-1500:]}"
        )
    trees = [
        {name: held for name, held in each.changed.items() if name not in varies and not _below(name, varies)}
        for each in (one, guarded)
    ]
    if trees[0] != trees[1]:
        differs.append("tree")
        names = sorted(name for name in trees[0] | trees[1] if trees[0].get(name, "") != trees[1].get(name, ""))
        details += [
            f"{name}: plainly {trees[0].get(name, '-')}, guarded {trees[1].get(name, '-')}" for name in names[:20]
        ]
    return Outcome(step, "", tuple(differs), "\n".join(details))


def _below(name: str, folders: set[str]) -> bool:
    parts = name.rstrip("/").split("/")
    return any("/".join(parts[:count]) + "/" in folders for count in range(1, len(parts)))


def stamp(world: World) -> str:
    """What a world is made of: one that was made of the same need not be made again."""
    return hashlib.sha256(repr((world.homes, world.files, world.make)).encode()).hexdigest()[:12]


@contextlib.contextmanager
def ground(kept: Path | None = None) -> Iterator[Path]:
    """A folder for one world, in the home: what lies in a temporary folder is treated differently. `kept`: one that
    stays, with what was made in it."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    top = Path(tempfile.mkdtemp(prefix="workday-", dir=Path("~").expanduser()))
    try:
        yield top
    finally:
        shutil.rmtree(top, ignore_errors=True)


def timed(world: World, kept: Path | None = None) -> tuple[list[Outcome], float]:
    """A day, and how many seconds making and living it took. `kept`: where worlds that were made stay."""
    began = time.monotonic()
    with ground(kept and kept / f"{world.name}-{stamp(world)}") as top:
        return live(world, top), time.monotonic() - began
