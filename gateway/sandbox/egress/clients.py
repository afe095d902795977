"""Which program of a call is at the other end of a connection inside the sandbox, as the kernel knows it."""

from __future__ import annotations

import os
import socket
import sys

from gateway.core import processes
from gateway.sandbox.spawn import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SHOWN = 200
_MAPPED = "0000000000000000FFFF0000"


class Call:
    """The processes of a call, by its first one on the host, and the network that it is in."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._began = processes.started(root)

    def program_at(self, there: tuple[str, int], here: tuple[str, int]) -> str:
        """The program of the call that has the end `there` of a connection whose end here is `here`, by the kernel's
        name for it and by what it calls itself; "" where no process of the call has it. Blocks for milliseconds; never
        raises."""
        if self._began <= 0 or processes.started(self._root) != self._began:
            return ""
        wanted = f"socket:[{found}]" if (found := self._inode(there, here)) else ""
        for pid in tree(self._root) if wanted else ():
            if any(target == wanted for target in _opened(pid)):
                return _shown(pid) or "a program that has ended"
        return ""

    def _inode(self, there: tuple[str, int], here: tuple[str, int]) -> str:
        """The kernel's number of that end of the connection, "" where there is none."""
        pair = f"{_written(there)} {_written(here)}"
        # Programs that ask for both families have such a socket among those of version 6.
        mapped = f"{_MAPPED}{_written(there)} {_MAPPED}{_written(here)}"
        for name, ends in (("tcp", pair), ("tcp6", mapped if ":" not in there[0] else pair)):
            try:
                with open(f"/proc/{self._root}/net/{name}", encoding="ascii") as file:
                    for line in file:
                        if ends in line:
                            fields = line.split()
                            if f"{fields[1]} {fields[2]}" == ends and fields[9] != "0":
                                return fields[9]
            except (OSError, IndexError, UnicodeError):
                continue
        return ""


def _written(end: tuple[str, int]) -> str:
    """As the kernel lists it: the words of the address in the order of this machine's bytes."""
    family = socket.AF_INET6 if ":" in end[0] else socket.AF_INET
    packed = socket.inet_pton(family, end[0])
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(each, sys.byteorder):08X}" for each in words) + f":{end[1]:04X}"


def _opened(pid: int) -> Iterator[str]:
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for number in numbers:
        try:
            yield os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue


def _shown(pid: int) -> str:
    try:
        program = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
    if len(words) > MOST_SHOWN:
        words = words[:MOST_SHOWN] + "…"
    return f"{program} ({words})" if words else program
