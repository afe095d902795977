"""What is said of a program that the sandbox hides."""

from __future__ import annotations

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import Network, SandboxPlan
from gateway.sandbox.after.hidden_program import explained

PLAN = SandboxPlan(
    (), (), (), "/ws", (("HOME", "/home/dev"), ("PATH", "/usr/bin::/home/dev/py/bin:/nowhere")), Network(), Limits()
)
THERE = {"/home/dev/py/bin/python3.11", "/srv/x/server", "/ws/run"}
SAID = [
    (
        "python3.11 is not found",
        (
            "python3.11 is not found: the sandbox hides /home/dev/py/bin/python3.11; "
            '`settings: {sandbox: {read: ["~/py/**"]}}` in your policy shows it'
        ),
    ),
    (
        "/srv/x/server is not found",
        (
            "/srv/x/server is not found: the sandbox hides /srv/x/server; "
            '`settings: {sandbox: {read: ["//srv/x/**"]}}` in your policy shows it'
        ),
    ),
    (
        "./run is not found",
        (
            "./run is not found: the sandbox hides /ws/run; "
            '`settings: {sandbox: {read: ["//ws/**"]}}` in your policy shows it'
        ),
    ),
    ("nonsense is not found", "nonsense is not found"),
    ("python3.11 cannot be started", "python3.11 cannot be started"),
    ("", ""),
]


@pytest.mark.parametrize(("failure", "said"), SAID, ids=[failure for failure, _ in SAID])
def test_a_program_that_the_machine_has_is_said_to_be_hidden_and_what_shows_it(failure: str, said: str) -> None:
    assert explained(failure, PLAN, THERE.__contains__) == said
