"""What is said of namespaces that a machine refuses."""

from __future__ import annotations

import errno
import os

import pytest

from gateway.sandbox.backends import spaces_probe
from gateway.sandbox.backends.spaces_probe import probe


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "namespaces: this user has as many as `user.max_user_namespaces` permits"),
        (errno.EMFILE, f"namespaces: {os.strerror(errno.EMFILE)}"),
    ],
)
def test_a_limit_of_namespaces_is_not_told_as_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    monkeypatch.setattr(spaces_probe.remembered, "holds", lambda *_: False)
    monkeypatch.setattr(spaces_probe, "tried", lambda *_: f"it could not be built: namespaces: {os.strerror(number)}")
    found = probe(None)  # type: ignore[arg-type]
    assert (found.works, found.reason) == (False, f"Linux {os.uname().release}: it could not be built: {said}")
