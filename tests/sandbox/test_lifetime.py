"""Nothing of a call runs on: whatever it leaves behind ends when it ends, however that comes about."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from typing import TYPE_CHECKING

import pytest
from fuzzing import share
from patience import patience

from gateway.core.cancel import Cancel
from gateway.model.limits import Limits
from gateway.model.plan import Network, SandboxPlan
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.landlock import Landlock
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.call_descriptors import Ways
from gateway.sandbox.run import Command, Protection, Runner

from .world import PATH, system

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.model.result import Result

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made on Linux")
NOTHING = Protection(lambda _path: "")
# Each leaves a process behind that says "ready", ignores what can be ignored and holds standard output open.
DETACHED = {
    "in the background": "sh -c 'trap \"\" HUP INT TERM; echo ready; sleep 1000; :' &",
    "in a session of its own": "setsid sh -c 'trap \"\" HUP INT TERM; echo ready; sleep 1000; :' &",
    "kept from hanging up": "nohup sh -c 'echo ready; sleep 1000; :' &",
    "as an orphan": "(setsid sh -c 'echo ready; sleep 1000; :' &) &",
    "as a daemon": (
        "python3 -I -S -c '\nimport os, signal, time\n"
        "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "for n in range(1, 32):\n  if n not in (9, 17, 19): signal.signal(n, signal.SIG_IGN)\n"
        'os.write(1, b"ready\\n")\ntime.sleep(1000)\n\';'
    ),
    "stopped": "sh -c 'echo ready; kill -STOP $$' &",
    "again and again": "sh -c 'echo ready; f() { sh -c \"sleep 1000\" & sleep 1000 & }; f; f; f; sleep 1000; :' &",
}


@pytest.fixture(scope="module", params=[Spaces, Bubblewrap, Landlock], ids=["namespaces", "bubblewrap", "landlock"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    backend = request.param()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"{backend.name} does not hold here: {probe.reason}")
    with Runner(str(tmp_path_factory.mktemp("quarantine")), (backend,)) as made:
        yield made


def plan(**limits: float) -> SandboxPlan:
    mounts, links = system()
    bounds = Limits(**limits)  # type: ignore[arg-type]
    return SandboxPlan(mounts, links, ("/tmp",), "/", (("PATH", PATH),), Network(), bounds, weaker=("landlock",))


class Pipe:
    """Standard output that a command gets itself; at its end when nobody holds it any more."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe()

    def give_away(self) -> None:
        os.close(self.write)

    def line(self) -> bytes:
        found = b""
        while not found.endswith(b"\n"):
            assert select.select([self.read], [], [], 30)[0], "nothing came"
            more = os.read(self.read, 1)
            assert more, "it ended"
            found += more
        return found

    def is_at_its_end(self) -> bool:
        """Whether nobody can write any more, once what was written is read."""
        while select.select([self.read], [], [], 0)[0]:
            if not os.read(self.read, 9999):
                return True
        return False


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    os.close(made.read)


def command(text: str, pipe: Pipe) -> Command:
    return Command(lambda _report: (b"/bin/sh", b"-c", text.encode()), Ways(stdout=pipe.write))


@pytest.mark.parametrize("text", DETACHED.values(), ids=DETACHED)
def test_a_detached_process_goes_on_without_a_sandbox(pipe: Pipe, text: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", text], stdout=pipe.write, stderr=subprocess.DEVNULL, cwd="/tmp", check=True,
                          start_new_session=True, env={"PATH": PATH, "MARK": f"left-by-{os.getpid()}"})  # fmt: skip
    pipe.give_away()
    assert done.returncode == 0
    try:
        assert pipe.line() == b"ready\n"
        assert not pipe.is_at_its_end()
    finally:
        end = time.monotonic() + patience(20)
        while not pipe.is_at_its_end() and time.monotonic() < end:
            end_all(f"MARK=left-by-{os.getpid()}")
    assert pipe.is_at_its_end()


def end_all(mark: str) -> None:
    """Kills all that have the mark by now; one that is just being started has none yet."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    os.kill(int(name), signal.SIGKILL)
        except OSError:
            continue


@pytest.mark.parametrize("text", DETACHED.values(), ids=DETACHED)
def test_it_ends_with_the_command(runner: Runner, pipe: Pipe, text: str) -> None:
    result = runner.run(plan(), command(f"{text} sleep 0", pipe), NOTHING)
    pipe.give_away()
    assert (result.ended, result.status) == ("exited", 0), result
    assert pipe.is_at_its_end()


@pytest.mark.parametrize("text", DETACHED.values(), ids=DETACHED)
def test_it_ends_with_a_cancelled_command(runner: Runner, pipe: Pipe, text: str) -> None:
    cancel = Cancel()
    found: list[Result] = []
    work = threading.Thread(
        target=lambda: found.append(runner.run(plan(), command(f"{text} sleep 1000", pipe), NOTHING, cancel=cancel))
    )
    work.start()
    try:
        assert pipe.line() == b"ready\n"
    finally:
        cancel.set()
        work.join(patience(30))
    cancel.close()
    pipe.give_away()
    assert (found[0].ended, found[0].status) == ("cancelled", 137)
    assert pipe.is_at_its_end()


def test_it_ends_when_time_is_up(runner: Runner, pipe: Pipe) -> None:
    text = f"{DETACHED['as a daemon']}\nsleep 1000"
    result = runner.run(plan(seconds=1.0), command(text, pipe), NOTHING)
    pipe.give_away()
    assert (result.ended, result.status, result.reason) == ("timeout", 137, "it ran for more than 1 s")
    assert pipe.line() == b"ready\n"
    assert pipe.is_at_its_end()


_GATEWAY = """
import os, sys
from gateway.sandbox.backends.{module} import {name}
from gateway.sandbox.run import Command, Protection, Runner
from gateway.sandbox.call_descriptors import Ways
from gateway.model.limits import Limits
from gateway.model.plan import *
plan = SandboxPlan({mounts}, {links}, ("/tmp",), "/", (("PATH", "{path}"),), Network(), Limits(), weaker=("landlock",))
command = Command(lambda n: (b"/bin/sh", b"-c", sys.argv[1].encode()), Ways(stdout=1))
Runner("/nonexistent", ({name}(),)).run(plan, command, Protection(lambda p: ""))
"""


ENDS = {"killed": signal.SIGKILL, "ended": signal.SIGTERM}


@pytest.mark.parametrize(("left", "how"), [(left, how) for left in DETACHED for how in share(ENDS, 2, left)])
def test_it_ends_with_the_gateway(runner: Runner, pipe: Pipe, left: str, how: str) -> None:
    mounts, links = system()
    name = type(runner._backends[0]).__name__
    code = _GATEWAY.format(module=name.lower(), name=name, mounts=mounts, links=links, path=PATH)
    gateway = subprocess.Popen([sys.executable, "-c", code, f"{DETACHED[left]} sleep 1000"], stdout=pipe.write)
    pipe.give_away()
    try:
        assert pipe.line() == b"ready\n"
    finally:
        gateway.send_signal(ENDS[how])
        gateway.wait()
    ended, _, _ = select.select([pipe.read], [], [], 30)
    assert ended, "something of the call runs on"
    while os.read(pipe.read, 9999):
        continue


TYPED = "python3 -I -S -c 'import fcntl; fcntl.ioctl(0, {}, {})'"
TRICKS = {
    "typing": TYPED.format(0x5412, 'b"x"'),
    "pasting": TYPED.format(0x541C, 'b"\\x03" + bytes(63)'),
    "taking it over": TYPED.format(0x540E, "1"),
}


@pytest.mark.parametrize("text", TRICKS.values(), ids=TRICKS)
def test_the_terminal_of_the_caller_obeys_the_caller_alone(runner: Runner, text: str) -> None:
    ours, theirs = os.openpty()
    try:
        result = runner.run(plan(), Command(lambda _n: (b"/bin/sh", b"-c", text.encode()), Ways(stdin=theirs)), NOTHING)
        assert result.status == 1, result
        assert waiting(theirs) == 0
    finally:
        os.close(ours)
        os.close(theirs)


def waiting(terminal: int) -> int:
    """How many characters somebody has typed."""
    mode = termios.tcgetattr(terminal)
    mode[3] &= ~termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    return int.from_bytes(fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_anybody_else_could_type_into_it() -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(["/bin/sh", "-c", TRICKS["typing"]], stdin=theirs, capture_output=True, check=False)
        if done.returncode:
            pytest.skip("this kernel lets nobody type into a terminal that is not their own")
        assert waiting(theirs) == 1
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_flood_of_output_ends_in_a_bounded_result(runner: Runner, tmp_path: Path) -> None:
    del tmp_path
    text = "echo first; head -c 67108864 /dev/zero; echo last"
    result = runner.run(plan(output=1000), Command(lambda _n: (b"/bin/sh", b"-c", text.encode())), NOTHING)
    assert result.status == 0
    assert len(result.stdout) == 1000
    assert (result.stdout[:6], result.stdout[-5:]) == (b"first\n", b"last\n")
    assert result.truncated == (67108864 + 11 - 1000, 0)
