"""What a contained call installs is fetched before it runs, in a step of its own; then the call runs without a network.

The step runs a program of this machine, never one that calls may have changed, in a sandbox that sees nothing of the
project, with files that are made of what the call and the project's lists say (`gateway.judge.lists`). It takes
packages that are built already, or sources that it only unpacks, and runs nothing of them. The call finds them in a
folder to read, or in the cache of its installer.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager

from gateway.calls.fetched import BY, With
from gateway.calls.fetched_cache import held, place_of
from gateway.calls.output import Failure
from gateway.config.layers import read_file
from gateway.core.errors import ConfigError
from gateway.core.plain_files import open_plain
from gateway.judge.lists import failed, files_of, program_of
from gateway.model.plan import HIDDEN, READ, WRITE, Mount, Network
from gateway.policy.fetching import FETCHERS, OtherwiseError, fetch_of
from gateway.policy.wording import shortened, visible
from gateway.sandbox.base import SandboxError
from gateway.sandbox.nested_paths import is_below
from gateway.sandbox.run import Command, Protection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.calls.ports import InProgress
    from gateway.calls.scratch import Scratch
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.policy.fetching import Fetch
    from gateway.policy.fetching.base import Files

_LONGEST = 300


@contextmanager
def fetched(life: InProgress, verdict: Verdict, plan: SandboxPlan) -> Iterator[tuple[SandboxPlan, With, Result]]:
    """The plan of a call that installs, with what it installs, what its program starts with, and what the step of its
    own came to. Where that failed nothing of the call is to run, and the same install asks for a while. What was
    fetched is gone afterwards. Raises SandboxError."""
    state = life.planner.judge.places.state
    scratch: Scratch | None = None
    try:
        try:
            fetch = _fetch(life, verdict)
            files = files_of(life.planner.judge, life.context, fetch)
            program = program_of(life.planner.judge, life.context, FETCHERS[fetch.fetcher].program)
            scratch = place_of(state)
            place = scratch.path
            _write(place, files)
        except (OtherwiseError, OSError, Failure) as error:
            raise SandboxError(f"what the call installs cannot be fetched: {error}") from error
        by = BY[fetch.fetcher]
        result: Result | None = None
        try:
            with held(state, fetch.fetcher) as cache:
                step = _plan(plan, life, place, cache)
                for words, variables in by.steps(program, fetch, files, place, cache, _version_of(fetch, life)):
                    environment = tuple(sorted((dict(step.environment) | variables).items()))
                    result = _both(result, life.services.runner.run(
                        step.replace(environment=environment),
                        Command(lambda _number, words=words: tuple(map(os.fsencode, words))),  # type: ignore[misc]
                        Protection(lambda _path: ""),
                        cancel=life.cancel,
                    ))  # fmt: skip
                    if result.ended != "exited" or result.status:
                        break
                assert result is not None
                is_whole = result.ended == "exited" and not result.status
                found = by.given(files, place, cache) if is_whole else With()
        except (OtherwiseError, OSError) as error:
            raise SandboxError(f"what the call installs was not fetched whole: {error}") from error
        if result.ended == "exited" and result.status:
            life.unfetched = failed(state, fetch, files, why_not(result))
        if found.copied:
            found = found.replace(cache=f"{life.context.home}/{FETCHERS[fetch.fetcher].cache}")
            plan = _with_cache(found.cache, plan, life, verdict)
        variables = dict(plan.environment) | dict(found.variables)
        mounts = tuple(sorted((*plan.mounts, Mount(place, READ)), key=lambda each: each.path))
        environment = tuple(sorted(variables.items()))
        yield plan.replace(environment=environment, mounts=mounts, fetching=Network()), found, result
    finally:
        if scratch is not None:
            scratch.remove()


def _with_cache(folder: str, plan: SandboxPlan, life: InProgress, verdict: Verdict) -> SandboxPlan:
    """The plan, in which a cache that was never used is there to be laid over, as its installer would have made it."""
    if os.path.lexists(folder):
        return plan
    os.makedirs(folder)
    return life.planner.plan(verdict, life.environment).replace(limits=plan.limits)


def why_not(result: Result) -> str:
    """Why the step failed, in the words of the program that fetched."""
    said = result.stderr.decode("utf-8", "replace").splitlines()
    errors = [line for line in said if line.lower().startswith("error")] or said[-3:]
    why = visible(shortened(" ".join(errors), _LONGEST)) or result.reason or f"status {result.status}"
    return f"what it installs could not be fetched as built packages ({why})"


def said(result: Result) -> str:
    """The same, for the result of a call of which nothing ran."""
    again = "made again it asks, and whoever lets it run lets it run with hosts"
    return f"nothing of the call ran: {why_not(result)}; {again}"


def _both(first: Result | None, second: Result) -> Result:
    if first is None:
        return second
    return second.replace(said=first.said + second.said, violations=first.violations + second.violations)


def _write(place: str, files: Files) -> None:
    for path, text in files.items():
        os.makedirs(os.path.dirname(f"{place}/{path}"), mode=0o700, exist_ok=True)
        with open(f"{place}/{path}", "w", encoding="utf-8") as file:
            file.write(text)


def _fetch(life: InProgress, verdict: Verdict) -> Fetch:
    sandbox = life.planner.judge.loaded_for(verdict).settings.get("sandbox")
    names = tuple(sandbox.value.get("registries", ())) if sandbox is not None else ()
    found = fetch_of(verdict.analysis, names)
    if found is None:
        raise OtherwiseError("nobody knows what it installs")
    return found


def _version_of(fetch: Fetch, life: InProgress) -> str:
    """The version of Python that the packages are for, as the environment of the call says, or the program of the
    machine that installs; "" where they say none. Wrong, it gets packages that are of no use, and no more."""
    for program, folder in fetch.targets:
        if not folder:
            return _version_behind(program, life.planner.judge.search_path)
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


def _version_behind(program: str, search_path: str) -> str:
    """That of the Python by which a program of the machine runs, "" where it is the one that fetches, or its name does
    not say it."""
    path = shutil.which(program, path=search_path) or program
    fetches = os.path.realpath(shutil.which("python3", path=search_path) or "")
    try:
        with open_plain(path) as file:
            first = file.read(_LONGEST).partition(b"\n")[0]
    except OSError:
        return ""
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else [path]
    name = os.path.realpath(words[0]) if words else fetches
    found = re.fullmatch(r"python(3\.[0-9]{1,2})", os.path.basename(name), re.ASCII)
    return found[1] if found and name != fetches else ""


def _plan(plan: SandboxPlan, life: InProgress, place: str, cache: str) -> SandboxPlan:
    """That of the step: programs of this machine to read, and two folders of the gateway's own to write."""
    workspace = life.context.workspace
    seen = [mount for mount in plan.mounts if mount.access in (READ, HIDDEN) and not is_below(mount.path, workspace)]
    mounts = sorted([*seen, Mount(place, WRITE), Mount(cache, WRITE)], key=lambda each: each.path)
    private = tuple(each for each in plan.private if not is_below(each, workspace))
    known = dict(plan.environment)
    search_path = [each for each in known.get("PATH", "").split(":") if not is_below(each, workspace)]
    environment = {"PATH": ":".join(search_path), "HOME": life.context.home}
    environment |= {name: known[name] for name in ("LANG", "LC_ALL", "PYENV_ROOT", "RUSTUP_HOME") if name in known}
    return plan.replace(
        mounts=tuple(mounts), private=private, cwd=place, environment=tuple(sorted(environment.items())),
        links=tuple(each for each in plan.links if not is_below(each[0], workspace)), network=plan.fetching,
        fetching=Network(), watched=(), held=(), layers=(), shared=(), given=(), loopback="", drafted=(), permits=(),
    )  # fmt: skip
