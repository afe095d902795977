"""Runs a command as on a host that refuses namespaces, the way plain containers do: `container.py COMMAND ARG…`."""

from __future__ import annotations

import ctypes
import os
import sys

from gateway.sandbox.seccomp import EPERM, Refusal, compiled, refusals

_NAMES = {"mount", "umount2", "pivot_root", "setns", "clone", "clone3", "unshare", "fsopen", "fsmount", "move_mount"}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def main() -> None:
    """Refuses namespaces and mounts for this process and all it starts."""
    refused = [each for each in refusals() if each.call in _NAMES]
    refused += [Refusal(call, EPERM) for call in ("keyctl", "add_key", "request_key")]
    program = compiled(os.uname().machine, refused)
    libc = ctypes.CDLL(None, use_errno=True)
    no = ctypes.c_ulong(0)
    filled = _Program(len(program) // 8, program)
    if libc.prctl(38, ctypes.c_ulong(1), no, no, no) or libc.prctl(22, ctypes.c_ulong(2), ctypes.byref(filled), no, no):
        raise OSError(ctypes.get_errno(), "the filter cannot be set")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
