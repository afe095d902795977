"""What is said where the extra `editor` is not installed."""

from __future__ import annotations

import importlib.util

import pytest

from gateway.core.errors import ConfigError
from gateway.frontends.cli.policy_lsp import lsp


def test_without_the_extra_it_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError) as caught:
        lsp()
    assert str(caught.value) == (
        "the language server needs pygls\n  help: install `agent-gateway[editor]`, in a checkout `.[editor]`"
    )
