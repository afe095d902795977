"""What a contained call installs is fetched before it runs, in a step of its own; then the call runs without a network.

The step runs a program of this machine, never one that calls may have changed, in a sandbox that sees nothing of the
project, with words that are read off the call and off files of requirements. It takes packages that are built already
and runs nothing of them. The call finds them in a folder, by variables that its installer obeys.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager

from gateway.config.layers import read_file
from gateway.core.errors import CallError, ConfigError
from gateway.core.links import way
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.plan import HIDDEN, READ, WRITE, Mount, Network
from gateway.policy.caches import written
from gateway.policy.fetching import OtherwiseError, fetch_of, listed, needed_by
from gateway.policy.modes import is_near
from gateway.policy.wording import shortened, visible
from gateway.sandbox.base import SandboxError
from gateway.sandbox.nested_paths import is_below
from gateway.sandbox.run import Command, Protection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.calls.ports import InProgress
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.policy.fetching import Fetch

FOLDER, CACHE = "fetched", "fetched-cache"
MOST_BYTES = 1 << 20
MOST_LINES = 1_000
MOST_FILES = 20
_PYTHON = "python3"
_LIST = "requirements.txt"
_LONGEST = 300


class _CannotError(Exception):
    """What a call installs cannot be fetched before it runs."""


def cannot_fetch(life: InProgress, verdict: Verdict) -> str:
    """Why what a contained call installs cannot be fetched before it runs, "" if it can, as far as that is known."""
    try:
        _lines(_fetch(life, verdict), life)
        _python(life)
    except _CannotError as error:
        return str(error)
    return ""


@contextmanager
def fetched(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> Iterator[tuple[SandboxPlan, Result]]:
    """The plan of a call that installs, with what it installs, and what the step of its own came to. Where that failed
    nothing of the call is to run. What was fetched is gone afterwards. Raises SandboxError."""
    state = life.planner.judge.places.state
    place = ""
    try:
        try:
            fetch = _fetch(life, verdict)
            lines = _lines(fetch, life)
            python = _python(life)
            os.makedirs(f"{state}/{FOLDER}", mode=0o700, exist_ok=True)
            os.makedirs(f"{state}/{CACHE}", mode=0o700, exist_ok=True)
            place = os.path.realpath(tempfile.mkdtemp(dir=f"{state}/{FOLDER}"))
            with open(f"{place}/{_LIST}", "w", encoding="ascii") as file:
                file.write("\n".join(lines) + "\n")
        except (_CannotError, OSError) as error:
            raise SandboxError(f"what the call installs cannot be fetched: {error}") from error
        cache = os.path.realpath(f"{state}/{CACHE}")
        version = _version_of(fetch, life)
        result = life.services.runner.run(
            _plan(plan, life, place, cache),
            Command(lambda _number: tuple(map(os.fsencode, _words(python, fetch, place, cache, version)))),
            Protection(lambda _path: ""),
            cancel=life.cancel,
        )
        yield with_fetched(plan, place), result
    finally:
        if place:
            shutil.rmtree(place, ignore_errors=True)


def said(result: Result) -> str:
    """Why it failed, in the words of the program that fetched."""
    errors = [line for line in result.stderr.decode("utf-8", "replace").splitlines() if line.startswith("ERROR")]
    why = visible(shortened(" ".join(errors), _LONGEST)) or result.reason or f"status {result.status}"
    return (
        f"nothing of the call ran: what it installs could not be fetched as built packages ({why}); a package that "
        "must be built first, or is not in the registry, needs a person to let the call run with hosts"
    )


def with_fetched(plan: SandboxPlan, place: str) -> SandboxPlan:
    """The plan of a call that finds packages in a folder, and looks nowhere else."""
    variables = {
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": place, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_NO_INDEX": "1", "UV_FIND_LINKS": place, "UV_PYTHON_DOWNLOADS": "never", "UV_OFFLINE": "1",
    }  # fmt: skip
    environment = tuple(sorted((dict(plan.environment) | variables).items()))
    mounts = tuple(sorted((*plan.mounts, Mount(place, READ)), key=lambda each: each.path))
    return plan.replace(environment=environment, mounts=mounts, fetching=Network())


def _fetch(life: InProgress, verdict: Verdict) -> Fetch:
    sandbox = life.planner.judge.loaded_for(verdict).settings.get("sandbox")
    names = tuple(sandbox.value.get("registries", ())) if sandbox is not None else ()
    found = fetch_of(verdict.analysis, names)
    if found is None:
        raise _CannotError("nobody knows what it installs")
    return found


def _lines(fetch: Fetch, life: InProgress) -> list[str]:
    """All requirements, those of files included. Raises _CannotError."""
    found = list(fetch.named)
    files = list(fetch.files)
    for project in fetch.projects:
        path = f"{project.folder.rstrip('/')}/pyproject.toml"
        try:
            found += needed_by(_text(path, life), project)
        except OtherwiseError as error:
            raise _CannotError(f"`{path}`: {error}") from None
    for at, path in enumerate(files):
        if at >= MOST_FILES:
            raise _CannotError("its files of requirements name too many others")
        try:
            read = listed(_text(path, life))
        except OtherwiseError as error:
            raise _CannotError(f"`{path}`: {error}") from None
        found += read.lines
        for each in read.files:
            nested = os.path.normpath(os.path.join(os.path.dirname(path), each))
            if nested not in files:
                files.append(nested)
    if len(found) > MOST_LINES:
        raise _CannotError(f"it names more than {MOST_LINES:,} requirements")
    return list(dict.fromkeys(found))


def _text(path: str, life: InProgress) -> str:
    """A file of the project that says what to fetch, which calls may have made anything of. Raises _CannotError."""
    real = os.path.realpath(path)
    if not real.startswith(tuple(f"{folder}/" for folder in life.context.workspace)):
        raise _CannotError(f"`{path}` does not lie in the workspace")
    if not _may_read(path, life):
        raise _CannotError(f"policy does not let `{path}` be read without a question")
    try:
        text = read_file(real, life.context.workspace, what="what says what to fetch", most=MOST_BYTES).decode("utf-8")
    except ConfigError as error:
        raise _CannotError(f"`{path}` {error.problems[0].message}") from None
    except UnicodeError as error:
        raise _CannotError(f"`{path}` cannot be read: {error}") from None
    if "\0" in text:
        raise _CannotError(f"`{path}` is no text")
    return text


def _may_read(path: str, life: InProgress) -> bool:
    """Whether policy lets calls read a file: what it says leaves the machine."""
    try:
        verdict = life.planner.judge.check(RawCall("Read", {"file_path": path}), life.context)
    except CallError:
        return False
    return verdict.decision is Decision.ALLOW


def _python(life: InProgress) -> str:
    """The Python of this machine that fetches: the first on PATH that no call can write, nor any link on the way to
    it. Raises _CannotError."""
    context, judge = life.context, life.planner.judge
    folders = (*context.workspace, *context.temp, *written(judge.loaded.policy.written, context.home))
    writable = tuple(folder.rstrip("/") + "/" for folder in folders)
    for folder in judge.search_path.split(os.pathsep):
        path = os.path.join(folder, _PYTHON)
        if folder.startswith("/") and os.access(path, os.X_OK):
            end, steps = way(path)
            if end and not any(is_near(here, writable) for here, _link, _last, _up in steps):
                return path
    raise _CannotError(f"there is no `{_PYTHON}` outside of the workspace")


def _version_of(fetch: Fetch, life: InProgress) -> str:
    """The version of Python that the packages are for, as the environment of the call says; "" where it says none.
    Wrong, it gets packages that are of no use, and no more."""
    for program, folder in fetch.targets:
        above = os.path.dirname(os.path.dirname(os.path.join(folder, program))) if "/" in program else f"{folder}/.venv"
        if not above.startswith(tuple(f"{each}/" for each in life.context.workspace)):
            continue
        try:
            said = read_file(f"{above}/pyvenv.cfg", life.context.workspace, most=1 << 16).decode("utf-8", "replace")
        except ConfigError:
            continue
        settings = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        for name, value in settings.items():
            numbers = value.strip().split(".")[:2]
            if name.strip() in ("version", "version_info") and all(
                each.isdecimal() and each.isascii() for each in numbers
            ):
                return ".".join(numbers)
    return ""


def _words(python: str, fetch: Fetch, place: str, cache: str, version: str) -> list[str]:
    chosen = ["--python-version", version] if version else []
    return [
        python, "-I", "-m", "pip", "--isolated", "--no-input", "--disable-pip-version-check", "--cache-dir", cache,
        "download", "--quiet", "--progress-bar", "off", "--only-binary=:all:", "--dest", place, *chosen, *fetch.flags,
        "-r", f"{place}/{_LIST}",
    ]  # fmt: skip


def _plan(plan: SandboxPlan, life: InProgress, place: str, cache: str) -> SandboxPlan:
    """That of the step: programs of this machine to read, and two folders of the gateway's own to write."""
    workspace = life.context.workspace
    seen = [mount for mount in plan.mounts if mount.access in (READ, HIDDEN) and not is_below(mount.path, workspace)]
    mounts = sorted([*seen, Mount(place, WRITE), Mount(cache, WRITE)], key=lambda each: each.path)
    private = tuple(each for each in plan.private if not is_below(each, workspace))
    known = dict(plan.environment)
    search_path = [each for each in known.get("PATH", "").split(":") if not is_below(each, workspace)]
    environment = {"PATH": ":".join(search_path), "HOME": life.context.home}
    environment |= {name: known[name] for name in ("LANG", "LC_ALL", "PYENV_ROOT") if name in known}
    return plan.replace(
        mounts=tuple(mounts), private=private, cwd=place, environment=tuple(sorted(environment.items())),
        links=tuple(each for each in plan.links if not is_below(each[0], workspace)), network=plan.fetching,
        fetching=Network(), watched=(), held=(), layers=(), shared=(), given=(), loopback="", drafted=(), permits=(),
    )  # fmt: skip
