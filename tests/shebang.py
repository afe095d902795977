"""Programs that tests write."""

from __future__ import annotations

import shlex
import sys

_LONGEST = 120


def first_lines(options: str = "") -> str:
    """How a Python program begins that is started by its name. The system reads the first line as far as the first
    space, and not much of it: where this Python lies in such a place, a shell starts it."""
    if " " not in sys.executable and len(sys.executable) < _LONGEST:
        return f"#!{sys.executable} {options}".rstrip() + "\n"
    return f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} {options} \"$0\" \"$@\"\n' '''\n"
