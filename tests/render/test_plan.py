"""A plan as people read it in short."""

from __future__ import annotations

from gateway.model.limits import Limits
from gateway.model.plan import Endpoint, Logins, Mount, Network, SandboxPlan
from gateway.render.plan import summary_rows

PLAN = SandboxPlan(
    (Mount("/p", "write"),),
    (),
    private=("/tmp",),
    cwd="/p",
    environment=(),
    network=Network(),
    limits=Limits(),
)


def test_what_is_fetched_before_a_call_runs_is_told_where_something_is() -> None:
    assert "fetches" not in dict(summary_rows(PLAN))
    fetching = PLAN.replace(fetching=Network("listed", (Endpoint("pypi.org", 443),)))
    assert dict(summary_rows(fetching))["fetches"] == [
        "before it runs, what it installs, in a step of its own that sees nothing of the project:", "pypi.org:443",
    ]  # fmt: skip


def test_the_logins_that_are_sent_for_a_call_are_told_where_there_are_any() -> None:
    assert "logs in" not in dict(summary_rows(PLAN))
    sent = PLAN.replace(network=Network("listed", logins=Logins(("/k",), (("prod", "ann"), ("prod", "bob")))))
    said = "outside of the sandbox: as ann to the cluster prod, as bob to the cluster prod"
    assert dict(summary_rows(sent))["logs in"] == [said]
