"""Memory outside of address spaces, found in real processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gateway.sandbox import unmapped
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
# Of two pages each, once a user has so many: each further byte would have a page of its own, or none.
PIPED = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (8192,) * 2)
for n in range(1500):
    r, w = os.pipe()
    if {filled}: os.write(w, b"x")
"""
NAMED = """
for n in range(80):
    os.mkfifo(f"/tmp/unmapped-{os.getpid()}-{n}")
    file = os.open(f"/tmp/unmapped-{os.getpid()}-{n}", os.O_RDWR | os.O_NONBLOCK)
    os.unlink(f"/tmp/unmapped-{os.getpid()}-{n}")
    os.write(file, bytes(65536))
"""


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        (EMPTY, 0, 0),
        (OPEN, 32 * MIB, 33 * MIB),
        (SENT, 30 * MIB, 1 << 40),
        (QUEUED, 8 * MIB, 80 * MIB),
        (PIPED.replace("{filled}", "True"), 4 * MIB, 5 * MIB),
        (PIPED.replace("{filled}", "False"), 4 * MIB, 5 * MIB),
        (NAMED, 80 * 8192, 90 * 65536),
    ],
    ids=[
        "nothing",
        "a file in memory, open twice",
        "one on its way through a socket",
        "bytes in many sockets",
        "a byte in each of many pipes",
        "many empty pipes",
        "pipes with names",
    ],
)
def test_what_a_process_holds_outside_is_found(text: str, least: int, most: int) -> None:
    one = Unmapped()
    program = f"import os, sys\n{text}\nsys.stdout.write('.')\nsys.stdout.flush()\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        found = one.bytes([process.pid], 4 * MIB, 0)
        process.communicate()
    assert least <= found <= most


def test_what_others_give_back_meanwhile_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter([(900, 900), (100, 100), (500, 700)])
    monkeypatch.setattr(unmapped, "_meminfo", lambda *_names: [*next(said)])
    one = Unmapped()
    assert [one._grown() for _ in range(2)] == [(0, 0), (400, 600)]


def test_a_process_that_is_not_there_holds_nothing() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert Unmapped().bytes([process.pid, os.getpid() + (1 << 22)], MIB, 0) == 0
