"""How the texts of attempts are put together."""

from __future__ import annotations

import re
import shlex

# What a program needs that makes system calls by their numbers.
_CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(x86, arm, *arguments):
    number = x86 if os.uname().machine == "x86_64" else arm
    padded = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return libc.syscall(ctypes.c_long(number), *padded)
"""
_LOADED = ("errno", "os", "sys")  # before any program begins


def python(text: str) -> str:
    """A shell text that becomes Python with this program; `call` makes a system call by its two numbers. What the
    program does not name is not loaded: that takes longer than most programs."""
    named = set(re.findall(r"\w+", text))
    names = [*_LOADED, *sorted(named & {"socket", "_socket"})]
    prelude = f"\nimport {', '.join(names)}\n" + (_CALL if named & {"call", "libc", "ctypes"} else "")
    return f"exec python3 -I -S -c {shlex.quote(prelude + text)}"


def reaches(x86: int, arm: int, *arguments: int) -> str:
    """A system call with arguments that do no harm: it worked if the kernel looked at them at all."""
    listed = "".join(f", {each}" for each in arguments)
    return python(
        f"r = call({x86}, {arm}{listed})\nsys.exit(r < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS))"
    )


def opens(family: int, kind: int = 1, protocol: int = 0) -> str:
    """A socket of this family is made."""
    return python(f"_socket.socket({family}, {kind}, {protocol})")
