"""Process 1 of a sandbox with namespaces, as it is seen from outside."""

from __future__ import annotations

import os

from gateway.sandbox.spawn import children, open_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.mounts import Step

_LOOKS = 100


def command_of(root: int) -> int:
    """A pidfd of the process that process 1 started, -1 when it has ended. Whoever else is its child has lost another
    parent, and came later; when the command has ended all of them are being killed."""
    for pid in children(root)[:1]:
        descriptor = open_process(pid)
        if descriptor < 0:
            continue
        try:
            with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
                parent = next(line for line in file.read().split(b"\n") if line.startswith(b"PPid:"))
        except (OSError, StopIteration):
            parent = b""
        if parent.split()[-1:] == [b"%d" % root]:
            return descriptor
        os.close(descriptor)
    return -1


def astray(root: int, made: tuple[Step, ...], being_built: bytes = b"") -> str:
    """A mount that a running command of another call has led away from where it was planned, "" if all are in their
    places. `being_built`: where the root is put together until it is the root."""
    missing = {_escaped(step.path) for step in made if step.inner}
    for _ in range(_LOOKS):  # the root is being exchanged, and the list is not read in one piece
        if not missing:
            return ""
        with open(f"/proc/{root}/mountinfo", "rb", buffering=1 << 16) as file:
            missing -= {line.split(b" ", 5)[4].removeprefix(being_built) for line in file}
    return os.fsdecode(min(missing)) if missing else ""


def _escaped(path: str) -> bytes:
    """A path as mountinfo writes it."""
    text = os.fsencode(path)
    for character in (b"\\", b" ", b"\t", b"\n"):
        if character in text:
            text = text.replace(character, b"\\%03o" % ord(character))
    return text
