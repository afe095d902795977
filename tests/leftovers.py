"""What tests leave in the system's temporary folder, and of processes.

The folder that calls of one client share (`gateway.sandbox.rooms`) lies there while the client lives, and goes when
somebody looks into the same state again. In a test the client is often the process that runs all tests, and nobody
looks into its state again.

The warm service that a hook starts lives on for minutes, unless its home is moved or removed: that of a module is not.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from gateway.calls.containing import cannot_contain
from gateway.sandbox import rooms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TEMPORARY = "/tmp"
PREFIXES = ("gateway-room-", "gateway-compiled-", "gateway-masks-")
_DEEPEST = 6  # the state of a home that a test made: `home/.local/state/gateway/rooms`


def contained_here(drafted: tuple[str, ...], _state: str) -> str:
    """Why calls cannot be contained here, for gateways whose state and project are nowhere: nothing can be laid over
    the project, and root would make the state to try it."""
    return cannot_contain() or ("the workspace is nowhere" if drafted else "")


def left(prefixes: tuple[str, ...] = PREFIXES) -> set[str]:
    """The names of the gateway's own folders in the temporary folder."""
    return {each for each in os.listdir(TEMPORARY) if each.startswith(prefixes)}


def changed() -> int:
    """When something was made or removed in the temporary folder; whole looks at it are not for every test."""
    return os.stat(TEMPORARY).st_mtime_ns


def end_rooms(tops: Iterable[str | os.PathLike[str]]) -> None:
    """Ends each room whose state lies somewhere below these folders, unless a call uses it."""
    for top in tops:
        for found in _rooms(os.fspath(top)):
            for name in os.listdir(found):
                with suppress(OSError):
                    rooms.end(found, name)


def _rooms(top: str) -> Iterator[str]:
    """The folders named `rooms` of a state below a folder, without following links."""
    waiting = [(top, 0)]
    while waiting:
        path, depth = waiting.pop()
        with suppress(OSError), os.scandir(path) as entries:
            for each in entries:
                if each.is_dir(follow_symlinks=False):
                    if each.name == "rooms" and os.path.basename(path) == "gateway":
                        yield each.path
                    elif depth < _DEEPEST:
                        waiting.append((each.path, depth + 1))


def end_services(top: str | os.PathLike[str]) -> list[int]:
    """Ends each warm service whose home lies below a folder; gives their processes. What is looked up is in `/proc`."""
    ended = []
    for name in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[-2:-1] == [b"serve"] and words[-3].endswith(b"client.py"):
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
                if any(each.startswith(b"HOME=" + os.fsencode(top) + b"/") for each in variables):
                    os.kill(int(name), signal.SIGKILL)
                    ended.append(int(name))
    return ended
