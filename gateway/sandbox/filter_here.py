"""The filter of system calls for the machine that this runs on."""

from __future__ import annotations

import os
from functools import cache

from gateway.sandbox.base import SandboxError
from gateway.sandbox.seccomp import changes_of, filter_of, names_of


@cache
def filter_here(permits: tuple[str, ...]) -> bytes:
    """The filter of a sandbox with namespaces. Raises SandboxError for a machine or a permit that is not known."""
    machine = os.uname().machine
    try:
        return filter_of(machine, permits)
    except KeyError:
        raise SandboxError(f"no filter of system calls is known for {machine}") from None
    except ValueError as error:
        raise SandboxError(str(error)) from None


@cache
def changes_here() -> bytes:
    """The filter that tells of what can change files; none for a machine that is not known, where no sandbox is."""
    try:
        return changes_of(os.uname().machine)
    except KeyError:
        return b""


@cache
def names_here() -> bytes:
    """The filter that tells of names that become others; likewise."""
    try:
        return names_of(os.uname().machine)
    except KeyError:
        return b""
