"""System calls made by number, because Python has no name for them. Each failure is reported in words."""

from __future__ import annotations

import ctypes
import os
from stat import S_ISLNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The same on every architecture.
OPEN_TREE, MOVE_MOUNT, OPENAT2, MOUNT_SETATTR = 428, 429, 437, 442
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
# By machine.
CLONE = {"x86_64": 56, "aarch64": 220}
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5

DEATH_SIGNAL, DUMPABLE, SECCOMP, DROP_BOUND, SECUREBITS, SUBREAPER = 1, 4, 22, 24, 28, 36
NO_NEW_PRIVILEGES, AMBIENT = 38, 47
_SECURE = 0xEF  # no root, no fix-up of user ids, no kept or ambient capabilities, each locked (keeping is off, locked)
SETFCAP = 31
_CAPABILITIES = 0x20080522  # the version of the interface

# It does not give up the interpreter's lock around a call, so that a clone finds and leaves it as it was.
libc = ctypes.PyDLL(None, use_errno=True)


class Refused(Exception):
    """A step of confinement that did not work, in words."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def call(what: str, number: int, *arguments: Any) -> int:
    """A system call by number. Raises Refused."""
    result: int = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise Refused(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def checked(what: str, result: int) -> None:
    """What a function of the C library has returned. Raises Refused when it failed."""
    if result < 0:
        raise Refused(f"{what}: {os.strerror(ctypes.get_errno())}")


def control(what: str, *arguments: int) -> None:
    """prctl. Raises Refused."""
    padded = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:5]]
    checked(what, libc.prctl(*padded))


def landlock_abi() -> int:
    """The version of Landlock that this kernel offers, 0 if none."""
    found: int = libc.syscall(ctypes.c_long(CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(found, 0)


def drop_capabilities() -> None:
    """Gives up every capability of this process for good, and the ways to get one back. Raises Refused."""
    control("no new privileges", NO_NEW_PRIVILEGES, 1)
    control("ambient capabilities", AMBIENT, 4)
    for capability in range(64):
        if libc.prctl(DROP_BOUND, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # beyond the last one; or an ordinary user, who has none that could come back
    libc.prctl(SECUREBITS, ctypes.c_ulong(_SECURE), 0, 0, 0)  # needs a capability; without one nothing is to lock
    _hold("dropping capabilities", (ctypes.c_uint32 * 6)())


def keep_capability(number: int) -> None:
    """Gives up every capability of this process but one, if it has that. Raises Refused."""
    had = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    checked("capabilities", libc.capget(header, had))
    kept = had[1] & 1 << number  # of those permitted
    _hold("dropping capabilities", (ctypes.c_uint32 * 6)(kept, kept))


def _hold(what: str, capabilities: Any) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    checked(what, libc.capset(header, capabilities))


def filter_calls(programs: list[bytes]) -> None:
    """From here on the filters of system calls hold, all of them. Raises Refused."""
    for program in programs:
        filled = _Program(len(program) // 8, program)
        control("the filter of system calls", SECCOMP, 2, ctypes.addressof(filled))


def tell_of_calls(program: bytes) -> tuple[int, str]:
    """From here on whoever reads the descriptor is told of calls as this filter says, and they wait for an answer; -1
    and why where there can be no such descriptor: a sandbox within one that has its own, an old kernel."""
    filled = _Program(len(program) // 8, program)
    number = SECCOMP_CALL.get(os.uname().machine)
    if number is None:
        return -1, "this machine is not known"
    # A signal that does not end the process must not interrupt a call that is being looked at.
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        result: int = libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.c_ulong(flags), ctypes.byref(filled))
        if result >= 0:
            return result, ""
        error = ctypes.get_errno()
    return -1, os.strerror(error)


def open_exactly(path: bytes) -> int | None:
    """A handle on exactly this path, with no link on the way; None where we may not go (what cannot be opened grants
    nothing). Raises Refused when something else is there by now."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError:
        return None
    except OSError as error:
        raise Refused(f"{shown(path)}: {error.strerror}") from error
    if S_ISLNK(os.fstat(descriptor).st_mode) or os.readlink(b"/proc/self/fd/%d" % descriptor) != path:
        os.close(descriptor)
        raise Refused(f"{shown(path)} is not what it was when the call was planned: a link leads elsewhere")
    return descriptor


def shown(path: bytes) -> str:
    """A path for people."""
    return path.decode("utf-8", "backslashreplace")
