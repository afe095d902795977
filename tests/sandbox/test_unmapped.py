"""Memory outside of address spaces, found in real processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gateway.sandbox.unmapped import Unmapped

MIB = 1 << 20
EMPTY = "pass"
OPEN = f"""
file = os.memfd_create("x")
os.write(file, bytes({32 * MIB}))
other = os.dup(file)
"""
SENT = f"""
import array, socket
one, other = socket.socketpair()
file = os.memfd_create("x")
os.write(file, bytes({32 * MIB}))
one.sendmsg([b"x"], [(1, 1, array.array("i", [file]))])
os.close(file)
"""
QUEUED = """
import socket
kept = []
for n in range(120):
    one, other = socket.socketpair()
    one.setblocking(False)
    kept += [one, other]
    try:
        while True: one.send(bytes(8192))
    except BlockingIOError: pass
"""


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [(EMPTY, 0, 0), (OPEN, 32 * MIB, 33 * MIB), (SENT, 30 * MIB, 1 << 40), (QUEUED, 8 * MIB, 80 * MIB)],
    ids=["nothing", "a file in memory, open twice", "one on its way through a socket", "bytes in many sockets"],
)
def test_what_a_process_holds_outside_is_found(text: str, least: int, most: int) -> None:
    unmapped = Unmapped()
    program = f"import os, sys\n{text}\nsys.stdout.write('.')\nsys.stdout.flush()\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        found = unmapped.bytes([process.pid], 4 * MIB, 0)
        process.communicate()
    assert least <= found <= most


def test_a_process_that_is_not_there_holds_nothing() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert Unmapped().bytes([process.pid, os.getpid() + (1 << 22)], MIB, 0) == 0
