"""Shell texts that start the gateway: bash runs them, and what it would start is forked (see `starting`).

That has the streams and the folder that bash has at that place of the text, and bash goes on with its status. It is no
child of bash's: such a text can show nothing of jobs, groups and signals.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import starting
from fuzzing import THOROUGH
from patience import patience

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PIDFD_GETFD = 438
# A shell below it asks: the streams of the one that waits stay meanwhile what the text has made them.
_ASKS = r"""exec 198<>"$ASKED" 199<>"$ANSWERS"
EXEC() {
  local me=$BASHPID status
  (printf '%s\0' "$me" "$#" "$@" >&198)
  read -r -u 199 status
  return "$status"
}
"""


def run(
    text: str, words: Sequence[str | bytes], top: Path, environment: dict[str, str], **how: Any
) -> subprocess.CompletedProcess[bytes]:
    """`subprocess.run` of a text in which EXEC stands for these words, and starts one process at a time. `top`: a
    folder for what is needed meanwhile. In a thorough run bash itself starts them."""
    if THOROUGH or not _can_take():
        said = " ".join(map(shlex.quote, map(os.fsdecode, words)))
        return subprocess.run(["bash", "-c", text.replace("EXEC", said)], env=environment, check=False, **how)
    asked, answers = top / "asked", top / "answers"
    for each in (asked, answers):
        os.mkfifo(each)
    ends = [os.open(each, os.O_RDWR | os.O_CLOEXEC) for each in (asked, answers)]
    serving = threading.Thread(target=_serve, args=(*ends, words, environment))
    serving.start()
    try:
        given = {**environment, "ASKED": str(asked), "ANSWERS": str(answers)}
        return subprocess.run(["bash", "-c", _ASKS + text], env=given, check=False, **how)
    finally:
        os.write(ends[0], b"0\0")  # no more
        serving.join()
        for end, each in zip(ends, (asked, answers), strict=True):
            os.close(end)
            each.unlink()


def _serve(asked: int, answers: int, words: Sequence[str | bytes], environment: dict[str, str]) -> None:
    with open(asked, "rb", closefd=False) as requests:
        while pid := int(_next(requests)):
            more = [_next(requests) for _ in range(int(_next(requests)))]
            streams = [_taken(pid, number) for number in range(3)]
            try:
                process = starting.Popen(
                    [*words, *more], cwd=os.readlink(f"/proc/{pid}/cwd"), env=environment,
                    stdin=streams[0], stdout=streams[1], stderr=streams[2],
                )  # fmt: skip
            finally:
                for each in streams:
                    os.close(each)
            status = process.wait(patience(60))
            os.write(answers, b"%d\n" % (status if status >= 0 else 128 - status))


def _next(requests: Any) -> bytes:
    found = b""
    while (byte := requests.read(1)) != b"\0":
        found += byte
    return found


def _taken(pid: int, number: int) -> int:
    """What another process has as this descriptor, with the place in it that both share. OSError where it may not be
    taken."""
    process = os.pidfd_open(pid)
    try:
        found = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, number, 0)
    finally:
        os.close(process)
    if found < 0:
        raise OSError(ctypes.get_errno(), f"descriptor {number} of {pid}")
    return int(found)


@functools.cache
def _can_take() -> bool:
    """Whether this system lets a process have the descriptors of another one."""
    if sys.platform != "linux":
        return False
    try:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
            os.close(_taken(other.pid, 0))
    except OSError:
        return False
    return True
