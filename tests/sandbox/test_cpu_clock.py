"""The time of a tree on processors: nobody is lost, whoever waits for whom, and whether or not the kernel counts."""

from __future__ import annotations

import select
import subprocess
import sys

import pytest

from gateway.sandbox.cpu_clock import Clock, Counter
from gateway.sandbox.spawn import tree

LOST = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.{how})
def is_there(child):
    try:
        os.kill(child, 0)
    except ProcessLookupError:
        return False
    return True
sys.stdin.read(1)
for n in range(10):
    child = os.fork()
    if not child:
        while time.process_time() < {burn}: pass
        os._exit(0)
    {wait}
sys.stdout.write("done")
sys.stdout.flush()
sys.stdin.read(1)
"""


@pytest.mark.parametrize(
    ("how", "wait"),
    [("SIG_DFL", "os.wait()"), ("SIG_IGN", "while is_there(child): time.sleep(0.005)")],
    ids=["children that are waited for", "children whose end is ignored"],
)
@pytest.mark.parametrize("counts", [True, False], ids=["counted by the kernel", "by looking alone"])
def test_what_ten_children_use_is_counted(how: str, wait: str, counts: bool) -> None:
    certain = counts or how == "SIG_DFL"
    burn = 0.04 if certain else 0.1
    text = LOST.replace("{how}", how).replace("{wait}", wait).replace("{burn}", str(burn))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        counter = Counter.of(process.pid) if counts else None
        if counts and counter is None:
            pytest.skip("this kernel does not count for this user")
        clock = Clock(counter)
        process.stdin.write(b"x")
        process.stdin.flush()
        while not select.select([process.stdout], [], [], 0.01)[0]:
            clock.seconds(tree(process.pid))
        found = clock.seconds(tree(process.pid))
        clock.close()
        process.stdin.write(b"x")
    # Ten times as much; those that are met by chance are seen late and lost early.
    assert found > 10 * burn * (0.95 if certain else 0.5)


def test_a_process_that_is_not_there_is_not_counted() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        assert Counter.of(process.pid) is None
        assert Clock(None).seconds([process.pid]) == 0.0
