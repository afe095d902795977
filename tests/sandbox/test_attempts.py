"""No attempt gets out and no ordinary use breaks: each is made in the sandbox, and its twin without any."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from fuzzing import share

from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.landlock import Landlock
from gateway.sandbox.backends.landlock_rules import FULL_ABI
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.contract import CHECKS as CONTRACT
from gateway.sandbox.contract import SECRET, Check
from gateway.sandbox.run import Runner

from .attempts import files, kernel, limits, sockets, uses
from .attempts.surroundings import Around, Place, around, lacking, place
from .world import passes_for_nobody

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made on Linux")
CHECKS = (*files.CHECKS, *kernel.CHECKS, *sockets.CHECKS, *limits.CHECKS, *uses.CHECKS)
WHOLE = pytest.mark.skipif(os.environ.get("GATEWAY_ATTEMPTS") != "all", reason="scripts/attempts makes all of them")
# Without namespaces a call sees what /proc tells of the machine, and names and kinds of files anywhere.
SEEN_BY_THE_FALLBACK = {
    "another process's open files are read",
    "another process's command line is read",
    "another process's limits are read",
    "another process is held by a descriptor",
    "another process's session is asked for",
    "another process's schedule is asked for",
    "a process is found by its name",
    "the gateway's own process is seen",
    "the machine's interfaces are seen",
    "the machine's connections are seen",
    "the machine's sockets are seen",
    "the machine's shared memory is listed",
    "the caller's terminal is found by its number",
}
# It has no sockets, no shared memory and no terminals of its own.
BROKEN_BY_THE_FALLBACK = {
    "a pool of processes works",
    "a manager of processes works",
    "shared memory of Python works",
    "a terminal is made",
    "a web server answers",
    "a server answers at the second family's loopback",
    "a socket in /tmp works",
    "a socket without a file works among its own",
}
FALLBACK_DIFFERS = SEEN_BY_THE_FALLBACK | BROKEN_BY_THE_FALLBACK
every = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)


@pytest.fixture(scope="module")
def near() -> Iterator[Around]:
    os.environ["SECRET"] = SECRET
    with around() as made:
        yield made
    del os.environ["SECRET"]


@pytest.fixture
def here(tmp_path: Path, near: Around) -> Iterator[Place]:
    with place(tmp_path / "a world", near) as made:
        yield made


# What both hold alike is in the contract; the second form by these as well takes `scripts/attempts`.
WHOLES = (Spaces, Bubblewrap) if os.environ.get("GATEWAY_ATTEMPTS") == "all" else (Spaces,)


@pytest.fixture(scope="module", params=WHOLES, ids=lambda each: each.name)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    backend = request.param()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"{backend.name} does not hold here: {probe.reason}")
    with Runner(str(tmp_path_factory.mktemp("quarantine")), (backend,)) as made:
        yield made


@pytest.mark.parametrize("check", share(CHECKS, 6, "twins"), ids=lambda check: check.name)
def test_it_works_without_a_sandbox(check: Check, here: Place) -> None:
    if reason := lacking(check):
        pytest.skip(reason)
    if check.theme == "limits" and os.environ.get("GATEWAY_ATTEMPTS") != "all":
        pytest.skip("it takes seconds and a lot of memory; scripts/attempts makes it")
    done, output = here.free(check)
    assert done, output


@every
def test_the_sandbox_holds_it(check: Check, here: Place, whole: Runner) -> None:
    if reason := lacking(check):
        pytest.skip(reason)
    done, result = here.guarded(check, whole, here.plan(check))
    assert done is check.use, result
    assert result.ended != "failed", result
    if not check.use:
        assert SECRET.encode() not in result.stdout + result.stderr


@pytest.fixture(scope="module")
def landlock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    backend = Landlock()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"Landlock does not hold here: {probe.reason}")
    if backend.abi() < FULL_ABI:
        pytest.skip("this kernel's Landlock holds less than what the table says")
    with Runner(str(tmp_path_factory.mktemp("quarantine")), (backend,)) as made:
        yield made


@WHOLE
@every
def test_the_fallback_holds_it_or_says_that_it_cannot(check: Check, here: Place, landlock: Runner) -> None:
    if reason := lacking(check):
        pytest.skip(reason)
    plan = here.plan(check, least=True).replace(weaker=("landlock",))
    done, result = here.guarded(check, landlock, plan)
    if check.theme == "hidden":
        assert result.ended == "failed", result
        return
    assert result.ended != "failed", result
    assert done is (check.use is not (check.name in FALLBACK_DIFFERS)), result


def test_what_the_fallback_lacks_is_among_the_attempts() -> None:
    assert {check.name for check in CHECKS} >= FALLBACK_DIFFERS


def test_there_are_enough_of_them_each_with_its_own_name() -> None:
    every_one = (*CONTRACT, *CHECKS)
    assert len({check.name for check in every_one}) == len(every_one)
    assert sum(not check.use for check in CHECKS) >= 120
    assert sum(check.use for check in CHECKS) >= 25


@WHOLE
@pytest.mark.skipif(os.geteuid() != 0, reason="this run is by an ordinary user already")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_the_same_holds_for_an_ordinary_user() -> None:
    sys.stderr.write(f"as an ordinary user: {passes_for_nobody([__file__], 600)}\n")
