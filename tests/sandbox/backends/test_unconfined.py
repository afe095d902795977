"""What a call gets that policy lets run without a sandbox, and the session that other systems than Linux have."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from gateway.model.limits import LIMITS, Limits
from gateway.model.plan import Network, SandboxPlan
from gateway.sandbox.backends.unconfined import Unconfined
from gateway.sandbox.base import SandboxError, Streams
from gateway.sandbox.session import Session

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "GATEWAY_TEST_SECRET"


@pytest.fixture(scope="module")
def backend() -> Unconfined:
    return Unconfined()


def plan(folder: Path, *weaker: str, **more: object) -> SandboxPlan:
    base = SandboxPlan((), (), ("/private-home", "/tmp"), str(folder), (), Network(), Limits(), weaker=weaker)
    environment = (("HOME", "/private-home"), ("PATH", os.environ.get("PATH", "/usr/bin:/bin")))
    return base.replace(environment=environment, **more)


def output(start, script: str) -> tuple[int, bytes]:
    """Status and output of a shell text that something starts."""
    ours, theirs = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    running = start(["/bin/sh", "-c", script], Streams(nowhere, theirs, nowhere))
    os.close(theirs)
    os.close(nowhere)
    running.release()
    poll = select.poll()
    poll.register(running.exited, select.POLLIN)
    assert poll.poll(20_000)
    status = running.wait()
    with open(ours, "rb") as file:
        said = file.read()
    running.close()
    return status, said


def session(folder: Path):
    def start(argv: list[str], streams: Streams) -> Session:
        words = [os.fsencode(word) for word in argv]
        return Session(words, {b"PATH": os.fsencode(os.environ["PATH"])}, os.fsencode(folder), streams, ())

    return start


@pytest.fixture(params=["launcher", "session"])
def start(request: pytest.FixtureRequest, backend: Unconfined, tmp_path: Path):
    if request.param == "session":
        return session(tmp_path)
    if sys.platform != "linux":
        pytest.skip("the launcher is for Linux")
    given = plan(tmp_path, "none")
    return lambda argv, streams: backend.start(given, argv, streams)


def test_nothing_runs_where_policy_does_not_name_this_form(backend: Unconfined, tmp_path: Path) -> None:
    given = plan(tmp_path, "landlock")
    assert backend.missing(given) == ("policy does not permit the weaker form `none`",)
    with pytest.raises(SandboxError, match="does not permit"):
        backend.start(given, ["/bin/true"], Streams(0, 1, 2))


def test_it_says_that_nothing_is_held(backend: Unconfined) -> None:
    assert backend.probe().degraded[0].startswith("nothing is confined")


def test_the_command_sees_the_plans_environment_only(start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "x")
    status, said = output(start, "env; exit 3")
    assert status == 3
    assert SECRET.encode() not in said
    assert b"GATEWAY_GATE" not in said


def test_no_descriptor_of_the_gateway_is_left_open(start, tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    try:
        _status, said = output(start, f"[ -e /dev/fd/{descriptor} ] && echo OUT; echo done")
    finally:
        os.close(descriptor)
    assert said == b"done\n"


def test_a_call_that_is_not_released_never_runs(start, tmp_path: Path) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    running = start(["/bin/sh", "-c", "echo > ran"], Streams(nowhere, nowhere, nowhere))
    os.close(nowhere)
    running.kill()
    assert running.wait() == 137
    running.close()
    assert not (tmp_path / "ran").exists()


def test_a_background_job_ends_with_the_command(start) -> None:
    # It holds the pipe, whose end is only read when nobody does any more.
    assert output(start, "sleep 1000 & echo started") == (0, b"started\n")


def test_a_signal_reaches_the_command(start) -> None:
    ours, theirs = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    script = "trap 'exit 5' TERM; echo ready; while :; do sleep 1000 & wait $!; done"
    running = start(["/bin/sh", "-c", script], Streams(nowhere, theirs, nowhere))
    os.close(theirs)
    os.close(nowhere)
    running.release()
    with open(ours, "rb", buffering=0) as file:
        assert file.read(10) == b"ready\n"
        running.signal(signal.SIGTERM)
        assert running.wait() == 5
    running.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")
def test_a_detached_child_ends_too_on_linux(backend: Unconfined, tmp_path: Path) -> None:
    given = plan(tmp_path, "none")
    _status, said = output(
        lambda argv, streams: backend.start(given, argv, streams), "(setsid sleep 1000 >/dev/null 2>&1 & echo $!)"
    )
    with pytest.raises(ProcessLookupError):
        os.kill(int(said), 0)


def test_bounds_hold_in_a_session(tmp_path: Path) -> None:
    import resource

    bounds = ((resource.RLIMIT_CORE, 0, 0), (resource.RLIMIT_NOFILE, 50, 50))

    def start(argv: list[str], streams: Streams) -> Session:
        words = [os.fsencode(word) for word in argv]
        return Session(words, {b"PATH": b"/usr/bin:/bin"}, os.fsencode(tmp_path), streams, (), bounds)

    assert output(start, "ulimit -c; ulimit -n") == (0, b"0\n50\n")


def test_a_bound_that_no_shell_can_set_starts_nothing(tmp_path: Path) -> None:
    import resource

    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        with pytest.raises(SandboxError, match=f"cannot set the bounds \\[{resource.RLIMIT_RTPRIO}\\]"):
            Session(
                [b"/usr/bin/touch", b"ran"], {}, os.fsencode(tmp_path), Streams(nowhere, nowhere, nowhere), (),
                ((resource.RLIMIT_RTPRIO, 1, 1),),
            )  # fmt: skip
    finally:
        os.close(nowhere)
    assert os.listdir(tmp_path) == []


def test_every_limit_that_the_kernel_keeps_can_be_set_by_a_shell() -> None:
    assert [name for name, limit in LIMITS.items() if bool(limit.resource) != bool(limit.letter[0])] == []
