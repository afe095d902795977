"""Bounds on single processes: what is set, and that the kernel has it."""

from __future__ import annotations

import resource
import subprocess

import pytest

from gateway.model.limits import LIMITS, Limits
from gateway.sandbox.base import SandboxError
from gateway.sandbox.limits import apply, bounds

from .attempts.limits import CHECKS

CASES = {
    "without limits only core dumps are off": (Limits(seconds=0), True, ((resource.RLIMIT_CORE, 1, 1),)),
    "every limit of one process": (
        Limits(cpu_seconds=1.2, processes=5, files=64, file_size=4096),
        True,
        (
            (resource.RLIMIT_CORE, 1, 1),
            (resource.RLIMIT_CPU, 2, 4),
            (resource.RLIMIT_NOFILE, 64, 64),
            (resource.RLIMIT_FSIZE, 4096, 4096),
            (resource.RLIMIT_NPROC, 6, 6),
        ),
    ),
    "processes are not counted where the kernel would count the user's others": (
        Limits(processes=5),
        False,
        ((resource.RLIMIT_CORE, 1, 1),),
    ),
}


def test_every_limit_that_the_kernel_keeps_is_among_them_and_has_an_attempt_to_break_it() -> None:
    kept = {each.field for each in LIMITS.values() if each.resource}
    assert {field for field in kept if not getattr(CASES["every limit of one process"][0], field)} == set()
    assert {field for field in kept if not any(getattr(each.limits, field) for each in CHECKS)} == set()


@pytest.mark.parametrize(("limits", "processes", "wanted"), CASES.values(), ids=CASES)
def test_bounds(limits: Limits, processes: bool, wanted: tuple[tuple[int, int, int], ...]) -> None:
    assert bounds(limits, processes=processes) == wanted


def test_a_waiting_process_gets_them_and_its_children_inherit_them() -> None:
    with subprocess.Popen(["sh", "-c", "read x; sh -c 'ulimit -n; ulimit -c'"], stdin=-1, stdout=-1) as process:
        apply(process.pid, Limits(files=77), processes=False)
        output, _ = process.communicate(b"\n")
    assert output.split() == [b"77", b"0"]


def test_a_bound_that_is_lower_already_stays() -> None:
    with subprocess.Popen(["sh", "-c", "ulimit -n 50; echo; read x; ulimit -n"], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        apply(process.pid, Limits(files=77))
        output, _ = process.communicate(b"\n")
    assert output.split() == [b"50"]


def test_a_process_that_has_gone_is_an_error() -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    with pytest.raises(SandboxError, match="limits cannot be set"):
        apply(done.pid, Limits())
