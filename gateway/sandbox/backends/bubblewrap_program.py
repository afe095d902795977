"""Which bubblewrap may be run: one that no agent could have written, and not a set-uid one."""

from __future__ import annotations

import os

from gateway.core.programs import Untrusted, said, trusted_program
from gateway.core.value import Value
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

REMEDY = "install bubblewrap (`apt-get install bubblewrap`, or `pip install 'agent-gateway[bwrap]'` without root)"


class Program(Value):
    """A bubblewrap. `by_descriptor`: it takes what it mounts by descriptor. `nested`: it can switch off user namespaces
    inside. `key`: changes when the file does."""

    path: str
    by_descriptor: bool
    nested: bool
    key: str


def find(known: Callable[[str], bool] = lambda _key: False) -> Program:
    """The system's, else the one of the `bwrap` extra. `known`: whether the file with this key is known to offer
    everything; what does not after all fails to start. Raises SandboxError that says what is wrong with those found."""
    try:
        return described(os.path.realpath(trusted_program("bwrap")), known)
    except Untrusted as error:
        raise SandboxError(str(error), REMEDY) from error


def described(path: str, known: Callable[[str], bool] = lambda _key: False) -> Program:
    """What a bubblewrap offers, as it says itself. Raises SandboxError when it does not run."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise SandboxError(f"{path}: {error.strerror}", REMEDY) from error
    key = f"{path} {state.st_dev} {state.st_ino} {state.st_mtime_ns} {state.st_size}"
    if known(key):
        return Program(path, True, True, key)
    try:
        text = said("bwrap", "--help", program=path)
    except (OSError, Untrusted) as error:
        raise SandboxError(f"{path} does not run: {error}", REMEDY) from error
    if "--seccomp" not in text or "--json-status-fd" not in text or "--size" not in text:
        raise SandboxError(f"{path} is too old, or no bubblewrap", REMEDY)
    return Program(path, "--ro-bind-fd" in text, "--disable-userns" in text, key)
