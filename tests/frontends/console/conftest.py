"""A console as people start it, in a home of its own."""

from __future__ import annotations

import http.client
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from consoles import Running
from patience import patience
from warmed import warm

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    top = tmp_path_factory.mktemp("console")
    home, project = top / "home", top / "project"
    home.mkdir(mode=0o700)
    (project / ".git").mkdir(parents=True)
    warm(home / ".cache" / "gateway")
    policy = home / ".config" / "gateway" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    # Questions before a call: contained ones are asked about afterwards.
    policy.write_text("version: 1\nextends: [daily]\nsettings: {contained: 'off'}\n", encoding="utf-8")
    found = Running(home, project)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def listening(running: Running) -> Iterator[Running]:
    """With its page open, so that questions come there."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=patience(5))
    connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {running.opened()}"})
    with closing(connection), connection.getresponse() as answer:
        assert answer.status == 200
        assert answer.readline() == b"event: waiting\n"  # it listens from here on
        yield running
