"""The real clients, whatever happens to the hook that `gateway init` writes: a table of kinds of failure and clients.

`pytest tests/wrap/test_failures_real_clients.py --real-clients DIR -v` shows it, a line for each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from failing import FAILURES, POLICY, SERVICES, Place, hostile_service
from realclients import PACKAGES, Client, program, shell

from gateway.install.canary import BEFORE

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENTS = tuple(PACKAGES)
HELD = tuple(agent for agent in AGENTS if agent != "opencode")
# Modes in which nothing but the hook stops a call, where a command line does not say so already.
UNGUARDED = {"claude": "bypassPermissions"}
TOUCH = "touch made"
Where = tuple[Place, Client]


@pytest.fixture
def place(agent: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Where]:
    """Where the hook of a client fails."""
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real agent clients run with --real-clients DIR alone")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("real agent clients need node and npm")
    found = Client(agent, program(Path(folder).absolute(), agent), tmp_path / "world")
    found.environment["GATEWAY_SERVICE"] = "off"
    (tmp_path / "failing").mkdir()
    yield Place(agent, tmp_path / "failing", found.home), found
    words = [*Place("opencode", tmp_path, found.home).line()[:4], "service", "stop"]
    subprocess.run(words, env=found.environment, capture_output=True, check=False, stdin=subprocess.DEVNULL)


def ran(found: Client, line: list[str], *commands: str) -> bool:
    """Whether any of these commands ran. The client must have come to its end, and made the calls unless it failed."""
    agent = found.agent
    given = [shell(agent, each) for each in commands or (TOUCH,)]
    done = found.run({BEFORE[agent]: line}, [given], mode=UNGUARDED.get(agent, ""))
    assert not done.late, done
    assert done.results or done.status, done
    return any(each.name.startswith("made") for each in found.project.iterdir())


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_failure_the_call_runs(place: Where) -> None:
    at, found = place
    found.policy(POLICY.format(lane="allow"))
    assert ran(found, at.line())


@pytest.mark.parametrize("agent", HELD)
def test_without_its_shell_a_failure_lets_a_denied_call_run(place: Where) -> None:
    """The twin: a hook that merely ends, which these clients take for consent."""
    at, found = place
    found.policy(POLICY.format(lane="deny"))
    assert ran(found, ["/bin/true", *at.line()])


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("agent", AGENTS)
def test_no_failure_of_its_hook_lets_a_call_run(failure: str, place: Where) -> None:
    at, found = place
    kind = FAILURES[failure]
    found.policy(POLICY.format(lane="allow" if kind.blocks else "deny"))
    assert not ran(found, kind.arrange(at))


@pytest.mark.parametrize("says", SERVICES)
@pytest.mark.parametrize("agent", AGENTS)
def test_no_hostile_service_lets_a_denied_call_run(says: str, place: Where) -> None:
    at, found = place
    found.policy(POLICY.format(lane="deny"))
    del found.environment["GATEWAY_SERVICE"]
    with hostile_service(found.home, says):
        assert not ran(found, at.line())


INPUTS = {
    "a command of a megabyte": f"{TOUCH} #{'x' * 1_000_000}",
    "ten thousand commands": "true; " * 10_000 + TOUCH,
    "a command with half a character": f"{TOUCH} '\ud800'",
    "a command with NUL": f"{TOUCH} '\0'",
    "a command nested a thousand times": f"{'(' * 1_000}{TOUCH}{')' * 1_000}",
    "a command behind an open quote": f"{TOUCH} '",
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("agent", AGENTS)
def test_no_hostile_input_lets_a_denied_call_run(given: str, place: Where) -> None:
    at, found = place
    found.policy(POLICY.format(lane="deny"))
    assert not ran(found, at.line(), INPUTS[given])


@pytest.mark.parametrize("agent", AGENTS)
def test_of_twenty_calls_at_once_none_runs_though_half_of_their_hooks_are_killed(place: Where) -> None:
    at, found = place
    found.policy(POLICY.format(lane="deny"))
    killed = FAILURES["SIGKILL when it waits"].arrange(at)
    text = 'n=$(($$ % 2)); if [ $n = 0 ]; then exec "$@"; else shift 5; exec "$@"; fi'
    assert not ran(found, ["/bin/sh", "-c", text, "sh", *killed], *(f"{TOUCH}{each}" for each in range(20)))


def test_every_kind_of_failure_is_its_own() -> None:
    assert len({id(each.arrange) for each in FAILURES.values()}) == len(FAILURES)
    assert len(FAILURES) + len(SERVICES) + len(INPUTS) + 1 >= 37
    assert os.access("/bin/sh", os.X_OK)
